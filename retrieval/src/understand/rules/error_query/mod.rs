//! What of an error log is worth searching for: the messages, word for word but without paths,
//! addresses, times and line numbers, and the names in it. Frames of a call stack say where and not
//! what; of the source lines in them the names count.

mod names;
pub mod scrub;

use names::names;
use scrub::{Scrubbed, scrub};

/// Messages that are kept.
const MAXIMUM_MESSAGES: usize = 6;
/// Characters of one message.
const MAXIMUM_MESSAGE_CHARACTERS: usize = 320;
/// Names beside those in the messages.
const MAXIMUM_NAMES: usize = 12;
/// Lines below a named error that belong to it.
const MAXIMUM_CONTINUATION: usize = 2;
/// Lines that are read, from the end: what went wrong is said last.
const MAXIMUM_LINES: usize = 2_000;
/// Characters of a line that are read.
const MAXIMUM_LINE_CHARACTERS: usize = 2_000;

/// Words, in small letters, of a line that tells of a failure.
const FAILING: [&str; 33] = [
    "error",
    "exception",
    "failed",
    "failure",
    "fatal",
    "critical",
    "cannot",
    "can't",
    "could not",
    "unable to",
    "not found",
    "no module named",
    "no such",
    "undefined",
    "unsupported",
    "not support",
    "invalid",
    "illegal",
    "mismatch",
    "does not match",
    "out of memory",
    "core dumped",
    "segmentation fault",
    "isn't enough",
    "timed out",
    "timeout",
    "refused",
    "报错",
    "错误",
    "失败",
    "异常",
    "无法",
    "不支持",
];
/// Beginnings of lines that head a call stack or a part of a report.
const HEADS: [&str; 6] = [
    "traceback (most recent",
    "during handling of the above",
    "the above exception was the direct",
    "the above message",
    "call stack",
    "stack trace",
];

/// What is left of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorQuery {
    /// Messages, the one that ended the program first.
    pub errors: Vec<String>,
    /// Names and codes that stand in none of them, and those in them.
    pub identifiers: Vec<String>,
}

impl ErrorQuery {
    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.errors.is_empty() && self.identifiers.is_empty()
    }

    /// One line to search for, at most so many characters: the messages, then the names that they
    /// lack.
    pub fn text(&self, maximum_characters: usize) -> String {
        let errors = self.errors.join(" ");
        let lacking = self
            .identifiers
            .iter()
            .filter(|name| !errors.contains(name.as_str()));
        let parts = self.errors.iter().chain(lacking);
        let mut text = String::new();
        let mut length = 0;
        for part in parts {
            let characters = part.chars().count() + 1;
            if length > 0 && length + characters > maximum_characters {
                continue;
            }
            if length > 0 {
                text.push(' ');
            }
            text.push_str(part);
            length += characters;
        }
        text.chars().take(maximum_characters).collect()
    }
}

/// What a line is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It names the error: `ValueError: …`.
    Named,
    /// It tells of a failure.
    Message,
    /// It says where: a frame, or a heading.
    Frame,
    /// A warning or anything else.
    Other,
}

/// Reads a log. Linear in its length.
pub fn error_query(log: &str) -> ErrorQuery {
    let lines: Vec<&str> = log.lines().collect();
    let lines = lines
        .get(lines.len().saturating_sub(MAXIMUM_LINES)..)
        .unwrap_or(&lines);
    let mut reading = Reading::default();
    for line in lines {
        let line: String = line.chars().take(MAXIMUM_LINE_CHARACTERS).collect();
        reading.take(&line);
    }
    reading.query()
}

#[derive(Default)]
struct Reading {
    named: Vec<String>,
    messages: Vec<String>,
    others: Vec<String>,
    /// Of lines that are no message.
    names: Vec<String>,
    /// How many more lines the last named error may take.
    open: usize,
    /// Whether a heading announced the message: the next line is it, whatever its words.
    announced: bool,
}

impl Reading {
    fn take(&mut self, line: &str) {
        let Scrubbed { text, is_frame } = scrub(line);
        let mut kind = kind(line, &text, is_frame);
        if announces(&text) {
            self.announced = true;
            return;
        }
        if self.announced && !text.is_empty() && matches!(kind, Kind::Other | Kind::Message) {
            self.announced = false;
            self.open = 0;
            kind = Kind::Message;
        }
        match kind {
            Kind::Named => {
                self.named.push(text);
                self.open = MAXIMUM_CONTINUATION;
            }
            Kind::Message => self.message(text),
            Kind::Frame => self.open = 0,
            Kind::Other if text.is_empty() => self.open = 0,
            Kind::Other => self.other(text),
        }
    }

