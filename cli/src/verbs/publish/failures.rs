//! What is said of documents that came to nothing.

use std::collections::BTreeMap;

use super::same_file::listed;
use super::{Published, REFUSED, UNCONFIRMED};
use crate::print;

/// Characters of a path that are shown.
const LONGEST_PATH: usize = 1024;

/// A line for each reason: what holds for many is said once.
pub fn lines(documents: &[Published]) -> Vec<String> {
    let mut by_reason: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for document in documents {
        if is_failure(document) {
            let reason = document.reason.as_deref().unwrap_or("no reason given");
            let paths = by_reason.entry((document.state.as_str(), reason));
            paths.or_default().push(&document.source_path);
        }
    }
    let line = |((state, reason), paths): ((&str, &str), Vec<&str>)| match paths.as_slice() {
        [path] => format!("{state:8} {}: {reason}", print::shorten(path, LONGEST_PATH)),
        several => format!(
            "{state:8} {} documents ({}): {reason}",
            several.len(),
            listed(several.iter().copied())
        ),
    };
    by_reason.into_iter().map(line).collect()
}

/// Given up, never accepted, or not confirmed.
pub fn is_failure(document: &Published) -> bool {
    matches!(document.state.as_str(), "dead" | REFUSED | UNCONFIRMED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(path: &str, state: &str, reason: &str) -> Published {
        Published {
            source_path: path.to_owned(),
            state: state.to_owned(),
            reason: Some(reason.to_owned()),
            ..Published::default()
        }
    }

    #[test]
    fn what_holds_for_many_documents_is_said_once() {
        let mut documents: Vec<Published> = ["a.md", "b.md", "c.md", "d.md"]
            .map(|path| document(path, REFUSED, "no knowledge set `nosuch`"))
            .into();
        documents.push(document("e.wav", "dead", "no converter"));
        documents.push(document("f.md", "indexed", "stored once"));
        assert_eq!(
            lines(&documents),
            [
                "dead     e.wav: no converter",
                "refused  4 documents (a.md, b.md, c.md and 1 more): no knowledge set `nosuch`"
            ]
        );
    }
}
