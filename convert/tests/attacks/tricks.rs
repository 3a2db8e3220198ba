//! The tricks: each tries once and says whether it worked. A call that is not let through fails as
//! unknown (`ENOSYS`); one that comes back with anything else has reached the kernel, which counts
//! as success even where its arguments make no sense.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::net::{TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};
use std::path::Path;

use crate::scene::{SECRET, Tally, Targets};

/// A trick by name.
pub type Trick = (&'static str, fn(&Targets) -> bool);

/// Tries each trick as often as is wanted, or those that are named.
pub fn try_all(targets: &Targets, tricks: &[Trick]) -> Tally {
    let wanted = tricks.iter().filter(|(name, _)| {
        targets.only.is_empty() || targets.only.iter().any(|only| only == name)
    });
    let tally = |trick: fn(&Targets) -> bool| {
        (
            targets.tries,
            (0..targets.tries).filter(|_| trick(targets)).count(),
        )
    };
    wanted
        .map(|(name, trick)| ((*name).to_owned(), tally(*trick)))
        .collect()
}

/// Everything.
pub fn of_converters() -> Vec<Trick> {
    [FILES, SIGNALS, MEMORY, SOCKETS, SYSTEM, PROCESSES].concat()
}

/// LibreOffice starts parts of itself and makes sockets; nothing else is different.
pub fn of_programs() -> Vec<Trick> {
    [FILES, SIGNALS, MEMORY, SOCKETS, SYSTEM].concat()
}

const FILES: &[Trick] = &[
    ("read the secret", |t| reads(&t.secret)),
    ("read the secret by a link", |t| {
        symlink(&t.secret, "link").is_ok() & reads(Path::new("link"))
    }),
    ("read the secret by a hard link", |t| {
        fs::hard_link(&t.secret, "hard").is_ok()
    }),
    ("take the secret", |t| fs::rename(&t.secret, "mine").is_ok()),
    ("read a neighbour", |t| {
        neighbours(t).any(|folder| reads(&folder.join("secret")))
    }),
    ("list a neighbour", |t| {
        neighbours(t).any(|folder| fs::read_dir(folder).is_ok())
    }),
    ("write to a neighbour", |t| {
        neighbours(t).any(|folder| File::create(folder.join("intruder")).is_ok())
    }),
    ("list the folder above", |_| fs::read_dir("..").is_ok()),
    ("write to the folder above", |_| {
        File::create("../intruder").is_ok()
    }),
    ("make a file outside", |t| {
        File::create(t.outside.join("file")).is_ok()
    }),
    ("make a folder outside", |t| {
        fs::create_dir(t.outside.join("folder")).is_ok()
    }),
    ("make a link outside", |t| {
        symlink("x", t.outside.join("link")).is_ok()
    }),
    ("move a file outside", |t| {
        File::create("own")
            .and_then(|_| fs::rename("own", t.outside.join("own")))
            .is_ok()
    }),
    ("write to the secret", |t| {
        OpenOptions::new().append(true).open(&t.secret).is_ok()
    }),
    ("empty the secret", |t| empties(&t.secret)),
    ("empty the secret by reading", |t| {
        open_with(&t.secret, libc::O_RDONLY | libc::O_TRUNC)
    }),
    ("empty the secret by opening for nothing", |t| {
        open_with(&t.secret, libc::O_ACCMODE | libc::O_TRUNC)
    }),
    ("remove the secret", |t| fs::remove_file(&t.secret).is_ok()),
    ("change who may read", |t| {
        fs::set_permissions(&t.secret, PermissionsExt::from_mode(0o777)).is_ok()
    }),
    ("change times", |t| {
        at_path(libc::SYS_utimensat, &t.secret, &[0, 0])
    }),
    ("change the owner", |t| {
        at_path(libc::SYS_fchownat, &t.secret, &[0, 0, 0])
    }),
    ("make a device", |_| {
        known(
            libc::SYS_mknodat,
            &[
                AT_CWD,
                c"device".as_ptr() as usize,
                libc::S_IFCHR as usize | 0o600,
                0x103,
            ],
        )
    }),
    ("open by handle", |_| {
        known(libc::SYS_open_by_handle_at, &[AT_CWD, 0, 0])
    }),
    ("watch files", |_| {
        known(libc::SYS_inotify_init1, &[0]) | known(libc::SYS_fanotify_init, &[0, 0])
    }),
];

const SIGNALS: &[Trick] = &[
    ("signal: kill", |t| {
        known(libc::SYS_kill, &[server(t), URGENT])
    }),
    ("signal: tkill", |t| {
        known(libc::SYS_tkill, &[server(t), URGENT])
    }),
    ("signal: tgkill", |t| {
        known(libc::SYS_tgkill, &[server(t), server(t), URGENT])
    }),
    ("signal: rt_sigqueueinfo", |t| {
        known(
            libc::SYS_rt_sigqueueinfo,
            &[server(t), URGENT, information()],
        )
    }),
    ("signal: rt_tgsigqueueinfo", |t| {
        known(
            libc::SYS_rt_tgsigqueueinfo,
            &[server(t), server(t), URGENT, information()],
        )
    }),
    ("signal: pidfd", |t| {
        known(libc::SYS_pidfd_open, &[server(t), 0])
            | known(libc::SYS_pidfd_send_signal, &[0, URGENT, 0, 0])
    }),
    ("signal: owner of a file", |t| {
        known(libc::SYS_fcntl, &[0, libc::F_SETOWN as usize, server(t)])
    }),
    ("signal: owner by ioctl", |t| {
        known(libc::SYS_ioctl, &[0, 0x8901, &raw const t.server as usize])
    }),
    ("signal: by another name of the call", other_names),
    ("limits of the server", |t| {
        known(
            libc::SYS_prlimit64,
            &[server(t), libc::RLIMIT_CPU as usize, 0, 0],
        )
    }),
    ("priority of the server", |t| {
        known(libc::SYS_setpriority, &[0, server(t), 19])
    }),
    ("processors of the server", |t| {
        known(libc::SYS_sched_setaffinity, &[server(t), 0, 0])
    }),
    ("scheduling of the server", |t| {
        known(libc::SYS_sched_setscheduler, &[server(t), 0, 0])
    }),
    ("leave the group", |_| {
        known(libc::SYS_setsid, &[]) | known(libc::SYS_setpgid, &[0, 0])
    }),
];

const MEMORY: &[Trick] = &[
    ("trace the server", |t| {
        known(libc::SYS_ptrace, &[0x4206, server(t), 0, 0])
    }),
    ("read the server's memory", |t| {
        known(libc::SYS_process_vm_readv, &[server(t), 0, 0, 0, 0, 0])
    }),
    ("write the server's memory", |t| {
        known(libc::SYS_process_vm_writev, &[server(t), 0, 0, 0, 0, 0])
    }),
    ("open the server's memory", |t| opens_of_server(t, "mem")),
    ("open the server's variables", |t| {
        opens_of_server(t, "environ")
    }),
    ("open the server's map", |t| opens_of_server(t, "maps")),
    ("list the server's files", |t| {
        fs::read_dir(format!("/proc/{}/fd", t.server)).is_ok()
    }),
    ("the secret through the server", |t| {
        reads(Path::new(&format!(
            "/proc/{}/root{}",
            t.server,
            t.secret.display()
        )))
    }),
    ("a file of the server", |_| {
        known(libc::SYS_pidfd_getfd, &[0, 0, 0])
    }),
    ("compare with the server", |t| {
        known(libc::SYS_kcmp, &[server(t), server(t), 0, 0, 0])
    }),
    ("advise the server's memory", |_| {
        known(libc::SYS_process_madvise, &[0, 0, 0, 0, 0])
    }),
    ("move the server's pages", |t| {
        known(libc::SYS_move_pages, &[server(t), 0, 0, 0, 0, 0])
    }),
    ("share memory", |_| {
        known(libc::SYS_shmget, &[0, 4096, 0o1777]) | known(libc::SYS_msgget, &[0, 0o1777])
    }),
    ("a file without a name", |_| {
        known(libc::SYS_memfd_create, &[c"x".as_ptr() as usize, 0])
    }),
];

const SOCKETS: &[Trick] = &[
    ("connect: TCP", |t| {
        TcpStream::connect(("127.0.0.1", t.port)).is_ok()
    }),
    ("connect: UDP", |t| {
        UdpSocket::bind("127.0.0.1:0")
            .and_then(|socket| socket.send_to(b"x", ("127.0.0.1", t.port)))
            .is_ok()
    }),
    ("connect: path", |t| UnixStream::connect(&t.socket).is_ok()),
    ("connect: abstract", |t| abstract_socket(t).is_ok()),
    ("connect: datagram", |t| {
        UnixDatagram::unbound()
            .and_then(|socket| socket.send_to(b"x", &t.datagrams))
            .is_ok()
    }),
    ("connect: netlink", |_| {
        made(libc::AF_NETLINK, libc::SOCK_RAW)
    }),
    ("connect: packets", |_| {
        made(libc::AF_PACKET, libc::SOCK_RAW)
    }),
    ("connect: virtual machines", |_| {
        made(libc::AF_VSOCK, libc::SOCK_STREAM)
    }),
    ("connect: pair of datagrams", |_| {
        known(
            libc::SYS_socketpair,
            &[libc::AF_UNIX as usize, libc::SOCK_DGRAM as usize, 0, 0],
        )
    }),
    ("connect: the call", |_| {
        known(libc::SYS_connect, &[0, 0, 0])
    }),
    ("connect: messages", |_| {
        known(libc::SYS_sendmsg, &[0, 0, 0]) | known(libc::SYS_sendto, &[0, 0, 0, 0, 0, 0])
    }),
    ("connect: queued", |_| {
        known(libc::SYS_io_uring_setup, &[1, 0])
    }),
];

const SYSTEM: &[Trick] = &[
    ("another user's view: clone", |_| {
        new_process(libc::CLONE_NEWUSER)
    }),
    ("another network: clone", |_| {
        new_process(libc::CLONE_NEWNET)
    }),
    ("a foreign parent: clone", |_| {
        new_process(libc::CLONE_PARENT)
    }),
    ("another view: clone3", |_| known(libc::SYS_clone3, &[0, 0])),
    ("another view: unshare", |_| known(libc::SYS_unshare, &[0])),
    ("another view: setns", |_| {
        known(libc::SYS_setns, &[usize::MAX, 0])
    }),
    ("mount", |_| {
        [
            libc::SYS_mount,
            libc::SYS_umount2,
            libc::SYS_fsopen,
            libc::SYS_open_tree,
            libc::SYS_move_mount,
        ]
        .into_iter()
        .any(nothing)
    }),
    ("another root", |_| {
        [libc::SYS_chroot, libc::SYS_pivot_root]
            .into_iter()
            .any(nothing)
    }),
    ("programs in the kernel", |_| {
        [
            libc::SYS_bpf,
            libc::SYS_perf_event_open,
            libc::SYS_userfaultfd,
        ]
        .into_iter()
        .any(nothing)
    }),
    ("modules", |_| {
        [
            libc::SYS_init_module,
            libc::SYS_finit_module,
            libc::SYS_delete_module,
            libc::SYS_kexec_load,
        ]
        .into_iter()
        .any(nothing)
    }),
    ("keys", |_| {
        [libc::SYS_keyctl, libc::SYS_add_key, libc::SYS_request_key]
            .into_iter()
            .any(nothing)
    }),
    ("another user", |_| {
        known(libc::SYS_setresuid, &[0, 0, 0]) | known(libc::SYS_setresgid, &[0, 0, 0])
    }),
    ("rights", |_| known(libc::SYS_capset, &[0, 0])),
    ("a program from memory", |_| {
        known(libc::SYS_execveat, &[usize::MAX, 0, 0, 0, 0])
    }),
    ("type at a terminal", |_| {
        known(
            libc::SYS_ioctl,
            &[0, libc::TIOCSTI as usize, c"x".as_ptr() as usize],
        )
    }),
    ("be traced by anybody", |_| {
        known(
            libc::SYS_prctl,
            &[libc::PR_SET_PTRACER as usize, usize::MAX, 0, 0, 0],
        )
    }),
];

const PROCESSES: &[Trick] = &[
    ("another process", |_| new_process(0)),
    ("another program", |_| known(libc::SYS_execve, &[0, 0, 0])),
    ("a socket", |_| made(libc::AF_UNIX, libc::SOCK_STREAM)),
    ("a pair of sockets", |_| {
        known(
            libc::SYS_socketpair,
            &[libc::AF_UNIX as usize, libc::SOCK_STREAM as usize, 0, 0],
        )
    }),
    ("a folder", |_| fs::create_dir("folder").is_ok()),
    ("a listener", |_| {
        known(libc::SYS_bind, &[0, 0, 0]) | known(libc::SYS_listen, &[0, 0])
    }),
];

/// A signal that nobody minds.
const URGENT: usize = libc::SIGURG as usize;
/// The current folder, for calls with a folder.
const AT_CWD: usize = libc::AT_FDCWD as usize;

fn server(targets: &Targets) -> usize {
    targets.server as usize
}

fn neighbours(targets: &Targets) -> impl Iterator<Item = &Path> {
    let own = std::env::current_dir().unwrap();
    targets
        .neighbours
        .iter()
        .map(AsRef::as_ref)
        .filter(move |folder| *folder != own)
}

fn reads(path: &Path) -> bool {
    fs::read_to_string(path).is_ok_and(|text| text == SECRET)
}

fn opens_of_server(targets: &Targets, name: &str) -> bool {
    File::open(format!("/proc/{}/{name}", targets.server)).is_ok()
}

fn empties(path: &Path) -> bool {
    let path = text(path);
    known(libc::SYS_truncate, &[path.as_ptr() as usize, 0])
}

fn open_with(path: &Path, flags: i32) -> bool {
    let path = text(path);
    call(
        libc::SYS_openat,
        &[AT_CWD, path.as_ptr() as usize, flags as usize, 0],
    ) >= 0
}

fn at_path(number: i64, path: &Path, more: &[usize]) -> bool {
    let path = text(path);
    known(number, &[&[AT_CWD, path.as_ptr() as usize], more].concat())
}

fn abstract_socket(targets: &Targets) -> io::Result<UnixStream> {
    UnixStream::connect_addr(&SocketAddr::from_abstract_name(&targets.abstract_name)?)
}

/// The numbers of the calls in another table of the same kernel.
#[cfg(target_arch = "x86_64")]
fn other_names(targets: &Targets) -> bool {
    known(0x4000_0000 + libc::SYS_kill, &[server(targets), URGENT])
}

#[cfg(not(target_arch = "x86_64"))]
fn other_names(_targets: &Targets) -> bool {
    false
}

fn made(family: i32, kind: i32) -> bool {
    known(libc::SYS_socket, &[family as usize, kind as usize, 0])
}

/// A process that ends at once, made with these flags.
fn new_process(flags: i32) -> bool {
    let child = call(
        libc::SYS_clone,
        &[(flags | libc::SIGCHLD) as usize, 0, 0, 0, 0],
    );
    if child == 0 {
        // SAFETY: nothing of this process is used.
        unsafe { libc::_exit(0) };
    }
    child != -i64::from(libc::ENOSYS)
}

/// The call without anything to work on.
fn nothing(number: i64) -> bool {
    known(number, &[0, 0, 0, 0, 0])
}

/// Whether the call reaches the kernel.
fn known(number: i64, arguments: &[usize]) -> bool {
    call(number, arguments) != -i64::from(libc::ENOSYS)
}

/// Makes a call; its negative error where it fails.
fn call(number: i64, arguments: &[usize]) -> i64 {
    let at = |index: usize| arguments.get(index).copied().unwrap_or(0);
    // SAFETY: the arguments are numbers, strings that live as long as the call, or nothing.
    let result = unsafe { libc::syscall(number, at(0), at(1), at(2), at(3), at(4), at(5)) };
    if result >= 0 {
        result
    } else {
        -i64::from(io::Error::last_os_error().raw_os_error().unwrap_or(0))
    }
}

/// What goes with a queued signal: zeros, with a code that says it is from a user's process.
fn information() -> usize {
    static INFORMATION: [i32; 32] = {
        let mut zeros = [0; 32];
        zeros[0] = libc::SIGURG;
        zeros[2] = -1;
        zeros
    };
    INFORMATION.as_ptr() as usize
}

fn text(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}
