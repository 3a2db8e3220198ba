//! What a worker process may not do: use more memory, time or files than it is given, start programs, signal others, speak to the
//! network, or open files that it needs not. Resource limits hold on every Unix; system calls and files are restricted on Linux
//! (seccomp, Landlock), as far as the kernel knows how. Called once by `worker`, before it reads anything, and by `program`, before the
//! process becomes another program: that one may start others and speak to itself over Unix sockets.

use std::path::PathBuf;

use rustix::process::{Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize};

/// What a worker is given.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// Address space in bytes.
    pub memory_bytes: u64,
    /// Largest file in bytes that it may write to the scratch folder.
    pub file_bytes: u64,
    /// Folder for temporary files.
    pub scratch: PathBuf,
    /// Folders with libraries and models.
    pub readable: Vec<PathBuf>,
}

/// What another program is given.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProgramBounds {
    /// Address space in bytes of each of its processes.
    pub memory_bytes: u64,
    /// Largest file in bytes that it may write to the scratch folder.
    pub file_bytes: u64,
    /// Processor time in seconds of each of its processes.
    pub processor_seconds: u64,
    /// Folder that it may write to.
    pub scratch: PathBuf,
    /// Folders that it may read beside the system's libraries, fonts and their settings.
    pub readable: Vec<PathBuf>,
}

/// Files that may be open at the same time.
const OPEN_FILES: u64 = 128;
/// The same for another program.
const PROGRAM_OPEN_FILES: u64 = 1024;
/// Where LibreOffice makes the socket by which it finds out that it runs already, whatever `TMPDIR` says.
pub const SOCKETS: &str = "/tmp";

/// Confines this process for good. What the system does not offer is left out and named.
pub fn confine(bounds: &Bounds) -> Vec<String> {
    let mut missing = Vec::new();
    limit_resources(bounds.memory_bytes, bounds.file_bytes, OPEN_FILES, &mut missing);
    restrict_system(bounds, &mut missing);
    missing
}

/// Confines what this process is about to become for good. What the system does not offer is left out and named.
pub fn confine_program(bounds: &ProgramBounds) -> Vec<String> {
    let mut missing = Vec::new();
    limit_resources(bounds.memory_bytes, bounds.file_bytes, PROGRAM_OPEN_FILES, &mut missing);
    allow_processor_time(bounds.processor_seconds);
    restrict_program(bounds, &mut missing);
    missing
}

fn limit_resources(memory_bytes: u64, file_bytes: u64, open_files: u64, missing: &mut Vec<String>) {
    let limits = [
        ("memory", Resource::As, memory_bytes),
        ("core dumps", Resource::Core, 0),
        ("file size", Resource::Fsize, file_bytes),
        ("open files", Resource::Nofile, open_files),
    ];
    for (what, resource, value) in limits {
        let limit = Rlimit { current: Some(value), maximum: Some(value) };
        if let Err(error) = setrlimit(resource, limit) {
            missing.push(format!("limit of {what}: {error}"));
        }
    }
}

/// Lets the process use so many seconds of processor time from now on; beyond them it is ended by a signal.
pub fn allow_processor_time(seconds: u64) {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime).tv_sec;
    let end = u64::try_from(used).unwrap_or(0).saturating_add(seconds).saturating_add(1);
    let limit = Rlimit { current: Some(end), maximum: None };
    if let Err(error) = setrlimit(Resource::Cpu, limit) {
        tracing::debug!(%error, "processor time is not limited");
    }
}

/// Ctrl-C and a service manager's SIGTERM reach every process of a group; a worker ends when its input does, after what it is doing.
#[cfg(target_os = "linux")]
pub fn ignore_requests_to_end() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: no handler is installed, and this process has one thread so far.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Elsewhere such a document is tried again.
#[cfg(not(target_os = "linux"))]
pub fn ignore_requests_to_end() {}

#[cfg(target_os = "linux")]
fn restrict_system(bounds: &Bounds, missing: &mut Vec<String>) {
    // It ends with its parent because its input does: a signal at the parent's death would come when the starting thread ends.
    let system = linux::SYSTEM.iter().map(PathBuf::from);
    let files = linux::Files { readable: system.chain(bounds.readable.iter().cloned()).collect(), scratch: &bounds.scratch, sockets: None };
    restrict(&files, linux::no_programs(), missing);
}

#[cfg(target_os = "linux")]
fn restrict_program(bounds: &ProgramBounds, missing: &mut Vec<String>) {
    let system = linux::SYSTEM.iter().chain(&linux::PROGRAMS).map(PathBuf::from);
    let readable = system.chain(bounds.readable.iter().cloned()).collect();
    let files = linux::Files { readable, scratch: &bounds.scratch, sockets: Some(std::path::Path::new(SOCKETS)) };
    restrict(&files, linux::no_network(), missing);
}

#[cfg(target_os = "linux")]
fn restrict(files: &linux::Files<'_>, calls: linux::Forbidden, missing: &mut Vec<String>) {
    if let Err(error) = rustix::thread::set_no_new_privs(true) {
        missing.push(format!("no new privileges: {error}"));
    }
    match linux::restrict_files(files) {
        Ok(true) => {}
        Ok(false) => missing.push("access to files: this kernel knows no Landlock".to_owned()),
        Err(error) => missing.push(format!("access to files: {error}")),
    }
    if let Err(error) = calls.and_then(linux::restrict_calls) {
        missing.push(format!("system calls: {error}"));
    }
}

