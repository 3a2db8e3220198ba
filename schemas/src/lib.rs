//! Every type that crosses a process boundary: log messages, HTTP bodies, index records, failures.
//! Used by every crate; uses none of ours. JSON Schemas in `schemas/json/` are generated from here
//! and checked by a test.

pub mod access;
pub mod api_entry;
pub mod ask;
pub mod attributes;
pub mod chunk;
pub mod code_entry;
pub mod code_search;
pub mod conversation;
pub mod dead_letter;
pub mod document;
pub mod edition;
pub mod error;
pub mod error_kind;
pub mod evaluation;
pub mod event;
pub mod external_step;
pub mod facets;
pub mod filter;
pub mod id;
pub mod json_schema;
pub mod judging;
pub mod limits;
pub mod listing;
pub mod near_duplicate;
pub mod picture;
pub mod reindex;
pub mod repair;
pub mod report;
pub mod review;
pub mod search;
pub mod set_contents;
pub mod set_status;
pub mod state;
pub mod strict;
pub mod table_query;
pub mod topic;
pub mod understanding;
pub mod unmet;
pub mod user_profile;
pub mod vector;
pub mod work;

pub use access::{Access, DocumentRights, Viewer};
pub use attributes::Attributes;
pub use chunk::{Chunk, ChunkKind, ChunkVectors, EmbeddedDocument, TaggedDocument};
pub use dead_letter::DeadLetter;
pub use document::{CleanDocument, DocumentEvent, DocumentHeader, ImageLink, Lineage, StageTime};
pub use edition::Edition;
pub use error::{Error, Result};
pub use error_kind::{Disposition, ErrorKind, Fault};
pub use filter::Filter;
pub use id::ChunkId;
pub use listing::DocumentSort;
pub use state::{DocumentState, Labels, Reconciliation, State};
pub use topic::Topic;
