//! Content-addressed bodies that are too large for a log record, in any store that `object_store` speaks to.
//! A blob's URL is `blob:<64 hexadecimal digits>`, the BLAKE3 hash of its bytes: writing twice changes nothing.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore, ObjectStoreExt};
use tributary_schemas::{Error, ErrorKind, Result};

const SCHEME: &str = "blob:";

/// Keeps and returns blobs.
#[derive(Clone, Debug)]
pub struct Blobs {
    store: Arc<dyn ObjectStore>,
}

impl Blobs {
    /// Blobs where `url` says (`file:///…`), or in `default` for an empty one.
    pub fn open(url: &str, default: &Path) -> Result<Self> {
        match url.strip_prefix("file://") {
            Some(path) if path.starts_with('/') => Self::local(Path::new(path)),
            None if url.is_empty() => Self::local(default),
            _ => Err(Error::new(ErrorKind::Unsupported, format!("store.blobs.url `{url}` is no place for bodies"))
                .with_hint("use file:///… with a folder that every process reaches, or leave it empty")),
        }
    }

    /// Blobs in a local folder, which is created; written durably.
    pub fn local(folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(|error| Error::io(format!("cannot create {}", folder.display()), &error))?;
        let store = LocalFileSystem::new_with_prefix(folder)
            .map_err(|error| Error::new(ErrorKind::Internal, format!("cannot open blobs in {}: {error}", folder.display())))?;
        Ok(Self::new(Arc::new(store.with_fsync(true))))
    }

    /// Blobs in the given store.
    pub fn new(store: Arc<dyn ObjectStore>) -> Self {
        Self { store }
    }

    /// Keeps the bytes durably and returns their URL.
    pub async fn put(&self, bytes: Bytes) -> Result<String> {
        let hash = blake3::hash(&bytes).to_hex().to_string();
        let path = object_path(&hash);
        if self.store.head(&path).await.is_ok_and(|found| found.size == bytes.len() as u64) {
            return Ok(format!("{SCHEME}{hash}"));
        }
        self.store.put(&path, bytes.into()).await.map_err(|error| failed(&hash, error))?;
        Ok(format!("{SCHEME}{hash}"))
    }

    /// The bytes behind a URL. `Invalid` for another kind of URL, `NotFound`, or `Corrupt` when the bytes do not match their hash.
    pub async fn get(&self, url: &str) -> Result<Bytes> {
        let hash = parse(url)?;
        let found = self.store.get(&object_path(hash)).await.map_err(|error| failed(hash, error))?;
        let bytes = found.bytes().await.map_err(|error| failed(hash, error))?;
        if blake3::hash(&bytes).to_hex().as_str() != hash {
            return Err(Error::new(ErrorKind::Corrupt, format!("blob {hash} does not match its hash")));
        }
        Ok(bytes)
    }
}

fn parse(url: &str) -> Result<&str> {
    let hash = url.strip_prefix(SCHEME).unwrap_or_default();
    if hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase()) {
        return Ok(hash);
    }
    Err(Error::new(ErrorKind::Invalid, format!("`{url}` is no blob reference")).with_hint("a reference is blob: and 64 hexadecimal digits"))
}

/// Two levels of folders keep listings short.
fn object_path(hash: &str) -> ObjectPath {
    let (folder, name) = hash.split_at_checked(2).unwrap_or(("00", hash));
    ObjectPath::from_iter([folder, name])
}

fn failed(hash: &str, error: object_store::Error) -> Error {
    let message = format!("blob {hash}: {error}");
    match error {
        object_store::Error::NotFound { .. } => Error::new(ErrorKind::NotFound, message),
        object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => {
            Error::new(ErrorKind::Denied, message)
        }
        object_store::Error::Generic { source, .. } => match io_error(source.as_ref()) {
            Some(io) => Error::io(format!("blob {hash}"), io),
            None => Error::new(ErrorKind::Unavailable, message),
        },
        _ => Error::new(ErrorKind::Unavailable, message),
    }
}

/// The input/output error at the bottom of a chain, if there is one.
fn io_error<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a std::io::Error> {
    let mut current = Some(error);
    while let Some(error) = current {
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            return Some(io);
        }
        current = error.source();
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_blob_is_kept_once_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::local(folder.path()).unwrap();
        let url = blobs.put(Bytes::from_static(b"body")).await.unwrap();
        assert_eq!(blobs.put(Bytes::from_static(b"body")).await.unwrap(), url);
        assert_eq!(blobs.get(&url).await.unwrap(), "body");
    }

    #[test]
    fn only_a_folder_that_is_named_whole_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Blobs::open("", &folder.path().join("own")).is_ok());
        assert!(Blobs::open(&format!("file://{}/shared", folder.path().display()), folder.path()).is_ok());
        assert!(folder.path().join("shared").is_dir());
        for strange in ["file://relative", "/path", "s3://bucket", "file:"] {
            assert_eq!(Blobs::open(strange, folder.path()).unwrap_err().kind(), ErrorKind::Unsupported, "{strange}");
        }
    }

    #[tokio::test]
    async fn damage_absence_and_strange_urls_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::local(folder.path()).unwrap();
        let url = blobs.put(Bytes::from_static(b"body")).await.unwrap();
        let hash = url.strip_prefix("blob:").unwrap();
        let (first, rest) = hash.split_at(2);
        std::fs::write(folder.path().join(first).join(rest), "bodi").unwrap();
        assert_eq!(blobs.get(&url).await.unwrap_err().kind(), ErrorKind::Corrupt);
        let absent = format!("blob:{}", "0".repeat(64));
        assert_eq!(blobs.get(&absent).await.unwrap_err().kind(), ErrorKind::NotFound);
        for strange in ["", "blob:", "blob:../../etc/passwd", "file:///etc/passwd"] {
            assert_eq!(blobs.get(strange).await.unwrap_err().kind(), ErrorKind::Invalid);
        }
    }
}
