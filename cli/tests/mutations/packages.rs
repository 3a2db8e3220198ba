//! ZIP packages that say one thing and hold another: parts are changed and packed again, and the
//! directory lies.

use std::io::{Cursor, Read, Write};
use std::sync::OnceLock;

use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use crate::markup::MARKUP;
use crate::pieces::{ANY, apply, many, place, put_word, word};
use crate::random::Random;

/// Unpacked bytes of the part that packs a thousandfold.
const BOMB_BYTES: usize = 96 << 20;

const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// What a header says of a part.
#[derive(Clone, Copy)]
struct Claims {
    method: u16,
    flags: u16,
    crc: u32,
    packed: u32,
    size: u32,
}

/// A part as it is written.
#[derive(Clone)]
struct Part {
    name: Vec<u8>,
    packed: Vec<u8>,
    /// What the header before the part says, and what the directory says.
    claims: [Claims; 2],
}

impl Part {
    fn new(name: &[u8], content: Vec<u8>) -> Self {
        let length = content.len() as u32;
        let claims = Claims {
            method: STORED,
            flags: 0,
            crc: crc32fast::hash(&content),
            packed: length,
            size: length,
        };
        Self {
            name: name.to_vec(),
            packed: content,
            claims: [claims; 2],
        }
    }
}

type Trick = (&'static str, fn(&mut Vec<Part>, &mut Random));

const TRICKS: &[Trick] = &[
    ("a wrong checksum", wrong_checksum),
    ("a wrong size", wrong_size),
    ("a huge size", huge_size),
    ("another method", another_method),
    ("an encrypted part", encrypted),
    ("a name twice", name_twice),
    ("renamed parts", renamed),
    ("a part left out", left_out),
    ("an empty part", empty),
    ("contents exchanged", exchanged),
    ("a part that unpacks to much", bomb),
    ("the package in itself", nested),
    ("many parts", many_parts),
];

/// A package of stored parts, for the documents that tests make.
pub fn package(parts: &[(&str, &str)]) -> Vec<u8> {
    let parts: Vec<Part> = parts
        .iter()
        .map(|(name, text)| Part::new(name.as_bytes(), text.as_bytes().to_vec()))
        .collect();
    written(&parts)
}

/// Changes a package; what is none is changed as bytes.
pub fn mutate(bytes: &mut Vec<u8>, random: &mut Random) -> String {
    let Some(mut parts) = read(bytes) else {
        return apply(ANY, bytes, random).to_owned();
    };
    let mut what = if random.below(3) == 0 {
        let (name, trick) = random.choose(TRICKS);
        trick(&mut parts, random);
        name.to_owned()
    } else {
        mutate_part(&mut parts, random)
    };
    *bytes = written(&parts);
    if random.below(16) == 0 {
        what.push_str(", a directory that lies");
        lie(bytes, random);
    }
    what
}

/// The parts; `None` if there are none.
fn read(bytes: &[u8]) -> Option<Vec<Part>> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).ok()?;
    let mut parts = Vec::new();
    for index in 0..archive.len() {
        let Ok(part) = archive.by_index(index) else {
            continue;
        };
        let (name, mut content) = (part.name_raw().to_vec(), Vec::new());
        if part.take(16 << 20).read_to_end(&mut content).is_ok() {
            parts.push(Part::new(&name, content));
        }
    }
    (!parts.is_empty()).then_some(parts)
}

fn mutate_part(parts: &mut [Part], random: &mut Random) -> String {
    let is_markup = |part: &Part| part.packed.trim_ascii_start().starts_with(b"<");
    let markup: Vec<usize> = (0..parts.len())
        .filter(|index| parts.get(*index).is_some_and(is_markup))
        .collect();
    let takes_markup = !markup.is_empty() && random.below(8) > 0;
    let index = if takes_markup {
        random.choose(&markup)
    } else {
        place(parts.len(), random)
    };
    let part = &mut parts[index];
    let kinds = if takes_markup && random.below(8) > 0 {
        MARKUP
    } else {
        ANY
    };
    let what = apply(kinds, &mut part.packed, random);
    *part = Part::new(&part.name, std::mem::take(&mut part.packed));
    format!("{what} in {}", String::from_utf8_lossy(&part.name))
}

fn written(parts: &[Part]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut directory = Vec::new();
    for part in parts {
        let offset = bytes.len() as u32;
        bytes.extend(b"PK\x03\x04\x14\0");
        header(&mut bytes, part.claims[0], &part.name);
        bytes.extend(&part.name);
        bytes.extend(&part.packed);
        directory.extend(b"PK\x01\x02\x14\0\x14\0");
        header(&mut directory, part.claims[1], &part.name);
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(&part.name);
    }
    let (start, count) = (bytes.len() as u32, (parts.len() as u16).to_le_bytes());
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([count, count].concat());
    bytes.extend((directory.len() as u32).to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}

/// Flags to the length of the extra field, which both headers have alike.
fn header(to: &mut Vec<u8>, claims: Claims, name: &[u8]) {
    to.extend(claims.flags.to_le_bytes());
    to.extend(claims.method.to_le_bytes());
    to.extend([0, 0, 0x21, 0x5A]);
    for number in [claims.crc, claims.packed, claims.size] {
        to.extend(number.to_le_bytes());
    }
    to.extend((name.len() as u16).to_le_bytes());
    to.extend([0; 2]);
}

/// Changes a number of the directory or of its end.
fn lie(bytes: &mut [u8], random: &mut Random) {
    let end = bytes.len().saturating_sub(22);
    let start = bytes
        .get(end + 16..end + 20)
        .and_then(|field| field.try_into().ok())
        .map_or(0, u32::from_le_bytes) as usize;
    let at = start + place(bytes.len().saturating_sub(start), random);
    put_word(bytes, at, word(random));
}

fn any<'a>(parts: &'a mut [Part], random: &mut Random) -> &'a mut Part {
    let index = place(parts.len(), random);
    &mut parts[index]
}

