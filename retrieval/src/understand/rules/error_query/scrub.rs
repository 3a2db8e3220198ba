//! A line of a log without what differs from machine to machine: paths, addresses, times, line
//! numbers, and the fields that a logger puts before the message.

/// Ends of files of source code, whose lines are numbered.
const SOURCE_FILES: [&str; 20] = [
    ".py", ".pyx", ".ipynb", ".cc", ".cpp", ".cxx", ".c", ".h", ".hpp", ".cu", ".java", ".kt",
    ".go", ".rs", ".js", ".ts", ".scala", ".rb", ".cs", ".m",
];
/// Hexadecimal digits from which a number is an address and no error code.
const ADDRESS_DIGITS: usize = 9;
/// Beginnings of lines that are frames of a call stack.
const FRAMES: [&str; 5] = ["File \"", "File '", "#", "In file ", "at "];
/// Levels of loggers.
const LEVELS: [&str; 6] = [
    "ERROR",
    "CRITICAL",
    "FATAL",
    "EXCEPTION",
    "WARNING",
    "EVENT",
];

/// A line without what differs from machine to machine.
#[derive(Debug, PartialEq, Eq)]
pub struct Scrubbed {
    /// What is left.
    pub text: String,
    /// Whether it says where something is, not what.
    pub is_frame: bool,
}

/// Takes out of a line what differs from machine to machine.
pub fn scrub(line: &str) -> Scrubbed {
    let line = line.trim();
    let line = line.strip_prefix("E    ").unwrap_or(line).trim_start();
    let line = behind_uptime(line);
    let message = without_fields(line);
    let mut scrubber = Scrubber::new(message);
    scrubber.run();
    let begins_with_place = scrubber.began_with_place;
    let is_frame = is_frame(line) || begins_with_place && scrubber.words < 3;
    Scrubbed {
        text: tidy(&scrubber.text),
        is_frame,
    }
}

/// A line of the kernel without the seconds since its start: `[   10.123456] BUG: …`.
pub fn behind_uptime(line: &str) -> &str {
    let uptime = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let is_number = |text: &str| {
        let (seconds, fraction) = text.split_once('.').unwrap_or_default();
        let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        !seconds.is_empty() && fraction.len() == 6 && all_digits(seconds) && all_digits(fraction)
    };
    match uptime {
        Some((seconds, message)) if is_number(seconds.trim()) => message.trim_start(),
        _ => line,
    }
}

fn is_frame(line: &str) -> bool {
    let begins = FRAMES.iter().any(|beginning| line.starts_with(beginning));
    let numbered = line
        .strip_prefix('#')
        .is_some_and(|rest| rest.starts_with(|one: char| one.is_ascii_digit()));
    match line.starts_with('#') {
        true => numbered,
        false => begins && (!line.starts_with("at ") || line.contains('(')),
    }
}

/// The message behind `[ERROR] KERNEL(3062,ffff,python):2023-04-01 [a/b.cc:12] Function] `, behind
/// `E0401 10:20:30 12 a.cc:7] ` and behind `2023-04-01 10:20:30 - name - ERROR - `.
fn without_fields(line: &str) -> &str {
    let head: String = line.chars().take(12).collect();
    let has_level = LEVELS.iter().any(|level| head.contains(level));
    let is_glog = line.starts_with(['E', 'F', 'W'])
        && line
            .chars()
            .skip(1)
            .take(4)
            .filter(char::is_ascii_digit)
            .count()
            == 4;
    if (has_level || is_glog)
        && let Some(message) = behind_place(line)
    {
        return message;
    }
    behind_level(line)
}

/// What stands behind `:12] `, and behind the name of a function and `] ` after it.
fn behind_place(line: &str) -> Option<&str> {
    let mut start = 0;
    while let Some(at) = line.get(start..)?.find("] ") {
        let end = start + at;
        let before = line.get(..end)?;
        let digits = before.len()
            - before
                .trim_end_matches(|one: char| one.is_ascii_digit())
                .len();
        let rest = line.get(end + 2..)?;
        if digits > 0 && before.get(..end - digits)?.ends_with(':') {
            let name = rest.split("] ").next()?;
            let is_function = name.len() < rest.len() && !name.contains(' ');
            return Some(match is_function {
                true => rest.get(name.len() + 2..)?,
                false => rest,
            });
        }
        start = end + 2;
    }
    None
}

