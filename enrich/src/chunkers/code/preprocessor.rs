//! What the preprocessor of C takes out, before the grammar sees a file: comments and directives
//! become blanks of the same length, so that places stay. Of a condition whose branches are halves
//! of something (two heads of one function, two openings of one block), the first branch stays.

use std::ops::Range;

use super::branches::Branches;
use super::macros::{Macro, read_macro};

/// A file of C or C++ for the grammar.
#[derive(Default)]
pub(super) struct Prepared {
    /// As long as the file, with blanks for what is taken out.
    pub masked: Vec<u8>,
    /// In document order.
    pub comments: Vec<Range<usize>>,
    /// Macros that take arguments or lines.
    pub macros: Vec<Macro>,
    /// Whether every bracket that is opened is closed.
    pub is_balanced: bool,
}

/// Reads a file of C or C++.
pub(super) fn prepare(code: &str) -> Prepared {
    let mut reader = Reader {
        code,
        at: 0,
        is_line_start: true,
        branches: Branches::default(),
        prepared: Prepared {
            masked: code.as_bytes().to_vec(),
            ..Prepared::default()
        },
    };
    while let Some(byte) = reader.byte(0) {
        reader.step(byte);
    }
    let mut prepared = reader.prepared;
    prepared.is_balanced = reader.branches.is_balanced();
    prepared
}

struct Reader<'a> {
    code: &'a str,
    at: usize,
    /// Whether only blanks stand before it in its line.
    is_line_start: bool,
    branches: Branches,
    prepared: Prepared,
}

/// The word of a directive, and what follows it.
fn word_of(directive: &str) -> (&str, &str) {
    let words = directive.trim_start_matches(['#', ' ', '\t']);
    let word_end = words.find(|sign: char| !sign.is_ascii_alphabetic());
    words.split_at(word_end.unwrap_or(words.len()))
}

impl Reader<'_> {
    fn byte(&self, ahead: usize) -> Option<u8> {
        self.code.as_bytes().get(self.at + ahead).copied()
    }

    fn step(&mut self, byte: u8) {
        match (byte, self.byte(1)) {
            (b'\n', _) => {
                self.is_line_start = true;
                self.at += 1;
                return;
            }
            (b' ' | b'\t' | b'\r' | 0x0C, _) => {
                self.at += 1;
                return;
            }
            (b'/', Some(b'*' | b'/')) => {
                let start = self.at;
                self.at = self.comment_end();
                self.blank(start..self.at);
                self.prepared.comments.push(start..self.at);
                return;
            }
            (b'#', _) if self.is_line_start => {
                self.directive();
                return;
            }
            (b'"' | b'\'', _) => self.literal(byte),
            _ => {
                self.branches.see(byte);
                self.at += 1;
            }
        }
        self.is_line_start = false;
    }

    /// Where the comment ends that begins here.
    fn comment_end(&self) -> usize {
        let rest = self.code.as_bytes().get(self.at + 2..).unwrap_or_default();
        let length = match self.byte(1) {
            Some(b'*') => rest
                .windows(2)
                .position(|two| two == b"*/")
                .map(|at| at + 2),
            _ => line_length(rest),
        };
        length.map_or(self.code.len(), |length| self.at + 2 + length)
    }

    /// Passes a string or character; one that is not closed ends with its line.
    fn literal(&mut self, quote: u8) {
        self.branches.see(quote);
        let before = self.at.checked_sub(1);
        let before = before.and_then(|at| self.code.as_bytes().get(at).copied());
        self.at += 1;
        match (quote, before) {
            // In a number of C++.
            (b'\'', Some(before)) if before.is_ascii_hexdigit() => return,
            (b'"', Some(b'R')) => return self.raw_string(),
            _ => {}
        }
        let start = self.at;
        while let Some(byte) = self.byte(0).filter(|byte| *byte != b'\n') {
            if byte == quote {
                break;
            }
            self.at += 1 + usize::from(byte == b'\\');
        }
        self.at = self.at.min(self.code.len());
        // What is in it would only confuse those who count brackets.
        self.blank(start..self.at);
        self.at += usize::from(self.byte(0) == Some(quote));
    }

    /// Passes `R"mark(...)mark"`, of which the quote is passed.
    fn raw_string(&mut self) {
        const LONGEST_MARK: usize = 16;
        let rest = self.code.get(self.at..).unwrap_or_default();
        let mark = rest.split_once('(').map(|(mark, _)| mark);
        let Some(mark) = mark.filter(|mark| mark.len() <= LONGEST_MARK) else {
            return;
        };
        let end = format!("){mark}\"");
        let length = rest.find(&end).map_or(rest.len(), |at| at + end.len());
        self.at += length;
    }

    /// Takes out a directive with the lines that continue it.
    fn directive(&mut self) {
        let start = self.at;
        self.at = self.directive_end();
        let text = self.code.get(start..self.at).unwrap_or_default();
        let (word, rest) = word_of(text);
        match word {
            "if" | "ifdef" | "ifndef" => self.branches.open(self.at, word, rest.trim()),
            "else" | "elif" | "elifdef" | "elifndef" => self.branches.next(start, self.at),
            "endif" => {
                let opens_block = self.opens_block();
                for branch in self.branches.close(start, opens_block) {
                    self.blank(branch);
                }
            }
            "define" => {
                let range = start..self.at;
                self.prepared.macros.extend(read_macro(text, rest, range));
            }
            _ => {}
        }
        self.blank(start..self.at);
    }

    /// Whether a block begins right here.
    fn opens_block(&self) -> bool {
        let rest = self.code.as_bytes().get(self.at..).unwrap_or_default();
        rest.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
    }

    /// Where the directive ends that begins here, without its line end.
    fn directive_end(&mut self) -> usize {
        let bytes = self.code.as_bytes();
        let mut at = self.at;
        while let Some(byte) = bytes.get(at) {
            match (byte, bytes.get(at + 1)) {
                (b'\n', _) => break,
                (b'\\', Some(b'\n')) => at += 2,
                (b'\\', Some(b'\r')) if bytes.get(at + 2) == Some(&b'\n') => at += 3,
                (b'/', Some(b'*' | b'/')) => {
                    let begun = std::mem::replace(&mut self.at, at);
                    at = self.comment_end();
                    self.prepared.comments.push(self.at..at);
                    self.at = begun;
                }
                _ => at += 1,
            }
        }
        at.min(bytes.len())
    }

    fn blank(&mut self, range: Range<usize>) {
        blank(&mut self.prepared.masked, range);
    }
}

