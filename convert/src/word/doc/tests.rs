//! Documents of our own making, and hostile ones.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use tributary_schemas::ErrorKind;

use crate::config::Config;
use crate::document::Converted;
use crate::limits::Limits;
use crate::office::ole::tests::build as compound;

/// Where the text begins in the stream.
const TEXT_AT: usize = 2048;

/// A document in the making: its text is one piece of UTF-16 unless it is `narrow`.
#[derive(Default)]
struct Draft {
    text: String,
    /// Ends in characters, style and property modifiers of paragraphs.
    paragraphs: Vec<(usize, u16, Vec<u8>)>,
    /// Ends and property modifiers of runs of characters.
    runs: Vec<(usize, Vec<u8>)>,
    styles: Vec<u8>,
    /// Footnotes: positions of the marks, and the text of each.
    notes: Vec<(usize, String)>,
    narrow: bool,
    language: u16,
    flags: u16,
}

impl Draft {
    /// Adds a paragraph with its end mark.
    fn paragraph(mut self, text: &str, style: u16, modifiers: &[u8]) -> Self {
        self.text.push_str(text);
        let end = self.length();
        self.paragraphs.push((end, style, modifiers.to_vec()));
        self.runs.push((end, Vec::new()));
        self
    }

    /// Adds text with properties to the paragraph that comes next.
    fn run(mut self, text: &str, modifiers: &[u8]) -> Self {
        self.runs.push((self.length(), Vec::new()));
        self.text.push_str(text);
        self.runs.push((self.length(), modifiers.to_vec()));
        self
    }

    fn length(&self) -> usize {
        self.text.encode_utf16().count()
    }

    /// A built-in style without properties of its own, on the base `base` (0xFFF for none).
    fn style(mut self, builtin: u16, base: u16, modifiers: &[u8]) -> Self {
        let mut style = [
            builtin.to_le_bytes(),
            (base << 4 | 1).to_le_bytes(),
            [2, 0],
            [0, 0],
            [0, 0],
            [1, 0],
            [b'x', 0],
            [0, 0],
        ]
        .concat();
        style.extend((modifiers.len() as u16 + 2).to_le_bytes());
        style.extend([0, 0]);
        style.extend(modifiers);
        self.styles.extend((style.len() as u16).to_le_bytes());
        self.styles.extend(&style);
        self.styles.extend(vec![0; style.len() % 2]);
        self
    }

    fn build(&self) -> Vec<u8> {
        let (main, notes): (usize, String) = (
            self.length(),
            self.notes.iter().map(|(_, text)| text.as_str()).collect(),
        );
        let all = format!("{}{notes}", self.text);
        let width = if self.narrow { 1 } else { 2 };
        let bytes: Vec<u8> = if self.narrow {
            all.chars().map(|letter| letter as u8).collect()
        } else {
            all.encode_utf16().flat_map(u16::to_le_bytes).collect()
        };
        let count = bytes.len() / width;
        let mut word = vec![0; TEXT_AT];
        word.extend(&bytes);
        let page_of = |word: &mut Vec<u8>, page: Vec<u8>| {
            word.resize(word.len().next_multiple_of(512), 0);
            word.extend(page);
            (word.len() / 512 - 1) as u32
        };
        let at = |position: usize| (TEXT_AT + position * width) as u32;
        let paragraphs: Vec<_> = self
            .paragraphs
            .iter()
            .map(|(end, style, list)| (at(*end), [&style.to_le_bytes(), list.as_slice()].concat()))
            .collect();
        let paragraphs = page_of(&mut word, page(at(0), &paragraphs, 13));
        let runs: Vec<_> = self
            .runs
            .iter()
            .map(|(end, list)| (at(*end), list.clone()))
            .collect();
        let runs = page_of(&mut word, page(at(0), &runs, 1));
        let place = if self.narrow {
            (2 * TEXT_AT as u32) | 0x4000_0000
        } else {
            TEXT_AT as u32
        };
        let pieces = [
            &[0, 0, 0, 0][..],
            &(count as u32).to_le_bytes(),
            &[0, 0],
            &place.to_le_bytes(),
            &[0, 0],
        ]
        .concat();
        let mut table = vec![0; 4];
        let mut places = vec![[0_u32; 2]; 93];
        let mut put = |index: usize, content: &[u8]| {
            places[index] = [table.len() as u32, content.len() as u32];
            table.extend(content);
        };
        put(
            33,
            &[&[2][..], &(pieces.len() as u32).to_le_bytes(), &pieces].concat(),
        );
        put(
            1,
            &[&[8, 0, 9, 0, 10, 0, 0, 0, 0, 0][..], &self.styles].concat(),
        );
        let plc = |number: u32| [0_u32, u32::MAX, number].map(u32::to_le_bytes).concat();
        put(13, &plc(paragraphs));
        put(12, &plc(runs));
        if !self.notes.is_empty() {
            let mut references: Vec<u8> = self
                .notes
                .iter()
                .flat_map(|(at, _)| (*at as u32).to_le_bytes())
                .collect();
            references.extend((main as u32).to_le_bytes());
            references.extend(vec![1; 2 * self.notes.len()]);
            put(2, &references);
            let ends = self.notes.iter().scan(0, |end, (_, text)| {
                *end += text.encode_utf16().count() as u32;
                Some(*end)
            });
            let ends: Vec<u8> = std::iter::once(0)
                .chain(ends)
                .flat_map(u32::to_le_bytes)
                .collect();
            put(3, &ends);
        }
        self.write_block(&mut word, main, count - main, &places);
        compound(&[("WordDocument", &word), ("1Table", &table)])
    }

