//! Rows of a table that answer are shown as a table: under its head, and with how many there are.

use std::ops::Range;

/// A table within a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// All of it, in bytes.
    pub bytes: Range<usize>,
    /// Its head with the rule below it, as it is written.
    pub head: String,
    /// Rows below the head.
    pub rows: usize,
}

/// The table in which the byte stands; `None` outside of one that has a head.
pub fn table_at(text: &str, at: usize) -> Option<Table> {
    let (before, after) = text.split_at_checked(at)?;
    let begins = before.rfind('\n').map_or(0, |end| end + 1);
    let above = text.get(..begins)?;
    let mut start = begins;
    for line in above.split_inclusive('\n').rev() {
        if !is_row(line) {
            break;
        }
        start -= line.len();
    }
    let mut end = begins;
    for line in text.get(begins..)?.split_inclusive('\n') {
        if !is_row(line) {
            break;
        }
        end += line.len();
    }
    let lines: Vec<&str> = text.get(start..end)?.lines().collect();
    let [head, rule, rows @ ..] = lines.as_slice() else {
        return None;
    };
    let is_below = text.get(start..at)?.matches('\n').count() >= 2 || after.is_empty();
    (is_rule(rule) && is_below).then(|| Table {
        bytes: start..end,
        head: format!("{}\n{}", head.trim(), rule.trim()),
        rows: rows.len(),
    })
}

fn is_row(line: &str) -> bool {
    line.trim_start().starts_with('|')
}

fn is_rule(line: &str) -> bool {
    line.contains("--") && line.chars().all(|one| "|-: ".contains(one))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::string_slice)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_found_in_its_table_with_the_head() {
        let text = "Marks:\n\n| name | mark |\n|---|---|\n| Li | 80 |\n| Sun | 93 |\n\nEnd.";
        let at = |what: &str| table_at(text, text.find(what).unwrap());
        let table = at("Sun").unwrap();
        assert_eq!(table.head, "| name | mark |\n|---|---|");
        assert_eq!(table.rows, 2);
        assert!(text[table.bytes].ends_with("| Sun | 93 |\n"));
        assert_eq!(at("name"), None, "the head answers nothing");
        assert_eq!(at("End"), None);
        assert_eq!(table_at("| a |\n| b |", 8), None, "no head");
        assert_eq!(table_at("", 0), None);
    }
}
