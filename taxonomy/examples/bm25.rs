//! How well BM25 alone finds passages with this analyzer: nDCG@10, recall@10 and MRR@10 over
//! folders in BEIR layout. Run: `cargo run --release -p tributary-taxonomy --example bm25 --
//! FOLDER…`; a folder may be written `FOLDER:queries_simplified.jsonl:qrels.tsv` to take other
//! files of it. `SWITCH=stems,subwords,guessing` turns those settings from the default to the other
//! value.
#![allow(clippy::print_stdout)]

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::path::Path;

use tributary_taxonomy::{Analyzer, AnalyzerConfig, Lexicon};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let switched = std::env::var("SWITCH").ok().unwrap_or_default();
    let is_switched = |name: &str| switched.split(',').any(|switch| switch == name);
    let config = AnalyzerConfig {
        guess_words: is_switched("guessing"),
        sub_words: is_switched("subwords"),
        term_words: is_switched("termwords"),
        english_stems: !is_switched("stems"),
    };
    let analyzer = Analyzer::new(&config, Lexicon::empty())?;
    println!(
        "| set | k1 | R@10 | R@20 | MRR@10 | nDCG@10 | tokens |\n|---|---|---|---|---|---|---|"
    );
    for argument in std::env::args().skip(1) {
        let mut parts = argument.split(':');
        let folder = Path::new(parts.next().unwrap_or_default());
        let queries = folder.join(parts.next().unwrap_or("queries.jsonl"));
        let judgements = folder.join(parts.next().unwrap_or("qrels.tsv"));
        let index = Index::build(&analyzer, &folder.join("corpus.jsonl"))?;
        let queries = read_texts(&queries)?;
        let judgements = read_judgements(&judgements)?;
        for k1 in [1.2, 1.5] {
            let scores = evaluate(&analyzer, &index, &queries, &judgements, k1);
            let [recall_10, recall_20, reciprocal_rank, gain] = scores;
            println!(
                "| {argument} | {k1} | {recall_10:.4} | {recall_20:.4} | {reciprocal_rank:.4} | {gain:.4} | {} |",
                index.tokens
            );
        }
    }
    Ok(())
}

/// Postings of every token, and what BM25 has to know of each passage.
struct Index {
    ids: Vec<String>,
    lengths: Vec<f64>,
    postings: HashMap<String, Vec<(usize, f64)>>,
    tokens: usize,
}

impl Index {
    fn build(analyzer: &Analyzer, corpus: &Path) -> Outcome<Self> {
        let mut index = Self {
            ids: Vec::new(),
            lengths: Vec::new(),
            postings: HashMap::new(),
            tokens: 0,
        };
        for (id, text) in read_texts(corpus)? {
            let mut counts: BTreeMap<String, f64> = BTreeMap::new();
            let tokens = analyzer.analyze(&text);
            index.tokens += tokens.len();
            index.lengths.push(tokens.len() as f64);
            for token in tokens {
                *counts.entry(token).or_default() += 1.0;
            }
            for (token, count) in counts {
                index
                    .postings
                    .entry(token)
                    .or_default()
                    .push((index.ids.len(), count));
            }
            index.ids.push(id);
        }
        Ok(index)
    }

    /// BM25 as Lucene computes it (without the constant factor k1 + 1), b = 0.75; best first, ties
    /// by position.
    fn search(&self, tokens: &[String], k1: f64) -> Vec<usize> {
        let documents = self.ids.len() as f64;
        let mean_length = self.lengths.iter().sum::<f64>() / documents;
        let mut scores = vec![0.0; self.ids.len()];
        for postings in tokens.iter().filter_map(|token| self.postings.get(token)) {
            let frequency = postings.len() as f64;
            let rarity = (1.0 + (documents - frequency + 0.5) / (frequency + 0.5)).ln();
            for (document, count) in postings {
                scores[*document] += rarity * count
                    / (count + k1 * (0.25 + 0.75 * self.lengths[*document] / mean_length));
            }
        }
        let mut ranked: Vec<usize> = (0..scores.len())
            .filter(|document| scores[*document] > 0.0)
            .collect();
        ranked.sort_by(|left, right| scores[*right].total_cmp(&scores[*left]));
        ranked.truncate(20);
        ranked
    }
}

/// Means over queries of recall@10, recall@20, MRR@10, binary nDCG@10.
fn evaluate(
    analyzer: &Analyzer,
    index: &Index,
    queries: &[(String, String)],
    judgements: &HashMap<String, Vec<String>>,
    k1: f64,
) -> [f64; 4] {
    let mut sums = [0.0; 4];
    let mut judged = 0.0;
    for (id, text) in queries {
        let Some(relevant) = judgements.get(id) else {
            continue;
        };
        judged += 1.0;
        let ranked = index.search(&analyzer.analyze(text), k1);
        let hits: Vec<bool> = ranked
            .iter()
            .map(|document| relevant.contains(&index.ids[*document]))
            .collect();
        let found = |limit: usize| {
            hits.iter().take(limit).filter(|hit| **hit).count() as f64 / relevant.len() as f64
        };
        let discount = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
        let gain: f64 = hits
            .iter()
            .take(10)
            .enumerate()
            .filter(|(_, hit)| **hit)
            .map(|(rank, _)| discount(rank))
            .sum();
        let ideal: f64 = (0..relevant.len().min(10)).map(discount).sum();
        let first = hits.iter().take(10).position(|hit| *hit);
        let values = [
            found(10),
            found(20),
            first.map_or(0.0, |rank| 1.0 / (rank as f64 + 1.0)),
            gain / ideal,
        ];
        sums.iter_mut()
            .zip(values)
            .for_each(|(sum, value)| *sum += value);
    }
    sums.map(|sum| sum / judged)
}

fn read_texts(path: &Path) -> Outcome<Vec<(String, String)>> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut texts = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let value: serde_json::Value = serde_json::from_str(line)?;
        let field = |name: &str| {
            value
                .get(name)
                .and_then(|field| field.as_str())
                .unwrap_or_default()
                .to_owned()
        };
        let title = field("title");
        let body = if title.is_empty() {
            field("text")
        } else {
            format!("{title}\n{}", field("text"))
        };
        texts.push((field("_id"), body));
    }
    Ok(texts)
}

fn read_judgements(path: &Path) -> Outcome<HashMap<String, Vec<String>>> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut judgements: HashMap<String, Vec<String>> = HashMap::new();
    for line in text.lines().skip(1) {
        let mut columns = line.split('\t');
        if let (Some(query), Some(document), Some(grade)) =
            (columns.next(), columns.next(), columns.next())
            && grade.trim().parse::<f64>()? > 0.0
        {
            judgements
                .entry(query.to_owned())
                .or_default()
                .push(document.to_owned());
        }
    }
    Ok(judgements)
}
