//! Compound files of our own making, also for the tests of .doc and .ppt.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;

/// A compound file of these streams, each padded to at least `4096` bytes so that it lies in
/// sectors of its own, unless it is small.
pub(crate) fn build(streams: &[(&str, &[u8])]) -> Vec<u8> {
    let mut sectors: Vec<Vec<u8>> = Vec::new();
    let mut table: Vec<u32> = Vec::new();
    let mut append = |content: &[u8], sectors: &mut Vec<Vec<u8>>| {
        let first = sectors.len() as u32;
        let count = content.len().div_ceil(512).max(1);
        for index in 0..count {
            let mut sector = content
                [(index * 512).min(content.len())..((index + 1) * 512).min(content.len())]
                .to_vec();
            sector.resize(512, 0);
            sectors.push(sector);
            table.push(if index + 1 == count {
                0xFFFF_FFFE
            } else {
                first + index as u32 + 1
            });
        }
        first
    };
    let (mut small, mut small_table, mut entries) = (
        Vec::new(),
        Vec::new(),
        vec![entry("Root Entry", 5, 0, 0, 1)],
    );
    for (index, (name, content)) in streams.iter().enumerate() {
        let next = if index + 1 < streams.len() {
            index as u32 + 2
        } else {
            u32::MAX
        };
        let first = if content.len() < 4096 {
            let first = small_table.len() as u32;
            let count = content.len().div_ceil(64).max(1) as u32;
            small_table.extend((1..=count).map(|number| {
                if number == count {
                    0xFFFF_FFFE
                } else {
                    first + number
                }
            }));
            small.extend_from_slice(content);
            small.resize(small_table.len() * 64, 0);
            first
        } else {
            append(content, &mut sectors)
        };
        entries.push(entry(name, 2, first, content.len() as u32, next));
    }
    let small_first = append(&small, &mut sectors);
    entries[0] = entry("Root Entry", 5, small_first, small.len() as u32, 1);
    let small_table: Vec<u8> = small_table.into_iter().flat_map(u32::to_le_bytes).collect();
    let small_table_first = append(&small_table, &mut sectors);
    let folder_first = append(&entries.concat(), &mut sectors);
    let own = (table.len() + 1).div_ceil(127);
    let table_first = sectors.len() as u32;
    table.extend(std::iter::repeat_n(0xFFFF_FFFD, own));
    let mut table: Vec<u8> = table.into_iter().flat_map(u32::to_le_bytes).collect();
    table.resize(own * 512, 0xFF);
    let mut file = SIGNATURE.to_vec();
    file.resize(512, 0);
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    put(0x1E, &[9, 0, 6, 0]);
    put(0x30, &folder_first.to_le_bytes());
    put(0x38, &4096_u32.to_le_bytes());
    put(0x3C, &small_table_first.to_le_bytes());
    put(0x44, &0xFFFF_FFFE_u32.to_le_bytes());
    put(0x4C, &[0xFF; 4 * 109]);
    for index in 0..own {
        put(
            0x4C + 4 * index,
            &(table_first + index as u32).to_le_bytes(),
        );
    }
    [file, sectors.concat(), table].concat()
}

/// A folder's entry whose right sibling is `next`; for the root that is its child.
fn entry(name: &str, kind: u8, first: u32, size: u32, next: u32) -> Vec<u8> {
    let mut entry: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let length = entry.len() as u16 + 2;
    entry.resize(0x40, 0);
    entry.extend(length.to_le_bytes());
    entry.extend([kind, 1]);
    let (sibling, child) = if kind == 5 {
        (u32::MAX, next)
    } else {
        (next, u32::MAX)
    };
    for number in [u32::MAX, sibling, child] {
        entry.extend(number.to_le_bytes());
    }
    entry.resize(0x74, 0);
    entry.extend(first.to_le_bytes());
    entry.extend(size.to_le_bytes());
    entry.resize(ENTRY, 0);
    entry
}

#[test]
fn streams_of_all_sizes_are_read() {
    let large: Vec<u8> = (0..9000_u32).map(|number| number as u8).collect();
    let small: Vec<u8> = (0..200_u8).collect();
    let bytes = build(&[("Large", &large), ("small", &small), ("empty", &[])]);
    let file = Compound::open(&bytes).unwrap();
    assert_eq!(file.stream("large"), Some(large));
    assert_eq!(file.stream("Small"), Some(small));
    assert_eq!(file.stream("empty"), Some(Vec::new()));
    assert!(!file.has("other") && file.stream("other").is_none());
    assert_eq!(
        file.required_stream("other").unwrap_err().kind(),
        ErrorKind::Corrupt
    );
}

#[test]
fn circles_end_and_damage_is_corrupt() {
    let mut bytes = build(&[("Large", &vec![1; 9000])]);
    // The table is the last sector: its second entry points back to the first.
    let table = bytes.len() - 512;
    bytes[table + 4..table + 8].copy_from_slice(&0_u32.to_le_bytes());
    assert_eq!(
        Compound::open(&bytes)
            .unwrap()
            .stream("Large")
            .map(|content| content.len()),
        Some(9000)
    );
    for damaged in [
        &b"PK"[..],
        &bytes[..512],
        &[SIGNATURE.to_vec(), vec![7; 700]].concat(),
    ] {
        assert_eq!(
            Compound::open(damaged).unwrap_err().kind(),
            ErrorKind::Corrupt
        );
    }
}
