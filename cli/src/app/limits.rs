//! What the system allows a process, where its defaults are not meant for servers.

use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};

/// As many as a busy server needs; some programs that inherit the limit go through all numbers
/// below it.
const OPEN_FILES: u64 = 65_536;

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

/// A file over the size that this process may write then fails to be written, and work waits for
/// that to change; by itself this signal ends the process. Called within the runtime.
pub fn outlive_file_sizes() {
    if let Err(error) = signal(SignalKind::from_raw(Signal::XFSZ.as_raw())) {
        tracing::debug!(%error, "a limit of file sizes ends the process");
    }
}
