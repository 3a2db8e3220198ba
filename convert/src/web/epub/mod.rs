//! EPUB 2 and 3: the chapters in the order of the spine through the HTML converter, with the titles
//! of the table of contents where a chapter has no heading of its own; metadata of the package;
//! pictures as files of the document.

mod contents;
mod package;

use std::collections::HashMap;

use tributary_schemas::{Error, ErrorKind, ImageLink, Result};

use self::package::{Item, Package, resolve};
use crate::archive::{Archive, encrypted};
use crate::document::Converted;
use crate::embedded::Embedded;
use crate::escape;
use crate::limits::Limits;
use crate::web::html;

/// Name and version; the version grows with every change of the output.
pub(crate) const NAME: &str = "epub/4";

/// Where every book says which file is its package.
const CONTAINER: &str = "META-INF/container.xml";

/// Share of the chapters that must be readable; with fewer the book is refused.
const MINIMUM_READABLE_SHARE: f64 = 0.5;

/// Converts a book. `Corrupt` if the container, the package or most chapters cannot be read,
/// `Unsupported` if it is encrypted.
pub(crate) fn convert(bytes: &[u8], limits: &Limits) -> Result<Converted> {
    let mut archive = Archive::open(bytes, limits)?;
    let package = Package::read(&mut archive, CONTAINER)?;
    if is_protected(&mut archive, &package)? {
        return Err(encrypted());
    }
    let titles = contents::titles(&mut archive, &package, limits);
    let mut book = Book {
        archive,
        package: &package,
        limits,
        images: Vec::new(),
        embedded: Embedded::new(limits),
        pictures: HashMap::new(),
    };
    let mut markdown = String::new();
    let mut lost = Vec::new();
    for item in package.chapters() {
        limits.check_time()?;
        match book.chapter(item)? {
            Some(chapter) => push_chapter(
                &mut markdown,
                titles.get(&item.path).map(String::as_str),
                &chapter,
            ),
            None => lost.push(item.path.clone()),
        }
    }
    let mut metadata = package.metadata.clone();
    note_lost(&lost, package.chapters().count(), &mut metadata)?;
    let title = metadata.get("title").cloned();
    let blobs = book.embedded.finish(&mut metadata);
    Ok(Converted {
        markdown,
        title,
        converter: NAME.into(),
        metadata,
        images: book.images,
        blobs,
        ..Converted::default()
    })
}

/// Chapters that cannot be read: a note if they are few, `Corrupt` if they are most.
fn note_lost(
    lost: &[String],
    chapters: usize,
    metadata: &mut std::collections::BTreeMap<String, String>,
) -> Result<()> {
    let readable = chapters.saturating_sub(lost.len());
    if readable == 0 || (readable as f64) < chapters as f64 * MINIMUM_READABLE_SHARE {
        let message = format!("the book lacks {} of {chapters} chapters", lost.len());
        return Err(Error::new(ErrorKind::Corrupt, message)
            .with_hint("the file is damaged or ends early; fetch it again"));
    }
    if !lost.is_empty() {
        let names: Vec<&str> = lost.iter().take(10).map(String::as_str).collect();
        metadata.insert(
            "damaged".to_owned(),
            format!(
                "{} of {chapters} chapters cannot be read: {}",
                lost.len(),
                names.join(", ")
            ),
        );
    }
    Ok(())
}

/// Fonts may be obfuscated; a chapter that is encrypted makes the book unreadable.
fn is_protected(archive: &mut Archive, package: &Package) -> Result<bool> {
    let rights = archive.read("META-INF/encryption.xml")?.unwrap_or_default();
    let text = String::from_utf8_lossy(&rights);
    Ok(package
        .chapters()
        .any(|chapter| text.contains(&format!("\"{}\"", chapter.path))))
}

struct Book<'a> {
    archive: Archive<'a>,
    package: &'a Package,
    limits: &'a Limits<'a>,
    images: Vec<ImageLink>,
    embedded: Embedded,
    /// Links of pictures by path, `None` for those left out.
    pictures: HashMap<String, Option<String>>,
}

impl Book<'_> {
    /// The Markdown of a chapter; `None` if its file is missing or damaged.
    fn chapter(&mut self, item: &Item) -> Result<Option<String>> {
        let page = match self.archive.read(&item.path) {
            Ok(Some(page)) => page,
            Ok(None) => return Ok(None),
            Err(error) if error.kind() == ErrorKind::Corrupt => return Ok(None),
            Err(error) => return Err(error),
        };
        let before = self.images.len();
        let part = html::Part {
            bytes: &page,
            is_xml: true,
        };
        let markdown =
            html::convert_part(&part, self.limits, &mut self.images, &mut self.embedded)?;
        self.embed_pictures(item, before)?;
        Ok(Some(markdown))
    }

    /// Hands over the pictures that a chapter added to the list, from number `first` on.
    fn embed_pictures(&mut self, item: &Item, first: usize) -> Result<()> {
        for index in first..self.images.len() {
            let link = self
                .images
                .get(index)
                .map(|image| image.link.clone())
                .unwrap_or_default();
            if let (Some(embedded), Some(image)) =
                (self.picture(&item.path, &link)?, self.images.get_mut(index))
            {
                image.link = embedded;
            }
        }
        Ok(())
    }

    /// The link of a picture that the book holds; each is taken once.
    fn picture(&mut self, chapter: &str, link: &str) -> Result<Option<String>> {
        if link.contains("://") || link.starts_with("embedded:") {
            return Ok(None);
        }
        let path = resolve(chapter, link);
        if let Some(known) = self.pictures.get(&path) {
            return Ok(known.clone());
        }
        let bytes = match self.archive.read(&path) {
            Err(error) if error.kind() == ErrorKind::Corrupt => None,
            other => other?,
        };
        let media_type = self.package.media_type(&path);
        let added = bytes
            .and_then(|bytes| self.embedded.add(&path, media_type, bytes))
            .map(|number| format!("embedded:{number}"));
        self.pictures.insert(path, added.clone());
        Ok(added)
    }
}

/// Adds a chapter, under its title in the table of contents if it does not begin with a heading.
fn push_chapter(markdown: &mut String, title: Option<&str>, chapter: &str) {
    let chapter = chapter.trim();
    if chapter.is_empty() {
        return;
    }
    let has_heading = chapter.lines().take(12).any(|line| line.starts_with('#'));
    if let Some(title) = title.filter(|title| !has_heading && !title.is_empty()) {
        markdown.push_str(&format!("# {}\n\n", escape::escaped(title)));
    }
    markdown.push_str(chapter);
    markdown.push_str("\n\n");
}

#[cfg(test)]
mod tests;
