//! Scores of a question with terms that a glossary has names for. Such a term is one thing that is
//! asked for, whatever number of names it has, so it counts as its best name in a chunk does and not
//! as the sum of them all: a chunk with three names of one term does not stand before one that has
//! three terms. Pirkola, "The effects of query structure and dictionary setups in dictionary-based
//! cross-language information retrieval", SIGIR 1998, with the best name in the place of a joint
//! term.
//!
//! keyword(chunk) = Σ over concepts of max over its names of BM25(name), a concept being a term or a
//! word of the question that is more than a function word. The vector side is that of the names, and
//! weighted that of the question as it was asked: names alone lose what is between them.

use std::collections::{BTreeSet, HashMap};

use futures::future::try_join_all;
use tributary_schemas::code_search::GlossaryTerm;
use tributary_schemas::search::{QueryPlan, ScoredChunk};
use tributary_schemas::{ChunkId, Result};
use tributary_store::search_index::{KeywordQuery, SearchIndex, VectorField, VectorQuery};
use tributary_taxonomy::Analyzer;

use crate::config::CodeConfig;
use crate::embed::QueryVectors;
use crate::exact_name::{self, boosted};
use crate::fine::{self, FineChunk};
use crate::function_words::is_function_word;
use crate::{fusion, normalize, plan};

use super::glossary::in_ascii;

/// Tokens that are looked up, each by itself; the first ones of a long question.
const MAXIMUM_TOKENS: usize = 64;

/// What is asked for: of each concept its names, each as tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Concepts(Vec<Vec<Vec<String>>>);

/// What the chunks are scored by.
pub(super) struct ByConcept<'a> {
    pub index: &'a dyn SearchIndex,
    pub plan: &'a QueryPlan,
    pub config: &'a CodeConfig,
    /// The question as it was asked; none where it could not be embedded.
    pub question: Option<&'a QueryVectors>,
}

