//! Mends a log that nobody has open: segments with damage are written again without it, and the old
//! files are kept aside. What a damaged frame held is not guessed.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use tributary_schemas::Result;

use super::folder::{failed, publish, remove, replace, sync_folder, unfinished};
use super::format::Header;
use super::scanner::{Resume, Scanner, SegmentFile};
use super::segment::{SegmentName, Totals};
use super::verify::{PartitionFolder, VerifiedSegment, partitions, topics, verified_segments};

/// Writes every segment with damage, or before a gap, again, and keeps the old file below `aside`.
/// Returns the files that were mended. Damaged settings of topics and positions of groups are
/// mended when the log is opened.
pub fn repair(folder: &Path, aside: &Path) -> Result<Vec<PathBuf>> {
    let mut mended = Vec::new();
    for topic in topics(folder)? {
        let name = topic.file_name().unwrap_or_default();
        for partition in partitions(&topic)? {
            let kept = aside.join(name).join(partition.number.to_string());
            mended.extend(repair_partition(&partition, &kept)?);
        }
    }
    Ok(mended)
}

fn repair_partition(partition: &PartitionFolder, aside: &Path) -> Result<Vec<PathBuf>> {
    let segments = verified_segments(partition, &|_| {})?;
    let mut mended = Vec::new();
    for (index, segment) in segments.iter().enumerate() {
        // Offsets of a file that is gone are never used again: the one before takes them over.
        let end = match segments.get(index + 1) {
            Some(next) => next.name.base,
            None => segment.end.max(partition.read_to),
        };
        if segment.damage.is_empty() && end <= segment.end {
            continue;
        }
        rewrite(partition, segment, end, aside)?;
        mended.push(segment.name.path(&partition.path));
    }
    if segments.is_empty() && partition.read_to > 0 {
        mended.push(write_empty(partition)?);
    }
    Ok(mended)
}

/// A segment without records that ends where groups have read up to, for a partition whose files
/// are all gone.
fn write_empty(partition: &PartitionFolder) -> Result<PathBuf> {
    let name = SegmentName {
        base: 0,
        generation: 0,
    };
    let path = name.path(&partition.path);
    let header = Header {
        generation: name.generation,
        base: name.base,
        partition: partition.number,
    }
    .encode();
    let footer = Totals::default()
        .footer(partition.read_to)
        .encode(header.len() as u32);
    replace(&path, &[header.as_slice(), footer.as_slice()].concat())?;
    Ok(path)
}

/// The new file has a higher generation and the same range, so a crash in between leaves the old or
/// the new state, as after a compaction.
fn rewrite(
    partition: &PartitionFolder,
    segment: &VerifiedSegment,
    end: u64,
    aside: &Path,
) -> Result<()> {
    let old = segment.name.path(&partition.path);
    keep_aside(&old, aside)?;
    let name = SegmentName {
        base: segment.name.base,
        generation: segment.name.generation + 1,
    };
    write_sound(partition, &old, &name, segment, end)?;
    publish(&name.path(&partition.path))?;
    remove(&old)?;
    sync_folder(&partition.path)
}

fn keep_aside(file: &Path, aside: &Path) -> Result<()> {
    std::fs::create_dir_all(aside).map_err(failed("create folder", aside))?;
    let kept = aside.join(file.file_name().unwrap_or_default());
    // On another file system there are no links.
    let linked = std::fs::hard_link(file, &kept).or_else(|_| std::fs::copy(file, &kept).map(drop));
    linked.map_err(failed("keep", &kept))?;
    sync_folder(aside)
}

fn write_sound(
    partition: &PartitionFolder,
    old: &Path,
    name: &SegmentName,
    segment: &VerifiedSegment,
    end: u64,
) -> Result<()> {
    let path = unfinished(&name.path(&partition.path));
    let mut out = BufWriter::new(File::create(&path).map_err(failed("create", &path))?);
    let header = Header {
        generation: name.generation,
        base: name.base,
        partition: partition.number,
    }
    .encode();
    out.write_all(&header).map_err(failed("write", &path))?;
    let (source, mut totals, mut written) =
        (SegmentFile::open(old)?, Totals::default(), header.len());
    let mut scanner = Scanner::new(source.clone(), 0, source.len()?);
    let mut resume = Resume {
        offsets: name.base..end,
        appended: segment.name.generation == 0,
    };
    while let Some((_, frame)) = scanner.next_past_damage(&mut resume, &mut Vec::new())? {
        out.write_all(frame.bytes())
            .map_err(failed("write", &path))?;
        totals.count(frame.is_tombstone(), frame.timestamp_ms());
        written += frame.size();
    }
    let closed = out
        .write_all(&totals.footer(end).encode(written as u32))
        .and_then(|()| out.flush());
    closed
        .and_then(|()| out.get_ref().sync_all())
        .map_err(failed("write", &path))
}
