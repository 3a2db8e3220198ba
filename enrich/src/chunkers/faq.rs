//! Files of questions: each question with its answer is a chunk, found by its question as title. A
//! question is a heading or a paragraph that says so (`Q:`, `问：`, `1. Why …?`); its answer is all up
//! to the next one.

use std::ops::Range;

use tributary_models::TokenCounter;
use tributary_schemas::{ChunkKind, CleanDocument};

use super::Cut;
use super::parts::{Part, Parts};
use crate::config::ChunkerConfig;
use crate::markdown::{Block, BlockKind, Outline};
use crate::plain::plain_line;

/// Grows with every change of the code that changes what this strategy gives.
pub(super) const CODE_VERSION: u32 = 1;

/// Fewer questions make no such file.
const LEAST_QUESTIONS: usize = 2;
/// Longest question, in characters: what is longer is a paragraph that happens to end in one.
const LONGEST_QUESTION: usize = 300;

/// Cuts a file; `None` if it has no questions.
pub(super) fn chunk(
    clean: &CleanDocument,
    config: &ChunkerConfig,
    tokens: &dyn TokenCounter,
) -> Option<Cut> {
    let outline = Outline::parse(&clean.markdown);
    let questions = questions(&outline);
    if questions.len() < LEAST_QUESTIONS {
        return None;
    }
    let mut parts = Parts::new(clean, &outline, config, tokens);
    let mut open = 0;
    for (at, question) in questions.iter().enumerate() {
        // Titles right above a question go with it; all else before it is none of it.
        let start = after_text(&outline, open..question.block);
        let path = parts.path(section_at(&outline, open));
        parts.push(Part::of(open..start, path, None));
        let next = questions.get(at + 1);
        let next = next.map_or(outline.blocks.len(), |next| next.block);
        open = next.min(question.end);
        let path = question.path(&parts);
        parts.push(Part {
            kind: ChunkKind::Faq,
            limit_tokens: config.section_limit_tokens,
            ..Part::of(start..open, path, None)
        });
    }
    let path = parts.path(section_at(&outline, open));
    parts.push(Part::of(open..outline.blocks.len(), path, None));
    Some(parts.finish())
}

struct Question {
    block: usize,
    /// The section that it stands in, or that it begins.
    section: usize,
    is_heading: bool,
    /// Block after the last that its answer may have.
    end: usize,
    text: String,
}

impl Question {
    /// Titles above it, and itself.
    fn path(&self, parts: &Parts<'_>) -> Vec<String> {
        let mut path = parts.path(self.section);
        if self.is_heading {
            path.pop();
        }
        path.push(self.text.clone());
        path
    }
}

/// The section that a block stands in.
fn section_at(outline: &Outline<'_>, block: usize) -> usize {
    let sections = outline.sections.iter();
    let holds = |section: &crate::markdown::Section| section.own_blocks.contains(&block);
    sections
        .enumerate()
        .find(|(_, section)| holds(section))
        .map_or(0, |(at, _)| at)
}

/// Where the headings begin that a run of blocks ends with.
fn after_text(outline: &Outline<'_>, blocks: Range<usize>) -> usize {
    let run = outline.blocks.get(blocks.clone()).unwrap_or_default();
    let is_heading = |block: &&Block| matches!(block.kind, BlockKind::Heading(_));
    blocks.end - run.iter().rev().take_while(is_heading).count()
}

/// All questions: headings if any is one, so that a question in an answer is none; else paragraphs.
fn questions(outline: &Outline<'_>) -> Vec<Question> {
    let of_section = |(section, one): (usize, &crate::markdown::Section)| {
        let found = |at: usize| {
            let block = outline.blocks.get(at)?;
            let is_heading = matches!(block.kind, BlockKind::Heading(_));
            Some(Question {
                block: at,
                section,
                is_heading,
                end: match is_heading {
                    true => one.blocks.end,
                    false => outline.blocks.len(),
                },
                text: question(outline, block)?,
            })
        };
        one.own_blocks.clone().filter_map(found).collect::<Vec<_>>()
    };
    let mut all: Vec<Question> = outline
        .sections
        .iter()
        .enumerate()
        .flat_map(of_section)
        .collect();
    if all.iter().filter(|question| question.is_heading).count() >= LEAST_QUESTIONS {
        all.retain(|question| question.is_heading);
    }
    all
}

