//! Patches within the text of mails, as `diff -u` and Git write them.

use super::plain::Line;

/// What lines of a patch that are no part of a hunk begin with.
const HEADERS: [&str; 15] = [
    "diff ",
    "index ",
    "Index: ",
    "=====",
    "--- ",
    "+++ ",
    "old mode ",
    "new mode ",
    "new file mode ",
    "deleted file mode ",
    "similarity index ",
    "dissimilarity index ",
    "rename ",
    "copy ",
    "Binary files ",
];

/// Most lines of the header of a file.
const MAXIMUM_HEADERS: usize = 12;

/// How many of the lines, from the first one on, are a patch; none of them if they begin with none.
pub(super) fn length(lines: &[Line]) -> usize {
    let quotes = lines.first().map_or(0, |line| line.quotes);
    let own = lines.iter().take_while(|line| line.quotes == quotes);
    let mut rest = own.map(|line| line.text.trim_end_matches('\r')).peekable();
    let starts = |text: &&str| {
        ["diff ", "Index: ", "--- "]
            .iter()
            .any(|start| text.starts_with(start))
    };
    if !rest.peek().is_some_and(starts) {
        return 0;
    }
    let (mut read, mut length, mut headers) = (0, 0, 0);
    while let Some(text) = rest.next() {
        read += 1;
        if let Some(hunk) = Hunk::of(text) {
            read += hunk.length(&mut rest);
            (length, headers) = (read, 0);
        } else if is_header(text) && headers < MAXIMUM_HEADERS {
            headers += 1;
        } else {
            break;
        }
    }
    let found = lines.get(..length).unwrap_or_default();
    let is_blank = |line: &&Line| line.text.trim_end_matches('\r').is_empty();
    length - found.iter().rev().take_while(is_blank).count()
}

fn is_header(text: &str) -> bool {
    HEADERS.iter().any(|header| text.starts_with(header))
}

/// Lines that a part of a patch has of the old and of the new text.
struct Hunk {
    old: usize,
    new: usize,
}

impl Hunk {
    /// `@@ -10,7 +10,7 @@`, with or without the function behind it.
    fn of(text: &str) -> Option<Self> {
        let (ranges, _) = text.strip_prefix("@@ -")?.split_once(" @@")?;
        let (old, new) = ranges.split_once(" +")?;
        let lines = |range: &str| match range.split_once(',') {
            Some((_, lines)) => lines.parse().ok(),
            None => range.parse::<usize>().is_ok().then_some(1),
        };
        Some(Self {
            old: lines(old)?,
            new: lines(new)?,
        })
    }

    /// Takes its lines and returns how many there are. It ends early where one is none: replies leave
    /// lines out, and programs break long ones.
    fn length<'a>(&self, lines: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) -> usize {
        let (mut old, mut new, mut length) = (self.old, self.new, 0);
        while let Some(text) = lines.peek() {
            let [of_old, of_new] = match text.chars().next() {
                Some('\\') => [0, 0],
                _ if (old, new) == (0, 0) => break,
                // Programs drop the blank of an empty line.
                Some(' ' | '\t') | None => [1, 1],
                Some('-') => [1, 0],
                Some('+') => [0, 1],
                _ => break,
            };
            (old, new) = (old.saturating_sub(of_old), new.saturating_sub(of_new));
            length += 1;
            lines.next();
        }
        length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length_of(text: &str) -> usize {
        let line = |text| Line { quotes: 0, text };
        length(&text.split('\n').map(line).collect::<Vec<_>>())
    }

    #[test]
    fn a_patch_is_as_long_as_its_hunks_say() {
        let one = "--- a\n+++ b\n@@ -1,2 +1 @@\n-x\n y\n";
        assert_eq!(length_of(&format!("{one}- an item\n")), 5);
        assert_eq!(
            length_of(&format!("{one}\\ No newline at end of file\n\nBye")),
            6
        );
        assert_eq!(length_of(&format!("{one}@@ -9 +9 @@ f()\n-a\n+b\n- c")), 8);
        assert_eq!(
            length_of(&format!(
                "{one}Index: b\n=====\n--- b\n+++ b\n@@ -0,0 +1 @@\n+n\n-- "
            )),
            11
        );
        // Cut short by a reply, or by who wrote it.
        assert_eq!(length_of("diff a b\n@@ -1,9 +1,9 @@\n x\n\nBye"), 3);
        assert_eq!(length_of("diff a b\n@@ -1,9 +1,9 @@\n x\nWhy?"), 3);
    }

    #[test]
    fn counts_beyond_the_text_end_with_it() {
        let most = usize::MAX;
        let text = format!("--- a\n+++ b\n@@ -1,{most} +1,{most} @@\n x\n-y");
        assert_eq!(length_of(&text), 5);
        assert_eq!(length_of("--- a\n@@ -1,99999999999999999999 +1 @@\n-x"), 0);
    }

    #[test]
    fn other_lines_are_none() {
        for text in [
            "--- ",
            "--- a\ntext",
            "diff a b\nis what I ran",
            "@@ -1 +1 @@\n-a\n+b",
            "- a\n+ b",
            "",
        ] {
            assert_eq!(length_of(text), 0, "{text}");
        }
    }
}
