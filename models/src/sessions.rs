//! Sessions of one ONNX model, lent to callers one at a time: ONNX Runtime's `run` is not safe from
//! several threads on one session.

use crate::runtime::runtime_error;
use crate::{Error, Result};
use ort::ep::CPU;
use ort::session::Session;
use ort::session::builder::{GraphOptimizationLevel, SessionBuilder};
use ort::value::TensorRef;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};
use tributary_schemas::ErrorKind;

/// Sessions that wait, and how many were opened.
#[derive(Default)]
struct Shelf {
    idle: Vec<Session>,
    opened: usize,
}

/// What a session does with the memory of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Keeps it for the next one: inputs are alike.
    Kept,
    /// Gives it back: inputs differ in shape, and a large one must not cost memory for ever.
    GivenBack,
}

/// A pool that opens sessions when they are first needed, up to a limit.
pub struct SessionPool {
    file: PathBuf,
    limit: usize,
    threads: usize,
    memory: Memory,
    shelf: Mutex<Shelf>,
    returned: Condvar,
}

impl SessionPool {
    /// A pool of at most `limit` sessions of `threads` threads each; opens nothing yet. The runtime
    /// must have been initialised.
    pub fn new(file: &Path, limit: usize, threads: usize) -> Self {
        Self {
            file: file.to_path_buf(),
            limit: limit.max(1),
            threads: threads.max(1),
            memory: Memory::Kept,
            shelf: Mutex::default(),
            returned: Condvar::new(),
        }
    }

    /// With another use of memory; it is kept otherwise.
    pub fn with_memory(self, memory: Memory) -> Self {
        Self { memory, ..self }
    }

    /// Runs `work` with a session of its own; waits if all are lent.
    pub fn with<T>(&self, work: impl FnOnce(&mut Session) -> Result<T>) -> Result<T> {
        let mut loan = Loan {
            pool: self,
            session: Some(self.take()?),
        };
        match loan.session.as_mut() {
            Some(session) => work(session),
            None => Err(Error::new(ErrorKind::Internal, "a session was lent twice")),
        }
    }

    fn take(&self) -> Result<Session> {
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(session) = shelf.idle.pop() {
                return Ok(session);
            }
            if shelf.opened < self.limit {
                shelf.opened += 1;
                drop(shelf);
                return open_session(&self.file, self.threads, self.memory).inspect_err(|_| {
                    self.shelf
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .opened -= 1;
                    self.returned.notify_one();
                });
            }
            shelf = self
                .returned
                .wait(shelf)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A lent session; goes back when dropped, also after a panic.
struct Loan<'a> {
    pool: &'a SessionPool,
    session: Option<Session>,
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            self.pool
                .shelf
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .idle
                .push(session);
            self.pool.returned.notify_one();
        }
    }
}

/// Opens a session: no spinning threads, as many as asked for.
fn open_session(file: &Path, threads: usize, memory: Memory) -> Result<Session> {
    let opened = catch_unwind(AssertUnwindSafe(|| build_session(file, threads, memory)));
    match opened {
        Ok(Ok(session)) => Ok(session),
        Ok(Err(error)) => Err(runtime_error(ErrorKind::Corrupt, format_args!("opening model {}", file.display()), error)
            .with_hint("the file is damaged or needs a newer ONNX Runtime: check it with `tributary doctor`, or fetch the model again")),
        Err(_) => Err(Error::new(ErrorKind::Internal, format!("opening model {}: the runtime panicked", file.display()))),
    }
}

fn build_session(file: &Path, threads: usize, memory: Memory) -> ort::Result<Session> {
    let mut builder: SessionBuilder = Session::builder()?
        .with_optimization_level(GraphOptimizationLevel::All)?
        .with_intra_threads(threads)?
        .with_inter_threads(1)?
        .with_intra_op_spinning(false)?
        .with_inter_op_spinning(false)?;
    if memory == Memory::GivenBack {
        builder = builder
            .with_memory_pattern(false)?
            .with_execution_providers([CPU::default().with_arena_allocator(false).build()])?;
    }
    builder.commit_from_file(file)
}

/// Token ids of a batch, padded to one length, row by row.
pub(crate) struct TokenBatch {
    /// Texts (or pairs).
    pub rows: usize,
    /// Tokens of each row, padding included.
    pub columns: usize,
    /// `rows × columns`.
    pub ids: Vec<i64>,
    /// 1 for a token, 0 for padding.
    pub mask: Vec<i64>,
    /// Which text of a pair a token belongs to.
    pub type_ids: Vec<i64>,
}

impl TokenBatch {
    /// Pads encoded texts to the longest.
    pub fn new<'a>(
        texts: impl ExactSizeIterator<Item = &'a crate::tokens::EncodedText> + Clone,
        pad_id: i64,
    ) -> Self {
        let rows = texts.len();
        let columns = texts
            .clone()
            .map(|text| text.ids.len())
            .max()
            .unwrap_or(0)
            .max(1);
        let mut batch = Self {
            rows,
            columns,
            ids: vec![pad_id; rows * columns],
            mask: vec![0; rows * columns],
            type_ids: vec![0; rows * columns],
        };
        for (row, text) in texts.enumerate() {
            let start = row * columns;
            for (slot, id) in batch.ids.iter_mut().skip(start).zip(&text.ids) {
                *slot = i64::from(*id);
            }
            batch
                .mask
                .iter_mut()
                .skip(start)
                .take(text.ids.len())
                .for_each(|slot| *slot = 1);
            for (slot, id) in batch.type_ids.iter_mut().skip(start).zip(&text.type_ids) {
                *slot = i64::from(*id);
            }
        }
        batch
    }
}

/// Runs a batch and hands the output's shape and values to `read`. Inputs are matched by name: ids,
/// mask, type ids.
pub(crate) fn run_batch<T>(
    session: &mut Session,
    batch: &TokenBatch,
    output: Option<&str>,
    read: impl FnOnce(&[i64], &[f32]) -> Result<T>,
) -> Result<T> {
    let failed = |error: ort::Error| runtime_error(ErrorKind::Internal, "running the model", error);
    let shape = [batch.rows, batch.columns];
    let mut inputs = Vec::with_capacity(3);
    for input in session.inputs() {
        let values = match input.name() {
            "input_ids" => &batch.ids,
            "attention_mask" => &batch.mask,
            "token_type_ids" => &batch.type_ids,
            other => {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    format!("the model wants an input `{other}` that no text model here has"),
                )
                .with_hint(
                    "export it with input_ids, attention_mask and, if needed, token_type_ids",
                ));
            }
        };
        let tensor = TensorRef::from_array_view((shape, values.as_slice())).map_err(failed)?;
        inputs.push((input.name().to_owned(), tensor));
    }
    let outputs = session.run(inputs).map_err(failed)?;
    let value = match output {
        Some(name) => outputs.get(name),
        None => outputs.values().next().map(|_| &outputs[0]),
    };
    let Some(value) = value else {
        let names: Vec<&str> = outputs.keys().collect();
        let message = format!(
            "the model has no output `{}`, only {}",
            output.unwrap_or("0"),
            names.join(", ")
        );
        return Err(Error::new(ErrorKind::Invalid, message)
            .with_hint("correct `output` in the model's config.json"));
    };
    let (shape, values) = value.try_extract_tensor::<f32>().map_err(|error| {
        runtime_error(ErrorKind::Unsupported, "reading the model's output", error)
            .with_hint("only float32 outputs are supported")
    })?;
    read(shape, values)
}
