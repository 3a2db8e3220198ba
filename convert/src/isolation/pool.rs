//! Worker processes that are kept and used again, whether they are confined as they must be, and
//! whose fault it is when one dies.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tempfile::TempDir;
use tributary_models::ocr::{OcrSetup, OcrUnavailable};
use tributary_schemas::{Error, ErrorKind, Result};

use super::confinement::Confinement;
use super::folder::{WorkFolder, private_folder};
use super::process::{Attachments, Death, Patience, Request, Worker};
use super::worker::Settings;
use crate::config::Config;
use crate::conversion::{convert, is_message};
use crate::document::{Converted, Job, PageWanted};
use crate::limits::{Limits, check_body, too_long};
use crate::mail;
use crate::pdf;
use crate::picture::ocr::{Engine, PictureReader};
use crate::slides::office::{self, Office};
use crate::slides::{SlideDrawing, SlideFormat};

/// Last words of a worker without memory; PDFium, which is C++, throws what nothing here can catch.
const OUT_OF_MEMORY: [&str; 4] = [
    "memory allocation",
    "out of memory",
    "bad_alloc",
    "cannot catch foreign exceptions",
];
/// What folders for temporary files begin with, before the number of their process.
const SCRATCH: &str = "tributary-conversion-";
/// What the folder of a worker begins with.
const WORKER: &str = "worker-";
/// What the folder of LibreOffice begins with.
const DRAWING: &str = "slides-";
/// Time in which a worker says how it is confined; on a machine that is busy, starting one takes
/// seconds.
const START: Duration = Duration::from_secs(30);
/// What can be done where converters cannot be confined.
const CONFINEMENT_HINT: &str = "documents wait: use Linux 5.13 or newer with Landlock switched on, and let a container make the calls landlock_* and \
    seccomp; `convert.require_confinement = false` converts without";
/// Time beyond the conversion's own limit before a worker is ended from outside: it may say itself
/// what took so long.
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

/// Converts in worker processes, or without `Launch` in this one. As many workers as callers at the
/// same time.
pub struct ConversionPool {
    config: Config,
    launch: Option<Launch>,
    /// How conversion processes open their recogniser.
    ocr: std::result::Result<OcrSetup, OcrUnavailable>,
    /// The recogniser of this process, for conversions in it.
    engine: Engine,
    /// LibreOffice, where slides are drawn.
    office: Option<PathBuf>,
    /// Folder for the folders of all workers; made with the first of them.
    scratch: OnceLock<TempDir>,
    idle: Mutex<Vec<Worker>>,
    /// How the last worker that was started is confined.
    confinement: Mutex<Option<Confinement>>,
    /// Held while a worker is started only to say that.
    asking: Mutex<()>,
}

impl ConversionPool {
    /// Its settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Workers are started when they are needed.
    pub fn new(
        config: Config,
        ocr: std::result::Result<OcrSetup, OcrUnavailable>,
        launch: Option<Launch>,
    ) -> Self {
        let (engine, office) = (Engine::new(ocr.clone()), office::find(&config.slides));
        Self {
            config,
            launch,
            engine,
            office,
            ocr,
            scratch: OnceLock::new(),
            idle: Mutex::default(),
            confinement: Mutex::default(),
            asking: Mutex::default(),
        }
    }

    /// Converts; see [`convert`] for errors, and `Invalid` or `Corrupt` for a document that its
    /// worker did not survive. Takes as long as the conversion: call it on a blocking thread.
    pub fn convert(&self, job: Job<'_>) -> Result<Converted> {
        let Some(launch) = &self.launch else {
            return self.convert_here(job);
        };
        let attachments = &Attachments {
            are_read: self.config.mail.read_attachments,
            ..Attachments::default()
        };
        let request = Request {
            job,
            page: None,
            attachments,
        };
        self.work(launch, request)
    }

