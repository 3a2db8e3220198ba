//! LibreOffice: found, started once for each presentation in a folder and with a profile of its own, confined where conversion is, ended
//! when it takes too long.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};
use tributary_schemas::{Error, ErrorKind, Result};

use super::{SlideFormat, SlidesConfig};
use crate::config::Config;
use crate::isolation::{Launch, ProgramBounds, SOCKETS};

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
const FILTER: &str = r#"pdf:impress_pdf_Export:{"ExportHiddenSlides":{"type":"boolean","value":"true"}}"#;
/// Time between two looks whether it is done.
const PAUSE: Duration = Duration::from_millis(20);
/// What its sockets in [`SOCKETS`] begin with; a confined one cannot remove its own.
const SOCKET_PREFIX: &str = "OSL_PIPE_";
/// Bytes of its last words that are told.
const LAST_WORDS: u64 = 500;

/// What the process that becomes LibreOffice is told.
#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    /// LibreOffice.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// What it may use.
    pub bounds: ProgramBounds,
}

/// LibreOffice as the configuration names it or as it is installed; `None` if drawing is off or there is none.
pub fn find(config: &SlidesConfig) -> Option<PathBuf> {
    if !config.draw {
        return None;
    }
    if !config.program.as_os_str().is_empty() {
        // It is started in another folder.
        return Some(std::path::absolute(&config.program).unwrap_or_else(|_| config.program.clone()));
    }
    let folders: Vec<PathBuf> = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    let in_path = NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    in_path.chain(USUAL.iter().map(PathBuf::from)).find(|program| program.is_file())
}

/// Draws a presentation: a PDF with a page for each slide, hidden ones too.
///
/// `launch` says how a confined process is started; without it LibreOffice runs as it is. Errors: `Unavailable` if it cannot be started,
/// `Timeout` if it takes too long, `Invalid` if the PDF is larger than all embedded files may be, `Corrupt` if it makes nothing of
/// the document. Takes seconds: call it on a blocking thread.
pub fn draw(
    program: &Path,
    launch: Option<&Launch>,
    scratch: &Path,
    config: &Config,
    bytes: &[u8],
    format: SlideFormat,
) -> Result<Vec<u8>> {
    let failed = |error: std::io::Error| Error::io("cannot prepare a folder for LibreOffice", &error);
    let folder = tempfile::Builder::new().prefix("slides-").tempdir_in(scratch).map_err(failed)?;
    let input = folder.path().join(STEM).with_extension(format.extension());
    std::fs::write(&input, bytes).map_err(failed)?;
    let drawn = folder.path().join(STEM).with_extension("pdf");
    let deadline = Instant::now() + Duration::from_millis(config.slides.drawing_timeout_ms);
    // What lies in its folder is not believed: a link there may lead anywhere.
    let is_drawn = || std::fs::symlink_metadata(&drawn).is_ok_and(|about| about.is_file());
    let mut end = run(program, launch, folder.path(), &input, deadline, config)?;
    if !is_drawn() {
        // A new profile makes it start itself anew, and a confined one cannot remove the socket that then is in its way.
        end = run(program, launch, folder.path(), &input, deadline, config)?;
    }
    let most = config.maximum_embedded_bytes;
    let mut pdf = Vec::new();
    if is_drawn() {
        File::open(&drawn).and_then(|file| file.take(most.saturating_add(1)).read_to_end(&mut pdf)).map_err(failed)?;
    }
    if pdf.len() as u64 > most {
        return Err(Error::new(ErrorKind::Invalid, format!("LibreOffice makes more than {most} bytes of it")));
    }
    if pdf.is_empty() { Err(Error::new(ErrorKind::Corrupt, format!("LibreOffice makes nothing of it ({end})"))) } else { Ok(pdf) }
}

/// Runs it once, and says how it ended.
fn run(program: &Path, launch: Option<&Launch>, folder: &Path, input: &Path, deadline: Instant, config: &Config) -> Result<String> {
    let failed = |error: std::io::Error| Error::io("cannot keep what LibreOffice says", &error);
    let began = SystemTime::now();
    // Without a name: what it can write to is no place for a file that is written to for it.
    let said = tempfile::tempfile().map_err(failed)?;
    let errors = said.try_clone().map_err(failed)?;
    let mut running = start(program, launch, folder, input, errors, config)?;
    let status = running.wait(deadline, config);
    drop(running);
    if launch.is_some() {
        sweep_sockets(Path::new(SOCKETS), began);
    }
    Ok(format!("{}{}", status?, last_words(said)))
}

