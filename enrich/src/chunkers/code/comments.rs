//! Comments as prose, without the signs of their language and the tags of their tool.

/// Longest prose, in bytes.
const LONGEST: usize = 1600;
/// Begins a line that says whose a file is and under which terms.
const LEGAL_LINES: [&str; 12] = [
    "spdx-",
    "copyright",
    "(c) ",
    "©",
    "author:",
    "authors:",
    "@author",
    "written by",
    "rewritten by",
    "all rights reserved",
    "-*-",
    "vim:",
];
/// Begins terms, which go on to the end of a line that ends a sentence, or to a blank line.
const TERMS: &str = "licensed under";
/// Stands in a paragraph of a licence.
const LEGAL_WORDS: [&str; 12] = [
    "general public license",
    "permission is hereby granted",
    "apache license",
    "mit license",
    "redistribution and use",
    "provided \"as is\"",
    "\"as is\" basis",
    "without warranty",
    "warranties or conditions",
    "this program is free software",
    "subject to the terms",
    "license file",
];

/// What a comment says: a paragraph a line, at most so long.
pub(super) fn prose(comment: &str) -> String {
    let mut out = String::new();
    for paragraph in paragraphs(comment) {
        if out.len() + paragraph.len() > LONGEST && !out.is_empty() {
            break;
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(shortened(&paragraph, LONGEST));
    }
    out
}

/// [`prose`] of the comment at the top of a file: without terms, owners and the file's own path.
pub(super) fn prose_of_file(comment: &str, path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_path = |line: &str| {
        let line = line.trim_end_matches([':', '.']);
        !line.contains(' ') && line.ends_with(name)
    };
    let mut is_in_terms = false;
    let kept: Vec<&str> = comment
        .lines()
        .filter(|line| {
            let bare = bare(line);
            is_in_terms &= !bare.is_empty();
            is_in_terms |= bare.to_lowercase().starts_with(TERMS);
            let is_of_terms = is_in_terms;
            is_in_terms &= !bare.ends_with('.');
            !is_of_terms && !is_legal(bare) && !is_path(bare)
        })
        .collect();
    let all = prose(&kept.join("\n"));
    let rest = all.strip_prefix(name).map(|rest| rest.trim_start());
    let all = rest
        .and_then(|rest| rest.strip_prefix(['-', ':']))
        .unwrap_or(&all);
    all.trim().to_owned()
}

/// The first sentence of prose.
pub(super) fn first_sentence(prose: &str) -> &str {
    const LONGEST_SENTENCE: usize = 160;
    let line = prose.lines().next().unwrap_or_default();
    let ends = line.match_indices(['.', '。', '!', '?']);
    let end = ends.map(|(at, sign)| at + sign.len()).find(|end| {
        let next = line.get(*end..).unwrap_or_default();
        next.is_empty()
            || next.starts_with(' ')
            || line.get(..*end).is_some_and(|text| text.ends_with('。'))
    });
    let sentence = end.and_then(|end| line.get(..end)).unwrap_or(line);
    shortened(sentence, LONGEST_SENTENCE)
}

/// The beginning of a text, cut before a word.
pub(super) fn shortened(text: &str, maximum_bytes: usize) -> &str {
    if text.len() <= maximum_bytes {
        return text;
    }
    let cut = text
        .get(..text.floor_char_boundary(maximum_bytes))
        .unwrap_or_default();
    let word = cut.rfind(' ').filter(|at| *at > maximum_bytes / 2);
    cut.get(..word.unwrap_or(cut.len())).unwrap_or_default()
}

/// Lines between blank ones, and those that begin with a tag, each as one line.
fn paragraphs(comment: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut current = String::new();
    for (at, line) in comment.lines().enumerate() {
        let line = bare(line);
        let tagged = tag(line);
        if line.is_empty() || tagged.is_some() {
            all.push(std::mem::take(&mut current));
        }
        let text = tagged.unwrap_or_else(|| line.to_owned());
        let text = match at <= 1 && all.iter().all(String::is_empty) && current.is_empty() {
            true => without_name(&text).to_owned(),
            false => text,
        };
        if !current.is_empty() && !text.is_empty() {
            current.push(' ');
        }
        current.push_str(&text);
    }
    all.push(current);
    all.retain(|paragraph| {
        let small = paragraph.to_lowercase();
        !paragraph.is_empty() && !LEGAL_WORDS.iter().any(|word| small.contains(word))
    });
    all
}

/// A line without the signs of a comment; empty if it is nothing but signs.
fn bare(line: &str) -> &str {
    let mut line = line.trim();
    for sign in [
        "/**", "/*!", "/*", "///", "//!", "//", "\"\"\"", "'''", "r\"\"\"",
    ] {
        if let Some(rest) = line.strip_prefix(sign) {
            line = rest;
            break;
        }
    }
    let line = line.strip_suffix("*/").unwrap_or(line);
    let line = line
        .strip_suffix("\"\"\"")
        .or_else(|| line.strip_suffix("'''"))
        .unwrap_or(line);
    // `///<` and `/**<` of members; another `<` is a part of the text.
    let line = line
        .strip_prefix('<')
        .filter(|rest| rest.starts_with(' '))
        .unwrap_or(line);
    let line = line.trim_start_matches(['*', '#', '!']).trim();
    let says = |sign: char| sign.is_alphanumeric();
    match line.contains(says) {
        true => line.trim_end_matches(['*', '=']).trim_end(),
        false => "",
    }
}

/// A line that begins with a tag, in words.
fn tag(line: &str) -> Option<String> {
    let rest = line.strip_prefix(['@', '\\'])?;
    let (tag, text) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
    let text = text.trim();
    let named = || match text.split_once([' ', '\t']) {
        Some((name, text)) => format!("{name}: {}", text.trim_start_matches(['-', ' '])),
        None => text.to_owned(),
    };
    Some(match tag {
        "param" | "arg" | "tparam" | "property" => named(),
        "return" | "returns" => format!("Returns {text}"),
        "throws" | "exception" | "raises" => format!("Throws {text}"),
        "brief" | "details" | "description" | "summary" => text.to_owned(),
        // `@name: text` of the kernel.
        _ if tag.ends_with(':') => format!("{tag} {text}"),
        _ => rest.to_owned(),
    })
}

/// Without the name that a comment of the kernel begins with: `name() - text`.
fn without_name(line: &str) -> &str {
    let Some((name, text)) = line.split_once(" - ").or_else(|| line.split_once(" -- ")) else {
        return line;
    };
    let name = name.trim_end_matches("()");
    let kinds = ["struct ", "enum ", "union ", "typedef "];
    let name = kinds
        .iter()
        .find_map(|kind| name.strip_prefix(kind))
        .unwrap_or(name);
    let is_name = name
        .chars()
        .all(|sign| sign.is_alphanumeric() || "_:.".contains(sign));
    match is_name && !name.is_empty() {
        true => text.trim(),
        false => line,
    }
}

fn is_legal(line: &str) -> bool {
    let small = line.to_lowercase();
    let has_address = small
        .split_once('@')
        .is_some_and(|(_, host)| small.contains('<') && host.contains('.') && host.contains('>'));
    has_address || LEGAL_LINES.iter().any(|begin| small.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_of_all_languages_become_prose() {
        for (comment, expected) in [
            ("/* Frees it. */", "Frees it."),
            ("// One\n// line.", "One line."),
            ("/// Adds `a`.\n///\n/// More.", "Adds `a`.\nMore."),
            ("# Opens\n# it", "Opens it"),
            (
                "\"\"\"Reads.\n\n    All of it.\n    \"\"\"",
                "Reads.\nAll of it.",
            ),
            ("/*************\n * Big *\n *************/", "Big"),
            (
                "/**\n * count_up() - adds one\n * @by: how much\n *\n * Return: the sum\n */",
                "adds one\nby: how much\nReturn: the sum",
            ),
            (
                "/**\n * Adds.\n * @param by how much\n * @return the sum\n * @throws E if not\n */",
                "Adds.\nby: how much\nReturns the sum\nThrows E if not",
            ),
        ] {
            assert_eq!(prose(comment), expected, "{comment}");
        }
    }

    #[test]
    fn terms_and_owners_are_no_description() {
        let comment = "// SPDX-License-Identifier: MIT\n/*\n *  lib/heap.c\n *\n *  Copyright (C) 2020  A. Person <a@example.org>\n *\n *  A heap of pages.\n *\n *  This program is free software; you\n *  can redistribute it.\n */";
        assert_eq!(prose_of_file(comment, "x/lib/heap.c"), "A heap of pages.");
        assert_eq!(prose_of_file("/* heap.c - a heap */", "heap.c"), "a heap");
        let terms = "/*\n * Copyright 1995 The Authors. All Rights Reserved.\n *\n * Licensed under the License 2.0 (the \"License\").  You may not use\n * this file except in compliance with the License.\n * A heap of pages.\n */";
        assert_eq!(prose_of_file(terms, "heap.c"), "A heap of pages.");
        let without_end = "/* Licensed under the License 2.0. You can obtain a copy\n * in the file LICENSE or at\n * https://example.org/license\n */";
        assert_eq!(prose_of_file(without_end, "heap.c"), "");
    }

    #[test]
    fn a_sentence_ends_before_a_blank() {
        assert_eq!(
            first_sentence("Uses v1.2 of it. Then more."),
            "Uses v1.2 of it."
        );
        assert_eq!(first_sentence("回收页面。然后等待。"), "回收页面。");
        assert_eq!(first_sentence("no end\nmore"), "no end");
    }
}
