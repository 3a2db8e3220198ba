//! Settings of the PDF converter, read as `convert.pdf.…`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

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

/// How PDFs are read.
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
    pub maximum_pages: usize,
    /// Most characters of one document; what is over it fails the document.
    pub maximum_characters: usize,
    /// Most characters of one page; a page over it fails the document.
    pub maximum_characters_per_page: usize,
    /// Most drawn paths of one page that are searched for the lines of tables; the tables of a
    /// busier page are read as text.
    pub maximum_paths_per_page: usize,
    /// Most pixels of one page image; a larger page is drawn with fewer dots per inch.
    pub maximum_image_pixels: u64,
}
