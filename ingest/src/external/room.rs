//! Room in memory for the texts that wait for services.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tributary_schemas::{Error, ErrorKind, Result};

/// What one permit stands for.
const UNIT_BYTES: usize = 1024;

/// The room of one stage.
#[derive(Debug)]
pub(crate) struct Room {
    free: Arc<Semaphore>,
    units: u32,
}

impl Room {
    /// For so many bytes; a longer text is let in alone.
    pub fn new(bytes: usize) -> Self {
        let maximum = u32::try_from(Semaphore::MAX_PERMITS).unwrap_or(u32::MAX);
        let units = u32::try_from(bytes / UNIT_BYTES).unwrap_or(maximum);
        let units = units.clamp(1, maximum);
        Self {
            free: Arc::new(Semaphore::new(units as usize)),
            units,
        }
    }

    /// Waits for room for so many bytes; it is free again when this is dropped.
    pub async fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit> {
        let units = u32::try_from(bytes / UNIT_BYTES + 1).unwrap_or(u32::MAX);
        let taken = Arc::clone(&self.free).acquire_many_owned(units.min(self.units));
        taken
            .await
            .map_err(|_| Error::new(ErrorKind::Unavailable, "ingest is shutting down"))
    }
}
