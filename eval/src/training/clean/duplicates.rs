//! Near-duplicates of questions, by MinHash (Broder 1997): signatures say which questions may be the
//! same, and the shingles of those are compared exactly. The signatures of documents need twenty
//! runs of five words, which a question does not have; here shingles are three characters.

use std::collections::{BTreeSet, HashMap};

use tributary_schemas::near_duplicate::{BAND_LENGTH, SIGNATURE_LENGTH, Signature};
use tributary_taxonomy::fold;

/// Characters of a shingle.
const SHINGLE: usize = 3;

type Shingles = BTreeSet<u32>;

/// Questions that were seen.
pub struct Seen {
    similarity: f64,
    questions: Vec<(String, Shingles)>,
    /// Band and its hashes → questions.
    bands: HashMap<(usize, Vec<u32>), Vec<usize>>,
}

impl Seen {
    /// None yet. Two questions are the same from this Jaccard similarity of their shingles on.
    pub fn new(similarity: f64) -> Self {
        Self {
            similarity,
            questions: Vec::new(),
            bands: HashMap::new(),
        }
    }

    /// Adds a question, unless one was seen that is nearly the same: that one is given then.
    pub fn add(&mut self, question: &str) -> Option<String> {
        let shingles = shingles(question);
        let signature = signature(&shingles);
        let bands = || {
            signature
                .0
                .chunks(BAND_LENGTH)
                .map(<[u32]>::to_vec)
                .enumerate()
        };
        let candidates: BTreeSet<usize> = bands()
            .filter_map(|band| self.bands.get(&band))
            .flatten()
            .copied()
            .collect();
        let mut candidates = candidates.iter().filter_map(|at| self.questions.get(*at));
        let is_same = |known: &&(String, Shingles)| jaccard(&known.1, &shingles) >= self.similarity;
        if let Some((known, _)) = candidates.find(is_same) {
            return Some(known.clone());
        }
        for band in bands() {
            self.bands
                .entry(band)
                .or_default()
                .push(self.questions.len());
        }
        self.questions.push((question.to_owned(), shingles));
        None
    }
}

/// Hashes of all runs of letters and digits of the folded question; of what is shorter, all of it.
fn shingles(question: &str) -> Shingles {
    let folded = fold(question);
    let signs: Vec<u32> = folded
        .chars()
        .filter(|sign| sign.is_alphanumeric())
        .map(u32::from)
        .collect();
    let hash = |run: &[u32]| {
        let joined = run
            .iter()
            .fold(0, |joined, sign| mix(joined ^ u64::from(*sign)));
        (joined >> 32) as u32
    };
    match signs.len() < SHINGLE {
        true => Shingles::from([hash(&signs)]),
        false => signs.windows(SHINGLE).map(hash).collect(),
    }
}

fn signature(shingles: &Shingles) -> Signature {
    let mut least = [u32::MAX; SIGNATURE_LENGTH];
    for (function, least) in (1_u64..).zip(&mut least) {
        let seed = mix(function);
        let hashes = shingles
            .iter()
            .map(|shingle| (mix(seed ^ u64::from(*shingle)) >> 32) as u32);
        *least = hashes.min().unwrap_or(u32::MAX);
    }
    Signature(least)
}

fn jaccard(left: &Shingles, right: &Shingles) -> f64 {
    let common = left.intersection(right).count();
    common as f64 / (left.len() + right.len() - common).max(1) as f64
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014) after a step of its counter.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_that_differ_in_signs_and_case_are_the_same() {
        let mut seen = Seen::new(0.8);
        let questions = [
            ("How many component carriers can be aggregated?", None),
            ("how many component carriers can be aggregated", Some(0)),
            ("How many component carriers may be configured?", None),
            ("載波聚合最多支持幾個載波", None),
            ("载波聚合最多支持几个载波？", Some(3)),
            ("载波聚合最少支持几个频段？", None),
            ("CA", None),
            ("ca?", Some(6)),
        ];
        for (question, same) in questions {
            let expected = same
                .and_then(|at: usize| questions.get(at))
                .map(|(text, _)| *text);
            assert_eq!(seen.add(question).as_deref(), expected, "{question}");
        }
    }

    #[test]
    fn bands_find_what_is_similar_enough() {
        let mut missed = 0;
        for number in 0..200_u32 {
            let words =
                |from: u32| (from..from + 9).map(|at| format!("w{:x}", at * 7919 + number * 31));
            let first: Vec<String> = words(number).collect();
            let second = [first.as_slice(), &["end".to_owned()]].concat();
            let (first, second) = (first.join(" "), second.join(" "));
            assert!(jaccard(&shingles(&first), &shingles(&second)) >= 0.8);
            let mut seen = Seen::new(0.8);
            seen.add(&first);
            missed += usize::from(seen.add(&second).is_none());
        }
        assert_eq!(missed, 0);
    }
}
