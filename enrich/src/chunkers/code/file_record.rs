//! What a file says of itself, and what is in it: the description of its record.

use tributary_models::TokenCounter;
use tributary_schemas::code_entry::{CodeEntry, Definition, DescribedBy};

use super::comments::{first_sentence, prose, prose_of_file};
use super::definitions::{Findings, What};
use super::items::Item;
use super::source::Source;

/// A description ends after about this many tokens.
const ENOUGH_TOKENS: usize = 400;

/// The record of a file.
pub(super) fn entry(
    source: &Source<'_>,
    findings: &Findings,
    items: &[Item],
    tokens: &dyn TokenCounter,
) -> CodeEntry {
    let path = source.path;
    let head = prose_of_file(&head_comment(source, findings, items), path);
    let described_by = match head.is_empty() {
        true => DescribedBy::Names,
        false => DescribedBy::Comment,
    };
    let description = with_lines(head, lines_of(source, items), tokens);
    CodeEntry {
        language: source.language.as_str().to_owned(),
        definition: Definition::File,
        name: path.rsplit('/').next().unwrap_or(path).to_owned(),
        signature: String::new(),
        start_line: 1,
        end_line: source.lines(&(0..source.code.len())).1,
        description: match description.is_empty() {
            true => path.to_owned(),
            false => description,
        },
        described_by,
        calls: Vec::new(),
        callers: Vec::new(),
    }
}

/// Adds lines until there are enough.
fn with_lines(
    mut out: String,
    lines: impl Iterator<Item = String>,
    tokens: &dyn TokenCounter,
) -> String {
    let mut sum = tokens.count(&out);
    for line in lines {
        sum += tokens.count(&line);
        if sum > ENOUGH_TOKENS {
            break;
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&line);
    }
    out
}

/// A line for each definition: its name and the first sentence of its comment.
pub(super) fn lines_of<'a>(
    source: &'a Source<'_>,
    items: &'a [Item],
) -> Box<dyn Iterator<Item = String> + 'a> {
    Box::new(items.iter().flat_map(move |item| {
        let own = (item.found.what != What::Scope).then(|| line_of(source, item));
        own.into_iter().chain(lines_of(source, &item.items))
    }))
}

fn line_of(source: &Source<'_>, item: &Item) -> String {
    let says = prose(&comment_of(source, item));
    match first_sentence(&says) {
        "" => item.found.name.clone(),
        sentence => format!("{}: {sentence}", item.found.name),
    }
}

/// The comment of a definition: above it, or the text that its body begins with.
pub(super) fn comment_of(source: &Source<'_>, item: &Item) -> String {
    let ranges = item.comments.iter().chain(&item.found.doc);
    let texts: Vec<&str> = ranges.map(|range| source.text(range.clone())).collect();
    texts.join("\n")
}

/// Comments before all code, but for those of the first definition.
fn head_comment(source: &Source<'_>, findings: &Findings, items: &[Item]) -> String {
    const MOST: usize = 64;
    let first = items
        .first()
        .map_or(source.code.len(), |item| item.range.start);
    let mut end = 0;
    let mut texts: Vec<&str> = Vec::new();
    for span in findings.spans.iter().take(MOST) {
        let between = source.text(end..span.range.start);
        if span.range.start >= first || !between.trim().is_empty() {
            break;
        }
        texts.extend((between.matches('\n').count() > 1).then_some(""));
        texts.push(source.text(span.range.clone()));
        end = span.range.end;
    }
    texts.extend(findings.doc.iter().map(|range| source.text(range.clone())));
    texts.join("\n")
}
