//! Compound files (OLE2, [MS-CFB]): the streams of .doc, .ppt and .msg, read leniently.
//!
//! A file is sectors that a table chains; a folder of entries of 128 bytes, in which siblings form
//! a tree, says where chains begin; streams of less than 4 KiB lie in sectors of 64 bytes within a
//! stream of their own. Entries that no tree reaches are not looked at: programs leave rubbish
//! there.

use std::collections::HashMap;

use tributary_schemas::{Error, ErrorKind, Result};

use super::bytes::{size_at, slice_at, u8_at, u16_at, u32_at, utf_16};

/// First bytes of a compound file.
pub(crate) const SIGNATURE: [u8; 8] = [0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1];

/// Numbers from here on mean no sector, or no entry.
const NO_SECTOR: u32 = 0xFFFF_FFFA;
/// Numbers of the table's sectors that stand in the header.
const TABLE_SECTORS_IN_HEADER: usize = 109;
/// Bytes of a folder's entry.
const ENTRY: usize = 128;
/// Kinds of an entry that is a storage (a folder of streams) and of one that is a stream.
const STORAGE: u8 = 1;
const STREAM: u8 = 2;

/// An open compound file.
#[derive(Debug)]
pub(crate) struct Compound<'a> {
    bytes: &'a [u8],
    /// Bytes of a sector, and of a small one.
    sector: usize,
    small_sector: usize,
    /// Next sector of each sector.
    table: Vec<u32>,
    small_table: Vec<u32>,
    /// The stream that small sectors lie in.
    small_stream: Vec<u8>,
    /// Size from which a stream lies in sectors of its own.
    least_large: usize,
    /// First sector and size of the streams, by storage and name in lower case.
    streams: HashMap<(Storage, String), (u32, usize)>,
    /// Storages with the one that they lie in and their names in lower case, in the order of the
    /// folder.
    storages: Vec<(Storage, String, Storage)>,
}

/// A storage of a compound file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Storage(u32);

impl Storage {
    /// The storage that all others lie in.
    pub(crate) const ROOT: Self = Self(0);
}