    fn message(&mut self, text: String) {
        let open = self.open > 0;
        self.open = self.open.saturating_sub(1);
        match self.named.last_mut() {
            Some(last) if open && !last.contains(&text) => join(last, &text),
            _ => self.messages.push(text),
        }
    }

    fn other(&mut self, text: String) {
        let open = self.open > 0;
        self.open = self.open.saturating_sub(1);
        match self.named.last_mut() {
            Some(last) if open => join(last, &text),
            _ => {
                self.names.extend(names(&text));
                self.others.push(text);
            }
        }
    }

    fn query(self) -> ErrorQuery {
        let mut errors: Vec<String> = Vec::new();
        let others = match self.named.is_empty() && self.messages.is_empty() {
            true => self.others,
            false => Vec::new(),
        };
        // What only says where the message stands comes behind it.
        let (pointing, all): (Vec<String>, Vec<String>) = self
            .named
            .into_iter()
            .rev()
            .partition(|text| points_elsewhere(text));
        for text in all
            .into_iter()
            .chain(self.messages)
            .chain(pointing)
            .chain(others)
        {
            let text: String = text.chars().take(MAXIMUM_MESSAGE_CHARACTERS).collect();
            let is_known = errors.iter().any(|known| known.contains(&text));
            let says_something = text.chars().filter(|one| one.is_alphanumeric()).count() >= 3;
            if says_something && !is_known && errors.len() < MAXIMUM_MESSAGES {
                errors.push(text);
            }
        }
        let of_errors: Vec<String> = errors.iter().flat_map(|error| names(error)).collect();
        let mut identifiers: Vec<String> = Vec::new();
        // What stands last is nearest to the failure.
        let others = self.names.into_iter().rev().take(MAXIMUM_NAMES);
        for name in of_errors.into_iter().chain(others) {
            if !identifiers.contains(&name) {
                identifiers.push(name);
            }
        }
        ErrorQuery {
            errors,
            identifiers,
        }
    }
}

fn join(to: &mut String, text: &str) {
    to.push(' ');
    to.push_str(text);
}

fn kind(line: &str, text: &str, is_frame: bool) -> Kind {
    let small = text.to_lowercase();
    if HEADS.iter().any(|head| small.contains(head)) || is_rule(line) {
        return Kind::Frame;
    }
    if is_named(text) {
        return Kind::Named;
    }
    let begins = line.trim_start().to_lowercase();
    let is_warning = begins.starts_with("[warning]");
    let is_error = ["[error]", "[critical]", "[fatal]"]
        .iter()
        .any(|level| begins.starts_with(level));
    let fails = is_error || FAILING.iter().any(|word| small.contains(word));
    match (is_frame, is_warning, fails) {
        (true, _, _) => Kind::Frame,
        (_, false, true) if says_more_than_a_heading(&small) => Kind::Message,
        _ if names::has_error_code(text) => Kind::Message,
        _ => Kind::Other,
    }
}

/// `Exception thrown from dataset pipeline. Refer to 'Dataset Pipeline Error Message'.`
fn points_elsewhere(text: &str) -> bool {
    let small = text.to_lowercase();
    ["refer to '", "refer to \"", "see the error message", "参见"]
        .iter()
        .any(|words| small.contains(words))
}

/// Whether the line is a heading behind which the message stands: `- Ascend Error Message:`.
fn announces(text: &str) -> bool {
    let small = text.to_lowercase();
    let is_short = small.split_whitespace().count() <= 6;
    is_short && !says_more_than_a_heading(&small)
}

/// A line of dashes or the like.
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.chars().any(char::is_alphanumeric)
}

/// `- Ascend Error Message:` heads what follows and says nothing by itself.
fn says_more_than_a_heading(small: &str) -> bool {
    let text = small.trim_matches(|one: char| !one.is_alphanumeric());
    !text.ends_with("error message") && !text.ends_with("error log")
}

/// Whether it begins with the name of an error and a colon, or is such a name alone.
fn is_named(text: &str) -> bool {
    const ENDS: [&str; 4] = ["Error", "Exception", "Failure", "Interrupt"];
    let name = text
        .split([':', ' '])
        .next()
        .unwrap_or_default()
        .trim_matches('\'');
    let is_name = name
        .chars()
        .all(|one| one.is_ascii_alphanumeric() || "_.".contains(one));
    let ends = ENDS
        .iter()
        .any(|end| name.ends_with(end) && name.len() > end.len());
    let rest = text.get(name.len()..).unwrap_or_default();
    is_name && ends && (rest.is_empty() || rest.starts_with(':') || rest.starts_with(" ("))
}

#[cfg(test)]
mod tests;
