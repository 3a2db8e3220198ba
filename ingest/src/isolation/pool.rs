//! Worker processes that are kept and used again, and what is said of those that die.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tempfile::TempDir;
use tributary_models::ocr::{OcrSetup, OcrUnavailable};
use tributary_schemas::{Error, ErrorKind, Result};

use super::protocol::{self, RequestHead, Sign};
use super::worker::Settings;
use crate::config::Config;
use crate::converters::{self, Converted, Limits};
use crate::ocr::{Engine, PictureReader};
use crate::slides::{SlideDrawing, SlideFormat, office};

/// Documents after which a worker is replaced: what libraries lose over time goes with it.
const MOST_DOCUMENTS: u32 = 500;
/// Bytes of a worker's last words that are kept.
const LAST_WORDS: usize = 4096;
/// Last words of a worker without memory; PDFium, which is C++, throws what nothing here can catch.
const OUT_OF_MEMORY: [&str; 4] = ["memory allocation", "out of memory", "bad_alloc", "cannot catch foreign exceptions"];
/// Time in which a worker that no longer answers is really gone.
const LAST_MOMENTS: Duration = Duration::from_millis(50);
/// What folders for temporary files begin with, before the number of their process.
const SCRATCH: &str = "tributary-conversion-";
/// Time beyond the conversion's own limit before a worker is ended from outside: it may say itself what took so long.
const GRACE: Duration = Duration::from_secs(2);

/// How workers are started.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Program.
    pub program: PathBuf,
    /// Arguments that make it call `serve`.
    pub arguments: Vec<OsString>,
    /// Arguments that make it call `become_program`.
    pub program_arguments: Vec<OsString>,
    /// Folders with libraries and models that converters may read.
    pub readable: Vec<PathBuf>,
}

/// What to convert.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// Body.
    pub bytes: &'a [u8],
    /// File name, path or URL.
    pub name: Option<&'a str>,
    /// What the producer believes.
    pub media_type: Option<&'a str>,
}

/// Converts in worker processes, or without `Launch` in this one. As many workers as callers at the same time.
pub struct ConversionPool {
    config: Config,
    launch: Option<Launch>,
    /// How conversion processes open their recogniser.
    ocr: std::result::Result<OcrSetup, OcrUnavailable>,
    /// The recogniser of this process, for conversions in it.
    engine: Engine,
    /// LibreOffice, where slides are drawn.
    office: Option<PathBuf>,
    /// Folder for temporary files of all workers; made with the first of them.
    scratch: OnceLock<TempDir>,
    idle: Mutex<Vec<Worker>>,
}

/// Why there is no answer.
enum Death {
    /// It was ended because it took too long.
    TooLong,
    /// It ended by itself, in these words.
    Ended(String),
    /// Somebody else ended it: an operator, or a system without memory.
    Killed(String),
}

impl ConversionPool {
    /// Workers are started when they are needed.
    pub fn new(config: Config, ocr: std::result::Result<OcrSetup, OcrUnavailable>, launch: Option<Launch>) -> Self {
        let (engine, office) = (Engine::new(ocr.clone()), office::find(&config.slides));
        Self { config, launch, engine, office, ocr, scratch: OnceLock::new(), idle: Mutex::default() }
    }

    /// Converts; see [`converters::convert`] for errors, and `Invalid` or `Corrupt` for a document that its worker did not survive.
    /// Takes as long as the conversion: call it on a blocking thread.
    pub fn convert(&self, job: Job<'_>) -> Result<Converted> {
        let Some(launch) = &self.launch else {
            return self.convert_here(job);
        };
        converters::check_body(job.bytes, &self.config)?;
        let kept = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(worker) = kept {
            match self.ask(worker, job) {
                Ok(answer) => return answer,
                Err(Death::TooLong) => return Err(converters::too_long(&self.config)),
                Err(Death::Ended(how) | Death::Killed(how)) => {
                    tracing::info!(how, name = job.name, "a conversion process ended; a fresh one tries again");
                }
            }
        }
        match self.ask(self.start(launch)?, job) {
            Ok(answer) => answer,
            Err(Death::TooLong) => Err(converters::too_long(&self.config)),
            Err(Death::Ended(how)) => Err(self.blame(&how)),
            // Not the document's fault, as far as anybody knows: it is tried again a few times.
            Err(Death::Killed(how)) => Err(Error::new(ErrorKind::Internal, format!("a conversion process was ended from outside: {how}"))),
        }
    }

    fn convert_here(&self, job: Job<'_>) -> Result<Converted> {
        let draw = |format| self.draw(job.bytes, format);
        let slides = SlideDrawing::new(&draw, &|| Ok(()));
        let pictures = PictureReader::new(&self.engine, &|| Ok(()));
        let limits = Limits::starting_now(&self.config).with_pictures(&pictures);
        let limits = if self.office.is_some() { limits.with_slides(&slides) } else { limits };
        converters::convert(job.bytes, job.name, job.media_type, &limits)
    }

