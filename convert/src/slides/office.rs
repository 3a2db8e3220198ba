//! LibreOffice: found, started once for each presentation in a folder and with a profile of its
//! own, confined where conversion is, ended when it takes too long.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tributary_schemas::{Error, ErrorKind, Result};

use super::SlideFormat;
use crate::config::{Config, SlidesConfig};
use crate::isolation::{Launch, ProgramBounds, WorkFolder};

/// What the program is called in `PATH`.
const NAMES: [&str; 2] = ["soffice", "libreoffice"];
/// Where it lies when it is not in `PATH`.
const USUAL: [&str; 4] = [
    "/usr/lib/libreoffice/program/soffice",
    "/usr/lib64/libreoffice/program/soffice",
    "/opt/libreoffice/program/soffice",
    "/Applications/LibreOffice.app/Contents/MacOS/soffice",
];
/// What the drawn document is called in its folder, without extension.
const STEM: &str = "slides";
/// Hidden slides are drawn too: pages have the numbers of slides.
const FILTER: &str =
    r#"pdf:impress_pdf_Export:{"ExportHiddenSlides":{"type":"boolean","value":"true"}}"#;
/// Time between two looks whether it is done.
const PAUSE: Duration = Duration::from_millis(20);
/// Bytes of its last words that are told.
const LAST_WORDS: u64 = 500;

/// What the process that becomes LibreOffice is told.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    /// LibreOffice.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// What it may use.
    pub bounds: ProgramBounds,
    /// Whether it is not started where the system cannot bind it to that.
    pub require_confinement: bool,
}

/// LibreOffice as the configuration names it or as it is installed; `None` if drawing is off or
/// there is none.
pub fn find(config: &SlidesConfig) -> Option<PathBuf> {
    if !config.draw {
        return None;
    }
    if !config.program.as_os_str().is_empty() {
        // It is started in another folder.
        return Some(
            std::path::absolute(&config.program).unwrap_or_else(|_| config.program.clone()),
        );
    }
    let folders: Vec<PathBuf> = std::env::var_os("PATH")
        .map(|path| std::env::split_paths(&path).collect())
        .unwrap_or_default();
    let in_path = NAMES
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    in_path
        .chain(USUAL.iter().map(PathBuf::from))
        .find(|program| program.is_file())
}

/// LibreOffice, and how it is started.
#[derive(Clone, Copy, Debug)]
pub struct Office<'a> {
    /// The program.
    pub program: &'a Path,
    /// How a confined process is started; without it LibreOffice runs as it is.
    pub launch: Option<&'a Launch>,
    /// What it keeps to.
    pub config: &'a Config,
}

