//! Everything that reaches the terminal: results on stdout, the rest on stderr, and the exit code.

use std::borrow::Cow;
use std::fmt::Write;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

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

/// Exit code of what Ctrl-C ended.
pub const INTERRUPTED: u8 = 130;

/// The error of what Ctrl-C ended; says what there is not.
#[derive(Debug)]
pub struct Interrupted(pub &'static str);

impl std::fmt::Display for Interrupted {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.0)
    }
}

impl std::error::Error for Interrupted {}

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

/// What a terminal is shown: text of documents and models must not command it. Pipes and files get
/// every sign as it is.
fn visible(text: &str, is_terminal: bool) -> Cow<'_, str> {
    let is_command = |sign: char| {
        let turns = matches!(sign, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        turns || (sign.is_control() && !matches!(sign, '\n' | '\t' | '\r'))
    };
    match is_terminal && text.contains(is_command) {
        true => text.replace(is_command, "\u{fffd}").into(),
        false => text.into(),
    }
}

/// Prints a part of a text at once.
pub fn piece(text: &str) -> anyhow::Result<()> {
    use std::io::Write as _;
    let mut stdout = std::io::stdout();
    let text = visible(text, stdout.is_terminal());
    let written = write!(stdout, "{text}").and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Says on stderr what is being done; invisible where it is no terminal.
pub fn spinner(what: &str) -> ProgressBar {
    let spinner = ProgressBar::new_spinner();
    spinner.set_message(what.to_owned());
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner
}

/// Prints text on stdout. A reader that closed the pipe (`| head`) is no failure.
pub fn line(text: &str) -> anyhow::Result<()> {
    use std::io::Write as _;
    let text = visible(text.trim_end_matches('\n'), std::io::stdout().is_terminal());
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Says something on stderr. That nobody reads it any more must not end what is said.
pub fn note(text: &str) {
    use std::io::Write as _;
    let text = visible(text, std::io::stderr().is_terminal());
    let _unread = writeln!(std::io::stderr(), "{text}");
}

/// Lets Ctrl-C end the process, as ever, and say something before.
pub fn when_interrupted(said: impl Fn() -> String + Send + 'static) {
    std::thread::spawn(move || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let Ok(runtime) = runtime.enable_all().build() else {
            return;
        };
        if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
            note(&said());
            std::process::exit(INTERRUPTED.into());
        }
    });
}

/// Shows on stderr that an answer is waited for; the line stays open.
pub fn prompt(text: &str) {
    use std::io::Write as _;
    let mut stderr = std::io::stderr();
    let _unread = write!(stderr, "{text}").and_then(|()| stderr.flush());
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

/// Over this an estimate of what remains says nothing.
const LONGEST_ESTIMATE: Duration = Duration::from_secs(24 * 3600);

/// A progress bar on stderr; invisible where stderr is no terminal.
pub fn progress_bar(length: u64, what: &str) -> ProgressBar {
    let template = "{msg:12} [{bar:32}] {pos}/{len} {rate} {estimate}";
    let bar = styled(length, template);
    bar.set_message(what.to_owned());
    bar
}

/// The same for bytes.
pub fn bytes_bar(length: u64, what: &str) -> ProgressBar {
    let template = "{msg:12} [{bar:32}] {bytes}/{total_bytes} {bytes_per_sec} {estimate}";
    let bar = styled(length, template);
    bar.set_message(what.to_owned());
    bar
}

/// A bar of bytes, with a message of the caller's about everything else.
pub fn amount_bar(length: u64) -> ProgressBar {
    styled(
        length,
        "{prefix:10} [{bar:24}] {bytes}/{total_bytes}  {wide_msg}",
    )
}

fn styled(length: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    if let Ok(style) = ProgressStyle::with_template(template) {
        let style = style
            .with_key("rate", |state: &ProgressState, out: &mut dyn Write| {
                // There is nobody to tell that a text cannot be written to.
                let _unwritten = write!(out, "{:.1}/s", state.per_sec());
            })
            .with_key("estimate", |state: &ProgressState, out: &mut dyn Write| {
                let _unwritten = out.write_str(&estimate(state.pos(), state.eta()));
            });
        bar.set_style(style.progress_chars("=> "));
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// What remains, or `-` where that is not known.
fn estimate(done: u64, remains: Duration) -> String {
    if done == 0 || remains > LONGEST_ESTIMATE {
        return "-".to_owned();
    }
    duration(remains)
}

/// A time as people say it, in at most two units.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {}s", seconds / 60, seconds % 60),
        _ => format!("{}h {}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A number of things, by the name of one of them.
pub fn count(number: usize, one: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {one}s"),
    }
}

/// Rows with tabs between their cells, for programs; on a terminal, for people, in columns.
pub fn rows(rows: &[Vec<String>], is_terminal: bool) -> String {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows.iter().filter(|_| is_terminal) {
        widths.resize(widths.len().max(row.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    let line = |row: &Vec<String>| match is_terminal {
        true => in_columns(row, &widths),
        false => row.join("\t") + "\n",
    };
    rows.iter().map(line).collect()
}

/// A Chinese sign is two columns wide.
fn in_columns(row: &[String], widths: &[usize]) -> String {
    let cells = row.iter().zip(widths).map(|(cell, width)| {
        let pad = " ".repeat(width.saturating_sub(cell.width()));
        format!("{cell}{pad}")
    });
    let line = cells.collect::<Vec<_>>().join("  ");
    format!("{}\n", line.trim_end())
}

/// The beginning of a text, on one line, with `…` if something was cut. It commands no terminal: bars
/// show it as it is.
pub fn shorten(text: &str, characters: usize) -> String {
    let is_line_end = |sign: char| matches!(sign, '\n' | '\r');
    let text = visible(&text.replace(is_line_end, " "), true).into_owned();
    if text.chars().count() <= characters {
        return text;
    }
    text.chars()
        .take(characters.saturating_sub(1))
        .chain(['…'])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_does_not_command_a_terminal() {
        let text = "a\u{1b}]0;x\u{7}\tb\nc\u{202e}d 中";
        assert_eq!(visible(text, false), text);
        let shown = "a\u{fffd}]0;x\u{fffd}\tb\nc\u{fffd}d 中";
        assert_eq!(visible(text, true), shown);
    }

    #[test]
    fn what_is_shortened_stands_on_one_line() {
        assert_eq!(shorten("a\r\nb", 9), "a  b");
        assert_eq!(shorten("\u{1b}]0;x\u{7}q.md", 9), "\u{fffd}]0;x\u{fffd}q.…");
        assert_eq!(shorten("为什么\n没有", 4), "为什么…");
    }

    #[test]
    fn rows_stand_in_columns_on_a_terminal() {
        let cells = |row: [&str; 3]| row.map(str::to_owned).to_vec();
        let given = [cells(["地区", "n", ""]), cells(["North", "12", "(row 3)"])];
        assert_eq!(rows(&given, true), "地区   n\nNorth  12  (row 3)\n");
        assert_eq!(rows(&given, false), "地区\tn\t\nNorth\t12\t(row 3)\n");
    }

    #[test]
    fn an_estimate_is_a_time_or_not_known() {
        let of = |done, seconds| estimate(done, Duration::from_secs(seconds));
        assert_eq!(
            [of(1, 59), of(1, 90), of(1, 7260), of(0, 5), of(1, 90_000)],
            ["59s", "1m 30s", "2h 1m", "-", "-"]
        );
    }
}