    /// A presentation as PDF.
    fn draw(&self, bytes: &[u8], format: SlideFormat) -> Result<Vec<u8>> {
        let office = self.office.as_deref().ok_or_else(|| Error::new(ErrorKind::Unavailable, "LibreOffice is not installed"))?;
        office::draw(office, self.launch.as_ref(), self.scratch()?, &self.config, bytes, format)
    }

    fn scratch(&self) -> Result<&Path> {
        if let Some(folder) = self.scratch.get() {
            return Ok(folder.path());
        }
        sweep_scratch();
        let made = tempfile::Builder::new().prefix(&format!("{SCRATCH}{}-", std::process::id())).tempdir();
        let made = made.map_err(|error| Error::io("cannot make a folder for temporary files", &error))?;
        // Another caller may have been faster; then ours goes at once.
        Ok(self.scratch.get_or_init(|| made).path())
    }

    fn start(&self, launch: &Launch) -> Result<Worker> {
        let scratch = self.scratch()?;
        let mut readable = launch.readable.clone();
        if let Ok(setup) = &self.ocr {
            readable.extend(setup.library.parent().map(Path::to_owned));
            readable.push(setup.models.clone());
        }
        let settings = Settings {
            config: self.config.clone(),
            ocr: self.ocr.clone(),
            draws_slides: self.office.is_some(),
            scratch: scratch.to_owned(),
            readable,
        };
        Worker::start(launch, &settings)
    }

    fn ask(&self, mut worker: Worker, job: Job<'_>) -> std::result::Result<Result<Converted>, Death> {
        let limit = Duration::from_millis(self.config.conversion_timeout_ms) + GRACE;
        let drawing = limit + Duration::from_millis(self.config.slides.drawing_timeout_ms);
        let most = usize::try_from(self.config.maximum_result_bytes()).unwrap_or(usize::MAX);
        let draw = |format| self.draw(job.bytes, format);
        let answer = worker.ask(job, &Patience { limit, drawing }, most, &draw)?;
        if worker.documents < MOST_DOCUMENTS {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
        }
        Ok(answer)
    }

    /// The document's error for how a fresh worker ended.
    fn blame(&self, how: &str) -> Error {
        let memory = self.config.conversion_memory_bytes;
        if OUT_OF_MEMORY.iter().any(|words| how.contains(words)) {
            return Error::new(ErrorKind::Invalid, format!("conversion needed more than {memory} bytes of memory"))
                .with_hint("split or simplify the document, or raise `ingest.conversion_memory_bytes`");
        }
        if how.contains("overflowed its stack") {
            return Error::new(ErrorKind::Invalid, "the document is nested too deeply to be converted");
        }
        if how.contains("SIGXCPU") {
            return converters::too_long(&self.config);
        }
        if how.contains("SIGXFSZ") {
            let most = self.config.maximum_temporary_file_bytes();
            return Error::new(ErrorKind::Invalid, format!("conversion needed a temporary file of more than {most} bytes"))
                .with_hint("split the document, or raise `ingest.tables.maximum_sheet_bytes`");
        }
        Error::new(ErrorKind::Corrupt, format!("the converter did not survive this document: {how}"))
            .with_hint("save the document again with another program; if it opens there, report this")
    }
}

/// How long a worker may say nothing.
struct Patience {
    limit: Duration,
    /// While it waits for a drawing.
    drawing: Duration,
}

/// One process.
struct Worker {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    last_words: Arc<Mutex<VecDeque<u8>>>,
    documents: u32,
}

