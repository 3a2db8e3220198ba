//! Which format a ZIP or OLE2 container holds, by the names in it.

use super::{Detected, Format, SAMPLE_BYTES};
use crate::office::open_document;

/// How the member `mimetype` of every OpenDocument file begins.
const OPEN_DOCUMENT: &[u8] = b"application/vnd.oasis.opendocument";

/// Formats inside a ZIP container, told by a name in it; EPUB is looked for before them.
pub(super) const ZIP_MEMBERS: &[(&[u8], Format, &str)] = &[
    (
        b"word/",
        Format::Docx,
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ),
    (
        b"xl/",
        Format::Spreadsheet,
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ),
    (
        b"xl\\",
        Format::Spreadsheet,
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ),
    (
        b"ppt/",
        Format::Pptx,
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ),
    (
        b"word\\",
        Format::Docx,
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ),
    (
        b"ppt\\",
        Format::Pptx,
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ),
    (
        b"application/vnd.oasis.opendocument.spreadsheet",
        Format::Spreadsheet,
        "application/vnd.oasis.opendocument.spreadsheet",
    ),
    (
        b"application/vnd.oasis.opendocument.text",
        Format::OpenDocument(open_document::Kind::Text),
        "application/vnd.oasis.opendocument.text",
    ),
    (
        b"application/vnd.oasis.opendocument.presentation",
        Format::OpenDocument(open_document::Kind::Presentation),
        "application/vnd.oasis.opendocument.presentation",
    ),
    (
        OPEN_DOCUMENT,
        Format::Unsupported("an OpenDocument drawing, chart or formula"),
        "application/vnd.oasis.opendocument",
    ),
];

/// Formats inside an OLE2 container, told by the name of a stream in it (UTF-16).
const OLE_STREAMS: &[(&str, Format, &str)] = &[
    // First: a message may hold a document as it is, its names among the message's own. Only whole
    // messages have this one.
    (
        "__nameid_version1.0",
        Format::Outlook,
        "application/vnd.ms-outlook",
    ),
    ("WordDocument", Format::Doc, "application/msword"),
    (
        "PowerPoint Document",
        Format::Ppt,
        "application/vnd.ms-powerpoint",
    ),
    ("Workbook", Format::Spreadsheet, "application/vnd.ms-excel"),
    ("Book", Format::Spreadsheet, "application/vnd.ms-excel"),
    (
        "__properties_version1.0",
        Format::Outlook,
        "application/vnd.ms-outlook",
    ),
    // An encrypted package: whichever it is, its reader says so.
    (
        "EncryptedPackage",
        Format::Docx,
        "application/x-ole-storage",
    ),
];

/// Which format a ZIP container holds, by the names in its directory; by names anywhere near its
/// ends, or by its own `name`, if the directory is damaged.
pub(super) fn zip_content(bytes: &[u8], name: Option<&str>) -> Detected {
    let names = zip_names(bytes);
    let holds = |member: &[u8]| zip_holds(bytes, &names, member);
    if holds(b"application/epub+zip") || holds(b"META-INF/container.xml") {
        return Detected::new(Format::Epub, "application/epub+zip");
    }
    // Packed again by hand, an OpenDocument file no longer begins with what it is.
    let is_packed_again = names.contains(&b"META-INF/manifest.xml".as_slice());
    let by_extension = || {
        let member = member_of_extension(name)?;
        let may_be = names.is_empty() || is_packed_again && member.starts_with(OPEN_DOCUMENT);
        let mut known = ZIP_MEMBERS.iter();
        known.find(|(known, ..)| may_be && *known == member)
    };
    match ZIP_MEMBERS
        .iter()
        .find(|(member, ..)| holds(member))
        .or_else(by_extension)
    {
        Some((_, format, media_type)) => Detected::new(*format, media_type),
        None => Detected::new(Format::Unsupported("a ZIP archive"), "application/zip"),
    }
}

/// Whether a container has a member of this name, or says at its start that it is of this type.
fn zip_holds(bytes: &[u8], names: &[&[u8]], member: &[u8]) -> bool {
    let head = bytes.get(..bytes.len().min(SAMPLE_BYTES)).unwrap_or(bytes);
    if member.starts_with(b"application/") {
        // Not a name: what the member `mimetype`, which comes first and is not packed, says.
        return head
            .windows(member.len())
            .take(256)
            .any(|window| window == member);
    }
    if !names.is_empty() {
        return names.iter().any(|name| name.starts_with(member));
    }
    let tail = bytes
        .get(bytes.len().saturating_sub(SAMPLE_BYTES)..)
        .unwrap_or(bytes);
    [head, tail]
        .iter()
        .any(|part| part.windows(member.len()).any(|window| window == member))
}

/// What a file of this name has among its members.
fn member_of_extension(name: Option<&str>) -> Option<&'static [u8]> {
    let (_, extension) = name?.rsplit_once('.')?;
    match extension.to_ascii_lowercase().as_str() {
        "docx" | "docm" | "dotx" => Some(b"word/"),
        "xlsx" | "xlsm" | "xltx" | "xlsb" => Some(b"xl/"),
        "pptx" | "pptm" | "ppsx" | "potx" => Some(b"ppt/"),
        "odt" | "ott" => Some(b"application/vnd.oasis.opendocument.text"),
        "odp" | "otp" => Some(b"application/vnd.oasis.opendocument.presentation"),
        "ods" | "ots" => Some(b"application/vnd.oasis.opendocument.spreadsheet"),
        _ => None,
    }
}

/// Names of the members, from the directory at the end; none if it is not there.
fn zip_names(bytes: &[u8]) -> Vec<&[u8]> {
    let number = |at: usize| little_endian(bytes, at, 2).unwrap_or(0);
    let mut at = directory_start(bytes);
    let mut names = Vec::new();
    while bytes
        .get(at..)
        .is_some_and(|rest| rest.starts_with(b"PK\x01\x02"))
    {
        let lengths = [28, 30, 32].map(|field| number(at + field));
        names.extend(bytes.get(at + 46..at + 46 + lengths[0]));
        at += 46 + lengths.iter().sum::<usize>();
    }
    names
}

/// Where the directory of the members begins; the end of the bytes if it is not there.
fn directory_start(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(SAMPLE_BYTES + 22);
    let end = bytes
        .get(from..)
        .and_then(|tail| tail.windows(4).rposition(|window| window == b"PK\x05\x06"));
    end.and_then(|end| little_endian(bytes, from + end + 16, 4))
        .unwrap_or(bytes.len())
}

fn little_endian(bytes: &[u8], at: usize, length: usize) -> Option<usize> {
    let digits = bytes.get(at..at.saturating_add(length))?;
    Some(
        digits
            .iter()
            .rev()
            .fold(0_usize, |value, digit| value << 8 | usize::from(*digit)),
    )
}

/// Which format an OLE2 container holds, by the names of its streams, which stand there in any
/// case.
pub(super) fn ole_content(bytes: &[u8]) -> Detected {
    let holds = |name: &str| {
        // A name in the directory begins an entry, at a multiple of its length.
        let wanted: Vec<u8> = name
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .chain([0, 0])
            .collect();
        bytes.chunks(128).any(|entry| {
            entry
                .get(..wanted.len())
                .is_some_and(|name| name.eq_ignore_ascii_case(&wanted))
        })
    };
    match OLE_STREAMS.iter().find(|(name, ..)| holds(name)) {
        Some((_, format, media_type)) => Detected::new(*format, media_type),
        None => Detected::new(
            Format::Unsupported("an OLE2 file of an unknown kind"),
            "application/x-ole-storage",
        ),
    }
}
