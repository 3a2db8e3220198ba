//! System calls that a confined process may make, by seccomp. Every call that is not named here
//! fails as one that the kernel does not know (`ENOSYS`): libraries then do without it, as on an
//! older kernel, and a call that nobody thought of costs a document at worst, not the confinement.
//! Measured with strace over documents of all formats, text recognition and LibreOffice, on x86_64
//! with glibc; musl's and aarch64's names of the same calls are added.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// What is done about calls: first those that may be made, always where they have no rules, else
/// where one of the rules fits.
pub(super) struct Calls {
    allowed: Vec<Call>,
    /// Calls that succeed without doing anything.
    pretended: &'static [i64],
}

/// A call, and what its arguments must be: all conditions of one of the rules.
struct Call {
    number: i64,
    rules: Vec<Vec<Condition>>,
}

/// The bits of `mask` of the argument with that index are `value`.
#[derive(Clone, Copy)]
struct Condition {
    argument: u8,
    mask: u32,
    value: u32,
}

/// Every bit of an argument counts.
const WHOLE: u32 = u32::MAX;
/// What makes a thread of this process rather than a process.
const THREAD: u32 = (libc::CLONE_VM | libc::CLONE_SIGHAND | libc::CLONE_THREAD) as u32;
/// What no thread or process is made with: other views of the system, a foreign parent, a tracer.
const APART: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_PARENT
    | libc::CLONE_PTRACE) as u32;
/// Kinds of sockets beside the flags that may come with them.
const SOCKET_KIND: u32 = !((libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK) as u32);

/// Commands of `fcntl`: none that names somebody who gets signals.
const DESCRIPTORS: [i32; 12] = [
    libc::F_DUPFD,
    libc::F_DUPFD_CLOEXEC,
    libc::F_GETFD,
    libc::F_SETFD,
    libc::F_GETFL,
    libc::F_SETFL,
    libc::F_GETLK,
    libc::F_SETLK,
    libc::F_SETLKW,
    libc::F_OFD_GETLK,
    libc::F_OFD_SETLK,
    libc::F_OFD_SETLKW,
];
/// Requests of `ioctl`: whether something is a terminal, how much there is to read, flags.
const DEVICES: [u32; 6] = [
    libc::TCGETS as u32,
    libc::TIOCGWINSZ as u32,
    libc::FIONREAD as u32,
    libc::FIONBIO as u32,
    libc::FIOCLEX as u32,
    libc::FIONCLEX as u32,
];
/// `PR_SET_VMA`, by which allocators name what they map.
const NAME_MEMORY: u32 = 0x5356_4d41;
/// `PR_GET_AUXV`, by which a program finds out what its processor can do.
const READ_VECTOR: u32 = 0x4155_5856;
/// What a process may change of itself.
const ITSELF: [u32; 4] = [
    libc::PR_SET_NAME as u32,
    libc::PR_GET_NAME as u32,
    NAME_MEMORY,
    READ_VECTOR,
];

/// What every program does: memory, its own files, threads that wait for each other, clocks.
const COMMON: &[i64] = &[
    libc::SYS_brk,
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_copy_file_range,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_eventfd2,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_fadvise64,
    libc::SYS_fallocate,
    libc::SYS_fdatasync,
    libc::SYS_flock,
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    libc::SYS_fsync,
    libc::SYS_ftruncate,
    libc::SYS_futex,
    libc::SYS_getcwd,
    libc::SYS_getdents64,
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getrandom,
    libc::SYS_getrusage,
    libc::SYS_gettid,
    libc::SYS_gettimeofday,
    libc::SYS_getuid,
    libc::SYS_lseek,
    libc::SYS_madvise,
    libc::SYS_membarrier,
    libc::SYS_mincore,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_msync,
    libc::SYS_munmap,
    libc::SYS_nanosleep,
    libc::SYS_newfstatat,
    libc::SYS_pipe2,
    libc::SYS_ppoll,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_pselect6,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_read,
    libc::SYS_readlinkat,
    libc::SYS_readv,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_set_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_sigaltstack,
    libc::SYS_statfs,
    libc::SYS_statx,
    libc::SYS_sysinfo,
    libc::SYS_times,
    libc::SYS_umask,
    libc::SYS_uname,
    libc::SYS_unlinkat,
    libc::SYS_write,
    libc::SYS_writev,
];