impl Worker {
    fn start(launch: &Launch, settings: &Settings) -> Result<Self> {
        let failed = |error: std::io::Error| Error::io("cannot start a conversion process", &error);
        let gone = || Error::new(ErrorKind::Internal, "a conversion process without its pipes");
        let mut child = Command::new(&launch.program)
            .args(&launch.arguments)
            .env_clear()
            .env("TMPDIR", &settings.scratch)
            .env("RUST_BACKTRACE", "0")
            .current_dir(&settings.scratch)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| Error::new(ErrorKind::Unavailable, failed(error).to_string()))?;
        let (requests, answers) = (child.stdin.take().ok_or_else(gone)?, child.stdout.take().ok_or_else(gone)?);
        let last_words = Arc::default();
        listen(child.stderr.take().ok_or_else(gone)?, Arc::clone(&last_words)).map_err(failed)?;
        let mut worker = Self { child, requests: Some(requests), answers: BufReader::new(answers), last_words, documents: 0 };
        // One that is already dead says so when it is asked.
        if let Some(Err(error)) = worker.requests.as_mut().map(|requests| protocol::write(requests, settings, &[])) {
            tracing::debug!(%error, "a conversion process did not take its settings");
        }
        Ok(worker)
    }

    /// One question and its answer, within a time. `draw` draws the presentation that the question is about.
    fn ask(
        &mut self,
        job: Job<'_>,
        patience: &Patience,
        most: usize,
        draw: &dyn Fn(SlideFormat) -> Result<Vec<u8>>,
    ) -> std::result::Result<Result<Converted>, Death> {
        let head =
            RequestHead { name: job.name.map(str::to_owned), media_type: job.media_type.map(str::to_owned), body_bytes: job.bytes.len() };
        self.documents += 1;
        let (Some(requests), answers, child) = (&mut self.requests, &mut self.answers, &mut self.child) else {
            return Err(Death::Ended("it was not started".to_owned()));
        };
        let (working, watched) = mpsc::channel::<Duration>();
        let mut limit = patience.limit;
        let (answer, was_ended) = std::thread::scope(|scope| {
            let watch = scope.spawn(move || {
                // Each sign of work begins the time anew; the end of the conversation ends the watch.
                let is_late = loop {
                    match watched.recv_timeout(limit) {
                        Ok(next) => limit = next,
                        Err(end) => break end == RecvTimeoutError::Timeout,
                    }
                };
                if is_late && let Err(error) = child.kill() {
                    tracing::warn!(%error, "a conversion process that takes too long cannot be ended");
                }
                is_late
            });
            let asked = protocol::write(requests, &head, &[job.bytes]);
            // One that died while it was asked may have said why.
            let wait = |time| working.send(time).unwrap_or_default();
            let on_sign = |sign| match sign {
                Sign::Working => {
                    wait(patience.limit);
                    Ok(())
                }
                Sign::Draw(format) => {
                    wait(patience.drawing);
                    let told = protocol::write_drawn(requests, &draw(format));
                    wait(patience.limit);
                    told
                }
            };
            let answer = asked.and_then(|()| protocol::read_answer(answers, most, on_sign));
            drop(working);
            (answer, watch.join().unwrap_or(false))
        });
        match answer {
            Ok(answer) => Ok(answer),
            Err(_) if was_ended => Err(Death::TooLong),
            Err(error) => Err(self.end(&error)),
        }
    }

    /// How it ended, with its last words.
    fn end(&mut self, error: &std::io::Error) -> Death {
        self.requests = None;
        // What it says last, and that it is gone, may still be on its way.
        std::thread::sleep(LAST_MOMENTS);
        let gone = self.child.try_wait().ok().flatten();
        let words: Vec<u8> = self.last_words.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        let words = String::from_utf8_lossy(&words).trim().to_owned();
        let with_words = |how: String| if words.is_empty() { how } else { format!("{how}: {words}") };
        match gone {
            Some(status) if is_from_outside(status) => Death::Killed(with_words(ending(status))),
            Some(status) => Death::Ended(with_words(ending(status))),
            None => Death::Ended(with_words(format!("its process said nothing sensible: {error}"))),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.requests = None;
        self.child.kill().unwrap_or_default();
        self.child.wait().map(drop).unwrap_or_default();
    }
}

/// Removes folders for temporary files whose process was killed. Only where it can be told that a process is gone.
fn sweep_scratch() {
    if !Path::new("/proc/self").exists() {
        return;
    }
    for entry in std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.strip_prefix(SCRATCH).and_then(|rest| rest.split_once('-')).and_then(|(process, _)| process.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists())
            && let Err(error) = std::fs::remove_dir_all(entry.path())
        {
            tracing::debug!(%error, name, "a folder that a conversion left cannot be removed");
        }
    }
}

/// Keeps the end of what a worker says to standard error.
fn listen(mut errors: impl Read + Send + 'static, kept: Arc<Mutex<VecDeque<u8>>>) -> std::io::Result<()> {
    let work = move || {
        let mut buffer = [0; 1024];
        while let Ok(count @ 1..) = errors.read(&mut buffer) {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend(buffer.iter().take(count));
            let excess = kept.len().saturating_sub(LAST_WORDS);
            kept.drain(..excess);
        }
    };
    std::thread::Builder::new().name("conversion-errors".to_owned()).spawn(work).map(drop)
}

#[cfg(unix)]
fn ending(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    const NAMES: [(i32, &str); 8] =
        [(4, "SIGILL"), (6, "SIGABRT"), (7, "SIGBUS"), (8, "SIGFPE"), (9, "SIGKILL"), (11, "SIGSEGV"), (24, "SIGXCPU"), (25, "SIGXFSZ")];
    match status.signal() {
        Some(signal) => {
            let name = NAMES.iter().find(|(number, _)| *number == signal).map_or("a signal", |(_, name)| name);
            format!("its process ended by {name} ({signal})")
        }
        None => format!("its process ended: {status}"),
    }
}

/// Whether it ended by a signal that no program sends itself.
#[cfg(unix)]
fn is_from_outside(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    matches!(status.signal(), Some(1 | 2 | 9 | 15))
}

#[cfg(not(unix))]
fn ending(status: ExitStatus) -> String {
    format!("its process ended: {status}")
}

#[cfg(not(unix))]
fn is_from_outside(_status: ExitStatus) -> bool {
    false
}
