//! How long questions are: bounds for each, and a balance over all, so that a model does not learn
//! to prefer one length.

use std::collections::{BTreeMap, HashSet};

use super::super::{Length, Pair, chance, half_words};

/// Whether a question is too short or too long.
pub fn out_of_bounds(question: &str, (shortest, longest): (usize, usize)) -> Option<String> {
    match half_words(question) {
        length if length < shortest => Some("too short".to_owned()),
        length if length > longest => Some("too long".to_owned()),
        _ => None,
    }
}

/// Positions of the questions that are too many of one length: chosen by chance until no length has
/// more than this share, but never more than half of those: few questions of other lengths are no
/// reason to lose nearly all. Where all have one length there is nothing to balance.
pub fn surplus(pairs: &[Pair], longest_share: f64, seed: u64) -> HashSet<usize> {
    let mut by_length: BTreeMap<Length, Vec<usize>> = BTreeMap::new();
    for (at, pair) in pairs.iter().enumerate() {
        by_length
            .entry(Length::of(&pair.question))
            .or_default()
            .push(at);
    }
    let Some(most) = by_length.values().max_by_key(|positions| positions.len()) else {
        return HashSet::new();
    };
    let others = pairs.len() - most.len();
    if others == 0 || longest_share >= 1.0 {
        return HashSet::new();
    }
    // Only one length can have more than half, and no share below that is taken.
    let share = longest_share.max(0.5);
    let balanced = (others as f64 * share / (1.0 - share)).ceil() as usize;
    let kept = balanced.max(most.len().div_ceil(2));
    let mut most = most.clone();
    let question = |at: &usize| pairs.get(*at).map_or("", |pair| &pair.question);
    most.sort_by_key(|at| chance(seed, question(at)));
    most.into_iter().skip(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::samples::pair;
    use super::*;

    #[test]
    fn no_length_has_more_than_its_share() {
        let mut pairs: Vec<Pair> = (0..80)
            .map(|at| pair(&format!("短问题{at}"), 1, "d"))
            .collect();
        let long = |at| pair(&format!("{}{at}", "长".repeat(40)), 1, "d");
        pairs.extend((0..20).map(long));
        let dropped = surplus(&pairs, 0.7, 3);
        assert_eq!(dropped.len(), 33, "47 of 67 are short then");
        assert!(dropped.iter().all(|at| *at < 80));
        assert_eq!(surplus(&pairs, 0.7, 3), dropped);
        assert_eq!(surplus(&pairs, 0.6, 3).len(), 40, "half at most");
        assert!(surplus(&pairs, 0.9, 3).is_empty());
        assert!(surplus(pairs.get(..80).unwrap_or_default(), 0.6, 3).is_empty());
    }
}
