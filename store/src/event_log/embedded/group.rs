//! Consumer groups of a topic: their durable positions.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, RwLock};

use tributary_schemas::{Error, ErrorKind, Result};

use super::folder::{corrupt, failed, lock, read, replace, write};
use super::format::{VERSION, u32_at, u64_at};
use crate::event_log::Position;

const MAGIC: &[u8; 8] = b"TRIBPOS\0";
const HEADER_BYTES: usize = 16;
const ENTRY_BYTES: usize = 16;
/// Size at which the file is rewritten with one entry per partition.
const REWRITE_BYTES: u64 = 64 << 10;
/// Ending of the files.
pub const EXTENSION: &str = "positions";

/// A group.
#[derive(Debug)]
pub struct Group {
    path: PathBuf,
    committed: RwLock<BTreeMap<u32, u64>>,
    /// The file and its sound length, once there is one. Held during writes, never while readers
    /// look at `committed`.
    file: Mutex<Option<(File, u64)>>,
}

impl Group {
    /// A group that has not committed.
    pub fn new(folder: &Path, name: &str) -> Result<Self> {
        let encoded = encode_name(name);
        if encoded.is_empty() || encoded.len() > 240 {
            let what = format!(
                "group name `{name}` is empty or longer than 240 bytes, where other characters than ASCII letters, digits, `-` and `_` count 3 a byte"
            );
            return Err(Error::new(ErrorKind::Invalid, what));
        }
        let path = folder.join(format!("{encoded}.{EXTENSION}"));
        Ok(Self {
            path,
            committed: RwLock::default(),
            file: Mutex::default(),
        })
    }

    /// The positions that can be read in a file.
    pub fn positions(bytes: &[u8]) -> BTreeMap<u32, u64> {
        decode(bytes)
            .ok()
            .map(|(positions, _)| positions)
            .unwrap_or_default()
    }

    /// Whether all of a positions file is sound.
    pub fn is_sound(bytes: &[u8]) -> bool {
        decode(bytes).is_ok_and(|(_, is_sound)| is_sound)
    }

    /// Reads a positions file; `None` if it is another file.
    pub fn open(path: &Path) -> Result<Option<(String, Self)>> {
        if path
            .extension()
            .is_none_or(|extension| extension != EXTENSION)
        {
            return Ok(None);
        }
        let Some(name) = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .and_then(decode_name)
        else {
            return Ok(None);
        };
        let bytes = std::fs::read(path).map_err(failed("read", path))?;
        let (committed, is_sound) = decode(&bytes).map_err(|what| corrupt(path, 0, what))?;
        let file = if is_sound {
            File::options()
                .read(true)
                .write(true)
                .open(path)
                .map_err(failed("open", path))?
        } else {
            tracing::warn!(path = %path.display(), "what is damaged in a positions file was ignored");
            replace(path, &encode(&committed))?
        };
        // Entries that were written but not synced when the process ended become durable before
        // anyone relies on them.
        file.sync_all().map_err(failed("sync", path))?;
        let length = file.metadata().map_err(failed("read", path))?.len();
        let group = Self {
            path: path.to_owned(),
            committed: RwLock::new(committed),
            file: Mutex::new(Some((file, length))),
        };
        Ok(Some((name, group)))
    }

    /// Position in one partition, if it has committed one.
    pub fn committed(&self, partition: u32) -> Option<u64> {
        read(&self.committed).get(&partition).copied()
    }

    /// Name and content of a file with its positions, for a backup.
    pub fn image(&self) -> Option<(String, Vec<u8>)> {
        let committed = read(&self.committed);
        let name = self.path.file_name()?.to_str()?.to_owned();
        (!committed.is_empty()).then(|| (name, encode(&committed)))
    }

    /// Whether it has committed any position.
    pub fn has_committed(&self) -> bool {
        !read(&self.committed).is_empty()
    }

