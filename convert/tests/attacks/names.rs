//! Names that lead elsewhere: left by a program in place of its drawing, or changed while the
//! server looks.

use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use tributary_convert::isolation::WorkFolder;

use crate::scene::{DRAWN, SECRET, Scene, Targets, draw};

/// Ways to leave something else than a drawing. The last changes the name from a process of its
/// own, beyond the end of the first one.
const WAYS: [&str; 6] = ["link", "hard link", "folder", "pipe", "socket", "swap"];
/// What a drawing may be that is one.
const HARMLESS: &[u8] = b"harmless";

/// In LibreOffice's place.
pub fn leave(targets: &Targets) {
    let (secret, drawn) = (&targets.secret, Path::new(DRAWN));
    // What is not allowed is not there afterwards; that shows in what the server reads.
    match targets.leave.as_str() {
        "link" => symlink(secret, drawn).ok(),
        "hard link" => std::fs::hard_link(secret, drawn).ok(),
        "folder" => std::fs::create_dir(drawn).ok(),
        "pipe" => rustix::fs::mkfifoat(rustix::fs::CWD, drawn, rustix::fs::Mode::RWXU).ok(),
        "socket" => std::os::unix::net::UnixListener::bind(drawn).map(drop).ok(),
        _ => swap_from_elsewhere(secret, drawn),
    };
}

fn swap_from_elsewhere(secret: &Path, drawn: &Path) -> Option<()> {
    std::fs::write(drawn, HARMLESS).ok()?;
    // SAFETY: this process has one thread; the child leaves its group if it may, and goes on until
    // it is ended.
    if unsafe { libc::fork() } == 0 {
        // SAFETY: it changes nothing in memory.
        unsafe { libc::setsid() };
        loop {
            symlink(secret, "other").ok();
            std::fs::rename("other", drawn).ok();
            std::fs::write("other", HARMLESS).ok();
            std::fs::rename("other", drawn).ok();
        }
    }
    Some(())
}

pub fn a_program_leaves_nothing_that_is_followed() {
    let mut scene = Scene::new();
    // Each is a process of its own, some of which end at a limit.
    let tries = scene.targets.tries;
    for way in WAYS {
        scene.targets.leave = way.to_owned();
        let document = scene.document();
        for _ in 0..tries {
            let left = draw(scene.folder.path(), &document);
            assert!(
                !left.as_ref().is_ok_and(|left| left != HARMLESS),
                "{way}: {left:?}"
            );
        }
        let still = std::fs::read_dir(scene.folder.path()).unwrap().flatten();
        let still: Vec<_> = still
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("slides-"))
            .collect();
        assert!(still.is_empty(), "{way}: {still:?}");
        println!("a program leaves a {way}: {tries} tries, 0 followed");
    }
    assert_eq!(std::fs::metadata(&scene.targets.secret).unwrap().nlink(), 1);
}

/// Without any confinement: somebody changes names as fast as he can while the server reads and
/// writes them.
pub fn names_that_change_lead_nowhere() {
    let scene = Scene::new();
    let tries = scene.targets.tries;
    let folder = WorkFolder::new_in(scene.folder.path(), "work-").unwrap();
    let is_done = AtomicBool::new(false);
    let (mut seen, mut written) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| swap(folder.path(), &scene.targets.secret, &is_done));
        for _ in 0..tries * 20 {
            if let Some(read) = folder.read("name", 100).ok().flatten() {
                assert_ne!(String::from_utf8_lossy(&read), SECRET);
                seen += usize::from(read == HARMLESS);
            }
            written += usize::from(folder.write("made", b"ours").is_ok());
        }
        is_done.store(true, Ordering::SeqCst);
    });
    assert_eq!(
        std::fs::read_to_string(&scene.targets.secret).unwrap(),
        SECRET
    );
    assert_eq!(
        std::fs::read_dir(&scene.targets.outside).unwrap().count(),
        0
    );
    println!(
        "names that change: {} tries, {seen} read and {written} written where they should be, 0 elsewhere",
        tries * 20
    );
}

fn swap(folder: &Path, secret: &Path, is_done: &AtomicBool) {
    let at = |name: &str| folder.join(name);
    while !is_done.load(Ordering::SeqCst) {
        symlink(secret, at("other")).ok();
        std::fs::rename(at("other"), at("name")).ok();
        std::fs::write(at("other"), HARMLESS).ok();
        std::fs::rename(at("other"), at("name")).ok();
        symlink(secret, at("made")).ok();
        std::fs::remove_file(at("made")).ok();
    }
}
