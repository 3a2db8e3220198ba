//! Functions of C by their brackets. The kernel's macros (`SYSCALL_DEFINE3(read, ...) {`, words of
//! its own before a name) lose the grammar; brackets do not. Reads what `preprocessor` leaves, so
//! that strings, comments and directives are blanks.

use std::ops::Range;

use super::definitions::{Candidate, What};
use super::preprocessor::Prepared;

/// Takes arguments and stands beside a head, but names no function.
const ATTRIBUTES: [&str; 20] = [
    "__attribute__",
    "__attribute",
    "__printf",
    "__scanf",
    "__section",
    "__aligned",
    "__acquires",
    "__releases",
    "__cond_acquires",
    "__must_hold",
    "__no_sanitize",
    "__alloc_size",
    "__realloc_size",
    "__assume_aligned",
    "__nonnull",
    "__error",
    "__warning",
    "__asm__",
    "asm",
    "__declspec",
];
/// Begins no function where it stands right before or among the words after its arguments.
const KEYWORDS: [&str; 13] = [
    "if", "for", "while", "switch", "do", "else", "struct", "union", "enum", "return", "sizeof",
    "typedef", "case",
];
/// Longest head, in parts; a longer one is no head.
const LONGEST_HEAD: usize = 512;

/// What a head is made of.
#[derive(Clone, Debug)]
enum Part {
    Word(Range<usize>),
    /// Round brackets with what is in them.
    Group(Range<usize>),
    Sign(u8, usize),
}

/// All functions, in document order.
pub(super) fn functions(prepared: &Prepared) -> Vec<Candidate> {
    let mut scanner = Scanner {
        text: &prepared.masked,
        trusts_columns: !prepared.is_balanced,
        at: 0,
        depth: 0,
        brackets: 0,
        group_start: 0,
        head: Vec::new(),
        open: None,
        line_word: None,
        restarted: 0,
        found: Vec::new(),
    };
    while let Some(byte) = scanner.text.get(scanner.at).copied() {
        scanner.step(byte);
    }
    scanner.found
}

struct Scanner<'a> {
    text: &'a [u8],
    /// Where brackets are not balanced, one at the beginning of a line is outside of all others.
    trusts_columns: bool,
    at: usize,
    depth: usize,
    brackets: usize,
    group_start: usize,
    head: Vec<Part>,
    /// The function whose body is open.
    open: Option<Candidate>,
    /// The last word that begins a line within a body.
    line_word: Option<usize>,
    /// No place before this one is read again.
    restarted: usize,
    found: Vec<Candidate>,
}