impl Concepts {
    /// The terms with their names, and the words of the question that are written as code is. None
    /// at all without terms: such a question is asked in the code's language.
    pub fn of(question: &str, terms: &[GlossaryTerm], analyzer: &Analyzer) -> Self {
        if terms.is_empty() {
            return Self::default();
        }
        let of_term = |term: &GlossaryTerm| {
            let names = term.names.iter();
            names.map(|name| analyzer.analyze(name)).collect()
        };
        let written = in_ascii(question);
        let words = exact_name::words(&written).filter(|word| !is_function_word(word));
        let words = words.map(|word| vec![analyzer.analyze(word)]);
        let mut left = MAXIMUM_TOKENS;
        let mut is_within = |names: &Vec<Vec<String>>| {
            let tokens: usize = names.iter().map(Vec::len).sum();
            let fits = tokens <= left;
            left = left.saturating_sub(tokens);
            fits && tokens > 0
        };
        let all = terms.iter().map(of_term).chain(words);
        Self(all.take_while(&mut is_within).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Scores the chunks anew and orders them, best first.
    pub async fn score(&self, by: &ByConcept<'_>, chunks: &mut [FineChunk]) -> Result<()> {
        let ids: Vec<ChunkId> = chunks.iter().map(|chunk| chunk.chunk_id).collect();
        let (keyword, asked) = futures::try_join!(self.keyword(by, &ids), by.similarities(&ids))?;
        let keyword = normalize::min_max(&keyword);
        let weight = by.config.question_weight;
        let vector = chunks.iter().zip(normalize::min_max(&asked));
        let vector: Vec<f32> = vector
            .map(|(chunk, asked)| chunk.vector + weight * asked)
            .collect();
        let vector = normalize::min_max(&vector);
        let highest = fine::strongest(chunks);
        for ((chunk, keyword), vector) in chunks.iter_mut().zip(keyword).zip(vector) {
            chunk.keyword = keyword;
            if chunk.similarity.is_some() {
                chunk.vector = vector;
                let weight = by.config.term_vector_weight;
                chunk.standing = fusion::relative_score(vector, keyword, weight);
            } else {
                chunk.standing = keyword;
            }
            chunk.score = boosted(chunk.standing, chunk.exact_name, highest);
        }
        fine::sort(chunks);
        Ok(())
    }

    /// Σ over concepts of the score of its best name, in the order of `ids`.
    async fn keyword(&self, by: &ByConcept<'_>, ids: &[ChunkId]) -> Result<Vec<f32>> {
        let tokens: BTreeSet<&String> = self.0.iter().flatten().flatten().collect();
        if !plan::uses_keywords(by.plan) || ids.is_empty() {
            return Ok(vec![0.0; ids.len()]);
        }
        let found = try_join_all(tokens.iter().map(|token| by.token(token, ids))).await?;
        let scores = found.iter().map(|found| by_chunk(found));
        let of_token: HashMap<&String, HashMap<ChunkId, f32>> =
            tokens.into_iter().zip(scores).collect();
        let token = |token: &String, id: &ChunkId| {
            let scores = of_token.get(token);
            scores
                .and_then(|scores| scores.get(id))
                .copied()
                .unwrap_or(0.0)
        };
        let of_name = |name: &Vec<String>, id| name.iter().map(|part| token(part, id)).sum();
        let of_concept = |names: &Vec<Vec<String>>, id| {
            let names = names.iter().map(|name| of_name(name, id));
            names.fold(0.0, f32::max)
        };
        let of_chunk = |id| self.0.iter().map(|names| of_concept(names, id)).sum();
        Ok(ids.iter().map(of_chunk).collect())
    }
}

impl ByConcept<'_> {
    async fn token(&self, token: &String, ids: &[ChunkId]) -> Result<Vec<ScoredChunk>> {
        let query = KeywordQuery {
            generation: self.plan.generation.as_deref(),
            tokens: std::slice::from_ref(token),
            filter: &self.plan.filter,
            candidates: Some(ids),
            limit: ids.len(),
        };
        self.index.keyword(query).await
    }

    /// Cosines with the question as it was asked, in the order of `ids`; all 0 without it.
    async fn similarities(&self, ids: &[ChunkId]) -> Result<Vec<f32>> {
        let Some(vectors) = self.question.filter(|_| !ids.is_empty()) else {
            return Ok(vec![0.0; ids.len()]);
        };
        let query = VectorQuery {
            generation: self.plan.generation.as_deref(),
            vector: vectors.fine(),
            field: VectorField::Fine,
            filter: &self.plan.filter,
            candidates: Some(ids),
            limit: ids.len(),
        };
        let found = by_chunk(&self.index.vector(query).await?);
        let of = |id| found.get(id).copied().unwrap_or(0.0);
        Ok(ids.iter().map(of).collect())
    }
}

fn by_chunk(found: &[ScoredChunk]) -> HashMap<ChunkId, f32> {
    let scores = found.iter().map(|chunk| (chunk.chunk_id, chunk.score));
    scores.collect()
}

#[cfg(test)]
mod tests {
    use tributary_taxonomy::{AnalyzerConfig, Lexicon};

    use super::*;

    fn concepts(question: &str, terms: &[(&str, &[&str])]) -> Vec<Vec<Vec<String>>> {
        let config = AnalyzerConfig {
            guess_words: false,
            sub_words: false,
            term_words: false,
            english_stems: true,
        };
        let analyzer =
            Analyzer::new(&config, Lexicon::default()).unwrap_or_else(|error| panic!("{error}"));
        let term = |(term, names): &(&str, &[&str])| GlossaryTerm {
            term: (*term).to_owned(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        };
        let terms: Vec<GlossaryTerm> = terms.iter().map(term).collect();
        Concepts::of(question, &terms, &analyzer).0
    }

    #[test]
    fn a_term_is_a_concept_and_so_is_a_word_that_says_something() {
        let found = concepts(
            "how does kswapd 唤醒页面",
            &[("唤醒", &["wake up", "wakeup"]), ("页面", &["page"])],
        );
        assert_eq!(
            found,
            [
                vec![vec!["wake", "up"], vec!["wakeup"]],
                vec![vec!["page"]],
                vec![vec!["kswapd"]],
            ]
        );
        assert!(concepts("who wakes kswapd", &[]).is_empty());
    }

    #[test]
    fn a_long_question_is_bounded() {
        let words: Vec<String> = (0..500).map(|number| format!("w{number}")).collect();
        let found = concepts(&words.join(" "), &[("页面", &["page"])]);
        let tokens = found.iter().flatten().map(Vec::len).sum::<usize>();
        assert!(found.len() > 1 && tokens <= MAXIMUM_TOKENS, "{tokens}");
    }
}
