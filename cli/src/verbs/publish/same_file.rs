//! One file is one document: the source, id and title that a file was published with before, and
//! what is said where it would be a document a second time all the same.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;
use tributary_schemas::{Error, ErrorKind};

use super::files::{self, Found};
use super::roots::Roots;
use super::send::Item;
use crate::args::Global;
use crate::config::Config;
use crate::names;
use crate::print;

/// Source of files that were published under no other name.
const DEFAULT_SOURCE: &str = "files";
/// Documents that are named; of more their number is said.
const NAMED: usize = 3;

/// The source that was given, else the one that all paths were published to before, else `files`.
/// `Conflict` if they were published to several.
pub fn source_of(
    global: &Global,
    config: &Config,
    given: Option<&str>,
    paths: &[PathBuf],
) -> Result<String> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    let known = Roots::all(global, config);
    let sources = common_sources(&known, paths)?;
    if sources.is_empty() || sources.contains(DEFAULT_SOURCE) {
        return Ok(DEFAULT_SOURCE.to_owned());
    }
    let sources: Vec<&str> = sources.into_iter().collect();
    let [source] = sources.as_slice() else {
        let message = format!(
            "these files were published before as documents of the sources {}",
            sources.join(" and ")
        );
        return Err(Error::new(ErrorKind::Conflict, message)
            .with_hint("name the one that is meant with --source")
            .into());
    };
    print::note(&format!(
        "source {source}, to which this was published before (--source names another)"
    ));
    Ok((*source).to_owned())
}

/// The sources that hold every one of the paths.
fn common_sources<'a>(known: &'a [Roots], paths: &[PathBuf]) -> Result<BTreeSet<&'a str>> {
    let mut common: Option<BTreeSet<&str>> = None;
    for path in paths.iter().filter(|path| *path != Path::new("-")) {
        let absolute = files::absolute(path)?;
        let holds = |roots: &&Roots| {
            roots.containing(&absolute).is_some() || roots.path_of(&absolute).is_some()
        };
        let sources: BTreeSet<&str> = known.iter().filter(holds).map(Roots::source).collect();
        common = Some(match common {
            None => sources,
            Some(before) => before.intersection(&sources).copied().collect(),
        });
    }
    Ok(common.unwrap_or_default())
}

/// Gives each item the id and the title that its document was given by hand before. `found` is the
/// file of each item, as far as there are files.
pub fn keep_what_was_given(items: &mut [Item], found: &[Found], roots: &Roots) {
    for (index, item) in items.iter_mut().enumerate() {
        let former = found
            .get(index)
            .and_then(|found| roots.path_of(&found.absolute()));
        let paths = [Some(item.source_path.clone()), former];
        let paths = || paths.iter().flatten();
        let document_id = paths().find_map(|path| roots.given_id(path));
        let title = paths().find_map(|path| roots.given_title(path));
        item.document_id = document_id.map(str::to_owned);
        item.title = title.map(str::to_owned);
    }
}

/// Of two paths that would be one document.
pub fn one_id(id: &str, one: &str, other: &str) -> Error {
    let message = format!("{one} and {other} would both be the document {id}");
    Error::new(ErrorKind::Conflict, message).with_hint(
        "give one of them another --id; where a file was renamed, delete the document first, or publish its folder with --prune",
    )
}

/// A file that is now a document for the second time.
#[derive(Debug, PartialEq, Eq)]
struct Twice {
    /// `source/path` of the document that was there before.
    before: String,
    /// `source/path` of the one that is published now.
    now: String,
}

/// What is there of files that were published before.
pub struct Explanation<'a> {
    /// Where the documents of this source came from.
    pub roots: &'a Roots,
    /// The same of the other sources.
    pub others: &'a [Roots],
    /// Whether documents whose path has no file any more are deleted.
    pub prunes: bool,
    /// Whether the one document is given a title now: then it keeps none.
    pub gives_title: bool,
    /// The id that the one document is given now.
    pub given_id: Option<&'a str>,
}

