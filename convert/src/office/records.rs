//! Records of PowerPoint and of drawings: a header of 8 bytes, then content, which is records again
//! in containers ([MS-PPT] 2.3.1, [MS-ODRAW] 2.2.1).

use super::bytes::{size_at, slice_at, u16_at, u32_at};

/// A record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    /// Type, see [`kinds`].
    pub kind: u16,
    /// Which of its kind it is.
    pub instance: u16,
    pub content: &'a [u8],
}

/// Types of records.
pub(crate) mod kinds {
    pub(crate) const DOCUMENT: u16 = 0x03E8;
    pub(crate) const DOCUMENT_ATOM: u16 = 0x03E9;
    pub(crate) const SLIDE: u16 = 0x03EE;
    pub(crate) const SLIDE_ATOM: u16 = 0x03EF;
    pub(crate) const NOTES: u16 = 0x03F0;
    pub(crate) const SLIDE_PERSIST: u16 = 0x03F3;
    pub(crate) const SLIDE_SHOW_INFO: u16 = 0x03F9;
    pub(crate) const DRAWING_GROUP: u16 = 0x040B;
    pub(crate) const DRAWING: u16 = 0x040C;
    pub(crate) const PLACEHOLDER: u16 = 0x0BC3;
    pub(crate) const OUTLINE_REFERENCE: u16 = 0x0F9E;
    pub(crate) const TEXT_HEADER: u16 = 0x0F9F;
    pub(crate) const TEXT_UTF_16: u16 = 0x0FA0;
    pub(crate) const TEXT_STYLE: u16 = 0x0FA1;
    pub(crate) const TEXT_BYTES: u16 = 0x0FA8;
    pub(crate) const SLIDE_NUMBER: u16 = 0x0FD8;
    pub(crate) const SLIDE_LIST: u16 = 0x0FF0;
    pub(crate) const USER_EDIT: u16 = 0x0FF5;
    pub(crate) const DATE: u16 = 0x0FF7;
    pub(crate) const FOOTER: u16 = 0x0FFA;
    pub(crate) const PERSIST_DIRECTORY: u16 = 0x1772;
    pub(crate) const PICTURE_STORE: u16 = 0xF001;
    pub(crate) const SHAPE_GROUP: u16 = 0xF003;
    pub(crate) const SHAPE: u16 = 0xF004;
    pub(crate) const PICTURE_ENTRY: u16 = 0xF007;
    pub(crate) const SHAPE_IDENTIFIER: u16 = 0xF00A;
    pub(crate) const GROUP_FRAME: u16 = 0xF009;
    pub(crate) const PROPERTIES: u16 = 0xF00B;
    pub(crate) const TEXT_BOX: u16 = 0xF00D;
    pub(crate) const CHILD_ANCHOR: u16 = 0xF00F;
    pub(crate) const ANCHOR: u16 = 0xF010;
    pub(crate) const CLIENT_DATA: u16 = 0xF011;
    pub(crate) const MORE_PROPERTIES: u16 = 0xF122;
}

/// The record at an offset; one that is longer than what is there is cut.
pub(crate) fn record_at(bytes: &[u8], at: usize) -> Option<Record<'_>> {
    let version_and_instance = u16_at(bytes, at)?;
    let kind = u16_at(bytes, at.checked_add(2)?)?;
    let length = size_at(bytes, at.checked_add(4)?)?;
    let content_at = at.checked_add(8)?;
    let content = slice_at(bytes, content_at, length).or_else(|| bytes.get(content_at..))?;
    Some(Record {
        kind,
        instance: version_and_instance >> 4,
        content,
    })
}

/// The records that follow each other in `bytes`.
pub(crate) fn records(bytes: &[u8]) -> impl Iterator<Item = Record<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let record = record_at(bytes, at)?;
        at += 8 + record.content.len();
        Some(record)
    })
}

/// The first record of a kind among those in `bytes`.
pub(crate) fn first(bytes: &[u8], kind: u16) -> Option<Record<'_>> {
    records(bytes).find(|record| record.kind == kind)
}

/// Drawing property: number of the picture in the store.
pub(crate) const PICTURE: u16 = 0x0104;

/// A drawing property: its number, and the bytes behind the list where it has some ([MS-ODRAW]
/// 2.2.7).
pub(crate) fn property(list: Record<'_>, wanted: u16) -> Option<(u32, &[u8])> {
    let count = usize::from(list.instance);
    let mut complex_at = 6 * count;
    for index in 0..count {
        let code = u16_at(list.content, 6 * index)?;
        let value = u32_at(list.content, 6 * index + 2)?;
        let length = if code & 0x8000 == 0 {
            0
        } else {
            usize::try_from(value).ok()?
        };
        if code & 0x3FFF == wanted {
            return Some((value, slice_at(list.content, complex_at, length)?));
        }
        complex_at = complex_at.checked_add(length)?;
    }
    None
}
