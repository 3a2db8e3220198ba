//! The sections of a document, as the paths of its passages name them.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Serialize;
use tributary_schemas::search::Passage;

use crate::problem::{Code, Problem};

/// Titles that are named where a section is not there.
const NEAR_TITLES: usize = 20;

/// A section of the outline.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Section {
    /// Titles from the top down; empty for what stands before the first heading.
    pub section_path: Vec<String>,
    /// Its first passage, as `from` takes it.
    pub from: usize,
}

/// Each section once, in the order of the passages.
pub fn outline(passages: &[Passage]) -> Vec<Section> {
    let mut known: HashSet<&[String]> = HashSet::new();
    let mut sections = Vec::new();
    for (from, passage) in passages.iter().enumerate() {
        if known.insert(&passage.section_path) {
            let section_path = passage.section_path.clone();
            sections.push(Section { section_path, from });
        }
    }
    sections
}

/// The path of the section that is called so: by its path from the top, else by the end of its
/// path, in capitals or small letters.
pub fn find(passages: &[Passage], wanted: &[String]) -> Result<Vec<String>, Problem> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let mut known: HashSet<&[String]> = HashSet::new();
    let mut paths: Vec<&[String]> = Vec::new();
    for passage in passages {
        for depth in 1..=passage.section_path.len() {
            let path = passage.section_path.get(..depth).unwrap_or_default();
            if known.insert(path) {
                paths.push(path);
            }
        }
    }
    let wanted: Vec<String> = wanted.iter().map(|title| folded(title)).collect();
    let is_called = |path: &&&[String]| {
        let path: Vec<String> = path.iter().map(|title| folded(title)).collect();
        path.ends_with(&wanted)
    };
    let called: Vec<&&[String]> = paths.iter().filter(is_called).collect();
    let exact = called.iter().find(|path| path.len() == wanted.len());
    match (exact, called.as_slice()) {
        (Some(path), _) => Ok(path.to_vec()),
        (None, [path]) => Ok(path.to_vec()),
        (None, []) => Err(no_section(&paths)),
        (None, several) => Err(ambiguous(several)),
    }
}

fn folded(title: &str) -> String {
    title.trim().to_lowercase()
}

fn no_section(paths: &[&[String]]) -> Problem {
    let titles = paths.iter().take(NEAR_TITLES);
    let titles: Vec<String> = titles.map(|path| path.join(" › ")).collect();
    let hint = match titles.is_empty() {
        true => "the document has no headings; read it with `get_document`".to_owned(),
        false => format!("its sections are: {}", titles.join("; ")),
    };
    Problem::new(Code::NotFound, "the document has no such section").with_hint(hint)
}

fn ambiguous(paths: &[&&[String]]) -> Problem {
    let titles: Vec<String> = paths.iter().map(|path| path.join(" › ")).collect();
    let what = format!("{} sections are called so", paths.len());
    Problem::new(Code::Invalid, what)
        .with_hint(format!("give the whole path of one: {}", titles.join("; ")))
}

#[cfg(test)]
pub(crate) mod tests {
    use tributary_schemas::{ChunkId, ChunkKind};

    use super::*;

    fn passage(ordinal: u32, path: &[&str], text: &str) -> Passage {
        Passage {
            chunk_id: ChunkId::derive("d", "leaf", &[], text, ordinal),
            ordinal,
            kind: ChunkKind::Leaf,
            pages: Vec::new(),
            section_path: path.iter().map(|title| (*title).to_owned()).collect(),
            text: text.to_owned(),
            language: None,
        }
    }

    /// Of two sections with two below each.
    pub fn passages() -> Vec<Passage> {
        vec![
            passage(0, &[], "before"),
            passage(1, &["Radio"], "a"),
            passage(2, &["Radio", "Tilt"], "b"),
            passage(3, &["Radio", "Tilt"], "c"),
            passage(4, &["Core", "Tilt"], "d"),
            passage(5, &["Core", "Power"], "e"),
        ]
    }

    fn path(titles: &[&str]) -> Vec<String> {
        titles.iter().map(|title| (*title).to_owned()).collect()
    }

    #[test]
    fn a_section_is_found_by_its_path_or_its_end() {
        let passages = passages();
        let found = |titles: &[&str]| find(&passages, &path(titles)).ok();
        assert_eq!(found(&["Radio", "tilt "]), Some(path(&["Radio", "Tilt"])));
        assert_eq!(found(&["radio"]), Some(path(&["Radio"])));
        assert_eq!(found(&["Power"]), Some(path(&["Core", "Power"])));
        assert_eq!(
            found(&["Core"]),
            Some(path(&["Core"])),
            "it has no text of its own"
        );
        assert_eq!(found(&["Tilt"]), None, "two are called so");
        assert_eq!(found(&["Tilt", "Power"]), None);
        assert_eq!(found(&[]), Some(vec![]), "the whole document");
        let ambiguous = find(&passages, &path(&["Tilt"]));
        let hint = ambiguous.map_err(|problem| problem.hint().unwrap_or_default().to_owned());
        assert_eq!(
            hint,
            Err("give the whole path of one: Radio › Tilt; Core › Tilt".to_owned())
        );
    }

    #[test]
    fn the_outline_names_each_section_once() {
        let outline = outline(&passages());
        let places: Vec<usize> = outline.iter().map(|section| section.from).collect();
        assert_eq!(places, vec![0, 1, 2, 4, 5]);
    }
}
