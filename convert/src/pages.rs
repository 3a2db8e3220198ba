//! Where pages, slides and sheets begin. Converters put a form feed before each page but the first;
//! cleaning steps, which work line by line, meet a mark on a line of its own; chunks know their
//! pages by the offsets that are left when the marks are taken out.

/// No text contains it: Unicode keeps it for the inside of programs.
const MARK: char = '\u{FDD0}';

/// Whether the character marks the beginning of a page.
pub fn is_mark(character: char) -> bool {
    character == MARK
}

/// Text with form feeds to text with marks, each a line.
pub fn mark(markdown: &str) -> String {
    let mut marked = String::with_capacity(markdown.len());
    for character in markdown.chars() {
        match character {
            '\u{c}' => {
                if !marked.is_empty() && !marked.ends_with('\n') {
                    marked.push('\n');
                }
                marked.push(MARK);
                marked.push('\n');
            }
            MARK => {}
            other => marked.push(other),
        }
    }
    marked
}

/// Takes the marks out. Returns the text and the byte offsets at which pages 1, 2, … begin; none if
/// there is no mark.
pub fn take_out(marked: &str) -> (String, Vec<u64>) {
    let mut starts = Vec::new();
    let mut text = String::with_capacity(marked.len());
    for part in marked.split(MARK) {
        let part = if starts.is_empty() {
            part
        } else {
            part.strip_prefix('\n').unwrap_or(part)
        };
        starts.push(text.len() as u64);
        text.push_str(part);
    }
    if starts.len() == 1 {
        starts.clear();
    }
    (text, starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_point_at_the_beginnings_of_pages() {
        let (text, starts) = take_out(&mark("# 一\n\ntext\u{c}# Two\n\u{c}\u{c}four\n"));
        assert_eq!(text, "# 一\n\ntext\n# Two\nfour\n");
        let pages: Vec<&str> = starts
            .iter()
            .map(|start| text.get(*start as usize..).unwrap_or_default())
            .collect();
        assert_eq!(
            pages,
            [
                "# 一\n\ntext\n# Two\nfour\n",
                "# Two\nfour\n",
                "four\n",
                "four\n"
            ]
        );
    }

    #[test]
    fn text_without_pages_stays_as_it_is() {
        assert_eq!(take_out(&mark("# a\n\nb")), ("# a\n\nb".to_owned(), vec![]));
        assert_eq!(take_out(&mark("a\u{FDD0}b")), ("ab".to_owned(), vec![]));
    }
}
