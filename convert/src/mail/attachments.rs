//! The text of files that are attached to a message: which are read, and how their Markdown becomes
//! a section of the message's.

use std::collections::{BTreeMap, HashMap};

use tributary_schemas::{ImageLink, Result};

use super::mime::Part;
use crate::document::{Converted, EmbeddedFile, Job};
use crate::embedded::Embedded;
use crate::limits::Limits;
use crate::lines::{LineKind, classified};

/// Reads an attached file of any format.
pub(crate) type ReadFile<'r> = dyn Fn(Job<'_>, &Limits<'_>) -> Result<Converted> + 'r;

/// Metadata: which attachments are not part of the text, and why.
const NOT_READ: &str = "attachments_not_read";
/// What programs attach for other programs: signatures, appointments, cards, reports of delivery,
/// and what a saved page is made of.
const FOR_PROGRAMS: &[&str] = &[
    "application/ics",
    "application/javascript",
    "application/pgp-encrypted",
    "application/pgp-keys",
    "application/pgp-signature",
    "application/pkcs7-signature",
    "application/x-javascript",
    "application/x-pkcs7-signature",
    "text/calendar",
    "text/css",
    "text/directory",
    "text/javascript",
    "text/rfc822-headers",
    "text/vcard",
    "text/x-vcard",
];
/// Deepest heading of Markdown.
const DEEPEST: usize = 6;

/// Says in the metadata which attachments were not read.
pub(crate) fn note_unread(metadata: &mut BTreeMap<String, String>, reasons: &[String]) {
    if !reasons.is_empty() {
        metadata.insert(NOT_READ.to_owned(), reasons.join("; "));
    }
}

/// Whether a part is a file that somebody attached for somebody to read. What a page or a body is
/// made of has an id or an address instead.
pub(super) fn is_for_readers(part: &Part) -> bool {
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
pub(super) fn as_section(
    file: Converted,
    level: usize,
    images: &mut Vec<ImageLink>,
    embedded: &mut Embedded,
) -> String {
    let markdown = file.markdown.replace('\u{c}', "\n\n");
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
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = part.split_at(digits);
        let known = number.parse().ok().and_then(|at: usize| numbers.get(at));
        match (known, result.rfind("![")) {
            (Some(Some(number)), _) => result.push_str(&format!("{MARK}{number}{rest}")),
            (Some(None), Some(start)) => {
                result.replace_range(start..start + 2, "");
                result.push_str(rest.strip_prefix(')').unwrap_or(rest));
            }
            _ => result.push_str(&format!("{MARK}{part}")),
        }
    }
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
            "### One\n\n![a](image:1) b ![](image:2)\n\n\n###### Six\n\n```\n# no ](image:0)\n```\n"
        );
        let links: Vec<&str> = images.iter().map(|image| image.link.as_str()).collect();
        assert_eq!(links, ["embedded:0", "embedded:1", "embedded:1"]);
        assert_eq!(embedded.files.len(), 2);
    }
}
