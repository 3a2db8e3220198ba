//! YAML as trees. A text costs time in line with its length, and what its aliases make of it is
//! bounded.

use serde_saphyr::{
    Budget, DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy, Options, alias_limits,
    budget, options,
};
use tributary_schemas::Result;

use super::tree::Tree;
use crate::limits::Limits;

/// Lists and records in each other; each takes some kilobytes of the stack while it is read.
const MAXIMUM_DEPTH: usize = 64;

/// Values, and ends of lists and records, that aliases may stand for in one text.
const MAXIMUM_ALIASED: usize = 100_000;

/// One document. `None` if the text does not parse or holds several.
pub(super) fn document(text: &str) -> Option<Tree> {
    if text.trim().is_empty() {
        return Some(Tree::Nothing);
    }
    serde_saphyr::from_str_with_options(text, rules()).ok()
}

/// All documents that have something in them. `None` if one of them does not parse.
pub(super) fn documents(text: &str, limits: &Limits) -> Result<Option<Vec<Tree>>> {
    let mut bytes = text.as_bytes();
    let mut documents = Vec::new();
    for document in serde_saphyr::read_with_options(&mut bytes, rules()) {
        limits.check_time()?;
        match document {
            Ok(tree) => documents.push(tree),
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(documents))
}

/// Values stay as they are written: names may repeat, `<<` is a name, and what only YAML 1.1 takes
/// for a number or a truth value (`yes`, `0755`, `1_000`) is a text.
fn rules() -> Options {
    options! {
        budget: sizes(),
        alias_limits: alias_limits! { max_total_replayed_events: MAXIMUM_ALIASED },
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        merge_keys: MergeKeyPolicy::AsOrdinary,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        ignore_binary_tag_for_string: true,
        with_snippet: false,
    }
}

/// The text is bounded as the body of a document is; what is counted here is what it can make more
/// of.
fn sizes() -> Option<Budget> {
    budget! {
        max_reader_input_bytes: None,
        flow_nesting_limit: MAXIMUM_DEPTH,
        max_depth: MAXIMUM_DEPTH,
        max_events: usize::MAX,
        max_nodes: usize::MAX,
        max_documents: usize::MAX,
        max_total_scalar_bytes: usize::MAX,
        enforce_alias_anchor_ratio: false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::test_config::config;

    fn text(value: &str) -> Tree {
        Tree::Text(value.to_owned())
    }

    fn plain(value: &str) -> Tree {
        Tree::Plain(value.to_owned())
    }

    fn record(entries: &[(&str, Tree)]) -> Tree {
        let owned = |(name, value): &(&str, Tree)| ((*name).to_owned(), value.clone());
        Tree::Record(entries.iter().map(owned).collect())
    }

    fn all(text: &str) -> Option<Vec<Tree>> {
        documents(text, &Limits::starting_now(&config())).unwrap()
    }

    #[test]
    fn values_are_read_as_they_are_written() {
        let source = "version: 1.0\nanswer: no\nright: true\nmode: 0755\nsize: 1_000\nday: 2024-01-02\nlimit: -.inf\nowner: !person 张三\nblob: !!binary aGVsbG8=\nfew: 3\nnone: ~\nempty:\n";
        let expected = [
            ("version", plain("1.0")),
            ("answer", text("no")),
            ("right", plain("true")),
            ("mode", text("0755")),
            ("size", text("1_000")),
            ("day", text("2024-01-02")),
            ("limit", text("-.inf")),
            ("owner", text("张三")),
            ("blob", text("aGVsbG8=")),
            ("few", plain("3")),
            ("none", Tree::Nothing),
            ("empty", Tree::Nothing),
        ];
        assert_eq!(document(source), Some(record(&expected)));
    }

    #[test]
    fn names_may_repeat_and_aliases_are_what_they_stand_for() {
        let source = "a: &a {x: 1}\nb: {<<: *a, y: 2}\na: *a\n1: odd\n";
        let x = record(&[("x", plain("1"))]);
        let expected = [
            ("a", x.clone()),
            ("b", record(&[("<<", x.clone()), ("y", plain("2"))])),
            ("a", x),
            ("1", text("odd")),
        ];
        assert_eq!(document(source), Some(record(&expected)));
    }

    #[test]
    fn documents_are_parted_and_empty_ones_skipped() {
        assert_eq!(
            all("--- a\n---\n---\nb\n...\n"),
            Some(vec![text("a"), text("b")])
        );
        assert_eq!(all("# nothing\n"), Some(Vec::new()));
        assert_eq!(all("--- a\n--- [\n"), None);
        assert_eq!(document("--- a\n--- b\n"), None);
        assert_eq!(document(" \n"), Some(Tree::Nothing));
    }

    #[test]
    fn what_is_nested_too_deep_does_not_parse() {
        let nested = |depth| format!("{}x{}", "[".repeat(depth), "]".repeat(depth));
        assert!(document(&nested(MAXIMUM_DEPTH)).is_some());
        assert_eq!(document(&nested(MAXIMUM_DEPTH + 1)), None);
        // Brackets of a text are no nesting.
        let brackets = "[".repeat(10_000);
        let quoted = format!("a: \"{brackets}\"");
        assert_eq!(document(&quoted), Some(record(&[("a", text(&brackets))])));
    }
}
