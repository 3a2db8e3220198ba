//! `tributary restore FILE|FOLDER`: a backup becomes the data folder. Nothing may run on it
//! meanwhile.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;
use tributary_store::backup::Manifest;

use crate::args::{Global, Restore};
use crate::config::Config;
use crate::print::{self, Outcome};

/// Checks all of the backup, then puts it in place.
pub fn run(_: &Global, config: &Config, restore: &Restore) -> Result<Outcome> {
    let started = Instant::now();
    let folder = Path::new(&config.store.data_folder);
    let bar = print::bytes_bar(size(&restore.backup), "restoring");
    let restored =
        tributary_store::backup::restore(&restore.backup, folder, restore.force, &|bytes| {
            bar.set_position(bytes)
        });
    bar.finish_and_clear();
    let manifest = restored?;
    let value = json!({
        "data_folder": folder, "files": manifest.files.len(), "bytes": manifest.bytes(), "taken_at_ms": manifest.taken_at_ms,
        "seconds": started.elapsed().as_secs_f64(), "not_covered": manifest.not_covered,
    });
    print::result(restore.output, &value, || {
        describe(folder, &manifest, started.elapsed())
    })?;
    Ok(Outcome::Done)
}

fn describe(folder: &Path, manifest: &Manifest, taken: Duration) -> String {
    let mut lines = vec![format!(
        "{}: {}, {:.1} MiB in {:.1} s, from a backup that was taken {}",
        folder.display(),
        print::count(manifest.files.len(), "file"),
        manifest.bytes() as f64 / f64::from(1 << 20),
        taken.as_secs_f64(),
        moment(manifest.taken_at_ms)
    )];
    lines.extend(
        manifest
            .not_covered
            .iter()
            .map(|line| format!("not in it: {line}")),
    );
    lines.push("next: `tributary run`, then `tributary documents reconcile`".to_owned());
    lines.join("\n")
}

/// Bytes to expect, for the bar: those of an archive; a folder tells when it is read.
fn size(backup: &Path) -> u64 {
    std::fs::metadata(backup).map_or(0, |metadata| {
        if metadata.is_file() {
            metadata.len()
        } else {
            0
        }
    })
}

/// How long ago, in words: a moment in another time zone would mislead.
fn moment(taken_at_ms: i64) -> String {
    let now_ms = tributary_store::system_clock()();
    let minutes = now_ms.saturating_sub(taken_at_ms).max(0) / 60_000;
    match minutes {
        0 => "less than a minute ago".to_owned(),
        1 => "1 minute ago".to_owned(),
        2..=119 => format!("{minutes} minutes ago"),
        120..=2879 => format!("{} hours ago", minutes / 60),
        _ => format!("{} days ago", minutes / 1440),
    }
}
