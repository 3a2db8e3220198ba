//! Where things are kept: the event log, the search index, blobs, and the manifests of documents. Traits with an embedded
//! implementation each; nothing above this crate knows which one runs.

pub mod event_log;
pub mod manifest;
pub mod search_index;

pub use tributary_schemas::{Error, Result};
