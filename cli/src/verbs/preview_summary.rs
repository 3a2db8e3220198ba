//! What `profiles preview` says of all files together: how many there are of each profile, set and
//! tag, what no rule spoke of, and what the cleaning steps took out.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use tributary_schemas::CleanDocument;

use crate::print;

/// Lines taken out by cleaning that are shown, those of most files first.
const SHOWN_LINES: usize = 10;
/// Different lines that are counted; more are too many to be a pattern.
const COUNTED_LINES: usize = 100_000;
const LINE_CHARACTERS: usize = 100;

/// Of all files that were read.
#[derive(Debug, Default, Serialize)]
pub struct Summary {
    /// Files that were read.
    pub files: usize,
    /// Files that could not be.
    pub failed: usize,
    /// Files by profile.
    pub profiles: BTreeMap<String, usize>,
    /// Files by knowledge set; a file may be in several.
    pub knowledge_sets: BTreeMap<String, usize>,
    /// Files in no knowledge set.
    pub without_knowledge_set: usize,
    /// Files by tag.
    pub tags: BTreeMap<String, usize>,
    /// Files without a tag.
    pub without_tag: usize,
    /// Chunks of all files.
    pub chunks: usize,
    /// Characters as converted.
    pub characters_before: usize,
    /// Characters after the cleaning steps.
    pub characters_after: usize,
    /// Lines that the cleaning steps took out or changed, with the number of files, those of most
    /// files first.
    pub lines_cleaned: Vec<(String, usize)>,
    #[serde(skip)]
    cleaned: HashMap<String, usize>,
}

impl Summary {
    /// Counts a file: its text as converted, and what became of it.
    pub fn add(&mut self, profile: &str, before: &str, clean: &CleanDocument, chunks: usize) {
        let document = &clean.document;
        self.files += 1;
        *self.profiles.entry(profile.to_owned()).or_default() += 1;
        for set in &document.knowledge_sets {
            *self.knowledge_sets.entry(set.clone()).or_default() += 1;
        }
        for tag in &document.tags {
            *self.tags.entry(tag.clone()).or_default() += 1;
        }
        self.without_knowledge_set += usize::from(document.knowledge_sets.is_empty());
        self.without_tag += usize::from(document.tags.is_empty());
        self.chunks += chunks;
        self.characters_before += before.chars().count();
        self.characters_after += clean.markdown.chars().count();
        self.count_lines(before, &clean.markdown);
    }

    fn count_lines(&mut self, before: &str, after: &str) {
        for line in cleaned_lines(before, after) {
            if self.cleaned.len() < COUNTED_LINES || self.cleaned.contains_key(line) {
                *self.cleaned.entry(line.to_owned()).or_default() += 1;
            }
        }
    }

    /// Counts one that could not be read.
    pub fn add_failure(&mut self) {
        self.failed += 1;
    }

    /// Everything is counted.
    pub fn end(&mut self) {
        let mut lines: Vec<(String, usize)> = std::mem::take(&mut self.cleaned)
            .into_iter()
            .map(|(line, files)| (print::shorten(&line, LINE_CHARACTERS), files))
            .collect();
        lines.sort_by(|left, right| right.1.cmp(&left.1).then_with(|| left.0.cmp(&right.0)));
        lines.truncate(SHOWN_LINES);
        self.lines_cleaned = lines;
    }

    /// For people.
    pub fn describe(&self) -> String {
        let mut lines = vec![format!(
            "══ {}, {}",
            print::count(self.files, "file"),
            print::count(self.chunks, "chunk")
        )];
        if self.failed > 0 {
            lines.push(format!("failed:     {}", self.failed));
        }
        lines.push(format!("profiles:   {}", counted(&self.profiles, None)));
        let without_set = ("no set", self.without_knowledge_set);
        lines.push(format!(
            "sets:       {}",
            counted(&self.knowledge_sets, Some(without_set))
        ));
        let without_tag = ("no tag", self.without_tag);
        lines.push(format!(
            "tags:       {}",
            counted(&self.tags, Some(without_tag))
        ));
        lines.push(format!(
            "cleaning:   {} characters before, {} after",
            self.characters_before, self.characters_after
        ));
        lines.extend(self.describe_lines());
        lines.join("\n")
    }

    /// The lines that were cleaned below a title, if there are any.
    fn describe_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.lines_cleaned.is_empty() {
            lines.push(
                "lines that cleaning took out or changed, with the files that had them:".to_owned(),
            );
        }
        let cleaned = self.lines_cleaned.iter();
        lines.extend(cleaned.map(|(line, files)| format!("  {files:5}  {line}")));
        lines
    }
}

/// `name 12, other 3`, the most first, and at the end how many have none.
fn counted(counts: &BTreeMap<String, usize>, without: Option<(&str, usize)>) -> String {
    let mut sorted: Vec<(&str, usize)> = counts
        .iter()
        .map(|(name, count)| (name.as_str(), *count))
        .collect();
    sorted.sort_by(|left, right| right.1.cmp(&left.1).then_with(|| left.0.cmp(right.0)));
    sorted.extend(without.filter(|(_, count)| *count > 0));
    let named: Vec<String> = sorted
        .into_iter()
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    named.join(", ")
}

/// Lines that were there before and are not there after, each once. White space does not count.
fn cleaned_lines<'a>(before: &'a str, after: &str) -> Vec<&'a str> {
    let mut left: HashMap<&str, usize> = HashMap::new();
    for line in after.lines().map(str::trim) {
        *left.entry(line).or_default() += 1;
    }
    let mut cleaned: Vec<&str> = before
        .lines()
        .map(|line| {
            line.trim_matches(|character: char| character.is_whitespace() || character == '\u{c}')
        })
        .filter(|line| !line.is_empty())
        .filter(|line| match left.get_mut(line) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        })
        .collect();
    cleaned.sort_unstable();
    cleaned.dedup();
    cleaned
}

#[cfg(test)]
mod tests {
    use tributary_schemas::DocumentHeader;

    use super::*;

    fn document(sets: &[&str], tags: &[&str], markdown: &str) -> CleanDocument {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        CleanDocument {
            document: DocumentHeader {
                knowledge_sets: owned(sets),
                tags: owned(tags),
                ..DocumentHeader::default()
            },
            markdown: markdown.to_owned(),
            ..CleanDocument::default()
        }
    }

    #[test]
    fn files_are_counted_by_what_they_got_and_what_cleaning_took() {
        let mut summary = Summary::default();
        let before = "# A\n\nkept\n\nPrevious topic: x\n";
        let first = document(&["common", "radio"], &["5G"], "# A\n\nkept\n");
        summary.add("wiki", before, &first, 2);
        let second = document(&[], &[], "# B\n");
        summary.add("wiki", "# B\n\nPrevious topic: x\n", &second, 1);
        summary.add_failure();
        summary.end();
        assert_eq!(
            summary.describe(),
            "══ 2 files, 3 chunks\n\
             failed:     1\n\
             profiles:   wiki 2\n\
             sets:       common 1, radio 1, no set 1\n\
             tags:       5G 1, no tag 1\n\
             cleaning:   52 characters before, 14 after\n\
             lines that cleaning took out or changed, with the files that had them:\n      \
             2  Previous topic: x"
        );
    }
}
