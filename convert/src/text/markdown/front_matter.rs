//! Front matter: the YAML (`---`) or TOML (`+++`) block before a Markdown text, flattened to names
//! and texts.

use std::collections::BTreeMap;

use crate::text::tree::Tree;
use crate::text::yaml;

/// Deepest nesting that is flattened.
const MAXIMUM_DEPTH: usize = 8;

/// Most names that are kept.
const MAXIMUM_NAMES: usize = 256;

/// Metadata and the text below it. A block that does not parse, is no table or is too long stays
/// part of the text.
pub(super) fn split(text: &str, maximum_bytes: usize) -> (BTreeMap<String, String>, &str) {
    let none = (BTreeMap::new(), text);
    for (mark, ends) in [("---", &["---", "..."][..]), ("+++", &["+++"][..])] {
        let Some((block, rest)) = block(text, mark, ends) else {
            continue;
        };
        if block.len() > maximum_bytes {
            return none;
        }
        let Some(tree) = parse(block, mark) else {
            return none;
        };
        let mut metadata = BTreeMap::new();
        flatten("", &tree, 0, &mut metadata);
        return (metadata, rest);
    }
    none
}

/// The lines between the opening and the closing mark, and what follows.
fn block<'a>(text: &'a str, mark: &str, ends: &[&str]) -> Option<(&'a str, &'a str)> {
    let (first, body) = text.split_once('\n')?;
    if first.trim_end() != mark {
        return None;
    }
    let mut length = 0;
    for line in body.split_inclusive('\n') {
        if ends.contains(&line.trim_end()) {
            return Some((body.get(..length)?, body.get(length + line.len()..)?));
        }
        length += line.len();
    }
    None
}

fn parse(block: &str, mark: &str) -> Option<Tree> {
    let tree = if mark == "---" {
        yaml::document(block)?
    } else {
        from_toml(toml::Value::Table(block.parse().ok()?))
    };
    match tree {
        Tree::Record(_) => Some(tree),
        Tree::Nothing => Some(Tree::Record(Vec::new())),
        _ => None,
    }
}

/// Numbers, truth values and dates become text.
fn from_toml(value: toml::Value) -> Tree {
    match value {
        toml::Value::Table(table) => Tree::Record(
            table
                .into_iter()
                .map(|(name, value)| (name, from_toml(value)))
                .collect(),
        ),
        toml::Value::Array(items) => Tree::List(items.into_iter().map(from_toml).collect()),
        toml::Value::String(text) => Tree::Text(text),
        other => Tree::Plain(other.to_string()),
    }
}

/// Nested names are joined by dots, list items by commas; names become lowercase. Of two values
/// with one name the last one counts.
fn flatten(prefix: &str, tree: &Tree, depth: usize, metadata: &mut BTreeMap<String, String>) {
    if depth > MAXIMUM_DEPTH || metadata.len() >= MAXIMUM_NAMES {
        return;
    }
    match tree {
        Tree::Record(entries) => {
            for (name, value) in entries.iter().filter(|(name, _)| !name.is_empty()) {
                let full = joined_name(prefix, &name.trim().to_lowercase());
                flatten(&full, value, depth + 1, metadata);
            }
        }
        Tree::List(items) => {
            let texts: Vec<&str> = items.iter().filter_map(written).collect();
            if !texts.is_empty() {
                metadata.insert(prefix.to_owned(), texts.join(", "));
            }
        }
        scalar => {
            if let Some(text) = written(scalar) {
                metadata.insert(prefix.to_owned(), text.to_owned());
            }
        }
    }
}

fn joined_name(prefix: &str, name: &str) -> String {
    if prefix.is_empty() {
        name.to_owned()
    } else {
        format!("{prefix}.{name}")
    }
}

/// What a value says; `None` where there is none, and for nested ones.
fn written(tree: &Tree) -> Option<&str> {
    match tree {
        Tree::Text(text) | Tree::Plain(text) => Some(text.trim()),
        Tree::Nothing | Tree::List(_) | Tree::Record(_) => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<(String, String)> {
        split(text, 4096).0.into_iter().collect()
    }

    #[test]
    fn yaml_and_toml_are_flattened() {
        let yaml = "---\nTitle: 载波聚合\nkeywords:\n- a\n- b\nms.date: 04/20/2017\nnested:\n  x: 1\nempty:\n---\nbody";
        let expected = [
            ("keywords", "a, b"),
            ("ms.date", "04/20/2017"),
            ("nested.x", "1"),
            ("title", "载波聚合"),
        ];
        let expected: Vec<(String, String)> = expected
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
            .collect();
        assert_eq!(names(yaml), expected);
        assert_eq!(split(yaml, 4096).1, "body");
        assert_eq!(
            names("+++\ntitle = \"T\"\ndate = 2024-01-02\n+++\n")
                .first()
                .unwrap()
                .0,
            "date"
        );
    }

    #[test]
    fn values_stay_as_they_are_written() {
        let yaml = "---\nversion: 1.0\nrelease: 1_000\nbuild: 007\ndraft: no\nlimit: .inf\nowner: !person 张三\ntags: first\ntags: last\n---\n";
        let expected = [
            ("build", "007"),
            ("draft", "no"),
            ("limit", ".inf"),
            ("owner", "张三"),
            ("release", "1_000"),
            ("tags", "last"),
            ("version", "1.0"),
        ];
        assert_eq!(
            names(yaml),
            expected.map(|(name, text)| (name.to_owned(), text.to_owned()))
        );
    }

    #[test]
    fn what_is_no_front_matter_stays_text() {
        for text in [
            "---\nnot closed\n",
            "---\n- a\n- b\n---\n",
            "---\na: [\n---\n",
            "text\n---\na: 1\n---\n",
            "+++\nbroken\n+++\n",
        ] {
            assert_eq!(split(text, 4096), (BTreeMap::new(), text));
        }
        let long = format!("---\na: {}\n---\n", "x".repeat(5000));
        assert_eq!(split(&long, 4096).1, long);
        assert_eq!(split("---\n---\nbody", 4096), (BTreeMap::new(), "body"));
    }

    #[test]
    fn aliases_do_not_explode() {
        let mut bomb = String::from("---\na0: &a0 [x,x,x,x,x,x,x,x,x]\n");
        for level in 1..30 {
            let previous = vec![format!("*a{}", level - 1); 9].join(",");
            bomb.push_str(&format!("a{level}: &a{level} [{previous}]\n"));
        }
        bomb.push_str("---\nbody");
        let started = std::time::Instant::now();
        assert_eq!(split(&bomb, 1 << 20).1, bomb);
        assert!(started.elapsed().as_secs() < 5);
    }
}
