//! A clock that jumps while a process runs: a small library, preloaded, adds the offset that stands
//! in a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The offset of all processes of a fleet.
pub struct JumpingClock {
    library: PathBuf,
    offset: PathBuf,
}

impl JumpingClock {
    /// Compiles the library; says why where that is not possible.
    pub fn new(folder: &Path) -> Result<Self, String> {
        if !cfg!(target_os = "linux") {
            return Err("preloading a clock works on Linux only".to_owned());
        }
        let (source, library, offset) = (
            folder.join("clock.c"),
            folder.join("clock.so"),
            folder.join("clock.offset"),
        );
        fs::write(&source, include_str!("clock.c")).map_err(|error| error.to_string())?;
        let mut compiler = Command::new("cc");
        compiler
            .args(["-O2", "-shared", "-fPIC", "-o"])
            .arg(&library)
            .arg(&source)
            .stdin(Stdio::null());
        let made = compiler
            .output()
            .map_err(|error| format!("no C compiler: {error}"))?;
        if !made.status.success() {
            return Err(format!(
                "clock.c does not compile: {}",
                String::from_utf8_lossy(&made.stderr)
            ));
        }
        let clock = Self { library, offset };
        clock.set(0);
        Ok(clock)
    }

    /// Makes a process live by this clock.
    pub fn wind(&self, command: &mut Command) {
        command
            .env("LD_PRELOAD", &self.library)
            .env("TRIBUTARY_CHAOS_CLOCK", &self.offset);
    }

    /// From now on the time is the machine's plus this.
    pub fn set(&self, offset_ms: i64) {
        // In place: processes have the file mapped.
        if self.offset.exists() {
            let file = fs::OpenOptions::new()
                .write(true)
                .open(&self.offset)
                .unwrap();
            std::os::unix::fs::FileExt::write_all_at(&file, &offset_ms.to_ne_bytes(), 0).unwrap();
        } else {
            fs::write(&self.offset, offset_ms.to_ne_bytes()).unwrap();
        }
    }
}