    fn write_block(&self, word: &mut [u8], main: usize, notes: usize, places: &[[u32; 2]]) {
        let mut block = [0xA5EC_u16, 0x00C1].map(u16::to_le_bytes).concat();
        block.resize(0x0A, 0);
        block.extend((0x0200 | self.flags).to_le_bytes());
        block.resize(32, 0);
        block.extend([14, 0]);
        block.resize(34 + 26, 0);
        block.extend(self.language.to_le_bytes());
        block.extend([22, 0]);
        block.resize(64 + 12, 0);
        block.extend((main as u32).to_le_bytes());
        block.extend((notes as u32).to_le_bytes());
        block.resize(64 + 88, 0);
        block.extend([93, 0]);
        block.extend(
            places
                .iter()
                .flatten()
                .flat_map(|number| number.to_le_bytes()),
        );
        word[..block.len()].copy_from_slice(&block);
    }
}

/// A formatted page: ends, places of the entries of `size` bytes, and the entries from the end on.
fn page(start: u32, entries: &[(u32, Vec<u8>)], size: usize) -> Vec<u8> {
    let mut page: Vec<u8> = std::iter::once(start)
        .chain(entries.iter().map(|(end, _)| *end))
        .flat_map(u32::to_le_bytes)
        .collect();
    let places_at = page.len();
    page.resize(512, 0);
    page[511] = entries.len() as u8;
    let mut end = 510;
    for (index, (_, list)) in entries
        .iter()
        .enumerate()
        .filter(|(_, (_, list))| !list.is_empty())
    {
        // Of paragraphs the length is counted in pairs and rounded up.
        let mut stored = list.clone();
        if size == 13 {
            stored.extend(vec![0; (stored.len() + 1) % 2]);
            stored.insert(0, stored.len().div_ceil(2) as u8);
        } else {
            stored.insert(0, list.len() as u8);
        }
        end = (end - stored.len()) / 2 * 2;
        page[end..end + stored.len()].copy_from_slice(&stored);
        page[places_at + size * index] = (end / 2) as u8;
    }
    page
}

fn convert(draft: &Draft, config: &Config) -> tributary_schemas::Result<Converted> {
    super::convert(&draft.build(), &config.doc, &Limits::starting_now(config))
}

fn markdown(draft: &Draft) -> String {
    convert(draft, &Config::default()).unwrap().markdown
}

/// Style 0 is body text, 1 a built-in heading of level 2 with any name, 2 a style based on it, 3
/// has an outline level.
fn with_styles() -> Draft {
    Draft::default()
        .style(0, 0xFFF, &[])
        .style(2, 0, &[])
        .style(0xFFE, 1, &[])
        .style(0xFFE, 0, &[0x40, 0x26, 0])
}

