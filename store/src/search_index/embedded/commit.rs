//! Files of a generation and the one commit point that makes them valid together.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::{Index, IndexWriter};
use tributary_schemas::{Error, ErrorKind, Result};

use super::bits::BitColumn;
use super::column::Column;
use super::manifest::{self, Appended, Documents, Manifest};
use super::snapshot::VectorSide;
use super::text;
use super::text_folder::{sealed, unsealed};
use super::vectors::{Encoded, Sealed, VectorColumns};
use super::windows::{EncodedWindows, Extent, WindowColumns};
use crate::search_index::{IndexSettings, IndexedDocument};

/// Version of everything on disk. 2: rows, stored chunks, the commit and the settings have
/// checksums. Generations without windows are still written so.
const FORMAT: u32 = 2;
/// The version before, which becomes that one as it is written to.
const FORMAT_WITHOUT_SUMS: u32 = 1;
/// Of a generation that keeps windows: what does not know them would lose them.
const FORMAT_WITH_WINDOWS: u32 = 3;

const SETTINGS_FILE: &str = "settings.json";
/// The same once more: without its settings a generation could not be built again.
const SETTINGS_COPY: &str = "settings.copy.json";
const TEXT_FOLDER: &str = "text";

/// How the names of files beside the text index begin; the number of their epoch follows.
const OURS: [&str; 6] = [
    "bits-",
    "coarse-",
    "fine-",
    "windows-",
    "rows-",
    "manifest-",
];

/// Rows copied at once by a compaction.
const COPIED_BYTES: usize = 8 << 20;

/// Bytes of the file that tells whether there is room.
const PROBE_BYTES: usize = 4 << 20;

/// The payload of tantivy's commit: how much of the other files is valid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// Version of everything on disk.
    pub format: u32,
    /// Files of another epoch are left-overs.
    pub epoch: u64,
    /// Rows of every vector file.
    pub rows: usize,
    /// Number of the next row; numbers are never used again.
    pub next_number: u64,
    /// Bytes of the manifest.
    pub manifest_bytes: u64,
    /// Records of the one-bit codes; none for fewer rows than the configuration asks for.
    pub prefilter_groups: Option<usize>,
    /// CRC-32 of the row numbers; none in a commit of before.
    #[serde(default)]
    pub numbers_crc: Option<u32>,
    /// Windows of all rows.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub windows: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The version in which a generation with these settings is written.
pub fn format(settings: &IndexSettings) -> u32 {
    if settings.windows {
        FORMAT_WITH_WINDOWS
    } else {
        FORMAT
    }
}

#[derive(Serialize, Deserialize)]
struct StoredSettings {
    format: u32,
    settings: IndexSettings,
}

/// CRC-32 of row numbers of which none are there.
pub const EMPTY_CRC: u32 = 0;

impl Commit {
    fn first() -> Self {
        Self {
            format: FORMAT,
            epoch: 0,
            rows: 0,
            next_number: 0,
            manifest_bytes: manifest::EMPTY_BYTES,
            prefilter_groups: None,
            numbers_crc: Some(EMPTY_CRC),
            windows: 0,
        }
    }

    fn sealed(&self) -> Sealed {
        // A generation of before that was never committed has no rows and no file of checksums.
        if self.format == FORMAT_WITHOUT_SUMS || self.rows == 0 {
            Sealed::Before
        } else {
            Sealed::Yes
        }
    }

    /// The last commit of a text index.
    pub fn read(index: &Index) -> Result<Self> {
        let metas = index
            .load_metas()
            .map_err(|error| text::failure("cannot read the last commit", &error))?;
        let Some(payload) = metas.payload else {
            return Ok(Self::first());
        };
        let commit: Self = serde_json::from_str(&payload).map_err(|error| {
            Error::new(
                ErrorKind::Corrupt,
                format!("the last commit cannot be read: {error}"),
            )
        })?;
        check_format(commit.format)?;
        Ok(commit)
    }

    /// As tantivy stores it.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| {
            Error::new(
                ErrorKind::Internal,
                format!("cannot write a commit: {error}"),
            )
        })
    }
}

fn check_format(format: u32) -> Result<()> {
    if (FORMAT_WITHOUT_SUMS..=FORMAT_WITH_WINDOWS).contains(&format) {
        return Ok(());
    }
    let message = format!(
        "the index was written in format {format}, this version reads {FORMAT_WITHOUT_SUMS} to {FORMAT_WITH_WINDOWS}"
    );
    Err(Error::new(ErrorKind::Conflict, message)
        .with_hint("run the version that wrote it, or reindex into a new data folder"))
}

/// The files beside the text index, for writing.
pub struct Files {
    coarse: VectorColumns,
    fine: Option<VectorColumns>,
    windows: Option<WindowColumns>,
    numbers: Column,
    numbers_crc: crc32fast::Hasher,
    manifest: Manifest,
    bits: Option<BitColumn>,
}

