//! How well signatures find near-duplicates, on real documents of several languages: 1 000 of them,
//! and copies of a tenth with 5 % of their words changed. `cargo test --release -p tributary-ingest
//! --test near_duplicates -- --nocapture` prints the figures.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use tributary_ingest::similarity::{SHINGLE_TOKENS, signature};
use tributary_schemas::DocumentHeader;
use tributary_schemas::near_duplicate::Signature;
use tributary_taxonomy::fold;

const DOCUMENTS: usize = 1000;
const COPIES: usize = 100;
/// As in `cli/default.toml`.
const THRESHOLD: f32 = 0.5;
/// Similarity of two texts that differ in a tenth of their words: .9⁵ / (2 - .9⁵). Less similar
/// ones are no near-duplicates.
const TENTH_CHANGED: f32 = 0.42;

fn shared() -> PathBuf {
    std::env::var_os("TRIBUTARY_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"),
        PathBuf::from,
    )
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            files(&path, found);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "md" || extension == "rst")
        {
            found.push(path);
        }
    }
}

/// Manual pages in English and Chinese, then pages of a corpus, each long enough to be compared;
/// none twice.
fn documents() -> Vec<String> {
    let mut found = Vec::new();
    ["mindspore", "wireless-docs", "os-textbook", "docs"]
        .iter()
        .for_each(|part| files(&shared().join("data").join(part), &mut found));
    found.sort();
    let mut texts: Vec<String> = found
        .iter()
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .collect();
    let corpus = std::fs::read_to_string(shared().join("data/wireless-zh/corpus.jsonl"))
        .ok()
        .unwrap_or_default();
    for line in corpus.lines() {
        let passage: serde_json::Value = serde_json::from_str(line).unwrap();
        texts.push(passage.get("text").unwrap().as_str().unwrap().to_owned());
    }
    let mut seen = HashSet::new();
    texts.retain(|text| words(text).len() >= 100 && seen.insert(text.clone()));
    texts.truncate(DOCUMENTS);
    texts
}

/// Pieces of a text, which joined give it again, and whether each is a word: a run of letters and
/// digits, or two Chinese characters.
fn pieces(text: &str) -> Vec<(String, bool)> {
    let kind = |character: char| match character {
        '\u{3400}'..='\u{9FFF}' => 2,
        other if other.is_alphanumeric() || other == '_' => 1,
        _ => 0,
    };
    let mut pieces: Vec<(String, u8)> = Vec::new();
    for character in text.chars() {
        match pieces.last_mut() {
            Some((piece, last))
                if *last == kind(character) && (*last != 2 || piece.chars().count() < 2) =>
            {
                piece.push(character)
            }
            _ => pieces.push((character.to_string(), kind(character))),
        }
    }
    pieces
        .into_iter()
        .map(|(piece, kind)| (piece, kind > 0))
        .collect()
}

fn words(text: &str) -> Vec<String> {
    pieces(text)
        .into_iter()
        .filter(|(_, is_word)| *is_word)
        .map(|(piece, _)| piece)
        .collect()
}

