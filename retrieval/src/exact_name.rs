//! What a question names exactly: a path, a title, an identifier, an error code. The document of
//! that name comes first, however many long pages use the same words.
//!
//! score' = (score + s) / (1 + S), where s is the strength with which the question names the chunk
//! and S the highest one in the answer, so that scores stay between 0 and 1. A chunk that is named
//! with a strength of 1 or more stands before all that are not; where nothing is named nothing
//! changes.

use tributary_schemas::code_entry::{CodeEntry, Definition};
use tributary_schemas::names::{file_stem, last_part};
use tributary_schemas::search::QueryPlan;
use tributary_schemas::{Chunk, DocumentHeader};
use tributary_taxonomy::fold::{fold, simplify};

use crate::config::ExactNameConfig;

/// Longer questions are no names as a whole.
const MAXIMUM_NAME_CHARACTERS: usize = 100;
/// Names of one question; an error message pasted whole has dozens.
const MAXIMUM_NAMES: usize = 16;
/// From so many digits on, a word of letters and digits is a code, such as `0x80070005`.
const MINIMUM_CODE_DIGITS: usize = 3;
/// What stands before all that is not named.
const WHOLE: f32 = 1.0;
/// Share of its strength that a name keeps in other capitals.
const OTHER_CAPITALS: f32 = 0.98;
const QUOTES: [(char, char); 6] = [
    ('"', '"'),
    ('`', '`'),
    ('“', '”'),
    ('「', '」'),
    ('《', '》'),
    ('『', '』'),
];

/// What a question may name a document by, folded, each once: what stands in quotes, identifiers
/// (`nn.Conv2d`, `load_checkpoint`, `radio/tilt.md`, `0x80070005`), and the question itself if it
/// is short.
pub fn in_question(question: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in written(question).map(normal) {
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names.truncate(MAXIMUM_NAMES);
    names
}

/// The same as they are written, without bound.
fn written(question: &str) -> impl Iterator<Item = &str> {
    let is_short = question.chars().count() <= MAXIMUM_NAME_CHARACTERS;
    let whole = is_short.then_some(question);
    let identifiers = words(question).filter(|word| is_identifier(word));
    whole.into_iter().chain(quoted(question)).chain(identifiers)
}

/// What [`in_question`] folds, as it is written; at most as many.
pub fn written_in(question: &str) -> Vec<&str> {
    written(question).take(MAXIMUM_NAMES).collect()
}

/// Tells how exactly a question names documents and chunks, as strengths: 0 for not at all.
#[derive(Clone, Copy)]
pub struct Naming<'a> {
    names: &'a [String],
    /// As it was asked, for capitals.
    question: &'a str,
    config: &'a ExactNameConfig,
}

impl<'a> Naming<'a> {
    /// For the names in a plan.
    pub fn new(plan: &'a QueryPlan, config: &'a ExactNameConfig) -> Self {
        Self {
            names: &plan.names,
            question: &plan.query,
            config,
        }
    }

    /// Whether the question may name anything.
    pub fn is_possible(&self) -> bool {
        !self.names.is_empty()
    }

    /// Whether a name stands among other words, or the question is nothing but one.
    pub fn has_identifier(&self) -> bool {
        match self.names {
            [] => false,
            [whole] => whole.is_ascii() && !whole.contains(' '),
            _ => true,
        }
    }

    /// Of a document, by its path (with its source or without), its title, or the last parts of its
    /// title or file name (`load_checkpoint` for `mindspore.load_checkpoint`). The last parts count
    /// as a whole name where the question is nothing else.
    pub fn of_document(&self, document: &DocumentHeader) -> f32 {
        if !self.is_possible() {
            return 0.0;
        }
        let path = fold(&document.source_path);
        let place = format!("{}/{path}", fold(&document.source));
        let place = parts(&place);
        let title = normal(&document.title);
        let file = normal(file_stem(&path));
        let strength = |name: &String| match name.as_str() {
            name if is_path(name) && place.ends_with(&parts(name)) => self.config.path,
            name if name == title => self.config.title * self.written(&document.title),
            name if name == file || ends_with_name(&title, name) || ends_with_name(&file, name) => {
                self.of_last_part(document)
            }
            _ => 0.0,
        };
        self.names.iter().map(strength).fold(0.0, f32::max)
    }

    fn of_last_part(&self, document: &DocumentHeader) -> f32 {
        let stem = file_stem(&document.source_path);
        let written = [&document.title, stem].map(|name| self.written(last_part(name)));
        let strength = match self.is_name_alone() && self.config.last_part > 0.0 {
            true => self.config.last_part.max(WHOLE),
            false => self.config.last_part,
        };
        strength * written.into_iter().fold(0.0, f32::max)
    }

    /// Whether the question is an identifier and nothing else.
    fn is_name_alone(&self) -> bool {
        let is_alone = self.names.len() == 1;
        is_alone && words(self.question).any(is_identifier)
    }

