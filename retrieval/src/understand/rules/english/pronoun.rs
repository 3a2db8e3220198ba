//! Pronouns and what they stand for: he, their, it, this album.

use super::topic::{Topic, person, thing};
use super::words::{Word, names};
use crate::function_words::is_function_word;
use crate::understand::rules::follow_up::Completion;

/// Pronouns of persons and groups: as subject or object, or with what belongs to them.
const PERSONS: [(&str, bool); 9] = [
    ("he", false),
    ("she", false),
    ("they", false),
    ("him", false),
    ("them", false),
    ("his", true),
    ("hers", true),
    ("their", true),
    ("theirs", true),
];
const THINGS: [(&str, bool); 2] = [("it", false), ("its", true)];
const DEMONSTRATIVES: [&str; 4] = ["this", "that", "these", "those"];
const AUXILIARIES: [&str; 22] = [
    "is", "are", "was", "were", "do", "does", "did", "has", "have", "had", "can", "could", "will",
    "would", "should", "may", "might", "must", "didn't", "doesn't", "isn't", "wasn't",
];
const PREPOSITIONS: [&str; 14] = [
    "about", "of", "for", "with", "by", "after", "before", "in", "to", "from", "on", "during",
    "into", "like",
];
/// Words behind "it" that show that it stands for nothing.
const EXPLETIVE: [&str; 12] = [
    "possible",
    "true",
    "necessary",
    "important",
    "known",
    "likely",
    "take",
    "takes",
    "better",
    "safe",
    "that",
    "worth",
];
/// Verbs that are no nouns behind "this" and "that", beside those that end in -ed.
const VERBS: [&str; 22] = [
    "happen", "happens", "made", "done", "built", "used", "set", "written", "known", "found",
    "held", "given", "taken", "seen", "sent", "kept", "mean", "means", "work", "works", "go",
    "come",
];
/// Words behind "this" and "that" that are answered by no name.
const NO_THINGS: [&str; 22] = [
    "year",
    "time",
    "day",
    "period",
    "point",
    "moment",
    "way",
    "article",
    "case",
    "kind",
    "type",
    "sort",
    "two",
    "three",
    "things",
    "thing",
    "one",
    "ones",
    "years",
    "part",
    "situation",
    "section",
];

