//! Bullet, enumerated, field and option lists, and line blocks.

use std::sync::LazyLock;

use regex::Regex;

use super::parser::Parser;
use super::source::{cut, dedent, indentation, indented, is_blank};
use crate::block::Block;

static OPTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^((?:-\w|--\w[\w-]*|/\w+)(?:[ =](?:<[^>]+>|[A-Za-z][\w-]*))?(?:, (?:-\w|--\w[\w-]*|/\w+)(?:[ =](?:<[^>]+>|[A-Za-z][\w-]*))?)*)(?:  +(\S.*))?$").ok()
});

/// Names of fields at the start of a text that say something of it.
const ABOUT: [&str; 12] = [
    "author",
    "authors",
    "date",
    "version",
    "revision",
    "status",
    "organization",
    "contact",
    "copyright",
    "keywords",
    "description",
    "tags",
];

/// A list marker at the start of a line.
struct Marker {
    /// Columns up to the content.
    width: usize,
    /// Number of an enumerated item, 1 where the text counts by itself.
    number: Option<u64>,
}

impl Parser<'_> {
    pub(super) fn bullet_list(
        &mut self,
        line: &str,
        rest: &[&str],
        blocks: &mut Vec<Block>,
    ) -> Option<usize> {
        bullet(line)?;
        let (items, used) = self.items(rest, bullet);
        blocks.push(Block::List(None, items));
        Some(used)
    }

    pub(super) fn enumerated_list(
        &mut self,
        line: &str,
        rest: &[&str],
        blocks: &mut Vec<Block>,
    ) -> Option<usize> {
        let first = enumerator(line)?;
        let next = rest.get(1).copied().unwrap_or_default();
        let goes_on = is_blank(next)
            || indentation(next) > 0
            || enumerator(next).is_some()
            || super::explicit::is_directive(next);
        if !goes_on {
            return None;
        }
        let (items, used) = self.items(rest, enumerator);
        blocks.push(Block::List(first.number, items));
        Some(used)
    }

    /// The items from the start of `rest`: each has its marker's line and all indented lines below.
    fn items(
        &mut self,
        rest: &[&str],
        marker: fn(&str) -> Option<Marker>,
    ) -> (Vec<Vec<Block>>, usize) {
        let mut items = Vec::new();
        let mut used = 0;
        while let Some(line) = rest.get(used) {
            if is_blank(line) {
                // Items may be parted by blank lines; anything else ends the list.
                let blank = rest
                    .iter()
                    .skip(used)
                    .take_while(|line| is_blank(line))
                    .count();
                match rest.get(used + blank).and_then(|next| marker(next)) {
                    Some(_) => used += blank,
                    None => break,
                }
                continue;
            }
            let Some(found) = marker(line) else { break };
            let below = rest.get(used + 1..).unwrap_or_default();
            let length = indented(below);
            let mut lines = vec![line.get(found.width..).unwrap_or_default().trim_start()];
            lines.extend(cut(below.get(..length).unwrap_or_default(), found.width));
            items.push(self.inner(&realigned(lines)));
            used += 1 + length;
        }
        (items, used)
    }

    pub(super) fn field_list(&mut self, rest: &[&str], blocks: &mut Vec<Block>) -> Option<usize> {
        field(rest.first()?)?;
        let is_start = blocks.is_empty() || matches!(blocks.as_slice(), [Block::Heading(1, _)]);
        let mut items = Vec::new();
        let mut used = 0;
        while let Some((name, value)) = rest.get(used).and_then(|line| field(line)) {
            let below = rest.get(used + 1..).unwrap_or_default();
            let length = indented(below);
            let mut lines = dedent(below.get(..length).unwrap_or_default());
            lines.insert(0, value);
            if is_start {
                self.about(name, value);
            }
            // A field without a text speaks to the tool (`:orphan:`).
            if lines.iter().any(|line| !is_blank(line)) {
                items.push(self.labelled(name, &lines));
            }
            used += 1 + length;
            let blank = rest
                .iter()
                .skip(used)
                .take_while(|line| is_blank(line))
                .count();
            if rest
                .get(used + blank)
                .is_some_and(|line| field(line).is_some())
            {
                used += blank;
            }
        }
        if !items.is_empty() {
            blocks.push(Block::List(None, items));
        }
        Some(used)
    }

    fn about(&mut self, name: &str, value: &str) {
        let name = name.to_lowercase();
        if ABOUT.contains(&name.as_str()) && !value.is_empty() {
            self.metadata
                .insert(name.replace("authors", "author"), value.to_owned());
        }
    }

    /// `**name**: text` and what follows.
    fn labelled(&mut self, name: &str, lines: &[&str]) -> Vec<Block> {
        let label = self.bold(name);
        let mut content = self.inner(lines);
        match content.first_mut() {
            Some(Block::Paragraph(text)) => *text = format!("{label}: {text}"),
            _ => content.insert(0, Block::Paragraph(format!("{label}:"))),
        }
        content
    }

    pub(super) fn option_list(&mut self, rest: &[&str], blocks: &mut Vec<Block>) -> Option<usize> {
        option(rest.first()?, rest.get(1))?;
        let mut items = Vec::new();
        let mut used = 0;
        while let Some((names, text)) = rest
            .get(used)
            .and_then(|line| option(line, rest.get(used + 1)))
        {
            let below = rest.get(used + 1..).unwrap_or_default();
            let length = indented(below);
            let mut lines = dedent(below.get(..length).unwrap_or_default());
            lines.insert(0, text);
            let mut content = self.inner(&lines);
            match content.first_mut() {
                Some(Block::Paragraph(text)) => *text = format!("`{names}`: {text}"),
                _ => content.insert(0, Block::Paragraph(format!("`{names}`"))),
            }
            items.push(content);
            used += 1 + length;
            used += rest
                .iter()
                .skip(used)
                .take_while(|line| is_blank(line))
                .count();
        }
        blocks.push(Block::List(None, items));
        Some(used)
    }

    /// `| line` after `| line`: line ends stay.
    pub(super) fn line_block(
        &mut self,
        line: &str,
        rest: &[&str],
        blocks: &mut Vec<Block>,
    ) -> Option<usize> {
        let is_line = |line: &str| line == "|" || line.starts_with("| ");
        if !is_line(line) || line.trim_end().ends_with('|') && line.len() > 1 {
            return None;
        }
        let used = rest
            .iter()
            .take_while(|line| is_line(line) || (indentation(line) > 0 && !is_blank(line)))
            .count();
        let mut shown: Vec<String> = Vec::new();
        for line in rest.get(..used).unwrap_or_default() {
            match line.strip_prefix('|') {
                Some(text) => shown.push(self.inline(text.trim())),
                None => {
                    let more = self.inline(line.trim());
                    if let Some(last) = shown.last_mut() {
                        last.push(' ');
                        last.push_str(&more);
                    }
                }
            }
        }
        let text = shown.join("\n");
        for paragraph in text
            .split("\n\n")
            .map(|paragraph| paragraph.trim_matches('\n'))
            .filter(|paragraph| !paragraph.is_empty())
        {
            blocks.push(Block::Paragraph(paragraph.to_owned()));
        }
        Some(used)
    }
}

