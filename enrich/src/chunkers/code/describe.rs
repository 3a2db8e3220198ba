//! What a definition does, in words, without a model: from its comment, its signature and its names.

use tributary_schemas::code_entry::DescribedBy;

use super::comments::{prose, shortened};

/// Longest signature, in bytes.
const LONGEST_SIGNATURE: usize = 400;

/// A head in one line, without what opens its body.
pub(super) fn signature(head: &str) -> String {
    let words: Vec<&str> = head
        .split_whitespace()
        .filter(|word| *word != "\\")
        .collect();
    let line = words.join(" ");
    let line = line.trim_end_matches(['{', ' ', ';', ':', '\\']);
    let line = line
        .strip_suffix("=>")
        .or_else(|| line.strip_suffix('='))
        .unwrap_or(line);
    shortened(line.trim_end(), LONGEST_SIGNATURE).to_owned()
}

/// The description of a definition, and where it comes from.
pub(super) fn describe(comment: &str, signature: &str, name: &str) -> (String, DescribedBy) {
    let says = prose(comment);
    let mut lines = vec![says.as_str(), signature];
    let words = words(name);
    if words != name {
        lines.push(&words);
    }
    lines.retain(|line| !line.is_empty());
    let by = match says.is_empty() {
        true => DescribedBy::Names,
        false => DescribedBy::Comment,
    };
    (lines.join("\n"), by)
}

/// A name as words: `oom_badness` as `oom badness`, `readAll` as `read all`.
pub(super) fn words(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 8);
    let mut before: Option<char> = None;
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        if !letter.is_alphanumeric() {
            before = None;
            continue;
        }
        let begins = match before {
            None => true,
            Some(before) if letter.is_uppercase() => {
                let goes_on = letters.peek().is_some_and(|next| next.is_lowercase());
                !before.is_uppercase() || goes_on
            }
            Some(_) => false,
        };
        if begins && !out.is_empty() {
            out.push(' ');
        }
        out.extend(letter.to_lowercase());
        before = Some(letter);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_into_words() {
        for (name, expected) in [
            ("oom_badness", "oom badness"),
            ("readAllBytes", "read all bytes"),
            ("HTTPServer::serve2", "http server serve2"),
            ("__free_pages_ok", "free pages ok"),
            ("MAX_ORDER", "max order"),
            ("读取Page", "读取 page"),
        ] {
            assert_eq!(words(name), expected);
        }
    }

    #[test]
    fn a_signature_is_one_line() {
        assert_eq!(
            signature("static int\nf(int a,\n  int b)\n{"),
            "static int f(int a, int b)"
        );
        assert_eq!(signature("const f = (a) =>"), "const f = (a)");
        assert_eq!(signature("def f(a) -> int:"), "def f(a) -> int");
    }

    #[test]
    fn a_description_has_comment_signature_and_words() {
        let (text, by) = describe("/* Kills. */", "int oom_kill(void)", "oom_kill");
        assert_eq!(text, "Kills.\nint oom_kill(void)\noom kill");
        assert_eq!(by, DescribedBy::Comment);
        let (text, by) = describe("", "int f(void)", "f");
        assert_eq!((text.as_str(), by), ("int f(void)", DescribedBy::Names));
    }
}
