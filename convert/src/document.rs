//! What a conversion is given, and what it gives.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tributary_schemas::ImageLink;

/// What to convert.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// Body.
    pub bytes: &'a [u8],
    /// File name, path or URL.
    pub name: Option<&'a str>,
    /// What the producer believes.
    pub media_type: Option<&'a str>,
}

impl<'a> Job<'a> {
    /// Bytes of which only a name is known.
    pub fn named(bytes: &'a [u8], name: &'a str) -> Self {
        Self {
            bytes,
            name: Some(name),
            media_type: None,
        }
    }
}

/// A page of a PDF that is wanted as a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageWanted {
    /// Number of the page, from 1.
    pub number: u32,
    /// Width of the picture in pixels.
    pub width: u16,
}

/// A document as Markdown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Converted {
    /// The text as Markdown (CommonMark with tables), `\n` line ends.
    pub markdown: String,
    /// Title found in the document, its first heading or its file name; `None` if there is none of
    /// them.
    pub title: Option<String>,
    /// Detected media type.
    pub media_type: String,
    /// Name and version of the converter, such as `markdown/1`.
    pub converter: Cow<'static, str>,
    /// Metadata found in the document itself, flattened to text; names are lowercase.
    pub metadata: BTreeMap<String, String>,
    /// Images in order of appearance; the Markdown names them `image:N`. A link `embedded:K` is
    /// the blob number K.
    pub images: Vec<ImageLink>,
    /// Files that the document carries beside its text.
    pub blobs: Vec<EmbeddedFile>,
}

/// A file in a document, such as a picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmbeddedFile {
    /// Name, without folders.
    pub name: String,
    /// Media type.
    pub media_type: String,
    /// Content.
    pub bytes: Vec<u8>,
}
