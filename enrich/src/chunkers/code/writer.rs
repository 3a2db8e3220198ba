//! Writes the chunks of a file, from the record of the file down.

use std::ops::Range;

use tributary_models::TokenCounter;
use tributary_schemas::code_entry::CodeEntry;
use tributary_schemas::{ChunkKind, CleanDocument};

use super::super::Cut;
use super::super::assemble::{Assembly, Draft};
use super::calls::{Calls, qualified};
use super::definitions::{Findings, What};
use super::entries::Entries;
use super::file_record;
use super::items::Item;
use super::pieces::{self, Piece};
use super::source::Source;
use crate::config::ChunkerConfig;

pub(super) struct Writer<'a> {
    source: &'a Source<'a>,
    config: &'a ChunkerConfig,
    tokens: &'a dyn TokenCounter,
    assembly: Assembly<'a>,
    /// Position of the record of the file.
    file: usize,
}

/// Where in a file something stands.
#[derive(Clone)]
struct Place {
    /// Names of what is around it, from the top down.
    path: Vec<String>,
    /// The same in one name.
    name: String,
    /// Position of the chunk above.
    parent: usize,
}

/// A piece of text that is to be a chunk.
struct Text {
    kind: ChunkKind,
    piece: Piece,
    parent: Option<usize>,
    is_continuation: bool,
}

impl<'a> Writer<'a> {
    pub fn new(
        clean: &'a CleanDocument,
        source: &'a Source<'a>,
        config: &'a ChunkerConfig,
        tokens: &'a dyn TokenCounter,
    ) -> Self {
        Self {
            source,
            config,
            tokens,
            assembly: Assembly::new(clean),
            file: 0,
        }
    }

    pub fn write(mut self, findings: &Findings, items: &[Item]) -> Cut {
        let record = file_record::entry(self.source, findings, items, self.tokens);
        let open = self.file(record, items);
        let known = Entries {
            source: self.source,
            calls: Calls::new(self.source, findings.calls.clone(), items),
            masked: findings.masked.as_deref(),
        };
        let place = Place {
            path: Vec::new(),
            name: String::new(),
            parent: self.file,
        };
        self.level(&known, items, open..self.source.code.len(), &place);
        self.assembly.finish()
    }

    /// The record of the file, with what stands at its top; where the text begins that is left.
    fn file(&mut self, entry: CodeEntry, items: &[Item]) -> usize {
        let head = 0..first_definition(items).unwrap_or(self.source.code.len());
        let is_blank = self.source.text(head.clone()).trim().is_empty();
        // A file that begins with a definition is shown by its first line.
        let shown = match is_blank {
            true => 0..self.first_line_end(),
            false => head,
        };
        let text = self.source.text(shown.clone());
        let limit = self.config.leaf_maximum_tokens;
        let first = pieces::cut(text, limit, self.tokens).into_iter().next();
        let piece = first.unwrap_or(Piece {
            range: shown,
            tokens: 0,
        });
        let open = piece.range.end;
        let text = Text {
            kind: ChunkKind::CodeFile,
            piece,
            parent: None,
            is_continuation: false,
        };
        self.file = self.push(text, &[], Some(Box::new(entry)));
        match is_blank {
            true => 0,
            false => open,
        }
    }

    fn first_line_end(&self) -> usize {
        let code = self.source.code;
        self.source.line_end(code.len() - code.trim_start().len())
    }

    /// Definitions of a range with what stands between them. Calls itself for what is in them.
    fn level(&mut self, known: &Entries<'_>, items: &[Item], range: Range<usize>, place: &Place) {
        let mut open = range.start;
        for item in items {
            if item.found.what == What::Scope {
                let first = first_definition(&item.items).unwrap_or(item.range.end);
                self.gap(open..first, place);
                let inner = self.place_in(item, place, place.parent);
                self.level(known, &item.items, first.max(open)..item.range.end, &inner);
            } else {
                self.gap(open..item.range.start, place);
                self.definition(known, item, place);
            }
            open = item.range.end.max(open);
        }
        self.gap(open..range.end, place);
    }

