//! `documents.raw` → `documents.clean`: conversion, cleaners per source, fingerprints.
//! [`process::IngestStage`] is the stage that the worker loop runs, [`SourceCleaning`] the part of
//! it that source profiles steer.
//!
//! A document of which nothing is left after cleaning is reported as skipped and, because its newer
//! version has no content, followed by a tombstone that removes the chunks of an older one.

pub mod attributes;
pub mod boilerplate;
pub mod cleaners;
pub mod config;
pub mod external;
pub mod fingerprint;
mod language;
mod lost_headings;
pub mod process;
pub mod similarity;
pub mod source_cleaning;
#[cfg(test)]
mod test_config;

pub use config::Config;
pub use external::ExternalSteps;
pub use process::{IngestParts, IngestStage, LaterSettings};
pub use source_cleaning::SourceCleaning;

use tributary_schemas::{Error, ErrorKind, Result};

/// Runs work that takes processor time or waits.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("conversion did not finish: {error}"),
        )
    })?
}