/// Makes blanks of all but line ends.
pub(super) fn blank(text: &mut [u8], range: Range<usize>) {
    let part = text.get_mut(range).unwrap_or_default();
    let shown = part.iter_mut().filter(|byte| **byte != b'\n');
    shown.for_each(|byte| *byte = b' ');
}

/// Bytes of a line without its end; a backslash continues it.
fn line_length(rest: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let end = from + rest.get(from..)?.iter().position(|byte| *byte == b'\n')?;
        let continues = end.checked_sub(1).and_then(|at| rest.get(at)) == Some(&b'\\');
        if !continues {
            return Some(end);
        }
        from = end + 1;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn masked(code: &str) -> String {
        let masked = String::from_utf8(prepare(code).masked).unwrap();
        assert_eq!(masked.len(), code.len());
        let lines = masked.lines().map(str::trim_end);
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn comments_and_directives_become_blanks() {
        let code = "#include <a.h> /* b\n c */\nint a; // d\nchar *s = \"/* no */\";";
        assert_eq!(masked(code), "\n\nint a;\nchar *s = \"        \";");
        assert_eq!(prepare(code).comments.len(), 2);
        assert_eq!(
            masked("char c = '\"'; int d = '\\'';"),
            "char c = ' '; int d = '  ';"
        );
    }

    #[test]
    fn both_branches_stay_where_each_is_whole() {
        let code = "#ifdef A\nint f(void) { }\n#else\nint g(void) { }\n#endif";
        assert_eq!(masked(code), "\nint f(void) { }\n\nint g(void) { }\n");
    }

    #[test]
    fn the_first_branch_stays_where_they_are_halves() {
        let heads = "#ifdef A\nint f(int a)\n#else\nint f(void)\n#endif\n{ }";
        assert_eq!(masked(heads), "\nint f(int a)\n\n\n\n{ }");
        let openings = "#if A\nif (a) {\n#elif B\nif (b) {\n#else\n{\n#endif\nc(); }";
        assert_eq!(masked(openings), "\nif (a) {\n\n\n\n\n\nc(); }");
        let off = "#if 0\nint f(void) {\n#else\nint g(void) {\n#endif\n}";
        assert_eq!(masked(off), "\n\n\nint g(void) {\n\n}");
        let cpp = "#ifdef __cplusplus\nextern \"C\" {\n#endif\nint a;";
        assert_eq!(masked(cpp), "\n\n\nint a;");
    }

    #[test]
    fn macros_with_arguments_or_lines_are_kept_in_mind() {
        let code = "#define A 1\n#define B(x) ((x) + 1)\n#define C \\\n\t2\n";
        let macros = prepare(code).macros;
        let names: Vec<&str> = macros.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["B", "C"]);
        assert_eq!(
            code.get(macros[0].range.start..macros[0].body),
            Some("#define B(x)")
        );
    }

    #[test]
    fn hostile_files_end() {
        for code in [
            "/*",
            "\"",
            "'",
            "#",
            "#if",
            "#endif\n#else\n#endif",
            "\\",
            "#define",
            "R\"(",
        ] {
            prepare(code);
        }
        prepare(&"#if A\n{\n#else\n".repeat(100_000));
    }
}
