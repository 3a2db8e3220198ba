//! Our own encoder and counter for tokenizer.json files of the XLM-R shape: a SentencePiece
//! character map, collapsed spaces, metaspace, a unigram vocabulary. It gives the ids of the
//! `tokenizers` crate, loads in a tenth of its time and is many times faster (the crate
//! builds a hash map per trie node and keeps offsets that nobody here reads). Any other shape is
//! refused by `parse`.
//!
//! The best segmentation is found by Viterbi over the pieces (Kudo 2018, "Subword Regularization",
//! section 3.1), with the scores added in the same order as the crate adds them, so that equal sums
//! stay equal.

use super::charsmap::{CharacterMap, METASPACE, Normalized};
use super::library::LibraryTokenizer;
use super::trie::Trie;
use super::{EncodedText, truncation};
use crate::{Error, Result};
use base64::Engine;
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tributary_schemas::ErrorKind;

/// How much worse than the worst piece an unknown character is (SentencePiece's constant).
const UNKNOWN_PENALTY: f64 = 10.0;

/// Most entries that a thread's buffers keep between texts.
const SCRATCH_LIMIT: usize = 1 << 18;

/// A special token or one of the texts, in the order in which the model takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TemplatePart {
    Special { id: u32, type_id: u32 },
    First { type_id: u32 },
    Second { type_id: u32 },
}

/// A loaded unigram tokenizer.
pub struct UnigramTokenizer {
    map: CharacterMap,
    trie: Trie,
    scores: Vec<f64>,
    unknown_score: f64,
    unknown_id: u32,
    /// Texts that stand for a token wherever they occur, such as `<s>`, with their ids.
    added: Vec<(String, u32)>,
    single: Vec<TemplatePart>,
    pair: Vec<TemplatePart>,
    /// Where the file is, for texts that only the crate can judge.
    file: PathBuf,
    library: OnceLock<Option<LibraryTokenizer>>,
}

#[derive(Deserialize)]
struct TokenizerFile<'a> {
    added_tokens: Vec<AddedToken>,
    normalizer: Value,
    pre_tokenizer: Value,
    post_processor: Value,
    #[serde(borrow)]
    model: ModelPart<'a>,
}

#[derive(Deserialize)]
struct AddedToken {
    id: u32,
    content: String,
    single_word: bool,
    lstrip: bool,
    rstrip: bool,
    normalized: bool,
}

#[derive(Deserialize)]
struct ModelPart<'a> {
    r#type: String,
    unk_id: u32,
    #[serde(default)]
    byte_fallback: bool,
    #[serde(borrow)]
    vocab: Vec<Piece<'a>>,
}

#[derive(Deserialize)]
struct Piece<'a>(#[serde(borrow)] Cow<'a, str>, f64);

/// The best way to a byte position: its score, where its last piece starts, and that piece.
#[derive(Clone, Copy)]
struct Step {
    score: f64,
    start: u32,
    id: u32,
}

const UNREACHED: Step = Step {
    score: f64::NEG_INFINITY,
    start: u32::MAX,
    id: 0,
};

/// Buffers of one thread.
struct Scratch {
    normalized: Normalized,
    steps: Vec<Step>,
    reversed: Vec<u32>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> =
        RefCell::new(Scratch { normalized: Normalized::with_capacity(0), steps: Vec::new(), reversed: Vec::new() });
}

fn check_length(text: &str) -> Result<()> {
    if u32::try_from(text.len()).is_err() || text.len() > u32::MAX as usize / 8 {
        return Err(Error::new(
            ErrorKind::Exhausted,
            format!("a text of {} bytes is too long to tokenise", text.len()),
        ));
    }
    Ok(())
}

