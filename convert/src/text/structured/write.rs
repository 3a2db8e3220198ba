//! A tree as blocks. Recursion is as deep as the parsers allow (128 levels at most).

use tributary_schemas::Result;

use crate::block::Block;
use crate::config::StructuredConfig;
use crate::escape::{code_span, escaped, is_wide};
use crate::limits::Limits;
use crate::text::tree::Tree;

/// Longest text that stands behind its name on one line, in characters.
const SHORT: usize = 240;

/// Longest value of a table's cell, in characters.
const MAXIMUM_CELL_CHARACTERS: usize = 400;

/// Values that name a record in a list, by preference.
const TITLES: [&str; 12] = [
    "title", "name", "question", "heading", "subject", "label", "标题", "名称", "问题", "id",
    "_id", "key",
];

/// Levels of nested lists; deeper values are written on one line.
const MAXIMUM_LIST_DEPTH: usize = 6;

/// Whether the data is worth reading as text: prose in its values, or records in rows.
pub(super) fn is_text(tree: &Tree, settings: &StructuredConfig) -> bool {
    let (mut prose, mut all) = (0, 0);
    count(tree, &mut prose, &mut all);
    all > 0
        && (prose as f64 >= all as f64 * settings.minimum_prose_share
            || holds_table(tree, settings))
}

/// Characters of prose and of all values.
fn count(tree: &Tree, prose: &mut usize, all: &mut usize) {
    match tree {
        Tree::Text(text) => {
            let characters = text.chars().count();
            *all += characters;
            *prose += if is_prose(text) { characters } else { 0 };
        }
        Tree::Plain(text) => *all += text.len(),
        Tree::Nothing => {}
        Tree::List(items) => items.iter().for_each(|item| count(item, prose, all)),
        Tree::Record(entries) => entries
            .iter()
            .for_each(|(_, value)| count(value, prose, all)),
    }
}

/// Words of a language: Chinese characters, or several words of letters, and few signs that
/// programs are made of.
fn is_prose(text: &str) -> bool {
    let mut letters = 0;
    let (mut wide, mut signs, mut blanks) = (0, 0, 0);
    for character in text.chars().take(4000) {
        letters += usize::from(character.is_alphabetic());
        wide += usize::from(is_wide(character));
        blanks += usize::from(character.is_whitespace());
        signs += usize::from(matches!(
            character,
            '{' | '}' | '$' | '=' | ';' | '|' | '<' | '>' | '\\' | '/' | '_' | '&'
        ));
    }
    (wide >= 2 || blanks >= 2) && letters > 6 * signs && letters >= 4
}

fn holds_table(tree: &Tree, settings: &StructuredConfig) -> bool {
    match tree {
        Tree::List(items) => {
            columns(items, settings).is_some()
                || items.iter().any(|item| holds_table(item, settings))
        }
        Tree::Record(entries) => entries
            .iter()
            .any(|(_, value)| holds_table(value, settings)),
        _ => false,
    }
}

/// The blocks of a whole tree. `Invalid` if it takes too long.
pub(super) fn blocks(
    tree: &Tree,
    settings: &StructuredConfig,
    limits: &Limits,
) -> Result<Vec<Block>> {
    let mut writer = Writer {
        settings,
        limits,
        blocks: Vec::new(),
        steps: 0,
    };
    writer.value(tree, 1)?;
    Ok(writer.blocks)
}

struct Writer<'l> {
    settings: &'l StructuredConfig,
    limits: &'l Limits<'l>,
    blocks: Vec<Block>,
    steps: usize,
}