/// The question with its first pronoun replaced; `None` where none refers to the history.
pub fn complete(question: &str, words: &[Word<'_>], topics: &[Topic]) -> Option<Completion> {
    (0..words.len()).find_map(|at| replaced(question, words, at, topics))
}

fn replaced(question: &str, words: &[Word<'_>], at: usize, topics: &[Topic]) -> Option<Completion> {
    let word = words.get(at)?;
    if DEMONSTRATIVES.iter().any(|pronoun| word.is(pronoun)) {
        return demonstrative(question, words, at, topics);
    }
    let (topic, owns) = match pronoun(words, at)? {
        (Whose::Person, owns) => (person(topics)?, owns),
        (Whose::Thing, owns) => (thing(topics)?, owns),
    };
    let is_person = word.is_any(&["he", "she", "him", "her", "his", "hers"]);
    if has_antecedent(question, words, at, is_person) {
        return None;
    }
    let name = match owns {
        true => possessive(&topic.text),
        false => topic.text.clone(),
    };
    Some(put(question, word.start, word.end, &name, topic))
}

/// Whether a pronoun of the question stands for something of an earlier round, whatever that is.
pub fn leans(question: &str, words: &[Word<'_>]) -> bool {
    let stands_for_nothing_here = |at: usize, word: &Word<'_>| {
        let is_person = word.is_any(&["he", "she", "him", "her", "his", "hers"]);
        pronoun(words, at).is_some() && !has_antecedent(question, words, at, is_person)
    };
    let mut words = words.iter().enumerate();
    words.any(|(at, word)| stands_for_nothing_here(at, word))
}

enum Whose {
    Person,
    Thing,
}

fn pronoun(words: &[Word<'_>], at: usize) -> Option<(Whose, bool)> {
    let word = words.get(at)?;
    let next = words.get(at + 1);
    if word.is("her") {
        let owns = next.is_some_and(|next| !is_function_word(next.text));
        return Some((Whose::Person, owns));
    }
    if let Some((_, owns)) = PERSONS.iter().find(|(pronoun, _)| word.is(pronoun)) {
        return Some((Whose::Person, *owns));
    }
    let is_expletive = next.is_some_and(|next| next.is_any(&EXPLETIVE));
    let (_, owns) = THINGS.iter().find(|(pronoun, _)| word.is(pronoun))?;
    (!is_expletive).then_some((Whose::Thing, *owns))
}

fn put(question: &str, start: usize, end: usize, name: &str, topic: &Topic) -> Completion {
    let before = question.get(..start).unwrap_or_default();
    let after = question.get(end..).unwrap_or_default();
    Completion::of(format!("{before}{name}{after}"), topic.is_name)
}

fn possessive(name: &str) -> String {
    match name.ends_with('s') {
        true => format!("{name}'"),
        false => format!("{name}'s"),
    }
}

/// Whether something before the pronoun may be what it means: a name, or a noun with an article
/// where the pronoun is no subject of the question.
fn has_antecedent(question: &str, words: &[Word<'_>], at: usize, is_person: bool) -> bool {
    let before = words.get(..at).unwrap_or_default();
    if !names(question, before).is_empty() {
        return true;
    }
    let is_subject = at
        .checked_sub(1)
        .and_then(|at| words.get(at))
        .is_some_and(|word| word.is_any(&AUXILIARIES));
    let is_noun = |pair: &[Word<'_>]| match pair {
        [article, noun] => {
            article.is_any(&["the", "a", "an", "each", "every", "some", "people"])
                && !is_function_word(noun.text)
                && (!is_person || may_be_person(noun.text))
        }
        _ => false,
    };
    // In "the title of their album" the title is not what has the album.
    let before = match before {
        [before @ .., of] if of.is("of") => before.get(..before.len().saturating_sub(2)),
        _ => Some(before),
    };
    !is_subject && before.is_some_and(|before| before.windows(2).any(is_noun))
}

/// Whether a noun may name a person.
fn may_be_person(noun: &str) -> bool {
    const PERSONS: [&str; 16] = [
        "king",
        "queen",
        "president",
        "boy",
        "girl",
        "person",
        "people",
        "prince",
        "princess",
        "pope",
        "student",
        "child",
        "mother",
        "father",
        "wife",
        "husband",
    ];
    let small = noun.to_ascii_lowercase();
    let ends = ["man", "er", "or", "ist", "ian", "woman"];
    PERSONS.contains(&small.as_str()) || ends.iter().any(|end| small.ends_with(end))
}

/// "this album" is the album that was named; "that" alone stands for anything.
fn demonstrative(
    question: &str,
    words: &[Word<'_>],
    at: usize,
    topics: &[Topic],
) -> Option<Completion> {
    let word = words.get(at)?;
    let before = at.checked_sub(1).and_then(|at| words.get(at));
    let next = words.get(at + 1);
    if has_antecedent(question, words, at, false) {
        return None;
    }
    let is_behind = |words: &[&str]| before.is_some_and(|before| before.is_any(words));
    let stands_alone = match next {
        None => is_behind(&PREPOSITIONS) || is_behind(&AUXILIARIES),
        Some(next) => {
            let is_verb =
                is_function_word(next.text) || next.text.ends_with("ed") || next.is_any(&VERBS);
            (is_behind(&AUXILIARIES) || before.is_none()) && is_verb
        }
    };
    if stands_alone {
        let topic = thing(topics)?;
        return Some(put(question, word.start, word.end, &topic.text, topic));
    }
    let next = next.filter(|next| !is_function_word(next.text) && !next.is_any(&NO_THINGS))?;
    if before.is_some_and(|before| !is_function_word(before.text)) && word.is("that") {
        return None;
    }
    let of_answer = topics.iter().find(|topic| topic.is_of_answer);
    let topic = of_answer.or_else(|| thing(topics))?;
    let small = topic.text.to_ascii_lowercase();
    let name = match small.contains(&next.text.to_ascii_lowercase()) {
        true => topic.text.clone(),
        false => format!("the {} {}", next.text, topic.text),
    };
    Some(put(question, word.start, next.end, &name, topic))
}
