//! Everything that reaches the terminal: results on stdout, the rest on stderr, and the exit code.

use std::process::ExitCode;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::args::{Format, Output};

/// How a verb ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All of it was done.
    Done,
    /// Nothing was done.
    Failed,
    /// Some of it was done.
    PartlyFailed,
}

impl Outcome {
    /// Of so many that succeeded and so many that did not.
    pub fn of(done: usize, failed: usize) -> Self {
        match (done, failed) {
            (_, 0) => Self::Done,
            (0, _) => Self::Failed,
            _ => Self::PartlyFailed,
        }
    }

    /// 0 done, 1 failed, 3 partly failed; 2 (wrong usage) is clap's.
    pub fn exit_code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::PartlyFailed => 3,
        })
    }
}

/// Prints a result: the object for scripts, or the text for people.
pub fn result(
    output: Output,
    value: &impl Serialize,
    text: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    let printed = match output.format {
        Format::Json => serde_json::to_string(value)?,
        Format::Text => text(),
    };
    line(&printed)
}

/// Prints text on stdout. A reader that closed the pipe (`| head`) is no failure.
pub fn line(text: &str) -> anyhow::Result<()> {
    use std::io::Write;
    match writeln!(std::io::stdout(), "{}", text.trim_end_matches('\n')) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Says something on stderr. That nobody reads it any more must not end what is said.
pub fn note(text: &str) {
    use std::io::Write;
    let _unread = writeln!(std::io::stderr(), "{text}");
}

/// Prints an error, what caused it, and each hint once.
pub fn failure(error: &anyhow::Error) {
    note(&format!("error: {error}"));
    let mut last = error.to_string();
    for cause in error.chain().skip(1) {
        let text = cause.to_string();
        if !last.contains(&text) {
            note(&format!("  because: {text}"));
        }
        last = text;
    }
    for hint in error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<tributary_schemas::Error>()?.hint())
    {
        note(&format!("hint: {hint}"));
    }
}

/// A progress bar on stderr; invisible where stderr is no terminal.
pub fn progress_bar(length: u64, what: &str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    let template = "{msg:12} [{bar:32}] {pos}/{len} {per_sec} {eta}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message(what.to_owned());
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// The same for bytes.
pub fn bytes_bar(length: u64, what: &str) -> ProgressBar {
    let bar = progress_bar(length, what);
    if let Ok(style) = ProgressStyle::with_template(
        "{msg:12} [{bar:32}] {bytes}/{total_bytes} {bytes_per_sec} {eta}",
    ) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

/// The beginning of a text, with `…` if something was cut.
pub fn shorten(text: &str, characters: usize) -> String {
    if text.chars().count() <= characters {
        return text.to_owned();
    }
    text.chars()
        .take(characters.saturating_sub(1))
        .chain(['…'])
        .collect()
}
