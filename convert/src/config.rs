//! Settings of conversion: the section `[convert]` of the configuration. Values live in the
//! commented default file of the command line; `tributary run` and `tributary convert` read them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The section `[convert]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Largest body in bytes that is converted; a larger one is refused as `Invalid`.
    pub maximum_body_bytes: u64,
    /// Largest Markdown in bytes that a document may become; markup that unfolds into more is
    /// refused as `Invalid`.
    pub maximum_markdown_bytes: u64,
    /// Longest time in milliseconds that one conversion may take; one that takes longer is refused
    /// as `Invalid`.
    pub conversion_timeout_ms: u64,
    /// Documents converted at the same time; each takes one core.
    pub conversion_workers: usize,
    /// Whether each is converted in a process of its own kind, which may use no network and little
    /// else of the system: whatever a document does to its converter, it costs that document,
    /// and those that the same process converts after it.
    pub isolate_conversion: bool,
    /// Whether documents wait where the system cannot confine such a process (Linux: Landlock and
    /// seccomp). Otherwise they are converted all the same, which readiness, `doctor` and a
    /// metric tell.
    pub require_confinement: bool,
    /// Documents that such a process converts before it is replaced, at least 1. With 1 no
    /// document meets what another one left.
    pub documents_per_worker: u32,
    /// Address space in bytes of such a process; a document that needs more is refused as
    /// `Invalid`.
    pub conversion_memory_bytes: u64,
    /// Most files (pictures, attachments) that are taken out of one document; more are counted in
    /// its metadata and left out.
    pub(crate) maximum_embedded_files: usize,
    /// Most bytes of such files per document, all together; what would go beyond is counted and
    /// left out.
    pub(crate) maximum_embedded_bytes: u64,
    /// Most bytes that one document's archive may unpack to; more is refused as `Invalid`.
    pub(crate) maximum_unpacked_bytes: u64,
    /// Most bytes that one packed byte of an archive's member may become, for members over 16 MiB;
    /// more is refused as `Invalid`.
    pub(crate) maximum_unpacking_ratio: u64,
    /// Most front matter in bytes that is read as metadata; longer front matter stays in the text.
    pub(crate) maximum_front_matter_bytes: usize,
    /// Longest title in characters; longer ones are cut.
    pub maximum_title_characters: usize,
    /// The section `[convert.html]`.
    pub(crate) html: HtmlConfig,
    /// The section `[convert.notebook]`.
    pub(crate) notebook: NotebookConfig,
    /// The section `[convert.structured]`.
    pub(crate) structured: StructuredConfig,
    /// The section `[convert.mail]`.
    pub(crate) mail: MailConfig,
    /// The section `[convert.office]`.
    pub(crate) office: OfficeConfig,
    /// The section `[convert.docx]`.
    pub(crate) docx: DocxConfig,
    /// The section `[convert.doc]`.
    pub(crate) doc: DocConfig,
    /// The section `[convert.slides]`.
    pub slides: SlidesConfig,
    /// The section `[convert.spreadsheet]`.
    pub(crate) spreadsheet: SpreadsheetConfig,
    /// The section `[convert.csv]`.
    pub(crate) csv: CsvConfig,
    /// The section `[convert.tables]`.
    pub(crate) tables: TablesConfig,
    /// The section `[convert.pdf]`.
    pub pdf: PdfConfig,
    /// The section `[convert.image]`.
    pub(crate) image: ImageConfig,
    /// The section `[convert.ocr]`.
    pub(crate) ocr: OcrConfig,
}

impl Config {
    /// Most bytes that a conversion may write to one temporary file: the rows of a sheet or the
    /// database of its tables.
    pub(crate) fn maximum_temporary_file_bytes(&self) -> u64 {
        self.maximum_embedded_bytes
            .max(self.tables.maximum_sheet_bytes)
            .max(self.tables.maximum_database_bytes)
    }

    /// Most bytes of one conversion's result: Markdown, embedded files and the database of its
    /// tables.
    pub(crate) fn maximum_result_bytes(&self) -> u64 {
        self.maximum_markdown_bytes
            .saturating_add(self.maximum_embedded_bytes)
            .saturating_add(self.tables.maximum_database_bytes)
    }
}

/// The section `[convert.html]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HtmlConfig {
    /// Elements that may be nested in each other; deeper tags are dropped, their text stays.
    pub(crate) maximum_depth: usize,
    /// Whether navigation, page headers and footers, banners and forms are dropped and the main
    /// content is chosen.
    pub(crate) main_content_only: bool,
    /// Share of the page's text, 0 to 1, that must remain after the dropping; if less remains, the
    /// whole page is taken.
    pub(crate) minimum_main_share: f64,
}

