//! OLE2 compound files whose chains of sectors run in circles and whose directory lies.

use std::io::{Cursor, Write};

use crate::pieces::{Change, place, put_word, word};
use crate::random::Random;

/// Changes that know the container; what is none stays as it is.
pub const COMPOUND: &[Change] = &[
    ("a chain of sectors in a circle", circle),
    ("a chain of sectors that goes elsewhere", astray),
    ("a directory entry that lies", entry),
    ("a header that lies", header),
    ("lengths of records", records),
];

const HEADER_BYTES: usize = 512;
const ENTRY_BYTES: usize = 128;
/// Fields of a directory entry: left, right and child entry, first sector, size.
const ENTRY_FIELDS: &[usize] = &[68, 72, 76, 116, 120];
/// Fields of the header: shift of sectors, number of sectors of the table, of the directory, of
/// small ones and of the table's table.
const HEADER_FIELDS: &[usize] = &[28, 30, 32, 40, 44, 48, 56, 60, 64, 68, 72, 76, 80];

fn number_at(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..at + 4)
        .and_then(|field| field.try_into().ok())
        .map_or(0, u32::from_le_bytes)
}

/// Where a sector begins.
fn sector(number: u32) -> usize {
    HEADER_BYTES + number as usize * 512
}

/// Place of a random entry of the table of sectors, and its own number.
fn table_entry(bytes: &[u8], random: &mut Random) -> (usize, u32) {
    let sectors = number_at(bytes, 44).clamp(1, 109);
    let which = random.below(u64::from(sectors)) as u32;
    let within = random.below(128) as u32;
    (
        sector(number_at(bytes, 76 + 4 * which as usize)).saturating_add(4 * within as usize),
        which * 128 + within,
    )
}

fn circle(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..1 + random.below(16) {
        let (at, own) = table_entry(bytes, random);
        let back = random.below(8) as u32;
        put_word(bytes, at, own.saturating_sub(back));
    }
}

fn astray(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..1 + random.below(8) {
        let (at, _) = table_entry(bytes, random);
        let target = if random.below(2) == 0 {
            word(random)
        } else {
            random.below(256) as u32
        };
        put_word(bytes, at, target);
    }
}

fn entry(bytes: &mut Vec<u8>, random: &mut Random) {
    let directory = sector(number_at(bytes, 48));
    let at = directory + ENTRY_BYTES * random.below(12) as usize + random.choose(ENTRY_FIELDS);
    let value = if random.below(2) == 0 {
        word(random)
    } else {
        random.below(12) as u32
    };
    put_word(bytes, at, value);
}

fn header(bytes: &mut Vec<u8>, random: &mut Random) {
    let value = if random.below(2) == 0 {
        word(random)
    } else {
        random.below(64) as u32
    };
    put_word(bytes, random.choose(HEADER_FIELDS), value);
}

/// Records have their lengths in 16 or 32 bits, which are mostly small numbers.
fn records(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..1 + random.below(16) {
        let at = HEADER_BYTES + place(bytes.len().saturating_sub(HEADER_BYTES), random);
        let Some(at) = bytes
            .iter()
            .skip(at)
            .position(|byte| *byte != 0)
            .map(|next| at + next)
        else {
            continue;
        };
        if let Some(room) = bytes.get_mut(at..at + 2) {
            room.copy_from_slice(&(word(random) as u16).to_le_bytes());
        }
    }
}

/// A small workbook of Excel 97, for the documents that tests make.
pub fn workbook(cells: &[&str]) -> Vec<u8> {
    let sheet_name = "Sheet";
    let mut globals = record(0x0809, &[0, 6, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let bound = [
        &[0_u8; 6][..],
        &[sheet_name.len() as u8, 0],
        sheet_name.as_bytes(),
    ]
    .concat();
    let sheet_start = (globals.len() + bound.len() + 4 + 4) as u32;
    let bound = [
        &sheet_start.to_le_bytes()[..],
        bound.get(4..).unwrap_or_default(),
    ]
    .concat();
    globals.extend(record(0x0085, &bound));
    globals.extend(record(0x000A, &[]));
    let mut stream = globals;
    stream.extend(record(
        0x0809,
        &[0, 6, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ));
    for (row, text) in cells.iter().enumerate() {
        let place = [&(row as u16).to_le_bytes()[..], &[0; 4]].concat();
        stream.extend(record(
            0x0204,
            &[
                &place[..],
                &(text.len() as u16).to_le_bytes(),
                &[0],
                text.as_bytes(),
            ]
            .concat(),
        ));
    }
    stream.extend(record(0x000A, &[]));
    let mut container =
        cfb::CompoundFile::create_with_version(cfb::Version::V3, Cursor::new(Vec::new())).unwrap();
    // Streams below 4096 bytes lie among the small sectors; both ways should be there.
    stream.resize(stream.len().max(5000), 0);
    container
        .create_stream("/Workbook")
        .unwrap()
        .write_all(&stream)
        .unwrap();
    container
        .create_stream("/Small")
        .unwrap()
        .write_all(b"small")
        .unwrap();
    container.into_inner().into_inner()
}

fn record(kind: u16, body: &[u8]) -> Vec<u8> {
    [
        &kind.to_le_bytes()[..],
        &(body.len() as u16).to_le_bytes(),
        body,
    ]
    .concat()
}