/// The question that a block asks, without marks.
fn question(outline: &Outline<'_>, block: &Block) -> Option<String> {
    let text = outline.text(block.range.clone()).trim();
    let (text, is_heading) = match block.kind {
        BlockKind::Heading(_) => (text.trim_start_matches('#').trim(), true),
        BlockKind::Text => (text, false),
        _ => return None,
    };
    let is_bold = text.starts_with("**");
    let line = plain_line(text.lines().next().unwrap_or_default());
    let line = line.trim();
    if line.chars().count() > LONGEST_QUESTION {
        return None;
    }
    match (labelled(line), is_heading || is_bold) {
        (Some(asked), _) => Some(asked.to_owned()),
        (None, true) => line
            .ends_with(['?', '？'])
            .then(|| without_number(line).to_owned()),
        (None, false) => None,
    }
    .filter(|asked| !asked.is_empty())
}

/// What follows `Q:`, `Q3.`, `问题 2：` and the like.
fn labelled(line: &str) -> Option<&str> {
    let line = without_number(line);
    for label in ["Question", "question", "Q", "q", "问题", "问"] {
        let Some(rest) = line.strip_prefix(label) else {
            continue;
        };
        let rest = rest.trim_start();
        let rest = rest
            .trim_start_matches(|sign: char| sign.is_ascii_digit())
            .trim_start();
        if let Some(asked) = rest.strip_prefix([':', '：', '.', '、', '．']) {
            return Some(asked.trim());
        }
    }
    None
}

/// Without the number of a list before it.
fn without_number(line: &str) -> &str {
    let rest = line.trim_start_matches(|sign: char| sign.is_ascii_digit());
    match rest.strip_prefix(['.', '、', ')', '）', '．']) {
        Some(rest)
            if rest.len() < line.len() && line.starts_with(|sign: char| sign.is_ascii_digit()) =>
        {
            rest.trim_start()
        }
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(markdown: &str) -> Vec<String> {
        let outline = Outline::parse(markdown);
        let questions = questions(&outline);
        questions
            .into_iter()
            .map(|question| question.text)
            .collect()
    }

    #[test]
    fn questions_are_known_in_the_shapes_of_real_files() {
        for (markdown, expected) in [
            (
                "## Q: 怎么办？\n\nA: 这样。\n\n## Q: 为何？\n\nA: 因为。\n",
                vec!["怎么办？", "为何？"],
            ),
            (
                "**Q1. Why?**\n\nA1. So.\n\n**Q2. How?**\n\nSo.\n",
                vec!["Why?", "How?"],
            ),
            (
                "问：怎么装？\n\n答：用 pip。\n\n问：失败了？\n\n答：再来。\n",
                vec!["怎么装？", "失败了？"],
            ),
            (
                "### 1. What is it?\n\nThis.\n\n### 2. Who?\n\nI.\n",
                vec!["What is it?", "Who?"],
            ),
        ] {
            assert_eq!(asked(markdown), expected, "{markdown}");
        }
    }

    #[test]
    fn a_question_in_an_answer_is_none() {
        let markdown =
            "## Q: One?\n\nA: **Is it so?** Yes.\n\nQ: no heading\n\n## Q: Two?\n\nA: No.\n";
        assert_eq!(asked(markdown), ["One?", "Two?"]);
        assert!(asked("# Guide\n\nWhat is it? A thing.\n\nQuality: high.\n").is_empty());
    }
}
