//! Makes texts comparable before they are cut or embedded: width, compatibility forms, case,
//! traditional → simplified Chinese. `simplify` is also what the embedding code calls; the analyzer
//! calls `normalise`.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

use crate::characters::{Characters, is_invisible};
use crate::simplified::{simplify_character, simplify_phrase};

/// Traditional → simplified Chinese, nothing else; equal to OpenCC's `t2s`. Borrows when there is
/// nothing to change.
pub fn simplify(text: &str) -> Cow<'_, str> {
    let characters = Characters::get();
    if !text
        .chars()
        .any(|character| characters.may_be_traditional(character))
    {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let used = if characters.begins_phrase(first) {
            simplify_phrase(rest, first, &mut out)
        } else if characters.may_be_traditional(first) {
            simplify_character(first, &mut out)
        } else {
            let plain = rest
                .find(|character| characters.may_be_replaced(character))
                .unwrap_or(rest.len());
            out.push_str(rest.get(..plain).unwrap_or_default());
            plain
        };
        rest = rest.get(used..).unwrap_or_default();
    }
    if out == text {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(out)
    }
}

/// Everything that makes two spellings one: full-width and compatibility forms (NFKC), case,
/// invisible characters, and traditional → simplified Chinese. `fold(fold(x)) == fold(x)`, and a
/// text and its `simplify` fold to the same.
pub fn fold(text: &str) -> Cow<'_, str> {
    let characters = Characters::get();
    let normal = normalise(text);
    if normal
        .chars()
        .any(|character| characters.is_wide_separator(character))
    {
        let narrow: String = normal.nfkc().collect();
        return Cow::Owned(narrow.to_ascii_lowercase());
    }
    if !normal.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return normal;
    }
    let mut lower = normal.into_owned();
    lower.make_ascii_lowercase();
    Cow::Owned(lower)
}

/// As [`fold`], but ASCII letters keep their case, because the analyzer still needs it to see the
/// words of `camelCase`, and punctuation keeps its width, because it only separates.
pub(crate) fn normalise(text: &str) -> Cow<'_, str> {
    let characters = Characters::get();
    if text.is_ascii() || text.chars().all(|character| characters.is_plain(character)) {
        return Cow::Borrowed(text);
    }
    let composed = compose(text, characters);
    // Twice, because OpenCC keeps some characters in a phrase (乾安縣 → 乾安县) that it would
    // change outside it (乾安县 → 干安县). After two rounds a text and its simplified form are
    // the same.
    let once = simplify(&composed);
    if once == composed {
        return composed_or(once.into_owned(), text);
    }
    composed_or(simplify(&once).into_owned(), text)
}

fn composed_or(folded: String, text: &str) -> Cow<'_, str> {
    if folded == text {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(folded)
    }
}

/// NFKC and lower case of the parts that need it; everything else is copied.
fn compose(text: &str, characters: Characters) -> Cow<'_, str> {
    if !text
        .chars()
        .any(|character| characters.needs_normalisation(character))
    {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let plain = rest
            .find(|character| characters.needs_normalisation(character))
            .unwrap_or(rest.len());
        let (before, from) = rest.split_at_checked(plain).unwrap_or((rest, ""));
        out.push_str(before);
        let length = from
            .find(|character| !characters.needs_normalisation(character))
            .unwrap_or(from.len());
        let (run, after) = from.split_at_checked(length).unwrap_or((from, ""));
        compose_run(run, &mut out);
        rest = after;
    }
    Cow::Owned(out)
}

/// Appends the normal form of a run. A mark at its start may join the character before it, so that
/// one is taken back first.
fn compose_run(run: &str, out: &mut String) {
    let base = match run.chars().next() {
        Some(first)
            if unicode_normalization::char::canonical_combining_class(first) != 0
                || is_composing(first) =>
        {
            out.pop()
        }
        _ => None,
    };
    for character in base
        .into_iter()
        .chain(run.chars().filter(|character| !is_invisible(*character)))
        .nfkc()
    {
        if character.is_ascii() {
            out.push(character);
        } else {
            out.extend(character.to_lowercase());
        }
    }
}

/// Starters that compose with the character before them (Hangul vowels and finals, some Indic vowel
/// signs).
fn is_composing(character: char) -> bool {
    matches!(character, '\u{1161}'..='\u{1175}' | '\u{11A8}'..='\u{11C2}')
        || unicode_normalization::char::is_combining_mark(character)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn width_case_compatibility_forms_and_traditional_characters_are_folded() {
        let table = [
            ("ＱｏＳ　流", "qos 流"),
            ("載波聚合", "载波聚合"),
            ("一目瞭然", "一目了然"),
            ("瞭望", "瞭望"),
            ("①②㎡", "12m2"),
            ("ÉCOLE", "école"),
            ("e\u{301}", "é"),
            ("E\u{301}", "é"),
            ("載\u{200B}波", "载波"),
            ("가", "가"),
            ("\u{1100}\u{1161}", "가"),
            ("ﬁle", "file"),
            ("plain ascii", "plain ascii"),
            ("", ""),
        ];
        for (text, expected) in table {
            assert_eq!(fold(text), expected, "{text}");
            assert_eq!(fold(&fold(text)), fold(text), "{text} twice");
        }
    }

    #[test]
    fn a_text_and_its_simplified_form_fold_to_the_same() {
        for text in [
            "乾安縣的乾隆皇帝",
            "么麼小丑",
            "於是關於於則",
            "薴烯",
            "毕昇",
        ] {
            assert_eq!(fold(text), fold(&simplify(text)), "{text}");
        }
    }

    #[test]
    fn nothing_to_fold_means_nothing_copied() {
        assert!(matches!(fold("基站的载波聚合 ca"), Cow::Borrowed(_)));
        assert!(matches!(simplify("基站的载波聚合 CA"), Cow::Borrowed(_)));
        assert_eq!(normalise("gNodeB 載波"), "gNodeB 载波");
    }
}
