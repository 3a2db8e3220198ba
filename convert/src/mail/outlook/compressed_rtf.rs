//! RTF as Outlook packs it ([MS-OXRTFCP]): runs of bytes, and references to the last 4096 bytes,
//! which begin with words that RTF often has.

use crate::office::bytes::{slice_at, u32_at};

/// Bytes that can be referred to.
const WINDOW: usize = 4096;
/// Bytes before the content: two sizes, the kind and a checksum.
const HEADER: usize = 16;
/// Kinds of content.
const PACKED: u32 = 0x7546_5A4C;
const PLAIN: u32 = 0x414C_454D;
/// What the window begins with.
const BEGINNING: &[u8] = b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx";

/// The RTF, as far as it can be unpacked; `None` if it is of no known kind or empty. A packed byte
/// becomes nine at most.
pub(super) fn unpack(bytes: &[u8]) -> Option<Vec<u8>> {
    let size = usize::try_from(u32_at(bytes, 4)?).ok()?;
    let content = bytes.get(HEADER..)?;
    let unpacked = match u32_at(bytes, 8)? {
        PLAIN => content.get(..size.min(content.len()))?.to_vec(),
        PACKED => unpacked(content, size),
        _ => return None,
    };
    Some(unpacked).filter(|unpacked| !unpacked.is_empty())
}

fn unpacked(mut rest: &[u8], size: usize) -> Vec<u8> {
    let mut content = BEGINNING.to_vec();
    let end = size.saturating_add(BEGINNING.len());
    while content.len() < end
        && let Some((control, after)) = rest.split_first()
    {
        rest = after;
        for bit in 0..8 {
            if content.len() >= end {
                break;
            }
            if control >> bit & 1 == 0 {
                let Some((byte, after)) = rest.split_first() else {
                    break;
                };
                content.push(*byte);
                rest = after;
                continue;
            }
            let Some(&[high, low]) = slice_at(rest, 0, 2) else {
                break;
            };
            rest = rest.get(2..).unwrap_or_default();
            let place = usize::from(high) << 4 | usize::from(low) >> 4;
            // The place in the window where the next byte would go marks the end.
            let back = (content.len() + WINDOW - place) % WINDOW;
            if back == 0 || back > content.len() {
                content.drain(..BEGINNING.len());
                return content;
            }
            for _ in 0..usize::from(low & 0xF) + 2 {
                let Some(byte) = content.get(content.len() - back).copied() else {
                    break;
                };
                content.push(byte);
            }
        }
    }
    content.truncate(end);
    content.drain(..BEGINNING.len());
    content
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn packed(kind: u32, size: u32, content: &[u8]) -> Vec<u8> {
        [
            &[0; 4][..],
            &size.to_le_bytes(),
            &kind.to_le_bytes(),
            &[0; 4],
            content,
        ]
        .concat()
    }

    #[test]
    fn runs_and_references_are_unpacked() {
        // The example of the specification: references to the beginning, and a mark of the end.
        let example = b"\x03\0\x0A\0rcpg125B2\x0A\xF3 hel\x09\0 bw\x05\xB0ld}\x0A\x80\x0F\xA0";
        assert_eq!(
            unpack(&packed(PACKED, 43, example)).unwrap(),
            b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"
        );
        // Six bytes from the beginning of the window, a byte, then a reference that overlaps
        // itself.
        let at = BEGINNING.len() + 6;
        let reference = [(at >> 4) as u8, ((at & 0xF) << 4) as u8 | 5];
        let content = [&[0b0000_0101, 0x00, 0x04, b'a'][..], &reference].concat();
        assert_eq!(
            unpack(&packed(PACKED, 14, &content)).unwrap(),
            b"{\\rtf1aaaaaaaa"
        );
        assert_eq!(unpack(&packed(PLAIN, 3, b"{\\rtf1}")).unwrap(), b"{\\r");
    }

    #[test]
    fn damage_does_no_harm() {
        assert!(unpack(b"").is_none());
        assert!(unpack(&packed(7, 3, b"abc")).is_none());
        assert!(
            unpack(&packed(PACKED, u32::MAX, &[0xFF; 64]))
                .is_none_or(|content| content.len() <= 64 * 9)
        );
    }
}