impl Writer<'_> {
    /// A value without a name; the names in it have headings of that level.
    fn value(&mut self, tree: &Tree, level: usize) -> Result<()> {
        self.steps += 1;
        if self.steps.is_multiple_of(1024) {
            self.limits.check_time()?;
        }
        match tree {
            Tree::Record(entries) => self.record(entries, level),
            Tree::List(items) => self.list("", items, level),
            scalar => {
                self.paragraphs(scalar.scalar().unwrap_or_default());
                Ok(())
            }
        }
    }

    /// Values that are not nested first, or they would seem to belong to the last nested one.
    fn record(&mut self, entries: &[(String, Tree)], level: usize) -> Result<()> {
        let mut short = Vec::new();
        let mut long = Vec::new();
        let mut nested = Vec::new();
        for (name, value) in entries {
            match value.scalar() {
                Some(text) if text.trim().is_empty() => {}
                Some(text) if is_short(text) => {
                    short.push(vec![Block::Paragraph(named(name, text))])
                }
                Some(text) => long.push((name, text)),
                None => match short_list(value) {
                    Some(text) => short.push(vec![Block::Paragraph(format!(
                        "**{}**: {text}",
                        label(name)
                    ))]),
                    None => nested.push((name, value)),
                },
            }
        }
        if !short.is_empty() {
            self.blocks.push(Block::List(None, short));
        }
        for (name, text) in long {
            self.blocks
                .push(Block::Paragraph(format!("**{}**:", label(name))));
            self.paragraphs(text);
        }
        for (name, value) in nested {
            self.nested(name, value, level)?;
        }
        Ok(())
    }

    /// A nested value with its name: as a heading, or below the allowed levels as a nested list.
    fn nested(&mut self, name: &str, value: &Tree, level: usize) -> Result<()> {
        if level > self.settings.heading_levels {
            let item = item(name, value, 0);
            self.blocks.push(Block::List(None, vec![item]));
            return Ok(());
        }
        match value {
            Tree::List(items) if items.is_empty() => Ok(()),
            Tree::Record(entries) if entries.is_empty() => Ok(()),
            Tree::List(items) => {
                self.heading(name, level);
                self.list(name, items, level + 1)
            }
            other => {
                self.heading(name, level);
                self.value(other, level + 1)
            }
        }
    }

    fn heading(&mut self, name: &str, level: usize) {
        self.blocks.push(Block::Heading(
            u8::try_from(level.clamp(1, 6)).unwrap_or(6),
            label(name),
        ));
    }

    /// A table of flat records, a list of short values, or one after the other.
    fn list(&mut self, name: &str, items: &[Tree], level: usize) -> Result<()> {
        if let Some(columns) = columns(items, self.settings) {
            self.blocks.push(table(&columns, items));
            return Ok(());
        }
        if items.iter().all(|item| item.scalar().is_some()) {
            let items = items
                .iter()
                .filter_map(Tree::scalar)
                .filter(|text| !text.trim().is_empty());
            self.blocks.push(Block::List(
                None,
                items
                    .map(|text| vec![Block::Paragraph(shown(text))])
                    .collect(),
            ));
            return Ok(());
        }
        for (index, entry) in items.iter().enumerate() {
            let number = index + 1;
            let title = entry
                .title(&TITLES)
                .unwrap_or_else(|| format!("{name} {number}").trim().to_owned());
            match entry {
                Tree::Record(_) | Tree::List(_) if level <= self.settings.heading_levels => {
                    self.heading(&title, level);
                    self.value(entry, level + 1)?;
                }
                Tree::Record(_) | Tree::List(_) => self
                    .blocks
                    .push(Block::List(None, vec![item(&title, entry, 0)])),
                scalar => self.paragraphs(scalar.scalar().unwrap_or_default()),
            }
        }
        Ok(())
    }

    /// A text: its lines stay lines.
    fn paragraphs(&mut self, text: &str) {
        if is_code(text) {
            self.blocks.push(Block::Code(
                String::new(),
                text.trim_matches('\n').to_owned(),
            ));
            return;
        }
        for paragraph in text
            .split("\n\n")
            .map(str::trim)
            .filter(|paragraph| !paragraph.is_empty())
        {
            self.blocks.push(Block::Paragraph(
                paragraph
                    .lines()
                    .map(|line| escaped(line.trim()))
                    .collect::<Vec<_>>()
                    .join("\n"),
            ));
        }
    }
}

/// Lines that are indented or end like statements.
fn is_code(text: &str) -> bool {
    let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
    let code = text
        .lines()
        .filter(|line| {
            line.starts_with([' ', '\t']) || line.trim_end().ends_with([';', '{', '}', '\\'])
        })
        .count();
    lines >= 3 && code * 3 >= lines
}

fn is_short(text: &str) -> bool {
    !text.trim().contains('\n') && text.chars().count() <= SHORT
}