    fn place_in(&self, item: &Item, place: &Place, parent: usize) -> Place {
        let separator = self.source.language.separator();
        let name = &item.found.name;
        let mut path = place.path.clone();
        path.extend(name.split(separator).map(str::to_owned));
        Place {
            path,
            name: qualified(&place.name, name, separator),
            parent,
        }
    }

    /// Code that is no definition.
    fn gap(&mut self, range: Range<usize>, place: &Place) {
        let text = self.source.text(range.clone());
        if text.trim().is_empty() {
            return;
        }
        let limit = self.config.leaf_maximum_tokens;
        let pieces = pieces::cut(text, limit, self.tokens);
        for (at, piece) in pieces.into_iter().enumerate() {
            if text
                .get(piece.range.clone())
                .is_none_or(|text| text.trim().is_empty())
            {
                continue;
            }
            let text = Text {
                kind: ChunkKind::Leaf,
                piece: moved(piece, range.start),
                parent: Some(place.parent),
                is_continuation: at > 0,
            };
            self.push(text, &place.path, None);
        }
    }

    fn definition(&mut self, known: &Entries<'_>, item: &Item, place: &Place) {
        let is_cut = !item.items.is_empty() && self.is_longer_than_leaf(&item.range);
        let inner = item.items.first().map(|inner| inner.range.start);
        let end = inner.filter(|_| is_cut).unwrap_or(item.range.end);
        let range = item.range.start..end;
        let mut entry = Some(Box::new(known.of(item, &place.name)));
        let own = self.place_in(item, place, place.parent);
        let limit = self.config.block_limit_tokens;
        let pieces = pieces::cut(self.source.text(range.clone()), limit, self.tokens);
        let mut first = place.parent;
        for (at, piece) in pieces.into_iter().enumerate() {
            let text = Text {
                kind: match at {
                    0 => ChunkKind::CodeFunction,
                    _ => ChunkKind::Continuation,
                },
                piece: moved(piece, range.start),
                parent: Some(place.parent),
                is_continuation: at > 0,
            };
            let position = self.push(text, &own.path, entry.take());
            if at == 0 {
                first = position;
            }
        }
        if is_cut {
            let inner = Place {
                parent: first,
                ..own
            };
            self.level(known, &item.items, end..item.range.end, &inner);
        }
    }

    fn is_longer_than_leaf(&self, range: &Range<usize>) -> bool {
        let text = self.source.text(range.clone());
        let limit = self.config.leaf_maximum_tokens;
        text.len() > limit * 8 || super::super::count(self.tokens, text) > limit
    }

    fn push(&mut self, text: Text, path: &[String], code: Option<Box<CodeEntry>>) -> usize {
        let range = self.without_blank_lines(text.piece.range);
        let offset = self.source.offset;
        let draft = Draft {
            kind: text.kind,
            section_path: path.to_vec(),
            text: self.source.text(range.clone()).to_owned(),
            tokens: text.piece.tokens,
            range: offset + range.start..offset + range.end,
            part: offset + range.start..offset + range.end,
            parent: text.parent,
            is_continuation: text.is_continuation,
            api: None,
            code,
            language: Some(self.source.language.as_str().to_owned()),
        };
        self.assembly.push(draft, &[])
    }

    /// From the first line that has something to the last sign.
    fn without_blank_lines(&self, range: Range<usize>) -> Range<usize> {
        let text = self.source.text(range.clone());
        let blank = text.len() - text.trim_start().len();
        let line = self.source.line_start(range.start + blank);
        let start = line.max(range.start);
        start..(range.start + text.trim_end().len()).max(start)
    }
}

/// Where the first definition begins that is no scope.
fn first_definition(items: &[Item]) -> Option<usize> {
    let first = items.first()?;
    match first.found.what {
        What::Scope => first_definition(&first.items).or(Some(first.range.end)),
        _ => Some(first.range.start),
    }
}

fn moved(piece: Piece, by: usize) -> Piece {
    Piece {
        range: piece.range.start + by..piece.range.end + by,
        tokens: piece.tokens,
    }
}
