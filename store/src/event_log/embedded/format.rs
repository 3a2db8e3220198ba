//! The files of the embedded log, version 1. Integers are little-endian; a checksum is CRC-32
//! (IEEE).
//!
//! ```text
//! <folder>/lock                                         locked by the one process that has the log open
//! <folder>/topics/<topic>/topic.json                    settings; a topic folder without it is an unfinished creation: not a topic
//! <folder>/topics/<topic>/<partition>/<base>-<generation>.segment      base: 20 digits, generation: 8
//! <folder>/topics/<topic>/groups/<group>.positions      group name percent-encoded
//! *.new                                                 being written; removed when the log is opened
//!
//! segment   := header frame* [footer]
//! header    := "TRIBSEG\0" version:u32 generation:u32 base:u64 partition:u32 crc:u32(of the 28 bytes before)         32 bytes
//! frame     := length:u32(bytes after the crc) crc:u32(of length and all after the crc)
//!              offset:u64 timestamp_ms:i64 batch_start:u32 flags:u8 zero:u8[3] key:u32 value:u32 headers:u32         44 bytes
//!              key value (name:u32 value:u32 name value)*
//! flags     := 1 tombstone (no value) | 2 footer (no record)
//! footer    := frame with flags 2, no key, value = records:u64 tombstones:u64, offset = end of the segment,
//!              timestamp_ms = largest of the segment                                                                60 bytes
//! positions := "TRIBPOS\0" version:u32 crc:u32(of the 12 bytes before), then entry*                                 16 bytes
//! entry     := partition:u32 crc:u32(of the other 12 bytes) offset:u64                                              16 bytes
//! ```
//!
//! **Writing.** Records that wait together are written with one write per partition and one
//! fdatasync per file, then acknowledged. `batch_start` is the file position where that write
//! began: all before it was durable when the frame was written. Readers see only what is durable. A
//! segment that is full is synced, gets its footer, is synced again, and then the next one is
//! created under `.new`, synced and renamed; its base is the end of the one before. So every
//! segment but the last has a footer.
//!
//! **Recovery** of the last segment, if it has no footer, reads it from the start. At a frame that
//! is incomplete or fails its checksum at position `p` there are two cases. If a sound frame after
//! `p` has `batch_start > p`, or something sound follows and a group has read beyond the offset
//! that was to come at `p`, then `p` was durable once: that is damage, see below. Otherwise the
//! frames from `p` on belong to one batch that was never acknowledged (or to the very last one,
//! which cannot be told apart): the file is cut at `p`. A group position beyond the end that is
//! left proves that delivered records are gone: that is damage too, and the next record gets the
//! offset of that position. The file is synced before anything of it is shown. Segments before the
//! last are checked by header and footer at opening, frame by frame when read.
//!
//! **Damage** (bytes that rotted; every byte is covered by a checksum) never stops the log: waiting
//! would not bring a record back. It is reported once per place, counted, and passed over. After a
//! damaged frame the next one begins where the damaged one's length leads, if a sound frame or the
//! end is there; otherwise at the first byte where a sound frame begins whose offset lies above
//! those before and below the end of the segment, whose lengths add up, and whose `batch_start` is
//! not behind it. So bytes of a value that look like a frame are not taken for one unless the
//! length before them is damaged and they carry an offset of this very place. A damaged header says
//! nothing that the file's name does not; with a damaged footer the segment is read once more to
//! count it, and ends where the next one begins. Damaged settings of a topic are counted again from
//! its folders. Compaction leaves a partition with damage as it is, because the damaged record may
//! be a tombstone; [`repair`](super::repair) writes such segments again without what is damaged and
//! keeps the old file.
//!
//! **Group positions.** A commit appends entries and syncs. The position of a partition is the
//! largest of all sound entries; damaged ones, and a damaged header, are ignored (the worst is that
//! records are delivered again). A file that has grown is rewritten under `.new` and renamed.
//!
//! **Compaction** turns neighbouring closed segments of one partition into one: the new file has
//! the base of the first, the end of the last and a generation higher than both, and is complete
//! and synced before it is renamed from `.new`; then the folder is synced, then the old files are
//! removed. A file whose offsets lie within a file of higher generation is a leftover: it is
//! removed at opening, so a crash between any two steps leaves the old or the new state. Runs are
//! rewritten from the oldest to the newest, so that a tombstone never goes before what it deletes.
//! Compacted files keep offsets; their `batch_start` has no meaning.
//!
//! **Retention** removes whole segments from the oldest on; the start of a partition is the base of
//! its first segment.

use bytes::Bytes;

use crate::event_log::Record;

