//! What a process that meets documents of strangers may not do: use more memory, time or files than
//! it is given, start programs, signal others, speak to the network, or open files that it does not
//! need. Resource limits hold on every Unix; system calls (`calls`, seccomp) and files (`files`,
//! Landlock) are restricted on Linux. Done once: before a process reads a document (`worker`), and
//! before it becomes another program (`program`). What the system lacks is reported, never
//! left out in silence: [`Confinement`].

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod files;
mod report;

use std::path::PathBuf;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

pub use self::report::{Confinement, Part};

/// What a worker is given.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    /// Address space in bytes.
    pub memory_bytes: u64,
    /// Largest file in bytes that it may write to its folder.
    pub file_bytes: u64,
    /// Folder for its temporary files, which no other process has.
    pub folder: PathBuf,
    /// Folders with libraries and models.
    pub readable: Vec<PathBuf>,
}

/// What another program is given.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ProgramBounds {
    /// Address space in bytes of each of its processes.
    pub memory_bytes: u64,
    /// Largest file in bytes that it may write to its folder.
    pub file_bytes: u64,
    /// Processor time in seconds of each of its processes.
    pub processor_seconds: u64,
    /// Folder that it may write to, which no other process has.
    pub folder: PathBuf,
    /// Folders that it may read beside the system's libraries, fonts and their settings.
    pub readable: Vec<PathBuf>,
}

/// Files that may be open at the same time.
const OPEN_FILES: u64 = 128;
/// The same for another program.
const PROGRAM_OPEN_FILES: u64 = 1024;

/// Confines this process for good, and says how.
pub(super) fn confine(bounds: &Bounds) -> Confinement {
    let mut report = Confinement::default();
    limit_resources(
        bounds.memory_bytes,
        bounds.file_bytes,
        OPEN_FILES,
        &mut report,
    );
    restrict_worker(bounds, &mut report);
    report
}

/// Confines what this process is about to become for good, and says how.
pub(super) fn confine_program(bounds: &ProgramBounds) -> Confinement {
    let mut report = Confinement::default();
    limit_resources(
        bounds.memory_bytes,
        bounds.file_bytes,
        PROGRAM_OPEN_FILES,
        &mut report,
    );
    allow_processor_time(bounds.processor_seconds);
    restrict_program(bounds, &mut report);
    report
}

fn limit_resources(memory_bytes: u64, file_bytes: u64, open_files: u64, report: &mut Confinement) {
    let limits = [
        ("memory", Resource::As, memory_bytes),
        ("core dumps", Resource::Core, 0),
        ("file size", Resource::Fsize, file_bytes),
        ("open files", Resource::Nofile, open_files),
    ];
    for (what, resource, value) in limits {
        // A limit that is lower already stays: it cannot be raised.
        let value = getrlimit(resource)
            .maximum
            .map_or(value, |maximum| maximum.min(value));
        let limit = Rlimit {
            current: Some(value),
            maximum: Some(value),
        };
        if let Err(error) = setrlimit(resource, limit) {
            report.miss(Part::Limits, format!("limit of {what}: {error}"));
        }
    }
    report.enforce(Part::Limits, "memory, file size and open files are limited");
}

/// Lets the process use so many seconds of processor time from now on; beyond them it is ended by a
/// signal.
pub(super) fn allow_processor_time(seconds: u64) {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime).tv_sec;
    let end = u64::try_from(used)
        .unwrap_or(0)
        .saturating_add(seconds)
        .saturating_add(1);
    let limit = Rlimit {
        current: Some(end),
        maximum: None,
    };
    if let Err(error) = setrlimit(Resource::Cpu, limit) {
        tracing::debug!(%error, "processor time is not limited");
    }
}

/// Ctrl-C and a service manager's SIGTERM reach every process of a group; a worker ends when its
/// input does, after what it is doing.
#[cfg(target_os = "linux")]
pub(super) fn ignore_requests_to_end() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: no handler is installed, and this process has one thread so far.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Elsewhere such a document is tried again.
#[cfg(not(target_os = "linux"))]
pub(crate) fn ignore_requests_to_end() {}

#[cfg(target_os = "linux")]
fn restrict_worker(bounds: &Bounds, report: &mut Confinement) {
    // It ends with its parent because its input does: a signal at the parent's death would come
    // when the starting thread ends.
    restrict(&files::of_worker(bounds), &calls::of_worker(), report);
}

#[cfg(target_os = "linux")]
fn restrict_program(bounds: &ProgramBounds, report: &mut Confinement) {
    restrict(&files::of_program(bounds), &calls::of_program(), report);
}

#[cfg(target_os = "linux")]
fn restrict(files: &files::Files, calls: &calls::Calls, report: &mut Confinement) {
    if let Err(error) = rustix::thread::set_no_new_privs(true) {
        report.miss(
            Part::Calls,
            format!("rights may be gained by starting programs: {error}"),
        );
    }
    match files::restrict(files) {
        Ok(how) => report.enforce(Part::Files, how),
        Err(error) => report.miss(
            Part::Files,
            format!("access to files and sockets is not restricted (Landlock): {error}"),
        ),
    }
    match calls::restrict(calls) {
        Ok(how) => report.enforce(Part::Calls, how),
        Err(error) => report.miss(
            Part::Calls,
            format!("system calls are not restricted (seccomp): {error}"),
        ),
    }
}

#[cfg(not(target_os = "linux"))]
fn restrict_worker(_bounds: &Bounds, report: &mut Confinement) {
    report.miss(Part::Files, "access to files is restricted on Linux only");
    report.miss(Part::Calls, "system calls are restricted on Linux only");
}

#[cfg(not(target_os = "linux"))]
fn restrict_program(_bounds: &ProgramBounds, report: &mut Confinement) {
    report.miss(Part::Files, "access to files is restricted on Linux only");
    report.miss(Part::Calls, "system calls are restricted on Linux only");
}
