//! The worker process: reads its settings, confines itself and says how, then converts one document
//! after the other until nobody asks any more. Where it must be confined and cannot be, it takes no
//! document.

use std::cell::RefCell;
use std::io::{self, BufReader, Read, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tributary_models::ocr::{OcrSetup, OcrUnavailable};
use tributary_schemas::{Error, Result};

use super::confinement::{self, Bounds};
use super::protocol::{self, AnswerHead, RequestHead};
use crate::config::Config;
use crate::conversion::{convert, without_panic};
use crate::document::{Converted, Job};
use crate::limits::{AttachmentWatch, Limits};
use crate::pdf;
use crate::picture::ocr::{Engine, PictureReader};
use crate::slides::SlideDrawing;

/// Stack of the thread that converts, in bytes: nesting is bounded by the converters, this is for
/// what they cannot see.
const STACK_BYTES: usize = 64 << 20;

/// The first message to a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Settings {
    /// What converters keep to.
    pub config: Config,
    /// How the recogniser of text in pictures is opened, or why there is none.
    pub ocr: std::result::Result<OcrSetup, OcrUnavailable>,
    /// Whether somebody draws presentations that are asked for.
    pub draws_slides: bool,
    /// Folder for its temporary files.
    pub folder: PathBuf,
    /// Folders with libraries and models.
    pub readable: Vec<PathBuf>,
}

/// What makes a document of bytes.
pub type Converter = fn(Job<'_>, &Config, &Limits<'_>) -> Result<Converted>;

/// Serves requests on standard input until it ends. No other thread may exist yet. What is behind
/// the verb `convert-worker`.
pub fn serve() -> Result<()> {
    serve_with(convert)
}

/// The same with another converter, in the same confinement.
pub fn serve_with(converter: Converter) -> Result<()> {
    let failed = |error: io::Error| {
        Error::io(
            "cannot speak with the process that asked for conversions",
            &error,
        )
    };
    confinement::ignore_requests_to_end();
    let mut answers = own_output().map_err(failed)?;
    let mut requests = BufReader::new(io::stdin());
    let Some(settings) = protocol::read_head::<Settings>(&mut requests).map_err(failed)? else {
        return Ok(());
    };
    let bounds = Bounds {
        memory_bytes: settings.config.conversion_memory_bytes,
        file_bytes: settings.config.maximum_temporary_file_bytes(),
        folder: settings.folder,
        readable: settings.readable,
    };
    let confinement = confinement::confine(&bounds);
    protocol::write(&mut answers, &confinement, &[]).map_err(failed)?;
    if settings.config.require_confinement && !confinement.is_complete() {
        return Ok(());
    }
    let engine = Engine::new(settings.ocr);
    std::thread::scope(|scope| {
        let work = Work {
            config: &settings.config,
            engine: &engine,
            draws_slides: settings.draws_slides,
            converter,
        };
        let work = move || answer_all(requests, answers, &work);
        let thread = std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, work)
            .map_err(failed)?;
        thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the converting thread ended early")))
            .map_err(failed)
    })
}

/// The answers' way out; whatever else is printed goes to standard error.
fn own_output() -> io::Result<impl Write + Send> {
    let answers = rustix::io::dup(io::stdout())?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    Ok(io::BufWriter::new(std::fs::File::from(answers)))
}

/// How documents are converted.
struct Work<'a> {
    config: &'a Config,
    engine: &'a Engine,
    draws_slides: bool,
    converter: Converter,
}

fn answer_all(requests: impl Read, answers: impl Write, work: &Work<'_>) -> io::Result<()> {
    let config = work.config;
    let (requests, answers) = (RefCell::new(requests), RefCell::new(answers));
    let nobody = |error: io::Error| Error::io("nobody waits for this document any more", &error);
    let say =
        |head: &AnswerHead| protocol::write(&mut *answers.borrow_mut(), head, &[]).map_err(nobody);
    let on_page = || {
        say(&AnswerHead::Working)?;
        allow_processor_time(config);
        Ok(())
    };
    let most_drawn = usize::try_from(config.maximum_embedded_bytes).unwrap_or(usize::MAX);
    let draw = |format| {
        say(&AnswerHead::Draw(format))?;
        protocol::read_drawn(&mut *requests.borrow_mut(), most_drawn).map_err(nobody)?
    };
    let maximum = usize::try_from(config.maximum_body_bytes).unwrap_or(usize::MAX);
    loop {
        let Some(request) = protocol::read_head::<RequestHead>(&mut *requests.borrow_mut())? else {
            return Ok(());
        };
        let body = protocol::read_part(&mut *requests.borrow_mut(), request.body_bytes, maximum)?;
        allow_processor_time(config);
        let pictures = PictureReader::new(&config.ocr, work.engine, &on_page);
        let slides = SlideDrawing::new(&draw, &on_page);
        let begins = |number| say(&AnswerHead::Attachment(number));
        let own = Limits::starting_now(config).with_pictures(&pictures);
        let limits = Limits {
            attachments: if request.attachments {
                own.attachments
            } else {
                0
            },
            watch: Some(AttachmentWatch {
                left_out: &request.left_out,
                begins: &begins,
            }),
            ..own
        };
        let limits = if work.draws_slides {
            limits.with_slides(&slides)
        } else {
            limits
        };
        let job = Job {
            bytes: &body,
            name: request.name.as_deref(),
            media_type: request.media_type.as_deref(),
        };
        let answer = without_panic(|| match request.page {
            Some(page) => pdf::page_picture(&body, page, &config.pdf),
            None => (work.converter)(job, config, &limits),
        });
        protocol::write_answer(&mut *answers.borrow_mut(), &answer)?;
    }
}

/// As much as the conversion may take, or one picture in it.
fn allow_processor_time(config: &Config) {
    let longest = config.conversion_timeout_ms.max(config.ocr.page_timeout_ms);
    confinement::allow_processor_time(longest.div_ceil(1000));
}