/// Version of all files described above.
pub const VERSION: u32 = 1;
/// Bytes of a segment header.
pub const HEADER_BYTES: usize = 32;
/// Bytes of a frame before key, value and headers.
pub const FRAME_HEAD_BYTES: usize = 44;
/// Bytes of a footer.
pub const FOOTER_BYTES: usize = FRAME_HEAD_BYTES + 16;
/// Bytes of a frame that its length field does not count.
pub const PREFIX_BYTES: usize = 8;

const SEGMENT_MAGIC: &[u8; 8] = b"TRIBSEG\0";
const TOMBSTONE: u8 = 1;
const FOOTER: u8 = 2;

/// First bytes of a segment file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// 0 as written by appends, higher after compaction.
    pub generation: u32,
    /// Offset that no record of the segment is below.
    pub base: u64,
    /// Partition that the file belongs to.
    pub partition: u32,
}

impl Header {
    /// The bytes on disk.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..8].copy_from_slice(SEGMENT_MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.generation.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.base.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.partition.to_le_bytes());
        let crc = crc32fast::hash(&bytes[0..28]);
        bytes[28..32].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads a header and the format version that it names; `None` if it is damaged.
    pub fn decode(bytes: &[u8]) -> Option<(Self, u32)> {
        if bytes.len() < HEADER_BYTES
            || &bytes[0..8] != SEGMENT_MAGIC
            || crc32fast::hash(&bytes[0..28]) != u32_at(bytes, 28)
        {
            return None;
        }
        let header = Self {
            generation: u32_at(bytes, 12),
            base: u64_at(bytes, 16),
            partition: u32_at(bytes, 24),
        };
        Some((header, u32_at(bytes, 8)))
    }
}

/// Counts in a footer, beside the end offset and the largest timestamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footer {
    /// Offset after the segment.
    pub end: u64,
    /// Largest timestamp of its records, `i64::MIN` if it has none.
    pub max_timestamp_ms: i64,
    /// Records in it.
    pub records: u64,
    /// Tombstones among them.
    pub tombstones: u64,
}

impl Footer {
    /// The frame on disk, when it is written at file position `position`.
    pub fn encode(&self, position: u32) -> Vec<u8> {
        let mut frame = Vec::with_capacity(FOOTER_BYTES);
        push_head(&mut frame, FOOTER, self.max_timestamp_ms, 16, [0, 16, 0]);
        frame.extend_from_slice(&self.records.to_le_bytes());
        frame.extend_from_slice(&self.tombstones.to_le_bytes());
        seal(&mut frame, self.end, position);
        frame
    }

    /// The footer that a frame is, if it is one.
    pub fn of(frame: &Frame) -> Option<Self> {
        if frame.flags() != FOOTER || frame.bytes.len() != FOOTER_BYTES {
            return None;
        }
        Some(Self {
            end: frame.offset(),
            max_timestamp_ms: frame.timestamp_ms(),
            records: u64_at(&frame.bytes, FRAME_HEAD_BYTES),
            tombstones: u64_at(&frame.bytes, FRAME_HEAD_BYTES + 8),
        })
    }
}

/// Bytes that `record` takes in a segment.
pub fn frame_bytes(record: &Record) -> usize {
    FRAME_HEAD_BYTES + record.size() + 8 * record.headers.len()
}

/// Appends the frame of `record` without offset, batch start and checksum: [`seal`] fills these in.
/// The caller has checked that the frame is smaller than 4 GiB.
pub fn push_frame(out: &mut Vec<u8>, record: &Record) {
    let flags = if record.value.is_none() { TOMBSTONE } else { 0 };
    let value = record.value.as_deref().unwrap_or_default();
    let counts = [
        record.key.len() as u32,
        value.len() as u32,
        record.headers.len() as u32,
    ];
    push_head(
        out,
        flags,
        record.timestamp_ms,
        frame_bytes(record) - FRAME_HEAD_BYTES,
        counts,
    );
    out.extend_from_slice(&record.key);
    out.extend_from_slice(value);
    for (name, value) in &record.headers {
        out.extend_from_slice(&(name.len() as u32).to_le_bytes());
        out.extend_from_slice(&(value.len() as u32).to_le_bytes());
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(value);
    }
}

fn push_head(out: &mut Vec<u8>, flags: u8, timestamp_ms: i64, body_bytes: usize, counts: [u32; 3]) {
    let length = (FRAME_HEAD_BYTES - PREFIX_BYTES + body_bytes) as u32;
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&[0; 12]);
    out.extend_from_slice(&timestamp_ms.to_le_bytes());
    out.extend_from_slice(&[0, 0, 0, 0, flags, 0, 0, 0]);
    for count in counts {
        out.extend_from_slice(&count.to_le_bytes());
    }
}

