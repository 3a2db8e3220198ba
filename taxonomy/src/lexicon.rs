//! The domain lexicon (词表): terms that the analyzer keeps whole. Loaded from text files of a
//! profile.
//!
//! One term a line, optionally a TAB and a weight, optionally another TAB and synonyms with `;`
//! between them; `#` begins a comment line. A term may hold spaces and mix scripts (`B2B结算中心`,
//! `等保2.0三级`, `C++模板`, `5G NR`, `QoS 流`). An empty weight is 1; with the weight `-` a line
//! only says what means the same, and the analyzer does not know the term:
//!
//! ```text
//! 载波聚合<TAB><TAB>CA; Carrier Aggregation
//! 双连接<TAB>-<TAB>DC; Dual Connectivity
//! ```
//!
//! Synonyms never change how text is cut, so they are no part of the fingerprint.

use std::collections::BTreeMap;
use std::path::Path;

use tributary_schemas::{Error, ErrorKind, Result};

use crate::fold::fold;
use crate::synonyms::Synonyms;

/// Longest term, in bytes after folding. The analyzer looks this far ahead.
pub const MAXIMUM_TERM_BYTES: usize = 192;
/// The weight of a line that names synonyms and no term.
const NO_TERM: &str = "-";

/// One term of a lexicon.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// As written in the file, spaces collapsed.
    pub text: String,
    /// How sure its source was, by default 1. The analyzer treats all terms alike; review and
    /// ranking read it.
    pub weight: f32,
}

/// Terms, each once, in the order of their folded form.
#[derive(Clone, Debug, Default)]
pub struct Lexicon {
    terms: BTreeMap<String, Term>,
    synonyms: Synonyms,
}

/// What a line says.
struct Line {
    /// The term with its key; none where the line only names synonyms.
    term: Option<(String, Term)>,
    /// The term and its synonyms.
    names: Vec<String>,
}

impl Lexicon {
    /// A lexicon without terms.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Reads one file's text; `origin` names it in errors. All bad lines are reported at once, as
    /// `Invalid`.
    pub fn from_text(origin: &str, text: &str) -> Result<Self> {
        let mut lexicon = Self::empty();
        let mut problems = Vec::new();
        for (index, line) in text.trim_start_matches('\u{FEFF}').lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            match parse_line(line) {
                Ok(line) => lexicon.add(line),
                Err(problem) => problems.push(format!("{origin} line {}: {problem}", index + 1)),
            }
        }
        if problems.is_empty() {
            return Ok(lexicon);
        }
        Err(
            Error::new(ErrorKind::Invalid, problems.join("; ")).with_hint(
                "one term a line, optionally a TAB and a weight, optionally a TAB and synonyms \
                 with ; between them; # begins a comment",
            ),
        )
    }

    /// Reads files one after the other and joins their terms. No file gives an empty lexicon.
    pub fn from_files<P: AsRef<Path>>(paths: &[P]) -> Result<Self> {
        let mut lexicon = Self::empty();
        for path in paths {
            let name = path.as_ref().display().to_string();
            let text = tributary_schemas::files::read_to_string(path)
                .map_err(|error| Error::io(format!("read lexicon {name}"), &error))?;
            lexicon.extend(Self::from_text(&name, &text)?);
        }
        Ok(lexicon)
    }

    /// Adds the terms of another one; the higher weight of a term stays.
    pub fn extend(&mut self, other: Self) {
        for (key, term) in other.terms {
            self.insert(key, term);
        }
        self.synonyms.extend(other.synonyms);
    }

    fn add(&mut self, line: Line) {
        if let Some((key, term)) = line.term {
            self.insert(key, term);
        }
        self.synonyms.add(line.names);
    }

    fn insert(&mut self, key: String, term: Term) {
        match self.terms.get(&key) {
            Some(known) if known.weight >= term.weight => {}
            _ => {
                self.terms.insert(key, term);
            }
        }
    }

    /// Whether a text is a term, however it is written.
    pub fn contains(&self, text: &str) -> bool {
        self.terms.contains_key(&term_key(text))
    }

    /// All terms with their folded form, in the order of that form.
    pub fn terms(&self) -> impl Iterator<Item = (&str, &Term)> {
        self.terms.iter().map(|(key, term)| (key.as_str(), term))
    }

    /// Names of the same things.
    pub fn synonyms(&self) -> &Synonyms {
        &self.synonyms
    }

    /// Number of terms.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Whether it holds no term.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Hash of everything that changes how text is cut; weights and synonyms do not.
    pub fn fingerprint(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for (key, term) in &self.terms {
            // The written form too: its spaces decide which words are found beside the whole term.
            hasher
                .update(key.as_bytes())
                .update(b"\t")
                .update(term.text.as_bytes())
                .update(b"\n");
        }
        hasher.finalize().to_hex().chars().take(16).collect()
    }
}

/// The form in which terms are compared: folded, spaces collapsed, and none between Chinese and
/// other characters, because writers put or leave out that space as they like (`QoS 流`, `QoS流`).
pub(crate) fn term_key(text: &str) -> String {
    let folded = fold(text);
    let mut key = String::with_capacity(folded.len());
    let mut is_after_space = false;
    for character in folded.trim().chars() {
        if character.is_whitespace() {
            is_after_space = true;
            continue;
        }
        if is_after_space
            && key
                .chars()
                .next_back()
                .is_some_and(|before| is_spaced(before, character))
        {
            key.push(' ');
        }
        is_after_space = false;
        key.push(character);
    }
    key
}