#[cfg(not(target_os = "linux"))]
fn restrict_system(_bounds: &Bounds, missing: &mut Vec<String>) {
    missing.push("system calls and access to files: only on Linux".to_owned());
}

#[cfg(not(target_os = "linux"))]
fn restrict_program(_bounds: &ProgramBounds, missing: &mut Vec<String>) {
    missing.push("system calls and access to files: only on Linux".to_owned());
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;
    use std::error::Error;
    use std::path::{Path, PathBuf};

    use landlock::{ABI, Access, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus};
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
    };

    /// Calls that fail with "not permitted": always where they have no rules, else where one of the rules fits.
    pub type Forbidden = Result<BTreeMap<i64, Vec<SeccompRule>>, Box<dyn Error>>;

    /// Where shared libraries and what they read at their start lie.
    pub const SYSTEM: [&str; 8] =
        ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/proc/self", "/proc/cpuinfo", "/sys/devices/system/cpu", "/dev/urandom"];

    /// What another program reads beside: itself, fonts, and the settings of both.
    pub const PROGRAMS: [&str; 19] = [
        "/bin",
        "/usr/bin",
        "/usr/local/bin",
        "/usr/local/lib",
        "/usr/share",
        "/usr/local/share/fonts",
        "/var/cache/fontconfig",
        "/var/lib/libreoffice",
        "/var/spool/libreoffice",
        "/etc/alternatives",
        "/etc/fonts",
        "/etc/group",
        "/etc/ld.so.cache",
        "/etc/libreoffice",
        "/etc/locale.alias",
        "/etc/nsswitch.conf",
        "/etc/passwd",
        "/proc",
        "/dev/random",
    ];

    /// Files that may be used.
    pub struct Files<'a> {
        /// Folders and files that may be read.
        pub readable: Vec<PathBuf>,
        /// Folder that may be written to.
        pub scratch: &'a Path,
        /// Folder where sockets may be made.
        pub sockets: Option<&'a Path>,
    }

    /// Reading these, writing in the scratch folder and to nowhere, nothing else.
    pub fn restrict_files(files: &Files<'_>) -> Result<bool, RulesetError> {
        let abi = ABI::V3;
        let mut ruleset = Ruleset::default().handle_access(AccessFs::from_all(abi))?.create()?;
        // What is not there needs no rule.
        for path in files.readable.iter().filter_map(|path| PathFd::new(path).ok()) {
            ruleset = ruleset.add_rule(PathBeneath::new(path, AccessFs::from_read(abi)))?;
        }
        if let Ok(nowhere) = PathFd::new("/dev/null") {
            ruleset = ruleset.add_rule(PathBeneath::new(nowhere, AccessFs::ReadFile | AccessFs::WriteFile))?;
        }
        if let Ok(scratch) = PathFd::new(files.scratch) {
            ruleset = ruleset.add_rule(PathBeneath::new(scratch, AccessFs::from_all(abi)))?;
        }
        if let Some(sockets) = files.sockets.and_then(|path| PathFd::new(path).ok()) {
            ruleset = ruleset.add_rule(PathBeneath::new(sockets, AccessFs::MakeSock))?;
        }
        Ok(ruleset.restrict_self()?.ruleset != RulesetStatus::NotEnforced)
    }

    /// Forbids calls for good.
    pub fn restrict_calls(forbidden: BTreeMap<i64, Vec<SeccompRule>>) -> Result<(), Box<dyn Error>> {
        let arch = TargetArch::try_from(std::env::consts::ARCH)?;
        let refused = SeccompAction::Errno(libc::EPERM as u32);
        let program: BpfProgram = SeccompFilter::new(forbidden, SeccompAction::Allow, refused, arch)?.try_into()?;
        Ok(seccompiler::apply_filter(&program)?)
    }

    /// What no converter has a use for: the network, other programs and processes, the system.
    pub fn no_programs() -> Forbidden {
        let mut calls = vec![
            libc::SYS_socket,
            libc::SYS_socketpair,
            libc::SYS_connect,
            libc::SYS_bind,
            libc::SYS_listen,
            libc::SYS_accept4,
            libc::SYS_execve,
            libc::SYS_execveat,
            libc::SYS_kill,
            libc::SYS_tkill,
        ];
        #[cfg(target_arch = "x86_64")]
        calls.extend([libc::SYS_fork, libc::SYS_vfork, libc::SYS_accept]);
        Ok(calls.into_iter().chain(SYSTEM_CALLS).map(|call| (call, Vec::new())).collect())
    }

    /// What no program that draws has a use for: sockets but those of Unix, other processes, the system.
    pub fn no_network() -> Forbidden {
        let other_family = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, libc::AF_UNIX as u64)?;
        let calls = SYSTEM_CALLS.into_iter().map(|call| (call, Vec::new()));
        Ok(calls.chain([(libc::SYS_socket, vec![SeccompRule::new(vec![other_family])?])]).collect())
    }

    const SYSTEM_CALLS: [i64; 23] = [
        // Other processes.
        libc::SYS_pidfd_open,
        libc::SYS_pidfd_send_signal,
        libc::SYS_rt_sigqueueinfo,
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        // The system.
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_io_uring_setup,
        libc::SYS_userfaultfd,
        libc::SYS_keyctl,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_kexec_load,
        libc::SYS_reboot,
    ];
}