/// What stands behind the level in the beginning of a line, if that is a message.
fn behind_level(line: &str) -> &str {
    let beginning: usize = line
        .char_indices()
        .take(90)
        .map(|(at, _)| at)
        .last()
        .unwrap_or(0);
    let beginning = line.get(..beginning).unwrap_or_default();
    let found = LEVELS.iter().filter_map(|level| {
        let at = beginning.find(level)?;
        let before = beginning.get(..at)?.chars().next_back();
        let rest = line.get(at + level.len()..)?;
        let stands_alone = !before.is_some_and(char::is_alphanumeric)
            && rest.starts_with([' ', ']', ':', '-', '|', '>']);
        let rest = rest.trim_start_matches([' ', ']', ':', '-', '|', '>']);
        (stands_alone && rest.len() >= 8).then_some((at, rest))
    });
    found
        .min_by_key(|(at, _)| *at)
        .map_or(line, |(_, rest)| rest)
}

struct Scrubber {
    signs: Vec<char>,
    at: usize,
    text: String,
    words: usize,
    began_with_place: bool,
}

impl Scrubber {
    fn new(line: &str) -> Self {
        Self {
            signs: line.chars().collect(),
            at: 0,
            text: String::with_capacity(line.len()),
            words: 0,
            began_with_place: false,
        }
    }