    /// A little less than 1 for a name in other capitals, so that `mindspore.Tensor` comes before
    /// `mindspore.tensor` for who writes it so.
    fn written(&self, name: &str) -> f32 {
        let name = simplify(name.trim());
        match self.question.contains(name.as_ref()) {
            true => 1.0,
            false => OTHER_CAPITALS,
        }
    }

    /// Whether the question names a definition, by its name or the last parts of it.
    fn defines(&self, code: &CodeEntry) -> bool {
        let name = normal(&code.name);
        let is_named = |given: &String| *given == name || ends_with_name(&name, given);
        code.definition != Definition::File && self.names.iter().any(is_named)
    }

    /// Of a chunk, by the name of what it defines, by the heading right above it, or by a code in
    /// its text.
    pub fn of_chunk(&self, chunk: &Chunk) -> f32 {
        if chunk.code.as_ref().is_some_and(|code| self.defines(code)) {
            return self.config.definition;
        }
        let heading = chunk.section_path.last().map(|heading| normal(heading));
        if heading.is_some_and(|heading| self.names.contains(&heading)) {
            return self.config.heading;
        }
        let codes: Vec<&str> = self
            .names
            .iter()
            .map(String::as_str)
            .filter(|name| is_code(name))
            .collect();
        if codes.is_empty() {
            return 0.0;
        }
        let text = fold(&chunk.text);
        if words(&text).any(|word| codes.contains(&word)) {
            self.config.code_in_text
        } else {
            0.0
        }
    }
}

/// See the head of the file.
pub fn boosted(score: f32, strength: f32, highest: f32) -> f32 {
    (score + strength) / (1.0 + highest)
}

/// Runs of characters that identifiers and paths are made of, without what ends a sentence.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !is_of_identifier(character))
        .map(|word| word.trim_matches(|character: char| !character.is_ascii_alphanumeric()))
        .filter(|word| !word.is_empty())
}

fn is_of_identifier(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | ':' | '/' | '-' | '#')
}

/// A word that nobody writes in running text: parts joined by `_ . :: /`, a hump inside, or letters
/// and digits together.
pub fn is_identifier(word: &str) -> bool {
    let is_long = word.len() > 2 && word.bytes().any(|byte| byte.is_ascii_alphabetic());
    is_long && (is_joined(word) || has_hump(word) || has_digits(word))
}

/// Whether a word of a text looks like the name of something: an identifier, a number, or a word with
/// a capital that does not begin the text.
pub fn is_name(word: &str, text: &str) -> bool {
    let begins = text.trim_start().starts_with(word);
    let capitals = |word: &str| word.chars().any(|character| character.is_ascii_uppercase());
    let after_first = word.get(1..).unwrap_or_default();
    let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
    is_identifier(word) || has_digit || capitals(after_first) || (capitals(word) && !begins)
}

fn is_joined(word: &str) -> bool {
    word.contains(['_', '/']) || word.contains("::") || word.trim_matches('.').contains('.')
}

fn has_hump(word: &str) -> bool {
    let is_hump = |pair: &[u8]| match pair {
        [left, right] => left.is_ascii_lowercase() && right.is_ascii_uppercase(),
        _ => false,
    };
    let is_acronym_before_word = |three: &[u8]| match three {
        [first, second, third] => {
            first.is_ascii_uppercase() && second.is_ascii_uppercase() && third.is_ascii_lowercase()
        }
        _ => false,
    };
    let bytes = word.as_bytes();
    bytes.windows(2).any(is_hump) || bytes.windows(3).any(is_acronym_before_word)
}

fn has_digits(word: &str) -> bool {
    word.bytes().any(|byte| byte.is_ascii_digit())
}

/// An error code: letters and several digits in one word.
pub fn is_code(name: &str) -> bool {
    let digits = name.bytes().filter(u8::is_ascii_digit).count();
    let is_one_word = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let has_letter = name.bytes().any(|byte| byte.is_ascii_alphabetic());
    is_one_word && has_letter && digits >= MINIMUM_CODE_DIGITS
}

/// With folders, with an ending, or with signs that nobody writes in running text.
fn is_path(name: &str) -> bool {
    name.contains(['/', '.', '_', '-'])
}

/// The parts of a path without the signs around them, which names lose too.
fn parts(path: &str) -> Vec<String> {
    let parts = path.split('/').map(normal);
    parts.filter(|part| !part.is_empty()).collect()
}

fn quoted(question: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (open, close) in QUOTES {
        let mut rest = question;
        while let Some((_, behind)) = rest.split_once(open) {
            let Some((inside, after)) = behind.split_once(close) else {
                break;
            };
            if inside.chars().count() > 1 {
                found.push(inside);
            }
            rest = after;
        }
    }
    found
}

