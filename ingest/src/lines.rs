//! Walking through Markdown line by line with an eye on fenced code, for converters and cleaners that must not touch code.

/// Follows code fences from line to line.
#[derive(Clone, Debug, Default)]
pub struct Fences {
    open: Option<(char, usize)>,
}

impl Fences {
    /// Whether this line, the next one of the text, is code: inside a fence or the fence itself.
    ///
    /// Fences inside lists and quotes count too, so indentation, quote marks and list marks before them are passed over.
    pub fn is_code(&mut self, line: &str) -> bool {
        let content = line.trim_start_matches([' ', '\t', '>']).trim_end();
        match self.open {
            Some((mark, length)) => {
                let run = run_of(content, mark);
                if run >= length && content.chars().count() == run {
                    self.open = None;
                }
                true
            }
            None => {
                let content = after_list_marks(content);
                let Some(mark) = content.chars().next().filter(|mark| matches!(mark, '`' | '~')) else { return false };
                let run = run_of(content, mark);
                // A backtick after the fence makes it inline code, as in "```x```".
                let opens = run >= 3 && !(mark == '`' && content.chars().skip(run).any(|character| character == '`'));
                if opens {
                    self.open = Some((mark, run));
                }
                opens
            }
        }
    }
}

fn run_of(text: &str, mark: char) -> usize {
    text.chars().take_while(|character| *character == mark).count()
}

/// Text after `- `, `* `, `+ `, `1. ` at its start, a few times.
fn after_list_marks(text: &str) -> &str {
    let mut rest = text;
    for _ in 0..8 {
        let after_bullet = rest.strip_prefix(['-', '*', '+']);
        let after_number = rest.trim_start_matches(|character: char| character.is_ascii_digit()).strip_prefix(['.', ')']);
        let numbered = after_number.filter(|_| rest.starts_with(|character: char| character.is_ascii_digit()));
        match after_bullet.or(numbered).and_then(|after| after.strip_prefix(' ')) {
            Some(after) => rest = after.trim_start(),
            None => break,
        }
    }
    rest
}

/// Rewrites every line that is not code. Lines come without their `\n`; `None` drops the line.
pub fn map_text_lines(markdown: &str, mut rewrite: impl FnMut(&str) -> Option<String>) -> String {
    let mut fences = Fences::default();
    let mut result = String::with_capacity(markdown.len());
    for line in markdown.split_inclusive('\n') {
        if fences.is_code(line) {
            result.push_str(line);
            continue;
        }
        let (text, end) = line.strip_suffix('\n').map_or((line, ""), |text| (text, "\n"));
        if let Some(changed) = rewrite(text) {
            result.push_str(&changed);
            result.push_str(end);
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_lines(text: &str) -> Vec<bool> {
        let mut fences = Fences::default();
        text.lines().map(|line| fences.is_code(line)).collect()
    }

    #[test]
    fn fences_open_and_close_as_in_commonmark() {
        assert_eq!(code_lines("a\n```c\nx\n```\nb"), [false, true, true, true, false]);
        assert_eq!(code_lines("````\n```\n````\nb"), [true, true, true, false]);
        assert_eq!(code_lines("~~~\n```\n~~~\nb"), [true, true, true, false]);
        assert_eq!(code_lines("- ```\n  x\n  ```\nb"), [true, true, true, false]);
        assert_eq!(code_lines("> ```\n> x\n> ```\nb"), [true, true, true, false]);
        assert_eq!(code_lines("1. ```\n   x\n   ```\nb"), [true, true, true, false]);
        assert_eq!(code_lines("```x``` inline\nb"), [false, false]);
        assert_eq!(code_lines("``` js\n```not the end\n```"), [true, true, true]);
    }

    #[test]
    fn only_text_lines_are_rewritten() {
        let upper = map_text_lines("a\n```\nb\n```\nc", |line| Some(line.to_uppercase()));
        assert_eq!(upper, "A\n```\nb\n```\nC");
        assert_eq!(map_text_lines("a\nb\n", |line| (line != "a").then(|| line.to_owned())), "b\n");
    }
}