/// Completes a frame made by [`push_frame`].
pub fn seal(frame: &mut [u8], offset: u64, batch_start: u32) {
    frame[8..16].copy_from_slice(&offset.to_le_bytes());
    frame[24..28].copy_from_slice(&batch_start.to_le_bytes());
    let crc = checksum(frame);
    frame[4..8].copy_from_slice(&crc.to_le_bytes());
}

fn checksum(frame: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&frame[0..4]);
    hasher.update(&frame[8..]);
    hasher.finalize()
}

/// A whole frame whose checksum is right.
#[derive(Clone, Debug)]
pub struct Frame {
    bytes: Bytes,
}

/// What a stretch of bytes begins with.
#[derive(Debug)]
pub enum Parsed {
    /// A sound frame.
    Frame(Frame),
    /// A frame of this many bytes, of which some are missing.
    Incomplete(usize),
    /// No sound frame, and why.
    Damaged(&'static str),
}

impl Frame {
    /// Reads the frame at the start of `bytes`.
    pub fn parse(bytes: &Bytes) -> Parsed {
        if bytes.len() < FRAME_HEAD_BYTES {
            return Parsed::Incomplete(FRAME_HEAD_BYTES);
        }
        let total = u32_at(bytes, 0) as usize + PREFIX_BYTES;
        if total < FRAME_HEAD_BYTES {
            return Parsed::Damaged("length of a record is impossible");
        }
        if bytes.len() < total {
            return Parsed::Incomplete(total);
        }
        let frame = Self {
            bytes: bytes.slice(0..total),
        };
        if checksum(&frame.bytes) != u32_at(bytes, 4) {
            return Parsed::Damaged("checksum of a record differs");
        }
        Parsed::Frame(frame)
    }

    /// Bytes in the file.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes in the file.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Offset of the record, or end of the segment for a footer.
    pub fn offset(&self) -> u64 {
        u64_at(&self.bytes, 8)
    }

    /// Timestamp of the record.
    pub fn timestamp_ms(&self) -> i64 {
        u64_at(&self.bytes, 16).cast_signed()
    }

    /// File position before which all was durable when this was written.
    pub fn batch_start(&self) -> u32 {
        u32_at(&self.bytes, 24)
    }

    /// Whether it deletes its key.
    pub fn is_tombstone(&self) -> bool {
        self.flags() == TOMBSTONE
    }

    fn flags(&self) -> u8 {
        self.bytes[28]
    }

    /// Key of the record.
    pub fn key(&self) -> Result<Bytes, &'static str> {
        take(
            &self.bytes,
            &mut FRAME_HEAD_BYTES.clone(),
            u32_at(&self.bytes, 32),
        )
    }

    /// The record; parts of it share the memory of the frame.
    pub fn record(&self) -> Result<Record, &'static str> {
        let mut at = FRAME_HEAD_BYTES;
        let key = take(&self.bytes, &mut at, u32_at(&self.bytes, 32))?;
        let value = take(&self.bytes, &mut at, u32_at(&self.bytes, 36))?;
        let count = u32_at(&self.bytes, 40) as usize;
        let mut headers = Vec::with_capacity(count.min(self.bytes.len() / 8));
        for _ in 0..count {
            headers.push(self.header(&mut at)?);
        }
        let value = (!self.is_tombstone()).then_some(value);
        Ok(Record {
            key,
            value,
            headers,
            timestamp_ms: self.timestamp_ms(),
        })
    }

    fn header(&self, at: &mut usize) -> Result<(String, Bytes), &'static str> {
        let lengths = take(&self.bytes, at, 8)?;
        let name = take(&self.bytes, at, u32_at(&lengths, 0))?;
        let value = take(&self.bytes, at, u32_at(&lengths, 4))?;
        let name =
            std::str::from_utf8(&name).map_err(|_| "header name of a record is not UTF-8")?;
        Ok((name.to_owned(), value))
    }
}

/// Whether the first bytes of a frame could be those of a record with one of these offsets, with
/// `left` bytes to the end and a batch that began at `latest_batch` or before.
pub fn may_begin_record(
    head: &[u8],
    latest_batch: u64,
    left: u64,
    offsets: &std::ops::Range<u64>,
) -> bool {
    if head.len() < FRAME_HEAD_BYTES {
        return false;
    }
    let total = u64::from(u32_at(head, 0)) + PREFIX_BYTES as u64;
    let parts =
        u64::from(u32_at(head, 32)) + u64::from(u32_at(head, 36)) + 8 * u64::from(u32_at(head, 40));
    head[29..32] == [0, 0, 0]
        && head[28] <= TOMBSTONE
        && offsets.contains(&u64_at(head, 8))
        && total <= left
        && FRAME_HEAD_BYTES as u64 + parts <= total
        && u64::from(u32_at(head, 24)) <= latest_batch
}