/// The section `[convert.notebook]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NotebookConfig {
    /// Whether the outputs of code cells are kept.
    pub(crate) outputs: bool,
    /// Most characters of text that are kept of one cell's outputs; 0 keeps none.
    pub(crate) maximum_output_characters: usize,
}

/// The section `[convert.structured]`: JSON, JSON Lines, YAML and XML.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StructuredConfig {
    /// Levels of nested names that become headings, 0 to 6; deeper ones become nested lists.
    pub(crate) heading_levels: usize,
    /// Most columns of a table that a list of flat records becomes; wider records are written one
    /// by one.
    pub(crate) maximum_table_columns: usize,
    /// Share of the values' characters, 0 to 1, that must be prose for data without tables to be
    /// read as text; below it the source goes into a code block.
    pub(crate) minimum_prose_share: f64,
}

/// The section `[convert.mail]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MailConfig {
    /// Messages attached to messages that are read; deeper ones are listed as attachments.
    pub(crate) maximum_depth: usize,
    /// Most parts of one message; a message with more is refused as `Invalid`.
    pub(crate) maximum_parts: usize,
    /// Whether files that are attached are read too, their text below the message.
    pub(crate) read_attachments: bool,
}

/// The section `[convert.office]`: limits of documents that are zip packages of XML parts.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OfficeConfig {
    /// Most files that a package may hold; one with more is refused as `Invalid`.
    pub(crate) maximum_parts: usize,
    /// Elements that may be nested in each other in a part; a deeper part is refused as `Invalid`.
    pub(crate) maximum_xml_depth: usize,
}

/// The section `[convert.docx]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DocxConfig {
    /// Whether comments of reviewers become footnotes; they are dropped otherwise.
    pub(crate) include_comments: bool,
    /// Whether text that the author hid is kept.
    pub(crate) include_hidden_text: bool,
    /// Whether the numbers that Word computes for headings, such as `2.1`, stand before their text;
    /// marks with words, such as `第一章`, always do.
    pub(crate) show_heading_numbers: bool,
}

/// The section `[convert.doc]`: Word 97 to 2003.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DocConfig {
    /// Whether comments of reviewers become footnotes; they are dropped otherwise.
    pub(crate) include_comments: bool,
    /// Whether text that the author hid is kept.
    pub(crate) include_hidden_text: bool,
}

/// The section `[convert.slides]`: presentations (.pptx, .ppt).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SlidesConfig {
    /// Whether hidden slides and hidden shapes are kept.
    pub(crate) include_hidden: bool,
    /// Whether speaker notes are kept.
    pub(crate) include_notes: bool,
    /// Whether comments of reviewers are kept, behind the slide that they belong to.
    pub(crate) include_comments: bool,
    /// Whether LibreOffice, where it is installed, draws each slide. The picture is kept and shown
    /// with the slide's text; what only the picture shows is read from it.
    pub draw: bool,
    /// Path of LibreOffice's `soffice`; empty: the first in `PATH`, then in the usual folders.
    pub program: PathBuf,
    /// Width in pixels of a slide's picture.
    pub(crate) image_width: u16,
    /// Longest time in milliseconds for drawing one presentation; slides that remain have no
    /// picture. It comes on top of the conversion's.
    pub(crate) drawing_timeout_ms: u64,
    /// Address space in bytes of each process of LibreOffice.
    pub(crate) drawing_memory_bytes: u64,
}

/// The section `[convert.spreadsheet]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SpreadsheetConfig {
    /// Whether hidden sheets are read.
    pub(crate) hidden_sheets: bool,
    /// Whether hidden rows and columns are read.
    pub(crate) hidden_rows_and_columns: bool,
    /// Whether the text of merged cells is repeated in every row (and, in headers, every column)
    /// that they cover.
    pub(crate) fill_merged_cells: bool,
    /// Most sheets; a workbook with more is refused as `Invalid`.
    pub(crate) maximum_sheets: usize,
    /// Most cells over all sheets, empty ones with a format among them; a workbook with more is
    /// refused as `Invalid`.
    pub(crate) maximum_cells: u64,
    /// Most bytes that the parts of a workbook have when unpacked; a workbook with more is refused
    /// as `Invalid`.
    pub(crate) maximum_unpacked_bytes: u64,
    /// Most bytes of text that cells share, which is kept in memory; a workbook with more is
    /// refused as `Invalid`.
    pub(crate) maximum_shared_text_bytes: u64,
}

