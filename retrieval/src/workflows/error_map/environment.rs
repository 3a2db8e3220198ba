//! The environment for which passages state a solution: lines such as `Hardware: Ascend 910` and
//! rows of tables, by labels that a profile has. A value is what the passage says, word for word.

use tributary_schemas::ask::{EnvironmentValue, Source};

use super::config::EnvironmentField;

/// Longest value, in characters: what is longer is a sentence.
const MAXIMUM_CHARACTERS: usize = 80;
/// Signs around labels and values that Markdown puts there.
const MARKS: &[char] = &['*', '`', '-', '+', '>', '#', '|', '_', '"'];

/// What the sources say of the environment, the first that says it for each field.
pub fn environment(fields: &[EnvironmentField], sources: &[&Source]) -> Vec<EnvironmentValue> {
    let of_field = |field: &EnvironmentField| {
        sources.iter().find_map(|source| {
            let value = source.text.lines().find_map(|line| value(line, field))?;
            Some(EnvironmentValue {
                name: field.name.clone(),
                value: value.to_owned(),
                source: source.number,
            })
        })
    };
    fields.iter().filter_map(of_field).collect()
}

fn value<'a>(line: &'a str, field: &EnvironmentField) -> Option<&'a str> {
    let line = line.trim().trim_start_matches(is_mark);
    field.labels.iter().find_map(|label| {
        let rest = behind(line, label)?;
        let rest = without_remark(rest.trim_start_matches(is_mark));
        let rest = rest.trim_start_matches(is_mark);
        let rest = rest
            .strip_prefix([':', '：'])
            .or_else(|| cell(line, rest))?;
        let value = rest.split('|').next()?.trim_matches(is_mark);
        let value = value.trim_end_matches(['。', ';', '；', ',', '，']);
        let length = value.chars().count();
        let is_value = (1..=MAXIMUM_CHARACTERS).contains(&length)
            && value.chars().any(char::is_alphanumeric)
            && !value.starts_with(['[', '<', '{']);
        is_value.then_some(value)
    })
}

fn is_mark(sign: char) -> bool {
    sign.is_whitespace() || MARKS.contains(&sign)
}

/// What stands behind a label in the beginning of a line, whatever its case.
fn behind<'a>(line: &'a str, label: &str) -> Option<&'a str> {
    let mut rest = line.chars();
    for wanted in label.chars() {
        let found = rest.next()?;
        if !found.to_lowercase().eq(wanted.to_lowercase()) {
            return None;
        }
    }
    Some(rest.as_str())
}

/// `Hardware (Ascend/GPU/CPU): …`: what stands in brackets behind a label names the choices.
fn without_remark(rest: &str) -> &str {
    for (open, close) in [('(', ')'), ('（', '）')] {
        if let Some(inner) = rest.strip_prefix(open) {
            return inner.split_once(close).map_or(rest, |(_, behind)| behind);
        }
    }
    rest
}

/// The next cell of a row.
fn cell<'a>(line: &str, rest: &'a str) -> Option<&'a str> {
    (line.ends_with('|') && !rest.is_empty()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::tests::source;

    fn fields() -> Vec<EnvironmentField> {
        let field = |name: &str, labels: &[&str]| EnvironmentField {
            name: name.to_owned(),
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            ..EnvironmentField::default()
        };
        vec![
            field("system", &["系统环境", "OS"]),
            field("hardware", &["硬件环境", "Hardware Environment"]),
            field("version", &["MindSpore版本", "version"]),
            field("mode", &["执行模式"]),
        ]
    }

    #[test]
    fn values_are_taken_from_lines_and_tables_and_left_out_where_absent() {
        let table = [
            ("系统环境：EulerOS 2.8", vec![("system", "EulerOS 2.8")]),
            (
                "- **Hardware Environment(Ascend/GPU/CPU)**: Ascend 910\n- version: `2.2.0`",
                vec![("hardware", "Ascend 910"), ("version", "2.2.0")],
            ),
            (
                "| 硬件环境 | GPU |\n|---|---|\n| 执行模式（PyNative/Graph） | 不限 |",
                vec![("hardware", "GPU"), ("mode", "不限")],
            ),
            ("OSError: no such file", vec![]),
            ("The version of this page is old.", vec![]),
            ("version:", vec![]),
            ("", vec![]),
        ];
        for (text, expected) in table {
            let source = source(2, text);
            let found = environment(&fields(), &[&source]);
            let told: Vec<(&str, &str)> = found
                .iter()
                .map(|one| (one.name.as_str(), one.value.as_str()))
                .collect();
            assert_eq!(told, expected, "{text}");
            assert!(
                found
                    .iter()
                    .all(|one| text.contains(&one.value) && one.source == 2)
            );
        }
    }
}
