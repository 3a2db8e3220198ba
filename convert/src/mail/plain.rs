//! Text of mails that is no page, as Markdown: line ends stay, quotations stay quotations, patches are
//! code.

use super::patch;
use crate::escape::{escaped, fenced};

/// How much deeper than the item before an item is at most: what stands deeper would be code.
const DEEPER: usize = 4;

/// A line of a mail.
pub(super) struct Line<'a> {
    /// How often it was quoted.
    pub quotes: usize,
    /// What stands behind the marks of quotations.
    pub text: &'a str,
}

/// Plain text as Markdown: signs of Markdown that would change it are escaped.
pub(super) fn markdown(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let lines: Vec<Line> = text.split('\n').map(line).collect();
    let mut writer = Writer {
        result: String::with_capacity(text.len()),
        quoted: 0,
        item: None,
    };
    let mut rest = lines.as_slice();
    while let Some((first, behind)) = rest.split_first() {
        let patch = patch::length(rest);
        match rest.split_at_checked(patch).filter(|_| patch > 0) {
            Some((patch, behind)) => {
                writer.patch(patch);
                rest = behind;
            }
            None => {
                writer.line(first);
                rest = behind;
            }
        }
    }
    writer.result
}

fn line(line: &str) -> Line<'_> {
    let (mut quotes, mut text) = (0, line);
    while let Some(inner) = text.trim_start_matches(' ').strip_prefix('>') {
        quotes += 1;
        text = inner;
    }
    let text = match quotes {
        0 => text,
        _ => text.strip_prefix(' ').unwrap_or(text),
    };
    Line { quotes, text }
}

struct Writer {
    result: String,
    /// How often the last line was quoted.
    quoted: usize,
    /// How deep the item is that the last lines belong to.
    item: Option<usize>,
}

impl Writer {
    fn line(&mut self, line: &Line) {
        let text = line.text.trim_end();
        let body = text.trim_start_matches(' ');
        let indent = text.len() - body.len();
        // The line before the signature is a rule, and `#` and `=` are headings, to Markdown.
        let starts = body.starts_with(['#', '=']) || body.starts_with("--");
        self.unquote(line.quotes, body.is_empty());
        let depth = match self.item {
            Some(before) => indent.min(before + DEEPER),
            None => 0,
        };
        let is_item = is_item(body);
        if is_item {
            self.item = Some(depth);
        } else if !body.is_empty() && indent == 0 {
            self.item = None;
        }
        let (sign, body) = match body.strip_prefix("* ") {
            Some(rest) => ("* ", rest),
            None => ("", body),
        };
        self.result.extend([
            "> ".repeat(line.quotes).as_str(),
            &" ".repeat(if is_item { depth } else { 0 }),
            if starts { "\\" } else { sign },
            &escaped(body),
            "\n",
        ]);
    }

    /// The lines of a patch as code: their signs and their indent say what they are.
    fn patch(&mut self, lines: &[Line]) {
        let quotes = lines.first().map_or(0, |line| line.quotes);
        self.unquote(quotes, false);
        self.item = None;
        let code: String = lines
            .iter()
            .flat_map(|line| [line.text.trim_end_matches('\r'), "\n"])
            .collect();
        for line in fenced("diff", &code).lines() {
            self.result
                .extend(["> ".repeat(quotes).as_str(), line, "\n"]);
        }
    }

    /// Without a blank line, what follows a quotation would belong to it.
    fn unquote(&mut self, quotes: usize, is_blank: bool) {
        if quotes < self.quoted && !is_blank {
            self.result.push_str(&"> ".repeat(quotes));
            self.result.push('\n');
        }
        self.quoted = quotes;
    }
}

/// Whether a line begins an item of a list.
fn is_item(body: &str) -> bool {
    let digits = body.trim_start_matches(|character: char| character.is_ascii_digit());
    let is_numbered = digits.len() < body.len() && digits.starts_with([')', '.']);
    let mark = match is_numbered {
        true => digits,
        false => body,
    };
    let signs = if is_numbered { ")." } else { "-*+" };
    mark.strip_prefix(|character| signs.contains(character))
        .is_some_and(|rest| rest.starts_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_items_keep_their_indent() {
        let text = "Steps:\n  Look:\n- boot\n  and wait\n  - with swap\n\n         * without *\nDone.\n  - Well.";
        assert_eq!(
            markdown(text),
            "Steps:\nLook:\n- boot\nand wait\n  - with swap\n\n      * without *\nDone.\n- Well.\n"
        );
    }

    #[test]
    fn patches_are_code_and_what_is_around_them_is_not() {
        let patch = "diff --git a/m.c b/m.c\nindex 12..56 100644\n--- a/m.c\n+++ b/m.c\n@@ -1,3 +1,3 @@ static int count(void)\n \tint *i;\n-\treturn i;\n+\treturn *i;\n \n";
        let mail = format!("*Fixes* it.\n---\n{patch}-- \n2.39\n");
        let (before, after) = ("\\*Fixes\\* it.\n\\---\n", "\\--\n2.39\n\n");
        assert_eq!(
            markdown(&mail),
            format!("{before}```diff\n{patch}```\n{after}")
        );
        let quoted: String = mail.lines().flat_map(|line| ["> ", line, "\n"]).collect();
        let found = markdown(&format!("{quoted}Why a *pointer*?"));
        assert!(found.contains("> ```diff\n> diff --git"), "{found}");
        assert!(found.contains(">  \tint *i;\n> -\treturn i;"), "{found}");
        assert!(
            found.ends_with("> 2.39\n\nWhy a \\*pointer\\*?\n"),
            "{found}"
        );
    }
}