fn label(name: &str) -> String {
    escaped(&name.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn named(name: &str, text: &str) -> String {
    format!("**{}**: {}", label(name), shown(text))
}

/// A value on one line: names and paths of programs as code, so that nothing in them reads as
/// Markdown.
fn shown(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_name = !text.contains(' ')
        && text.is_ascii()
        && text.contains(['_', '*', '<', '`', '\\', '{', '[']);
    if is_name && !text.contains("://") {
        code_span(&text)
    } else {
        escaped(&text)
    }
}

/// Short values of a list, joined by commas. Sentences are no such values.
fn short_list(value: &Tree) -> Option<String> {
    let Tree::List(items) = value else {
        return None;
    };
    let texts: Vec<&str> = items.iter().map(Tree::scalar).collect::<Option<Vec<_>>>()?;
    let fits = !texts.is_empty()
        && texts.iter().all(|text| {
            is_short(text)
                && !text.contains([',', '，'])
                && !text
                    .trim_end()
                    .ends_with(['.', '。', '!', '！', '?', '？', ';', '；'])
        })
        && texts.iter().map(|text| text.len()).sum::<usize>() <= SHORT;
    fits.then(|| {
        texts
            .iter()
            .map(|text| shown(text))
            .collect::<Vec<_>>()
            .join(", ")
    })
}

/// A named value as an item of a nested list.
fn item(name: &str, value: &Tree, depth: usize) -> Vec<Block> {
    if let Some(text) = value.scalar() {
        return vec![Block::Paragraph(if name.is_empty() {
            shown(text)
        } else {
            named(name, text)
        })];
    }
    if depth >= MAXIMUM_LIST_DEPTH {
        return vec![Block::Paragraph(named(name, &flat(value)))];
    }
    if let Some(text) = short_list(value) {
        return vec![Block::Paragraph(format!("**{}**: {text}", label(name)))];
    }
    let below: Vec<Vec<Block>> = match value {
        Tree::Record(entries) => entries
            .iter()
            .map(|(name, value)| item(name, value, depth + 1))
            .collect(),
        Tree::List(items) => items
            .iter()
            .enumerate()
            .map(|(index, value)| item(&title_in_list(value, index), value, depth + 1))
            .collect(),
        _ => Vec::new(),
    };
    vec![
        Block::Paragraph(format!("**{}**:", label(name))),
        Block::List(None, below),
    ]
}

fn title_in_list(value: &Tree, index: usize) -> String {
    if value.scalar().is_some() {
        String::new()
    } else {
        value
            .title(&TITLES)
            .unwrap_or_else(|| (index + 1).to_string())
    }
}

/// All values below, in order, bounded.
fn flat(value: &Tree) -> String {
    let mut words = String::new();
    let mut waiting = vec![value];
    while let Some(next) = waiting.pop().filter(|_| words.len() < 4 * SHORT) {
        match next {
            Tree::List(items) => waiting.extend(items.iter().rev()),
            Tree::Record(entries) => waiting.extend(entries.iter().rev().map(|(_, value)| value)),
            scalar => {
                words.push_str(scalar.scalar().unwrap_or_default());
                words.push(' ');
            }
        }
    }
    words.trim_end().to_owned()
}

/// Names of the columns, if the items are flat records of one kind: two or more, with few gaps.
fn columns<'t>(items: &'t [Tree], settings: &StructuredConfig) -> Option<Vec<&'t str>> {
    let mut columns: Vec<&str> = Vec::new();
    let mut cells = 0;
    for item in items {
        let Tree::Record(entries) = item else {
            return None;
        };
        for (name, value) in entries {
            let fits = value
                .scalar()
                .is_some_and(|text| text.chars().count() <= MAXIMUM_CELL_CHARACTERS)
                || short_list(value).is_some();
            if !fits {
                return None;
            }
            if !columns.contains(&name.as_str()) {
                columns.push(name);
            }
            cells += 1;
        }
        if columns.len() > settings.maximum_table_columns {
            return None;
        }
    }
    let is_full =
        items.len() >= 2 && columns.len() >= 2 && cells * 2 >= columns.len() * items.len();
    is_full.then_some(columns)
}

fn table(columns: &[&str], items: &[Tree]) -> Block {
    let mut rows = vec![
        columns
            .iter()
            .map(|name| label(name).replace('|', "\\|"))
            .collect::<Vec<_>>(),
    ];
    for item in items {
        let Tree::Record(entries) = item else {
            continue;
        };
        rows.push(columns.iter().map(|column| cell(entries, column)).collect());
    }
    Block::Table(rows)
}

/// What a record has in a column, on one line.
fn cell(entries: &[(String, Tree)], column: &str) -> String {
    let value = entries
        .iter()
        .find(|(name, _)| name == column)
        .map(|(_, value)| value);
    let text = value.map_or_else(String::new, |value| match value.scalar() {
        Some(text) => text
            .trim()
            .lines()
            .map(|line| escaped(line.trim()))
            .collect::<Vec<_>>()
            .join("<br>"),
        None => short_list(value).unwrap_or_default(),
    });
    text.replace('|', "\\|")
}