/// Lines of an item's first paragraph that are indented too much go on with it; docutils would take
/// the first line for a term.
fn realigned(mut lines: Vec<&str>) -> Vec<&str> {
    let goes_on = |line: &str| {
        let start = line.trim_start();
        !is_blank(line)
            && bullet(start).is_none()
            && enumerator(start).is_none()
            && !super::explicit::is_directive(start)
            && !start.starts_with(['+', '|', '>', '='])
    };
    if lines
        .first()
        .is_some_and(|first| first.ends_with([':', '：']))
    {
        return lines;
    }
    for line in lines.iter_mut().skip(1) {
        if !goes_on(line) {
            break;
        }
        *line = line.trim_start();
    }
    lines
}

fn bullet(line: &str) -> Option<Marker> {
    let mark = line
        .chars()
        .next()
        .filter(|mark| matches!(mark, '*' | '-' | '+' | '•' | '‣' | '⁃'))?;
    let after = line.strip_prefix(mark)?;
    let is_item = after.is_empty() || after.starts_with(' ');
    is_item.then(|| Marker {
        width: mark.len_utf8() + indentation(after).max(1),
        number: None,
    })
}

/// `1.`, `1)`, `(1)`, `#.`, `a.`, `iv.` and a space.
fn enumerator(line: &str) -> Option<Marker> {
    let opened = line.strip_prefix('(');
    let body = opened.unwrap_or(line);
    let label: String = body
        .chars()
        .take_while(|character| character.is_ascii_alphanumeric() || *character == '#')
        .collect();
    let after = body.strip_prefix(&label)?;
    let closes = if opened.is_some() {
        after.starts_with(')')
    } else {
        after.starts_with(['.', ')'])
    };
    let rest = after.get(1..).filter(|_| closes)?;
    if !(rest.is_empty() || rest.starts_with(' ')) {
        return None;
    }
    let number = match label.as_str() {
        "#" => 1,
        _ if !label.is_empty()
            && label.len() <= 9
            && label.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            label.parse().ok()?
        }
        letters if letters.len() == 1 && letters.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
            1
        }
        roman if !roman.is_empty() && roman.len() <= 5 && is_roman(roman) => 1,
        _ => return None,
    };
    let width = line.len() - rest.len() + indentation(rest).max(1);
    Some(Marker {
        width,
        number: Some(number),
    })
}

fn is_roman(label: &str) -> bool {
    let one_case = label.chars().all(char::is_lowercase) || label.chars().all(char::is_uppercase);
    one_case
        && label
            .to_ascii_lowercase()
            .chars()
            .all(|character| matches!(character, 'i' | 'v' | 'x'))
}

/// `:name: value`.
pub(super) fn field(line: &str) -> Option<(&str, &str)> {
    let body = line.strip_prefix(':')?;
    let is_name = |name: &str| {
        !name.is_empty()
            && !name.starts_with(' ')
            && !name.contains('`')
            && !name.ends_with(' ')
            && name.len() <= 200
    };
    if let Some((name, value)) = body.split_once(": ") {
        return is_name(name).then(|| (name, value.trim()));
    }
    let name = body.strip_suffix(':')?;
    is_name(name).then_some((name, ""))
}

/// `-x, --long=FILE  text`, or the options alone with an indented text below.
fn option<'a>(line: &'a str, next: Option<&&str>) -> Option<(&'a str, &'a str)> {
    if !line.starts_with(['-', '/']) {
        return None;
    }
    let found = OPTION.as_ref()?.captures(line)?;
    let text = found.get(2).map_or("", |text| text.as_str());
    let has_text =
        !text.is_empty() || next.is_some_and(|next| indentation(next) > 1 && !is_blank(next));
    has_text.then(|| (found.get(1).map_or("", |names| names.as_str()), text))
}
