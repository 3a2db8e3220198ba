//! Body elements: titles, paragraphs, literal blocks, quotations, definition lists. Everything else
//! is in the files beside. Recursion is bounded by [`MAXIMUM_NESTING`]; each level looks at its
//! lines once.

use std::collections::BTreeMap;

use tributary_schemas::{ImageLink, Result};

use super::inline::is_name;
use super::references::References;
use super::source::{adornment, dedent, display_width, indentation, indented, is_blank};
use crate::block::Block;
use crate::limits::Limits;

/// Levels of lists, directives and quotations; what is deeper becomes plain paragraphs.
const MAXIMUM_NESTING: usize = 20;

/// Reads body elements.
pub(super) struct Parser<'l> {
    pub(super) references: References,
    limits: &'l Limits<'l>,
    /// Adornments in order of appearance: (character, overlined). Their place is the heading
    /// level.
    levels: Vec<(char, bool)>,
    /// Level of the section that is read, 0 before the first title.
    pub(super) section: usize,
    /// API objects that are open around.
    pub(super) objects: usize,
    pub(super) last_title: String,
    nesting: usize,
    steps: usize,
    late: bool,
    /// The first title.
    pub title: Option<String>,
    /// Fields at the start of the text, and where it is from.
    pub metadata: BTreeMap<String, String>,
    /// Images in order of appearance.
    pub images: Vec<ImageLink>,
}

impl<'l> Parser<'l> {
    /// A parser for a text with these references.
    pub(super) fn new(
        references: References,
        limits: &'l Limits<'l>,
        metadata: BTreeMap<String, String>,
    ) -> Self {
        Self {
            references,
            limits,
            levels: Vec::new(),
            section: 0,
            objects: 0,
            last_title: String::new(),
            nesting: 0,
            steps: 0,
            late: false,
            title: None,
            metadata,
            images: Vec::new(),
        }
    }

    /// The blocks of a whole text. `Invalid` if it takes too long.
    pub(super) fn document(&mut self, lines: &[&str]) -> Result<Vec<Block>> {
        let mut blocks = Vec::new();
        self.blocks(lines, &mut blocks);
        if self.late {
            self.limits.check_time()?;
        }
        Ok(blocks)
    }

    /// Adds the body elements of the lines, whose own indentation is gone.
    pub(super) fn blocks(&mut self, lines: &[&str], blocks: &mut Vec<Block>) {
        if self.nesting >= MAXIMUM_NESTING {
            self.plain(lines, blocks);
            return;
        }
        self.nesting += 1;
        let mut rest = lines;
        while let Some(line) = rest.first().filter(|_| !self.is_late()) {
            let used = if is_blank(line) {
                1
            } else {
                self.element(line, rest, blocks).max(1)
            };
            rest = rest.get(used..).unwrap_or_default();
        }
        self.nesting -= 1;
    }

    /// The same for a part of a text.
    pub(super) fn inner(&mut self, lines: &[&str]) -> Vec<Block> {
        let mut blocks = Vec::new();
        self.blocks(lines, &mut blocks);
        blocks
    }

    fn is_late(&mut self) -> bool {
        self.steps += 1;
        if self.steps.is_multiple_of(256) && self.limits.check_time().is_err() {
            self.late = true;
        }
        self.late
    }

    /// One body element at the start of `rest`; how many lines it takes.
    fn element(&mut self, line: &str, rest: &[&str], blocks: &mut Vec<Block>) -> usize {
        if indentation(line) > 0 {
            return self.quotation(rest, blocks);
        }
        let found = self
            .bullet_list(line, rest, blocks)
            .or_else(|| self.explicit(line, rest, blocks))
            .or_else(|| self.title(rest, blocks))
            .or_else(|| self.enumerated_list(line, rest, blocks))
            .or_else(|| self.field_list(rest, blocks))
            .or_else(|| self.option_list(rest, blocks))
            .or_else(|| doctest(line, rest, blocks))
            .or_else(|| self.line_block(line, rest, blocks))
            .or_else(|| self.grid_table(line, rest, blocks))
            .or_else(|| self.simple_table(line, rest, blocks))
            .or_else(|| transition(line, rest, blocks))
            .or_else(|| self.definition(line, rest, blocks));
        found.unwrap_or_else(|| self.paragraph(rest, blocks))
    }

    /// Too deep to tell: paragraphs of the words.
    fn plain(&mut self, lines: &[&str], blocks: &mut Vec<Block>) {
        for paragraph in lines
            .split(|line| is_blank(line))
            .filter(|lines| !lines.is_empty())
        {
            let text = paragraph
                .iter()
                .map(|line| line.trim())
                .collect::<Vec<_>>()
                .join("\n");
            self.push_paragraph(&text, blocks);
        }
    }

