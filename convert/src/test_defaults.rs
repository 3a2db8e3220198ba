//! What users get, as `Default` of each section, for the unit tests of the converters.

use crate::config::*;
use crate::test_config::config;

impl Default for Config {
    fn default() -> Self {
        config()
    }
}

macro_rules! section {
    ($($name:ident = $field:ident),*) => {
        $(impl Default for $name {
            fn default() -> Self {
                Config::default().$field
            }
        })*
    };
}

section!(
    HtmlConfig = html,
    NotebookConfig = notebook,
    StructuredConfig = structured,
    MailConfig = mail,
    OfficeConfig = office,
    DocxConfig = docx,
    DocConfig = doc,
    SlidesConfig = slides,
    SpreadsheetConfig = spreadsheet,
    CsvConfig = csv,
    TablesConfig = tables,
    PdfConfig = pdf,
    ImageConfig = image,
    OcrConfig = ocr
);
