//! A full disk and a read-only one, on a small file system that only a child process sees.

use std::process::Command;

use super::*;

const FOLDER: &str = "TRIBUTARY_TEST_DISK";

/// Runs the test `name` of this binary again, with a file system of 1 MB of its own on a folder.
/// Skips loudly if that is not permitted.
fn on_a_small_disk(name: &str, before: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mount = "mount -t tmpfs -o size=1m none \"$0\"";
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command
            .args(["-Urm", "sh", "-c", script])
            .arg(folder.path());
        command
    };
    if !unshare(mount)
        .output()
        .is_ok_and(|output| output.status.success())
    {
        use std::io::Write;
        writeln!(
            std::io::stderr(),
            "SKIPPED: {name}: no mount namespace (`unshare -Urm`) here"
        )
        .unwrap();
        return;
    }
    let child = unshare(&format!(
        "{mount} && {before} exec \"$1\" --exact {name} --nocapture"
    ))
    .arg(std::env::current_exe().unwrap())
    .env(FOLDER, folder.path())
    .output()
    .unwrap();
    assert!(
        child.status.success(),
        "{}{}",
        String::from_utf8_lossy(&child.stdout),
        String::from_utf8_lossy(&child.stderr)
    );
    assert!(
        String::from_utf8_lossy(&child.stdout).contains("1 passed"),
        "the child ran no test"
    );
}

fn given_disk() -> Option<std::path::PathBuf> {
    std::env::var_os(FOLDER).map(Into::into)
}

#[test]
fn a_full_disk_fails_appends_until_there_is_room() {
    let Some(folder) = given_disk() else {
        return on_a_small_disk("disk::a_full_disk_fails_appends_until_there_is_room", "");
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let ballast = folder.join("ballast");
        std::fs::write(&ballast, vec![1; 300_000]).unwrap();
        let config = Config {
            segment_bytes: 100_000,
            ..config()
        };
        let log = EmbeddedEventLog::open(&folder, config.clone()).unwrap();
        log.create_topic("t", topic(1)).await.unwrap();
        let mut acknowledged = Vec::new();
        let mut full = 0;
        for n in 0..200 {
            let value = format!("{n} {}", "x".repeat(7_000));
            match log.append("t", vec![record("k", &value)]).await {
                Ok(positions) => acknowledged.push((positions[0], value)),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Exhausted, "{error}");
                    full += 1;
                }
            }
            if full == 5 {
                std::fs::remove_file(&ballast).unwrap();
                full += 1;
            }
            if full == 10 {
                break;
            }
        }
        assert!(
            full == 10 && acknowledged.len() > 100,
            "{full} failures, {} appends",
            acknowledged.len()
        );
        let commit = log
            .subscribe("t", Some("g"))
            .await
            .unwrap()
            .commit(&[acknowledged[3].0])
            .await;
        assert!(commit.is_ok() || commit.unwrap_err().kind() == ErrorKind::Exhausted);
        drop(log);
        let log = EmbeddedEventLog::open(&folder, config).unwrap();
        let read = read_all(&log, "t").await;
        assert_eq!(read.len(), acknowledged.len());
        for (stored, (position, value)) in read.iter().zip(&acknowledged) {
            assert_eq!(
                (stored.position, text(stored).1.as_deref()),
                (*position, Some(value.as_str()))
            );
        }
        assert_eq!(
            log.append("t", vec![record("k", &"x".repeat(500_000))])
                .await
                .unwrap_err()
                .kind(),
            ErrorKind::Exhausted
        );
    });
}

#[test]
fn a_read_only_disk_is_denied() {
    let Some(folder) = given_disk() else {
        return on_a_small_disk("disk::a_read_only_disk_is_denied", "");
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let remount = |mode: &str| {
            assert!(
                Command::new("mount")
                    .args(["-o", mode])
                    .arg(&folder)
                    .status()
                    .unwrap()
                    .success()
            )
        };
        let data = folder.join("data");
        drop(open(&data));
        remount("remount,ro");
        assert_eq!(kind_of_open(&data).unwrap().0, ErrorKind::Denied);
        assert_eq!(
            kind_of_open(&folder.join("other")).unwrap().0,
            ErrorKind::Denied
        );
        remount("remount,rw");
        assert_eq!(kind_of_open(&data), None);
    });
}
