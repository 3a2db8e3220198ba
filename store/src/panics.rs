//! Panics as errors: a bug met by one piece of work ends that piece and nothing else.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use tributary_schemas::{Error, ErrorKind, Result};

/// Runs work to its end; a panic in it is an `Internal` error that says what panicked.
pub(crate) async fn caught<T>(what: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
    AssertUnwindSafe(work)
        .catch_unwind()
        .await
        .unwrap_or_else(|panic| Err(panic_error(what, panic.as_ref())))
}

fn panic_error(what: &str, panic: &(dyn Any + Send)) -> Error {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    Error::new(
        ErrorKind::Internal,
        format!(
            "{what} panicked: {}",
            text.unwrap_or_else(|| "no message".to_owned())
        ),
    )
}