impl UnigramTokenizer {
    /// Reads the content of a tokenizer.json; the error says why it is not of the known shape.
    pub fn parse(json: &[u8], file: &Path) -> std::result::Result<Self, String> {
        let parsed: TokenizerFile<'_> =
            serde_json::from_slice(json).map_err(|error| error.to_string())?;
        if parsed.model.r#type != "Unigram" || parsed.model.byte_fallback {
            return Err("not a unigram vocabulary without byte fallback".to_owned());
        }
        check_pre_tokenizer(&parsed.pre_tokenizer)?;
        let map = character_map(&parsed.normalizer)?;
        let added = added_tokens(parsed.added_tokens)?;
        let (single, pair) = templates(&parsed.post_processor)?;
        let pieces: Vec<&[u8]> = parsed
            .model
            .vocab
            .iter()
            .map(|piece| piece.0.as_bytes())
            .collect();
        let trie = Trie::build(&pieces).ok_or("the vocabulary is too large")?;
        let scores: Vec<f64> = parsed.model.vocab.iter().map(|piece| piece.1).collect();
        let lowest = scores.iter().copied().fold(f64::INFINITY, f64::min);
        if !lowest.is_finite() || parsed.model.unk_id as usize >= scores.len() {
            return Err("the vocabulary has no unknown token or no finite scores".to_owned());
        }
        Ok(Self {
            map,
            trie,
            scores,
            unknown_score: lowest - UNKNOWN_PENALTY,
            unknown_id: parsed.model.unk_id,
            added,
            single,
            pair,
            file: file.to_path_buf(),
            library: OnceLock::new(),
        })
    }

    /// Tokens of the text, without special tokens.
    pub fn count(&self, text: &str) -> Result<usize> {
        let mut count = 0;
        self.for_each_section(text, usize::MAX, &mut |ids| count += ids.len())?;
        Ok(count)
    }

    /// Token ids of the text, without special tokens.
    pub fn plain_ids(&self, text: &str) -> Result<Vec<u32>> {
        self.limited_ids(text, usize::MAX)
    }

    /// Encodes a text, cut to `maximum_length` tokens.
    pub fn encode(&self, text: &str, maximum_length: usize) -> Result<EncodedText> {
        let ids = self.limited_ids(text, maximum_length.saturating_sub(specials(&self.single)))?;
        Ok(fill_template(&self.single, &ids, &[]))
    }

    /// Encodes a pair, the longer text cut first.
    pub fn encode_pair(
        &self,
        first: &str,
        second: &str,
        maximum_length: usize,
    ) -> Result<EncodedText> {
        let limit = maximum_length.saturating_sub(specials(&self.pair));
        // Whole lengths: which text is cut first depends on them.
        let (mut first, mut second) = (self.plain_ids(first)?, self.plain_ids(second)?);
        let (keep_first, keep_second) = truncation::longest_first(first.len(), second.len(), limit);
        first.truncate(keep_first);
        second.truncate(keep_second);
        Ok(fill_template(&self.pair, &first, &second))
    }

    /// Ids of the text, of which no more than `limit` are wanted.
    fn limited_ids(&self, text: &str, limit: usize) -> Result<Vec<u32>> {
        let mut all = Vec::new();
        self.for_each_section(text, limit, &mut |ids| all.extend_from_slice(ids))?;
        all.truncate(limit);
        Ok(all)
    }

    /// Hands over the ids of word after word, until `limit` ids are known.
    fn for_each_section(
        &self,
        text: &str,
        limit: usize,
        emit: &mut impl FnMut(&[u32]),
    ) -> Result<()> {
        check_length(text)?;
        if self.is_doubtful(text)
            && let Some(library) = self.library()
        {
            emit(&library.plain_ids(text)?);
            return Ok(());
        }
        SCRATCH.with_borrow_mut(|scratch| {
            let mut left = limit;
            let mut rest = text;
            while left > 0 {
                let (section, added, tail) = self.split_at_added_token(rest);
                self.section_ids(section, scratch, &mut left, emit);
                let Some(id) = added else { break };
                if left > 0 {
                    emit(&[id]);
                    left -= 1;
                }
                rest = tail;
            }
        });
        Ok(())
    }

    /// Zero bytes end a lookup in the character map, whose behaviour inside a longer grapheme is
    /// best left to the crate.
    fn is_doubtful(&self, text: &str) -> bool {
        text.as_bytes().contains(&0)
    }

    /// The crate's tokenizer of the same file, loaded when first needed.
    fn library(&self) -> Option<&LibraryTokenizer> {
        let load = || {
            let json = std::fs::read(&self.file).ok()?;
            LibraryTokenizer::parse(&json)
                .inspect_err(|error| {
                    tracing::warn!(error, "the tokenizer file cannot be read again")
                })
                .ok()
        };
        self.library.get_or_init(load).as_ref()
    }

    /// Text before the first added token, that token's id, and the text after it.
    fn split_at_added_token<'a>(&self, text: &'a str) -> (&'a str, Option<u32>, &'a str) {
        for (position, _) in text.match_indices('<') {
            let (before, here) = text.split_at(position);
            if let Some((content, id)) = self
                .added
                .iter()
                .find(|(content, _)| here.starts_with(content.as_str()))
            {
                return (
                    before,
                    Some(*id),
                    here.get(content.len()..).unwrap_or_default(),
                );
            }
        }
        (text, None, "")
    }

    /// Normalises a section without added tokens and hands over the ids of each of its words.
    fn section_ids(
        &self,
        section: &str,
        scratch: &mut Scratch,
        left: &mut usize,
        emit: &mut impl FnMut(&[u32]),
    ) {
        let Scratch {
            normalized,
            steps,
            reversed,
        } = scratch;
        normalized.clear();
        self.map.normalize_into(section, normalized);
        if !normalized.text.is_empty() && !normalized.text.starts_with(METASPACE) {
            normalized.text.insert(0, METASPACE);
        }
        let mut rest = normalized.text.as_str();
        while !rest.is_empty() && *left > 0 {
            // Every word starts with a metaspace: the next one ends it.
            let end = memory_find(rest.as_bytes(), METASPACE.len_utf8());
            let (word, tail) = rest.split_at(end);
            self.best_path(word.as_bytes(), steps);
            read_back(steps, self.unknown_id, reversed);
            *left = left.saturating_sub(reversed.len());
            emit(reversed);
            rest = tail;
        }
        // A book in one line must not stay in every thread's memory.
        steps.shrink_to(SCRATCH_LIMIT);
        normalized.text.shrink_to(SCRATCH_LIMIT);
    }

    /// Viterbi: fills the best way to every character boundary of the word.
    fn best_path(&self, word: &[u8], steps: &mut Vec<Step>) {
        steps.clear();
        steps.resize(word.len() + 1, UNREACHED);
        if let Some(origin) = steps.first_mut() {
            origin.score = 0.0;
        }
        let mut start = 0;
        while let Some(lead) = word.get(start) {
            let width = character_width(*lead);
            let Some((here, targets)) = steps.get_mut(start..).and_then(<[Step]>::split_first_mut)
            else {
                return;
            };
            let mut single = false;
            let mut offer = |length: usize, score: f64, id: u32| {
                let candidate = here.score + score;
                if let Some(target) = targets.get_mut(length - 1)
                    && candidate > target.score
                {
                    *target = Step {
                        score: candidate,
                        start: start as u32,
                        id,
                    };
                }
            };
            self.trie
                .prefixes(word.get(start..).unwrap_or_default(), |length, id| {
                    single |= length == width;
                    offer(
                        length,
                        self.scores
                            .get(id as usize)
                            .copied()
                            .unwrap_or(self.unknown_score),
                        id,
                    );
                });
            if !single {
                offer(width, self.unknown_score, self.unknown_id);
            }
            start += width;
        }
    }
}

