//! Changes of plain bytes, and the numbers that programs get wrong.

use crate::random::Random;

/// A way to change a file.
pub type Change = (&'static str, fn(&mut Vec<u8>, &mut Random));

/// Changes that need to know nothing of the format.
pub const ANY: &[Change] = &[
    ("flip bits", flip),
    ("flip bits in one place", flip_nearby),
    ("cut the end", cut_end),
    ("cut the start", cut_start),
    ("take a span out", remove),
    ("repeat a span", repeat),
    ("move a span", shift),
    ("fill a span", fill),
    ("write a number", write_number),
    ("replace digits", replace_digits),
];

/// Numbers at the borders of types and of formats, as text.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "127",
    "255",
    "256",
    "1000",
    "16384",
    "16385",
    "32768",
    "65535",
    "65536",
    "1048576",
    "1048577",
    "16777216",
    "2147483647",
    "2147483648",
    "-2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "1e-400",
    "NaN",
    "0x7FFFFFFF",
    "99999999999999999999999999999999999999999999",
];

/// The same as 32 bits.
const WORDS: &[u32] = &[
    0,
    1,
    0x7F,
    0xFF,
    0x100,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x1_0000,
    0x00FF_FFFF,
    0x0100_0000,
    0x7FFF_FFFF,
    0x8000_0000,
    0xFFFF_FFFE,
    0xFFFF_FFFF,
];

/// A place in something of this length.
pub fn place(length: usize, random: &mut Random) -> usize {
    random.below(length.max(1) as u64) as usize
}

/// 1 to 65536, small ones as likely as large ones.
pub fn many(random: &mut Random) -> usize {
    1 << random.below(17)
}

/// One of `NUMBERS`.
pub fn number(random: &mut Random) -> &'static str {
    random.choose(NUMBERS)
}

/// One of `WORDS`.
pub fn word(random: &mut Random) -> u32 {
    random.choose(WORDS)
}

/// Where a pattern begins.
pub fn places_of(bytes: &[u8], pattern: &[u8]) -> Vec<usize> {
    bytes
        .windows(pattern.len())
        .enumerate()
        .filter(|(_, window)| *window == pattern)
        .map(|(at, _)| at)
        .collect()
}

/// Replaces bytes; places beyond the end are its end.
pub fn put(bytes: &mut Vec<u8>, from: usize, length: usize, new: &[u8]) {
    let from = from.min(bytes.len());
    let to = from.saturating_add(length).min(bytes.len());
    bytes.splice(from..to, new.iter().copied());
}

/// Writes 32 bits, little endian, where there is room.
pub fn put_word(bytes: &mut [u8], at: usize, value: u32) {
    if let Some(room) = at.checked_add(4).and_then(|end| bytes.get_mut(at..end)) {
        room.copy_from_slice(&value.to_le_bytes());
    }
}

/// One of several changes, and its name.
pub fn apply(kinds: &[Change], bytes: &mut Vec<u8>, random: &mut Random) -> &'static str {
    let (name, change) = random.choose(kinds);
    change(bytes, random);
    name
}

/// Begin and length of a part of at most `longest` bytes.
fn span(bytes: &[u8], longest: usize, random: &mut Random) -> (usize, usize) {
    let at = place(bytes.len(), random);
    (at, place(longest.min(bytes.len() - at), random))
}

fn flip(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..1 + random.below(32) {
        let (at, bit) = (place(bytes.len(), random), random.below(8));
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << bit;
        }
    }
}

fn flip_nearby(bytes: &mut Vec<u8>, random: &mut Random) {
    let (at, length) = span(bytes, 64, random);
    for byte in bytes.iter_mut().skip(at).take(length) {
        *byte ^= random.below(256) as u8;
    }
}

fn cut_end(bytes: &mut Vec<u8>, random: &mut Random) {
    bytes.truncate(place(bytes.len(), random));
}

fn cut_start(bytes: &mut Vec<u8>, random: &mut Random) {
    let length = place(bytes.len().min(4096), random);
    put(bytes, 0, length, &[]);
}

fn remove(bytes: &mut Vec<u8>, random: &mut Random) {
    let (at, length) = span(bytes, 4096, random);
    put(bytes, at, length, &[]);
}

fn repeat(bytes: &mut Vec<u8>, random: &mut Random) {
    let (at, length) = span(bytes, 256, random);
    let copies = bytes[at.min(bytes.len())..at + length].repeat(many(random).min(4096));
    put(bytes, at, 0, &copies);
}

fn shift(bytes: &mut Vec<u8>, random: &mut Random) {
    let (at, length) = span(bytes, 4096, random);
    let moved: Vec<u8> = bytes.drain(at..at + length).collect();
    let to = place(bytes.len(), random);
    put(bytes, to, 0, &moved);
}

fn fill(bytes: &mut Vec<u8>, random: &mut Random) {
    let (at, length) = span(bytes, 1024, random);
    let filling = random.choose(&[0_u8, 0xFF, b'A', b'<', b'9', 0x80]);
    put(bytes, at, length, &vec![filling; length]);
}

fn write_number(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        let at = place(bytes.len(), random);
        put_word(bytes, at, word(random));
    }
}

fn replace_digits(bytes: &mut Vec<u8>, random: &mut Random) {
    let from = place(bytes.len(), random);
    let Some(at) = bytes
        .iter()
        .skip(from)
        .position(u8::is_ascii_digit)
        .map(|at| from + at)
    else {
        return;
    };
    let length = bytes
        .iter()
        .skip(at)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    put(bytes, at, length, number(random).as_bytes());
}