/// Whether a space between the two characters means something: not beside a Chinese one.
pub(crate) fn is_spaced(before: char, after: char) -> bool {
    let is_han = |character: char| matches!(character as u32, 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0x20000..=0x323AF);
    !is_han(before) && !is_han(after)
}

fn parse_line(line: &str) -> std::result::Result<Line, String> {
    let mut fields = line.split('\t');
    let (text, weight, synonyms) = (fields.next(), fields.next(), fields.next());
    if fields.next().is_some() {
        return Err("more than a term, a weight and synonyms".to_owned());
    }
    let text = checked_name(text.unwrap_or_default())?;
    let weight = weight.unwrap_or_default().trim();
    let names = names(&text, synonyms.unwrap_or_default())?;
    let term = match weight {
        NO_TERM if names.len() > 1 => None,
        _ => {
            let weight = parse_weight(&text, weight)?;
            Some((term_key(&text), Term { text, weight }))
        }
    };
    Ok(Line { term, names })
}

/// A term and its synonyms.
fn names(text: &str, synonyms: &str) -> std::result::Result<Vec<String>, String> {
    let mut names = vec![text.to_owned()];
    let synonyms = synonyms.split([';', '；']);
    for synonym in synonyms.filter(|synonym| !synonym.trim().is_empty()) {
        names.push(checked_name(synonym)?);
    }
    Ok(names)
}

fn parse_weight(text: &str, weight: &str) -> std::result::Result<f32, String> {
    if weight.is_empty() {
        return Ok(1.0);
    }
    let value: f32 = weight
        .parse()
        .map_err(|_| format!("weight `{weight}` of `{text}` is not a number"))?;
    match value.is_finite() && value >= 0.0 {
        true => Ok(value),
        false => Err(format!(
            "weight {value} of `{text}` must be a number from 0 up"
        )),
    }
}

/// A term or synonym, spaces collapsed.
fn checked_name(text: &str) -> std::result::Result<String, String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().any(char::is_control) {
        return Err(format!(
            "term `{}` holds a control character",
            text.escape_debug()
        ));
    }
    let key = term_key(&text);
    if !key.chars().any(char::is_alphanumeric) {
        return Err(format!("term `{text}` has no letter or digit"));
    }
    if key.len() > MAXIMUM_TERM_BYTES {
        return Err(format!(
            "term of {} bytes is longer than {MAXIMUM_TERM_BYTES}",
            key.len()
        ));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn terms_weights_and_comments_are_read() {
        let lexicon = Lexicon::from_text(
            "t",
            "# 无线\n载波聚合\t2.5\n5G  NR\n\nQoS 流\r\n等保2.0三级\n載波聚合\t1\n",
        )
        .unwrap();
        assert_eq!(lexicon.len(), 4);
        assert!(
            lexicon.contains("5g nr") && lexicon.contains("QOS流") && lexicon.contains("載波聚合")
        );
        let weights: Vec<_> = lexicon
            .terms()
            .filter(|(key, _)| *key == "载波聚合")
            .map(|(_, term)| term.weight)
            .collect();
        assert_eq!(weights, [2.5]);
    }

    #[test]
    fn every_bad_line_is_reported_with_its_number() {
        let error = Lexicon::from_text("words.txt", "好\n好\tx\n、。\n坏\t-1\n").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        for part in [
            "words.txt line 2: weight `x`",
            "line 3: term `、。` has no letter",
            "line 4: weight -1",
        ] {
            assert!(error.to_string().contains(part), "{error}");
        }
        let missing = Lexicon::from_files(&["/no/such/lexicon.txt"]).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
    }

    #[test]
    fn the_fingerprint_follows_the_terms_and_not_their_order() {
        let read = |text: &str| Lexicon::from_text("t", text).unwrap().fingerprint();
        assert_eq!(read("甲乙\n丙丁"), read("丙丁\n甲乙\t3"));
        assert_ne!(read("甲乙"), read("甲乙丙"));
    }

    #[test]
    fn synonyms_change_no_term_and_no_fingerprint() {
        let plain = Lexicon::from_text("t", "载波聚合\t2\n双连接").unwrap();
        let text = "载波聚合\t2\tCA；Carrier  Aggregation;\n双连接\t\tDC\n波束\t-\tbeam\n";
        let lexicon = Lexicon::from_text("t", text).unwrap();
        assert_eq!(lexicon.fingerprint(), plain.fingerprint());
        assert_eq!(lexicon.len(), 2);
        let groups: Vec<&[String]> = lexicon.synonyms().groups().collect();
        let expected = [
            vec!["载波聚合", "CA", "Carrier Aggregation"],
            vec!["双连接", "DC"],
            vec!["波束", "beam"],
        ];
        assert_eq!(groups, expected);
        let mut joined = plain;
        joined.extend(lexicon);
        assert_eq!(joined.synonyms().groups().count(), 3);
    }

    #[test]
    fn a_line_without_a_term_needs_synonyms() {
        let error = Lexicon::from_text("t", "甲乙\t-\n甲乙\t1\t、\n甲乙\t1\t丙\t丁\n").unwrap_err();
        for part in [
            "line 1: weight `-`",
            "line 2: term `、`",
            "line 3: more than",
        ] {
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