/// Folded, one space between words, without punctuation at the ends.
fn normal(text: &str) -> String {
    let folded = fold(text);
    let trimmed = folded.trim_matches(|character: char| !character.is_alphanumeric());
    trimmed.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether `whole` ends with the parts of `name`, which is shorter.
fn ends_with_name(whole: &str, name: &str) -> bool {
    let before = whole.strip_suffix(name);
    before.is_some_and(|before| before.ends_with('.') || before.ends_with("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: ExactNameConfig = ExactNameConfig {
        path: 1.2,
        title: 1.1,
        heading: 0.7,
        last_part: 0.6,
        definition: 1.1,
        code_in_text: 0.3,
    };

    fn chunk(section_path: &[&str], text: &str) -> Chunk {
        let json = serde_json::json!({"chunk_id": "0".repeat(32), "kind": "leaf", "ordinal": 0,
            "section_path": section_path, "text": text, "tokens": 1});
        serde_json::from_value(json).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn identifiers_codes_paths_and_quoted_titles_are_names_and_words_are_not() {
        let table: [(&str, &[&str]); 9] = [
            (
                "nn.Conv2d 的 pad_mode 默认是哪个？",
                &["nn.conv2d", "pad_mode"],
            ),
            (
                "what is `use_offload` in nn.Adam?",
                &["use_offload", "nn.adam"],
            ),
            ("error 0x80070005 after the update.", &["0x80070005"]),
            ("where is radio/tilt.md now", &["radio/tilt.md"]),
            ("see 《天线 倾角》 please", &["天线 倾角"]),
            (
                "CSVDataset and GeneratorDataset",
                &["csvdataset", "generatordataset"],
            ),
            ("std::sync::Arc, or Rc", &["std::sync::arc"]),
            ("MindSpore 有现成的 Callback 吗", &["mindspore"]),
            ("is the Dataset of Ascend in O1 mode e.g. slow", &["e.g"]),
        ];
        for (question, expected) in table {
            let mut names = in_question(question);
            assert_eq!(names.remove(0), normal(question));
            assert_eq!(names, expected, "{question}");
        }
        assert!(in_question(&"word ".repeat(40)).is_empty());
        assert!(in_question("？？").is_empty());
    }

    #[test]
    fn a_document_is_named_by_path_title_or_the_last_parts_of_its_name() {
        let document = DocumentHeader {
            source: "docs".into(),
            source_path: "api/nn/mindspore.nn.Conv2d.rst".into(),
            title: "mindspore.nn.Conv2d".into(),
            ..DocumentHeader::default()
        };
        let table = [
            ("mindspore.nn.Conv2d", CONFIG.title),
            ("api/nn/mindspore.nn.Conv2d.rst", CONFIG.path),
            ("nn/mindspore.nn.Conv2d.rst", CONFIG.path),
            ("docs/api/nn/mindspore.nn.Conv2d.rst", CONFIG.path),
            ("MINDSPORE.NN.CONV2D", CONFIG.title * OTHER_CAPITALS),
            ("how is nn.Conv2d padded", CONFIG.last_part),
            ("Conv2d", WHOLE),
            ("conv2d?", WHOLE * OTHER_CAPITALS),
            ("what is CONV2D for", CONFIG.last_part * OTHER_CAPITALS),
            ("conv2d_transpose", 0.0),
            ("mindspore.nn", 0.0),
            ("v2d", 0.0),
            ("", 0.0),
        ];
        for (question, expected) in table {
            let names = in_question(question);
            let naming = Naming {
                names: &names,
                question,
                config: &CONFIG,
            };
            assert_eq!(naming.of_document(&document), expected, "{question}");
        }
    }

    #[test]
    fn a_chunk_is_named_by_its_heading_or_a_code_in_its_text() {
        let named = |question: &str, text: &str| {
            let names = in_question(question);
            let naming = Naming {
                names: &names,
                question,
                config: &CONFIG,
            };
            naming.of_chunk(&chunk(&["Errors", "Access is denied"], text))
        };
        assert_eq!(named("access is denied?", ""), CONFIG.heading);
        assert_eq!(named("Errors", ""), 0.0);
        assert_eq!(
            named("0x80070005 怎么办", "得到 0x80070005。"),
            CONFIG.code_in_text
        );
        assert_eq!(named("0x80070005 怎么办", "得到 0x800700051。"), 0.0);
        assert_eq!(named("Conv2d", "Conv2d"), 0.0, "a name, no code");
    }

    #[test]
    fn the_boost_keeps_scores_between_0_and_1_and_their_order() {
        // score, strength, highest strength of the answer → (score + strength) / (1 + highest)
        let table = [
            (0.0, 0.0, 0.0, 0.0),
            (0.4, 0.0, 0.0, 0.4),
            (0.4, 0.0, 1.0, 0.2),
            (0.2, 1.0, 1.0, 0.6),
            (1.0, 0.0, 1.0, 0.5),
            (1.0, 0.6, 0.6, 1.0),
        ];
        for (score, strength, highest, expected) in table {
            assert!((boosted(score, strength, highest) - expected).abs() < 1e-6);
        }
    }
}