/// Position of the next metaspace at or after `from`, or the end.
fn memory_find(text: &[u8], from: usize) -> usize {
    let mut encoded = [0; 4];
    let needle = METASPACE.encode_utf8(&mut encoded).as_bytes();
    let tail = text.get(from..).unwrap_or_default();
    tail.windows(needle.len())
        .position(|window| window == needle)
        .map_or(text.len(), |position| from + position)
}

/// Follows the best path back to front and leaves its ids in order, neighbouring unknown characters
/// fused into one token.
fn read_back(steps: &[Step], unknown_id: u32, ids: &mut Vec<u32>) {
    ids.clear();
    let mut end = steps.len().saturating_sub(1);
    while end > 0 {
        let Some(step) = steps.get(end) else { break };
        if step.id != unknown_id || ids.last() != Some(&unknown_id) {
            ids.push(step.id);
        }
        if step.start as usize >= end {
            break;
        }
        end = step.start as usize;
    }
    ids.reverse();
}

/// Bytes of the character that starts with this byte.
fn character_width(lead: u8) -> usize {
    match lead {
        0..=0xbf => 1,
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        _ => 4,
    }
}

/// Number of special tokens in a template.
fn specials(template: &[TemplatePart]) -> usize {
    template
        .iter()
        .filter(|part| matches!(part, TemplatePart::Special { .. }))
        .count()
}

