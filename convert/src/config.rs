//! Settings of conversion: the section `[convert]` of the configuration. Values live in the
//! commented default file of the command line; `tributary run` and `tributary convert` read them.

use serde::{Deserialize, Serialize};

pub use crate::pdf::config::{Engine, PdfConfig};
pub use crate::picture::image::ImageConfig;
pub use crate::picture::ocr::OcrConfig;
pub use crate::sheets::csv::CsvConfig;
pub use crate::sheets::spreadsheet::SpreadsheetConfig;
pub use crate::sheets::tables::TablesConfig;
pub use crate::slides::SlidesConfig;

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
    pub maximum_embedded_files: usize,
    /// Most bytes of such files per document, all together; what would go beyond is counted and
    /// left out.
    pub maximum_embedded_bytes: u64,
    /// Most bytes that one document's archive may unpack to; more is refused as `Invalid`.
    pub maximum_unpacked_bytes: u64,
    /// Most bytes that one packed byte of an archive's member may become, for members over 16 MiB;
    /// more is refused as `Invalid`.
    pub maximum_unpacking_ratio: u64,
    /// Most front matter in bytes that is read as metadata; longer front matter stays in the text.
    pub maximum_front_matter_bytes: usize,
    /// Longest title in characters; longer ones are cut.
    pub maximum_title_characters: usize,
    /// The section `[convert.html]`.
    pub html: HtmlConfig,
    /// The section `[convert.notebook]`.
    pub notebook: NotebookConfig,
    /// The section `[convert.structured]`.
    pub structured: StructuredConfig,
    /// The section `[convert.mail]`.
    pub mail: MailConfig,
    /// The section `[convert.office]`.
    pub office: OfficeConfig,
    /// The section `[convert.docx]`.
    pub docx: DocxConfig,
    /// The section `[convert.doc]`.
    pub doc: DocConfig,
    /// The section `[convert.slides]`.
    pub slides: SlidesConfig,
    /// The section `[convert.spreadsheet]`.
    pub spreadsheet: SpreadsheetConfig,
    /// The section `[convert.csv]`.
    pub csv: CsvConfig,
    /// The section `[convert.tables]`.
    pub tables: TablesConfig,
    /// The section `[convert.pdf]`.
    pub pdf: PdfConfig,
    /// The section `[convert.image]`.
    pub image: ImageConfig,
    /// The section `[convert.ocr]`.
    pub ocr: OcrConfig,
}

impl Config {
    /// Most bytes that a conversion may write to one temporary file: the rows of a sheet or the
    /// database of its tables.
    pub fn maximum_temporary_file_bytes(&self) -> u64 {
        self.maximum_embedded_bytes
            .max(self.tables.maximum_sheet_bytes)
            .max(self.tables.maximum_database_bytes)
    }

    /// Most bytes of one conversion's result: Markdown, embedded files and the database of its
    /// tables.
    pub fn maximum_result_bytes(&self) -> u64 {
        self.maximum_markdown_bytes
            .saturating_add(self.maximum_embedded_bytes)
            .saturating_add(self.tables.maximum_database_bytes)
    }
}

/// The section `[convert.html]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HtmlConfig {
    /// Elements that may be nested in each other; deeper tags are dropped, their text stays.
    pub maximum_depth: usize,
    /// Whether navigation, page headers and footers, banners and forms are dropped and the main
    /// content is chosen.
    pub main_content_only: bool,
    /// Share of the page's text, 0 to 1, that must remain after the dropping; if less remains, the
    /// whole page is taken.
    pub minimum_main_share: f64,
}

/// The section `[convert.notebook]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NotebookConfig {
    /// Whether the outputs of code cells are kept.
    pub outputs: bool,
    /// Most characters of text that are kept of one cell's outputs; 0 keeps none.
    pub maximum_output_characters: usize,
}

/// The section `[convert.structured]`: JSON, JSON Lines, YAML and XML.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct StructuredConfig {
    /// Levels of nested names that become headings, 0 to 6; deeper ones become nested lists.
    pub heading_levels: usize,
    /// Most columns of a table that a list of flat records becomes; wider records are written one
    /// by one.
    pub maximum_table_columns: usize,
    /// Share of the values' characters, 0 to 1, that must be prose for data without tables to be
    /// read as text; below it the source goes into a code block.
    pub minimum_prose_share: f64,
}

/// The section `[convert.mail]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MailConfig {
    /// Messages attached to messages that are read; deeper ones are listed as attachments.
    pub maximum_depth: usize,
    /// Most parts of one message; a message with more is refused as `Invalid`.
    pub maximum_parts: usize,
}

/// The section `[convert.office]`: limits of documents that are zip packages of XML parts.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OfficeConfig {
    /// Most files that a package may hold; one with more is refused as `Invalid`.
    pub maximum_parts: usize,
    /// Elements that may be nested in each other in a part; a deeper part is refused as `Invalid`.
    pub maximum_xml_depth: usize,
}

/// The section `[convert.docx]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DocxConfig {
    /// Whether comments of reviewers become footnotes; they are dropped otherwise.
    pub include_comments: bool,
    /// Whether text that the author hid is kept.
    pub include_hidden_text: bool,
    /// Whether the numbers that Word computes for headings, such as `2.1` or `第一章`, stand
    /// before their text.
    pub show_heading_numbers: bool,
}

/// The section `[convert.doc]`: Word 97 to 2003.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DocConfig {
    /// Whether comments of reviewers become footnotes; they are dropped otherwise.
    pub include_comments: bool,
    /// Whether text that the author hid is kept.
    pub include_hidden_text: bool,
}