#[test]
fn headings_by_styles_their_bases_and_outline_levels() {
    let draft = with_styles()
        .paragraph("二级标题\r", 1, &[])
        .paragraph("based on it\r", 2, &[])
        .paragraph("outline\r", 3, &[])
        .paragraph("body again\r", 1, &[0x40, 0x26, 9])
        .paragraph("plain\u{B}# two lines\r", 0, &[]);
    assert_eq!(
        markdown(&draft),
        "## 二级标题\n\n## based on it\n\n# outline\n\nbody again\n\nplain\n\\# two lines\n"
    );
    assert_eq!(
        convert(&draft, &Config::default())
            .unwrap()
            .title
            .as_deref(),
        Some("二级标题")
    );
}

#[test]
fn runs_fields_and_special_characters() {
    let draft = Draft::default()
        .run("bold", &[0x35, 0x08, 1])
        .run("gone", &[0x00, 0x08, 1])
        .run("hidden", &[0x3C, 0x08, 1])
        .run(" \u{13} HYPERLINK \"http://a.b\" \u{14}link\u{15}", &[])
        .run(" \u{13}PAGE\u{14}7\u{15}\u{13} XE \"x\" \u{15}", &[])
        .run("\u{F061}", &[])
        .paragraph(" a\u{1E}b\u{1F}c\td\r", 0, &[]);
    assert_eq!(markdown(&draft), "**bold** [link](http://a.b) 7α a-bc d\n");
    let mut config = Config::default();
    config.doc.include_hidden_text = true;
    assert!(
        convert(&draft, &config)
            .unwrap()
            .markdown
            .contains("hidden")
    );
}

#[test]
fn character_styles_hide_and_embolden() {
    let mut draft = Draft::default()
        .style(0, 0xFFF, &[])
        .style(0xFFE, 0xFFF, &[]);
    // The second style becomes a character style: bold and hidden.
    let mut style = [
        0xFFE_u16.to_le_bytes(),
        (0xFFF0_u16 | 2).to_le_bytes(),
        [1, 0],
        [0, 0],
        [0, 0],
        [1, 0],
        [b'y', 0],
        [0, 0],
        [6, 0],
    ]
    .concat();
    style.extend([0x35, 0x08, 1, 0x3C, 0x08, 1]);
    draft.styles.extend((style.len() as u16).to_le_bytes());
    draft.styles.extend(style);
    let draft = draft
        .run("gone", &[0x30, 0x4A, 2, 0])
        .run("kept", &[0x30, 0x4A, 2, 0, 0x3C, 0x08, 0x81])
        .run(" plain", &[0x30, 0x4A, 1, 0])
        .paragraph("\r", 0, &[]);
    assert_eq!(markdown(&draft), "**kept** plain\n");
}

#[test]
fn many_short_rows_beside_a_long_one_are_not_filled_up() {
    let (in_table, row_end): (&[u8], &[u8]) = (&[0x16, 0x24, 1], &[0x16, 0x24, 1, 0x17, 0x24, 1]);
    let mut tables = super::tables::Tables::default();
    tables.set_depth(1);
    for cells in std::iter::once(2000).chain(std::iter::repeat_n(1, 2000)) {
        (0..cells).for_each(|_| {
            tables.push(crate::office::blocks::Block::paragraph("x".into()));
            tables.end_cell();
        });
        tables.end_row(&[]);
    }
    let long = crate::office::blocks::render(&tables.set_depth(0));
    assert!(long.len() < 100_000, "{} bytes", long.len());
    let short = Draft::default()
        .paragraph("a\u{7}", 0, in_table)
        .paragraph("b\u{7}", 0, in_table)
        .paragraph("\u{7}", 0, row_end);
    let short = short
        .paragraph("c\u{7}", 0, in_table)
        .paragraph("\u{7}", 0, row_end)
        .paragraph("end\r", 0, &[]);
    assert_eq!(
        markdown(&short),
        "| a | b |\n| --- | --- |\n| c |  |\n\nend\n"
    );
}