impl Office<'_> {
    /// Draws a presentation in a folder of its own: a PDF with a page for each slide, hidden ones
    /// too.
    ///
    /// Errors: `Unavailable` if it cannot be started, `Timeout` if it takes too long, `Invalid` if
    /// the PDF is larger than all embedded files may be, `Corrupt` if it makes nothing of the
    /// document. Takes seconds: call it on a blocking thread.
    pub fn draw(&self, folder: &WorkFolder, bytes: &[u8], format: SlideFormat) -> Result<Vec<u8>> {
        let failed =
            |error: std::io::Error| Error::io("cannot prepare a folder for LibreOffice", &error);
        let input = format!("{STEM}.{}", format.extension());
        folder.write(&input, bytes).map_err(failed)?;
        let end = self.run(folder.path(), &input)?;
        let maximum = self.config.maximum_embedded_bytes;
        let drawn = folder
            .read(&format!("{STEM}.pdf"), maximum)
            .map_err(failed)?;
        let pdf = drawn.filter(|pdf| !pdf.is_empty()).ok_or_else(|| {
            let message = format!("LibreOffice makes nothing of it ({end})");
            Error::new(ErrorKind::Corrupt, message)
        })?;
        if pdf.len() as u64 > maximum {
            let message = format!("LibreOffice makes more than {maximum} bytes of it");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        Ok(pdf)
    }

    /// Runs it to its end, after which no process of it is left, and says how it ended.
    fn run(&self, folder: &Path, input: &str) -> Result<String> {
        let failed = |error: std::io::Error| Error::io("cannot keep what LibreOffice says", &error);
        // Without a name: what it can write to is no place for a file that is written to for it.
        let said = tempfile::tempfile().map_err(failed)?;
        let errors = said.try_clone().map_err(failed)?;
        let began = Instant::now();
        let mut running = self.start(folder, input, errors)?;
        let status = running.wait(began, self.config.slides.drawing_timeout_ms);
        drop(running);
        Ok(format!("{}{}", status?, last_words(said)))
    }

    fn start(&self, folder: &Path, input: &str, errors: File) -> Result<Running> {
        let unavailable = |error: std::io::Error| {
            let message = format!("cannot start {}: {error}", self.program.display());
            Error::new(ErrorKind::Unavailable, message)
        };
        let arguments = arguments(folder, input);
        let mut command = self.command(folder, &arguments);
        command.stderr(errors);
        let mut running = Running(command.spawn().map_err(unavailable)?);
        if let Some(mut orders) = running.0.stdin.take() {
            serde_json::to_writer(&mut orders, &self.order(folder, arguments))
                .map_err(std::io::Error::from)
                .and_then(|()| orders.flush())
                .map_err(unavailable)?;
        }
        Ok(running)
    }

    /// LibreOffice itself, or the process that becomes it once it knows its order.
    fn command(&self, folder: &Path, arguments: &[String]) -> Command {
        let mut command = self.program(arguments);
        let variables: [(&str, OsString); 5] = [
            ("HOME", folder.into()),
            ("TMPDIR", folder.into()),
            ("PATH", "/usr/local/bin:/usr/bin:/bin".into()),
            ("LANG", "C.UTF-8".into()),
            ("SAL_USE_VCLPLUGIN", "svp".into()),
        ];
        command
            .env_clear()
            .envs(variables)
            .current_dir(folder)
            .stdout(Stdio::null());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command
    }

    fn program(&self, arguments: &[String]) -> Command {
        match self.launch {
            Some(launch) => {
                let mut command = Command::new(&launch.program);
                command
                    .args(&launch.program_arguments)
                    .stdin(Stdio::piped());
                command
            }
            None => {
                let mut command = Command::new(self.program);
                command.args(arguments).stdin(Stdio::null());
                command
            }
        }
    }

    fn order(&self, folder: &Path, arguments: Vec<String>) -> Order {
        let slides = &self.config.slides;
        Order {
            program: self.program.to_owned(),
            arguments,
            bounds: ProgramBounds {
                memory_bytes: slides.drawing_memory_bytes,
                file_bytes: self.config.maximum_temporary_file_bytes(),
                processor_seconds: slides.drawing_timeout_ms.div_ceil(1000),
                folder: folder.to_owned(),
                readable: installation(self.program).into_iter().collect(),
            },
            require_confinement: self.config.require_confinement,
        }
    }
}

/// What belongs to the program: the folder above its `program`, else the folder that it lies in.
fn installation(program: &Path) -> Option<PathBuf> {
    let real = program.canonicalize().ok()?;
    let folder = real.parent()?;
    let whole = if folder.ends_with("program") {
        folder.parent()?
    } else {
        folder
    };
    Some(whole.to_owned())
}

fn arguments(folder: &Path, input: &str) -> Vec<String> {
    let profile = format!("-env:UserInstallation=file://{}/profile", folder.display());
    let plain = [
        "--headless",
        "--norestore",
        "--nolockcheck",
        "--nodefault",
        "--nofirststartwizard",
        "--convert-to",
        FILTER,
        "--outdir",
    ];
    let paths = [folder.to_owned(), folder.join(input)].map(|path| path.display().to_string());
    std::iter::once(profile)
        .chain(plain.map(str::to_owned))
        .chain(paths)
        .collect()
}

/// The end of what it said.
fn last_words(mut said: File) -> String {
    let mut end = Vec::new();
    let length = said.seek(SeekFrom::End(0)).unwrap_or(0);
    let read = said
        .seek(SeekFrom::Start(length.saturating_sub(LAST_WORDS)))
        .and_then(|_| said.read_to_end(&mut end));
    let end = String::from_utf8_lossy(&end);
    let line = end
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default();
    if read.is_err() || line.is_empty() {
        String::new()
    } else {
        format!(": {line}")
    }
}

