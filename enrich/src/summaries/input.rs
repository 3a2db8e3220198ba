//! What a model is shown of a section.

use std::collections::HashMap;
use std::ops::Range;

use tributary_models::TokenCounter;

use super::WantedSummary;
use crate::chunkers::count;
use crate::writing::{LEFT_OUT, beginning};

/// A section below gets its title alone when there is room for no more tokens than these.
const LEAST_TOKENS: usize = 24;

/// The section whole if it has at most `limit` tokens. Else its own text and each section below:
/// by its summary if it has one (`made`, by where the section begins), or by its beginning; all of
/// them get the same share of the room, and what one leaves over goes to those after it.
pub(super) fn section_text(
    markdown: &str,
    wanted: &WantedSummary,
    made: &HashMap<usize, String>,
    limit: usize,
    tokens: &dyn TokenCounter,
) -> String {
    let text = |range: &Range<usize>| markdown.get(range.clone()).unwrap_or_default().trim();
    let whole = text(&wanted.range);
    if count(tokens, whole) <= limit {
        return whole.to_owned();
    }
    let own = beginning(text(&wanted.own), limit / 2, tokens);
    let mut left = limit.saturating_sub(count(tokens, &own));
    let mut parts = vec![own];
    for (at, child) in wanted.children.iter().enumerate() {
        let share = left / (wanted.children.len() - at);
        let shown = match made.get(&child.range.start) {
            _ if share < LEAST_TOKENS => format!("## {}", child.title),
            Some(summary) => format!(
                "## {}\n\n{}",
                child.title,
                beginning(summary, share, tokens)
            ),
            None => beginning(text(&child.range), share, tokens),
        };
        let needed = count(tokens, &shown);
        if needed > left {
            parts.push(LEFT_OUT.trim().to_owned());
            break;
        }
        left -= needed;
        parts.push(shown);
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::super::Child;
    use super::*;

    struct Characters;
    impl TokenCounter for Characters {
        fn count(&self, text: &str) -> usize {
            text.chars().count()
        }
    }

    fn wanted(markdown: &str, own: &str, children: &[&str]) -> WantedSummary {
        let range = |part: &str| {
            let start = markdown.find(part).unwrap_or_default();
            start..start + part.len()
        };
        WantedSummary {
            document_title: "Handbook".to_owned(),
            section_path: vec!["Radio".to_owned()],
            heading: String::new(),
            limit_tokens: 100,
            extractive: String::new(),
            range: 0..markdown.len(),
            own: range(own),
            children: children
                .iter()
                .map(|child| Child {
                    title: child.chars().skip(3).take(1).collect(),
                    range: range(child),
                })
                .collect(),
        }
    }

    #[test]
    fn what_fits_is_shown_whole() {
        let markdown = "# 手册\n\n话\n\n## A\n\na\n";
        let wanted = wanted(markdown, "# 手册\n\n话", &["## A\n\na"]);
        let shown = section_text(markdown, &wanted, &HashMap::new(), 100, &Characters);
        assert_eq!(shown, markdown.trim());
    }

    #[test]
    fn what_does_not_fit_is_shown_by_summaries_and_beginnings() {
        let (first, second) = (
            format!("## A\n\n{}", "词".repeat(5000)),
            format!("## B\n\n{}", "word ".repeat(900)),
        );
        let markdown = format!("# R\n\nOwn.\n\n{first}\n\n{second}\n");
        let wanted = wanted(&markdown, "# R\n\nOwn.", &[&first, &second]);
        let made = HashMap::from([(wanted.children[0].range.start, "Of A.".to_owned())]);
        let shown = section_text(&markdown, &wanted, &made, 400, &Characters);
        assert!(
            shown.starts_with("# R\n\nOwn.\n\n## A\n\nOf A.\n\n## B\n\nword word"),
            "{shown}"
        );
        assert!(
            shown.ends_with(" …") && shown.chars().count() <= 420,
            "{shown}"
        );
        // What a word of the part that is left out is, does not matter.
        let other = markdown.replace("词词", "语词");
        assert_eq!(
            section_text(&other, &wanted, &made, 400, &Characters),
            shown
        );
    }

    #[test]
    fn many_sections_are_named() {
        let children: Vec<String> = (0..300)
            .map(|at| format!("## {at}\n\nx y z {at}"))
            .collect();
        let markdown = format!("# R\n\n{}", children.join("\n\n"));
        let names: Vec<&str> = children.iter().map(String::as_str).collect();
        let wanted = wanted(&markdown, "# R", &names);
        let shown = section_text(&markdown, &wanted, &HashMap::new(), 500, &Characters);
        assert!(
            shown.chars().count() <= 1200 && shown.ends_with('…'),
            "{shown}"
        );
    }
}