#[test]
fn tables_lists_and_nested_tables() {
    let in_table: &[u8] = &[0x16, 0x24, 1];
    let row_end: &[u8] = &[0x16, 0x24, 1, 0x17, 0x24, 1];
    let inner: &[u8] = &[0x16, 0x24, 1, 0x49, 0x66, 2, 0, 0, 0];
    let inner_cell = [inner, &[0x4B, 0x24, 1]].concat();
    let inner_row = [inner, &[0x4B, 0x24, 1, 0x4C, 0x24, 1]].concat();
    let draft = Draft::default()
        .paragraph("a|b\u{7}", 0, in_table)
        .paragraph("one\r", 0, in_table)
        .paragraph("two\u{7}", 0, in_table)
        .paragraph("\u{7}", 0, row_end)
        .paragraph("c\u{7}", 0, in_table)
        .paragraph("x\r", 0, &inner_cell)
        .paragraph("y\r", 0, &inner_cell)
        .paragraph("\r", 0, &inner_row)
        .paragraph("d\u{7}", 0, in_table)
        .paragraph("\u{7}", 0, row_end)
        .paragraph("item\r", 0, &[0x0B, 0x46, 1, 0, 0x0A, 0x26, 0])
        .paragraph("after\r", 0, &[]);
    let expected = "| a\\|b | one<br>two |\n| --- | --- |\n| c | d |\n\n| x | y |\n| --- | --- |\n\n- item\n\nafter\n";
    assert_eq!(markdown(&draft), expected);
}

#[test]
fn footnotes_are_defined_at_the_end() {
    let mut draft = Draft::default().paragraph("text\u{2} more\r", 0, &[]);
    draft.notes = vec![(4, "\u{2} said\r".to_owned())];
    assert_eq!(markdown(&draft), "text[^1] more\n\n[^1]: said\n");
}

#[test]
fn bytes_are_windows_1252_or_of_the_east_asian_code_page() {
    let narrow = |text: &str, language| {
        markdown(&Draft {
            narrow: true,
            language,
            ..Draft::default().paragraph(text, 0, &[])
        })
    };
    assert_eq!(narrow("\u{93}caf\u{E9}\u{94}\r", 0x0804), "“café”\n");
    assert_eq!(narrow("\u{D6}\u{D0}\u{CE}\u{C4} ab\r", 0x0804), "中文 ab\n");
    assert_eq!(narrow("\u{D6}\u{D0}\r", 0x0409), "ÖÐ\n");
}

#[test]
fn files_that_cannot_be_read_are_refused_with_the_right_kind() {
    let draft = with_styles().paragraph("text\r", 0, &[]);
    let encrypted = convert(
        &Draft {
            flags: 0x0100,
            ..with_styles().paragraph("x\r", 0, &[])
        },
        &Config::default(),
    )
    .unwrap_err();
    assert_eq!(encrypted.kind(), ErrorKind::Unsupported);
    assert!(
        encrypted
            .to_string()
            .starts_with("the document is encrypted"),
        "{encrypted}"
    );
    let refused = |word: &[u8]| {
        let config = Config::default();
        super::convert(
            &compound(&[("WordDocument", word), ("1Table", &[0; 50])]),
            &config.doc,
            &Limits::starting_now(&config),
        )
        .unwrap_err()
        .kind()
    };
    assert_eq!(
        refused(&[0xDC, 0xA5, 0x65, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ErrorKind::Unsupported
    );
    assert_eq!(refused(&[1; 900]), ErrorKind::Corrupt);
    assert_eq!(refused(&[]), ErrorKind::Corrupt);
    let config = Config {
        conversion_timeout_ms: 0,
        ..Config::default()
    };
    assert_eq!(
        convert(&draft, &config).unwrap_err().kind(),
        ErrorKind::Invalid
    );
}

#[test]
fn truncated_and_flipped_files_end_cleanly() {
    let mut draft = with_styles()
        .paragraph("Heading\r", 1, &[])
        .run("bold", &[0x35, 0x08, 1])
        .paragraph("text\u{2} of it\r", 0, &[]);
    draft.notes = vec![(16, "\u{2} said\r".to_owned())];
    let (bytes, config) = (draft.build(), Config::default());
    let run = |bytes: &[u8]| {
        if let Err(error) = super::convert(bytes, &config.doc, &Limits::starting_now(&config)) {
            assert!(
                matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported),
                "{error}"
            );
        }
    };
    (0..bytes.len())
        .step_by(97)
        .for_each(|length| run(&bytes[..length]));
    let mut state = 0x2545_F491_u32;
    for _ in 0..3000 {
        let mut flipped = bytes.clone();
        for _ in 0..4 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = (state >> 8) as usize % flipped.len();
            flipped[at] ^= 1 << (state >> 29);
        }
        run(&flipped);
    }
}
