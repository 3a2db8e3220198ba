//! Where roots are remembered: read, and replaced as a whole under a lock.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tributary_schemas::{Error, ErrorKind};
use tributary_store::data_folder;

use super::{Remembered, Roots};
use crate::args::Global;
use crate::client::base_of;
use crate::config::Config;

const FOLDER: &str = "publishing";
pub(super) const FORMAT: u32 = 1;

impl Roots {
    /// Reads what is remembered; nothing is, where nothing was published yet.
    pub fn of(global: &Global, config: &Config, source: &str) -> Result<Self> {
        let data_folder = Path::new(&config.store.data_folder);
        Self::open(data_folder, foreign_server(global, data_folder), source)
    }

    /// The same for the server of this data folder.
    pub fn of_own_server(config: &Config, source: &str) -> Result<Self> {
        Self::open(Path::new(&config.store.data_folder), None, source)
    }

    fn open(data_folder: &Path, server: Option<String>, source: &str) -> Result<Self> {
        let key = format!("{}\n{source}", server.as_deref().unwrap_or_default());
        let name: String = blake3::hash(key.as_bytes())
            .to_hex()
            .chars()
            .take(32)
            .collect();
        let mut roots = Self {
            file: data_folder.join(FOLDER).join(format!("{name}.json")),
            remembered: Remembered {
                format: FORMAT,
                source: source.to_owned(),
                server,
                ..Remembered::default()
            },
        };
        roots.read()?;
        Ok(roots)
    }

    /// What is remembered of all sources of this server. A file that cannot be read is passed over:
    /// publishing its source says so.
    pub fn all(global: &Global, config: &Config) -> Vec<Self> {
        let data_folder = Path::new(&config.store.data_folder);
        let server = foreign_server(global, data_folder);
        let files = fs::read_dir(data_folder.join(FOLDER)).into_iter().flatten();
        let mut all: Vec<Self> = files
            .filter_map(|entry| Self::of_file(entry.ok()?.path()))
            .filter(|roots| roots.remembered.server == server)
            .collect();
        all.sort_by(|left, right| left.source().cmp(right.source()));
        all
    }

    fn of_file(file: PathBuf) -> Option<Self> {
        if file.extension()? != "json" {
            return None;
        }
        let mut roots = Self {
            file,
            remembered: Remembered::default(),
        };
        roots.read().ok()?;
        Some(roots)
    }

    pub(super) fn read(&mut self) -> Result<()> {
        let bytes = match fs::read(&self.file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            read => read.with_context(|| format!("cannot read {}", self.file.display()))?,
        };
        let remembered: Remembered = serde_json::from_slice(&bytes)
            .map_err(|error| self.unreadable(&format!("is damaged: {error}")))?;
        if remembered.format != FORMAT {
            return Err(self.unreadable("was written by a newer tributary").into());
        }
        self.remembered = remembered;
        Ok(())
    }

    fn unreadable(&self, what: &str) -> Error {
        Error::new(
            ErrorKind::Corrupt,
            format!("{} {what}", self.file.display()),
        )
        .with_hint("remove it: then paths are relative to what is named, until a folder or --root is published")
    }

    /// What another process wrote meanwhile is kept.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut Remembered)) -> Result<()> {
        let failed = || format!("cannot write {}", self.file.display());
        let folder = self.file.parent().unwrap_or(Path::new("."));
        if let Some(data_folder) = folder.parent() {
            data_folder::create(data_folder)?;
        }
        fs::create_dir_all(folder).with_context(failed)?;
        let lock = File::create(folder.join("lock")).with_context(failed)?;
        lock.lock().with_context(failed)?;
        self.read()?;
        let before = self.remembered.clone();
        change(&mut self.remembered);
        if self.remembered != before {
            replace(&self.file, &serde_json::to_vec(&self.remembered)?)
                .with_context(|| format!("cannot write {}", self.file.display()))?;
        }
        Ok(())
    }
}

/// The address that was given, unless the server there runs on this data folder.
fn foreign_server(global: &Global, data_folder: &Path) -> Option<String> {
    let given = base_of(global.server.as_deref()?);
    let own = data_folder::running_server(data_folder);
    let is_own = own.is_some_and(|server| server.url == given);
    (!is_own).then_some(given)
}

/// A crash leaves the old content or the new one.
fn replace(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let draft = file.with_extension("tmp");
    let mut written = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .open(&draft)?;
    written.write_all(bytes)?;
    written.sync_all()?;
    fs::rename(&draft, file)
}
