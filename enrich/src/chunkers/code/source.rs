//! A file of source code, as it stands in a clean document: one fenced block of code.

use std::ops::Range;

use tributary_schemas::CleanDocument;

use super::languages::Language;

/// The code of a file.
pub(super) struct Source<'a> {
    pub code: &'a str,
    /// Where the code begins in the document's Markdown.
    pub offset: usize,
    pub language: Language,
    /// Path of the file; empty if it has none.
    pub path: &'a str,
    /// Where lines end.
    line_ends: Vec<usize>,
}

impl<'a> Source<'a> {
    /// `None` if the document is something else, or of a language without a grammar.
    pub fn read(clean: &'a CleanDocument) -> Option<Self> {
        let path = clean.document.source_path.as_str();
        let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
        let (info, body) = fenced(&clean.markdown)?;
        let code = clean.markdown.get(body.clone())?;
        if code.trim().is_empty() {
            return None;
        }
        let named = match info {
            "" => Language::named(extension),
            info => Language::named(info),
        };
        let language = match named? {
            Language::C if extension == "h" && is_cpp(code) => Language::Cpp,
            language => language,
        };
        Some(Self {
            path,
            ..Self::new(code, body.start, language)
        })
    }

    pub fn new(code: &'a str, offset: usize, language: Language) -> Self {
        let bytes = code.bytes().enumerate();
        let ends = bytes.filter(|(_, byte)| *byte == b'\n');
        Self {
            code,
            offset,
            language,
            path: "",
            line_ends: ends.map(|(at, _)| at).collect(),
        }
    }

    /// A part of the code; empty if the range is none.
    pub fn text(&self, range: Range<usize>) -> &'a str {
        self.code.get(range).unwrap_or_default()
    }

    /// The line, from 1, that a byte stands in.
    pub fn line(&self, at: usize) -> u32 {
        let before = self.line_ends.partition_point(|end| *end < at);
        u32::try_from(before + 1).unwrap_or(u32::MAX)
    }

    /// Where the line begins that a byte stands in.
    pub fn line_start(&self, at: usize) -> usize {
        let before = self.line_ends.partition_point(|end| *end < at);
        let end = before.checked_sub(1).and_then(|at| self.line_ends.get(at));
        end.map_or(0, |end| end + 1)
    }

    /// Where the line after that of a byte begins.
    pub fn line_end(&self, at: usize) -> usize {
        let before = self.line_ends.partition_point(|end| *end < at);
        let end = self.line_ends.get(before);
        end.map_or(self.code.len(), |end| end + 1)
    }

    /// First and last line of a range, blank ones at its end left out.
    pub fn lines(&self, range: &Range<usize>) -> (u32, u32) {
        let text = self.text(range.clone());
        let first = range.start + (text.len() - text.trim_start().len());
        let last = range.start + text.trim_end().len().max(1) - 1;
        (self.line(first.min(last)), self.line(last))
    }
}

/// Info string and body of a document that is one fenced block; one without a fence is its body.
fn fenced(markdown: &str) -> Option<(&str, Range<usize>)> {
    let ticks = markdown.bytes().take_while(|byte| *byte == b'`').count();
    if ticks < 3 {
        return Some(("", 0..markdown.len()));
    }
    let fence = markdown.get(..ticks)?;
    let start = markdown.find('\n')? + 1;
    let info = markdown.get(ticks..start)?.trim();
    let body = markdown.get(start..)?.trim_end().strip_suffix(fence)?;
    let is_one = body.is_empty() || body.ends_with('\n');
    let again = body.starts_with(fence) || body.contains(&format!("\n{fence}"));
    (is_one && !again).then_some((info, start..start + body.len()))
}

/// Whether a header is one of C++, whatever its extension says.
fn is_cpp(code: &str) -> bool {
    let begins = |line: &str| {
        let line = line.trim_start();
        ["class ", "namespace ", "template <", "template<", "public:"]
            .iter()
            .any(|word| line.starts_with(word))
    };
    code.lines().any(begins)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_document_is_one_block_of_code_or_code_alone() {
        assert_eq!(fenced("```c\nint a;\n```\n"), Some(("c", 5..12)));
        assert_eq!(fenced("````rust\n/// ```\n````\n"), Some(("rust", 9..17)));
        assert_eq!(fenced("int a;\n"), Some(("", 0..7)));
        assert_eq!(fenced("```c\nint a;\n```\n\ntext\n\n```c\n```\n"), None);
        assert_eq!(fenced("```c\nint a;\n"), None);
    }

    #[test]
    fn lines_are_counted_from_one() {
        let source = Source::new("a\n\nbc\nd", 0, Language::C);
        let lines = [0, 1, 2, 3, 4, 5, 6].map(|at| source.line(at));
        assert_eq!(lines, [1, 1, 2, 3, 3, 3, 4]);
        assert_eq!(source.line_start(4), 3);
        assert_eq!(source.line_end(3), 6);
        assert_eq!(source.line_end(6), 7);
        assert_eq!(source.lines(&(1..6)), (3, 3));
    }
}
