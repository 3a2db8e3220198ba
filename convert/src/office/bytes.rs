//! Little-endian numbers and text at offsets of a byte slice, `None` beyond its end.

/// The byte at `at`.
pub(crate) fn u8_at(bytes: &[u8], at: usize) -> Option<u8> {
    bytes.get(at).copied()
}

/// The 16-bit number at `at`.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes
        .get(at..at.checked_add(2)?)?
        .first_chunk()
        .map(|pair| u16::from_le_bytes(*pair))
}

/// The 32-bit number at `at`.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes
        .get(at..at.checked_add(4)?)?
        .first_chunk()
        .map(|four| u32::from_le_bytes(*four))
}

/// The 32-bit number at `at`, as an offset or a length.
pub(crate) fn size_at(bytes: &[u8], at: usize) -> Option<usize> {
    u32_at(bytes, at).and_then(|number| usize::try_from(number).ok())
}

/// `length` bytes from `at`.
pub(crate) fn slice_at(bytes: &[u8], at: usize, length: usize) -> Option<&[u8]> {
    bytes.get(at..at.checked_add(length)?)
}

/// UTF-16 code units; an odd last byte is ignored.
pub(crate) fn utf_16(bytes: &[u8]) -> String {
    let (pairs, _) = bytes.as_chunks::<2>();
    char::decode_utf16(pairs.iter().map(|pair| u16::from_le_bytes(*pair)))
        .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}
