//! Which parts of Markdown are code, told while the text still comes in: `a[1]` in code is an index
//! and no citation. Follows CommonMark as far as it can be followed without the rest of the text.

/// Longest text that is held back because it may be inline code.
const MAXIMUM_HELD_BYTES: usize = 300;

/// A part of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Prose, character by character.
    Prose(char),
    /// Code with its marks, as written.
    Code(String),
}

enum State {
    Prose,
    /// A run of backticks or tildes is coming in.
    Run {
        mark: char,
        count: usize,
    },
    /// Between backticks: code if as many follow.
    Inline {
        count: usize,
        held: String,
        run: usize,
    },
    /// The first line of a block, until its end.
    Opening {
        mark: char,
        count: usize,
        held: String,
    },
    /// In a block.
    Block {
        mark: char,
        count: usize,
        line: String,
    },
}

/// Splits a text that comes in pieces.
pub struct CodeSpans {
    state: State,
    /// The line so far, as long as it may be the beginning of a block.
    line: Option<String>,
}

impl Default for CodeSpans {
    fn default() -> Self {
        Self {
            state: State::Prose,
            line: Some(String::new()),
        }
    }
}

impl CodeSpans {
    /// Takes a character; appends what is known now.
    pub fn push(&mut self, character: char, out: &mut Vec<Part>) {
        match std::mem::replace(&mut self.state, State::Prose) {
            State::Prose => self.prose(character, out),
            State::Run { mark, count } if character == mark => {
                self.state = State::Run {
                    mark,
                    count: count + 1,
                };
            }
            State::Run { mark, count } => self.after_run(mark, count, character, out),
            State::Inline { count, held, run } => self.inline(count, held, run, character, out),
            State::Opening { mark, count, held } => {
                self.opening(mark, count, held, character, out);
            }
            State::Block { mark, count, line } => self.block(mark, count, line, character, out),
        }
    }

    /// The text is over.
    pub fn finish(mut self, out: &mut Vec<Part>) {
        match std::mem::replace(&mut self.state, State::Prose) {
            State::Prose => {}
            State::Run { mark, count } => prose(&mark.to_string().repeat(count), out),
            State::Inline { count, held, run } if run == count => {
                out.push(Part::Code(held));
            }
            State::Inline { count, held, .. } => {
                self.reopen(count, &held, out);
                self.finish(out);
            }
            State::Opening { mark, count, held } => {
                out.push(Part::Code(mark.to_string().repeat(count) + &held));
            }
            State::Block { line, .. } => out.push(Part::Code(line)),
        }
    }

    fn prose(&mut self, character: char, out: &mut Vec<Part>) {
        let may_open = self.line.as_deref().is_some_and(is_before_a_block);
        match character {
            '`' => {
                self.state = State::Run {
                    mark: '`',
                    count: 1,
                }
            }
            '~' if may_open => {
                self.state = State::Run {
                    mark: '~',
                    count: 1,
                }
            }
            _ => {
                self.follow_line(character);
                out.push(Part::Prose(character));
            }
        }
    }

    fn follow_line(&mut self, character: char) {
        match (character, &mut self.line) {
            ('\n', line) => *line = Some(String::new()),
            (_, Some(line)) if line.len() < 16 => line.push(character),
            (_, line) => *line = None,
        }
    }

    fn after_run(&mut self, mark: char, count: usize, next: char, out: &mut Vec<Part>) {
        let opens = count >= 3 && self.line.as_deref().is_some_and(is_before_a_block);
        if opens {
            self.state = State::Opening {
                mark,
                count,
                held: String::new(),
            };
        } else if mark == '`' {
            let held = String::new();
            self.state = State::Inline {
                count,
                held,
                run: 0,
            };
        } else {
            self.line = None;
            prose(&mark.to_string().repeat(count), out);
        }
        self.push(next, out);
    }

    fn inline(
        &mut self,
        count: usize,
        mut held: String,
        run: usize,
        next: char,
        out: &mut Vec<Part>,
    ) {
        if next == '`' {
            if held.is_empty() {
                held.push_str(&"`".repeat(count));
            }
            held.push('`');
            self.state = State::Inline {
                count,
                held,
                run: run + 1,
            };
            return;
        }
        if run == count {
            self.line = None;
            out.push(Part::Code(held));
            self.push(next, out);
            return;
        }
        if held.is_empty() {
            held.push_str(&"`".repeat(count));
        }
        let is_paragraph_end = next == '\n' && held.ends_with('\n');
        held.push(next);
        if is_paragraph_end || held.len() > MAXIMUM_HELD_BYTES {
            self.reopen(count, &held, out);
        } else {
            self.state = State::Inline {
                count,
                held,
                run: 0,
            };
        }
    }

