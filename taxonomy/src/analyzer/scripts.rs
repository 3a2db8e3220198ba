//! Scripts without a dictionary here: Japanese kana, Korean, Thai and its neighbours, pictographs.

use super::{Analyzer, MAXIMUM_TOKEN_BYTES, Output};
use crate::characters::Class;

impl Analyzer {
    /// Emits the run of one script that begins at a place; a separator emits nothing. Returns where
    /// it ends.
    pub(super) fn cut_other(
        &self,
        text: &str,
        start: usize,
        first: char,
        output: &mut Output<'_>,
    ) -> usize {
        let class = self.characters.class(first);
        let mut end = start + first.len_utf8();
        if class == Class::Separator {
            return end;
        }
        let rest = text.get(end..).unwrap_or_default();
        for character in rest.chars() {
            let is_too_long = end + character.len_utf8() - start > MAXIMUM_TOKEN_BYTES;
            let is_alone = class == Class::Pictograph || self.characters.class(character) != class;
            if is_too_long || is_alone || self.matcher.longest(text, end).is_some() {
                break;
            }
            end += character.len_utf8();
        }
        emit_run(class, text.get(start..end).unwrap_or_default(), output);
        end
    }
}

/// Emits a run of one script: as pairs, as a whole, or as both.
fn emit_run(class: Class, run: &str, output: &mut Output<'_>) {
    match class {
        Class::Pairs => emit_pairs(run, output),
        Class::Hangul => {
            output.token(run);
            if run.chars().count() > 2 {
                emit_pairs(run, output);
            }
        }
        _ => output.token(run),
    }
}

/// Every two neighbouring characters; a single one as it is.
fn emit_pairs(run: &str, output: &mut Output<'_>) {
    let starts = run.char_indices().map(|(index, _)| index);
    let ends = run
        .char_indices()
        .skip(2)
        .map(|(index, _)| index)
        .chain(std::iter::once(run.len()));
    for (start, end) in starts.zip(ends) {
        output.token(run.get(start..end).unwrap_or_default());
    }
}