/// Changes what one header says, or both.
fn claim(parts: &mut [Part], random: &mut Random, change: impl Fn(&mut Claims)) {
    let which = random.below(3);
    let part = any(parts, random);
    part.claims
        .iter_mut()
        .enumerate()
        .filter(|(index, _)| *index as u64 != which)
        .for_each(|(_, claims)| change(claims));
}

fn wrong_checksum(parts: &mut Vec<Part>, random: &mut Random) {
    claim(parts, random, |claims| claims.crc ^= 1);
}

fn wrong_size(parts: &mut Vec<Part>, random: &mut Random) {
    let (packed, size) = (word(random), word(random));
    claim(parts, random, |claims| {
        (claims.packed, claims.size) = (packed, size)
    });
}

fn huge_size(parts: &mut Vec<Part>, random: &mut Random) {
    claim(parts, random, |claims| claims.size = 0xFFFF_FFFE);
}

fn another_method(parts: &mut Vec<Part>, random: &mut Random) {
    let method = random.choose(&[DEFLATED, 1, 9, 12, 14, 93, 99, 0xFFFF]);
    claim(parts, random, |claims| claims.method = method);
}

fn encrypted(parts: &mut Vec<Part>, random: &mut Random) {
    let flags = random.choose(&[1, 8, 0x41, 0x800, 0xFFFF]);
    claim(parts, random, |claims| claims.flags = flags);
}

fn name_twice(parts: &mut Vec<Part>, random: &mut Random) {
    let (name, content) = (
        any(parts, random).name.clone(),
        any(parts, random).packed.clone(),
    );
    let at = place(parts.len(), random);
    parts.insert(at, Part::new(&name, content));
}

fn renamed(parts: &mut Vec<Part>, random: &mut Random) {
    let own = any(parts, random).name.clone();
    let backslashes: Vec<u8> = own
        .iter()
        .map(|byte| if *byte == b'/' { b'\\' } else { *byte })
        .collect();
    let names: [&[u8]; 7] = [
        &own,
        &backslashes,
        b"../../etc/passwd",
        b"/word/document.xml",
        b"\xFF\xFE\0",
        b"",
        &b"a/".repeat(20_000),
    ];
    any(parts, random).name = random.choose(&names).to_vec();
}

fn left_out(parts: &mut Vec<Part>, random: &mut Random) {
    let index = place(parts.len(), random);
    parts.remove(index);
}

fn empty(parts: &mut Vec<Part>, random: &mut Random) {
    let part = any(parts, random);
    *part = Part::new(&part.name, Vec::new());
}

fn exchanged(parts: &mut Vec<Part>, random: &mut Random) {
    let (one, other) = (place(parts.len(), random), place(parts.len(), random));
    let name = parts[one].name.clone();
    parts[one].name = std::mem::replace(&mut parts[other].name, name);
}

fn bomb(parts: &mut Vec<Part>, random: &mut Random) {
    static PACKED: OnceLock<Part> = OnceLock::new();
    let name = any(parts, random).name.clone();
    let bomb = PACKED.get_or_init(packed_bomb);
    *any(parts, random) = Part {
        name,
        ..bomb.clone()
    };
}

/// Markup and then white space without end.
fn packed_bomb() -> Part {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer
        .start_file(
            "x",
            SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated),
        )
        .unwrap();
    writer.write_all(b"<?xml version=\"1.0\"?><x>").unwrap();
    writer.write_all(&vec![b' '; BOMB_BYTES]).unwrap();
    let bytes = writer.finish().unwrap().into_inner();
    let mut archive = ZipArchive::new(Cursor::new(&bytes)).unwrap();
    let mut part = archive.by_index_raw(0).unwrap();
    let mut packed = Vec::new();
    part.read_to_end(&mut packed).unwrap();
    let claims = Claims {
        method: DEFLATED,
        flags: 0,
        crc: part.crc32(),
        packed: packed.len() as u32,
        size: part.size() as u32,
    };
    Part {
        name: Vec::new(),
        packed,
        claims: [claims; 2],
    }
}

fn nested(parts: &mut Vec<Part>, random: &mut Random) {
    let whole = written(parts);
    let part = any(parts, random);
    *part = Part::new(&part.name, whole);
}

fn many_parts(parts: &mut Vec<Part>, random: &mut Random) {
    let model = any(parts, random).name.clone();
    parts.extend((0..many(random).min(30_000)).map(|index| {
        Part::new(
            &[&model, format!("{index}").as_bytes()].concat(),
            Vec::new(),
        )
    }));
}
