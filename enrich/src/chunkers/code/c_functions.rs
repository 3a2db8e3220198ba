//! Functions of C by their brackets. The kernel's macros (`SYSCALL_DEFINE3(read, ...) {`, words of
//! its own before a name) lose the grammar; brackets do not. Reads what `preprocessor` leaves, so
//! that strings, comments and directives are blanks.

use super::c_heads::{Head, Part, is_word};
use super::definitions::Candidate;
use super::preprocessor::Prepared;

/// Longest head, in parts; a longer one is no head.
const LONGEST_HEAD: usize = 512;

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
            let head = Head {
                text: self.text,
                parts: &self.head,
            };
            self.open = head.function(self.at);
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