impl<'a> Compound<'a> {
    /// Opens it; `Corrupt` where its header or its folder is damaged.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self> {
        if !bytes.starts_with(&SIGNATURE) {
            return Err(corrupt("it does not begin like one (OLE2)"));
        }
        let shift = |at: usize, known: [u16; 2]| {
            u16_at(bytes, at)
                .filter(|shift| known.contains(shift))
                .map(|shift| 1_usize << shift)
        };
        let (sector, small_sector) = shift(0x1E, [9, 12])
            .zip(shift(0x20, [6, 6]))
            .ok_or_else(|| corrupt("its sectors have no known size"))?;
        let mut file = Self {
            bytes,
            sector,
            small_sector,
            table: Vec::new(),
            small_table: Vec::new(),
            small_stream: Vec::new(),
            least_large: size_at(bytes, 0x38).unwrap_or(4096),
            streams: HashMap::new(),
            storages: Vec::new(),
        };
        file.read_table();
        let small_table = u32_at(bytes, 0x3C)
            .map(|first| file.chain(first, usize::MAX))
            .unwrap_or_default();
        file.small_table = numbers(&small_table).collect();
        let folder = u32_at(bytes, 0x30)
            .map(|first| file.chain(first, usize::MAX))
            .unwrap_or_default();
        if folder.len() < ENTRY {
            return Err(corrupt("its folder is missing"));
        }
        file.read_folder(&folder);
        Ok(file)
    }

    fn sector(&self, number: u32) -> Option<&'a [u8]> {
        let at = usize::try_from(number)
            .ok()?
            .checked_add(1)?
            .checked_mul(self.sector)?;
        // The last sector may be cut off.
        slice_at(self.bytes, at, self.sector)
            .or_else(|| self.bytes.get(at..).filter(|rest| !rest.is_empty()))
    }

    /// The sectors of the table are listed in the header, and further ones in a chain of lists.
    fn read_table(&mut self) {
        let sectors = self.bytes.len() / self.sector + 1;
        for number in self
            .listed_sectors(sectors)
            .into_iter()
            .filter(|number| *number < NO_SECTOR)
            .take(sectors)
        {
            let content = self.sector(number).unwrap_or_default();
            let before = self.table.len();
            self.table.extend(numbers(content));
            self.table.resize(before + self.sector / 4, NO_SECTOR);
            if self.table.len() > sectors + self.sector {
                break;
            }
        }
    }

    /// The sectors of the table, of a file that has at most `sectors` of them.
    fn listed_sectors(&self, sectors: usize) -> Vec<u32> {
        let header = slice_at(self.bytes, 0x4C, 4 * TABLE_SECTORS_IN_HEADER).unwrap_or_default();
        let mut listed: Vec<u32> = numbers(header).collect();
        let mut next = u32_at(self.bytes, 0x44).unwrap_or(NO_SECTOR);
        // Each list holds one sector's numbers, so a file has fewer lists than sectors.
        for _ in 0..sectors {
            let Some(list) = self.sector(next).filter(|_| next < NO_SECTOR) else {
                break;
            };
            let (numbers_of_sectors, last) = list
                .split_at_checked(self.sector - 4)
                .unwrap_or((list, &[]));
            listed.extend(numbers(numbers_of_sectors));
            next = u32_at(last, 0).unwrap_or(NO_SECTOR);
            if listed.len() > sectors + TABLE_SECTORS_IN_HEADER {
                break;
            }
        }
        listed
    }

    /// The bytes of a chain of sectors, at most `size` and at most as many as the file has.
    fn chain(&self, first: u32, size: usize) -> Vec<u8> {
        let (mut content, mut next) = (Vec::new(), first);
        let length = size.min(self.bytes.len());
        while content.len() < length
            && next < NO_SECTOR
            && let Some(sector) = self.sector(next)
        {
            content.extend_from_slice(sector);
            next = usize::try_from(next)
                .ok()
                .and_then(|at| self.table.get(at))
                .copied()
                .unwrap_or(NO_SECTOR);
        }
        content.truncate(length);
        content
    }

    /// The bytes of a chain of small sectors.
    fn small_chain(&self, first: u32, size: usize) -> Vec<u8> {
        let (mut content, mut next) = (Vec::new(), first);
        let length = size.min(self.small_stream.len());
        while content.len() < length
            && next < NO_SECTOR
            && let Some(at) = usize::try_from(next).ok()
        {
            let start = at.saturating_mul(self.small_sector);
            let end = start
                .saturating_add(self.small_sector)
                .min(self.small_stream.len());
            let Some(sector) = self
                .small_stream
                .get(start..end)
                .filter(|sector| !sector.is_empty())
            else {
                break;
            };
            content.extend_from_slice(sector);
            next = self.small_table.get(at).copied().unwrap_or(NO_SECTOR);
        }
        content.truncate(length);
        content
    }

    /// Finds streams and storages: a tree of siblings from the child of the root and of each
    /// storage.
    fn read_folder(&mut self, folder: &[u8]) {
        let (entries, _) = folder.as_chunks::<ENTRY>();
        let Some(root) = entries.first() else { return };
        let small_size = size_at(root, 0x78).unwrap_or(0);
        self.small_stream = u32_at(root, 0x74)
            .map(|first| self.chain(first, small_size))
            .unwrap_or_default();
        let mut waiting = vec![(u32_at(root, 0x4C).unwrap_or(NO_SECTOR), Storage::ROOT)];
        let mut seen = vec![false; entries.len()];
        while let Some((number, storage)) = waiting.pop() {
            let Some(at) = usize::try_from(number).ok() else {
                continue;
            };
            let (Some(entry), Some(seen)) = (entries.get(at), seen.get_mut(at)) else {
                continue;
            };
            if std::mem::replace(seen, true) {
                continue;
            }
            waiting.extend(
                [u32_at(entry, 0x44), u32_at(entry, 0x48)]
                    .into_iter()
                    .flatten()
                    .map(|sibling| (sibling, storage)),
            );
            let child = self.note_entry(entry, storage, Storage(number));
            waiting.extend(child.map(|child| (child, Storage(number))));
        }
        self.storages.sort_unstable_by_key(|(_, _, number)| *number);
    }

    /// Notes a stream or a storage, `own`, that lies in `storage`; the first entry in it.
    fn note_entry(&mut self, entry: &[u8], storage: Storage, own: Storage) -> Option<u32> {
        let length = usize::from(u16_at(entry, 0x40).unwrap_or(0)).clamp(2, 64) - 2;
        let name = utf_16(entry.get(..length).unwrap_or_default()).to_lowercase();
        match u8_at(entry, 0x42) {
            Some(STORAGE) => {
                self.storages.push((storage, name, own));
                u32_at(entry, 0x4C)
            }
            Some(STREAM) => {
                let place = u32_at(entry, 0x74).unwrap_or(NO_SECTOR);
                self.streams
                    .entry((storage, name))
                    .or_insert((place, size_at(entry, 0x78).unwrap_or(0)));
                None
            }
            _ => None,
        }
    }

    /// The storages in a storage, with their names in lower case.
    pub(crate) fn storages(&self, within: Storage) -> impl Iterator<Item = (&str, Storage)> {
        self.storages
            .iter()
            .filter(move |(storage, ..)| *storage == within)
            .map(|(_, name, storage)| (name.as_str(), *storage))
    }

    /// Whether there is a stream of this name in the root.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.streams
            .contains_key(&(Storage::ROOT, name.to_lowercase()))
    }

    /// A stream in the root as far as its chain goes, at most as long as the file; `None` if there
    /// is none.
    pub(crate) fn stream(&self, name: &str) -> Option<Vec<u8>> {
        self.stream_in(Storage::ROOT, name)
            .map(|(content, _)| content)
    }

    /// A stream in a storage as far as its chain goes, and whether that is all of it; `None` if
    /// there is none.
    pub(crate) fn stream_in(&self, storage: Storage, name: &str) -> Option<(Vec<u8>, bool)> {
        let (first, size) = *self.streams.get(&(storage, name.to_lowercase()))?;
        let content = if size < self.least_large {
            self.small_chain(first, size)
        } else {
            self.chain(first, size)
        };
        let is_whole = content.len() == size;
        Some((content, is_whole))
    }

    /// A stream that the format cannot do without; `Corrupt` if there is none.
    pub(crate) fn required_stream(&self, name: &str) -> Result<Vec<u8>> {
        self.stream(name)
            .ok_or_else(|| corrupt(&format!("the compound file has no stream `{name}`")))
    }
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    let (fours, _) = bytes.as_chunks::<4>();
    fours.iter().map(|four| u32::from_le_bytes(*four))
}

fn corrupt(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("the compound file cannot be read: {what}"))
        .with_hint("the file is damaged, was cut off, or is named for a format that it is not in; save it again with its program")
}

/// What a password-protected document is answered with.
pub(crate) fn encrypted() -> Error {
    Error::new(ErrorKind::Unsupported, "the document is encrypted")
        .with_hint("remove the password in the program that wrote it, and send it again")
}

#[cfg(test)]
#[path = "ole_tests.rs"]
pub(crate) mod tests;