    /// A page of a PDF as JPEG, as wide as `convert.pdf.page_width` says. `NotFound` for a page
    /// that the document does not have, `Timeout` for one that takes longer than
    /// `convert.pdf.page_timeout_ms`, `Unavailable` without PDFium; otherwise as
    /// [`Self::convert`]. Call it on a blocking thread.
    pub fn draw_page(&self, bytes: &[u8], number: u32) -> Result<Vec<u8>> {
        let (settings, job) = (&self.config.pdf, Job::named(bytes, "pages.pdf"));
        let width = settings.page_width;
        let page = PageWanted { number, width };
        let drawn = match &self.launch {
            Some(launch) => self.work(
                launch,
                Request {
                    job,
                    page: Some(page),
                    attachments: &Attachments::default(),
                },
            ),
            None => pdf::page_picture(bytes, page, settings),
        };
        let picture = drawn?.blobs.pop().map(|file| file.bytes);
        picture.ok_or_else(|| Error::new(ErrorKind::Internal, "a page was drawn without a picture"))
    }

    /// What a worker makes of a request: one that is kept, else a fresh one.
    fn work(&self, launch: &Launch, request: Request<'_>) -> Result<Converted> {
        let job = request.job;
        check_body(job.bytes, self.config.maximum_body_bytes)?;
        let kept = self
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        if let Some(worker) = kept {
            match self.ask(worker, request) {
                Ok(answer) => return answer,
                Err(Death::TooLong) => {
                    return self.without_attachments(launch, request, self.late(request));
                }
                Err(Death::Unwatched(error)) => return Err(unwatched(&error)),
                Err(Death::Ended(how) | Death::Killed(how)) => {
                    tracing::info!(
                        how,
                        name = job.name,
                        "a conversion process ended; a fresh one tries again"
                    );
                }
            }
        }
        match self.ask(self.start(launch)?, request) {
            Ok(answer) => answer,
            Err(Death::TooLong) => self.without_attachments(launch, request, self.late(request)),
            Err(Death::Unwatched(error)) => Err(unwatched(&error)),
            Err(Death::Ended(how)) => self.without_attachments(launch, request, self.blame(&how)),
            // Not the document's fault, as far as anybody knows: it is tried again a few times.
            Err(Death::Killed(how)) => Err(Error::new(
                ErrorKind::Internal,
                format!("a conversion process was ended from outside: {how}"),
            )),
        }
    }

    /// A message that its worker did not survive, without the attached file that it was reading;
    /// anything else ends as it did.
    fn without_attachments(
        &self,
        launch: &Launch,
        request: Request<'_>,
        why: Error,
    ) -> Result<Converted> {
        let job = request.job;
        if !request.attachments.are_read || !is_message(job) {
            return Err(why);
        }
        let attachments = &request.attachments.without_the_last();
        tracing::info!(
            %why,
            name = job.name,
            left_out = ?attachments.left_out,
            "a message is read again without a file that is attached to it"
        );
        let mut converted = self.work(
            launch,
            Request {
                attachments,
                ..request
            },
        )?;
        if !attachments.are_read {
            mail::note_unread(&mut converted.metadata, &[format!("all: {why}")]);
        }
        Ok(converted)
    }

    /// How converters are confined: as the last process said, or one that is started to say it;
    /// `None` where they run in this process, as the configuration wants it. Errors:
    /// `Unavailable` if they cannot be confined as they must be, or not be started. Call it on a
    /// blocking thread.
    pub fn confinement(&self) -> Result<Option<Confinement>> {
        let Some(launch) = &self.launch else {
            return Ok(None);
        };
        let _alone = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = self
            .known_confinement()
            .filter(|known| self.suffices(known))
        {
            return Ok(Some(known));
        }
        let worker = self.start(launch)?;
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(worker);
        Ok(self.known_confinement())
    }

    /// Whether converters run in processes of their own.
    pub fn is_isolated(&self) -> bool {
        self.launch.is_some()
    }

