//! What a file says of itself, and what is in it: the description of its record.

use tributary_models::TokenCounter;

use super::comments::{first_sentence, prose, prose_of_file};
use super::definitions::{Findings, What};
use super::items::Item;
use super::source::Source;

/// A description ends after about this many tokens.
const ENOUGH_TOKENS: usize = 400;

/// The description of a file, and whether it has a comment at its top.
pub(super) fn describe(
    source: &Source<'_>,
    findings: &Findings,
    items: &[Item],
    path: &str,
    tokens: &dyn TokenCounter,
) -> (String, bool) {
    let head = prose_of_file(&head_comment(source, findings, items), path);
    let has_comment = !head.is_empty();
    let mut out = head;
    let mut sum = tokens.count(&out);
    for line in lines_of(source, items) {
        sum += tokens.count(&line);
        if sum > ENOUGH_TOKENS {
            break;
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&line);
    }
    match out.is_empty() {
        true => (path.to_owned(), false),
        false => (out, has_comment),
    }
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
