//! Pictures in the drawing records of binary Office formats ([MS-ODRAW] 2.2.23).

use super::bytes::size_at;
use super::bytes::{slice_at, u8_at, u16_at};

/// The bitmap pictures that stand in a sequence of records, as media type and content, at most
/// `maximum`.
///
/// Containers are entered, other records skipped; drawings (EMF, WMF, PICT) are left out.
pub(crate) fn bitmaps(records: &[u8], maximum: usize) -> Vec<(&'static str, &[u8])> {
    let (mut at, mut found) = (0, Vec::new());
    while found.len() < maximum
        && let Some((version, kind, length)) = header(records, at)
    {
        let content_at = at + 8;
        if let Some(media_type) = media_type(kind) {
            found.extend(
                content(records, content_at, length, version >> 4)
                    .map(|content| (media_type, content)),
            );
        }
        at = match kind {
            0xF007 => content_at + 36 + usize::from(u8_at(records, content_at + 33).unwrap_or(0)),
            _ if version & 0xF == 0xF => content_at,
            _ => content_at.saturating_add(length),
        };
    }
    found
}

/// Version and instance, type, and length of the record at `at`.
fn header(records: &[u8], at: usize) -> Option<(u16, u16, usize)> {
    Some((
        u16_at(records, at)?,
        u16_at(records, at + 2)?,
        size_at(records, at + 4)?,
    ))
}

fn media_type(kind: u16) -> Option<&'static str> {
    match kind {
        0xF01D | 0xF02A => Some("image/jpeg"),
        0xF01E => Some("image/png"),
        0xF029 => Some("image/tiff"),
        _ => None,
    }
}

/// The file behind one or two checksums and a tag.
fn content(records: &[u8], at: usize, length: usize, instance: u16) -> Option<&[u8]> {
    let before = if instance & 1 == 1 { 33 } else { 17 };
    slice_at(records, at, length)?.get(before..)
}

/// The usual extension of a picture's file.
pub(crate) fn extension(media_type: &str) -> &'static str {
    match media_type {
        "image/jpeg" => "jpg",
        "image/png" => "png",
        "image/tiff" => "tif",
        _ => "bin",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_within_containers_are_found() {
        let mut picture = vec![0x00, 0x6E, 0x1E, 0xF0, 20, 0, 0, 0];
        picture.extend([0; 17]);
        picture.extend(b"PNG");
        let mut container = vec![0x0F, 0, 4, 0xF0];
        container.extend((picture.len() as u32).to_le_bytes());
        container.extend(&picture);
        assert_eq!(bitmaps(&container, 9), [("image/png", &b"PNG"[..])]);
        assert_eq!(bitmaps(&container, 0), []);
        assert_eq!(bitmaps(&container[..20], 9), []);
    }
}