impl Scanner<'_> {
    fn step(&mut self, byte: u8) {
        match byte {
            b'{' => self.opening(),
            b'}' => self.closing(),
            _ if self.depth > 0 => self.note_line_word(byte),
            b'(' => {
                if self.brackets == 0 {
                    self.group_start = self.at;
                }
                self.brackets += 1;
            }
            b')' => {
                self.brackets = self.brackets.saturating_sub(1);
                if self.brackets == 0 {
                    self.push(Part::Group(self.group_start..self.at + 1));
                }
            }
            _ if self.brackets > 0 => {}
            b';' => self.head.clear(),
            byte if is_word(byte) => {
                self.word();
                return;
            }
            byte if !byte.is_ascii_whitespace() => self.push(Part::Sign(byte, self.at)),
            _ => {}
        }
        self.at += 1;
    }

    fn push(&mut self, part: Part) {
        if self.head.len() < LONGEST_HEAD {
            self.head.push(part);
        }
    }

    fn word(&mut self) {
        let start = self.at;
        let rest = self.text.get(start..).unwrap_or_default();
        let length = rest.iter().position(|byte| !is_word(*byte));
        self.at = start + length.unwrap_or(rest.len());
        self.push(Part::Word(start..self.at));
    }

    fn is_line_start(&self) -> bool {
        let before = self.at.checked_sub(1);
        before.is_none_or(|at| self.text.get(at) == Some(&b'\n'))
    }

    fn note_line_word(&mut self, byte: u8) {
        if self.trusts_columns && is_word(byte) && self.is_line_start() {
            self.line_word.get_or_insert(self.at);
        }
    }

    fn opening(&mut self) {
        if self.trusts_columns && self.depth > 0 && self.is_line_start() {
            self.opening_outside();
            return;
        }
        if self.depth > 0 {
            self.depth += 1;
            return;
        }
        if self.brackets == 0 {
            let linkage = matches!(self.head.as_slice(), [Part::Word(word), Part::Sign(b'"', _), ..]
                if self.text.get(word.clone()) == Some(b"extern"));
            if linkage {
                self.head.clear();
                return;
            }
            self.open = self.head_of_function();
        }
        self.depth = 1;
        self.line_word = None;
    }

    /// A body that begins at the beginning of a line, while another is open: that one was never
    /// closed. Reads the head before it again.
    fn opening_outside(&mut self) {
        let start = self.line_word.take().filter(|at| *at >= self.restarted);
        self.depth = 0;
        self.brackets = 0;
        self.head.clear();
        let Some(start) = start else {
            self.depth = 1;
            return;
        };
        if let Some(mut open) = self.open.take() {
            open.range.end = start;
            self.found.push(open);
        }
        self.restarted = self.at;
        self.at = start - 1;
    }

    fn closing(&mut self) {
        let closes_all = self.trusts_columns && self.is_line_start();
        self.depth = match closes_all {
            true => 0,
            false => self.depth.saturating_sub(1),
        };
        if closes_all {
            self.line_word = None;
        }
        if self.depth > 0 {
            return;
        }
        if let Some(mut open) = self.open.take() {
            open.range.end = self.at + 1;
            self.found.push(open);
            self.head.clear();
            self.brackets = 0;
            return;
        }
        if self.is_line_start() {
            self.brackets = 0;
        }
        // What follows in the same line belongs to what is closed, as the names after a structure.
        let rest = self.text.get(self.at + 1..).unwrap_or_default();
        let next = rest
            .iter()
            .find(|byte| !matches!(byte, b' ' | b'\t' | b'\r'));
        if next.is_none_or(|byte| *byte == b'\n') && self.brackets == 0 {
            self.head.clear();
        }
    }

    /// The function that the parts before a `{` begin.
    fn head_of_function(&self) -> Option<Candidate> {
        if self
            .head
            .iter()
            .any(|part| matches!(part, Part::Sign(b'=', _)))
        {
            return None;
        }
        let (at, name) = self.named()?;
        let after = self.head.get(at + 2..).unwrap_or_default();
        if after.iter().any(|part| !self.may_follow(part)) {
            return None;
        }
        let first = self.first_of(at);
        let start = self.head.get(first)?.start();
        let name = match self.is_macro_call(first, at) {
            true => self.first_argument(at + 1).unwrap_or(name),
            false => name,
        };
        let name = String::from_utf8_lossy(self.text.get(name)?).into_owned();
        let range = start..self.at + 1;
        Some(Candidate::new(What::Function, name, range, self.at))
    }

    /// The part that names the function, and the name. Arguments are in the part after it.
    fn named(&self) -> Option<(usize, Range<usize>)> {
        for at in (1..self.head.len()).rev() {
            let (Some(before), Some(Part::Group(_))) = (self.head.get(at - 1), self.head.get(at))
            else {
                continue;
            };
            match before {
                Part::Word(word) if self.is_one_of(word, &ATTRIBUTES) => {}
                Part::Word(word) if self.is_one_of(word, &KEYWORDS) => return None,
                Part::Word(word) => return Some((at - 1, word.clone())),
                // `void (*signal(int number))(int)`
                Part::Group(group) => return Some((at - 1, self.name_in(group)?)),
                Part::Sign(..) => return None,
            }
        }
        None
    }

    fn may_follow(&self, part: &Part) -> bool {
        match part {
            Part::Word(word) => !self.is_one_of(word, &KEYWORDS),
            Part::Group(_) => true,
            Part::Sign(..) => false,
        }
    }

    /// Where the declaration begins whose name is the part at `name`: after a macro that ends
    /// without a semicolon, and after all that is no type.
    fn first_of(&self, name: usize) -> usize {
        let mut first = name;
        while let Some(before) = first.checked_sub(1) {
            let taken = match self.head.get(before) {
                Some(Part::Word(_) | Part::Sign(b'*', _)) => 1,
                Some(Part::Group(_)) => {
                    match before.checked_sub(1).and_then(|at| self.head.get(at)) {
                        Some(Part::Word(word)) if self.is_one_of(word, &ATTRIBUTES) => 2,
                        _ => break,
                    }
                }
                _ => break,
            };
            first -= taken;
        }
        first
    }

    /// Whether the head is the call of a macro that defines a function: capitals without a type.
    fn is_macro_call(&self, first: usize, name: usize) -> bool {
        let is_capital = |word: &Range<usize>| {
            let word = self.text.get(word.clone()).unwrap_or_default();
            !word.iter().any(u8::is_ascii_lowercase) && word.iter().any(u8::is_ascii_uppercase)
        };
        let is_storage = |part: &Part| match part {
            Part::Word(word) => {
                let is_own = self
                    .text
                    .get(word.clone())
                    .is_some_and(|word| word.starts_with(b"__"));
                is_own || self.is_one_of(word, &["static", "inline", "extern", "asmlinkage"])
            }
            _ => true,
        };
        let named = matches!(self.head.get(name), Some(Part::Word(word)) if is_capital(word));
        named
            && self
                .head
                .get(first..name)
                .unwrap_or_default()
                .iter()
                .all(is_storage)
    }

    fn first_argument(&self, group: usize) -> Option<Range<usize>> {
        let Some(Part::Group(group)) = self.head.get(group) else {
            return None;
        };
        let word = self.word_from(group.start + 1)?;
        let starts_with_digit = self.text.get(word.start).is_some_and(u8::is_ascii_digit);
        (word.end < group.end && !starts_with_digit).then_some(word)
    }

    /// The name in `(*name(arguments))`.
    fn name_in(&self, group: &Range<usize>) -> Option<Range<usize>> {
        let text = self.text.get(group.clone())?;
        let stars = text.iter().skip(1);
        let blanks = stars.take_while(|byte| **byte == b'*' || byte.is_ascii_whitespace());
        self.word_from(group.start + 1 + blanks.count())
    }

    /// The word at a place, blanks before it passed.
    fn word_from(&self, at: usize) -> Option<Range<usize>> {
        let rest = self.text.get(at..)?;
        let start = rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let word = rest.get(start..)?;
        let length = word.iter().position(|byte| !is_word(*byte))?;
        (length > 0).then_some(at + start..at + start + length)
    }

    fn is_one_of(&self, word: &Range<usize>, words: &[&str]) -> bool {
        let word = self.text.get(word.clone()).unwrap_or_default();
        words.iter().any(|one| one.as_bytes() == word)
    }
}

