//! Names as models write them, and as they are stored.

use sqlparser::ast::{Expr, Ident, Value, ValueWithSpan};
use sqlparser::tokenizer::Span;

/// Position of the name: exactly, else without regard to case, else the only one of the same letters
/// and digits.
pub(super) fn find<'a>(
    names: impl Iterator<Item = &'a str> + Clone,
    wanted: &str,
) -> Option<usize> {
    let exactly = names.clone().position(|name| name == wanted);
    let same = |name: &str| lower(name) == lower(wanted);
    let without_case = || names.clone().position(same);
    let loosely = || {
        let wanted = loose(wanted);
        let mut alike = names.clone().enumerate();
        let mut alike = alike.by_ref().filter(|(_, name)| loose(name) == wanted);
        match (alike.next(), alike.next()) {
            (Some((at, _)), None) if !wanted.is_empty() => Some(at),
            _ => None,
        }
    };
    exactly.or_else(without_case).or_else(loosely)
}

fn loose(name: &str) -> String {
    let letters = name.chars().filter(|one| one.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

pub(super) fn lower(name: &str) -> String {
    name.to_lowercase()
}

pub(super) fn exact(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

pub(super) fn text(text: &str) -> Expr {
    Expr::Value(ValueWithSpan {
        value: Value::SingleQuotedString(text.to_owned()),
        span: Span::empty(),
    })
}
