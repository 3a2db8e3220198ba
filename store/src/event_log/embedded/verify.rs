//! Looks at every byte of a log that nobody has open, and changes nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tributary_schemas::{ErrorKind, Result};

use super::damage::Damage;
use super::folder::failed;
use super::format::{FOOTER_BYTES, Footer};
use super::group::{EXTENSION, Group};
use super::scanner::{Resume, Scanner, SegmentFile};
use super::segment::{SegmentName, check_header, footer};
use super::topic::{GROUPS_FOLDER, SETTINGS_FILE, settings_are_sound};

/// A partition's folder with the highest position that a group has in it.
#[derive(Clone, Debug)]
pub struct PartitionFolder {
    /// The folder.
    pub path: PathBuf,
    /// Number within the topic.
    pub number: u32,
    /// What groups have read up to.
    pub read_to: u64,
}

/// What was read of one segment.
#[derive(Debug)]
pub struct VerifiedSegment {
    /// Its name.
    pub name: SegmentName,
    /// What rotted.
    pub damage: Vec<Damage>,
    /// Offset after it, as far as it says.
    pub end: u64,
}

/// All damage of the log in `folder`, by place. `progress` is told of bytes as they are read.
pub fn verify(folder: &Path, progress: &dyn Fn(u64)) -> Result<Vec<Damage>> {
    let mut found = Vec::new();
    for topic in topics(folder)? {
        found.extend(small_files(&topic)?);
        for partition in partitions(&topic)? {
            found.extend(verify_partition(&partition, progress)?);
        }
    }
    Ok(found)
}

fn small_files(topic: &Path) -> Result<Vec<Damage>> {
    let mut found = Vec::new();
    let settings = topic.join(SETTINGS_FILE);
    let read = |path: &Path| std::fs::read(path).map_err(failed("read", path));
    if !settings_are_sound(&read(&settings)?) {
        found.push(Damage::new(
            &settings,
            0,
            0,
            "the settings of a topic are damaged",
        ));
    }
    for path in group_files(topic)? {
        if !Group::is_sound(&read(&path)?) {
            found.push(Damage::new(&path, 0, 0, "positions of a group are damaged"));
        }
    }
    Ok(found)
}

fn verify_partition(partition: &PartitionFolder, progress: &dyn Fn(u64)) -> Result<Vec<Damage>> {
    let segments = verified_segments(partition, progress)?;
    let mut found: Vec<Damage> = Vec::new();
    for pair in segments.windows(2) {
        if let [before, after] = pair
            && before.damage.is_empty()
            && before.end < after.name.base
        {
            let path = after.name.path(&partition.path);
            found.push(Damage::new(
                &path,
                0,
                0,
                format!(
                    "offset {} follows on {}: a segment is missing",
                    after.name.base, before.end
                ),
            ));
        }
    }
    let end = segments.last().map_or(0, |segment| segment.end);
    found.extend(segments.into_iter().flat_map(|segment| segment.damage));
    if partition.read_to > end && found.is_empty() {
        let what = format!(
            "it ends at offset {end}, but a group has read up to {}: records are lost",
            partition.read_to
        );
        found.push(Damage::new(&partition.path, 0, 0, what));
    }
    Ok(found)
}

/// Reads every segment of a partition, oldest first.
pub fn verified_segments(
    partition: &PartitionFolder,
    progress: &dyn Fn(u64),
) -> Result<Vec<VerifiedSegment>> {
    let mut names: Vec<SegmentName> = files(&partition.path)?
        .iter()
        .filter_map(|path| SegmentName::parse(path))
        .collect();
    names.sort_by_key(|name| (name.base, name.generation));
    let mut segments = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let next = names.get(index + 1).map(|next| next.base);
        segments.push(verify_segment(partition, name, next, progress)?);
    }
    Ok(segments)
}

fn verify_segment(
    partition: &PartitionFolder,
    name: &SegmentName,
    next: Option<u64>,
    progress: &dyn Fn(u64),
) -> Result<VerifiedSegment> {
    let file = SegmentFile::open(&name.path(&partition.path))?;
    let length = file.len()?;
    progress(length);
    let mut damage = match check_header(&file, name, partition.number) {
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            vec![Damage::new(file.path(), 0, length, error.to_string())]
        }
        checked => checked?,
    };
    let footer = footer(&file, length)?;
    let lacks_footer = footer.is_none() && (next.is_some() || name.generation > 0);
    let data_end = if footer.is_some() {
        length - FOOTER_BYTES as u64
    } else {
        length
    };
    let upper = footer.map_or(next.unwrap_or(u64::MAX), |footer| footer.end);
    let mut resume = Resume {
        offsets: name.base..upper,
        appended: name.generation == 0,
    };
    let mut scanner = Scanner::new(file.clone(), 0, data_end);
    let mut records = 0;
    while scanner
        .next_past_damage(&mut resume, &mut damage)?
        .is_some()
    {
        records += 1;
    }
    let miscounts = footer.is_some_and(|footer| damage.is_empty() && footer.records != records);
    if miscounts
        || lacks_footer
            && damage
                .last()
                .is_none_or(|last| last.position + last.bytes < length)
    {
        damage.push(Damage::new(
            file.path(),
            data_end,
            length - data_end,
            "the footer of a closed segment is missing or wrong",
        ));
    }
    let end = footer.map_or(resume.offsets.start, |Footer { end, .. }| end);
    Ok(VerifiedSegment {
        name: name.clone(),
        damage,
        end,
    })
}

/// Folders of topics.
pub fn topics(folder: &Path) -> Result<Vec<PathBuf>> {
    let all = folder.join("topics");
    let listed = if all.is_dir() {
        files(&all)?
    } else {
        Vec::new()
    };
    Ok(listed
        .into_iter()
        .filter(|path| path.join(SETTINGS_FILE).exists())
        .collect())
}

/// Folders of the partitions of a topic.
pub fn partitions(topic: &Path) -> Result<Vec<PartitionFolder>> {
    let read_to = read_positions(topic)?;
    let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let folders = files(topic)?.into_iter().filter(|path| path.is_dir());
    let partition = |path: PathBuf| {
        let number = number(&path)?;
        Some(PartitionFolder {
            path,
            number,
            read_to: read_to.get(&number).copied().unwrap_or(0),
        })
    };
    Ok(folders.filter_map(partition).collect())
}

/// How far a group has read each partition of a topic, the furthest of them.
fn read_positions(topic: &Path) -> Result<BTreeMap<u32, u64>> {
    let mut read_to: BTreeMap<u32, u64> = BTreeMap::new();
    for path in group_files(topic)? {
        let bytes = std::fs::read(&path).map_err(failed("read", &path))?;
        for (partition, offset) in Group::positions(&bytes) {
            let known = read_to.entry(partition).or_insert(0);
            *known = offset.max(*known);
        }
    }
    Ok(read_to)
}

fn group_files(topic: &Path) -> Result<Vec<PathBuf>> {
    let folder = topic.join(GROUPS_FOLDER);
    let listed = if folder.is_dir() {
        files(&folder)?
    } else {
        Vec::new()
    };
    Ok(listed
        .into_iter()
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == EXTENSION)
        })
        .collect())
}

/// What is in a folder, sorted. Unlike opening, this removes nothing.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(failed("list", folder))?;
    let mut paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<Vec<_>>>()
        .map_err(failed("list", folder))?;
    paths.sort();
    Ok(paths)
}
