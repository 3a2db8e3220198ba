//! Binary formats by their first bytes.

use super::containers::{ole_content, zip_content};
use super::{Detected, Format, SAMPLE_BYTES};

/// Magic bytes: offset, bytes, media type, name for people.
const MAGIC: &[(usize, &[u8], &str, &str)] = &[
    (0, b"\x89PNG\r\n\x1A\n", "image/png", "a PNG image"),
    (0, b"\xFF\xD8\xFF", "image/jpeg", "a JPEG image"),
    (0, b"GIF87a", "image/gif", "a GIF image"),
    (0, b"GIF89a", "image/gif", "a GIF image"),
    (8, b"WEBP", "image/webp", "a WebP image"),
    (8, b"WAVE", "audio/wav", "WAV audio"),
    (8, b"AVI ", "video/x-msvideo", "AVI video"),
    (0, b"II*\0", "image/tiff", "a TIFF image"),
    (0, b"MM\0*", "image/tiff", "a TIFF image"),
    (0, b"\x1F\x8B", "application/gzip", "a gzip archive"),
    (0, b"BZh", "application/x-bzip2", "a bzip2 archive"),
    (0, b"\xFD7zXZ\0", "application/x-xz", "an xz archive"),
    (0, b"\x28\xB5\x2F\xFD", "application/zstd", "a zstd archive"),
    (
        0,
        b"7z\xBC\xAF\x27\x1C",
        "application/x-7z-compressed",
        "a 7-Zip archive",
    ),
    (0, b"Rar!\x1A\x07", "application/vnd.rar", "a RAR archive"),
    (257, b"ustar", "application/x-tar", "a tar archive"),
    (0, b"\x7FELF", "application/x-elf", "an ELF program"),
    (
        0,
        b"\xCA\xFE\xBA\xBE",
        "application/java-vm",
        "a Java class",
    ),
    (
        0,
        b"SQLite format 3\0",
        "application/vnd.sqlite3",
        "an SQLite database",
    ),
    (
        0,
        b"PAR1",
        "application/vnd.apache.parquet",
        "a Parquet file",
    ),
    (4, b"ftyp", "video/mp4", "MP4 media"),
    (0, b"OggS", "application/ogg", "Ogg media"),
    (0, b"ID3", "audio/mpeg", "MP3 audio"),
    (0, b"fLaC", "audio/flac", "FLAC audio"),
    (0, b"\x1A\x45\xDF\xA3", "video/webm", "Matroska media"),
    (0, b"wOFF", "font/woff", "a font"),
    (0, b"wOF2", "font/woff2", "a font"),
    (0, b"%!PS", "application/postscript", "PostScript"),
];

pub(super) fn by_magic(bytes: &[u8], name: Option<&str>) -> Option<Detected> {
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        return Some(zip_content(bytes, name));
    }
    if bytes.starts_with(b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1") {
        return Some(ole_content(bytes));
    }
    // The standard allows for some bytes before it: jobs for printers have orders there.
    let is_pdf =
        bytes.starts_with(b"%PDF-") || holds_early(bytes, b"%PDF-") && !reads_as_text(bytes);
    if is_pdf {
        return Some(Detected::new(Format::Pdf, "application/pdf"));
    }
    if bytes.trim_ascii_start().starts_with(b"{\\rtf") {
        return Some(Detected::new(Format::Rtf, "application/rtf"));
    }
    let matches = |offset: usize, magic: &[u8]| {
        bytes
            .get(offset..)
            .is_some_and(|rest| rest.starts_with(magic))
    };
    let found = MAGIC.iter().find(|(offset, magic, ..)| {
        matches(*offset, magic) && !(is_printable(magic) && reads_as_text(bytes))
    });
    if let Some((_, _, media_type, name)) = found {
        let format = if media_type.starts_with("image/") {
            Format::Image
        } else {
            Format::Unsupported(name)
        };
        return Some(Detected::new(format, media_type));
    }
    let bitmap = bytes.starts_with(b"BM") && bytes.get(6..10) == Some(&[0; 4]);
    if bitmap {
        return Some(Detected::new(Format::Image, "image/bmp"));
    }
    let windows_program = bytes.starts_with(b"MZ") && bytes.iter().take(256).any(|byte| *byte == 0);
    windows_program.then(|| {
        Detected::new(
            Format::Unsupported("a Windows program"),
            "application/vnd.microsoft.portable-executable",
        )
    })
}

/// Magic bytes that may begin a sentence ("ID3 is …"); those of formats that are text themselves
/// stay decisive.
fn is_printable(magic: &[u8]) -> bool {
    const TEXT_FORMATS: [&[u8]; 1] = [b"%!PS"];
    magic.iter().all(|byte| (0x20..0x7F).contains(byte)) && !TEXT_FORMATS.contains(&magic)
}

/// UTF-8 without a control character that text does not use: no audio, archive or image is.
fn reads_as_text(bytes: &[u8]) -> bool {
    let sample = bytes.get(..SAMPLE_BYTES).unwrap_or(bytes);
    let valid = match std::str::from_utf8(sample) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    valid
        && !sample
            .iter()
            .any(|byte| *byte < 0x09 || (0x0E..0x1B).contains(byte))
}

fn holds_early(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes
        .get(..bytes.len().min(1024))
        .is_some_and(|head| head.windows(wanted.len()).any(|window| window == wanted))
}
