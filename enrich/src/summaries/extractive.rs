//! Summaries without a language model: first sentences and the titles below; deterministic, in the
//! language of the text.

use tributary_models::TokenCounter;
use tributary_taxonomy::sentences::sentence_ends;

/// Name and version; part of what decides whether chunks are made anew.
pub const NAME: &str = "extractive/1";

/// What a section's summary is made of.
#[derive(Clone, Debug)]
pub struct Extract {
    /// Its first paragraph before any heading below it, as plain text; may be empty.
    pub lead: String,
    /// The sections directly below it: title and first paragraph as plain text; as many as can
    /// matter.
    pub children: Vec<(String, String)>,
    /// Tokens at most.
    pub limit_tokens: usize,
}

/// Lead sentences in half of the budget, then one line per child: with its first sentence while
/// they all fit, else titles only. Markdown.
pub fn summary(extract: &Extract, tokens: &dyn TokenCounter) -> String {
    let lead = lead_sentences(&extract.lead, extract.limit_tokens / 2, tokens);
    let left = extract.limit_tokens.saturating_sub(tokens.count(&lead));
    let lines = |with_lead: bool| {
        extract
            .children
            .iter()
            .map(move |(title, lead)| child_line(title, lead, with_lead))
    };
    let full: Vec<String> = lines(true).collect();
    let full_tokens: usize = full
        .iter()
        .take(left + 1)
        .map(|line| tokens.count(line))
        .sum();
    let lines = if full_tokens <= left {
        full
    } else {
        lines(false).collect()
    };
    let listed = fitting(lines, left, tokens);
    let parts: Vec<String> = [lead, listed]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect();
    parts.join("\n\n")
}

fn lead_sentences(text: &str, limit: usize, tokens: &dyn TokenCounter) -> String {
    let mut end = 0;
    let mut left = limit;
    for sentence_end in sentence_ends(text, &[]) {
        let needed = tokens.count(text.get(end..sentence_end).unwrap_or_default());
        if needed > left {
            break;
        }
        left -= needed;
        end = sentence_end;
    }
    text.get(..end).unwrap_or_default().trim().to_owned()
}

fn child_line(title: &str, lead: &str, with_lead: bool) -> String {
    let first = sentence_ends(lead, &[])
        .first()
        .and_then(|end| lead.get(..*end))
        .unwrap_or_default()
        .trim();
    match (title.is_empty(), with_lead && !first.is_empty()) {
        (false, true) => format!("- {title}: {first}"),
        (false, false) => format!("- {title}"),
        (true, _) => String::new(),
    }
}

/// As many lines as fit; the last one says that there are more.
fn fitting(lines: Vec<String>, limit: usize, tokens: &dyn TokenCounter) -> String {
    let mut left = limit;
    let mut kept: Vec<String> = Vec::new();
    for line in lines.into_iter().filter(|line| !line.is_empty()) {
        let needed = tokens.count(&line) + 1;
        if needed > left {
            kept.push("- …".to_owned());
            break;
        }
        left -= needed;
        kept.push(line);
    }
    kept.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Characters;
    impl TokenCounter for Characters {
        fn count(&self, text: &str) -> usize {
            text.chars().count()
        }
    }

    fn extract(limit_tokens: usize) -> Extract {
        Extract {
            lead: "第一句。Second one. 第三句很长很长。".into(),
            children: vec![
                ("概念".to_owned(), "CA 把载波合起来。更多。".to_owned()),
                ("Limits".to_owned(), "At most 16. More.".to_owned()),
            ],
            limit_tokens,
        }
    }

    #[test]
    fn lead_sentences_and_children_within_the_budget() {
        assert_eq!(
            summary(&extract(200), &Characters),
            "第一句。Second one. 第三句很长很长。\n\n- 概念: CA 把载波合起来。\n- Limits: At most 16."
        );
        assert_eq!(
            summary(&extract(40), &Characters),
            "第一句。Second one.\n\n- 概念\n- Limits"
        );
        assert_eq!(
            summary(&extract(16), &Characters),
            "第一句。\n\n- 概念\n- …"
        );
    }
}
