//! One conversion process: started in a folder of its own, spoken to within a time, and what is
//! said of it when it dies.

use std::cell::Cell;
use std::collections::VecDeque;
use std::io::{self, BufReader, Read};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tributary_schemas::{Error, ErrorKind, Result};

use super::confinement::Confinement;
use super::folder::WorkFolder;
use super::pool::Launch;
use super::protocol::{self, RequestHead, Sign};
use super::worker::Settings;
use crate::document::Converted;
use crate::document::{Job, PageWanted};
use crate::slides::SlideFormat;

/// Bytes of a worker's last words that are kept.
const LAST_WORDS: usize = 4096;
/// Time in which a worker that no longer answers is really gone.
const LAST_MOMENTS: Duration = Duration::from_millis(50);

/// Why there is no answer.
pub(super) enum Death {
    /// It was ended because it took too long.
    TooLong,
    /// It ended by itself, in these words.
    Ended(String),
    /// Somebody else ended it: an operator, or a system without memory.
    Killed(String),
    /// It was not asked: the system has no thread that could watch over it.
    Unwatched(io::Error),
}

/// What a worker is asked for.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    /// The document.
    pub job: Job<'a>,
    /// The page that is wanted as a picture; the document as Markdown where there is none.
    pub page: Option<PageWanted>,
    /// What is read of the files attached to it.
    pub attachments: &'a Attachments,
}

/// Which files attached to a message are read, and which one was begun last.
#[derive(Clone, Debug, Default)]
pub(super) struct Attachments {
    pub are_read: bool,
    /// Numbers of those that are left out.
    pub left_out: Vec<usize>,
    /// The last one that was begun.
    pub begun: Cell<Option<usize>>,
}

impl Attachments {
    /// Deaths of converters by one message after which none of its files is read.
    const MOST_DEATHS: usize = 4;

    /// After a converter did not survive one: without that, or without any where it cannot be told
    /// or where many have died.
    pub(super) fn without_the_last(&self) -> Self {
        let mut left_out = self.left_out.clone();
        left_out.extend(self.begun.get());
        let is_told = left_out.len() > self.left_out.len() && left_out.len() < Self::MOST_DEATHS;
        Self {
            are_read: is_told,
            left_out,
            begun: Cell::new(None),
        }
    }
}

/// How long a worker may say nothing.
pub(super) struct Patience {
    /// While it converts.
    pub limit: Duration,
    /// While it waits for a drawing.
    pub drawing: Duration,
}

/// One process.
pub(super) struct Worker {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    last_words: Arc<Mutex<VecDeque<u8>>>,
    /// Documents that it was given so far.
    pub documents: u32,
    /// Goes after the process.
    _folder: WorkFolder,
}

impl Worker {
    /// Starts one in `folder`, which is that of its settings.
    pub(super) fn start(launch: &Launch, settings: &Settings, folder: WorkFolder) -> Result<Self> {
        let failed = |error: io::Error| {
            Error::new(
                ErrorKind::Unavailable,
                format!("cannot start a conversion process: {error}"),
            )
        };
        let gone = || {
            Error::new(
                ErrorKind::Internal,
                "a conversion process without its pipes",
            )
        };
        let mut child = Command::new(&launch.program)
            .args(&launch.arguments)
            .env_clear()
            .env("TMPDIR", folder.path())
            .env("RUST_BACKTRACE", "0")
            // With several arenas, glibc tries and fails to make another one at each allocation near
            // the limit of memory, for minutes, instead of failing.
            .env("MALLOC_ARENA_MAX", "1")
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (requests, answers) = (
            child.stdin.take().ok_or_else(gone)?,
            child.stdout.take().ok_or_else(gone)?,
        );
        let last_words = Arc::default();
        listen(
            child.stderr.take().ok_or_else(gone)?,
            Arc::clone(&last_words),
        )
        .map_err(failed)?;
        let answers = BufReader::new(answers);
        let mut worker = Self {
            child,
            requests: Some(requests),
            answers,
            last_words,
            documents: 0,
            _folder: folder,
        };
        // One that is already dead says so when it is asked.
        if let Some(Err(error)) = worker
            .requests
            .as_mut()
            .map(|requests| protocol::write(requests, settings, &[]))
        {
            tracing::debug!(%error, "a conversion process did not take its settings");
        }
        Ok(worker)
    }

    /// How it is confined, which it says before anything else, within a time.
    pub(super) fn confinement(
        &mut self,
        limit: Duration,
    ) -> std::result::Result<Confinement, Death> {
        self.talk(limit, |_, answers, _| {
            protocol::read_head(answers)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
        })
    }