    fn run(&mut self) {
        while let Some(sign) = self.peek(0) {
            if is_of_run(sign) {
                self.take_run();
            } else {
                self.text.push(sign);
                self.at += 1;
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.signs.get(self.at + ahead).copied()
    }

    /// A word, a number, a path.
    fn take_run(&mut self) {
        let start = self.at;
        while self.peek(0).is_some_and(is_of_run) {
            self.at += 1;
        }
        self.take_rest_of_address();
        let run: String = self
            .signs
            .get(start..self.at)
            .unwrap_or_default()
            .iter()
            .collect();
        // The full stop of a sentence and the dash of a list are no part of it.
        if self.is_url(&run) || self.is_time(&run) {
            self.drop_run("");
        } else if is_path(&run) || self.is_place(&run) {
            let library = library(&run);
            self.drop_run(library);
            self.skip_line_number();
        } else if is_address(&run, &self.text) {
            self.drop_word_before("at");
            self.drop_run("");
        } else if self.is_line_number(&run) {
            self.drop_word_before("line");
            self.drop_word_before("lineno");
            self.drop_run("");
        } else {
            self.words += 1;
            self.text.push_str(&run);
        }
    }

    /// `C:\…` and `https://…` go on behind their colon.
    fn take_rest_of_address(&mut self) {
        let is_colon = self.peek(0) == Some(':');
        let (next, after) = (self.peek(1), self.peek(2));
        let letter = self.at > 0
            && self
                .signs
                .get(self.at - 1)
                .is_some_and(char::is_ascii_alphabetic)
            && (self.at < 2
                || !self
                    .signs
                    .get(self.at - 2)
                    .is_some_and(char::is_ascii_alphanumeric));
        let is_drive = letter && matches!(next, Some('\\' | '/'));
        let is_url = next == Some('/') && after == Some('/');
        if is_colon && (is_drive || is_url) {
            self.at += 1;
            let goes_on = |one: char| is_of_run(one) || is_url && "?=&#:".contains(one);
            while self.peek(0).is_some_and(goes_on) {
                self.at += 1;
            }
        }
    }

    fn drop_run(&mut self, instead: &str) {
        self.began_with_place |= self
            .text
            .trim_matches(|one: char| !one.is_alphanumeric())
            .is_empty();
        self.text.push_str(instead);
    }

    fn drop_word_before(&mut self, word: &str) {
        let kept = self.text.trim_end_matches([' ', '=', ':']).len();
        let before = self.text.get(..kept).unwrap_or_default();
        if let Some(rest) = before.strip_suffix(word)
            && !rest.ends_with(|one: char| one.is_alphanumeric())
        {
            let length = rest.len();
            self.text.truncate(length);
        }
    }

    fn is_url(&self, run: &str) -> bool {
        run.contains("://")
    }

    /// A file of source code with a line number behind it.
    fn is_place(&self, run: &str) -> bool {
        let is_numbered =
            self.peek(0) == Some(':') && self.peek(1).is_some_and(|one| one.is_ascii_digit());
        is_numbered && has_source_end(run)
    }

    fn skip_line_number(&mut self) {
        while self.peek(0) == Some(':') && self.peek(1).is_some_and(|one| one.is_ascii_digit()) {
            self.at += 1;
            while self.peek(0).is_some_and(|one| one.is_ascii_digit()) {
                self.at += 1;
            }
        }
    }

    /// `line 12`, `lineno=12`, 第 12 行.
    fn is_line_number(&self, run: &str) -> bool {
        let is_number = run.chars().all(|one| one.is_ascii_digit());
        let before = self.text.trim_end_matches([' ', '=', ':']);
        let word: String = before
            .chars()
            .rev()
            .take_while(char::is_ascii_alphabetic)
            .collect();
        let is_english = ["enil", "onenil", "eniL"].contains(&word.as_str());
        let mut behind = self.signs.get(self.at..).unwrap_or_default().iter();
        let behind = behind.find(|one| !one.is_whitespace());
        let is_chinese = before.ends_with('第') && behind == Some(&'行');
        is_number && (is_english || is_chinese)
    }

    /// A date, a time of day, both; takes what belongs to it.
    fn is_time(&mut self, run: &str) -> bool {
        let numbers: Vec<&str> = run.split(['-', '/', '.', 'T']).collect();
        let is_number =
            |text: &&str| !text.is_empty() && text.chars().all(|one| one.is_ascii_digit());
        let is_date = numbers.len() >= 3
            && numbers.iter().take(3).all(is_number)
            && numbers.first().is_some_and(|year| year.len() == 4)
            && !run.contains('.');
        let is_hour = run.len() <= 2 && is_number(&run) && self.is_clock();
        if !is_date && !is_hour {
            return false;
        }
        let goes_on = |one: char| one.is_ascii_digit() || ":.,-+TZ".contains(one);
        loop {
            while self.peek(0).is_some_and(goes_on) {
                self.at += 1;
            }
            // The time of day behind a date.
            let is_next = is_date
                && self.peek(0) == Some(' ')
                && self.peek(1).is_some_and(|one| one.is_ascii_digit())
                && self.peek(3) == Some(':');
            if !is_next {
                return true;
            }
            self.at += 1;
        }
    }

    /// Whether `:20:30` follows.
    fn is_clock(&self) -> bool {
        let expected = [Some(':'), None, None, Some(':'), None, None];
        expected
            .iter()
            .enumerate()
            .all(|(ahead, sign)| match (sign, self.peek(ahead)) {
                (Some(sign), Some(found)) => *sign == found,
                (None, Some(found)) => found.is_ascii_digit(),
                _ => false,
            })
    }
}

fn is_of_run(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || "_./\\-~+@%$*".contains(sign)
}

/// A path has several parts, begins as one, or ends in a file.
fn is_path(run: &str) -> bool {
    let run = run.trim_end_matches(['.', '-']);
    let slashes = run.chars().filter(|one| "/\\".contains(*one)).count();
    if slashes == 0 || !run.chars().any(char::is_alphanumeric) {
        return false;
    }
    let begins = ["/", "./", "../", "~/", "\\\\", "$"]
        .iter()
        .any(|start| run.starts_with(start));
    let is_drive = run
        .get(1..3)
        .is_some_and(|part| part == ":\\" || part == ":/");
    let last = run.rsplit(['/', '\\']).next().unwrap_or_default();
    let is_file = last.split_once('.').is_some_and(|(name, end)| {
        !name.is_empty() && !end.is_empty() && end.chars().next().is_some_and(char::is_alphabetic)
    });
    // `\n` and the like in quoted text.
    let is_escape = run.starts_with('\\') && slashes == 1 && !is_file;
    !is_escape && (begins || is_drive || slashes >= 2 || is_file)
}

fn has_source_end(run: &str) -> bool {
    SOURCE_FILES
        .iter()
        .any(|end| run.ends_with(end) && run.len() > end.len())
}

/// The name of a shared library says what is wrong; where it lies does not.
fn library(path: &str) -> &str {
    let name = path
        .trim_end_matches('.')
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or_default();
    let is_library = name.contains(".so") || name.ends_with(".dll") || name.ends_with(".dylib");
    if is_library { name } else { "" }
}

fn is_address(run: &str, before: &str) -> bool {
    // As the kernel prints them.
    let is_bare = run.len() == 16 && run.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_bare && run.bytes().any(|byte| byte.is_ascii_digit()) {
        return true;
    }
    let Some(digits) = run.strip_prefix("0x").or_else(|| run.strip_prefix("0X")) else {
        return false;
    };
    let is_hexadecimal = !digits.is_empty() && digits.chars().all(|one| one.is_ascii_hexdigit());
    is_hexadecimal && (digits.len() >= ADDRESS_DIGITS || before.trim_end().ends_with(" at"))
}

/// Without brackets and quotes that hold nothing any more, double spaces and signs at the ends.
fn tidy(text: &str) -> String {
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    const EMPTY: [&str; 12] = [
        "()", "[]", "<>", "\"\"", "''", "``", "( )", "[ ]", "< >", "\" \"", "' '", "(, )",
    ];
    loop {
        let before = text.len();
        for empty in EMPTY {
            text = text.replace(empty, "");
        }
        for (wide, narrow) in [
            (" ,", ","),
            (" :", ":"),
            ("::", ":"),
            (",,", ","),
            ("  ", " "),
        ] {
            if narrow != ":" || !text.contains("::") || wide == "  " {
                text = text.replace(wide, narrow);
            }
        }
        if text.len() == before {
            break;
        }
    }
    let loose = |one: char| one.is_whitespace() || ",:;-|>".contains(one);
    text.trim_matches(loose).trim().to_owned()
}
