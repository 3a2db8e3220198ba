//! What near-duplicates are found by: the MinHash signature of a text, and the hash that exact
//! duplicates share.
//!
//! Signatures lie in indexes and logs, so what is computed here is a format: a change makes old and
//! new ones incomparable. The test `signatures_are_what_they_were` holds it.

use tributary_schemas::near_duplicate::{SIGNATURE_LENGTH, Signature};
use tributary_schemas::{Attributes, CleanDocument};
use tributary_taxonomy::{ChunkStrategy, fold};

use crate::fingerprint;

/// Tokens in a row that make one shingle.
pub const SHINGLE_TOKENS: usize = 5;

/// Texts of fewer shingles have no signature: in twenty shingles one changed word already counts
/// for a quarter.
pub const LEAST_SHINGLES: usize = 20;

/// The functions h(x) = a·x + b mod 2³² (a odd: a permutation), by place: all a, all b.
const FUNCTIONS: [[u32; SIGNATURE_LENGTH]; 2] = functions();

/// The signature as a header carries it; empty for a text that is too short to be compared.
pub fn signature(text: &str) -> String {
    minimums(text)
        .map(|signature| signature.encode())
        .unwrap_or_default()
}

/// The MinHash signature over all runs of [`SHINGLE_TOKENS`] tokens of the folded text; `None` for
/// fewer than [`LEAST_SHINGLES`]. A token is a word, or one character of a script without spaces;
/// case, width and traditional characters make no difference.
pub fn minimums(text: &str) -> Option<Signature> {
    let shingles = shingles(&fold(text));
    if shingles.len() < LEAST_SHINGLES {
        return None;
    }
    let [factors, terms] = &FUNCTIONS;
    let mut least = [u32::MAX; SIGNATURE_LENGTH];
    for shingle in shingles {
        for ((least, factor), term) in least.iter_mut().zip(factors).zip(terms) {
            *least = (*least).min(factor.wrapping_mul(shingle).wrapping_add(*term));
        }
    }
    Some(Signature(least))
}

/// Hashes of all runs of tokens, repeated ones included.
fn shingles(folded: &str) -> Vec<u32> {
    let tokens = tokens(folded);
    let join = |run: &[u64]| {
        let joined = run
            .iter()
            .fold(0_u64, |joined, token| mix(joined.rotate_left(17) ^ token));
        (joined >> 32) as u32
    };
    tokens.windows(SHINGLE_TOKENS).map(join).collect()
}

/// Hashes of the tokens, in order.
fn tokens(folded: &str) -> Vec<u64> {
    let mut tokens = Vec::with_capacity(folded.len() / 4);
    let mut word = Fnv::default();
    let mut in_word = false;
    for character in folded.chars() {
        let stands_alone = !character.is_ascii() && is_without_spaces(character);
        let continues = !stands_alone && (character.is_alphanumeric() || character == '_');
        if continues {
            word.add(character);
            in_word = true;
            continue;
        }
        if std::mem::take(&mut in_word) {
            tokens.push(std::mem::take(&mut word).finish());
        }
        if stands_alone {
            let mut alone = Fnv::default();
            alone.add(character);
            tokens.push(alone.finish());
        }
    }
    if in_word {
        tokens.push(word.finish());
    }
    tokens
}

/// Scripts whose words are written without spaces between them.
fn is_without_spaces(character: char) -> bool {
    matches!(character,
        '\u{3041}'..='\u{30FA}' | '\u{30FC}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}'
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{323AF}' | '〇'
        | '\u{0E01}'..='\u{0E4E}' | '\u{0E81}'..='\u{0ECD}' | '\u{1000}'..='\u{1049}' | '\u{1780}'..='\u{17D3}')
}

/// FNV-1a over code points, 64 bits, and a final mix: short, and the same on every machine.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, character: char) {
        self.0 = (self.0 ^ u64::from(u32::from(character))).wrapping_mul(0x0000_0100_0000_01b3);
    }

    fn finish(self) -> u64 {
        mix(self.0)
    }
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): every bit depends on every bit.
const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

