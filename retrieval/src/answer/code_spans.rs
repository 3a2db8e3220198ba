//! Which parts of Markdown are code, told while the text still comes in: `a[1]` in code is an index
//! and no citation. What may be code is held back until a reader of Markdown can say whether it is:
//! inline code up to its closing backticks, a block line by line.

use std::collections::VecDeque;

use super::code_reader::CodeReader;

/// Longest text that is held back because it may be inline code.
const MAXIMUM_HELD_BYTES: usize = 300;
/// Columns of a line that make it a block of code where nothing stands before it.
const INDENTED: usize = 4;

/// A part of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Prose.
    Prose(String),
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
    /// The rest of a line that may stand in a block.
    Line(String),
}

/// Splits a text that comes in pieces.
pub struct CodeSpans {
    input: VecDeque<char>,
    state: State,
    reader: CodeReader,
    /// The line so far, as long as a block may begin in it; none as well where it is no code.
    line: Option<String>,
    /// Whether the line before stands in a block.
    in_block: bool,
    /// Whether this line is known to stand in none that began before it.
    is_prose_line: bool,
    /// Whether a backslash stands before the next character.
    is_escaped: bool,
}

impl Default for CodeSpans {
    fn default() -> Self {
        Self {
            input: VecDeque::new(),
            state: State::Prose,
            reader: CodeReader::default(),
            line: Some(String::new()),
            in_block: false,
            is_prose_line: false,
            is_escaped: false,
        }
    }
}

impl CodeSpans {
    /// Takes a piece of the text.
    pub fn push(&mut self, piece: &str) {
        self.input.extend(piece.chars());
    }

    /// The next part that is known. `shown` is what became of those before it, and what is held of
    /// them.
    pub fn next(&mut self, shown: &str) -> Option<Part> {
        while let Some(character) = self.input.pop_front() {
            let part = self.step(character, shown);
            if part.is_some() {
                return part;
            }
        }
        None
    }

    /// The same when the text is over: nothing is held any longer.
    pub fn next_of_rest(&mut self, shown: &str) -> Option<Part> {
        loop {
            if let Some(part) = self.next(shown) {
                return Some(part);
            }
            let part = match std::mem::replace(&mut self.state, State::Prose) {
                State::Prose => return None,
                State::Run { mark, count } => Some(Part::Prose(mark.to_string().repeat(count))),
                State::Inline { count, held, run } if run == count => {
                    self.inline_or_prose(count, held, shown)
                }
                State::Inline { count, held, .. } => Some(self.reopen(count, &held)),
                State::Line(held) => self.block_or_prose(held, shown),
            };
            if part.is_some() {
                return part;
            }
        }
    }

    fn step(&mut self, next: char, shown: &str) -> Option<Part> {
        match std::mem::replace(&mut self.state, State::Prose) {
            State::Prose => self.prose(next),
            State::Run { mark, count } if next == mark => {
                let count = count + 1;
                self.state = State::Run { mark, count };
                None
            }
            State::Run { mark, count } => self.after_run(mark, count, next),
            State::Inline { count, held, run } => self.inline(count, held, run, next, shown),
            State::Line(held) => self.line(held, next, shown),
        }
    }

    fn line(&mut self, mut held: String, next: char, shown: &str) -> Option<Part> {
        let mut first = [0; 4];
        let first = next.encode_utf8(&mut first);
        if held.is_empty() && !self.reader.is_in_block(shown, first) {
            self.in_block = false;
            self.is_prose_line = true;
            return self.prose(next);
        }
        held.push(next);
        if next == '\n' {
            return self.block_or_prose(held, shown);
        }
        self.state = State::Line(held);
        None
    }

    fn prose(&mut self, next: char) -> Option<Part> {
        let is_escaped = std::mem::take(&mut self.is_escaped);
        let before = self.line.as_deref();
        let may_open = before.is_some_and(is_before_a_block);
        let is_fence = may_open && next == '~';
        if (next == '`' && !is_escaped) || is_fence {
            self.state = State::Run {
                mark: next,
                count: 1,
            };
            return None;
        }
        let is_text = !matches!(next, ' ' | '\t' | '\n' | '>');
        let is_indented = may_open && before.is_some_and(|line| columns(line) >= INDENTED);
        if is_text && !self.is_prose_line && (self.in_block || is_indented) {
            self.input.push_front(next);
            self.state = State::Line(String::new());
            return None;
        }
        self.is_escaped = next == '\\' && !is_escaped;
        self.follow_line(next);
        Some(Part::Prose(next.to_string()))
    }

    fn follow_line(&mut self, next: char) {
        self.is_prose_line &= next != '\n';
        match (next, &mut self.line) {
            ('\n', line) => *line = Some(String::new()),
            (_, Some(line)) if line.len() < 64 => line.push(next),
            (_, line) => *line = None,
        }
    }

