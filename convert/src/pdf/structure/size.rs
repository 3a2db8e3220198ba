//! How many objects a file has, counted in its bytes. PDFium reads the structure tree of a page in
//! one call whose time grows with the square of the elements: what is too large is not asked for.

/// Most objects of a file whose structure is read: seconds of work if all of them are elements of
/// one page. Documents of a thousand pages have fewer.
const MAXIMUM_OBJECTS: usize = 150_000;

/// The type of a stream of packed objects.
const PACKED: &[u8] = b"/ObjStm";

/// Objects of a packed stream that does not say how many it has.
const UNSAID: usize = 10_000;

/// Bytes before and behind the type of a packed stream that are searched for its number of objects.
const DICTIONARY_BYTES: usize = 300;

/// Whether a file has few enough objects.
pub(super) fn is_bearable(bytes: &[u8]) -> bool {
    let mut objects = 0_usize;
    for (place, window) in bytes.windows(PACKED.len()).enumerate() {
        if matches!(window, [blank, b'o', b'b', b'j', ..] if blank.is_ascii_whitespace()) {
            objects += 1;
        } else if window == PACKED {
            objects = objects.saturating_add(packed(bytes, place));
        }
        if objects > MAXIMUM_OBJECTS {
            return false;
        }
    }
    true
}

/// The number of objects in the packed stream whose type stands at a place.
fn packed(bytes: &[u8], place: usize) -> usize {
    let from = place.saturating_sub(DICTIONARY_BYTES);
    let until = (place + DICTIONARY_BYTES).min(bytes.len());
    let dictionary = bytes.get(from..until).unwrap_or_default();
    let numbers = dictionary
        .windows(2)
        .enumerate()
        .filter(|(_, name)| *name == b"/N")
        .filter_map(|(at, _)| number(dictionary.get(at + 2..)?));
    numbers.max().unwrap_or(UNSAID)
}

/// The number at the start of a text, behind blanks.
fn number(text: &[u8]) -> Option<usize> {
    let digits = text.trim_ascii_start();
    let end = digits
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(digits.len());
    std::str::from_utf8(digits.get(..end)?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_and_packed_objects_count() {
        let plain = "1 0 obj\n<<>>\nendobj\n".repeat(MAXIMUM_OBJECTS);
        assert!(is_bearable(plain.as_bytes()));
        assert!(!is_bearable(format!("{plain}2 0\nobj<<>>").as_bytes()));
        assert!(is_bearable(b"<< /Type /ObjStm /N 149000 /First 10 >>"));
        assert!(!is_bearable(b"<< /N 151000 /Type /ObjStm >>"));
        let unsaid = "<< /Type /ObjStm /N(x) >>".repeat(16);
        assert!(!is_bearable(unsaid.as_bytes()));
    }
}