    /// A title with an underline, and perhaps an overline.
    fn title(&mut self, rest: &[&str], blocks: &mut Vec<Block>) -> Option<usize> {
        let first = rest.first()?;
        let second = rest.get(1).copied().unwrap_or_default();
        let third = rest.get(2).copied().unwrap_or_default();
        let (text, character, used) = match adornment(first) {
            Some((character, length)) if length >= 2 => {
                let closes = adornment(third).is_some_and(|(below, _)| below == character);
                (closes && !is_blank(second) && adornment(second).is_none()).then_some((
                    second.trim(),
                    character,
                    3,
                ))?
            }
            _ => (first.trim(), underline(first, second)?, 2),
        };
        self.push_title(text, (character, used == 3), blocks);
        Some(used)
    }

    fn push_title(&mut self, text: &str, adornment: (char, bool), blocks: &mut Vec<Block>) {
        let level = self
            .levels
            .iter()
            .position(|known| *known == adornment)
            .unwrap_or_else(|| {
                self.levels.push(adornment);
                self.levels.len() - 1
            });
        self.section = level + 1;
        let shown = self.inline(text);
        self.last_title = super::inline::plain(&shown);
        self.title.get_or_insert_with(|| self.last_title.clone());
        self.push_heading(self.section, shown, blocks);
    }

    /// A heading; levels below the sixth are the sixth.
    pub(super) fn push_heading(&self, level: usize, text: String, blocks: &mut Vec<Block>) {
        if !text.is_empty() {
            blocks.push(Block::Heading(
                u8::try_from(level.clamp(1, 6)).unwrap_or(6),
                text.replace('\n', " "),
            ));
        }
    }

    /// A text with markup as a paragraph.
    pub(super) fn push_paragraph(&mut self, text: &str, blocks: &mut Vec<Block>) {
        let shown = self.inline(text);
        if !shown.is_empty() {
            blocks.push(Block::Paragraph(shown));
        }
    }

    /// Lines up to a blank one, or to a directive whose blank line was forgotten; `::` at the end
    /// announces a literal block.
    fn paragraph(&mut self, rest: &[&str], blocks: &mut Vec<Block>) -> usize {
        let ends = |line: &str| {
            is_blank(line) || indentation(line) > 0 || super::explicit::is_directive(line)
        };
        let more = rest.iter().skip(1).take_while(|line| !ends(line)).count();
        // A title whose paragraph above was not parted from it.
        let lines = rest.get(..=more).unwrap_or_default();
        let title = (1..lines.len().saturating_sub(1)).find(|at| {
            lines
                .get(*at)
                .zip(lines.get(at + 1))
                .is_some_and(|(text, below)| is_sure_underline(text, below))
        });
        let lines = title.and_then(|at| lines.get(..at)).unwrap_or(lines);
        let text = lines.join("\n");
        let Some(before) = text.trim_end().strip_suffix("::") else {
            self.push_paragraph(&text, blocks);
            return lines.len();
        };
        let introduction = if before.ends_with(char::is_whitespace) || before.is_empty() {
            before.trim_end().to_owned()
        } else {
            format!("{before}:")
        };
        self.push_paragraph(&introduction, blocks);
        lines.len() + literal(rest.get(lines.len()..).unwrap_or_default(), blocks)
    }

    /// Indented lines. Mostly an indentation too much, so only one with an attribution is a
    /// quotation for sure.
    fn quotation(&mut self, rest: &[&str], blocks: &mut Vec<Block>) -> usize {
        let used = indented(rest);
        let lines = dedent(rest.get(..used).unwrap_or_default());
        let is_quotation = lines.last().is_some_and(|last| {
            ["-- ", "--- ", "— "]
                .iter()
                .any(|mark| last.starts_with(mark))
        });
        let mut content = self.inner(&lines);
        if is_quotation {
            blocks.push(Block::Quote(content));
        } else {
            blocks.append(&mut content);
        }
        used
    }

