//! Names of database tables and columns: safe without quotes, unique without regard to case, close
//! to the real names.

use std::collections::HashSet;

/// Longest name in characters.
const MAXIMUM_CHARACTERS: usize = 48;

/// Words of SQL that cannot be a name without quotes.
const RESERVED: &[&str] = &[
    "add",
    "all",
    "alter",
    "and",
    "as",
    "autoincrement",
    "between",
    "by",
    "case",
    "check",
    "collate",
    "column",
    "commit",
    "constraint",
    "create",
    "cross",
    "current",
    "current_date",
    "current_time",
    "current_timestamp",
    "default",
    "deferrable",
    "delete",
    "desc",
    "distinct",
    "drop",
    "else",
    "end",
    "escape",
    "except",
    "exists",
    "filter",
    "for",
    "foreign",
    "from",
    "full",
    "group",
    "having",
    "if",
    "in",
    "index",
    "inner",
    "insert",
    "intersect",
    "into",
    "is",
    "isnull",
    "join",
    "key",
    "left",
    "like",
    "limit",
    "match",
    "natural",
    "not",
    "notnull",
    "null",
    "of",
    "offset",
    "on",
    "or",
    "order",
    "outer",
    "over",
    "plan",
    "pragma",
    "primary",
    "query",
    "range",
    "references",
    "replace",
    "right",
    "row",
    "rows",
    "select",
    "set",
    "table",
    "then",
    "to",
    "transaction",
    "trigger",
    "union",
    "unique",
    "update",
    "using",
    "values",
    "view",
    "when",
    "where",
    "window",
    "with",
    "without",
    "rowid",
    "oid",
];

/// Names that are taken.
#[derive(Debug, Default)]
pub(crate) struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// A safe name like `wanted` that is not taken yet; `fallback` where nothing of it remains.
    pub(crate) fn unique(&mut self, wanted: &str, fallback: &str) -> String {
        let base = safe(wanted, fallback);
        let mut name = base.clone();
        let mut number = 2;
        while !self.taken.insert(name.to_lowercase()) {
            name = format!("{base}_{number}");
            number += 1;
            // Thousands of equal names would be counted through again and again.
            if number > 64 {
                name = format!("{base}_{}", self.taken.len() + number);
            }
        }
        name
    }
}

/// Letters and digits of any script, everything else as single underscores.
fn safe(wanted: &str, fallback: &str) -> String {
    let mut name = String::new();
    for character in wanted.trim().chars() {
        if character.is_alphanumeric() {
            name.push(character);
        } else if !name.ends_with('_') && !name.is_empty() {
            name.push('_');
        }
        if name.chars().count() >= MAXIMUM_CHARACTERS {
            break;
        }
    }
    let name = name.trim_end_matches('_');
    if name.is_empty() {
        return fallback.to_owned();
    }
    let is_reserved = RESERVED.iter().any(|word| word.eq_ignore_ascii_case(name));
    let starts_badly = name.starts_with(|first: char| first.is_numeric())
        || name.to_ascii_lowercase().starts_with("sqlite_");
    match (is_reserved, starts_badly) {
        (true, _) => format!("{name}_"),
        (_, true) => format!("n_{name}"),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_and_unique() {
        let mut names = Names::default();
        let made: Vec<String> = [
            "Total (€)",
            "total",
            "order",
            "2019",
            "单价（元）",
            "",
            "sqlite_x",
            "TOTAL",
            "\"; DROP",
        ]
        .iter()
        .map(|wanted| names.unique(wanted, "c6"))
        .collect();
        assert_eq!(
            made,
            [
                "Total",
                "total_2",
                "order_",
                "n_2019",
                "单价_元",
                "c6",
                "n_sqlite_x",
                "TOTAL_3",
                "DROP_"
            ]
        );
        assert_eq!(
            names.unique(&"x".repeat(500), "c").len(),
            MAXIMUM_CHARACTERS
        );
    }

    #[test]
    fn thousands_of_equal_names_are_no_trouble() {
        let mut names = Names::default();
        let made: HashSet<String> = (0..20_000).map(|_| names.unique("a", "c")).collect();
        assert_eq!(made.len(), 20_000);
    }
}
