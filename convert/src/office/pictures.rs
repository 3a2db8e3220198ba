//! The pictures of a document: each file handed over once, each showing an image of the Markdown.

use std::collections::BTreeMap;

use tributary_schemas::ImageLink;

use crate::blanks::collapsed;
use crate::document::EmbeddedFile;

/// Pictures found so far.
#[derive(Debug, Default)]
pub(crate) struct Pictures {
    /// Images in order of appearance.
    pub images: Vec<ImageLink>,
    /// Their files.
    pub blobs: Vec<EmbeddedFile>,
    /// Number of the file by what it is called in the document.
    known: BTreeMap<String, usize>,
    bytes: u64,
    maximum_bytes: u64,
}

impl Pictures {
    /// No pictures yet, and at most `maximum_bytes` of files.
    pub(crate) fn new(maximum_bytes: u64) -> Self {
        Self {
            maximum_bytes,
            ..Self::default()
        }
    }

    /// Shows the file that is called `key` within the document, read by `read` if it was not shown
    /// before.
    ///
    /// Returns the image's Markdown; the alternative text alone if there is no such file or no room
    /// for it.
    pub(crate) fn show(
        &mut self,
        key: &str,
        alt: &str,
        read: impl FnOnce() -> Option<EmbeddedFile>,
    ) -> Option<String> {
        let alt = shown_alternative(alt);
        let Some(blob) = self
            .known
            .get(key)
            .copied()
            .or_else(|| self.add(key, read()?))
        else {
            return (!alt.is_empty()).then_some(alt);
        };
        let markdown = format!("![{alt}](image:{})", self.images.len());
        self.images.push(ImageLink {
            link: format!("embedded:{blob}"),
            alt,
        });
        Some(markdown)
    }

    /// The file that is called `key`, if it was shown.
    pub(crate) fn file(&self, key: &str) -> Option<&EmbeddedFile> {
        self.known
            .get(key)
            .and_then(|number| self.blobs.get(*number))
    }

    /// Whether the file of that key is here already.
    pub(crate) fn knows(&self, key: &str) -> bool {
        self.known.contains_key(key)
    }

    /// Shows a picture that lies elsewhere; returns the image's Markdown.
    pub(crate) fn link(&mut self, mut image: ImageLink) -> String {
        image.alt = shown_alternative(&image.alt);
        let markdown = format!("![{}](image:{})", image.alt, self.images.len());
        self.images.push(image);
        markdown
    }

    fn add(&mut self, key: &str, file: EmbeddedFile) -> Option<usize> {
        let bytes = self.bytes.saturating_add(file.bytes.len() as u64);
        if file.bytes.is_empty() || bytes > self.maximum_bytes {
            return None;
        }
        self.bytes = bytes;
        self.blobs.push(file);
        self.known.insert(key.to_owned(), self.blobs.len() - 1);
        Some(self.blobs.len() - 1)
    }
}

/// Alternative text without line ends and without what would end it; of a path, as programs put it
/// there, the file's name.
fn shown_alternative(alt: &str) -> String {
    let is_path = alt.contains(":\\") && !alt.trim().contains('\n');
    let said = if is_path {
        alt.rsplit('\\').next().unwrap_or(alt)
    } else {
        alt
    };
    collapsed(said).replace(['[', ']', '\\', '`'], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_handed_over_once_and_only_within_the_limit() {
        let file = |length| {
            Some(EmbeddedFile {
                bytes: vec![1; length],
                ..EmbeddedFile::default()
            })
        };
        let mut pictures = Pictures::new(10);
        assert_eq!(
            pictures.show("a", " x[1]\n y", || file(6)).as_deref(),
            Some("![x1 y](image:0)")
        );
        assert_eq!(
            pictures.show("a", "", || None).as_deref(),
            Some("![](image:1)")
        );
        assert_eq!(
            pictures.show("b", "too large", || file(6)).as_deref(),
            Some("too large")
        );
        assert_eq!(pictures.show("c", "", || None), None);
        assert_eq!((pictures.images.len(), pictures.blobs.len()), (2, 1));
    }
}
