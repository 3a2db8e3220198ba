//! What a lexicon changes: the tokens of questions before and after.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use serde_json::Value;
use tributary_taxonomy::Analyzer;
use tributary_taxonomy::discovery::files::read_text;

/// Questions that are looked at.
const MAXIMUM_QUESTIONS: usize = 1000;

/// What a new lexicon does to questions.
#[derive(Debug, Default, Serialize)]
pub struct Difference {
    /// Questions looked at.
    pub questions: usize,
    /// Those that are cut in another way, in their order.
    pub changed: Vec<Change>,
}

/// One question that is cut in another way.
#[derive(Debug, Serialize)]
pub struct Change {
    pub question: String,
    /// Tokens that it had and has no more.
    pub gone: Vec<String>,
    /// Tokens that it has now.
    pub new: Vec<String>,
}

/// Cuts the first questions of a file with both analyzers.
pub fn read(file: &Path, before: &Analyzer, after: &Analyzer) -> Result<Difference> {
    let text = read_text(file)?;
    let questions = text.lines().filter_map(question).take(MAXIMUM_QUESTIONS);
    let mut difference = Difference::default();
    for question in questions {
        difference.questions += 1;
        difference.changed.extend(change(question, before, after));
    }
    Ok(difference)
}

/// The question of a line: `text` or `query` of an object, or the line itself.
fn question(line: &str) -> Option<String> {
    let line = line.trim();
    let of_object = |object: &Value| {
        let text = object.get("text").or_else(|| object.get("query"))?;
        text.as_str().map(str::to_owned)
    };
    match serde_json::from_str::<Value>(line) {
        Ok(object @ Value::Object(_)) => of_object(&object),
        _ => Some(line.to_owned()).filter(|line| !line.is_empty()),
    }
}

fn change(question: String, before: &Analyzer, after: &Analyzer) -> Option<Change> {
    let (old, new) = (before.analyze(&question), after.analyze(&question));
    if old == new {
        return None;
    }
    let without = |tokens: &[String], others: &[String]| -> Vec<String> {
        let missing = tokens.iter().filter(|token| !others.contains(token));
        missing.cloned().collect()
    };
    Some(Change {
        gone: without(&old, &new),
        new: without(&new, &old),
        question,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use tributary_taxonomy::{AnalyzerConfig, Lexicon};

    fn analyzer(lexicon: &str) -> Analyzer {
        let config = AnalyzerConfig {
            guess_words: true,
            sub_words: true,
            term_words: false,
            english_stems: true,
        };
        Analyzer::new(&config, Lexicon::from_text("t", lexicon).unwrap()).unwrap()
    }

    #[test]
    fn only_questions_with_a_new_term_change() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("q.jsonl");
        let lines = "{\"_id\": 1, \"text\": \"地址转换是什么\"}\n怎么配置内存\n{\"other\": 1}\n\n";
        std::fs::write(&file, lines).unwrap();
        let found = read(&file, &analyzer(""), &analyzer("地址转换")).unwrap();
        assert_eq!(found.questions, 2);
        let [change] = found.changed.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!(change.new, ["地址转换"]);
        assert_eq!(change.gone, ["地址", "转换"]);
    }
}
