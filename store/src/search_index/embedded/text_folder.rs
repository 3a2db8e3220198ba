//! The folder of the text index as tantivy sees it. tantivy writes `meta.json`, its commit point,
//! without a checksum and without making the new name durable; here it gets both.
//!
//! Layout of a small file (`meta.json`, `.managed.json`): the JSON, then `#crc32 ` and eight
//! hexadecimal digits of the CRC-32 of the JSON, each on a line of its own. Files of before have no
//! such line and are read as they are.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tantivy::Directory;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError};
use tantivy::directory::{
    DirectoryLock, FileHandle, Lock, MmapDirectory, WatchCallback, WatchHandle, WritePtr,
};

/// tantivy's commit point.
pub const META_FILE: &str = "meta.json";
/// tantivy's list of the files that it may remove.
pub const MANAGED_FILE: &str = ".managed.json";
const MARK: &[u8] = b"#crc32 ";
const DIGITS: usize = 8;

/// A directory whose small files have checksums, and whose commits are durable by name.
#[derive(Clone, Debug)]
pub struct TextFolder<D = MmapDirectory> {
    inner: D,
}

impl<D> TextFolder<D> {
    /// Over another directory.
    pub fn new(inner: D) -> Self {
        Self { inner }
    }
}

/// The content with its checksum.
pub fn sealed(content: &[u8]) -> Vec<u8> {
    let mut bytes = content.trim_ascii_end().to_vec();
    let checksum = crc32fast::hash(&bytes);
    bytes.extend(b"\n");
    bytes.extend(MARK);
    bytes.extend(format!("{checksum:0DIGITS$x}\n").as_bytes());
    bytes
}

/// The content without its checksum, `None` if that is wrong. Content of before has none.
pub fn unsealed(bytes: &[u8]) -> Option<&[u8]> {
    let Some(end) = bytes.len().checked_sub(MARK.len() + DIGITS + 2) else {
        return Some(bytes);
    };
    let (content, seal) = bytes.split_at_checked(end)?;
    let Some(digits) = seal
        .strip_prefix(b"\n")
        .and_then(|line| line.strip_prefix(MARK))
    else {
        return Some(bytes);
    };
    (digits == format!("{:0DIGITS$x}\n", crc32fast::hash(content)).as_bytes()).then_some(content)
}

/// Makes a damaged list of files anew from what lies in the folder: it only says what tantivy may
/// remove once no commit names it.
pub fn mend_list(folder: &Path) -> io::Result<()> {
    let path = folder.join(MANAGED_FILE);
    match std::fs::read(&path) {
        Ok(bytes) if !is_list(&bytes) => {}
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => return Ok(()),
    }
    tracing::warn!(path = %path.display(), "a damaged list of files is made anew");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            names.push(name);
        }
    }
    std::fs::write(&path, sealed(&serde_json::to_vec(&names)?))
}

fn is_list(bytes: &[u8]) -> bool {
    unsealed(bytes).is_some_and(|content| serde_json::from_slice::<Vec<String>>(content).is_ok())
}

impl<D: Directory + Clone> Directory for TextFolder<D> {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.inner.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.inner.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.inner.exists(path)
    }

    fn open_write(
        &self,
        path: &Path,
    ) -> Result<WritePtr, tantivy::directory::error::OpenWriteError> {
        self.inner.open_write(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let bytes = self.inner.atomic_read(path)?;
        let damaged = || {
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("the checksum of {} differs", path.display()),
            )
        };
        let content = unsealed(&bytes)
            .ok_or_else(|| OpenReadError::wrap_io_error(damaged(), path.to_path_buf()))?;
        Ok(content.to_vec())
    }

    fn atomic_write(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        self.inner.atomic_write(path, &sealed(content))?;
        // Positions of the log are committed after this, and a merge removes what the older commit
        // names.
        if path == Path::new(META_FILE) {
            self.inner.sync_directory()
        } else {
            Ok(())
        }
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.inner.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.inner.acquire_lock(lock)
    }

    fn watch(&self, watch_callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.inner.watch(watch_callback)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Mutex;

    use tantivy::directory::RamDirectory;
    use tantivy::schema::{STORED, Schema, TEXT};
    use tantivy::{Index, IndexSettings, IndexWriter, TantivyDocument};

    use super::*;

    /// A directory that notes when names change and when they become durable.
    #[derive(Clone, Debug, Default)]
    struct Noting {
        inner: RamDirectory,
        events: Arc<Mutex<Vec<&'static str>>>,
    }

    impl Directory for Noting {
        fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
            self.inner.get_file_handle(path)
        }

        fn delete(&self, path: &Path) -> Result<(), DeleteError> {
            self.inner.delete(path)
        }

        fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
            self.inner.exists(path)
        }

        fn open_write(
            &self,
            path: &Path,
        ) -> Result<WritePtr, tantivy::directory::error::OpenWriteError> {
            self.inner.open_write(path)
        }

        fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
            self.inner.atomic_read(path)
        }

        fn atomic_write(&self, path: &Path, content: &[u8]) -> io::Result<()> {
            self.events
                .lock()
                .unwrap()
                .push(if path == Path::new(META_FILE) {
                    "commit"
                } else {
                    "other"
                });
            self.inner.atomic_write(path, content)
        }

        fn sync_directory(&self) -> io::Result<()> {
            self.events.lock().unwrap().push("sync");
            self.inner.sync_directory()
        }

        fn watch(&self, watch_callback: WatchCallback) -> tantivy::Result<WatchHandle> {
            self.inner.watch(watch_callback)
        }
    }

    #[test]
    fn the_name_of_each_commit_is_made_durable_at_once() {
        let noting = Noting::default();
        let mut builder = Schema::builder();
        let field = builder.add_text_field("text", TEXT | STORED);
        let directory: Box<dyn Directory> = Box::new(TextFolder::new(noting.clone()));
        let index = Index::create(directory, builder.build(), IndexSettings::default()).unwrap();
        let mut writer: IndexWriter = index.writer_with_num_threads(1, 16 << 20).unwrap();
        for _ in 0..2 {
            let mut document = TantivyDocument::default();
            document.add_text(field, "a");
            writer.add_document(document).unwrap();
            writer.commit().unwrap();
        }
        let events = noting.events.lock().unwrap().clone();
        let commits: Vec<usize> = (0..events.len())
            .filter(|at| events[*at] == "commit")
            .collect();
        assert!(
            commits.len() >= 3 && commits.iter().all(|at| events.get(at + 1) == Some(&"sync")),
            "{events:?}"
        );
    }

    #[test]
    fn a_flipped_bit_never_gives_other_content() {
        let bytes = sealed(b"{\"a\":1}");
        assert_eq!(unsealed(&bytes), Some(&b"{\"a\":1}"[..]));
        assert_eq!(unsealed(b"{\"a\":1}\n"), Some(&b"{\"a\":1}\n"[..]));
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let read = unsealed(&damaged)
                .and_then(|content| serde_json::from_slice::<serde_json::Value>(content).ok());
            assert_eq!(read, None, "bit {bit}");
        }
    }
}