    /// A term and its indented definition: the term as a bold line, the definition below.
    fn definition(&mut self, line: &str, rest: &[&str], blocks: &mut Vec<Block>) -> Option<usize> {
        let next = rest
            .get(1)
            .filter(|next| indentation(next) > 0 && !is_blank(next))?;
        let after = rest.get(1..).unwrap_or_default();
        let used = indented(after);
        // A second line of a paragraph that is indented by mistake goes on with the sentence.
        let is_sentence = !line.ends_with([':', '：'])
            && !next.trim_start().starts_with(['-', '*', '+', '.'])
            && indentation(next) == 1;
        if line.ends_with("::") || is_sentence {
            return None;
        }
        let term = self.term(line);
        blocks.push(Block::Paragraph(term));
        let lines = dedent(after.get(..used).unwrap_or_default());
        self.blocks(&lines, blocks);
        Some(1 + used)
    }

    /// `term : classifier`, the term in bold.
    fn term(&mut self, line: &str) -> String {
        let (term, classifier) = line.split_once(" : ").unwrap_or((line, ""));
        let term = self.bold(term);
        let classifier = if classifier.is_empty() {
            String::new()
        } else {
            format!(" ({})", self.inline(classifier))
        };
        format!("{term}{classifier}")
    }

    /// Bold text, unless it brings its own marks.
    pub(super) fn bold(&mut self, text: &str) -> String {
        let shown = self.inline(text);
        if shown.is_empty()
            || shown.contains('*')
            || (shown.starts_with('`') && shown.ends_with('`'))
        {
            shown
        } else {
            format!("**{shown}**")
        }
    }
}

/// The adornment of a title by its underline. Authors of Chinese titles count wide characters in
/// many ways.
fn underline(title: &str, below: &str) -> Option<char> {
    let (character, length) = adornment(below)?;
    let is_table_or_line = title.starts_with(['|', '+', ' ']) && !begins_with_substitution(title);
    let is_text = !is_blank(title) && adornment(title).is_none() && !is_table_or_line;
    let fits = length >= 4
        || (length >= 2 && length >= display_width(title.trim()).min(title.trim().chars().count()));
    // `::` is a literal block, `...` an omission.
    let is_line = length > 3 || !matches!(character, ':' | '.');
    (is_text && fits && is_line).then_some(character)
}

/// Whether a line begins with `|name|`, unlike a line of a block of lines (`| text`) or a row of a
/// table.
fn begins_with_substitution(line: &str) -> bool {
    let inside = line.strip_prefix('|').and_then(|rest| rest.split_once('|'));
    inside.is_some_and(|(name, after)| is_name(name) && !after.trim_end().ends_with('|'))
}

/// Whether a line inside a paragraph is a title beyond doubt.
fn is_sure_underline(title: &str, below: &str) -> bool {
    underline(title, below).is_some()
        && adornment(below)
            .is_some_and(|(_, length)| length >= 4 && length + 2 >= title.trim().chars().count())
}

/// A literal block: indented lines, or unindented ones that all begin with the same quoting
/// character.
fn literal(rest: &[&str], blocks: &mut Vec<Block>) -> usize {
    let blank = rest.iter().take_while(|line| is_blank(line)).count();
    let below = rest.get(blank..).unwrap_or_default();
    let used = indented(below);
    if used > 0 {
        blocks.push(Block::Code(
            String::new(),
            dedent(below.get(..used).unwrap_or_default()).join("\n"),
        ));
        return blank + used;
    }
    let Some(quoted) = quoted_lines(below) else {
        return 0;
    };
    blocks.push(Block::Code(
        String::new(),
        below.get(..quoted).unwrap_or_default().join("\n"),
    ));
    blank + quoted
}

/// How many lines begin with the quoting character of the first; `None` if that has none.
fn quoted_lines(lines: &[&str]) -> Option<usize> {
    let quote = lines
        .first()
        .and_then(|line| line.chars().next())
        .filter(|first| matches!(first, '>' | '$' | '#' | '%' | '|' | '!'))?;
    let quoted = lines.iter().take_while(|line| line.starts_with(quote));
    Some(quoted.count())
}

fn doctest(line: &str, rest: &[&str], blocks: &mut Vec<Block>) -> Option<usize> {
    if !line.starts_with(">>>") {
        return None;
    }
    let used = rest.iter().take_while(|line| !is_blank(line)).count();
    blocks.push(Block::Code(
        "python".to_owned(),
        rest.get(..used)?.join("\n"),
    ));
    Some(used)
}

/// A line of punctuation that stands alone.
fn transition(line: &str, rest: &[&str], blocks: &mut Vec<Block>) -> Option<usize> {
    let (character, length) = adornment(line)?;
    let stands_alone = rest.get(1).is_none_or(|next| is_blank(next));
    if length < 4 || !stands_alone || character == ':' {
        return None;
    }
    blocks.push(Block::Rule);
    Some(1)
}
