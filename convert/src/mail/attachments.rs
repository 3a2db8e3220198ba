//! Files that are attached to a message: they are kept and listed, those for readers are read, and
//! their Markdown becomes sections of the message's.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use tributary_schemas::{ErrorKind, ImageLink, Result};

use super::mime::{Content, Part};
use super::{MAXIMUM_VALUE, Writer, calendar, picture_id};
use crate::document::{Converted, EmbeddedFile, Job};
use crate::embedded::{Embedded, sniffed};
use crate::escape::escaped;
use crate::limits::Limits;
use crate::lines::{LineKind, classified};
use crate::pages;
use crate::titles::one_line;

/// Reads an attached file of any format.
pub(crate) type ReadFile<'r> = dyn Fn(Job<'_>, &Limits<'_>) -> Result<Converted> + 'r;

/// Metadata: which attachments are not part of the text, and why.
const NOT_READ: &str = "attachments_not_read";
/// Metadata of a message: how many attached files are part of its text. Such messages say little
/// about each other: what two of them share may be a file alone.
pub const READ: &str = "attachments_read";
/// What programs attach for other programs: signatures, and what a saved page is made of.
const FOR_PROGRAMS: &[&str] = &[
    "application/javascript",
    "application/pgp-encrypted",
    "application/pgp-keys",
    "application/pgp-signature",
    "application/pkcs7-signature",
    "application/x-javascript",
    "application/x-pkcs7-signature",
    "text/css",
    "text/javascript",
    "text/rfc822-headers",
];
/// Attachments that are named with a reason; the others are counted.
const MOST_NAMED: usize = 12;
/// Deepest heading of Markdown.
const DEEPEST: usize = 6;

impl Writer<'_> {
    /// Keeps and lists an attached file; its number, where there is room for it.
    pub(super) fn keep(&mut self, part: &Part) -> Option<usize> {
        let (Content::Message(_, bytes) | Content::Bytes(bytes)) = &part.content else {
            return None;
        };
        let is_shown = self.is_shown(part);
        if is_shown && (part.name.is_empty() || !part.is_attachment) {
            // It is a picture of the text.
            return None;
        }
        self.listed.push(attachment_item(part, bytes.len()));
        if is_shown || bytes.is_empty() {
            return None;
        }
        let bytes = bytes.clone();
        self.embedded.add(&part.name, &part.media_type, bytes)
    }

    /// An attached picture: it is read with those of the text, below the place where it is shown.
    pub(super) fn picture(&mut self, part: &Part, number: Option<usize>) {
        let is_wanted = is_picture(part) && self.is_wanted(part);
        let Some(number) = number.filter(|_| is_wanted) else {
            return;
        };
        let alt = one_line(&part.name, MAXIMUM_VALUE);
        self.push(&format!(
            "![{}](image:{})",
            escaped(&alt),
            self.images.len()
        ));
        self.images.push(ImageLink {
            link: format!("embedded:{number}"),
            alt,
        });
    }

    /// The text of an attached file as a section. What cannot be read is said in the metadata.
    pub(super) fn file(&mut self, part: &Part, depth: usize) -> Result<()> {
        let Content::Bytes(bytes) = &part.content else {
            return Ok(());
        };
        let title = one_line(&part.name, MAXIMUM_VALUE);
        let name = match title.is_empty() {
            true => format!("({})", part.media_type),
            false => title.clone(),
        };
        if self.limits.attachments > 0 && is_calendar(part) {
            match calendar::read(&part.text(bytes), &|text| escaped(text)) {
                Some(calendar) => self.section(&title, calendar, depth),
                None => self
                    .not_read
                    .push(format!("{name}: a calendar without appointments")),
            }
            return Ok(());
        }
        if is_picture(part) || !self.is_wanted(part) {
            return Ok(());
        }
        if bytes.is_empty() || is_envelope(part) {
            let why = match bytes.is_empty() {
                true => "it is empty",
                false => "a signed message (S/MIME) that is not unpacked",
            };
            self.not_read.push(format!("{name}: {why}"));
            return Ok(());
        }
        self.files += 1;
        if let Some(watch) = self.limits.watch {
            if watch.left_out.contains(&self.files) {
                self.not_read
                    .push(format!("{name}: its converter did not survive it"));
                return Ok(());
            }
            (watch.begins)(self.files)?;
        }
        let written = self.markdown.len() as u64;
        let left = self.limits.maximum_markdown_bytes.saturating_sub(written);
        let limits = self.limits.of_attachment(left);
        let job = Job {
            bytes,
            name: Some(part.name.as_str()).filter(|name| !name.is_empty()),
            media_type: Some(&part.media_type),
        };
        let read = (self.read)(job, &limits);
        let read = read.and_then(|file| limits.check_markdown(&file.markdown).map(|()| file));
        match read {
            Ok(file) => self.section(&title, file, depth),
            Err(error) if error.kind() == ErrorKind::Unavailable => return Err(error),
            Err(error) => {
                self.limits.check_time()?;
                self.not_read.push(format!("{name}: {error}"));
            }
        }
        Ok(())
    }

    /// Whether a part is the picture that the body may show by its id.
    fn is_shown(&self, part: &Part) -> bool {
        let link = self.pictures.get(picture_id(part));
        let number = link.and_then(|link| link.strip_prefix("embedded:")?.parse::<usize>().ok());
        let file = number.and_then(|number| self.embedded.files.get(number));
        let Content::Bytes(bytes) = &part.content else {
            return false;
        };
        file.is_some_and(|file| file.bytes == *bytes)
    }

    /// Whether a file is read that the text does not show already.
    fn is_wanted(&self, part: &Part) -> bool {
        let is_shown = self.is_shown(part);
        self.limits.attachments > 0 && !is_shown && is_for_readers(part)
    }

    /// Writes a file below its name, or below its own title where it has none.
    fn section(&mut self, name: &str, file: Converted, depth: usize) {
        let mut hasher = DefaultHasher::new();
        file.markdown.hash(&mut hasher);
        if file.markdown.trim().is_empty() || !self.read_texts.insert(hasher.finish()) {
            return;
        }
        let below = file.metadata.get(NOT_READ);
        self.not_read
            .extend(below.map(|below| format!("in {name}: {below}")));
        let level = (depth + 2).min(6);
        let title = file.title.clone().filter(|_| name.is_empty());
        let title = title.unwrap_or_else(|| name.to_owned());
        let (images, embedded) = (&mut self.images, &mut self.embedded);
        let text = as_section(file, level, images, embedded);
        if !title.is_empty() {
            self.push(&format!("{} {}", "#".repeat(level), escaped(&title)));
        }
        self.push(&text);
    }
}

