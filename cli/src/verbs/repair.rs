//! `tributary repair`: finds what rotted in the data folder, says what it would do about it, and
//! does it with `--apply`.

use std::path::Path;

use anyhow::Result;
use serde_json::json;
use tributary_store::damage::{self, ASIDE, Embedded};

use crate::app;
use crate::args::{Global, Repair};
use crate::config::Config;
use crate::print::{self, Outcome};
use crate::verbs::verify;

/// Looks, plans, and repairs.
pub fn run(_: &Global, config: &Config, repair: Repair) -> Result<Outcome> {
    let folder = verify::hold(config)?;
    let found = verify::look(config, &folder)?;
    let path = Path::new(&config.store.data_folder);
    let steps = found.plan(path);
    let name = format!("repair-{}", tributary_store::system_clock()());
    let aside = path.join(ASIDE).join(&name);
    let left = found.left();
    let applied = repair.apply && found.is_repairable();
    if applied {
        app::block_on(damage::repair(
            &folder,
            &Embedded::from(&config.store),
            &found,
            &name,
        ))?;
    }
    let value = json!({
        "steps": steps, "applied": applied, "aside": applied.then_some(&aside), "left": left,
    });
    print::result(repair.output, &value, || {
        let mut lines = steps.clone();
        lines.extend(left.iter().map(|left| format!("by hand: {left}")));
        lines.push(match (found.is_repairable(), applied) {
            (false, _) if left.is_empty() => "nothing is damaged".to_owned(),
            (false, _) => "nothing that a repair could do".to_owned(),
            (true, false) => "nothing was changed: `tributary repair --apply` does this".to_owned(),
            (true, true) => {
                format!("done; what was taken away is in {}. Next: `tributary run`, then `tributary documents reconcile`", aside.display())
            }
        });
        lines.join("\n")
    })?;
    Ok(Outcome::Done)
}