    /// [`Self::confinement`] as far as it is known; `None` before the first process was started
    /// too.
    pub fn known_confinement(&self) -> Option<Confinement> {
        self.confinement
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn suffices(&self, confinement: &Confinement) -> bool {
        confinement.is_complete() || !self.config.require_confinement
    }

    fn convert_here(&self, job: Job<'_>) -> Result<Converted> {
        let draw = |format| self.draw(job.bytes, format);
        let slides = SlideDrawing::new(&draw, &|| Ok(()));
        let pictures = PictureReader::new(&self.config.ocr, &self.engine, &|| Ok(()));
        let limits = Limits::starting_now(&self.config).with_pictures(&pictures);
        let limits = if self.office.is_some() {
            limits.with_slides(&slides)
        } else {
            limits
        };
        convert(job, &self.config, &limits)
    }

    /// A presentation as PDF.
    fn draw(&self, bytes: &[u8], format: SlideFormat) -> Result<Vec<u8>> {
        let program = self
            .office
            .as_deref()
            .ok_or_else(|| Error::new(ErrorKind::Unavailable, "LibreOffice is not installed"))?;
        let office = Office {
            program,
            launch: self.launch.as_ref(),
            config: &self.config,
        };
        office.draw(&self.work_folder(DRAWING)?, bytes, format)
    }

    fn scratch(&self) -> Result<&Path> {
        if let Some(folder) = self.scratch.get() {
            return Ok(folder.path());
        }
        sweep_scratch();
        let prefix = format!("{SCRATCH}{}-", std::process::id());
        let made = private_folder(&std::env::temp_dir(), &prefix)
            .map_err(|error| environment("cannot make a folder", &error))?;
        // Another caller may have been faster; then ours goes at once.
        Ok(self.scratch.get_or_init(|| made).path())
    }

    fn work_folder(&self, prefix: &str) -> Result<WorkFolder> {
        WorkFolder::new_in(self.scratch()?, prefix)
            .map_err(|error| environment("cannot make a folder for a conversion", &error))
    }

    /// A worker that is confined as it must be. What becomes of it before it is given a document is
    /// no document's fault: `Unavailable`.
    fn start(&self, launch: &Launch) -> Result<Worker> {
        let folder = self.work_folder(WORKER)?;
        let settings = self.settings(launch, &folder);
        let mut worker = Worker::start(launch, &settings, folder)?;
        let confinement = worker.confinement(START).map_err(|death| match death {
            Death::TooLong => Error::new(
                ErrorKind::Unavailable,
                "a conversion process does not say how it is confined",
            ),
            Death::Unwatched(error) => unwatched(&error),
            Death::Ended(how) | Death::Killed(how) => Error::new(
                ErrorKind::Unavailable,
                format!("a conversion process did not start: {how}"),
            ),
        })?;
        let suffices = self.suffices(&confinement);
        let missing = confinement.missing();
        self.note(confinement);
        if suffices {
            return Ok(worker);
        }
        Err(Error::new(
            ErrorKind::Unavailable,
            format!("converters cannot be confined here: {missing}"),
        )
        .with_hint(CONFINEMENT_HINT))
    }

    /// Keeps how a process is confined, and logs it where that is news.
    fn note(&self, confinement: Confinement) {
        let mut known = self
            .confinement
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if known.as_ref() == Some(&confinement) {
            return;
        }
        let (enforced, missing) = (confinement.enforced(), confinement.missing());
        if confinement.is_complete() {
            tracing::info!(enforced, "conversion is confined");
        } else if self.config.require_confinement {
            tracing::error!(
                enforced,
                missing,
                "conversion cannot be confined here: documents wait (convert.require_confinement)"
            );
        } else {
            tracing::warn!(
                enforced,
                missing,
                "conversion is not wholly confined (convert.require_confinement is false)"
            );
        }
        *known = Some(confinement);
    }

    fn settings(&self, launch: &Launch, folder: &WorkFolder) -> Settings {
        let mut readable = launch.readable.clone();
        if let Ok(setup) = &self.ocr {
            readable.extend(setup.library.parent().map(Path::to_owned));
            readable.push(setup.models.clone());
        }
        Settings {
            config: self.config.clone(),
            ocr: self.ocr.clone(),
            draws_slides: self.office.is_some(),
            folder: folder.path().to_owned(),
            readable,
        }
    }

    /// The error for a request that took longer than it may.
    fn late(&self, request: Request<'_>) -> Error {
        let limit_ms = self.limit_ms(request);
        let Some(PageWanted { number, .. }) = request.page else {
            return too_long(limit_ms);
        };
        // A busy machine may be to blame: whoever asks again may get it.
        let message = format!("page {number} could not be drawn within {limit_ms} ms");
        Error::new(ErrorKind::Timeout, message)
            .with_hint("try again, or raise `convert.pdf.page_timeout_ms`")
    }

    /// Longest time for a request.
    fn limit_ms(&self, request: Request<'_>) -> u64 {
        match request.page {
            Some(_) => self.config.pdf.page_timeout_ms,
            None => self.config.conversion_timeout_ms,
        }
    }

    fn ask(
        &self,
        mut worker: Worker,
        request: Request<'_>,
    ) -> std::result::Result<Result<Converted>, Death> {
        let limit = Duration::from_millis(self.limit_ms(request)) + GRACE;
        let drawing = limit + Duration::from_millis(self.config.slides.drawing_timeout_ms);
        let maximum_bytes =
            usize::try_from(self.config.maximum_result_bytes()).unwrap_or(usize::MAX);
        let draw = |format| self.draw(request.job.bytes, format);
        let answer = worker.ask(request, &Patience { limit, drawing }, maximum_bytes, &draw)?;
        if worker.documents < self.config.documents_per_worker {
            self.idle
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(worker);
        }
        Ok(answer)
    }

    /// The document's error for how a fresh worker ended.
    fn blame(&self, how: &str) -> Error {
        let memory = self.config.conversion_memory_bytes;
        if OUT_OF_MEMORY.iter().any(|words| how.contains(words)) {
            return Error::new(
                ErrorKind::Invalid,
                format!("conversion needed more than {memory} bytes of memory"),
            )
            .with_hint(
                "split or simplify the document, or raise `convert.conversion_memory_bytes`",
            );
        }
        if how.contains("overflowed its stack") {
            return Error::new(
                ErrorKind::Invalid,
                "the document is nested too deeply to be converted",
            );
        }
        if how.contains("SIGXCPU") {
            return too_long(self.config.conversion_timeout_ms);
        }
        if how.contains("SIGXFSZ") {
            let maximum_bytes = self.config.maximum_temporary_file_bytes();
            return Error::new(
                ErrorKind::Invalid,
                format!("conversion needed a temporary file of more than {maximum_bytes} bytes"),
            )
            .with_hint("split the document, or raise `convert.tables.maximum_sheet_bytes`");
        }
        Error::new(
            ErrorKind::Corrupt,
            format!("the converter did not survive this document: {how}"),
        )
        .with_hint("save the document again with another program; if it opens there, report this")
    }
}

/// A failure of the environment is waited for.
fn environment(what: &str, error: &std::io::Error) -> Error {
    let failed = Error::io(what, error);
    match failed.kind() {
        ErrorKind::Exhausted => failed,
        _ => Error::new(ErrorKind::Unavailable, failed.to_string())
            .with_hint("the folder for temporary files must be writable (TMPDIR)"),
    }
}

/// Removes folders for temporary files whose process was killed. Only where it can be told that a
/// process is gone.
fn sweep_scratch() {
    if !Path::new("/proc/self").exists() {
        return;
    }
    for entry in std::fs::read_dir(std::env::temp_dir())
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name
            .strip_prefix(SCRATCH)
            .and_then(|rest| rest.split_once('-'))
            .and_then(|(process, _)| process.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists())
            && let Err(error) = std::fs::remove_dir_all(entry.path())
        {
            tracing::debug!(%error, name, "a folder that a conversion left cannot be removed");
        }
    }
}

/// No record's fault: it waits until the system has a thread again.
fn unwatched(error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, format!("no thread can be started to watch over a conversion: {error}"))
        .with_hint("raise the limit of threads (`ulimit -u`, TasksMax= of the service), or make room in memory")
}