/// Joins special tokens and texts.
fn fill_template(template: &[TemplatePart], first: &[u32], second: &[u32]) -> EncodedText {
    let mut encoded = EncodedText::default();
    for part in template {
        let (ids, type_id) = match part {
            TemplatePart::Special { id, type_id } => (std::slice::from_ref(id), *type_id),
            TemplatePart::First { type_id } => (first, *type_id),
            TemplatePart::Second { type_id } => (second, *type_id),
        };
        encoded.ids.extend_from_slice(ids);
        encoded
            .type_ids
            .extend(std::iter::repeat_n(type_id, ids.len()));
    }
    encoded
}

/// Only a plain metaspace that is always put in front and splits words is known here.
fn check_pre_tokenizer(value: &Value) -> std::result::Result<(), String> {
    let plain = value["type"] == "Metaspace"
        && value["replacement"] == "▁"
        && value["add_prefix_space"] != false
        && (value["prepend_scheme"].is_null() || value["prepend_scheme"] == "always")
        && value["split"] != false;
    if plain {
        Ok(())
    } else {
        Err("the pre-tokenizer is not a plain metaspace".to_owned())
    }
}

/// The character map of a normaliser that consists of one and of collapsing spaces.
fn character_map(value: &Value) -> std::result::Result<CharacterMap, String> {
    let parts = value["normalizers"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let [precompiled, spaces] = parts else {
        return Err("the normalizer has other steps".to_owned());
    };
    let collapses = spaces["type"] == "Replace"
        && spaces["pattern"]["Regex"] == " {2,}"
        && spaces["content"] == " ";
    if precompiled["type"] != "Precompiled" || !collapses {
        return Err("the normalizer has other steps".to_owned());
    }
    let encoded = precompiled["precompiled_charsmap"]
        .as_str()
        .unwrap_or_default();
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(encoded)
        .map_err(|error| error.to_string())?;
    CharacterMap::parse(&bytes).ok_or_else(|| "the character map is damaged".to_owned())
}

/// Added tokens, longest first; only plain ones that start with `<` are known here.
fn added_tokens(tokens: Vec<AddedToken>) -> std::result::Result<Vec<(String, u32)>, String> {
    let plain = |token: &AddedToken| {
        !token.single_word
            && !token.lstrip
            && !token.rstrip
            && !token.normalized
            && token.content.starts_with('<')
    };
    if !tokens.iter().all(plain) {
        return Err("an added token has conditions".to_owned());
    }
    let mut added: Vec<(String, u32)> = tokens
        .into_iter()
        .map(|token| (token.content, token.id))
        .collect();
    added.sort_by_key(|(content, _)| std::cmp::Reverse(content.len()));
    Ok(added)
}

/// The templates for one text and for a pair.
fn templates(value: &Value) -> std::result::Result<(Vec<TemplatePart>, Vec<TemplatePart>), String> {
    if value["type"] != "TemplateProcessing" {
        return Err("the post-processor is not a template".to_owned());
    }
    let specials = &value["special_tokens"];
    let read = |name: &str| -> Option<Vec<TemplatePart>> {
        value[name]
            .as_array()?
            .iter()
            .map(|part| template_part(part, specials))
            .collect()
    };
    read("single")
        .zip(read("pair"))
        .ok_or_else(|| "the template has unknown parts".to_owned())
}

fn template_part(part: &Value, specials: &Value) -> Option<TemplatePart> {
    let type_of = |value: &Value| u32::try_from(value["type_id"].as_u64()?).ok();
    if let Some(sequence) = part.get("Sequence") {
        let type_id = type_of(sequence)?;
        return match sequence["id"].as_str()? {
            "A" => Some(TemplatePart::First { type_id }),
            "B" => Some(TemplatePart::Second { type_id }),
            _ => None,
        };
    }
    let special = part.get("SpecialToken")?;
    match specials[special["id"].as_str()?]["ids"]
        .as_array()?
        .as_slice()
    {
        [id] => Some(TemplatePart::Special {
            id: u32::try_from(id.as_u64()?).ok()?,
            type_id: type_of(special)?,
        }),
        _ => None,
    }
}