/// The same by the names of before, which aarch64 never had.
#[cfg(target_arch = "x86_64")]
const COMMON_OLD: &[i64] = &[
    libc::SYS_access,
    libc::SYS_arch_prctl,
    libc::SYS_dup2,
    libc::SYS_lstat,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_readlink,
    libc::SYS_select,
    libc::SYS_stat,
    libc::SYS_time,
    libc::SYS_unlink,
];
#[cfg(not(target_arch = "x86_64"))]
const COMMON_OLD: &[i64] = &[];

/// What LibreOffice does besides: starts its parts and waits for them, makes folders, keeps memory
/// from being swapped, wakes its threads.
const PROGRAM: &[i64] = &[
    libc::SYS_chdir,
    libc::SYS_execve,
    libc::SYS_fchdir,
    libc::SYS_fgetxattr,
    libc::SYS_getgroups,
    libc::SYS_getpgid,
    libc::SYS_getpriority,
    libc::SYS_getresgid,
    libc::SYS_getresuid,
    libc::SYS_getsockname,
    libc::SYS_getsockopt,
    libc::SYS_getxattr,
    libc::SYS_lgetxattr,
    libc::SYS_mkdirat,
    libc::SYS_mlock,
    libc::SYS_munlock,
    libc::SYS_renameat2,
    libc::SYS_setsockopt,
    libc::SYS_shutdown,
    libc::SYS_wait4,
    libc::SYS_waitid,
];

#[cfg(target_arch = "x86_64")]
const PROGRAM_OLD: &[i64] = &[
    libc::SYS_getpgrp,
    libc::SYS_mkdir,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_rmdir,
    libc::SYS_fork,
    libc::SYS_vfork,
];
/// `renameat`, which not every libc's list of aarch64 has.
#[cfg(not(target_arch = "x86_64"))]
const PROGRAM_OLD: &[i64] = &[38];

/// LibreOffice insists on a socket at which a second one would find it, in a folder of everybody.
/// It is told that it has one.
const PRETENDED: &[i64] = &[libc::SYS_bind, libc::SYS_listen];

/// What converters need: threads, but no processes, no programs, no sockets.
pub(super) fn of_worker() -> Calls {
    let mut allowed = common();
    allowed.push(Call::when(
        libc::SYS_clone,
        [vec![Condition {
            argument: 0,
            mask: THREAD | APART,
            value: THREAD,
        }]],
    ));
    // How a process ends itself when it gives up.
    let itself = Condition {
        argument: 0,
        mask: WHOLE,
        value: std::process::id(),
    };
    allowed.push(Call::when(libc::SYS_tgkill, [vec![itself]]));
    Calls {
        allowed,
        pretended: &[],
    }
}

/// What a program that draws needs: parts of itself, and sockets that are connected to nothing
/// outside.
pub(super) fn of_program() -> Calls {
    let mut allowed = common();
    allowed.extend(
        PROGRAM
            .iter()
            .chain(PROGRAM_OLD)
            .map(|number| Call::always(*number)),
    );
    allowed.push(Call::when(
        libc::SYS_clone,
        [vec![Condition {
            argument: 0,
            mask: APART,
            value: 0,
        }]],
    ));
    let family = Condition {
        argument: 0,
        mask: WHOLE,
        value: libc::AF_UNIX as u32,
    };
    let stream = Condition {
        argument: 1,
        mask: SOCKET_KIND,
        value: libc::SOCK_STREAM as u32,
    };
    for number in [libc::SYS_socket, libc::SYS_socketpair] {
        allowed.push(Call::when(number, [vec![family, stream]]));
    }
    allowed.extend(PRETENDED.iter().map(|number| Call::always(*number)));
    Calls {
        allowed,
        pretended: PRETENDED,
    }
}

