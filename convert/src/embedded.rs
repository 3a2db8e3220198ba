//! Files that a document carries, within the limits of their number and size.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::document::EmbeddedFile;
use crate::limits::Limits;

/// Characters of base64 below which a picture is a spacer.
const MINIMUM_DATA_BYTES: usize = 400;

/// Collects the files of one document.
#[derive(Debug)]
pub(crate) struct Embedded {
    /// The files so far.
    pub files: Vec<EmbeddedFile>,
    maximum_files: usize,
    bytes_left: u64,
    left_out: usize,
}

impl Embedded {
    /// None yet.
    pub(crate) fn new(limits: &Limits<'_>) -> Self {
        Self {
            files: Vec::new(),
            maximum_files: limits.maximum_embedded_files,
            bytes_left: limits.maximum_embedded_bytes,
            left_out: 0,
        }
    }

    /// Adds a file; its number, or `None` where a limit leaves it out. A name without folders is
    /// made from `name`.
    pub(crate) fn add(&mut self, name: &str, media_type: &str, bytes: Vec<u8>) -> Option<usize> {
        let size = bytes.len() as u64;
        if self.files.len() >= self.maximum_files || size > self.bytes_left {
            self.left_out += 1;
            return None;
        }
        self.bytes_left -= size;
        let number = self.files.len();
        let media_type = if media_type.is_empty() || media_type == "application/octet-stream" {
            sniffed(&bytes)
        } else {
            media_type
        };
        let file = file_name(name);
        let name = if file.is_empty() {
            format!("{number}.{}", extension(media_type))
        } else {
            file
        };
        self.files.push(EmbeddedFile {
            name,
            media_type: media_type.to_owned(),
            bytes,
        });
        Some(number)
    }

    /// Takes a picture out of a `data:` address; the link to it. `None` for another kind of address,
    /// for what is no picture or cannot be decoded, and where a limit leaves it out.
    pub(crate) fn add_data_url(&mut self, link: &str, name: &str) -> Option<String> {
        let (head, data) = link.strip_prefix("data:")?.split_once(',')?;
        let media_type = head.split(';').next().unwrap_or_default();
        // A spacer of a few bytes shows nothing.
        if !head.ends_with("base64")
            || !media_type.starts_with("image/")
            || data.len() < MINIMUM_DATA_BYTES
        {
            return None;
        }
        let data: Vec<u8> = data
            .bytes()
            .filter(|byte| !byte.is_ascii_whitespace())
            .collect();
        let bytes = STANDARD.decode(data).ok()?;
        let file = if name.contains('.') { name } else { "" };
        let number = self.add(file, media_type, bytes)?;
        Some(format!("embedded:{number}"))
    }

    /// The files, with a note in the metadata of how many were left out.
    pub(crate) fn finish(self, metadata: &mut BTreeMap<String, String>) -> Vec<EmbeddedFile> {
        if self.left_out > 0 {
            metadata.insert(
                "embedded_files_left_out".to_owned(),
                self.left_out.to_string(),
            );
        }
        self.files
    }
}

/// The media type of a picture by its first bytes.
pub(crate) fn sniffed(bytes: &[u8]) -> &'static str {
    const SIGNS: [(&[u8], &str); 7] = [
        (b"\x89PNG\r\n", "image/png"),
        (b"\xFF\xD8\xFF", "image/jpeg"),
        (b"GIF8", "image/gif"),
        (b"BM", "image/bmp"),
        (b"II*\0", "image/tiff"),
        (b"MM\0*", "image/tiff"),
        (b"%PDF-", "application/pdf"),
    ];
    let webp = bytes.get(8..12) == Some(b"WEBP");
    let found = SIGNS
        .iter()
        .find(|(sign, _)| bytes.starts_with(sign))
        .map(|(_, media_type)| *media_type);
    found.unwrap_or(if webp {
        "image/webp"
    } else {
        "application/octet-stream"
    })
}

/// The name of a file without folders and control characters.
fn file_name(path: &str) -> String {
    path.rsplit(['/', '\\'])
        .next()
        .unwrap_or_default()
        .chars()
        .filter(|character| !character.is_control())
        .take(200)
        .collect()
}

/// The usual extension of a media type.
fn extension(media_type: &str) -> &str {
    match media_type {
        "image/jpeg" => "jpg",
        "image/svg+xml" => "svg",
        "text/plain" => "txt",
        other => other
            .rsplit(['/', '+', '.'])
            .next()
            .filter(|part| part.len() <= 8 && !part.contains('-'))
            .unwrap_or("bin"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_names_types_and_limits() {
        let config = crate::Config {
            maximum_embedded_bytes: 10,
            maximum_embedded_files: 2,
            ..crate::Config::default()
        };
        let mut embedded = Embedded::new(&Limits::starting_now(&config));
        assert_eq!(
            embedded.add("a/b\\c.png", "", b"\x89PNG\r\n".to_vec()),
            Some(0)
        );
        assert_eq!(
            embedded.add("", "image/jpeg", b"12345".to_vec()),
            None,
            "more bytes than are left"
        );
        assert_eq!(embedded.add("", "image/jpeg", b"1".to_vec()), Some(1));
        assert_eq!(
            embedded.add("x", "", Vec::new()),
            None,
            "more files than are allowed"
        );
        let mut metadata = BTreeMap::new();
        let files = embedded.finish(&mut metadata);
        let shown: Vec<_> = files
            .iter()
            .map(|file| (file.name.as_str(), file.media_type.as_str()))
            .collect();
        assert_eq!(shown, [("c.png", "image/png"), ("1.jpg", "image/jpeg")]);
        assert_eq!(
            metadata.get("embedded_files_left_out").map(String::as_str),
            Some("2")
        );
    }
}
