//! What a worker process may not do: use more memory, time or files than it is given, start programs, signal others, speak to the
//! network, or open files that it needs not. Resource limits hold on every Unix; system calls and files are restricted on Linux
//! (seccomp, Landlock), as far as the kernel knows how. Called once by `worker`, before it reads anything.

use std::path::PathBuf;

use rustix::process::{Resource, Rlimit, setrlimit};

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

/// Files that may be open at the same time.
const OPEN_FILES: u64 = 128;

/// Confines this process for good. What the system does not offer is left out and named.
pub fn confine(bounds: &Bounds) -> Vec<String> {
    let mut missing = Vec::new();
    let limits = [
        ("memory", Resource::As, bounds.memory_bytes),
        ("core dumps", Resource::Core, 0),
        ("file size", Resource::Fsize, bounds.file_bytes),
        ("open files", Resource::Nofile, OPEN_FILES),
    ];
    for (what, resource, value) in limits {
        let limit = Rlimit { current: Some(value), maximum: Some(value) };
        if let Err(error) = setrlimit(resource, limit) {
            missing.push(format!("limit of {what}: {error}"));
        }
    }
    restrict_system(bounds, &mut missing);
    missing
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
    if let Err(error) = rustix::thread::set_no_new_privs(true) {
        missing.push(format!("no new privileges: {error}"));
    }
    match linux::restrict_files(bounds) {
        Ok(true) => {}
        Ok(false) => missing.push("access to files: this kernel knows no Landlock".to_owned()),
        Err(error) => missing.push(format!("access to files: {error}")),
    }
    if let Err(error) = linux::restrict_calls() {
        missing.push(format!("system calls: {error}"));
    }
}

#[cfg(not(target_os = "linux"))]
fn restrict_system(_bounds: &Bounds, missing: &mut Vec<String>) {
    missing.push("system calls and access to files: only on Linux".to_owned());
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;

    use landlock::{ABI, Access, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus};
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

    use super::Bounds;

    /// Where shared libraries and what they read at their start lie.
    const SYSTEM: [&str; 8] =
        ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/proc/self", "/proc/cpuinfo", "/sys/devices/system/cpu", "/dev/urandom"];

    /// Reading where libraries are, writing in the scratch folder, nothing else.
    pub fn restrict_files(bounds: &Bounds) -> Result<bool, RulesetError> {
        let abi = ABI::V3;
        let mut ruleset = Ruleset::default().handle_access(AccessFs::from_all(abi))?.create()?;
        let readable = SYSTEM.iter().map(std::path::PathBuf::from).chain(bounds.readable.iter().cloned());
        // What is not there needs no rule.
        for path in readable.filter_map(|path| PathFd::new(path).ok()) {
            ruleset = ruleset.add_rule(PathBeneath::new(path, AccessFs::from_read(abi)))?;
        }
        if let Ok(scratch) = PathFd::new(&bounds.scratch) {
            ruleset = ruleset.add_rule(PathBeneath::new(scratch, AccessFs::from_all(abi)))?;
        }
        Ok(ruleset.restrict_self()?.ruleset != RulesetStatus::NotEnforced)
    }

    /// Calls that no converter has a use for fail with "not permitted".
    pub fn restrict_calls() -> Result<(), Box<dyn std::error::Error>> {
        let rules: BTreeMap<i64, Vec<_>> = forbidden().into_iter().map(|call| (call, Vec::new())).collect();
        let arch = TargetArch::try_from(std::env::consts::ARCH)?;
        let refused = SeccompAction::Errno(libc::EPERM as u32);
        let program: BpfProgram = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)?.try_into()?;
        Ok(seccompiler::apply_filter(&program)?)
    }

    fn forbidden() -> Vec<i64> {
        let mut calls = vec![
            // The network.
            libc::SYS_socket,
            libc::SYS_socketpair,
            libc::SYS_connect,
            libc::SYS_bind,
            libc::SYS_listen,
            libc::SYS_accept4,
            // Other programs and processes.
            libc::SYS_execve,
            libc::SYS_execveat,
            libc::SYS_kill,
            libc::SYS_tkill,
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
        #[cfg(target_arch = "x86_64")]
        calls.extend([libc::SYS_fork, libc::SYS_vfork, libc::SYS_accept]);
        calls.sort_unstable();
        calls
    }
}