impl Explanation<'_> {
    /// What is worth saying about these files, each of which is sent as the item beside it.
    pub fn notes(&self, found: &[Found], items: &[Item]) -> Vec<String> {
        let pairs = || found.iter().zip(items);
        let moved: Vec<Twice> = pairs()
            .filter_map(|(found, item)| self.moved(found, item))
            .collect();
        let elsewhere = pairs().filter_map(|(found, item)| self.elsewhere(found, item));
        let replaced = pairs().filter_map(|(found, item)| self.replaced(found, item));
        let mut notes = Vec::new();
        notes.extend(note_of_moved(&moved));
        notes.extend(notes_of_elsewhere(elsewhere.collect()));
        notes.extend(replaced.take(NAMED));
        notes.extend(items.iter().filter_map(|item| self.of_another_id(item)));
        if !self.gives_title {
            notes.extend(note_of_titles(items));
        }
        notes
    }

    fn name(&self, path: &str) -> String {
        names::of_document(self.roots.source(), path)
    }

    /// Under another path of this source, unless that document ends or is the same by its id.
    fn moved(&self, found: &Found, item: &Item) -> Option<Twice> {
        let former = self.roots.path_of(&found.absolute())?;
        let is_other = former != item.source_path && item.document_id.is_none();
        (is_other && !self.prunes).then(|| Twice {
            before: self.name(&former),
            now: self.name(&item.source_path),
        })
    }

    /// In another source, and for the first time in this one.
    fn elsewhere(&self, found: &Found, item: &Item) -> Option<(&str, Twice)> {
        let file = found.absolute();
        if self.roots.path_of(&file).is_some() {
            return None;
        }
        self.others.iter().find_map(|other| {
            let path = other.path_of(&file)?;
            let twice = Twice {
                before: names::of_document(other.source(), &path),
                now: self.name(&item.source_path),
            };
            Some((other.source(), twice))
        })
    }

    /// Under this path, with another id than it is given now.
    fn of_another_id(&self, item: &Item) -> Option<String> {
        let before = self.roots.id_of(&item.source_path)?;
        let given = self.given_id.filter(|given| *given != before)?;
        let name = self.name(&item.source_path);
        Some(format!(
            "{name} is the document {before} already: {given} is a second one of the same path (`tributary documents delete {before}` ends the first)"
        ))
    }

    /// In the place of another file that is still there.
    fn replaced(&self, found: &Found, item: &Item) -> Option<String> {
        let other = self
            .roots
            .other_file(&found.absolute(), &item.source_path)?;
        Some(format!(
            "{} was published before from {}, which is still there: {} replaces it (--root, --path or another --source tells them apart)",
            self.name(&item.source_path),
            other.display(),
            found.file.display()
        ))
    }
}

fn note_of_moved(moved: &[Twice]) -> Option<String> {
    let first = moved.first()?;
    Some(match moved.len() {
        1 => format!(
            "{} was published before as {}, which stays as a second document: `tributary documents delete {}` ends it, and so does --prune with the folder",
            first.now, first.before, first.before
        ),
        more => format!(
            "{more} files were published before under other paths, and those documents stay as second ones: {}; --prune with the folder ends them",
            listed(moved.iter().map(|twice| twice.before.as_str()))
        ),
    })
}

/// One for each of the other sources.
fn notes_of_elsewhere(elsewhere: Vec<(&str, Twice)>) -> Vec<String> {
    let mut by_source: BTreeMap<&str, Vec<Twice>> = BTreeMap::new();
    for (source, twice) in elsewhere {
        by_source.entry(source).or_default().push(twice);
    }
    let notes = by_source.iter();
    notes
        .filter_map(|(source, twice)| note_of_elsewhere(source, twice))
        .collect()
}

fn note_of_elsewhere(source: &str, elsewhere: &[Twice]) -> Option<String> {
    let first = elsewhere.first()?;
    let before = listed(elsewhere.iter().map(|twice| twice.before.as_str()));
    Some(match elsewhere.len() {
        1 => format!(
            "{} is a second document of a file that is {before} already: --source {source} updates that one, `tributary documents delete {before}` ends it",
            first.now
        ),
        more => format!(
            "{more} of these files are documents of source {source} already and become second ones: {before}; --source {source} updates those"
        ),
    })
}

fn note_of_titles(items: &[Item]) -> Option<String> {
    let kept: Vec<(&str, &str)> = items
        .iter()
        .filter_map(|item| Some((item.source_path.as_str(), item.title.as_deref()?)))
        .collect();
    let (path, title) = kept.first()?;
    Some(match kept.len() {
        1 => format!(
            "{path} keeps the title “{title}” that it was given with --title (--title \"\" drops it)"
        ),
        more => format!(
            "{more} documents keep the titles that they were given with --title: {}",
            listed(kept.iter().map(|(path, _)| *path))
        ),
    })
}

/// The first of them, and how many more there are.
pub fn listed<'a>(all: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = all.len().saturating_sub(NAMED);
    let first: Vec<&str> = all.take(NAMED).collect();
    match more {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_several_sources_are_told_of_each() {
        let twice = |source: &'static str, path: &str| {
            let twice = Twice {
                before: format!("{source}/{path}"),
                now: format!("files/{path}"),
            };
            (source, twice)
        };
        let all = vec![twice("hb", "a"), twice("wiki", "b"), twice("hb", "c")];
        let [hb, wiki] = &notes_of_elsewhere(all)[..] else {
            panic!("one note for each source");
        };
        assert!(hb.starts_with("2 of these files are documents of source hb"));
        assert!(hb.contains("hb/a, hb/c") && wiki.contains("--source wiki"));
    }

    #[test]
    fn many_are_listed_by_the_first_and_their_number() {
        assert_eq!(listed(["a", "b"].into_iter()), "a, b");
        let many = ["a", "b", "c", "d", "e"];
        assert_eq!(listed(many.into_iter()), "a, b, c and 2 more");
    }
}