/// The key in the first bytes of a damaged frame, if it still looks like one.
pub fn likely_key(frame: &[u8]) -> Option<String> {
    let length = u32_at(frame.get(..FRAME_HEAD_BYTES)?, 32) as usize;
    let key = frame.get(FRAME_HEAD_BYTES..)?.get(..length)?;
    let text = std::str::from_utf8(key).ok()?;
    (!text.is_empty() && !text.chars().any(char::is_control)).then(|| text.to_owned())
}

/// Whether a sound frame with `batch_start > damage` starts at `position`, the first of `bytes`.
/// Cheap checks come before the checksum.
pub fn proves_durable(bytes: &[u8], position: u64, damage: u64) -> bool {
    if bytes.len() < FRAME_HEAD_BYTES {
        return false;
    }
    let total = u32_at(bytes, 0) as usize + PREFIX_BYTES;
    let batch_start = u64::from(u32_at(bytes, 24));
    let plausible = (FRAME_HEAD_BYTES..=bytes.len()).contains(&total)
        && bytes[28] <= FOOTER
        && bytes[29..32] == [0, 0, 0]
        && batch_start > damage
        && batch_start <= position;
    plausible && checksum(&bytes[..total]) == u32_at(bytes, 4)
}

fn take(bytes: &Bytes, at: &mut usize, length: u32) -> Result<Bytes, &'static str> {
    let end = *at + length as usize;
    if end > bytes.len() {
        return Err("lengths inside a record contradict each other");
    }
    let part = bytes.slice(*at..end);
    *at = end;
    Ok(part)
}

/// The integer at `at`; the caller knows that it is there.
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The integer at `at`; the caller knows that it is there.
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn record() -> Record {
        Record {
            key: "文档/1".into(),
            value: Some(Bytes::from_static(b"value")),
            headers: vec![
                ("名".to_owned(), Bytes::from_static(&[0, 255])),
                (String::new(), Bytes::new()),
            ],
            timestamp_ms: -5,
        }
    }

    fn frame(record: &Record) -> Vec<u8> {
        let mut bytes = Vec::new();
        push_frame(&mut bytes, record);
        seal(&mut bytes, 77, 40);
        bytes
    }

    #[test]
    fn frames_survive_a_round_trip() {
        for record in [
            record(),
            Record {
                value: None,
                ..record()
            },
            Record {
                value: Some(Bytes::new()),
                ..record()
            },
            Record::default(),
        ] {
            let bytes = frame(&record);
            assert_eq!(bytes.len(), frame_bytes(&record));
            let Parsed::Frame(parsed) = Frame::parse(&bytes.into()) else {
                panic!("sound frame refused")
            };
            assert_eq!(parsed.record().unwrap(), record);
            assert_eq!(
                (parsed.offset(), parsed.batch_start(), parsed.key().unwrap()),
                (77, 40, record.key)
            );
        }
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let bytes = frame(&record());
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(
                !matches!(Frame::parse(&damaged.into()), Parsed::Frame(_)),
                "bit {bit}"
            );
        }
    }

    #[test]
    fn zeros_and_contradictions_are_no_frame() {
        assert!(matches!(
            Frame::parse(&vec![0; 100].into()),
            Parsed::Damaged(_)
        ));
        let mut bytes = frame(&record());
        bytes[32..36].copy_from_slice(&9999u32.to_le_bytes());
        seal(&mut bytes, 1, 32);
        let Parsed::Frame(parsed) = Frame::parse(&bytes.into()) else {
            panic!("checksum is right")
        };
        assert!(parsed.record().is_err() && parsed.key().is_err());
    }

    #[test]
    fn headers_and_footers_survive_a_round_trip() {
        let header = Header {
            generation: 3,
            base: 1 << 40,
            partition: 7,
        };
        assert_eq!(Header::decode(&header.encode()), Some((header, VERSION)));
        for bit in 0..HEADER_BYTES * 8 {
            let mut damaged = header.encode();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(Header::decode(&damaged).is_none(), "bit {bit}");
        }
        let footer = Footer {
            end: 9,
            max_timestamp_ms: i64::MIN,
            records: 8,
            tombstones: 2,
        };
        let Parsed::Frame(frame) = Frame::parse(&footer.encode(500).into()) else {
            panic!("sound footer refused")
        };
        assert_eq!(
            (Footer::of(&frame), frame.batch_start()),
            (Some(footer), 500)
        );
    }
}
