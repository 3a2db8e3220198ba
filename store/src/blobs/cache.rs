//! A cache of texts that cost something to make, such as a model's: in the folder `cache` of the blob
//! store, under the hash of what each was made from. An entry may be gone, damaged or unreadable at
//! any time: whoever asks makes the text again. Nothing names entries, no collection of blobs
//! removes them, backups hold them.
//!
//! An entry is JSON: `{"hash": "<BLAKE3 of the text>", "text": "…"}`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use object_store::ObjectStoreExt;
use object_store::path::Path as ObjectPath;
use serde::{Deserialize, Serialize};
use tributary_schemas::{Error, ErrorKind, Result};

use super::{Blobs, failed, files};

/// Folder of the entries.
pub(crate) const FOLDER: &str = "cache";
/// Most bytes of an entry.
const MAXIMUM_BYTES: u64 = 1 << 20;
/// Longest time that reading one may take: something may lie in its place that never ends.
const READ_DEADLINE: Duration = Duration::from_secs(10);

#[derive(Serialize, Deserialize)]
struct Entry {
    hash: String,
    text: String,
}

impl Blobs {
    /// Caches a text durably, under the hash of what it was made from (64 hexadecimal digits).
    pub async fn cache(&self, key: &str, text: &str) -> Result<()> {
        self.check().await?;
        let entry = Entry {
            hash: hash(text),
            text: text.to_owned(),
        };
        let json = serde_json::to_vec(&entry).map_err(|error| {
            let message = format!("cannot encode a text: {error}");
            Error::new(ErrorKind::Internal, message)
        })?;
        let put = self.store.put(&entry_path(key), json.into()).await;
        put.map_err(|error| failed(key, error))?;
        Ok(())
    }

    /// The cached text; none where there is none that can be used. `Unavailable` while the store is
    /// away.
    pub async fn cached(&self, key: &str) -> Result<Option<String>> {
        let read = tokio::time::timeout(READ_DEADLINE, self.read_entry(key)).await;
        let json = match read {
            Ok(Ok(json)) => json,
            Ok(Err(object_store::Error::NotFound { .. })) => {
                self.check().await?;
                return Ok(None);
            }
            Ok(Err(_)) | Err(_) => {
                self.check().await?;
                Bytes::new()
            }
        };
        let entry: Option<Entry> = serde_json::from_slice(&json).ok();
        let whole = entry.filter(|entry| hash(&entry.text) == entry.hash);
        if whole.is_none() {
            tracing::warn!(key, "a cached text cannot be used and is made again");
        }
        Ok(whole.map(|entry| entry.text))
    }

    async fn read_entry(&self, key: &str) -> object_store::Result<Bytes> {
        let found = self.store.get(&entry_path(key)).await?;
        match found.meta.size > MAXIMUM_BYTES {
            true => Ok(Bytes::new()),
            false => found.bytes().await,
        }
    }
}

/// The files of all entries in a local folder of blobs, by key.
pub(crate) fn entries(blobs: &Path) -> Result<Vec<(String, PathBuf)>> {
    let folder = blobs.join(FOLDER);
    match folder.is_dir() {
        true => files(&folder),
        false => Ok(Vec::new()),
    }
}

/// Whether an entry says what it was written with. One that does not is made again by whoever asks.
pub(crate) fn is_whole(path: &Path) -> Result<bool> {
    if !path.is_file() {
        return Ok(false);
    }
    let failed = |error| Error::io(format!("reading {}", path.display()), &error);
    if std::fs::metadata(path).map_err(failed)?.len() > MAXIMUM_BYTES {
        return Ok(false);
    }
    let json = match std::fs::read(path) {
        Err(error) if super::is_of_the_disk(&error) => return Ok(false),
        read => read.map_err(failed)?,
    };
    let entry: Option<Entry> = serde_json::from_slice(&json).ok();
    Ok(entry.is_some_and(|entry| hash(&entry.text) == entry.hash))
}

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

fn entry_path(key: &str) -> ObjectPath {
    let (folder, name) = key.split_at_checked(2).unwrap_or(("00", key));
    ObjectPath::from_iter([FOLDER, folder, name])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_cannot_be_used_of_the_cache_is_as_if_it_were_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::local(folder.path()).unwrap();
        let key = hash("a section");
        assert_eq!(blobs.cached(&key).await.unwrap(), None);
        blobs.cache(&key, "a summary").await.unwrap();
        let cached = blobs.cached(&key).await.unwrap();
        assert_eq!(cached.as_deref(), Some("a summary"));
        assert!(files(folder.path()).unwrap().is_empty(), "it is no blob");
        let [(known, file)] = &entries(folder.path()).unwrap()[..] else {
            panic!("one text is cached");
        };
        assert_eq!(*known, key);
        assert!(is_whole(file).unwrap());
        let json = std::fs::read_to_string(file).unwrap();
        std::fs::write(file, json.replace("summary", "mummary")).unwrap();
        assert_eq!(blobs.cached(&key).await.unwrap(), None, "damaged");
        assert!(
            !is_whole(file).unwrap(),
            "and a look at all of them says so"
        );
        std::fs::write(file, vec![b' '; 2 << 20]).unwrap();
        assert_eq!(blobs.cached(&key).await.unwrap(), None, "far too long");
        std::fs::remove_file(file).unwrap();
        std::fs::create_dir(file).unwrap();
        assert_eq!(blobs.cached(&key).await.unwrap(), None, "no file");
    }
}
