//! `tributary eval generate --set DIR --style noisy`: the questions of a set in another style.

use anyhow::Result;
use tributary_eval::case::Style;
use tributary_eval::styles::{Generated, Generation, generate};

use crate::args::{EvalGenerate, StyleChoice};
use crate::print::{self, Outcome};

/// Writes the questions and says how they are asked.
pub fn run(wanted: &EvalGenerate) -> Result<Outcome> {
    let generation = Generation {
        set: &wanted.set,
        queries: &wanted.queries,
        qrels: &wanted.qrels,
        style: match wanted.style {
            StyleChoice::Noisy => Style::Noisy,
            StyleChoice::Summary => Style::Summary,
        },
        seed: wanted.seed,
        overwrites: wanted.overwrite,
    };
    let folder = wanted.out.as_ref().unwrap_or(&wanted.set);
    let made = generate(&generation, &std::path::absolute(folder)?)?;
    print::result(wanted.output, &made, || describe(&made, wanted))?;
    Ok(Outcome::Done)
}

fn describe(made: &Generated, wanted: &EvalGenerate) -> String {
    let mut lines = vec![
        format!(
            "{} in {}",
            print::count(made.questions, "question"),
            made.queries.display()
        ),
        format!(
            "ask them with: tributary eval run --set {} --queries {} --qrels {}",
            wanted.set.display(),
            made.queries.display(),
            made.qrels.display()
        ),
    ];
    if !made.left_out.is_empty() {
        let left_out = made.left_out.join("\n  ");
        lines.push(format!("left out {}:\n  {left_out}", made.left_out.len()));
    }
    lines.join("\n")
}
