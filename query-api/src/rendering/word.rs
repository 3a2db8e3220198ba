//! Markdown as a Word document: CommonMark with tables. Headings, lists, quotes and code have Word's
//! own styles, so that a reader's outline and table of contents know them. Pictures are their
//! descriptions, formulas and HTML stay as they were written.

use std::io::Cursor;

use docx_rs::{
    AbstractNumbering, BreakType, Docx, Hyperlink, HyperlinkType, IndentLevel, Level, LevelJc,
    LevelOverride, LevelText, NumberFormat, Numbering, NumberingId, Paragraph, Run, RunFonts,
    SpecialIndentType, Start, Style, StyleType, Table, TableCell, TableRow, WidthType,
};
use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd, TextMergeStream};

use super::bounds::Bounds;
use super::markdown;
use super::without_control;

/// Levels of lists and headings that Word knows.
const LIST_LEVELS: usize = 9;
const HEADING_LEVELS: usize = 6;
/// How far each level of a list stands further in, in twentieths of a point.
const LIST_STEP: i32 = 420;
const LIST_HANGING: i32 = 360;
/// Sizes in half points: running text, then the headings by level.
const TEXT_SIZE: usize = 22;
const HEADING_SIZES: [usize; HEADING_LEVELS] = [36, 30, 26, 24, 22, 22];
/// Width of a table, in fiftieths of a percent.
const WHOLE_WIDTH: usize = 5000;

const TEXT_FONT: &str = "Calibri";
const CODE_FONT: &str = "Consolas";
const EAST_ASIAN_FONT: &str = "Microsoft YaHei";
const CODE_STYLE: &str = "SourceCode";
const QUOTE_STYLE: &str = "Quote";
const LIST_STYLE: &str = "ListParagraph";
const LINK_STYLE: &str = "Hyperlink";
/// Numbers of the two kinds of lists; each numbered list has an instance of its own after them.
const BULLETS: usize = 1;
const NUMBERS: usize = 2;

/// What links may lead to.
const SCHEMES: [&str; 3] = ["http://", "https://", "mailto:"];

/// A Markdown text as a `.docx` file; one over a bound of what is rendered is there as it was
/// written.
pub fn docx(text: &str) -> Result<Vec<u8>, String> {
    let document = rendered(text).unwrap_or_else(|| as_written(text));
    let mut file = Cursor::new(Vec::new());
    let packed = document.pack(&mut file);
    packed.map_err(|error| format!("the document cannot be packed: {error}"))?;
    Ok(file.into_inner())
}

fn rendered(text: &str) -> Option<Docx> {
    let mut writer = Writer::new();
    let mut bounds = Bounds::new(text.len());
    for event in TextMergeStream::new(Parser::new_ext(text, markdown::options())) {
        if !bounds.allow(&event) {
            return None;
        }
        writer.take(event);
    }
    writer.end_paragraph();
    Some(writer.document)
}

fn as_written(text: &str) -> Docx {
    let lines = text.lines();
    lines.fold(styled(), |document, line| {
        let run = Run::new().add_text(without_control(line));
        document.add_paragraph(Paragraph::new().add_run(run))
    })
}

/// A list that is open.
struct List {
    numbering: usize,
    /// Whether its item has no paragraph yet: the first one has its sign.
    begins: bool,
}

/// A table that is open.
#[derive(Default)]
struct OpenTable {
    rows: Vec<TableRow>,
    cells: Vec<TableCell>,
    is_head: bool,
}

/// Turns what the parser gives into paragraphs and tables.
struct Writer {
    document: Docx,
    paragraph: Option<Paragraph>,
    link: Option<Hyperlink>,
    heading: Option<usize>,
    lists: Vec<List>,
    numberings: usize,
    quotes: usize,
    code: Option<String>,
    table: Option<OpenTable>,
    bold: usize,
    italic: usize,
    struck: usize,
}

