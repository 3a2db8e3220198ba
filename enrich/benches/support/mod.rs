//! What the benchmarks of the chunkers share.

use std::path::{Path, PathBuf};

use tributary_enrich::ChunkerConfig;

/// The figures of the defaults.
pub fn config() -> ChunkerConfig {
    ChunkerConfig {
        section_limit_tokens: 2000,
        leaf_minimum_tokens: 512,
        leaf_maximum_tokens: 800,
        overlap_minimum: 0.10,
        overlap_maximum: 0.15,
        summary_limit_tokens: 256,
        block_limit_tokens: 32768,
    }
}

/// All files below a folder with one of these extensions.
pub fn collect(folder: &Path, extensions: &[&str], files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        let is_wanted = extension.is_some_and(|extension| extensions.contains(&extension));
        if path.is_dir() {
            collect(&path, extensions, files);
        } else if is_wanted {
            files.push(path);
        }
    }
}

/// CPU seconds of this thread so far, from the kernel's own account.
pub fn cpu_time() -> f64 {
    let account = std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .unwrap_or_default();
    let nanoseconds = account.split_whitespace().next();
    let nanoseconds = nanoseconds.and_then(|one| one.parse::<f64>().ok());
    nanoseconds.unwrap_or(0.0) / 1e9
}
