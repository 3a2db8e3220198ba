//! What the HTTP interface needs to show pages of documents as pictures, and the pages that it still
//! has. The command line fills it with the confined processes that read documents, too.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use tributary_schemas::{ErrorKind, Result};

/// Draws pages of PDFs.
#[async_trait]
pub trait PageDrawing: Send + Sync {
    /// A page, counted from 1, as JPEG. `NotFound` for a page that the document does not have,
    /// `Corrupt`, `Invalid` or `Unsupported` for a document that cannot be drawn, `Unavailable`
    /// where nothing can, `Timeout` for a page that takes too long.
    async fn draw(&self, pdf: Bytes, page: u32) -> Result<Bytes>;
}

/// Bytes that a page counts beside its picture.
const ENTRY_BYTES: usize = 256;

/// Blob of the document and number of the page.
type Key = (String, u32);

/// Pages that were drawn, and why some cannot be: the newest, within a number of bytes.
pub struct DrawnPages {
    maximum_bytes: usize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    pages: HashMap<Key, Result<Bytes>>,
    /// The oldest first.
    order: VecDeque<Key>,
    bytes: usize,
}

impl DrawnPages {
    /// None yet.
    pub fn new(maximum_bytes: usize) -> Self {
        Self {
            maximum_bytes,
            kept: Mutex::default(),
        }
    }

    /// What came of a page, if it is still known.
    pub fn get(&self, key: &Key) -> Option<Result<Bytes>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.pages.get(key).cloned()
    }

    /// Keeps what came of a page, unless that may be otherwise the next time.
    pub fn put(&self, key: Key, drawn: &Result<Bytes>) {
        let cost = cost(drawn);
        if !is_lasting(drawn) || cost > self.maximum_bytes {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.pages.contains_key(&key) {
            return;
        }
        kept.pages.insert(key.clone(), drawn.clone());
        kept.order.push_back(key);
        kept.bytes += cost;
        while kept.bytes > self.maximum_bytes {
            let Some(oldest) = kept.order.pop_front() else {
                return;
            };
            let freed = kept.pages.remove(&oldest);
            kept.bytes -= freed.as_ref().map_or(0, self::cost);
        }
    }
}

fn cost(drawn: &Result<Bytes>) -> usize {
    ENTRY_BYTES + drawn.as_ref().map_or(0, Bytes::len)
}

/// Whether the document alone decides what comes of its page.
fn is_lasting(drawn: &Result<Bytes>) -> bool {
    drawn.as_ref().err().is_none_or(|error| {
        matches!(
            error.kind(),
            ErrorKind::NotFound | ErrorKind::Corrupt | ErrorKind::Invalid | ErrorKind::Unsupported
        )
    })
}

#[cfg(test)]
mod tests {
    use tributary_schemas::Error;

    use super::*;

    fn key(page: u32) -> Key {
        ("blob:a".to_owned(), page)
    }

    #[test]
    fn the_newest_pages_are_kept_within_the_bytes() {
        let pages = DrawnPages::new(2 * (ENTRY_BYTES + 10));
        let picture = Ok(Bytes::from_static(b"0123456789"));
        for page in 1..=3 {
            pages.put(key(page), &picture);
            pages.put(key(page), &picture);
        }
        let known = [1, 2, 3].map(|page| pages.get(&key(page)).is_some());
        assert_eq!(known, [false, true, true]);
        pages.put(key(4), &Ok(Bytes::from(vec![0; 10_000])));
        assert!(pages.get(&key(4)).is_none(), "larger than everything");
        assert!(pages.get(&key(3)).is_some());
    }

    #[test]
    fn what_may_be_otherwise_next_time_is_forgotten() {
        let pages = DrawnPages::new(10_000);
        let failed = |kind| Err(Error::new(kind, "not drawn"));
        pages.put(key(1), &failed(ErrorKind::Corrupt));
        pages.put(key(2), &failed(ErrorKind::Unavailable));
        assert!(pages.get(&key(1)).is_some_and(|drawn| drawn.is_err()));
        assert!(pages.get(&key(2)).is_none());
    }
}