fn random(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// The text with 5 % of its words replaced by other words of `vocabulary`.
fn perturbed(text: &str, vocabulary: &[String], state: &mut u64) -> String {
    let change =
        |(piece, is_word): (String, bool)| match is_word && random(state).is_multiple_of(20) {
            true => vocabulary[random(state) as usize % vocabulary.len()].clone(),
            false => piece,
        };
    pieces(text).into_iter().map(change).collect()
}

/// Runs of five tokens, written anew: words, and single characters of Chinese.
fn shingles(text: &str) -> HashSet<Vec<String>> {
    let is_han = |character: char| matches!(character, '\u{3400}'..='\u{9FFF}');
    let mut tokens: Vec<String> = Vec::new();
    let mut joined = false;
    for character in fold(text).chars() {
        let is_word = character.is_alphanumeric() || character == '_';
        match tokens.last_mut() {
            Some(token) if is_word && joined && !is_han(character) => token.push(character),
            _ if is_word => tokens.push(character.to_string()),
            _ => {}
        }
        joined = is_word && !is_han(character);
    }
    tokens
        .windows(SHINGLE_TOKENS)
        .map(<[String]>::to_vec)
        .collect()
}

fn jaccard(left: &HashSet<Vec<String>>, right: &HashSet<Vec<String>>) -> f32 {
    let common = left.intersection(right).count() as f32;
    common / (left.len() as f32 + right.len() as f32 - common)
}

/// Pairs that share a term of the manifest and are similar enough, as the index and the query
/// server find them.
fn pairs_found(headers: &[DocumentHeader]) -> BTreeSet<(usize, usize)> {
    let mut by_term: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (number, header) in headers.iter().enumerate() {
        header
            .band_terms()
            .into_iter()
            .for_each(|term| by_term.entry(term).or_default().push(number));
    }
    let signatures: Vec<Option<Signature>> = headers
        .iter()
        .map(|header| Signature::decode(&header.signature).ok())
        .collect();
    let mut found = BTreeSet::new();
    for numbers in by_term.values() {
        for (place, left) in numbers.iter().enumerate() {
            found.extend(numbers.iter().skip(place + 1).map(|right| (*left, *right)));
        }
    }
    let similar = |left: usize, right: usize| match (&signatures[left], &signatures[right]) {
        (Some(left), Some(right)) => left.similarity(right) >= THRESHOLD,
        _ => false,
    };
    found.retain(|(left, right)| similar(*left, *right));
    found
}

fn cpu_ms(work: impl FnOnce()) -> f64 {
    let now = || -> f64 {
        let account = std::fs::read_to_string("/proc/thread-self/schedstat")
            .ok()
            .unwrap_or_default();
        account
            .split_whitespace()
            .next()
            .and_then(|nanoseconds| nanoseconds.parse().ok())
            .unwrap_or(0.0)
    };
    let before = now();
    work();
    (now() - before) / 1e6
}

#[test]
fn changed_copies_are_found_and_little_else() {
    let originals = documents();
    if originals.len() < DOCUMENTS {
        eprintln!(
            "SKIPPED: {} documents below {}, {DOCUMENTS} are needed",
            originals.len(),
            shared().display()
        );
        return;
    }
    let vocabulary: Vec<String> = originals
        .iter()
        .step_by(7)
        .flat_map(|text| words(text).into_iter().take(200))
        .collect();
    let mut state = 11;
    let copied: Vec<usize> = (0..COPIES)
        .map(|copy| copy * (DOCUMENTS / COPIES))
        .collect();
    let mut texts = originals.clone();
    texts.extend(
        copied
            .iter()
            .map(|number| perturbed(&originals[*number], &vocabulary, &mut state)),
    );
    let mut headers: Vec<DocumentHeader> = Vec::new();
    let cpu = cpu_ms(|| {
        headers.extend(texts.iter().map(|text| DocumentHeader {
            signature: signature(text),
            ..DocumentHeader::default()
        }));
    });
    let found = pairs_found(&headers);
    let made: BTreeSet<(usize, usize)> = copied
        .iter()
        .enumerate()
        .map(|(copy, number)| (*number, DOCUMENTS + copy))
        .collect();
    // Real corpora have near-duplicates of their own: a found pair is right if it was made, or if
    // its exact similarity says so.
    let sets: Vec<HashSet<Vec<String>>> = texts.iter().map(|text| shingles(text)).collect();
    let exact = |pair: &(usize, usize)| jaccard(&sets[pair.0], &sets[pair.1]);
    let right = found
        .iter()
        .filter(|pair| made.contains(*pair) || exact(pair) >= TENTH_CHANGED)
        .count();
    let (precision, recall) = (
        right as f32 / found.len() as f32,
        found.intersection(&made).count() as f32 / made.len() as f32,
    );
    let own = found.difference(&made).count();
    let similarity = made.iter().map(exact).sum::<f32>() / made.len() as f32;
    let (per_document, characters) = (
        cpu / texts.len() as f64,
        texts.iter().map(|text| text.chars().count()).sum::<usize>() / texts.len(),
    );
    eprintln!(
        "{} documents of {characters} characters, {COPIES} of them copies with 5 % of the words changed (mean similarity {similarity:.2})",
        texts.len()
    );
    eprintln!(
        "pairs found {}, of them the corpus' own {own}: precision {precision:.3}, recall {recall:.3}, {per_document:.3} ms CPU a document",
        found.len()
    );
    assert!(precision >= 0.98, "precision {precision}");
    assert!(recall >= 0.95, "recall {recall}");
    assert!(per_document <= 1.0, "{per_document} ms CPU a document");
}
