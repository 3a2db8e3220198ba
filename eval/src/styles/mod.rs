//! Questions of a set put in another style by rules: as people type them, or by their gist. No model
//! is asked, and the same seed gives the same questions.

mod noisy;
mod summary;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;
use serde_json::{Value, json};
use tributary_schemas::files;
use tributary_store::evaluations::chance::Chance;

use crate::case::Style;
use crate::set::read_lines;

/// What is made of which questions.
pub struct Generation<'a> {
    /// Folder of the set.
    pub set: &'a Path,
    /// File of questions in it.
    pub queries: &'a str,
    /// File of judgements in it.
    pub qrels: &'a str,
    /// Style of the new questions.
    pub style: Style,
    /// Another one gives other questions.
    pub seed: u64,
    /// Whether files that are there are replaced.
    pub overwrites: bool,
}

/// What was made.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Generated {
    /// The new questions.
    pub queries: PathBuf,
    /// Their judgements.
    pub qrels: PathBuf,
    /// How many questions there are.
    pub questions: usize,
    /// Questions that the rules leave as they are, each with its place.
    pub left_out: Vec<String>,
}

/// Puts every question into the style and writes `queries.STYLE.jsonl` and `qrels.STYLE.tsv` into
/// `folder`. Ids get the style behind them, everything else that a question says of itself stays.
pub fn generate(generation: &Generation<'_>, folder: &Path) -> Result<Generated> {
    let style = generation.style.name();
    let mut file = generation.set.join(generation.queries);
    if !file.is_file() && generation.queries == "queries.jsonl" {
        file = generation.set.join("questions.jsonl");
    }
    let mut left_out = Vec::new();
    let lines: Vec<(String, Value)> = read_lines(&file, &mut left_out)?;
    let mut questions = String::new();
    let mut made = HashSet::new();
    for (place, line) in lines {
        match restyled(line, generation) {
            Some((id, line)) => {
                questions.push_str(&format!("{line}\n"));
                made.insert(id);
            }
            None => left_out.push(format!("{place}: the rules make nothing else of it")),
        }
    }
    ensure!(
        !made.is_empty(),
        "no question of {} can be put as {style}",
        file.display()
    );
    let names = [
        format!("queries.{style}.jsonl"),
        format!("qrels.{style}.tsv"),
    ];
    let mut taken = names
        .iter()
        .map(|name| folder.join(name))
        .filter(|path| path.exists() && !generation.overwrites);
    if let Some(path) = taken.next() {
        bail!(
            "{} is there, and may have been looked through\nhint: --overwrite replaces it, --out names another folder",
            path.display()
        );
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let written = |name: String, text: &str| {
        let path = folder.join(name);
        let done = fs::write(&path, text);
        done.with_context(|| format!("cannot write {}", path.display()))
            .map(|()| path)
    };
    let judgements = judgements(generation, &made)?;
    Ok(Generated {
        queries: written(format!("queries.{style}.jsonl"), &questions)?,
        qrels: written(format!("qrels.{style}.tsv"), &judgements)?,
        questions: made.len(),
        left_out,
    })
}

/// The id of a question, and its line in the style; none where it has no text, or where the rules
/// change nothing.
fn restyled(mut line: Value, generation: &Generation<'_>) -> Option<(String, Value)> {
    let id = line.get("_id")?.as_str()?.to_owned();
    let fields = line.as_object_mut()?;
    let text = ["text", "question", "query"]
        .iter()
        .find_map(|name| fields.remove(*name))?;
    let text = text.as_str()?.trim();
    if text.is_empty() {
        return None;
    }
    let put = match generation.style {
        Style::Noisy => noisy::noisy(text, &mut Chance::named(generation.seed, &id)),
        Style::Summary => summary::summary(text, &mut Chance::named(generation.seed, &id)),
        Style::Verbatim => return None,
    };
    let put = put.filter(|put| put != text)?;
    let style = generation.style.name();
    fields.insert("_id".to_owned(), json!(format!("{id}-{style}")));
    fields.insert("text".to_owned(), json!(put));
    fields.insert("style".to_owned(), json!(style));
    Some((id, line))
}

/// The judgements of the questions, under their new ids.
fn judgements(generation: &Generation<'_>, made: &HashSet<String>) -> Result<String> {
    let file = generation.set.join(generation.qrels);
    let text = files::read_data_to_string(&file)
        .with_context(|| format!("cannot read {}", file.display()))?;
    let style = generation.style.name();
    let mut lines = text.lines();
    let mut judgements = format!("{}\n", lines.next().unwrap_or("query-id\tcorpus-id\tscore"));
    for line in lines {
        if let Some((id, rest)) = line.split_once('\t')
            && made.contains(id)
        {
            judgements.push_str(&format!("{id}-{style}\t{rest}\n"));
        }
    }
    Ok(judgements)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::set::EvaluationSet;

    #[test]
    fn a_set_in_another_style_is_a_set_and_keeps_what_cases_say() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write(
            "corpus.jsonl",
            "{\"_id\": \"d\", \"text\": \"The tilt is set by software.\"}\n",
        );
        write(
            "queries.jsonl",
            "{\"_id\": \"q\", \"question\": \"How is the antenna tilt of a cell configured?\", \
             \"level\": \"single\", \"evidence\": [{\"document\": \"d\", \"quote\": \"set by\"}]}\n\
             {\"_id\": \"empty\", \"text\": \"\"}\n",
        );
        write(
            "qrels.tsv",
            "query-id\tcorpus-id\tscore\nq\td\t1\nempty\td\t1\n",
        );
        for style in [Style::Noisy, Style::Summary] {
            let generation = Generation {
                set: folder.path(),
                queries: "queries.jsonl",
                qrels: "qrels.tsv",
                style,
                seed: 1,
                overwrites: false,
            };
            let made = generate(&generation, folder.path()).unwrap();
            assert_eq!((made.questions, made.left_out.len()), (1, 1));
            let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
            let (queries, qrels) = (name(&made.queries), name(&made.qrels));
            let set = EvaluationSet::read(folder.path(), &queries, &qrels, "eval").unwrap();
            let question = set.questions.first().unwrap();
            assert_eq!(question.id, format!("q-{}", style.name()));
            assert_eq!(question.case.style, Some(style));
            assert_eq!(question.case.evidence.len(), 1);
            assert!(question.text.contains("antenna") || style == Style::Noisy);
            let again = generate(&generation, folder.path()).unwrap_err();
            assert!(again.to_string().contains("is there"), "{again}");
            let overwriting = Generation {
                overwrites: true,
                ..generation
            };
            assert_eq!(generate(&overwriting, folder.path()).unwrap(), made);
        }
    }
}
