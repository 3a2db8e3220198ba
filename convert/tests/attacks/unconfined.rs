//! A system that lacks Landlock and seccomp: a worker says so, and documents wait.

use std::os::unix::process::CommandExt;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};
use tributary_convert::Job;
use tributary_convert::isolation::Part;
use tributary_schemas::ErrorKind;

use crate::scene::{self, Scene, config, pool};

/// Argument that makes this program a worker on such a system.
pub const WORKER: &str = "worker-without";

/// Tricks that harm nobody, in the order of their names.
const WORKING: [&str; 8] = [
    "connect: TCP",
    "connect: UDP",
    "connect: abstract",
    "connect: datagram",
    "connect: path",
    "list the folder above",
    "read the secret",
    "signal: kill",
];

/// Those calls fail as on an old kernel, from here on and in the worker that this process becomes.
pub fn become_worker() {
    let calls = [
        libc::SYS_landlock_create_ruleset,
        libc::SYS_landlock_add_rule,
        libc::SYS_landlock_restrict_self,
        libc::SYS_seccomp,
    ];
    let arch = TargetArch::try_from(std::env::consts::ARCH).unwrap();
    let refused = SeccompAction::Errno(libc::ENOSYS as u32);
    let calls = calls.into_iter().map(|call| (call, vec![])).collect();
    let program: BpfProgram = SeccompFilter::new(calls, SeccompAction::Allow, refused, arch)
        .unwrap()
        .try_into()
        .unwrap();
    seccompiler::apply_filter(&program).unwrap();
    panic!(
        "{}",
        std::process::Command::new("/proc/self/exe")
            .arg(scene::WORKER)
            .exec()
    );
}

pub fn no_document_reaches_a_worker_that_is_not_confined() {
    let required = pool(config(), WORKER);
    for _ in 0..2 {
        let error = required
            .convert(Job {
                bytes: b"x",
                name: Some("where"),
                media_type: None,
            })
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "it waits: {error}");
        assert!(
            error.to_string().contains("Landlock") && error.to_string().contains("seccomp"),
            "{error}"
        );
        assert!(
            error
                .hint()
                .unwrap()
                .contains("convert.require_confinement"),
            "{error:?}"
        );
    }
    assert_eq!(
        required.confinement().unwrap_err().kind(),
        ErrorKind::Unavailable
    );
    let known = required.known_confinement().unwrap();
    assert_eq!(Part::ALL.map(|part| known.has(part)), [true, false, false]);

    let mut lenient = config();
    lenient.require_confinement = false;
    let allowed = pool(lenient, WORKER);
    assert!(
        allowed
            .convert(Job {
                bytes: b"x",
                name: Some("where"),
                media_type: None
            })
            .is_ok()
    );
    let known = allowed.confinement().unwrap().unwrap();
    assert!(
        !known.is_complete() && known.missing().contains("Landlock"),
        "{}",
        known.missing()
    );
    // Some of the tricks, which work there: they are no empty gestures.
    let mut scene = Scene::new();
    scene.targets.only = WORKING.map(str::to_owned).to_vec();
    // Nobody takes the connections, and a queue has room for so many.
    scene.targets.tries = 10;
    let answer = allowed
        .convert(Job {
            bytes: &scene.document(),
            name: Some("attack"),
            media_type: None,
        })
        .unwrap();
    let tally: scene::Tally = serde_json::from_str(&answer.markdown).unwrap();
    let working: Vec<_> = tally
        .iter()
        .filter(|(_, (tries, successes))| tries == successes)
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(working, WORKING, "{tally:?}");
    println!(
        "without confinement {} of these tricks work: {}",
        working.len(),
        working.join(", ")
    );
}
