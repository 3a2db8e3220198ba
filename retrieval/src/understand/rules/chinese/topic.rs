//! What was spoken of: the noun phrases of the last rounds, the likeliest antecedent first.

use std::collections::HashMap;

use tributary_schemas::ask::Round;
use tributary_taxonomy::Analyzer;

use super::sentence::{Sentence, Word};

/// What each further round back counts of the one behind it.
const FADING: f32 = 0.7;
/// Noun phrases of an answer that are looked at: the first ones say what it is about.
const OF_ANSWER: usize = 4;

/// What a topic is, as far as pronouns tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 他, 她.
    Person,
    /// 这里, 那里.
    Place,
    /// 它, 这个.
    Thing,
}

/// A noun phrase.
#[derive(Clone, Debug)]
pub struct Topic {
    /// As written.
    pub text: String,
    /// What it is.
    pub kind: Kind,
    /// Whether it is a name.
    pub is_named: bool,
    score: f32,
}

/// A noun phrase of a sentence, by the places of its words.
#[derive(Clone, Copy, Debug)]
pub struct Phrase {
    /// First word.
    pub from: usize,
    /// Behind the last one.
    pub to: usize,
}

/// The noun phrases of a sentence, in order.
pub fn phrases(sentence: &Sentence<'_>) -> Vec<Phrase> {
    let mut phrases = Vec::new();
    let mut from = None;
    for (at, word) in sentence.words.iter().enumerate() {
        let joins = from.is_some() && joins_names(word);
        if word.is_nominal() || is_number_before_name(sentence, at) || joins {
            from = from.or(Some(at));
        } else if let Some(from) = from.take() {
            phrases.push(Phrase { from, to: at });
        }
    }
    phrases.extend(from.map(|from| Phrase {
        from,
        to: sentence.words.len(),
    }));
    phrases.retain(|phrase| {
        let words = sentence.words.get(phrase.from..phrase.to);
        words.is_some_and(|words| words.iter().any(Word::is_nominal))
    });
    phrases
}

/// Numbers and signs inside of names: `战国无双3`, `头文字D`, `C++`, `让·雷诺`.
fn joins_names(word: &Word<'_>) -> bool {
    word.tag == "m" || matches!(word.text, "·" | "-" | "+" | "・" | "." | "_")
}

/// `5G`, `3GPP`, `4K电视`.
fn is_number_before_name(sentence: &Sentence<'_>, at: usize) -> bool {
    let word = sentence.words.get(at);
    let next = sentence.words.get(at + 1);
    word.is_some_and(|word| word.tag == "m" && word.text.is_ascii())
        && next.is_some_and(|next| next.tag == "eng" || next.tag == "nz")
}

/// What the rounds speak of, the likeliest first.
pub fn topics(history: &[Round], analyzer: &Analyzer) -> Vec<Topic> {
    let mut topics: Vec<Topic> = Vec::new();
    let mut fading = 1.0;
    for round in history.iter().rev() {
        add(
            &round.question,
            0.5 * fading,
            usize::MAX,
            analyzer,
            &mut topics,
        );
        add(
            &round.answer,
            0.3 * fading,
            OF_ANSWER,
            analyzer,
            &mut topics,
        );
        fading *= FADING;
    }
    prefer_repeated(history, &mut topics);
    topics.sort_by(|left, right| right.score.total_cmp(&left.score));
    topics
}

fn add(text: &str, weight: f32, limit: usize, analyzer: &Analyzer, topics: &mut Vec<Topic>) {
    let sentence = Sentence::read(text, analyzer);
    for (at, phrase) in phrases(&sentence).into_iter().take(limit).enumerate() {
        let Some(topic) = topic(&sentence, phrase, at, weight) else {
            continue;
        };
        match topics.iter_mut().find(|known| known.text == topic.text) {
            Some(known) => known.score = known.score.max(topic.score),
            None => topics.push(topic),
        }
    }
}

fn topic(sentence: &Sentence<'_>, phrase: Phrase, at: usize, weight: f32) -> Option<Topic> {
    let words = sentence.words.get(phrase.from..phrase.to)?;
    let text = sentence.between(phrase.from, phrase.to).trim();
    let says_nothing = words
        .iter()
        .all(|word| !word.is_nominal() || word.is_generic());
    if says_nothing || text.is_empty() {
        return None;
    }
    let is_named = words.iter().any(Word::is_named);
    let is_of_something = words.iter().all(Word::is_of_something);
    let kind = kind(words);
    let first = if at == 0 { 0.3 } else { 0.0 };
    let name = match (is_named, is_of_something) {
        (true, _) => 0.8,
        (false, true) => -0.5,
        _ => 0.0,
    };
    Some(Topic {
        text: text.to_owned(),
        kind,
        is_named,
        score: weight + first + name,
    })
}

fn kind(words: &[Word<'_>]) -> Kind {
    match words.last() {
        Some(word) if word.is_person() => Kind::Person,
        Some(word) if word.is_place() => Kind::Place,
        _ if words.iter().any(Word::is_person) && words.len() < 3 => Kind::Person,
        _ => Kind::Thing,
    }
}

/// What is said in both parts of a round, or again and again, is what it is about.
fn prefer_repeated(history: &[Round], topics: &mut [Topic]) {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for topic in topics.iter() {
        let said = history
            .iter()
            .flat_map(|round| [&round.question, &round.answer]);
        let count = said.filter(|text| text.contains(&topic.text)).count();
        counts.insert(&topic.text, count);
    }
    let added: Vec<f32> = topics
        .iter()
        .map(|topic| counts.get(topic.text.as_str()).copied().unwrap_or(1))
        .map(|count| 0.3 * (count.clamp(1, 3) - 1) as f32)
        .collect();
    for (topic, added) in topics.iter_mut().zip(added) {
        topic.score += added;
    }
}

/// The likeliest antecedent of a kind: of the kind itself, else any that may be.
pub fn best(topics: &[Topic], kind: Kind) -> Option<&Topic> {
    let first = topics.first()?;
    let is_close = |topic: &&Topic| topic.score > first.score - 0.8;
    let of_kind = |topic: &&Topic| topic.kind == kind;
    let may_be = |topic: &&Topic| !matches!((kind, topic.kind), (Kind::Person, Kind::Place));
    let exact = topics.iter().filter(is_close).find(of_kind);
    exact
        .or_else(|| topics.iter().filter(is_close).find(may_be))
        .or(Some(first))
}
