//! Conversion in processes of our own binary: whatever a document does to its converter, it costs
//! that document and nothing else.
//!
//! ```text
//! ConversionPool ── one request at a time ──► worker process (`serve`): confined, says how, converts, answers ──► ConversionPool
//! ```
//! A worker is reused, in a folder of its own that no other process can reach. One that takes too
//! long, too much memory or that dies is replaced, and its document fails with the reason; if the
//! worker had converted others before, whose remains may be to blame, a fresh one tries once more.
//! Where the system cannot confine a worker, no document reaches it: all of them wait, and
//! [`ConversionPool::confinement`] says why. [`ConversionPool`] is used by the ingest stage and by
//! `tributary convert`; [`serve`] is what the hidden verb `convert-worker` runs. A worker that
//! meets a presentation may ask the pool to have it drawn: [`become_program`], the hidden verb
//! `draw-worker`, is how LibreOffice is confined.

mod confinement;
mod folder;
mod pool;
mod process;
mod program;
mod protocol;
mod worker;

pub(crate) use confinement::ProgramBounds;
pub use confinement::{Confinement, Part};
pub use folder::WorkFolder;
pub use pool::{ConversionPool, Launch};
pub use program::become_program;
pub use worker::{Converter, serve, serve_with};