    /// What was held is no code: its first run of backticks stands for itself.
    fn reopen(&mut self, count: usize, held: &str, out: &mut Vec<Part>) {
        self.line = None;
        self.state = State::Prose;
        let mark = "`".repeat(count);
        prose(&mark, out);
        let rest = held.strip_prefix(&mark).unwrap_or(held);
        rest.chars().for_each(|character| self.push(character, out));
    }

    fn opening(
        &mut self,
        mark: char,
        count: usize,
        mut held: String,
        next: char,
        out: &mut Vec<Part>,
    ) {
        if next == '`' && mark == '`' {
            // A language is not written with backticks: it is inline code.
            self.state = State::Prose;
            self.line = None;
            let held = "`".repeat(count) + &held;
            self.state = State::Inline {
                count,
                held,
                run: 0,
            };
            self.push(next, out);
            return;
        }
        held.push(next);
        if next == '\n' {
            out.push(Part::Code(mark.to_string().repeat(count) + &held));
            let line = String::new();
            self.state = State::Block { mark, count, line };
        } else {
            self.state = State::Opening { mark, count, held };
        }
    }

    fn block(
        &mut self,
        mark: char,
        count: usize,
        mut line: String,
        next: char,
        out: &mut Vec<Part>,
    ) {
        line.push(next);
        if next != '\n' {
            self.state = State::Block { mark, count, line };
            return;
        }
        let closes = is_closing(&line, mark, count);
        out.push(Part::Code(line));
        if closes {
            self.line = Some(String::new());
        } else {
            let line = String::new();
            self.state = State::Block { mark, count, line };
        }
    }
}

fn prose(text: &str, out: &mut Vec<Part>) {
    out.extend(text.chars().map(Part::Prose));
}

/// Whether a block of code may begin after this beginning of a line: nothing but indentation,
/// quotes and one mark of a list.
fn is_before_a_block(line: &str) -> bool {
    let rest = line.trim_start_matches([' ', '\t', '>']);
    let number = rest.trim_start_matches(|character: char| character.is_ascii_digit());
    let is_item = matches!(rest.trim_end_matches(' '), "-" | "*" | "+")
        || (number.len() < rest.len() && matches!(number.trim_end_matches(' '), "." | ")"));
    rest.is_empty() || (is_item && rest.ends_with(' '))
}

fn is_closing(line: &str, mark: char, count: usize) -> bool {
    let rest = line.trim_start_matches([' ', '\t', '>']).trim_end();
    rest.chars().all(|character| character == mark) && rest.chars().count() >= count
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Prose as it is, code in angle quotes.
    fn split(text: &str) -> String {
        let mut spans = CodeSpans::default();
        let mut parts = Vec::new();
        text.chars()
            .for_each(|character| spans.push(character, &mut parts));
        spans.finish(&mut parts);
        let shown = parts.into_iter().map(|part| match part {
            Part::Prose(character) => character.to_string(),
            Part::Code(code) => format!("«{code}»"),
        });
        shown.collect()
    }

    #[test]
    fn code_is_told_from_prose() {
        let table = [
            ("a `b[1]` c", "a «`b[1]`» c"),
            ("``a`b`` [1]", "«``a`b``» [1]"),
            ("a ` b [1]", "a ` b [1]"),
            ("a `b\nc` d", "a «`b\nc`» d"),
            ("a `b\n\nc` [1]", "a `b\n\nc` [1]"),
            ("```\na[1]\n```\n[1]", "«```\n»«a[1]\n»«```\n»[1]"),
            ("- ```py\na[1]\n  ```\n", "- «```py\n»«a[1]\n»«  ```\n»"),
            ("~~~\n`\n~~~\n`a`", "«~~~\n»«`\n»«~~~\n»«`a`»"),
            ("```a``` [1]", "«```a```» [1]"),
            ("a ```b``` c", "a «```b```» c"),
            ("```\na[1]", "«```\n»«a[1]»"),
            ("~~a~~ 表 ~", "~~a~~ 表 ~"),
            ("`a`", "«`a`»"),
            ("``", "``"),
            ("", ""),
        ];
        for (text, expected) in table {
            assert_eq!(split(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_code_is_not_held_for_ever() {
        let text = format!("`{} [1]", "很长".repeat(200));
        assert_eq!(split(&text), text);
    }
}