    /// One question and its answer, within a time. `draw` draws the presentation that the question
    /// is about.
    pub(super) fn ask(
        &mut self,
        request: Request<'_>,
        patience: &Patience,
        maximum_bytes: usize,
        draw: &dyn Fn(SlideFormat) -> Result<Vec<u8>>,
    ) -> std::result::Result<Result<Converted>, Death> {
        let job = request.job;
        let head = RequestHead {
            name: job.name.map(str::to_owned),
            media_type: job.media_type.map(str::to_owned),
            page: request.page,
            attachments: request.attachments.are_read,
            left_out: request.attachments.left_out.clone(),
            body_bytes: job.bytes.len(),
        };
        self.documents += 1;
        self.talk(patience.limit, |requests, answers, wait| {
            protocol::write(requests, &head, &[job.bytes])?;
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
                Sign::Attachment(number) => {
                    request.attachments.begun.set(Some(number));
                    Ok(())
                }
            };
            protocol::read_answer(answers, maximum_bytes, on_sign)
        })
    }

    /// Speaks with it and ends it if it is silent for longer than `limit`; what `talk` calls begins
    /// that time anew, with another one.
    fn talk<T>(
        &mut self,
        limit: Duration,
        talk: impl FnOnce(
            &mut ChildStdin,
            &mut BufReader<ChildStdout>,
            &dyn Fn(Duration),
        ) -> io::Result<T>,
    ) -> std::result::Result<T, Death> {
        let (Some(requests), answers, child) =
            (&mut self.requests, &mut self.answers, &mut self.child)
        else {
            return Err(Death::Ended("it was not started".to_owned()));
        };
        let (working, watched) = mpsc::channel::<Duration>();
        let talked = std::thread::scope(|scope| {
            let watch = std::thread::Builder::new()
                .spawn_scoped(scope, move || end_if_late(child, limit, &watched))?;
            // The watch may have ended it already.
            let wait = |time| {
                working.send(time).ok();
            };
            let answer = talk(requests, answers, &wait);
            drop(working);
            Ok((answer, watch.join().unwrap_or(false)))
        });
        let (answer, was_ended) = talked.map_err(Death::Unwatched)?;
        match answer {
            Ok(answer) => Ok(answer),
            Err(_) if was_ended => Err(Death::TooLong),
            Err(error) => Err(self.end(&error)),
        }
    }

    /// How it ended, with its last words.
    fn end(&mut self, error: &io::Error) -> Death {
        self.requests = None;
        // What it says last, and that it is gone, may still be on its way.
        std::thread::sleep(LAST_MOMENTS);
        let gone = self.child.try_wait().ok().flatten();
        let words: Vec<u8> = self
            .last_words
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .copied()
            .collect();
        let words = String::from_utf8_lossy(&words).trim().to_owned();
        let with_words = |how: String| {
            if words.is_empty() {
                how
            } else {
                format!("{how}: {words}")
            }
        };
        match gone {
            Some(status) if is_from_outside(status) => Death::Killed(with_words(ending(status))),
            Some(status) => Death::Ended(with_words(ending(status))),
            None => Death::Ended(with_words(format!(
                "its process said nothing sensible: {error}"
            ))),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.requests = None;
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Each sign of work begins the time anew; the end of the conversation ends the watch. Whether it
/// was late.
fn end_if_late(child: &mut Child, mut limit: Duration, watched: &mpsc::Receiver<Duration>) -> bool {
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
}

/// Keeps the end of what a worker says to standard error.
fn listen(
    mut errors: impl Read + Send + 'static,
    kept: Arc<Mutex<VecDeque<u8>>>,
) -> std::io::Result<()> {
    let work = move || {
        let mut buffer = [0; 1024];
        while let Ok(count @ 1..) = errors.read(&mut buffer) {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend(buffer.iter().take(count));
            let excess = kept.len().saturating_sub(LAST_WORDS);
            kept.drain(..excess);
        }
    };
    std::thread::Builder::new()
        .name("conversion-errors".to_owned())
        .spawn(work)
        .map(drop)
}

#[cfg(unix)]
fn ending(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    const NAMES: [(i32, &str); 8] = [
        (4, "SIGILL"),
        (6, "SIGABRT"),
        (7, "SIGBUS"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (24, "SIGXCPU"),
        (25, "SIGXFSZ"),
    ];
    match status.signal() {
        Some(signal) => {
            let name = NAMES
                .iter()
                .find(|(number, _)| *number == signal)
                .map_or("a signal", |(_, name)| name);
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
