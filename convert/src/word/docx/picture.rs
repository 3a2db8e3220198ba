//! Pictures: references in the text, their bytes beside it.

use tributary_schemas::{ImageLink, Result};

use super::Document;
use super::body::Story;
use crate::blanks::collapsed;
use crate::document::EmbeddedFile;
use crate::office::inline::Inline;

/// Longest alternative text in characters; longer ones are cut.
const MAXIMUM_ALT_CHARACTERS: usize = 1000;

impl Story<'_, '_> {
    /// Adds the picture that a relationship names.
    pub(super) fn picture(&mut self, id: &str, alt: &str, inline: &mut Inline) -> Result<()> {
        let Some(relationship) = self
            .relationships
            .get(id)
            .filter(|relationship| !relationship.target.is_empty())
            .cloned()
        else {
            return Ok(());
        };
        if !self.fields.shows_text() {
            return Ok(());
        }
        let alt = alternative_text(alt);
        let link = if relationship.is_external {
            Some(relationship.target)
        } else {
            self.document.embedded(&relationship.target)?
        };
        let Some(link) = link else { return Ok(()) };
        let number = self.document.image(link, alt.clone());
        self.after_explicit_page = false;
        inline.raw(format!("![{alt}](image:{number})"));
        Ok(())
    }
}

impl Document<'_> {
    /// Number of the image, the same for the same picture with the same text.
    fn image(&mut self, link: String, alt: String) -> usize {
        let key = format!("{link}\u{0}{alt}");
        let images = &mut self.images;
        *self.known_pictures.entry(key).or_insert_with(|| {
            images.push(ImageLink { link, alt });
            images.len() - 1
        })
    }

    /// Link to a part that is handed over, or its name if there is no room for it; `None` if there
    /// is no such part.
    fn embedded(&mut self, part: &str) -> Result<Option<String>> {
        if let Some(known) = self.blob_numbers.get(part) {
            return Ok(Some(format!("embedded:{known}")));
        }
        let Some(size) = self.package.claimed_size(part) else {
            return Ok(None);
        };
        if self.blob_bytes.saturating_add(size) > self.limits.maximum_embedded_bytes {
            self.pictures_left_out += 1;
            return Ok(Some(part.to_owned()));
        }
        let Some(found) = self
            .package
            .bytes(part)?
            .filter(|found| found.damage.is_none())
        else {
            return Ok(None);
        };
        Ok(Some(self.hand_over(part, found.bytes)))
    }

    /// Keeps the bytes of a part for the caller; the link to them.
    fn hand_over(&mut self, part: &str, bytes: Vec<u8>) -> String {
        let number = self.blobs.len();
        self.blob_bytes += bytes.len() as u64;
        self.blob_numbers.insert(part.to_owned(), number);
        self.blobs.push(EmbeddedFile {
            name: part.to_owned(),
            media_type: self.package.media_type(part),
            bytes,
        });
        format!("embedded:{number}")
    }
}

/// On one line, without the characters that would end it in Markdown.
fn alternative_text(text: &str) -> String {
    let words = collapsed(text);
    words
        .chars()
        .filter(|character| !matches!(character, '[' | ']' | '|' | '`') && !character.is_control())
        .take(MAXIMUM_ALT_CHARACTERS)
        .collect()
}