/// An attachment in the list of them: its name, kind and size.
fn attachment_item(part: &Part, size: usize) -> String {
    let name = if part.name.is_empty() {
        "…"
    } else {
        &part.name
    };
    let size = if size == 0 {
        String::new()
    } else {
        format!(", {size} bytes")
    };
    format!(
        "- {} ({}{size})",
        escaped(&one_line(name, MAXIMUM_VALUE)),
        part.media_type
    )
}

/// Says in the metadata which attachments were not read.
pub(crate) fn note_unread(metadata: &mut BTreeMap<String, String>, reasons: &[String]) {
    let Some((named, rest)) = reasons.split_at_checked(reasons.len().min(MOST_NAMED)) else {
        return;
    };
    let mut note = named.join("; ");
    if !rest.is_empty() {
        note.push_str(&format!("; and {} more", rest.len()));
    }
    if !note.is_empty() {
        metadata.insert(NOT_READ.to_owned(), note);
    }
}

/// Whether a part is a calendar, which readers want wherever it stands.
fn is_calendar(part: &Part) -> bool {
    let is_named = part.name.to_lowercase().ends_with(".ics");
    is_named
        || matches!(
            part.media_type.as_str(),
            "text/calendar" | "application/ics"
        )
}

/// Whether a part is a picture, by its bytes too: senders call things what they are not.
fn is_picture(part: &Part) -> bool {
    let Content::Bytes(bytes) = &part.content else {
        return false;
    };
    let is_drawing = part.media_type == "image/svg+xml";
    let is_called = part.media_type.starts_with("image/");
    is_called && (is_drawing || sniffed(bytes).starts_with("image/"))
}

/// Whether a part is a signed message in an envelope that is not opened.
fn is_envelope(part: &Part) -> bool {
    part.media_type.ends_with("pkcs7-mime")
}

/// Whether a part is a file that somebody attached for somebody to read. What a page or a body is
/// made of has an id or an address instead.
fn is_for_readers(part: &Part) -> bool {
    let is_file = part.is_attachment || !part.name.is_empty();
    let is_of_page = part.header("content-location").trim().is_empty();
    let media_type = part.media_type.as_str();
    is_file
        && is_of_page
        && !FOR_PROGRAMS.contains(&media_type)
        && !media_type.starts_with("message/")
}