fn common() -> Vec<Call> {
    let mut calls: Vec<Call> = COMMON
        .iter()
        .chain(COMMON_OLD)
        .map(|number| Call::always(*number))
        .collect();
    calls.push(Call::when(libc::SYS_openat, opening(2)));
    #[cfg(target_arch = "x86_64")]
    calls.push(Call::when(libc::SYS_open, opening(1)));
    calls.push(Call::one_of(
        libc::SYS_fcntl,
        1,
        DESCRIPTORS.map(|command| command as u32),
    ));
    calls.push(Call::one_of(libc::SYS_ioctl, 1, DEVICES));
    calls.push(Call::one_of(libc::SYS_prctl, 0, ITSELF));
    // Limits of this process, not of others.
    calls.push(Call::one_of(libc::SYS_prlimit64, 0, [0]));
    calls
}

/// Opening: a file is emptied only where it is also opened for writing, which the first Landlock
/// forbids elsewhere; reading it empty is not.
fn opening(flags: u8) -> Vec<Vec<Condition>> {
    let (emptying, way) = (libc::O_TRUNC as u32, libc::O_ACCMODE as u32);
    let is = |mask, value| {
        vec![Condition {
            argument: flags,
            mask,
            value,
        }]
    };
    vec![
        is(emptying, 0),
        is(way, libc::O_WRONLY as u32),
        is(way, libc::O_RDWR as u32),
    ]
}

impl Call {
    fn always(number: i64) -> Self {
        Self {
            number,
            rules: Vec::new(),
        }
    }

    fn when(number: i64, rules: impl IntoIterator<Item = Vec<Condition>>) -> Self {
        Self {
            number,
            rules: rules.into_iter().collect(),
        }
    }

    fn one_of<const N: usize>(number: i64, argument: u8, values: [u32; N]) -> Self {
        Self::when(
            number,
            values.map(|value| {
                vec![Condition {
                    argument,
                    mask: WHOLE,
                    value,
                }]
            }),
        )
    }

    fn rules(&self) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
        let conditions = |rule: &Vec<Condition>| {
            rule.iter()
                .map(Condition::compiled)
                .collect::<Result<_, _>>()
        };
        self.rules
            .iter()
            .map(|rule| SeccompRule::new(conditions(rule)?))
            .collect()
    }
}

impl Condition {
    /// The kernel reads 32 bits of these arguments: those above are not looked at.
    fn compiled(&self) -> Result<SeccompCondition, seccompiler::BackendError> {
        let compare = SeccompCmpOp::MaskedEq(self.mask.into());
        SeccompCondition::new(
            self.argument,
            SeccompCmpArgLen::Dword,
            compare,
            self.value.into(),
        )
    }
}

/// Nothing but these for good; says how.
pub(super) fn restrict(calls: &Calls) -> Result<String, String> {
    apply(calls).map_err(|error| error.to_string())?;
    Ok(format!("{} system calls by seccomp", calls.allowed.len()))
}

fn apply(calls: &Calls) -> Result<(), Box<dyn std::error::Error>> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    // First: of two filters the stricter answer holds, and the second one has no call for a third.
    if !calls.pretended.is_empty() {
        let pretended: BTreeMap<_, _> = calls
            .pretended
            .iter()
            .map(|number| (*number, Vec::new()))
            .collect();
        install(SeccompFilter::new(
            pretended,
            SeccompAction::Allow,
            SeccompAction::Errno(0),
            arch,
        )?)?;
    }
    let allowed: BTreeMap<_, _> = calls
        .allowed
        .iter()
        .map(|call| call.rules().map(|rules| (call.number, rules)))
        .collect::<Result<_, _>>()?;
    let unknown = SeccompAction::Errno(libc::ENOSYS as u32);
    install(SeccompFilter::new(
        allowed,
        unknown,
        SeccompAction::Allow,
        arch,
    )?)
}

fn install(filter: SeccompFilter) -> Result<(), Box<dyn std::error::Error>> {
    let program: BpfProgram = filter.try_into()?;
    Ok(seccompiler::apply_filter(&program)?)
}
