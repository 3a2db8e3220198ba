//! Scores passages by the question's words they hold: BM25's saturation per term, weighted by how
//! rare the term is among the passages at hand, divided by what a perfect passage would get, plus a
//! share for words that stand together as in the question. Needs no model.

use crate::terms::terms;
use crate::{Reranker, Result};
use std::collections::{HashMap, HashSet};

/// BM25's term saturation and length normalisation (Robertson and Zaragoza 2009).
const SATURATION: f32 = 0.9;
const LENGTH_SHARE: f32 = 0.4;
/// Share of the score that neighbouring words decide.
const ADJACENCY_SHARE: f32 = 0.2;

/// The lexical reranker.
#[derive(Clone, Copy, Debug, Default)]
pub struct LexicalReranker;

impl Reranker for LexicalReranker {
    fn name(&self) -> &str {
        "lexical@1"
    }

    fn score(&self, query: &str, passages: &[&str]) -> Result<Vec<f32>> {
        let wanted = words(query);
        if wanted.is_empty() {
            return Ok(vec![0.0; passages.len()]);
        }
        let passages: Vec<Vec<String>> = passages.iter().map(|passage| words(passage)).collect();
        let weights = term_weights(&wanted, &passages);
        let mean_length =
            passages.iter().map(Vec::len).sum::<usize>() as f32 / passages.len().max(1) as f32;
        Ok(passages
            .iter()
            .map(|passage| score_passage(&wanted, &weights, passage, mean_length))
            .collect())
    }
}

/// Whole words of a text; single ideographs only where there is nothing else.
fn words(text: &str) -> Vec<String> {
    let all = terms(text);
    let any_word = all.iter().any(|term| term.is_word);
    all.into_iter()
        .filter(|term| term.is_word || !any_word)
        .map(|term| term.text)
        .collect()
}

/// Rarity of each wanted term among the passages (BM25's idf, always positive).
fn term_weights<'a>(wanted: &'a [String], passages: &[Vec<String>]) -> HashMap<&'a str, f32> {
    let mut holders: HashMap<&str, f32> = wanted.iter().map(|term| (term.as_str(), 0.0)).collect();
    for passage in passages {
        let distinct: HashSet<&str> = passage.iter().map(String::as_str).collect();
        for (term, count) in &mut holders {
            *count += f32::from(u8::from(distinct.contains(term)));
        }
    }
    let total = passages.len() as f32;
    holders
        .into_iter()
        .map(|(term, count)| (term, (1.0 + (total - count + 0.5) / (count + 0.5)).ln()))
        .collect()
}

fn score_passage(
    wanted: &[String],
    weights: &HashMap<&str, f32>,
    passage: &[String],
    mean_length: f32,
) -> f32 {
    let mut counts: HashMap<&str, f32> = HashMap::new();
    for term in passage {
        if let Some((term, _)) = weights.get_key_value(term.as_str()) {
            *counts.entry(term).or_default() += 1.0;
        }
    }
    let length = 1.0 - LENGTH_SHARE + LENGTH_SHARE * passage.len() as f32 / mean_length.max(1.0);
    let mut terms: Vec<(&str, f32)> = weights
        .iter()
        .map(|(term, weight)| (*term, *weight))
        .collect();
    terms.sort_by(|left, right| left.0.cmp(right.0));
    let (mut reached, mut best) = (0.0, 0.0);
    for (term, weight) in terms {
        let count = counts.get(term).copied().unwrap_or(0.0);
        reached += weight * count / (count + SATURATION * length);
        best += weight;
    }
    let coverage = if best > 0.0 { reached / best } else { 0.0 };
    ((1.0 - ADJACENCY_SHARE) * coverage + ADJACENCY_SHARE * adjacency(wanted, passage))
        .clamp(0.0, 1.0)
}

/// Share of the question's neighbouring pairs that are neighbours in the passage; a single word
/// counts as its own pair.
fn adjacency(wanted: &[String], passage: &[String]) -> f32 {
    let pairs: HashSet<(&str, &str)> = neighbours(wanted).collect();
    if pairs.is_empty() {
        return f32::from(u8::from(wanted.iter().any(|term| passage.contains(term))));
    }
    let found: HashSet<(&str, &str)> = neighbours(passage)
        .filter(|pair| pairs.contains(pair))
        .collect();
    found.len() as f32 / pairs.len() as f32
}

fn neighbours(words: &[String]) -> impl Iterator<Item = (&str, &str)> {
    words
        .iter()
        .zip(words.iter().skip(1))
        .map(|(left, right)| (left.as_str(), right.as_str()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_passage_that_answers_comes_first() {
        let passages = [
            "配置小区时先建立基站，再添加邻区。",
            "删除告警日志的方法",
            "邻区关系的配置：使用命令 ADD NRCELLRELATION 添加邻区关系。",
            "",
        ];
        let scores = LexicalReranker
            .score("如何配置邻区关系 ADD NRCELLRELATION", &passages)
            .unwrap();
        let best = (0..4).max_by(|left, right| scores[*left].total_cmp(&scores[*right]));
        assert_eq!(best, Some(2));
        assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)));
        assert_eq!(scores[3], 0.0);
    }

    #[test]
    fn degenerate_inputs_give_zero() {
        assert_eq!(LexicalReranker.score("", &["a"]).unwrap(), [0.0]);
        assert!(LexicalReranker.score("a", &[]).unwrap().is_empty());
        assert!(LexicalReranker.score("水", &["水"]).unwrap()[0] > 0.5);
    }
}
