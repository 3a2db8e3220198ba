//! The context of an answer: what a model is shown of the hits. Chunks that follow each other in one
//! section become one passage in reading order, what stands in another passage is left out, and
//! nothing is cut within a chunk.

use std::collections::HashSet;

use tributary_models::TokenCounter;
use tributary_schemas::ChunkId;
use tributary_schemas::ask::{Lines, Source};
use tributary_schemas::search::{Hit, Passage};

/// Hits as numbered passages, best first.
///
/// A hit grows by its neighbours of the same section, the nearest first, up to `passage_tokens`.
pub fn passages(hits: &[Hit], passage_tokens: usize, tokens: &dyn TokenCounter) -> Vec<Source> {
    let mut shown: HashSet<ChunkId> = HashSet::new();
    let mut sources: Vec<Source> = Vec::new();
    for hit in hits {
        if shown.contains(&hit.chunk_id) || stands_in(&hit.text, &sources) {
            continue;
        }
        let around = grown(hit, passage_tokens, tokens, &shown);
        shown.extend(around.iter().map(|passage| passage.chunk_id));
        shown.insert(hit.chunk_id);
        let text = joined(hit, &around);
        let number = u32::try_from(sources.len() + 1).unwrap_or(u32::MAX);
        sources.push(source(number, hit, text));
    }
    sources
}

/// A hit as a source of its own.
pub fn source(number: u32, hit: &Hit, text: String) -> Source {
    Source {
        number,
        cited: false,
        chunk_id: hit.chunk_id,
        document_id: hit.document_id.clone(),
        version: hit.version,
        source: hit.source.clone(),
        source_path: hit.source_path.clone(),
        title: hit.title.clone(),
        section_path: hit.section_path.clone(),
        pages: hit.pages.clone(),
        url: hit.url.clone(),
        kind: hit.kind,
        text,
        language: hit.language.clone(),
        description: hit.code.as_ref().map(|code| code.description.clone()),
        lines: hit.code.as_ref().map(|code| Lines {
            first: code.start_line,
            last: code.end_line,
        }),
        images: hit.images.clone(),
        relevance: hit.relevance,
        spans: Vec::new(),
        live: None,
    }
}

/// A text without `[^1]`, which looks like a citation, and without the `[^1]: ` before a note.
pub fn without_notes(text: &str) -> String {
    let mut parts = text.split("[^");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let behind = part.split_once(']').filter(|(label, _)| {
            let is_part = |sign: char| sign.is_ascii_digit() || sign == '.';
            label.starts_with(|first: char| first.is_ascii_digit()) && label.chars().all(is_part)
        });
        match behind {
            Some((_, text)) => {
                let begins_line = shown.is_empty() || shown.ends_with('\n');
                let text = text
                    .strip_prefix(": ")
                    .filter(|_| begins_line)
                    .unwrap_or(text);
                shown.push_str(text);
            }
            None => shown.extend(["[^", part]),
        }
    }
    shown
}

/// The same text comes from an exact duplicate or from a section of which the chunk is a part.
fn stands_in(text: &str, sources: &[Source]) -> bool {
    let text = text.trim();
    sources.iter().any(|source| source.text.contains(text))
}

/// Neighbours that go with a hit, by their place in the document.
fn grown<'a>(
    hit: &'a Hit,
    passage_tokens: usize,
    tokens: &dyn TokenCounter,
    shown: &HashSet<ChunkId>,
) -> Vec<&'a Passage> {
    let same_section = |passage: &&Passage| {
        passage.section_path == hit.section_path
            && passage.language == hit.language
            && !shown.contains(&passage.chunk_id)
    };
    let mut left = passage_tokens.saturating_sub(tokens.count(&hit.text));
    let mut taken = Vec::new();
    for passage in hit.neighbours.iter().filter(same_section) {
        let needed = tokens.count(&passage.text);
        if needed > left {
            break;
        }
        left -= needed;
        taken.push(passage);
    }
    taken
}

/// The hit and its neighbours, as they stand in the document.
fn joined(hit: &Hit, around: &[&Passage]) -> String {
    let mut parts: Vec<(u32, &str)> = vec![(hit.ordinal, &hit.text)];
    parts.extend(
        around
            .iter()
            .map(|passage| (passage.ordinal, passage.text.as_str())),
    );
    parts.sort_by_key(|(ordinal, _)| *ordinal);
    let separator = if hit.language.is_some() { "\n" } else { "\n\n" };
    let texts: Vec<&str> = parts.into_iter().map(|(_, text)| text.trim_end()).collect();
    texts.join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::tests::hit;
    use tributary_models::tokens::estimate::EstimatedTokens;
    use tributary_schemas::ChunkKind;

    fn neighbour(id: u128, ordinal: u32, section: &str, text: &str) -> Passage {
        Passage {
            chunk_id: ChunkId(id),
            ordinal,
            kind: ChunkKind::Leaf,
            section_path: vec![section.to_owned()],
            pages: Vec::new(),
            text: text.to_owned(),
            language: None,
        }
    }

    #[test]
    fn neighbours_of_the_section_join_in_reading_order_and_nothing_is_shown_twice() {
        let mut first = hit(5, "s", "Second.");
        first.ordinal = 5;
        first.neighbours = vec![
            neighbour(4, 4, "s", "First."),
            neighbour(6, 6, "other", "Elsewhere."),
        ];
        let hits = [
            first,
            hit(4, "s", "First."),
            hit(9, "t", "Second."),
            hit(8, "t", "Third."),
        ];
        let found = passages(&hits, 100, &EstimatedTokens);
        let texts: Vec<(u32, &str)> = found
            .iter()
            .map(|source| (source.number, source.text.as_str()))
            .collect();
        assert_eq!(texts, [(1, "First.\n\nSecond."), (2, "Third.")]);
        let alone = passages(&hits, 1, &EstimatedTokens);
        assert_eq!(alone[0].text, "Second.");
    }

    #[test]
    fn what_refers_to_notes_is_not_shown() {
        for (text, expected) in [
            ("Twelve[^1] sleep[^2.13].", "Twelve sleep."),
            ("Text.\n\n[^1]: Measured.", "Text.\n\nMeasured."),
            (
                "`[^0-9]` [^.] [^] [^note] [^1",
                "`[^0-9]` [^.] [^] [^note] [^1",
            ),
        ] {
            assert_eq!(without_notes(text), expected);
        }
    }
}
