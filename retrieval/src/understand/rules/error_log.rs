//! Splits an error message, log or traceback from the question that it was pasted into.

use super::error_query::scrub;

/// Beginnings of lines that only logs have, without spaces before them.
const BEGINNINGS: [&str; 12] = [
    "Traceback (most recent",
    "File \"",
    "at ",
    "Caused by:",
    "[ERROR]",
    "[WARNING]",
    "[CRITICAL]",
    "ERROR ",
    "ERROR:",
    "FATAL",
    "thread '",
    "#0 ",
];
/// Ends of the first word of an error message.
const NAMES: [&str; 5] = ["Error:", "Exception:", "Error", "Exception", "Failure:"];
/// Characters of a line that is worth being split off.
const SHORTEST: usize = 8;

/// The lines of a question that are a log, from the first to the last; `None` where there is none.
pub fn error_log(question: &str) -> Option<String> {
    let lines: Vec<&str> = question.lines().collect();
    let first = lines.iter().position(|line| is_log(line))?;
    let last = lines
        .iter()
        .rposition(|line| is_log(line) || is_indented(line))?;
    let log = lines.get(first..=last.max(first))?.join("\n");
    let log = match lines.len() {
        1 => message(&log).or_else(|| of_kernel(&log))?.to_owned(),
        _ => log,
    };
    let log = log.trim();
    (log.chars().count() >= SHORTEST).then(|| log.to_owned())
}

/// A line of the kernel, which begins with the seconds since its start.
fn of_kernel(line: &str) -> Option<&str> {
    (scrub::behind_uptime(line).len() < line.len()).then_some(line)
}

fn is_indented(line: &str) -> bool {
    line.starts_with(['\t', ' ']) && !line.trim().is_empty()
}

fn is_log(line: &str) -> bool {
    let text = line.trim_start();
    if of_kernel(text).is_some() {
        return true;
    }
    let is_call = text.starts_with("at ") && text.contains('(') && text.contains(')');
    let begins = BEGINNINGS
        .iter()
        .any(|beginning| text.starts_with(beginning) && (*beginning != "at " || is_call));
    begins || message(text).is_some()
}

/// From the word on that names an error, as in `报错 ValueError: x`.
fn message(line: &str) -> Option<&str> {
    let mut start = 0;
    for word in line.split_inclusive(|sign: char| sign.is_whitespace() || "，。：".contains(sign))
    {
        let name: String = word.trim_end().to_owned();
        let ascii = name
            .char_indices()
            .find(|(_, character)| character.is_ascii_alphabetic())
            .map_or(0, |(at, _)| at);
        let latin = name.get(ascii..).unwrap_or_default();
        let is_error = latin.is_ascii()
            && latin.ends_with(':')
            && NAMES
                .iter()
                .any(|end| latin.ends_with(end) && latin.len() > end.len());
        if is_error {
            return line.get(start + ascii..);
        }
        start += word.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_split_from_what_is_asked_about_them() {
        let traceback = "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    net(x)\nValueError: For 'Conv2d', the input must be 4D";
        let pasted = format!("训练时报错，怎么解决？\n{traceback}");
        assert_eq!(error_log(&pasted).as_deref(), Some(traceback));
        let behind = format!("{traceback}\n这是什么原因");
        assert_eq!(error_log(&behind).as_deref(), Some(traceback));
        let table = [
            (
                "运行时报RuntimeError: Malloc device memory failed. 怎么办",
                Some("RuntimeError: Malloc device memory failed. 怎么办"),
            ),
            (
                "java:\nException in thread \"main\"\n\tat a.B.c(B.java:3)",
                Some("at a.B.c(B.java:3)"),
            ),
            (
                "[ 12.345678] Out of memory: Killed process 4321",
                Some("[ 12.345678] Out of memory: Killed process 4321"),
            ),
            ("What is an Error: a class?", None),
            ("look at (a) and (b)", None),
            ("载波聚合怎么配置", None),
            ("", None),
        ];
        for (question, expected) in table {
            assert_eq!(error_log(question).as_deref(), expected, "{question}");
        }
    }
}