/// LibreOffice and all that it started; ended when this is dropped.
struct Running(Child);

impl Running {
    fn wait(&mut self, began: Instant, timeout_ms: u64) -> Result<ExitStatus> {
        let allowed = Duration::from_millis(timeout_ms);
        let failed = |error: std::io::Error| Error::io("cannot wait for LibreOffice", &error);
        loop {
            if let Some(status) = self.0.try_wait().map_err(failed)? {
                return Ok(status);
            }
            if began.elapsed() > allowed {
                let message = format!("LibreOffice takes longer than {timeout_ms} ms");
                return Err(Error::new(ErrorKind::Timeout, message));
            }
            std::thread::sleep(PAUSE);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(group) = i32::try_from(self.0.id())
            .ok()
            .and_then(rustix::process::Pid::from_raw)
        {
            // Gone already, as a rule.
            rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
        }
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_program_is_the_only_one_and_none_is_looked_for_when_drawing_is_off() {
        let named = SlidesConfig {
            draw: true,
            program: "/nowhere/soffice".into(),
            ..SlidesConfig::default()
        };
        assert_eq!(find(&named), Some(PathBuf::from("/nowhere/soffice")));
        assert_eq!(
            find(&SlidesConfig {
                draw: false,
                ..named.clone()
            }),
            None
        );
        let here = find(&SlidesConfig {
            program: "bin/soffice".into(),
            ..named
        });
        assert!(
            here.is_some_and(|program| program.is_absolute() && program.ends_with("bin/soffice"))
        );
        let missing = Office {
            program: Path::new("/nowhere/soffice"),
            launch: None,
            config: &Config::default(),
        };
        let folder = folder(&std::env::temp_dir());
        let error = missing.draw(&folder, b"x", SlideFormat::Pptx).err();
        assert_eq!(
            error.map(|error| error.kind()),
            Some(ErrorKind::Unavailable)
        );
    }

    fn folder(parent: &Path) -> WorkFolder {
        WorkFolder::new_in(parent, "slides-").unwrap_or_else(|error| panic!("{error}"))
    }

    /// A program that sleeps, says something, or leaves a file, in place of LibreOffice.
    #[cfg(unix)]
    fn program(folder: &Path, script: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = folder.join("soffice");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n"))
            .and_then(|()| std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)))
            .unwrap_or_else(|error| panic!("{error}"));
        path
    }

    #[cfg(unix)]
    #[test]
    fn what_is_drawn_comes_back_and_what_fails_says_why() {
        let scratch = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let run = |script: &str, config: &Config| {
            let office = Office {
                program: &program(scratch.path(), script),
                launch: None,
                config,
            };
            office.draw(&folder(scratch.path()), b"deck", SlideFormat::Pptx)
        };
        let config = Config::default();
        assert_eq!(
            run(
                "cat slides.pptx > slides.pdf; echo ' drawn' >> slides.pdf",
                &config
            )
            .ok(),
            Some(b"deck drawn\n".to_vec())
        );
        assert!(
            run("ln -s slides.pptx slides.pdf", &config).is_err(),
            "a link is no drawing"
        );
        let error = run("echo no filter found >&2; exit 3", &config)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert!(
            error.contains("no filter found") && error.contains('3'),
            "{error}"
        );
        let small = Config {
            maximum_embedded_bytes: 4,
            ..Config::default()
        };
        let error = run(
            "cat slides.pptx > slides.pdf; echo ' drawn' >> slides.pdf",
            &small,
        )
        .err();
        assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::Invalid));
        let mut hurried = Config::default();
        hurried.slides.drawing_timeout_ms = 200;
        let began = Instant::now();
        let error = run("sleep 60 & wait", &hurried).err();
        assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::Timeout));
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "its children are ended too"
        );
        let left: Vec<_> = std::fs::read_dir(scratch.path())
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.file_name())
            .collect();
        assert_eq!(left, ["soffice"], "folders go");
    }
}
