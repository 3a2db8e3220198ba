//! What the system allows a process, where its defaults are not meant for servers.

use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};
use tributary_schemas::error::MORE_HANDLES;
use tributary_schemas::{Error, ErrorKind, Result};

/// As many as a busy server needs; some programs that inherit the limit go through all numbers
/// below it.
const OPEN_FILES: u64 = 65_536;

/// Fewest with which a server starts, and fewest with which it does so without a word.
const MINIMUM_OPEN_FILES: u64 = 128;
pub const FEW_OPEN_FILES: u64 = 1024;

/// Takes as many file handles as this process may have without asking anybody: the usual 1 024 are
/// a thousand connections.
pub fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit
        .maximum
        .map_or(OPEN_FILES, |maximum| maximum.min(OPEN_FILES));
    if limit.current.is_some_and(|current| current < wanted)
        && let Err(error) = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(wanted),
                maximum: limit.maximum,
            },
        )
    {
        tracing::debug!(%error, "the limit of file handles stays as it is");
    }
}

/// Refuses to start with fewer file handles than log, index and a few connections need.
///
/// Errors: `Exhausted`.
pub fn check_open_files() -> Result<()> {
    let Some(handles) = getrlimit(Resource::Nofile).current else {
        return Ok(());
    };
    if handles < MINIMUM_OPEN_FILES {
        let message = format!(
            "this process may have {handles} file handles at a time, fewer than the {MINIMUM_OPEN_FILES} that it needs"
        );
        return Err(Error::new(ErrorKind::Exhausted, message).with_hint(MORE_HANDLES));
    }
    if handles < FEW_OPEN_FILES {
        tracing::warn!(handles, "few file handles: {MORE_HANDLES}");
    }
    Ok(())
}

/// Connections that each of `workers` may have of those that are `wanted`: half of the file handles
/// are left to log, index and models, so that whoever only holds connections stops no work.
pub fn connections_per_worker(wanted: usize, workers: usize) -> usize {
    let Some(handles) = getrlimit(Resource::Nofile).current else {
        return wanted;
    };
    let allowed = share_of_handles(handles, workers);
    if allowed < wanted {
        tracing::info!(
            handles,
            wanted,
            allowed,
            "fewer connections per worker are accepted, as this process may have few file handles"
        );
    }
    wanted.min(allowed)
}

fn share_of_handles(handles: u64, workers: usize) -> usize {
    let handles = usize::try_from(handles).unwrap_or(usize::MAX);
    (handles / 2 / workers.max(1)).max(1)
}

/// A file over the size that this process may write then fails to be written, and work waits for
/// that to change; by itself this signal ends the process. Called within the runtime.
pub fn outlive_file_sizes() {
    if let Err(error) = signal(SignalKind::from_raw(Signal::XFSZ.as_raw())) {
        tracing::debug!(%error, "a limit of file sizes ends the process");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_handles_are_left_to_the_stores() {
        assert_eq!(share_of_handles(1024, 2), 256);
        assert_eq!(share_of_handles(20_000, 2), 5000);
        assert_eq!((share_of_handles(3, 4), share_of_handles(64, 0)), (1, 32));
    }
}
