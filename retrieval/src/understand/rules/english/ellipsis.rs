//! Questions that leave out what was said before: what about X, and in Chinese, why, what else.

use tributary_schemas::ask::Round;
use tributary_taxonomy::Analyzer;

use super::topic::{Topic, thing};
use super::words::{Word, names, words};
use crate::function_words::is_function_word;
use crate::understand::rules::follow_up::{Completion, UNSURE};
use crate::understand::rules::language;

const CONTRASTS: [&str; 8] = [
    "and what about ",
    "and how about ",
    "what about ",
    "how about ",
    "what if it is ",
    "and ",
    "or ",
    "but ",
];
/// Beginnings of whole questions, which "and" only joins.
const ASKS: [&str; 32] = [
    "what", "when", "where", "which", "who", "whom", "whose", "why", "how", "is", "are", "was",
    "were", "do", "does", "did", "has", "have", "had", "can", "could", "will", "would", "should",
    "may", "might", "must", "tell", "explain", "please", "there", "then",
];
const BARE: [&str; 26] = [
    "why",
    "why not",
    "why is that",
    "how",
    "how so",
    "how come",
    "when",
    "where",
    "who",
    "which one",
    "which ones",
    "like what",
    "such as",
    "for example",
    "what else",
    "anything else",
    "what then",
    "and then",
    "for how long",
    "how long",
    "how many",
    "how much",
    "how often",
    "any examples",
    "give an example",
    "in which way",
];
const ORDINALS: [&str; 11] = [
    "first", "second", "third", "fourth", "fifth", "last", "next", "previous", "former", "latter",
    "other",
];
const PREPOSITIONS: [&str; 13] = [
    "in", "on", "for", "with", "without", "at", "by", "from", "to", "under", "during", "after",
    "before",
];
/// Nouns that say what of a thing is asked for: of which thing was said before.
const OF_SOMETHING: [&str; 40] = [
    "author",
    "authors",
    "capital",
    "cause",
    "causes",
    "default",
    "value",
    "values",
    "range",
    "limit",
    "limits",
    "maximum",
    "minimum",
    "unit",
    "syntax",
    "purpose",
    "name",
    "size",
    "members",
    "price",
    "cost",
    "advantages",
    "disadvantages",
    "benefits",
    "drawbacks",
    "difference",
    "differences",
    "steps",
    "parameters",
    "arguments",
    "requirements",
    "result",
    "results",
    "reason",
    "reasons",
    "effect",
    "effects",
    "version",
    "format",
    "population",
];

/// The question with what it leaves out; `None` where it leaves out nothing that is known.
pub fn complete(
    question: &str,
    history: &[Round],
    topics: &[Topic],
    analyzer: &Analyzer,
) -> Option<Completion> {
    let last = bare(&history.last()?.question);
    let asked = bare(question);
    contrast(asked, last, analyzer)
        .or_else(|| whole(asked, last))
        .or_else(|| attribute(asked, topics))
        .or_else(|| more(asked, topics))
}

/// Without spaces and signs at its end.
fn bare(text: &str) -> &str {
    text.trim()
        .trim_end_matches(|sign: char| !sign.is_alphanumeric() && !"\")+#".contains(sign))
}

fn contrast(asked: &str, last: &str, analyzer: &Analyzer) -> Option<Completion> {
    let small = asked.to_ascii_lowercase();
    let beginning = CONTRASTS
        .iter()
        .find(|beginning| small.starts_with(**beginning))?;
    let part = asked.get(beginning.len()..)?.trim();
    let new = words(part);
    let first = new.first()?;
    if first.is_any(&ASKS) || new.len() > 6 || BARE.contains(&part) {
        return None;
    }
    // In a question of another language nothing can be exchanged.
    if language::is_chinese(last) {
        return Some(Completion {
            question: format!("{part}?"),
            confidence: UNSURE,
        });
    }
    let old = words(last);
    let is_place = first.is_any(&PREPOSITIONS);
    let exchanged = ordinal(last, &old, &new)
        .or_else(|| behind_preposition(last, &old, part, &new))
        .or_else(|| (!is_place).then(|| name(last, &old, part, analyzer))?);
    let (question, confidence) = match exchanged {
        Some(question) => (question, 0.8),
        None if is_place => (format!("{last} {part}"), 0.7),
        None => (format!("{last} {part}"), UNSURE),
    };
    let question = format!("{question}?");
    Some(Completion {
        question,
        confidence,
    })
}

/// "the second one" after a question for the first.
fn ordinal(last: &str, old: &[Word<'_>], new: &[Word<'_>]) -> Option<String> {
    let ordinal = new.iter().find(|word| word.is_any(&ORDINALS))?;
    let before = old.iter().find(|word| word.is_any(&ORDINALS))?;
    Some(replaced(last, before.start, before.end, ordinal.text))
}