/// The section `[convert.csv]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CsvConfig {
    /// Bytes at the start of the text by which the delimiter is chosen.
    pub(crate) sample_bytes: usize,
    /// Most fields of one record; a file with more is refused as `Invalid`.
    pub(crate) maximum_columns: usize,
}

/// The section `[convert.tables]`: tables of spreadsheets and delimited text.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TablesConfig {
    /// Rows between two headers in Markdown: a longer table becomes several with the same header.
    pub(crate) rows_per_group: u64,
    /// Most rows of one table that are written as Markdown; a note says how many more are only in
    /// the database.
    pub(crate) maximum_markdown_rows: u64,
    /// Bytes of Markdown from which rows are left out; a note says how many more are only in the
    /// database.
    pub(crate) maximum_markdown_bytes: usize,
    /// Whether the tables are also written as an SQLite database.
    pub(crate) write_database: bool,
    /// Largest database in bytes, which is in memory once it is finished; tables that need more
    /// are refused as `Invalid`.
    pub(crate) maximum_database_bytes: u64,
    /// Most columns of a database table, at most 2000; the columns after them are only in the
    /// Markdown.
    pub(crate) maximum_database_columns: usize,
    /// Most tables on one sheet; a sheet with more is taken for one table with gaps.
    pub(crate) maximum_tables_per_sheet: usize,
    /// Most bytes that the cells of one sheet hold, repeated texts counted each time; more is
    /// refused as `Invalid`.
    pub(crate) maximum_sheet_bytes: u64,
    /// Bytes of cells up to which a sheet and the database are kept in memory; larger ones go to
    /// temporary files.
    pub(crate) memory_bytes: usize,
}

/// Which program reads the text of a PDF.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// PDFium where its library is installed, else (unless a place of it was named) the built-in
    /// reader.
    #[default]
    Auto,
    /// PDFium only; documents fail with `unavailable` where its library is missing.
    Pdfium,
    /// The built-in reader only: slower, fewer headings, no page images.
    Builtin,
}

/// The section `[convert.pdf]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PdfConfig {
    /// Which program reads the text.
    pub engine: Engine,
    /// Path of `libpdfium.so` or of the folder that holds it; empty: `TRIBUTARY_PDFIUM`, then
    /// `pdfium/` in the models folders (the command line looks there), then the program's
    /// folder, then the system's.
    pub library: PathBuf,
    /// Most pages of one document.
    pub(crate) maximum_pages: usize,
    /// Most characters of one document; what is over it fails the document.
    pub(crate) maximum_characters: usize,
    /// Most characters of one page; a page over it fails the document.
    pub(crate) maximum_characters_per_page: usize,
    /// Most drawn paths of one page that are searched for the lines of tables; the tables of a
    /// busier page are read as text.
    pub(crate) maximum_paths_per_page: usize,
    /// Most pixels of one page image; a larger page is drawn with fewer dots per inch.
    pub(crate) maximum_image_pixels: u64,
    /// Width in pixels of pages that are drawn to be looked at.
    pub page_width: u16,
    /// Longest time in milliseconds for drawing one of them.
    pub page_timeout_ms: u64,
}

/// The section `[convert.image]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImageConfig {
    /// Most pixels of one image or page; a larger one is refused as `Invalid`. One pixel takes 3
    /// to 11 bytes of memory while it is decoded.
    pub(crate) maximum_pixels: u64,
    /// Most pages of one image file; a file with more is refused as `Invalid`.
    pub(crate) maximum_pages: usize,
}

/// The section `[convert.ocr]`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OcrConfig {
    /// Dots per inch at which pages without text are drawn to be read.
    pub(crate) dots_per_inch: f32,
    /// Longest time in milliseconds for one page or picture; one that takes longer is left unread.
    /// It comes on top of the conversion's time.
    pub(crate) page_timeout_ms: u64,
    /// Longest time in milliseconds for all pages of a document; those that remain are left
    /// unread.
    pub(crate) document_timeout_ms: u64,
    /// Most pages and pictures of one document that are read; those that remain are left unread.
    pub(crate) maximum_pages: usize,
    /// Whether pictures within documents are read too, their text below where they stand.
    pub(crate) embedded_pictures: bool,
    /// Shorter side in pixels from which on a picture within a document is read: smaller ones are
    /// icons.
    pub(crate) minimum_picture_side: u32,
}