/// Rows encoded and not yet written.
#[derive(Default)]
pub struct EncodedRows {
    /// Coarse vectors.
    pub coarse: Encoded,
    /// Fine vectors; none where they are shared.
    pub fine: Encoded,
    /// Windows; none where they are not kept.
    pub windows: EncodedWindows,
    /// Row numbers.
    pub numbers: Vec<u8>,
}

impl EncodedRows {
    fn bytes(&self) -> usize {
        self.coarse.bytes() + self.fine.bytes() + self.windows.bytes()
    }
}

impl Files {
    /// Creates empty files of an epoch.
    pub fn create(folder: &Path, settings: &IndexSettings, epoch: u64) -> Result<Self> {
        let fine = (!settings.shared_vectors)
            .then(|| VectorColumns::create(folder, &name("fine", epoch), settings.fine_dimensions));
        let windows = settings.windows.then(|| {
            let dimensions = settings.window_dimensions();
            WindowColumns::create(folder, &name("windows", epoch), dimensions)
        });
        Ok(Self {
            coarse: VectorColumns::create(
                folder,
                &name("coarse", epoch),
                settings.coarse_dimensions,
            )?,
            fine: fine.transpose()?,
            windows: windows.transpose()?,
            numbers: Column::create(&numbers_path(folder, epoch), 8, 0)?,
            numbers_crc: crc32fast::Hasher::new(),
            manifest: Manifest::create(&manifest_path(folder, epoch))?,
            bits: None,
        })
    }

    /// Opens the files of a commit and cuts what lies behind it.
    pub fn open(
        folder: &Path,
        settings: &IndexSettings,
        commit: &Commit,
    ) -> Result<(Self, Documents)> {
        let (epoch, rows, sealed) = (commit.epoch, commit.rows, commit.sealed());
        let open = |field: &str, dimensions| {
            VectorColumns::open(folder, &name(field, epoch), dimensions, rows, sealed)
        };
        let fine = (!settings.shared_vectors).then(|| open("fine", settings.fine_dimensions));
        let extent = Extent {
            rows,
            windows: commit.windows,
        };
        let windows = settings.windows.then(|| {
            let dimensions = settings.window_dimensions();
            WindowColumns::open(folder, &name("windows", epoch), dimensions, extent)
        });
        let (manifest, documents) =
            Manifest::open(&manifest_path(folder, epoch), commit.manifest_bytes)?;
        let numbers = Column::open(&numbers_path(folder, epoch), 8, 0, rows)?;
        let files = Self {
            numbers_crc: check_numbers(
                &numbers_path(folder, epoch),
                numbers.map().bytes(0..rows),
                commit,
            )?,
            bits: open_bits(folder, settings, commit),
            coarse: open("coarse", settings.coarse_dimensions)?,
            fine: fine.transpose()?,
            windows: windows.transpose()?,
            numbers,
            manifest,
        };
        Ok((files, documents))
    }

    /// Appends and makes durable.
    pub fn append(
        &mut self,
        rows: &EncodedRows,
        records: &[IndexedDocument],
    ) -> Result<Vec<Appended>> {
        if !rows.numbers.is_empty() {
            self.append_rows(rows)?;
            self.sync_vectors()?;
        }
        let appended = self.manifest.append(records)?;
        if !records.is_empty() {
            self.manifest.sync()?;
        }
        Ok(appended)
    }

    fn sync_vectors(&self) -> Result<()> {
        self.coarse.sync()?;
        self.fine.as_ref().map_or(Ok(()), VectorColumns::sync)?;
        self.windows.as_ref().map_or(Ok(()), WindowColumns::sync)?;
        self.numbers.sync()
    }

    /// Makes everything durable.
    pub fn sync(&self) -> Result<()> {
        self.sync_vectors()?;
        self.manifest.sync()
    }

    /// Copies the rows that `is_alive`, with their numbers, from another epoch.
    pub fn copy_rows(&mut self, from: &VectorSide, is_alive: impl Fn(usize) -> bool) -> Result<()> {
        let mut copied = EncodedRows::default();
        for row in (0..from.coarse.rows()).filter(|row| is_alive(*row)) {
            copied.coarse.push_row(&from.coarse, row);
            if let Some(vectors) = &from.fine {
                copied.fine.push_row(vectors, row);
            }
            if let Some(windows) = &from.windows {
                copied.windows.push_row(windows, row);
            }
            let number = from.numbers.bytes(row..row + 1);
            copied.numbers.extend_from_slice(number);
            if copied.bytes() > COPIED_BYTES {
                self.append_rows(&std::mem::take(&mut copied))?;
            }
        }
        self.append_rows(&copied)
    }

