//! Citations for a text without any: behind each statement the passage that states it.

use tributary_schemas::ask::Source;
use tributary_taxonomy::Analyzer;

use crate::answer::statements::statements;
use crate::answer::support::support;

/// Signs at the end of a sentence that a citation stands before.
const ENDINGS: [char; 11] = ['.', '!', '?', ';', ':', '。', '！', '？', '；', '：', ' '];

/// The text with the number of a passage in each statement that the passage supports, and these
/// numbers in the order of their appearance. Rows of tables stay as they are. CPU-bound: some
/// milliseconds.
pub fn attributed(
    text: &str,
    passages: &[Source],
    minimum_coverage: f32,
    analyzer: &Analyzer,
) -> (String, Vec<u32>) {
    let supported = support(text, passages, minimum_coverage, analyzer).support;
    let number_of = |span| {
        let held = supported.iter().find(|held| held.span == span);
        let held = held.filter(|held| held.supported);
        held.and_then(|held| held.citations.first().copied())
    };
    let (mut cited, mut written, mut from) = (Vec::new(), String::new(), 0);
    for statement in statements(text) {
        let whole = text.get(statement.bytes.clone()).unwrap_or_default();
        let Some(number) = number_of(statement.span).filter(|_| !whole.contains('|')) else {
            continue;
        };
        let end = statement.bytes.start + whole.trim_end_matches(ENDINGS).len();
        let before = text.get(from..end).unwrap_or_default();
        let space = if before.ends_with(|sign: char| sign.is_ascii_alphanumeric()) {
            " "
        } else {
            ""
        };
        written.push_str(&format!("{before}{space}[{number}]"));
        from = end;
        if !cited.contains(&number) {
            cited.push(number);
        }
    }
    written.push_str(text.get(from..).unwrap_or_default());
    (written, cited)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::tests::{analyzer, source};

    #[test]
    fn statements_get_the_passage_that_states_them() {
        let passages = [
            source(3, "随机接入过程有两种。基于竞争的随机接入有四个步骤。"),
            source(
                5,
                "The tilt of the antenna is 6 degrees. It is checked every month.",
            ),
        ];
        let table = [
            (
                "## 随机接入\n\n基于竞争的随机接入有四个步骤。载波聚合提高吞吐量。\n\n- The tilt of the antenna is 6 degrees.",
                "## 随机接入\n\n基于竞争的随机接入有四个步骤[3]。载波聚合提高吞吐量。\n\n- The tilt of the antenna is 6 degrees [5].",
                vec![3, 5],
            ),
            (
                "The tilt of the antenna is 8 degrees.\n\n| tilt | 6 degrees |",
                "The tilt of the antenna is 8 degrees.\n\n| tilt | 6 degrees |",
                vec![],
            ),
        ];
        for (text, expected, numbers) in table {
            let (written, cited) = attributed(text, &passages, 0.6, &analyzer());
            assert_eq!((written.as_str(), cited), (expected, numbers));
        }
    }
}