impl Writer {
    fn new() -> Self {
        Self {
            document: styled(),
            paragraph: None,
            link: None,
            heading: None,
            lists: Vec::new(),
            numberings: NUMBERS,
            quotes: 0,
            code: None,
            table: None,
            bold: 0,
            italic: 0,
            struck: 0,
        }
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(code) => self.run(code_run().add_text(without_control(&code))),
            Event::InlineMath(latex) => self.text(&format!("${latex}$")),
            Event::DisplayMath(latex) => self.text(&format!("$${latex}$$")),
            Event::Html(html) | Event::InlineHtml(html) => self.html(&html),
            Event::SoftBreak => self.text(" "),
            Event::HardBreak => self.run(Run::new().add_break(BreakType::TextWrapping)),
            Event::Rule => self.rule(),
            Event::TaskListMarker(true) => self.text("☑ "),
            Event::TaskListMarker(false) => self.text("☐ "),
            Event::FootnoteReference(label) => self.text(&format!("[^{label}]")),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.end_paragraph();
                self.heading = Some(heading_number(level));
            }
            Tag::BlockQuote(_) => {
                self.end_paragraph();
                self.quotes += 1;
            }
            Tag::FootnoteDefinition(label) => {
                self.end_paragraph();
                self.text(&format!("[^{label}]: "));
            }
            Tag::CodeBlock(_) => {
                self.end_paragraph();
                self.code = Some(String::new());
            }
            Tag::List(first) => self.start_list(first),
            Tag::Item => self.start_item(),
            Tag::Table(_) => {
                self.end_paragraph();
                self.table = Some(OpenTable::default());
            }
            Tag::TableHead => self.set_head(true),
            Tag::Emphasis => self.italic += 1,
            Tag::Strong => self.bold += 1,
            Tag::Strikethrough => self.struck += 1,
            Tag::Link { dest_url, .. } => self.start_link(&dest_url),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.end_paragraph();
                self.heading = None;
            }
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_paragraph(),
            TagEnd::BlockQuote(_) => {
                self.end_paragraph();
                self.quotes = self.quotes.saturating_sub(1);
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.end_paragraph();
                self.lists.pop();
            }
            TagEnd::Item => self.end_item(),
            TagEnd::TableCell => self.end_cell(),
            TagEnd::TableHead => {
                self.end_row();
                self.set_head(false);
            }
            TagEnd::TableRow => self.end_row(),
            TagEnd::Table => self.end_table(),
            TagEnd::Emphasis => self.italic = self.italic.saturating_sub(1),
            TagEnd::Strong => self.bold = self.bold.saturating_sub(1),
            TagEnd::Strikethrough => self.struck = self.struck.saturating_sub(1),
            TagEnd::Link => self.end_link(),
            _ => {}
        }
    }

    fn start_list(&mut self, first: Option<u64>) {
        self.end_paragraph();
        let numbering = match first {
            None => BULLETS,
            Some(first) => self.numbered_from(first),
        };
        self.lists.push(List {
            numbering,
            begins: false,
        });
    }

    /// Another instance of the numbers, which begins where the list says.
    fn numbered_from(&mut self, first: u64) -> usize {
        self.numberings += 1;
        let start = usize::try_from(first).unwrap_or(usize::MAX);
        let level = self.lists.len().min(LIST_LEVELS - 1);
        let numbering = Numbering::new(self.numberings, NUMBERS)
            .add_override(LevelOverride::new(level).start(start));
        self.change(|document| document.add_numbering(numbering));
        self.numberings
    }

    fn start_item(&mut self) {
        self.end_paragraph();
        if let Some(list) = self.lists.last_mut() {
            list.begins = true;
        }
    }

    /// An item without a text has its sign all the same.
    fn end_item(&mut self) {
        if self.lists.last().is_some_and(|list| list.begins) && self.paragraph.is_none() {
            self.paragraph = Some(self.begun());
        }
        self.end_paragraph();
    }

    fn start_link(&mut self, target: &str) {
        let target = without_control(target);
        let is_known = |scheme: &&str| {
            let start = target.get(..scheme.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        };
        if SCHEMES.iter().any(is_known) {
            self.link = Some(Hyperlink::new(target, HyperlinkType::External));
        }
    }

    fn end_link(&mut self) {
        if let Some(link) = self.link.take() {
            let paragraph = self.open_paragraph().add_hyperlink(link);
            self.paragraph = Some(paragraph);
        }
    }

    fn set_head(&mut self, is_head: bool) {
        if let Some(table) = &mut self.table {
            table.is_head = is_head;
        }
    }

    fn end_cell(&mut self) {
        let paragraph = self.open_paragraph();
        if let Some(table) = &mut self.table {
            table.cells.push(TableCell::new().add_paragraph(paragraph));
        }
    }

    fn end_row(&mut self) {
        if let Some(table) = &mut self.table {
            let cells = std::mem::take(&mut table.cells);
            table.rows.push(TableRow::new(cells).cant_split());
        }
    }

    fn end_table(&mut self) {
        if let Some(table) = self.table.take() {
            let table = Table::new(table.rows).width(WHOLE_WIDTH, WidthType::Pct);
            // Word joins tables that nothing stands between.
            self.change(|document| document.add_table(table).add_paragraph(Paragraph::new()));
        }
    }

    fn end_code(&mut self) {
        let code = self.code.take();
        let paragraph = self.placed(Paragraph::new().style(CODE_STYLE));
        let lines = code.iter().flat_map(|code| code.lines()).enumerate();
        let run = lines.fold(Run::new(), |run, (number, line)| {
            let run = match number {
                0 => run,
                _ => run.add_break(BreakType::TextWrapping),
            };
            run.add_text(without_control(line))
        });
        self.change(|document| document.add_paragraph(paragraph.add_run(run)));
    }

    fn rule(&mut self) {
        self.end_paragraph();
        self.text("* * *");
        self.end_paragraph();
    }

    /// Line breaks are what tables of documents have HTML for.
    fn html(&mut self, html: &str) {
        let name = html.trim().trim_end_matches(['>', '/', ' ']);
        match name.eq_ignore_ascii_case("<br") {
            true => self.run(Run::new().add_break(BreakType::TextWrapping)),
            false => self.text(html),
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(code) = &mut self.code {
            code.push_str(text);
            return;
        }
        let text = without_control(&text.replace('\n', " "));
        if !text.is_empty() {
            self.run(Run::new().add_text(text));
        }
    }

    /// Adds to the paragraph, or to its link.
    fn run(&mut self, mut run: Run) {
        let is_head = self.table.as_ref().is_some_and(|table| table.is_head);
        if self.bold > 0 || is_head {
            run = run.bold();
        }
        if self.italic > 0 {
            run = run.italic();
        }
        if self.struck > 0 {
            run = run.strike();
        }
        match self.link.take() {
            Some(link) => self.link = Some(link.add_run(run.style(LINK_STYLE))),
            None => self.paragraph = Some(self.open_paragraph().add_run(run)),
        }
    }

    fn open_paragraph(&mut self) -> Paragraph {
        let open = self.paragraph.take();
        open.unwrap_or_else(|| self.begun())
    }

    fn begun(&mut self) -> Paragraph {
        if self.table.is_some() {
            return Paragraph::new();
        }
        if let Some(level) = self.heading {
            return Paragraph::new()
                .style(&heading_style(level))
                .keep_next(true);
        }
        self.placed(Paragraph::new())
    }

    /// The paragraph where lists and quotes have it.
    fn placed(&mut self, paragraph: Paragraph) -> Paragraph {
        let level = self.lists.len().min(LIST_LEVELS).saturating_sub(1);
        let has_style = paragraph.property.style.is_some();
        let styled = |paragraph: Paragraph, style: &str| match has_style {
            true => paragraph,
            false => paragraph.style(style),
        };
        let Some(list) = self.lists.last_mut() else {
            return match self.quotes {
                0 => paragraph,
                _ => styled(paragraph, QUOTE_STYLE),
            };
        };
        let paragraph = styled(paragraph, LIST_STYLE);
        if std::mem::take(&mut list.begins) {
            let numbering = NumberingId::new(list.numbering);
            return paragraph.numbering(numbering, IndentLevel::new(level));
        }
        paragraph.indent(Some(list_indent(level)), None, None, None)
    }

    fn end_paragraph(&mut self) {
        if let Some(paragraph) = self.paragraph.take() {
            self.change(|document| document.add_paragraph(paragraph));
        }
    }

    fn change(&mut self, change: impl FnOnce(Docx) -> Docx) {
        self.document = change(std::mem::take(&mut self.document));
    }
}

fn heading_number(level: HeadingLevel) -> usize {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

fn heading_style(level: usize) -> String {
    format!("Heading{level}")
}

fn fonts(latin: &str) -> RunFonts {
    RunFonts::new()
        .ascii(latin)
        .hi_ansi(latin)
        .cs(latin)
        .east_asia(EAST_ASIAN_FONT)
}

fn code_run() -> Run {
    Run::new().fonts(fonts(CODE_FONT))
}

fn list_indent(level: usize) -> i32 {
    let steps = i32::try_from(level).unwrap_or(0) + 1;
    steps * LIST_STEP
}

/// An empty document with the styles and lists that texts use.
fn styled() -> Docx {
    let paragraph = |id: &str, name: &str| {
        Style::new(id, StyleType::Paragraph)
            .name(name)
            .based_on("Normal")
            .q_format(true)
    };
    let mut document = Docx::new()
        .default_fonts(fonts(TEXT_FONT))
        .default_size(TEXT_SIZE)
        .add_style(paragraph(QUOTE_STYLE, "Quote").italic())
        .add_style(paragraph(LIST_STYLE, "List Paragraph"))
        .add_style(paragraph(CODE_STYLE, "Source Code").fonts(fonts(CODE_FONT)))
        .add_style(
            Style::new(LINK_STYLE, StyleType::Character)
                .name("Hyperlink")
                .color("0563C1")
                .underline("single"),
        )
        .add_abstract_numbering(numbers(BULLETS, "bullet", |_| "•".to_owned()))
        .add_abstract_numbering(numbers(NUMBERS, "decimal", |level| {
            format!("%{}.", level + 1)
        }))
        .add_numbering(Numbering::new(BULLETS, BULLETS));
    for (level, size) in (1..).zip(HEADING_SIZES) {
        let heading = paragraph(&heading_style(level), &format!("heading {level}"))
            .next("Normal")
            .outline_lvl(level - 1)
            .size(size)
            .bold();
        document = document.add_style(heading);
    }
    document
}

fn numbers(id: usize, format: &str, text: impl Fn(usize) -> String) -> AbstractNumbering {
    let hanging = SpecialIndentType::Hanging(LIST_HANGING);
    let level = |level| {
        Level::new(
            level,
            Start::new(1),
            NumberFormat::new(format),
            LevelText::new(text(level)),
            LevelJc::new("left"),
        )
        .indent(Some(list_indent(level)), Some(hanging), None, None)
    };
    (0..LIST_LEVELS).fold(AbstractNumbering::new(id), |numbers, at| {
        numbers.add_level(level(at))
    })
}