    fn append_rows(&mut self, rows: &EncodedRows) -> Result<()> {
        self.coarse.append(&rows.coarse)?;
        if let Some(columns) = &mut self.fine {
            columns.append(&rows.fine)?;
        }
        if let Some(columns) = &mut self.windows {
            columns.append(&rows.windows)?;
        }
        self.numbers.append(&rows.numbers)?;
        self.numbers_crc.update(&rows.numbers);
        Ok(())
    }

    /// CRC-32 of all row numbers.
    pub fn numbers_crc(&self) -> u32 {
        self.numbers_crc.clone().finalize()
    }

    /// Takes over a manifest that was written in its place.
    pub fn set_manifest(&mut self, manifest: Manifest) {
        self.manifest = manifest;
    }

    /// The reading side of the vectors.
    pub fn vector_side(&self) -> VectorSide {
        let fine = self.fine.as_ref().map(VectorColumns::vectors);
        let mut coarse = self.coarse.vectors();
        if let Some(column) = &self.bits {
            coarse.set_bits(column.bits());
        }
        VectorSide {
            coarse,
            fine,
            windows: self.windows.as_ref().map(WindowColumns::windows),
            numbers: self.numbers.map(),
        }
    }

    /// Encodes committed rows for the one-bit scan.
    pub fn extend_bits(&mut self, folder: &Path, epoch: u64) -> Result<()> {
        let vectors = self.coarse.vectors();
        let column = match self.bits.take() {
            Some(column) => column,
            None => BitColumn::create(folder, epoch, &vectors)?,
        };
        self.bits.insert(column).extend(&vectors)
    }

    /// Durable records of the one-bit codes.
    pub fn bit_groups(&self) -> Option<usize> {
        self.bits.as_ref().map(BitColumn::groups)
    }

    /// Windows of all rows appended.
    pub fn window_count(&self) -> usize {
        self.windows.as_ref().map_or(0, WindowColumns::count)
    }

    /// Rows appended.
    pub fn rows(&self) -> usize {
        self.numbers.records()
    }

    /// Bytes of the manifest.
    pub fn manifest_bytes(&self) -> u64 {
        self.manifest.length()
    }
}

/// Rows that are named by a wrong number would give chunks the vectors of others.
fn check_numbers(path: &Path, numbers: &[u8], commit: &Commit) -> Result<crc32fast::Hasher> {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(numbers);
    match commit.numbers_crc {
        Some(expected) if hasher.clone().finalize() != expected => Err(Error::new(
            ErrorKind::Corrupt,
            format!("the checksum of {} differs", path.display()),
        )),
        _ => Ok(hasher),
    }
}

/// The one-bit codes as far as they were durable before the commit. Without them queries are slower
/// and just as right.
fn open_bits(folder: &Path, settings: &IndexSettings, commit: &Commit) -> Option<BitColumn> {
    let groups = commit.prefilter_groups?;
    let opened = BitColumn::open(folder, commit.epoch, settings.coarse_dimensions, groups);
    opened
        .inspect_err(|error| tracing::warn!(error = %error, "one-bit codes are made again"))
        .ok()
}

/// Makes the folder of an empty generation, durably.
pub fn create(folder: &Path, settings: &IndexSettings) -> Result<()> {
    let failed = |error: std::io::Error| {
        Error::io(format_args!("cannot create {}", folder.display()), &error)
    };
    std::fs::create_dir_all(text_folder(folder)).map_err(failed)?;
    text::create(&text_folder(folder))?;
    Files::create(folder, settings, 0)?.sync()?;
    let stored = StoredSettings {
        format: format(settings),
        settings: settings.clone(),
    };
    let json = serde_json::to_vec_pretty(&stored).map_err(|error| failed(error.into()))?;
    write_synced(&folder.join(SETTINGS_FILE), &sealed(&json)).map_err(failed)?;
    write_synced(&folder.join(SETTINGS_COPY), &sealed(&json)).map_err(failed)?;
    sync_folder(&text_folder(folder))?;
    sync_folder(folder)
}

/// What the generation in a folder was created with. Of the file and its copy a damaged or missing
/// one is written again.
pub fn read_settings(folder: &Path) -> Result<IndexSettings> {
    let (path, copy) = (folder.join(SETTINGS_FILE), folder.join(SETTINGS_COPY));
    match (parse_settings(&path), parse_settings(&copy)) {
        (Ok(settings), Ok(_)) => Ok(settings),
        (Ok(settings), Err(_)) => write_again(&path, &copy).map(|()| settings),
        (Err(error), Ok(settings)) if error.kind() == ErrorKind::Corrupt => {
            write_again(&copy, &path).map(|()| settings)
        }
        (Err(error), _) => Err(error),
    }
}

