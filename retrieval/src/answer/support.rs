//! Whether the sources of an answer state what it says. A statement is held against the sources that
//! it cites or, where it cites none, against the one that has most of its words:
//!
//! coverage = share of its content words that stand in them; supported if the coverage reaches a
//! minimum, every number stands in them, and it denies if and only if the sentence that is most like
//! it does. This finds invented names, figures and reversals, not wrong conclusions.

use tributary_schemas::ask::{Doubt, Source, Span, Support};
use tributary_taxonomy::Analyzer;

use super::statements::{Statement, statements};
use super::words::Words;

/// Coverage of a statement by one sentence from which both are taken to say the same, so that a
/// negation in one of them counts.
const SAME_SENTENCE: f32 = 0.7;
/// Least coverage of a statement by a sentence that is marked in the source.
const MARKED_SENTENCE: f32 = 0.4;

/// A source as its sentences.
struct Read {
    number: u32,
    whole: Words,
    sentences: Vec<(Statement, Words)>,
}

/// What an answer says, held against its sources.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Supported {
    /// Its statements.
    pub support: Vec<Support>,
    /// What supports them: numbers of sources with parts of their texts, in order.
    pub marks: Vec<(u32, Span)>,
}

/// Holds an answer against its sources. CPU-bound: some milliseconds.
pub fn support(
    answer: &str,
    sources: &[Source],
    minimum_coverage: f32,
    analyzer: &Analyzer,
) -> Supported {
    let read: Vec<Read> = sources
        .iter()
        .map(|source| read(source, analyzer))
        .collect();
    let mut supported = Supported::default();
    for statement in statements(answer) {
        let words = Words::of(&statement.text, analyzer);
        if words.content.is_empty() {
            continue;
        }
        let judged = judge(&statement, &words, &read, minimum_coverage);
        if judged.supported {
            let marks = marks(&judged, &words, &read);
            supported.marks.extend(marks);
        }
        supported.support.push(judged);
    }
    supported
        .marks
        .sort_by_key(|(number, span)| (*number, span.start));
    supported.marks.dedup();
    supported
}

fn read(source: &Source, analyzer: &Analyzer) -> Read {
    let of_sentence = |statement: Statement| {
        let words = Words::of(&statement.text, analyzer);
        (statement, words)
    };
    let place = format!("{}\n{}", source.title, source.section_path.join("\n"));
    Read {
        number: source.number,
        whole: Words::of(&format!("{place}\n{}", source.text), analyzer),
        sentences: statements(&source.text)
            .into_iter()
            .map(of_sentence)
            .collect(),
    }
}

fn judge(statement: &Statement, words: &Words, sources: &[Read], minimum: f32) -> Support {
    let is_cited = |source: &&Read| statement.citations.contains(&source.number);
    let cited: Vec<&Read> = sources.iter().filter(is_cited).collect();
    let held_against = match cited.is_empty() {
        true => best(words, sources).into_iter().collect(),
        false => cited,
    };
    let wholes = held_against.iter().map(|source| &source.whole);
    let coverage = words.coverage_by(wholes.clone());
    let doubt = if coverage < minimum {
        Some(if statement.citations.is_empty() {
            Doubt::NoCitation
        } else {
            Doubt::FewWords
        })
    } else if words.number_missing_in(wholes).is_some() {
        Some(Doubt::Number)
    } else if is_reversed(words, &held_against) {
        Some(Doubt::Negation)
    } else {
        None
    };
    Support {
        span: statement.span,
        citations: held_against.iter().map(|source| source.number).collect(),
        supported: doubt.is_none(),
        coverage,
        doubt,
    }
}

/// The source that has most of the words; the first of several.
fn best<'a>(words: &Words, sources: &'a [Read]) -> Option<&'a Read> {
    let mut best: Option<(&Read, f32)> = None;
    for source in sources {
        let coverage = words.coverage_by([&source.whole]);
        if best.is_none_or(|(_, highest)| coverage > highest) {
            best = Some((source, coverage));
        }
    }
    best.map(|(source, _)| source)
}

/// Whether all sentences that say the same but for a negation differ in it.
fn is_reversed(words: &Words, sources: &[&Read]) -> bool {
    let sentences = sources.iter().flat_map(|source| &source.sentences);
    let mut same = sentences
        .filter(|(_, sentence)| words.coverage_by([sentence]) >= SAME_SENTENCE)
        .peekable();
    same.peek().is_some() && same.all(|(_, sentence)| sentence.denies != words.denies)
}

/// In each source the sentence that is most like the statement.
fn marks(judged: &Support, words: &Words, sources: &[Read]) -> Vec<(u32, Span)> {
    let is_held = |source: &&Read| judged.citations.contains(&source.number);
    let mark = |source: &Read| {
        let mut best: Option<(Span, f32)> = None;
        for (statement, sentence) in &source.sentences {
            let coverage = words.coverage_by([sentence]);
            let is_better = best.is_none_or(|(_, highest)| coverage > highest);
            if coverage >= MARKED_SENTENCE && is_better {
                best = Some((statement.span, coverage));
            }
        }
        best.map(|(span, _)| (source.number, span))
    };
    sources.iter().filter(is_held).filter_map(mark).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::answer::tests::{analyzer, source};

    fn doubts(answer: &str) -> Vec<Option<Doubt>> {
        let sources = [
            source(
                1,
                "随机接入过程有两种。基于竞争的随机接入有四个步骤，定时器为 T300。该过程不支持并发。",
            ),
            source(
                2,
                "The tilt of the antenna is 6 degrees. It is checked every month.",
            ),
        ];
        let analyzer = analyzer();
        let supported = support(answer, &sources, 0.6, &analyzer);
        supported.support.iter().map(|one| one.doubt).collect()
    }

    #[test]
    fn what_the_sources_do_not_state_is_told() {
        let table = [
            ("基于竞争的随机接入有四个步骤[1]。", vec![None]),
            ("基于竞争的随机接入有4个步骤[1]。", vec![None]),
            (
                "基于竞争的随机接入有 5 个步骤[1]。",
                vec![Some(Doubt::Number)],
            ),
            ("该过程支持并发[1]。", vec![Some(Doubt::Negation)]),
            ("载波聚合提高吞吐量[1]。", vec![Some(Doubt::FewWords)]),
            ("载波聚合提高吞吐量。", vec![Some(Doubt::NoCitation)]),
            ("The tilt of the antenna is 6 degrees [2].", vec![None]),
            (
                "The tilt of the antenna is 8 degrees [2].",
                vec![Some(Doubt::Number)],
            ),
            (
                "The antenna is not checked every month [2].",
                vec![Some(Doubt::Negation)],
            ),
            ("The tilt is 6 degrees [1].", vec![Some(Doubt::FewWords)]),
            ("```\nno statement\n```", vec![]),
        ];
        for (answer, expected) in table {
            assert_eq!(doubts(answer), expected, "{answer}");
        }
    }

    #[test]
    fn without_a_citation_the_source_that_states_it_is_named_and_marked() {
        let sources = [
            source(1, "Nothing of it."),
            source(2, "A beam. The tilt is 6 degrees."),
        ];
        let found = support("The tilt is 6 degrees.", &sources, 0.6, &analyzer());
        assert_eq!(found.support[0].citations, [2]);
        assert!(found.support[0].supported);
        assert_eq!(found.marks, [(2, Span { start: 8, end: 30 })]);
    }
}