/// Markdown of a file as a section of the message's: its highest headings one below `level`, its
/// images, whose files are taken over, after those that are there.
fn as_section(
    file: Converted,
    level: usize,
    images: &mut Vec<ImageLink>,
    embedded: &mut Embedded,
) -> String {
    let (markdown, _) = pages::take_out(&pages::mark(&file.markdown));
    let numbers = taken_over(file.images, file.blobs, images, embedded);
    let lines = classified(&markdown);
    let levels = lines.iter().filter_map(|(_, kind)| match kind {
        LineKind::Heading(level) => Some(*level),
        _ => None,
    });
    let highest = levels.min().unwrap_or(1);
    let mut section = String::with_capacity(markdown.len());
    for (line, kind) in lines {
        match kind {
            LineKind::Heading(own) if line.starts_with('#') => {
                let depth = (level + 1 + own - highest).min(DEEPEST);
                section.push_str(&"#".repeat(depth));
                section.push_str(&renumbered(line.trim_start_matches('#'), &numbers));
            }
            LineKind::Other => section.push_str(line),
            _ => section.push_str(&renumbered(line, &numbers)),
        }
    }
    section
}

/// Adds the images of a file with what they show; the new number of each, `None` where a limit
/// leaves out what it shows.
fn taken_over(
    from: Vec<ImageLink>,
    files: Vec<EmbeddedFile>,
    images: &mut Vec<ImageLink>,
    embedded: &mut Embedded,
) -> Vec<Option<usize>> {
    let mut files: Vec<_> = files.into_iter().map(Some).collect();
    let mut links: HashMap<String, Option<String>> = HashMap::new();
    let mut take = |image: ImageLink| {
        let number = image.link.strip_prefix("embedded:");
        let file = number.and_then(|number| files.get_mut(number.parse::<usize>().ok()?)?.take());
        if let Some(file) = file {
            let number = embedded.add(&file.name, &file.media_type, file.bytes);
            let link = number.map(|number| format!("embedded:{number}"));
            links.insert(image.link.clone(), link);
        }
        let link = match links.get(&image.link) {
            Some(link) => link.clone()?,
            None => image.link,
        };
        images.push(ImageLink { link, ..image });
        Some(images.len() - 1)
    };
    from.into_iter().map(&mut take).collect()
}

/// A line with its images by their new numbers, and the words of those that have none.
fn renumbered(line: &str, numbers: &[Option<usize>]) -> String {
    const MARK: &str = "](image:";
    let mut parts = line.split(MARK);
    let mut result = String::with_capacity(line.len());
    let mut text = parts.next().unwrap_or_default();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = part.split_at(digits);
        let known = number.parse().ok().and_then(|at: usize| numbers.get(at));
        let words = text.rsplit_once("![").filter(|_| !number.is_empty());
        text = match (known, words) {
            (Some(Some(number)), _) => {
                result.push_str(&format!("{text}{MARK}{number}"));
                rest
            }
            // A number that is none of the file's would be that of another picture.
            (_, Some((before, words))) => {
                result.extend([before, words]);
                rest.strip_prefix(')').unwrap_or(rest)
            }
            _ => {
                result.extend([text, MARK, number]);
                rest
            }
        };
    }
    result.push_str(text);
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    #[test]
    fn a_file_is_a_section_below_the_message() {
        let image = |link: &str| ImageLink {
            link: link.to_owned(),
            alt: String::new(),
        };
        let blob = |bytes: &[u8]| EmbeddedFile {
            name: "a.png".to_owned(),
            media_type: "image/png".to_owned(),
            bytes: bytes.to_vec(),
        };
        let file = Converted {
            markdown: "## One\n\n![a](image:0) ![b](image:1) ![](image:2)\n\u{c}###### Six\n\n```\n# no ](image:0)\n```\n"
                .to_owned(),
            images: vec![image("embedded:0"), image("embedded:1"), image("embedded:0")],
            blobs: vec![blob(b"1"), blob(b"too large")],
            ..Converted::default()
        };
        let config = Config {
            maximum_embedded_bytes: 3,
            ..Config::default()
        };
        let mut images = vec![image("embedded:0")];
        let mut embedded = Embedded::new(&Limits::starting_now(&config));
        embedded.add("before.png", "image/png", b"0".to_vec());
        let section = as_section(file, 2, &mut images, &mut embedded);
        assert_eq!(
            section,
            "### One\n\n![a](image:1) b ![](image:2)\n\n###### Six\n\n```\n# no ](image:0)\n```\n"
        );
        let links: Vec<&str> = images.iter().map(|image| image.link.as_str()).collect();
        assert_eq!(links, ["embedded:0", "embedded:1", "embedded:1"]);
        assert_eq!(embedded.files.len(), 2);
    }
}