/// "in Chinese" in the place of "in English", with the same preposition.
fn behind_preposition(
    last: &str,
    old: &[Word<'_>],
    part: &str,
    new: &[Word<'_>],
) -> Option<String> {
    let preposition = new.first().filter(|word| word.is_any(&PREPOSITIONS))?;
    let at = old.iter().rposition(|word| word.is(preposition.text))?;
    let goes_on = |word: &&Word<'_>| !word.is_any(&PREPOSITIONS);
    let length = old.iter().skip(at + 1).take_while(goes_on).count();
    let (first, end) = (old.get(at)?, old.get(at + length)?);
    Some(replaced(last, first.start, end.end, part))
}

/// A name or term in the place of that of the last question.
fn name(last: &str, old: &[Word<'_>], part: &str, analyzer: &Analyzer) -> Option<String> {
    if let Some(name) = names(last, old).first() {
        let (first, end) = (old.get(name.from)?, old.get(name.to - 1)?);
        let text = last.get(first.start..end.end)?;
        let owns = text.ends_with("'s") && !name.text.ends_with("'s");
        let part = if owns {
            format!("{part}'s")
        } else {
            part.to_owned()
        };
        return Some(replaced(last, first.start, end.end, &part));
    }
    let term = analyzer.terms_in(last).into_iter().next();
    if let Some(term) = term {
        let start = last.find(term)?;
        return Some(replaced(last, start, start + term.len(), part));
    }
    // "what is the uplink limit", "what about downlink": the last word of the same form.
    let article = old
        .iter()
        .rposition(|word| word.is_any(&["the", "a", "an"]));
    let rest = part
        .split_once(' ')
        .filter(|(first, _)| matches!(*first, "the" | "a" | "an"));
    let noun = rest.map(|(_, noun)| noun)?;
    let content = old.iter().skip(article? + 1);
    let content: Vec<&Word<'_>> = content
        .take_while(|word| !is_function_word(word.text))
        .collect();
    let (first, end) = (content.first()?, content.last()?);
    Some(replaced(last, first.start, end.end, noun))
}

fn replaced(text: &str, start: usize, end: usize, with: &str) -> String {
    let before = text.get(..start).unwrap_or_default();
    let after = text.get(end..).unwrap_or_default();
    format!("{before}{with}{after}")
}

/// "Why?" behind a whole question.
fn whole(asked: &str, last: &str) -> Option<Completion> {
    let small = asked.to_ascii_lowercase();
    let small = small.strip_prefix("and ").unwrap_or(&small);
    if !BARE.contains(&small) || last.is_empty() {
        return None;
    }
    let begins_with_verb = words(last).first().is_some_and(|first| {
        first.is_any(&[
            "is", "are", "was", "were", "do", "does", "did", "can", "has", "have", "had",
        ])
    });
    let question = match (small, begins_with_verb) {
        ("why" | "how" | "when" | "where", true) => {
            let mut letters = last.chars();
            let first = letters.next().map(|first| first.to_ascii_lowercase());
            let asked = capitalised(small);
            format!("{asked} {}{}?", first.unwrap_or_default(), letters.as_str())
        }
        _ => format!("{last}? {asked}?"),
    };
    Some(Completion {
        question,
        confidence: 0.5,
    })
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    format!("{}{}", first.unwrap_or_default(), letters.as_str())
}

/// "What is the default value?": of what was said before.
fn attribute(asked: &str, topics: &[Topic]) -> Option<Completion> {
    let words = words(asked);
    let last = words.last()?;
    let has_name = !names(asked, &words).is_empty();
    let article = words.iter().rposition(|word| word.is("the"))?;
    let is_short = words.len() - article <= 4 && words.len() <= 8;
    let is_alone = !words.iter().any(|word| word.is("of"));
    if has_name || !is_short || !is_alone || !last.is_any(&OF_SOMETHING) {
        return None;
    }
    let topic = thing(topics)?;
    Some(Completion {
        question: format!("{asked} of {}?", topic.text),
        confidence: 0.65,
    })
}

/// "Are there any other …?", "What else …?" about what was said before.
fn more(asked: &str, topics: &[Topic]) -> Option<Completion> {
    let words = words(asked);
    let has = |asked: &str| words.iter().any(|word| word.is(asked));
    let asks_for_more = has("else") || (has("any") && (has("other") || has("more")));
    let has_name = !names(asked, &words).is_empty()
        || words
            .iter()
            .any(|word| word.is_any(&["article", "about", "than"]));
    if !asks_for_more || has_name || words.len() > 9 {
        return None;
    }
    let topic = thing(topics)?;
    Some(Completion {
        question: format!("{asked} about {}?", topic.text),
        confidence: 0.5,
    })
}