fn write_again(from: &Path, to: &Path) -> Result<()> {
    tracing::info!(path = %to.display(), "settings of a generation are written again from {}", from.display());
    let written = std::fs::read(from).and_then(|bytes| write_synced(to, &bytes));
    written.map_err(|error| Error::io(format_args!("cannot write {}", to.display()), &error))
}

fn parse_settings(path: &Path) -> Result<IndexSettings> {
    let damaged = |error: &dyn std::fmt::Display| {
        Error::new(
            ErrorKind::Corrupt,
            format!("{} cannot be read: {error}", path.display()),
        )
        .with_hint("restore the folder from a backup, or remove it and reindex")
    };
    let bytes = std::fs::read(path).map_err(|error| damaged(&error))?;
    let json = unsealed(&bytes).ok_or_else(|| damaged(&"its checksum differs"))?;
    let stored: StoredSettings = serde_json::from_slice(json).map_err(|error| damaged(&error))?;
    check_format(stored.format)?;
    Ok(stored.settings)
}

/// A writer with one thread and bounded memory.
pub fn text_writer(index: &Index, memory_mib: usize) -> tantivy::Result<IndexWriter> {
    let options = IndexWriterOptions::builder()
        .memory_budget_per_thread(memory_mib << 20)
        .num_worker_threads(1)
        .num_merge_threads(1)
        .build();
    let writer = index.writer_with_options(options)?;
    let mut policy = LogMergePolicy::default();
    policy.set_del_docs_ratio_before_merge(0.3);
    writer.set_merge_policy(Box::new(policy));
    Ok(writer)
}

/// Removes what an interrupted or finished compaction has left.
pub fn remove_other_epochs(folder: &Path, epoch: u64) -> Result<()> {
    let failed =
        |error: std::io::Error| Error::io(format_args!("cannot tidy {}", folder.display()), &error);
    let suffix = format!("-{epoch}");
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) else {
            continue;
        };
        let is_ours = OURS.iter().any(|prefix| stem.starts_with(prefix));
        if is_ours && !stem.ends_with(&suffix) {
            std::fs::remove_file(&path).map_err(failed)?;
        }
    }
    Ok(())
}

/// Files of a generation beside the text index that count in an epoch, with their names.
pub fn files_of(folder: &Path, epoch: u64) -> Result<Vec<(PathBuf, String)>> {
    let suffix = format!("-{epoch}");
    let counts = |name: &str| {
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        [SETTINGS_FILE, SETTINGS_COPY].contains(&name)
            || OURS.iter().any(|prefix| stem.starts_with(prefix)) && stem.ends_with(&suffix)
    };
    Ok(names_in(folder)?
        .into_iter()
        .filter(|name| counts(name))
        .map(|name| (folder.join(&name), name))
        .collect())
}

/// Names in a folder, sorted.
pub fn names_in(folder: &Path) -> Result<Vec<String>> {
    let failed =
        |error: std::io::Error| Error::io(format_args!("cannot list {}", folder.display()), &error);
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        Ok(entry?.file_name().to_string_lossy().into_owned())
    };
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .map_err(failed)?
        .map(name)
        .collect::<std::io::Result<_>>()
        .map_err(failed)?;
    names.sort();
    Ok(names)
}

/// Whether a file of a few megabytes finds no room.
pub fn is_disk_full(folder: &Path) -> bool {
    let path = folder.join("room.probe");
    let written = write_synced(&path, &vec![0; PROBE_BYTES]);
    let removed = std::fs::remove_file(&path);
    written
        .and(removed)
        .is_err_and(|error| Error::io("probe", &error).kind() == ErrorKind::Exhausted)
}

/// Writes a whole file and makes its content durable.
pub fn write_synced(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::Write;
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Makes creations, renames and removals in a folder durable.
pub fn sync_folder(folder: &Path) -> Result<()> {
    if cfg!(windows) {
        return Ok(());
    }
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| Error::io(format_args!("cannot sync {}", folder.display()), &error))
}

/// Bytes of the files in a folder and below.
pub fn folder_bytes(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => folder_bytes(&entry.path()),
        Ok(metadata) => metadata.len(),
        // Merged away while we looked.
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

/// Where the text index lies.
pub fn text_folder(folder: &Path) -> PathBuf {
    folder.join(TEXT_FOLDER)
}

/// Where the manifest of an epoch lies.
pub fn manifest_path(folder: &Path, epoch: u64) -> PathBuf {
    folder.join(format!("manifest-{epoch}.log"))
}

fn numbers_path(folder: &Path, epoch: u64) -> PathBuf {
    folder.join(format!("rows-{epoch}.numbers"))
}

fn name(field: &str, epoch: u64) -> String {
    format!("{field}-{epoch}")
}
