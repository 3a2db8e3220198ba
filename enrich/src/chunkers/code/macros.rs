//! Macros of C that are more than simple constants.

use std::ops::Range;

/// A macro that is more than a simple constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Macro {
    pub name: String,
    pub range: Range<usize>,
    /// Where what it stands for begins.
    pub body: usize,
}

/// The macro that a directive defines, if it is more than a simple constant.
pub(super) fn read_macro(directive: &str, rest: &str, range: Range<usize>) -> Option<Macro> {
    let rest = rest.trim_start();
    let is_sign = |sign: char| !(sign.is_alphanumeric() || sign == '_');
    let name_end = rest.find(is_sign).unwrap_or(rest.len());
    let (name, after) = rest.split_at(name_end);
    let takes_arguments = after.starts_with('(');
    if name.is_empty() || !(takes_arguments || directive.contains('\n')) {
        return None;
    }
    let head = match takes_arguments {
        true => after.find(')').map_or(after.len(), |end| end + 1),
        false => 0,
    };
    Some(Macro {
        name: name.to_owned(),
        body: range.end - (after.len() - head),
        range,
    })
}
