//! What was said before the last rounds, as a question is told of it: a model's summary, or
//! extracts where there is none.

use tributary_schemas::ask::Round;

/// Rounds before the last ones that extracts are made of, the newest.
pub const MAXIMUM_EXTRACTED: usize = 10;
/// Characters of a question and of an answer in an extract.
const MAXIMUM_EXTRACT: usize = 120;

/// What was said before the rounds that are known word for word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Earlier {
    /// In short; empty for nothing.
    pub text: String,
    /// Whether some of it is extracts, since no model has summed it up.
    pub has_extracts: bool,
}

impl Earlier {
    /// A summary, and the rounds after it that nobody has summed up, oldest first.
    pub fn new(summary: Option<&str>, rounds: &[Round]) -> Self {
        let from = rounds.len().saturating_sub(MAXIMUM_EXTRACTED);
        let extracts = rounds.iter().skip(from).map(extract);
        let summary = summary.map(|text| text.trim().to_owned());
        let parts: Vec<String> = summary.into_iter().chain(extracts).collect();
        Self {
            text: parts.join("\n"),
            has_extracts: !rounds.is_empty(),
        }
    }
}

/// The question and the first sentence of its answer.
fn extract(round: &Round) -> String {
    let first = round
        .answer
        .split_inclusive(['。', '！', '？', '\n'])
        .next();
    let first = first.unwrap_or_default();
    format!("Q: {}\nA: {}", cut(&round.question), cut(first))
}

fn cut(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut text = words.join(" ");
    tributary_schemas::error::cut(&mut text, MAXIMUM_EXTRACT);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(question: &str, answer: &str) -> Round {
        Round {
            question: question.to_owned(),
            answer: answer.to_owned(),
        }
    }

    #[test]
    fn a_summary_comes_first_and_what_it_does_not_hold_in_extracts() {
        let nothing = Earlier::new(None, &[]);
        assert_eq!(nothing, Earlier::default());
        let summed = Earlier::new(Some(" They spoke of tilt. "), &[]);
        assert_eq!(summed.text, "They spoke of tilt.");
        assert!(!summed.has_extracts);
        let both = Earlier::new(Some("s"), &[round("多大？", "六度。还有别的。")]);
        assert_eq!(both.text, "s\nQ: 多大？\nA: 六度。");
        assert!(both.has_extracts);
    }

    #[test]
    fn it_stays_short_however_much_was_said() {
        let long = "长".repeat(10_000);
        let rounds = vec![round(&long, &long); 500];
        let earlier = Earlier::new(None, &rounds);
        assert!(earlier.text.chars().count() < MAXIMUM_EXTRACTED * 2 * (MAXIMUM_EXTRACT + 10));
    }
}