fn start(program: &Path, launch: Option<&Launch>, folder: &Path, input: &Path, errors: File, config: &Config) -> Result<Running> {
    let arguments = arguments(folder, input);
    let mut command = Command::new(launch.map_or(program, |launch| &launch.program));
    match launch {
        Some(launch) => command.args(&launch.program_arguments).stdin(Stdio::piped()),
        None => command.args(&arguments).stdin(Stdio::null()),
    };
    let mut variables: Vec<(&str, OsString)> = vec![("HOME", folder.into()), ("TMPDIR", folder.into())];
    variables.extend([("PATH", "/usr/local/bin:/usr/bin:/bin".into()), ("LANG", "C.UTF-8".into()), ("SAL_USE_VCLPLUGIN", "svp".into())]);
    command.env_clear().envs(variables).current_dir(folder).stdout(Stdio::null());
    let unavailable = |error: std::io::Error| Error::new(ErrorKind::Unavailable, format!("cannot start {}: {error}", program.display()));
    command.stderr(errors);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut running = Running(command.spawn().map_err(unavailable)?);
    if let Some(mut orders) = running.0.stdin.take() {
        let bounds = ProgramBounds {
            memory_bytes: config.slides.drawing_memory_bytes,
            file_bytes: config.maximum_temporary_file_bytes(),
            processor_seconds: config.slides.drawing_timeout_ms.div_ceil(1000),
            scratch: folder.to_owned(),
            readable: installation(program).into_iter().collect(),
        };
        let order = Order { program: program.to_owned(), arguments, bounds };
        serde_json::to_writer(&mut orders, &order).map_err(std::io::Error::from).and_then(|()| orders.flush()).map_err(unavailable)?;
    }
    Ok(running)
}

/// What belongs to the program: the folder above its `program`, else the folder that it lies in.
fn installation(program: &Path) -> Option<PathBuf> {
    let real = program.canonicalize().ok()?;
    let folder = real.parent()?;
    let whole = if folder.ends_with("program") { folder.parent()? } else { folder };
    Some(whole.to_owned())
}

fn arguments(folder: &Path, input: &Path) -> Vec<String> {
    let profile = format!("-env:UserInstallation=file://{}/profile", folder.display());
    let plain = ["--headless", "--norestore", "--nolockcheck", "--nodefault", "--nofirststartwizard", "--convert-to", FILTER, "--outdir"];
    let paths = [folder, input].map(|path| path.display().to_string());
    std::iter::once(profile).chain(plain.map(str::to_owned)).chain(paths).collect()
}

/// Removes sockets of LibreOffice, made since then, at which nobody listens any more.
#[cfg(target_os = "linux")]
fn sweep_sockets(folder: &Path, since: SystemTime) {
    use std::os::unix::fs::FileTypeExt;
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_its = entry.file_name().to_string_lossy().starts_with(SOCKET_PREFIX);
        let is_new = |about: &std::fs::Metadata| about.file_type().is_socket() && about.modified().is_ok_and(|made| made >= since);
        if is_its
            && entry.metadata().is_ok_and(|about| is_new(&about))
            && is_deserted(&entry.path())
            && let Err(error) = std::fs::remove_file(entry.path())
        {
            tracing::debug!(%error, path = %entry.path().display(), "a socket that LibreOffice left cannot be removed");
        }
    }
}

/// Whether nobody listens; asked without waiting for somebody who never answers.
#[cfg(target_os = "linux")]
fn is_deserted(path: &Path) -> bool {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let Ok(socket) = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None) else { return false };
    SocketAddrUnix::new(path).is_ok_and(|address| connect(&socket, &address) == Err(rustix::io::Errno::CONNREFUSED))
}

/// Only where Landlock keeps it from removing its own.
#[cfg(not(target_os = "linux"))]
fn sweep_sockets(_folder: &Path, _since: SystemTime) {}