    /// Removes its file.
    pub fn remove(&self) -> Result<()> {
        let mut file = lock(&self.file);
        if file.take().is_none() {
            return Ok(());
        }
        std::fs::remove_file(&self.path).map_err(failed("remove", &self.path))?;
        self.path
            .parent()
            .map_or(Ok(()), super::folder::sync_folder)
    }

    /// Makes positions durable; those that are not ahead are ignored.
    pub fn commit(&self, positions: &[Position]) -> Result<()> {
        let mut file = lock(&self.file);
        let ahead = self.ahead(positions);
        if ahead.is_empty() {
            return Ok(());
        }
        match file.as_mut() {
            Some((handle, length)) if *length < REWRITE_BYTES => {
                append(handle, length, &ahead).map_err(failed("write", &self.path))?
            }
            _ => {
                let mut all = read(&self.committed).clone();
                all.extend(&ahead);
                let content = encode(&all);
                *file = Some((replace(&self.path, &content)?, content.len() as u64));
            }
        }
        write(&self.committed).extend(ahead);
        Ok(())
    }

    /// The highest of the positions of each partition that are ahead of those committed.
    fn ahead(&self, positions: &[Position]) -> BTreeMap<u32, u64> {
        let mut ahead = BTreeMap::new();
        for position in positions {
            let known = ahead
                .get(&position.partition)
                .copied()
                .or_else(|| self.committed(position.partition));
            if known.is_none_or(|known| position.offset > known) {
                ahead.insert(position.partition, position.offset);
            }
        }
        ahead
    }
}

fn append(file: &File, length: &mut u64, positions: &BTreeMap<u32, u64>) -> std::io::Result<()> {
    let entries: Vec<u8> = positions
        .iter()
        .flat_map(|(partition, offset)| entry(*partition, *offset))
        .collect();
    if let Err(error) = file
        .write_all_at(&entries, *length)
        .and_then(|()| file.sync_data())
    {
        // Whether this works or not, the next commit writes over the same place.
        return file.set_len(*length).and(Err(error));
    }
    *length += entries.len() as u64;
    Ok(())
}

fn entry(partition: u32, offset: u64) -> [u8; ENTRY_BYTES] {
    let mut bytes = [0; ENTRY_BYTES];
    bytes[0..4].copy_from_slice(&partition.to_le_bytes());
    bytes[8..16].copy_from_slice(&offset.to_le_bytes());
    let crc = entry_checksum(&bytes);
    bytes[4..8].copy_from_slice(&crc.to_le_bytes());
    bytes
}

fn entry_checksum(entry: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&entry[0..4]);
    hasher.update(&entry[8..16]);
    hasher.finalize()
}

fn encode(positions: &BTreeMap<u32, u64>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + positions.len() * ENTRY_BYTES);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
    bytes.extend(
        positions
            .iter()
            .flat_map(|(partition, offset)| entry(*partition, *offset)),
    );
    bytes
}

/// Positions of a file, and whether all of it was sound.
fn decode(bytes: &[u8]) -> std::result::Result<(BTreeMap<u32, u64>, bool), &'static str> {
    // Emptied: its group reads everything again.
    let Some(header) = bytes.get(..HEADER_BYTES) else {
        return Ok((BTreeMap::new(), false));
    };
    let header_is_sound =
        &header[0..8] == MAGIC && crc32fast::hash(&header[0..12]) == u32_at(header, 12);
    if header_is_sound && u32_at(header, 8) != VERSION {
        return Err("positions file has a format version that this program does not know");
    }
    let mut positions = BTreeMap::new();
    let entries = bytes[HEADER_BYTES..].chunks_exact(ENTRY_BYTES);
    let mut is_sound = header_is_sound && entries.remainder().is_empty();
    for entry in entries {
        if entry_checksum(entry) == u32_at(entry, 4) {
            let offset = positions.entry(u32_at(entry, 0)).or_insert(0);
            *offset = u64_at(entry, 8).max(*offset);
        } else {
            is_sound = false;
        }
    }
    Ok((positions, is_sound))
}

