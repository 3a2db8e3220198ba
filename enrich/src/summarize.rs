//! Summaries of sections that are too long to be chunks. A [`Summarizer`] is asked while a document
//! is cut, on a blocking thread that holds a permit for a core: it neither waits nor fails, as
//! [`ExtractiveSummarizer`] does. A language model does both, so it does not belong behind this
//! trait: the stage asks it, before or after cutting, for what a [`SummaryRequest`] says, and what
//! it gives is marked as made by it.

use tributary_models::TokenCounter;

use crate::sentences::sentence_ends;

/// A section to be summarised.
#[derive(Clone, Debug)]
pub struct SummaryRequest<'a> {
    /// Title of the document.
    pub document_title: &'a str,
    /// Titles down to the section itself.
    pub section_path: &'a [String],
    /// The section's whole text as Markdown, for a language model.
    pub text: &'a str,
    /// Its first paragraph before any heading below it, as plain text; may be empty.
    pub lead: String,
    /// The sections directly below it: title and first paragraph as plain text; as many as can
    /// matter.
    pub children: Vec<(String, String)>,
    /// Tokens at most.
    pub limit_tokens: usize,
}

/// A summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Markdown, at most the tokens asked for.
    pub text: String,
    /// Made in a lesser way than configured, as when a language model is away.
    pub degraded: bool,
}

/// Makes summaries from the text alone, without waiting for anything.
pub trait Summarizer: Send + Sync {
    /// Name and version; part of what decides whether chunks are made anew.
    fn name(&self) -> &str;

    /// Summarises one section.
    fn summarize(&self, request: &SummaryRequest<'_>, tokens: &dyn TokenCounter) -> Summary;
}

/// First sentences and the titles below; deterministic, in the language of the text.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExtractiveSummarizer;

impl Summarizer for ExtractiveSummarizer {
    fn name(&self) -> &str {
        "extractive/1"
    }

    /// Lead sentences in half of the budget, then one line per child: with its first sentence while
    /// they all fit, else titles only.
    fn summarize(&self, request: &SummaryRequest<'_>, tokens: &dyn TokenCounter) -> Summary {
        let lead = lead_sentences(&request.lead, request.limit_tokens / 2, tokens);
        let left = request.limit_tokens.saturating_sub(tokens.count(&lead));
        let lines = |with_lead: bool| {
            request
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
        Summary {
            text: parts.join("\n\n"),
            degraded: false,
        }
    }
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

    fn request(limit_tokens: usize) -> SummaryRequest<'static> {
        let children = vec![
            ("概念".to_owned(), "CA 把载波合起来。更多。".to_owned()),
            ("Limits".to_owned(), "At most 16. More.".to_owned()),
        ];
        SummaryRequest {
            document_title: "手册",
            section_path: &[],
            text: "",
            lead: "第一句。Second one. 第三句很长很长。".into(),
            children,
            limit_tokens,
        }
    }

    #[test]
    fn lead_sentences_and_children_within_the_budget() {
        let all = ExtractiveSummarizer.summarize(&request(200), &Characters);
        assert_eq!(
            all.text,
            "第一句。Second one. 第三句很长很长。\n\n- 概念: CA 把载波合起来。\n- Limits: At most 16."
        );
        assert!(!all.degraded, "it is what is configured");
        let short = ExtractiveSummarizer.summarize(&request(40), &Characters);
        assert_eq!(short.text, "第一句。Second one.\n\n- 概念\n- Limits");
        let tiny = ExtractiveSummarizer.summarize(&request(16), &Characters);
        assert_eq!(tiny.text, "第一句。\n\n- 概念\n- …");
    }
}
