//! `tributary documents repair --degraded`.

use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use tributary_schemas::repair::DegradedRepair;

use crate::args::Output;
use crate::client::Client;
use crate::print::{self, Outcome};

const PATH: &str = "/v1/repair";
const PAUSE: Duration = Duration::from_millis(300);

/// Starts a repair, or joins the one that runs, and follows it to its end. It goes on in the server
/// when this is broken off.
pub fn run(client: &Client, output: Output) -> Result<Outcome> {
    let mut seen: DegradedRepair = client.post(PATH, &json!({}))?;
    if seen.running {
        tell(&seen, client.is_local());
    }
    let bar = print::progress_bar(seen.documents, "repairing");
    while seen.running {
        std::thread::sleep(PAUSE);
        seen = client.get(PATH)?;
        bar.set_length(seen.documents);
        bar.set_position(seen.done);
    }
    bar.finish_and_clear();
    print::result(output, &seen, || text(&seen))?;
    let repaired = usize::try_from(seen.repaired).unwrap_or(usize::MAX);
    let left = usize::try_from(seen.documents - seen.repaired.min(seen.documents));
    Ok(match &seen.reason {
        Some(_) => Outcome::of(repaired, left.unwrap_or(usize::MAX).max(1)),
        None => Outcome::Done,
    })
}

/// What is about to be done, also where no bar is drawn, and what becomes of it on Ctrl-C.
fn tell(seen: &DegradedRepair, is_local: bool) {
    let written = "the model writes what they lack";
    print::note(&format!("{} degraded documents: {written}", seen.documents));
    let goes_on = match is_local {
        true => "interrupted: `tributary documents repair --degraded` repairs those that are left",
        false => {
            "interrupted: the server goes on with it; `tributary documents repair --degraded` follows it again"
        }
    };
    print::when_interrupted(|| goes_on.to_owned());
}

fn text(seen: &DegradedRepair) -> String {
    let DegradedRepair {
        documents,
        repaired,
        reason,
        ..
    } = seen;
    match (documents, reason) {
        (0, None) => "nothing to repair: no document is degraded for want of a model".to_owned(),
        (_, None) => format!(
            "{repaired} of {documents} documents repaired; they are searchable with the model's summaries in a moment"
        ),
        (_, Some(reason)) => format!(
            "{repaired} of {documents} documents repaired; the others stay as they are: {reason}"
        ),
    }
}