fn encode_name(name: &str) -> String {
    let mut encoded = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

fn decode_name(encoded: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [
                char::from(rest.next()?).to_digit(16)?,
                char::from(rest.next()?).to_digit(16)?,
            ];
            bytes.push((digits[0] * 16 + digits[1]) as u8);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn at(partition: u32, offset: u64) -> Position {
        Position { partition, offset }
    }

    #[test]
    fn names_survive_a_round_trip() {
        for name in ["enrich", "a/b", "../..", "分组 1", "%", "a.b", "Ünï-cödé_"] {
            let encoded = encode_name(name);
            assert!(!encoded.contains(['/', '.']), "{encoded}");
            assert_eq!(decode_name(&encoded).as_deref(), Some(name));
        }
        assert!(Group::new(Path::new("/"), "").is_err());
        assert!(Group::new(Path::new("/"), &"文".repeat(100)).is_err());
    }

    #[test]
    fn positions_survive_every_cut_and_never_move_back() {
        let folder = tempfile::tempdir().unwrap();
        let group = Group::new(folder.path(), "g").unwrap();
        group.commit(&[at(0, 5), at(1, 2)]).unwrap();
        group.commit(&[at(0, 9), at(0, 7), at(1, 1)]).unwrap();
        assert_eq!(
            (group.committed(0), group.committed(1), group.committed(2)),
            (Some(9), Some(2), None)
        );
        let bytes = std::fs::read(&group.path).unwrap();
        for length in 0..=bytes.len() {
            std::fs::write(&group.path, &bytes[..length]).unwrap();
            let (_, reopened) = Group::open(&group.path).unwrap().unwrap();
            let expected = if length == bytes.len() {
                Some(9)
            } else {
                (length >= HEADER_BYTES + ENTRY_BYTES).then_some(5)
            };
            assert_eq!(reopened.committed(0), expected, "{length}");
            reopened.commit(&[at(0, 20)]).unwrap();
            assert_eq!(
                Group::open(&group.path).unwrap().unwrap().1.committed(0),
                Some(20)
            );
        }
    }

    #[test]
    fn a_flipped_bit_never_moves_a_position_forward() {
        let folder = tempfile::tempdir().unwrap();
        let group = Group::new(folder.path(), "g").unwrap();
        group.commit(&[at(0, 5)]).unwrap();
        group.commit(&[at(0, 9)]).unwrap();
        let bytes = std::fs::read(&group.path).unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&group.path, &damaged).unwrap();
            let (_, opened) = Group::open(&group.path).unwrap().unwrap();
            let committed = opened.committed(0).unwrap();
            assert!(
                if bit < (HEADER_BYTES + ENTRY_BYTES) * 8 {
                    committed == 9
                } else {
                    committed == 5
                },
                "bit {bit}: {committed}"
            );
        }
    }

    #[test]
    fn a_grown_file_is_rewritten() {
        let folder = tempfile::tempdir().unwrap();
        let group = Group::new(folder.path(), "g").unwrap();
        group.commit(&[at(0, 1)]).unwrap();
        let many = REWRITE_BYTES / ENTRY_BYTES as u64 + 10;
        let entries: Vec<u8> = (0..many).flat_map(|offset| entry(0, offset)).collect();
        std::fs::write(
            &group.path,
            [&encode(&BTreeMap::new())[..], &entries].concat(),
        )
        .unwrap();
        let (_, group) = Group::open(&group.path).unwrap().unwrap();
        group.commit(&[at(0, many)]).unwrap();
        assert_eq!(
            std::fs::metadata(&group.path).unwrap().len(),
            (HEADER_BYTES + ENTRY_BYTES) as u64
        );
        assert_eq!(
            Group::open(&group.path).unwrap().unwrap().1.committed(0),
            Some(many)
        );
    }
}
