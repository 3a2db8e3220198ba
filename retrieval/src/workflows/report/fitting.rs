//! Fits the text of a section into the report: code that a model left open, or that a limit cut off,
//! would swallow all that stands behind it, and a heading above the section's own would end it.

/// Headings within a section stand below its own.
const LEVEL: usize = 3;

/// The text with its blocks of code closed and its headings below that of the section.
pub fn fitted(text: &str) -> String {
    let mut fitted = String::with_capacity(text.len());
    let mut open: Option<&str> = None;
    for line in text.trim_end().lines() {
        let fence = fence(line);
        match (open, fence) {
            (Some(begun), Some(fence)) if closes(line, fence, begun) => open = None,
            (None, Some(fence)) => open = Some(fence),
            _ => {}
        }
        if open.is_none() && fence.is_none() {
            fitted.push_str(&"#".repeat(missing_levels(line)));
        }
        fitted.push_str(line);
        fitted.push('\n');
    }
    if let Some(fence) = open {
        fitted.push_str(fence);
        fitted.push('\n');
    }
    fitted
}

/// The mark at the beginning of a line that opens or closes a block of code.
fn fence(line: &str) -> Option<&str> {
    let trimmed = line.trim_start();
    let mark = trimmed.chars().next().filter(|mark| "`~".contains(*mark))?;
    let length = trimmed.len() - trimmed.trim_start_matches(mark).len();
    let is_fence = length >= 3 && line.len() - trimmed.len() <= 3;
    trimmed.get(..length).filter(|_| is_fence)
}

fn closes(line: &str, fence: &str, begun: &str) -> bool {
    fence.starts_with(begun) && line.trim() == fence
}

/// How many marks a heading lacks.
fn missing_levels(line: &str) -> usize {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    match rest.starts_with(' ') {
        true if (1..LEVEL).contains(&level) => LEVEL - level,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_section_reaches_beyond_it() {
        let table = [
            ("Plain [1].\n", "Plain [1].\n"),
            (
                "# Big\n\n## Less\n#no heading\n",
                "### Big\n\n### Less\n#no heading\n",
            ),
            (
                "So:\n```rust\n# not a heading",
                "So:\n```rust\n# not a heading\n```\n",
            ),
            ("~~~~\n```\n~~~\n", "~~~~\n```\n~~~\n~~~~\n"),
            ("```\na\n```\n# After", "```\na\n```\n### After\n"),
            ("    ```\nindented", "    ```\nindented\n"),
        ];
        for (text, expected) in table {
            assert_eq!(fitted(text), expected, "{text}");
        }
    }
}
