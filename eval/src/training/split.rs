//! Which part of the data a document belongs to. Documents that are nearly the same go together, so
//! that nothing that is tested was trained on.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::{Pair, chance};

/// A part of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// What a model learns from.
    Train,
    /// What settings are chosen by.
    Dev,
    /// What it is judged by.
    Test,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Train, Self::Dev, Self::Test];

    /// The name of its file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Dev => "dev",
            Self::Test => "test",
        }
    }
}

/// Shares of the questions, 0 to 1 together; the rest is for training.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    /// Of [`Part::Dev`].
    pub dev: f64,
    /// Of [`Part::Test`].
    pub test: f64,
}

/// Document id → part. Families of documents are put in an order by chance; the first ones are for
/// testing, until they have its share of the questions, the next ones for development.
pub fn split(pairs: &[Pair], shares: Shares, seed: u64) -> HashMap<String, Part> {
    let families = families(pairs);
    let mut questions: BTreeMap<&str, usize> = BTreeMap::new();
    for pair in pairs {
        *questions
            .entry(family_of(&families, &pair.document_id))
            .or_default() += 1;
    }
    let mut order: Vec<(&str, usize)> = questions.into_iter().collect();
    order.sort_by_key(|(family, _)| chance(seed, family));
    let wanted = |share: f64| (pairs.len() as f64 * share).round() as usize;
    let (test, dev) = (wanted(shares.test), wanted(shares.dev));
    let (mut of_test, mut of_dev) = (0, 0);
    let mut parts: HashMap<&str, Part> = HashMap::new();
    for (family, count) in order {
        let part = if of_test < test {
            of_test += count;
            Part::Test
        } else if of_dev < dev {
            of_dev += count;
            Part::Dev
        } else {
            Part::Train
        };
        parts.insert(family, part);
    }
    let part_of = |family: &String| parts.get(family.as_str()).copied();
    let documents = families.iter();
    documents
        .filter_map(|(document, family)| Some((document.clone(), part_of(family)?)))
        .collect()
}

fn family_of<'a>(families: &'a HashMap<String, String>, document: &'a str) -> &'a str {
    families.get(document).map_or(document, String::as_str)
}

/// Document id → the least id of all documents that near-duplicates join it with.
fn families(pairs: &[Pair]) -> HashMap<String, String> {
    let mut leader: HashMap<String, String> = HashMap::new();
    for pair in pairs {
        let mut least = find(&mut leader, &pair.document_id);
        for member in &pair.family {
            let other = find(&mut leader, member);
            let (low, high) = if other < least {
                (other, least)
            } else {
                (least, other)
            };
            leader.insert(high, low.clone());
            least = low;
        }
    }
    let documents: Vec<String> = leader.keys().cloned().collect();
    let found = documents.into_iter().map(|document| {
        let least = find(&mut leader, &document);
        (document, least)
    });
    found.collect()
}

/// Who stands for a document at the end of the chain; makes the chain short.
fn find(leader: &mut HashMap<String, String>, document: &str) -> String {
    let mut last = document.to_owned();
    while let Some(next) = leader.get(&last).filter(|next| **next != last) {
        last = next.clone();
    }
    leader.insert(document.to_owned(), last.clone());
    last
}

#[cfg(test)]
mod tests {
    use super::super::samples::pair;
    use super::*;

    const SHARES: Shares = Shares {
        dev: 0.1,
        test: 0.2,
    };

    #[test]
    fn documents_are_split_as_a_whole_and_the_same_way_each_time() {
        let pairs: Vec<Pair> = (0..200_u8)
            .map(|number| pair("?", number, &format!("d{}", number % 50)))
            .collect();
        let parts = split(&pairs, SHARES, 7);
        assert_eq!(parts.len(), 50);
        let of = |part| {
            let pairs = pairs.iter();
            pairs
                .filter(|pair| parts.get(&pair.document_id) == Some(&part))
                .count()
        };
        assert_eq!(
            (of(Part::Test), of(Part::Dev), of(Part::Train)),
            (40, 20, 140)
        );
        assert_eq!(split(&pairs, SHARES, 7), parts);
        assert_ne!(split(&pairs, SHARES, 8), parts);
    }

    #[test]
    fn near_duplicates_go_together_also_through_others() {
        for seed in 0..20 {
            let mut pairs: Vec<Pair> = (0..40_u8)
                .map(|number| pair("?", number, &format!("d{number}")))
                .collect();
            for (document, other) in [(30, "d20"), (20, "d10"), (25, "d30"), (25, "unasked")] {
                if let Some(pair) = pairs.get_mut(document) {
                    pair.family.push(other.to_owned());
                }
            }
            let parts = split(&pairs, SHARES, seed);
            let family = ["d10", "d20", "d25", "d30", "unasked"].map(|id| parts.get(id));
            assert!(
                family
                    .iter()
                    .all(|part| part.is_some() && *part == family[0]),
                "{family:?}"
            );
        }
    }
}