/// The end of what it said.
fn last_words(mut said: File) -> String {
    let mut end = Vec::new();
    let length = said.seek(SeekFrom::End(0)).unwrap_or(0);
    let read = said.seek(SeekFrom::Start(length.saturating_sub(LAST_WORDS))).and_then(|_| said.read_to_end(&mut end));
    let end = String::from_utf8_lossy(&end);
    let line = end.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    if read.is_err() || line.is_empty() { String::new() } else { format!(": {line}") }
}

/// LibreOffice and all that it started; ended when this is dropped.
struct Running(Child);

impl Running {
    fn wait(&mut self, deadline: Instant, config: &Config) -> Result<ExitStatus> {
        loop {
            if let Some(status) = self.0.try_wait().map_err(|error| Error::io("cannot wait for LibreOffice", &error))? {
                return Ok(status);
            }
            if Instant::now() > deadline {
                let limit = config.slides.drawing_timeout_ms;
                return Err(Error::new(ErrorKind::Timeout, format!("LibreOffice takes longer than {limit} ms")));
            }
            std::thread::sleep(PAUSE);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(group) = i32::try_from(self.0.id()).ok().and_then(rustix::process::Pid::from_raw) {
            // Gone already, as a rule.
            rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap_or_default();
        }
        self.0.kill().unwrap_or_default();
        self.0.wait().map(drop).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_program_is_the_only_one_and_none_is_looked_for_when_drawing_is_off() {
        let named = SlidesConfig { draw: true, program: "/nowhere/soffice".into(), ..SlidesConfig::default() };
        assert_eq!(find(&named), Some(PathBuf::from("/nowhere/soffice")));
        assert_eq!(find(&SlidesConfig { draw: false, ..named.clone() }), None);
        let here = find(&SlidesConfig { program: "bin/soffice".into(), ..named });
        assert!(here.is_some_and(|program| program.is_absolute() && program.ends_with("bin/soffice")));
        let scratch = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let error = draw(Path::new("/nowhere/soffice"), None, scratch.path(), &Config::default(), b"x", SlideFormat::Pptx).err();
        assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::Unavailable));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn sockets_that_nobody_listens_at_go() {
        use std::os::unix::net::UnixListener;
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let bind = |name: &str| UnixListener::bind(folder.path().join(name)).unwrap_or_else(|error| panic!("{error}"));
        let (ended, other) = (bind("OSL_PIPE_0_a"), bind("other"));
        let _running = bind("OSL_PIPE_0_b");
        drop((ended, other));
        let since = SystemTime::now() - Duration::from_secs(60);
        sweep_sockets(folder.path(), SystemTime::now() + Duration::from_secs(60));
        assert!(folder.path().join("OSL_PIPE_0_a").exists(), "it is older");
        sweep_sockets(folder.path(), since);
        let mut left: Vec<_> = std::fs::read_dir(folder.path()).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect();
        left.sort();
        assert_eq!(left, ["OSL_PIPE_0_b", "other"]);
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
            draw(&program(scratch.path(), script), None, scratch.path(), config, b"deck", SlideFormat::Pptx)
        };
        let config = Config::default();
        assert_eq!(run("cat slides.pptx > slides.pdf; echo ' drawn' >> slides.pdf", &config).ok(), Some(b"deck drawn\n".to_vec()));
        assert!(run("ln -s slides.pptx slides.pdf", &config).is_err(), "a link is no drawing");
        let error = run("echo no filter found >&2; exit 3", &config).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains("no filter found") && error.contains('3'), "{error}");
        let small = Config { maximum_embedded_bytes: 4, ..Config::default() };
        let error = run("cat slides.pptx > slides.pdf; echo ' drawn' >> slides.pdf", &small).err();
        assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::Invalid));
        let mut hurried = Config::default();
        hurried.slides.drawing_timeout_ms = 200;
        let began = Instant::now();
        let error = run("sleep 60 & wait", &hurried).err();
        assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::Timeout));
        assert!(began.elapsed() < Duration::from_secs(30), "its children are ended too");
        let left: Vec<_> = std::fs::read_dir(scratch.path()).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left, ["soffice"], "folders go");
    }
}