    fn after_run(&mut self, mark: char, count: usize, next: char) -> Option<Part> {
        self.input.push_front(next);
        let marks = mark.to_string().repeat(count);
        let may_open = self.line.as_deref().is_some_and(is_before_a_block);
        let is_of_block = self.in_block && !self.is_prose_line;
        if is_of_block || (count >= 3 && may_open) {
            self.state = State::Line(marks);
            return None;
        }
        if mark == '`' {
            let (held, run) = (marks, 0);
            self.state = State::Inline { count, held, run };
            return None;
        }
        self.line = None;
        Some(Part::Prose(marks))
    }

    fn inline(
        &mut self,
        count: usize,
        mut held: String,
        run: usize,
        next: char,
        shown: &str,
    ) -> Option<Part> {
        if next != '`' && run == count {
            self.input.push_front(next);
            return self.inline_or_prose(count, held, shown);
        }
        let is_paragraph_end = next == '\n' && held.ends_with('\n');
        held.push(next);
        if is_paragraph_end || held.len() > MAXIMUM_HELD_BYTES {
            return Some(self.reopen(count, &held));
        }
        let run = if next == '`' { run + 1 } else { 0 };
        self.state = State::Inline { count, held, run };
        None
    }

    fn inline_or_prose(&mut self, count: usize, held: String, shown: &str) -> Option<Part> {
        if self.reader.is_span(shown, &held) {
            self.line = None;
            return Some(Part::Code(held));
        }
        Some(self.reopen(count, &held))
    }

    /// What was held is no code: its first run of backticks stands for itself.
    fn reopen(&mut self, count: usize, held: &str) -> Part {
        let marks = "`".repeat(count);
        self.put_back(held.strip_prefix(&marks).unwrap_or(held));
        self.line = None;
        Part::Prose(marks)
    }

    fn block_or_prose(&mut self, held: String, shown: &str) -> Option<Part> {
        self.in_block = self.reader.is_in_block(shown, &held);
        if self.in_block {
            self.line = Some(String::new());
            self.is_prose_line = false;
            return Some(Part::Code(held));
        }
        self.line = None;
        self.is_prose_line = true;
        self.put_back(&held);
        None
    }

    fn put_back(&mut self, held: &str) {
        for character in held.chars().rev() {
            self.input.push_front(character);
        }
    }
}

/// Whether a block of code may begin after this beginning of a line: nothing but indentation,
/// quotes and marks of lists.
fn is_before_a_block(line: &str) -> bool {
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '>']);
        let number = rest.trim_start_matches(|character: char| character.is_ascii_digit());
        let mark = match number.len() < rest.len() {
            true => number.strip_prefix(['.', ')']),
            false => rest.strip_prefix(['-', '*', '+']),
        };
        match mark {
            Some(behind) if behind.starts_with([' ', '\t']) => rest = behind,
            _ => return rest.is_empty(),
        }
    }
}

fn columns(line: &str) -> usize {
    let width = |character| match character {
        ' ' => 1,
        '\t' => INDENTED,
        _ => 0,
    };
    line.chars().map(width).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Prose as it is, code in angle quotes.
    fn split(text: &str) -> String {
        let mut spans = CodeSpans::default();
        let (mut shown, mut marked) = (String::new(), String::new());
        let mut take = |part: Part, shown: &mut String| {
            let (text, quoted) = match part {
                Part::Prose(text) => (text.clone(), text),
                Part::Code(text) => (text.clone(), format!("«{text}»")),
            };
            shown.push_str(&text);
            marked.push_str(&quoted);
        };
        for character in text.chars() {
            spans.push(&character.to_string());
            while let Some(part) = spans.next(&shown) {
                take(part, &mut shown);
            }
        }
        while let Some(part) = spans.next_of_rest(&shown) {
            take(part, &mut shown);
        }
        assert_eq!(shown, text, "nothing is lost");
        marked
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
            ("- ```py\n  a[1]\n  ```\n", "- «```py\n»  «a[1]\n»  «```\n»"),
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
    fn what_only_looks_like_code_is_prose() {
        let prose = [
            "a \\`b[1]\\` c",
            "a `b\n- c` [1]",
            "a `b\n# c` [1]",
            "a\n     ```\n[1]\n",
            "<div>\n`[1]`\n</div>",
            "- a\n\n    b[1]\n",
            "| a | b |\n|---|---|\n| `a | b[1]` |",
        ];
        for text in prose {
            assert_eq!(split(text), text);
        }
        let table = [
            ("> ```\n> a\n[1]", "> «```\n»> «a\n»[1]"),
            ("- ```\n  a\n[1]", "- «```\n»  «a\n»[1]"),
            ("a\n\n    b[1]\n\nc[1]", "a\n\n    «b[1]\n»\nc[1]"),
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
