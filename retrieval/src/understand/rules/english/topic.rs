//! What was spoken of: names and terms of the last rounds, the likeliest antecedent first.

use tributary_schemas::ask::Round;
use tributary_taxonomy::Analyzer;

use super::words::{Word, names, words};
use crate::function_words::is_function_word;

/// What each further round back counts of the one behind it.
const FADING: f32 = 0.75;
/// Names of an answer that are looked at.
const OF_ANSWER: usize = 3;
/// Words of a line that only names what is spoken of.
const TITLE_WORDS: usize = 6;
/// Beginnings of questions behind which a lower-case topic stands: "what is carrier aggregation".
const BEFORE_TOPIC: [&str; 14] = [
    "what is",
    "what are",
    "what's",
    "who is",
    "who was",
    "define",
    "explain",
    "describe",
    "tell me about",
    "what was",
    "what were",
    "what does",
    "how does",
    "how do",
];

/// A name or term.
#[derive(Clone, Debug)]
pub struct Topic {
    /// As written.
    pub text: String,
    /// Whether it stood in quotes: a work, no person.
    pub is_quoted: bool,
    /// Whether it has capitals.
    pub is_name: bool,
    /// Whether the last answer brought it up.
    pub is_of_answer: bool,
    score: f32,
}

/// What the rounds speak of, the likeliest first.
pub fn topics(history: &[Round], analyzer: &Analyzer) -> Vec<Topic> {
    let mut topics: Vec<Topic> = Vec::new();
    let mut fading = 1.0;
    for round in history.iter().rev() {
        let title = if is_title(&round.question) { 0.5 } else { 0.0 };
        add_names(
            &round.question,
            0.8 * fading + title,
            usize::MAX,
            &mut topics,
        );
        add_terms(&round.question, 0.7 * fading, analyzer, &mut topics);
        let answered = topics.len();
        add_names(&round.answer, 0.3 * fading, OF_ANSWER, &mut topics);
        let is_last = fading == 1.0;
        for topic in topics.iter_mut().skip(answered).filter(|_| is_last) {
            topic.is_of_answer = true;
        }
        fading *= FADING;
    }
    join_names(&mut topics);
    topics.sort_by(|left, right| right.score.total_cmp(&left.score));
    topics
}

/// A line that only names something: the title of an article.
fn is_title(text: &str) -> bool {
    let words = words(text);
    let begins_with_name = words.first().is_some_and(Word::is_name) || text.starts_with("The ");
    words.len() <= TITLE_WORDS && begins_with_name && !text.contains('?')
}

fn add_names(text: &str, weight: f32, limit: usize, topics: &mut Vec<Topic>) {
    let words = words(text);
    for (at, name) in names(text, &words).into_iter().take(limit).enumerate() {
        let topic = Topic {
            text: name.text,
            is_quoted: name.is_quoted,
            is_name: true,
            is_of_answer: false,
            score: weight + if at == 0 { 0.2 } else { 0.0 },
        };
        add(topic, topics);
    }
}

/// Terms of the lexicon, and what "what is …" asks for.
fn add_terms(text: &str, weight: f32, analyzer: &Analyzer, topics: &mut Vec<Topic>) {
    let terms = analyzer.terms_in(text).into_iter();
    let asked = asked_for(text).filter(|_| topics.is_empty());
    for term in terms.chain(asked) {
        let topic = Topic {
            text: term.to_owned(),
            is_quoted: false,
            is_name: false,
            is_of_answer: false,
            score: weight,
        };
        add(topic, topics);
    }
}

/// The words behind "what is" and the like, up to the next word that only holds together.
fn asked_for(text: &str) -> Option<&str> {
    let small = text.to_ascii_lowercase();
    let beginning = BEFORE_TOPIC
        .iter()
        .find(|beginning| small.starts_with(**beginning))?;
    let words = words(text);
    let behind = words.iter().skip_while(|word| word.start < beginning.len());
    let behind = behind.skip_while(|word| is_function_word(word.text));
    let topic: Vec<&Word<'_>> = behind
        .take_while(|word| !is_function_word(word.text))
        .collect();
    let (first, last) = (topic.first()?, topic.last()?);
    text.get(first.start..last.end)
}

fn add(topic: Topic, topics: &mut Vec<Topic>) {
    let known = topics
        .iter_mut()
        .find(|known| known.text.eq_ignore_ascii_case(&topic.text));
    match known {
        Some(known) => known.score = known.score.max(topic.score) + 0.15,
        None => topics.push(topic),
    }
}

/// White is Jack White, if he was named.
fn join_names(topics: &mut Vec<Topic>) {
    let all = topics.clone();
    for topic in topics.iter_mut() {
        let whole = all.iter().find(|whole| {
            let is_part = |word: &str| word == topic.text;
            let words = whole.text.split(' ').count();
            words > 1
                && words < 4
                && topic.is_name
                && !whole.is_quoted
                && whole.text.split(' ').any(is_part)
        });
        if let Some(whole) = whole {
            topic.text.clone_from(&whole.text);
            topic.score += 0.15;
        }
    }
    let mut known: Vec<String> = Vec::new();
    topics.sort_by(|left, right| right.score.total_cmp(&left.score));
    topics.retain(|topic| {
        let is_new = !known.contains(&topic.text);
        known.push(topic.text.clone());
        is_new
    });
}

/// The likeliest person or group.
pub fn person(topics: &[Topic]) -> Option<&Topic> {
    let may_be = |topic: &&Topic| {
        topic.is_name
            && !topic.is_quoted
            && !topic.text.contains(|sign: char| sign.is_ascii_digit())
    };
    topics.iter().find(may_be)
}

/// The likeliest thing.
pub fn thing(topics: &[Topic]) -> Option<&Topic> {
    topics.first()
}