const fn functions() -> [[u32; SIGNATURE_LENGTH]; 2] {
    let mut functions = [[0; SIGNATURE_LENGTH]; 2];
    let mut place = 0;
    while place < SIGNATURE_LENGTH {
        let bits = mix((place as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        functions[0][place] = (bits >> 32) as u32 | 1;
        functions[1][place] = bits as u32;
        place += 1;
    }
    functions
}

/// BLAKE3 in hexadecimal over all that a reader sees of a document and all that a filter asks of
/// it, but for what duplicates may differ in: id, version, source and path, link, tags, knowledge
/// sets, times. Two documents of the same hash are exact duplicates.
pub fn content_hash(clean: &CleanDocument, chunker: ChunkStrategy) -> String {
    let document = &clean.document;
    let attributes = Attributes {
        link: None,
        created_at: None,
        updated_at: None,
        ..document.attributes.clone()
    };
    let mut hasher = blake3::Hasher::new();
    let mut part = |bytes: &[u8]| {
        // Length first, so that moving a character from one part to the next changes the hash.
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    for text in [clean.markdown.as_str(), &document.title, chunker.as_str()] {
        part(text.as_bytes());
    }
    for value in [
        fingerprint::json(&attributes),
        fingerprint::json(&clean.images),
        fingerprint::json(&clean.page_starts),
    ] {
        part(&value);
    }
    hasher.finalize().to_hex().to_string()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::HashSet;

    use tributary_schemas::DocumentHeader;

    use super::*;

    /// A text of `words` words that a seed gives.
    fn text(seed: u64, words: usize) -> Vec<String> {
        (0..words as u64)
            .map(|place| format!("w{}", mix(seed << 32 | place) % 5000))
            .collect()
    }

    fn jaccard(left: &str, right: &str) -> f32 {
        let [left, right] =
            [left, right].map(|text| shingles(text).into_iter().collect::<HashSet<u32>>());
        left.intersection(&right).count() as f32 / left.union(&right).count() as f32
    }

    #[test]
    fn the_estimate_is_as_near_as_128_values_can_be() {
        let (mut error, mut pairs) = (0.0, 0.0);
        for seed in 0..40 {
            let words = text(seed, 600);
            let mut changed = words.clone();
            changed
                .iter_mut()
                .step_by(7 + seed as usize)
                .for_each(|word| word.push('x'));
            let (left, right) = (words.join(" "), changed.join(" "));
            let estimate = minimums(&left)
                .unwrap()
                .similarity(&minimums(&right).unwrap());
            error += (estimate - jaccard(&left, &right)).abs();
            pairs += 1.0;
        }
        // The mean of |x - p| for a binomial share of 128 is .8 of its standard deviation, at most
        // .035.
        assert!(error / pairs < 0.035, "mean error {}", error / pairs);
    }

    #[test]
    fn unrelated_texts_share_nothing() {
        let [left, right] = [1, 2].map(|seed| minimums(&text(seed, 500).join(" ")).unwrap());
        assert!(left.similarity(&right) < 0.03);
    }

    #[test]
    fn spelling_in_other_characters_makes_no_difference() {
        let simplified = "载波聚合是将多个载波聚合起来使用的技术，可以提高用户的峰值速率。LTE Advanced 引入了它。";
        let traditional = "載波聚合是將多個載波聚合起來使用的技術，可以提高用戶的峰值速率。ＬＴＥ　advanced 引入了它。";
        assert_eq!(
            minimums(simplified).unwrap(),
            minimums(traditional).unwrap()
        );
    }

    #[test]
    fn a_word_is_a_token_and_so_is_a_chinese_character() {
        assert_eq!(
            tokens("ab_c 1.2 载波c"),
            ["ab_c", "1", "2", "载", "波", "c"].map(|token| tokens(token)[0])
        );
        assert!(tokens(" .。").is_empty());
    }

    #[test]
    fn short_texts_have_no_signature() {
        let least = LEAST_SHINGLES + SHINGLE_TOKENS - 1;
        assert_eq!(signature(&text(3, least - 1).join(" ")), "");
        assert!(!signature(&text(3, least).join(" ")).is_empty());
        assert_eq!(signature(""), "");
    }

    /// See the head of the file.
    #[test]
    fn signatures_are_what_they_were() {
        let sample = "Carrier aggregation joins several carriers. 载波聚合把多个载波合在一起使用，以提高峰值速率。";
        let Signature(values) = minimums(sample).unwrap();
        assert_eq!(
            values.iter().take(4).copied().collect::<Vec<_>>(),
            [69_002_451, 252_179_046, 159_763_522, 248_096_701]
        );
    }

    #[test]
    fn only_what_nobody_sees_and_no_filter_asks_may_differ() {
        let base = CleanDocument {
            markdown: "text".into(),
            ..CleanDocument::default()
        };
        let hash = |change: &dyn Fn(&mut CleanDocument)| {
            let mut changed = base.clone();
            change(&mut changed);
            content_hash(&changed, ChunkStrategy::Sections)
        };
        let same: [&dyn Fn(&mut CleanDocument); 5] = [
            &|clean| {
                clean.document = DocumentHeader {
                    document_id: "b".into(),
                    version: 2,
                    source: "s".into(),
                    ..DocumentHeader::default()
                }
            },
            &|clean| clean.document.source_path = "p".into(),
            &|clean| clean.document.tags.push("t".into()),
            &|clean| clean.document.knowledge_sets.push("k".into()),
            &|clean| {
                (
                    clean.document.attributes.link,
                    clean.document.attributes.updated_at,
                ) = (Some("l".into()), Some(1))
            },
        ];
        let other: [&dyn Fn(&mut CleanDocument); 7] = [
            &|clean| clean.markdown.push('x'),
            &|clean| clean.document.title.push('x'),
            &|clean| clean.document.attributes.security_level = Some(1),
            &|clean| clean.document.attributes.department = Some("d".into()),
            &|clean| clean.document.attributes.product_version = Some("v".into()),
            &|clean| clean.page_starts.push(0),
            &|clean| {
                clean
                    .document
                    .attributes
                    .custom
                    .extend([("region".to_owned(), "eu".to_owned())])
            },
        ];
        let original = hash(&|_| {});
        same.iter()
            .for_each(|change| assert_eq!(hash(change), original));
        other
            .iter()
            .for_each(|change| assert_ne!(hash(change), original));
        assert_ne!(content_hash(&base, ChunkStrategy::Whole), original);
    }
}