impl Part {
    fn start(&self) -> usize {
        match self {
            Self::Word(range) | Self::Group(range) => range.start,
            Self::Sign(_, at) => *at,
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::super::preprocessor::prepare;
    use super::*;

    fn names(code: &str) -> Vec<String> {
        let found = functions(&prepare(code));
        found.into_iter().map(|one| one.name).collect()
    }

    #[test]
    fn functions_are_found_whatever_stands_around_them() {
        for (code, expected) in [
            ("int f(void) { if (a) { } }", vec!["f"]),
            (
                "static __init int *f(int a[2]) __acquires(x) { }",
                vec!["f"],
            ),
            (
                "SYSCALL_DEFINE2(one, int, a) { }\nint g(void) { }",
                vec!["one", "g"],
            ),
            ("EXPORT_SYMBOL(f)\nint g(void) { }", vec!["g"]),
            ("__printf(2, 3) void __f(int a, ...) { }", vec!["__f"]),
            (
                "void (*signal(int n, void (*f)(int)))(int) { }",
                vec!["signal"],
            ),
            (
                "struct a { int b; } c;\nint d = { 1 };\nint f(void) { }",
                vec!["f"],
            ),
            ("struct __attribute__((packed)) a { int b; };", vec![]),
            ("extern \"C\" {\nint f(void) { }\n}", vec!["f"]),
            ("int a[] = { F(1) };\nenum { B = (1) };", vec![]),
        ] {
            assert_eq!(names(code), expected, "{code}");
        }
    }

    #[test]
    fn a_lost_bracket_costs_one_function() {
        let code = "int f(void)\n{\n\tif (a) {\n}\n\nint g(void)\n{\n\tb();\n}\n";
        assert_eq!(names(code), ["f", "g"]);
        let code = "int f(void)\n{\n\tb(\n\nint g(void)\n{\n\tb();\n}\n";
        assert_eq!(names(code), ["f", "g"]);
    }
}
