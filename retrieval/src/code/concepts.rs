//! Scores of a question with terms, or words, that a glossary has names for. Such a term is one thing
//! that is asked for, whatever number of names it has, so it counts as its best name in a chunk does
//! and not as the sum of them all: a chunk with three names of one term does not stand before one that
//! has three terms. Pirkola, "The effects of query structure and dictionary setups in dictionary-based
//! cross-language information retrieval", SIGIR 1998, with the best name in the place of a joint
//! term.
//!
//! keyword(chunk) = Σ over concepts of max over its names of BM25(name), a concept being a term or a
//! word of the question that is more than a function word. The vector side is that of the names, and
//! weighted that of the question as it was asked: names alone lose what is between them.

use std::collections::{BTreeSet, HashMap};

use futures::future::try_join_all;
use tributary_schemas::search::{QueryPlan, ScoredChunk};
use tributary_schemas::{ChunkId, Result};
use tributary_store::search_index::{KeywordQuery, SearchIndex, VectorField, VectorQuery};
use tributary_taxonomy::Analyzer;

use crate::config::CodeConfig;
use crate::coverage::{self, TokenScores};
use crate::embed::QueryVectors;
use crate::exact_name::{self, boosted};
use crate::fine::{self, FineChunk};
use crate::function_words::is_function_word;
use crate::{fusion, normalize, plan};

use super::glossary::{Asked, in_ascii};

/// Tokens that are looked up, each by itself; the first ones of a long question.
const MAXIMUM_TOKENS: usize = 96;

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

/// How many tokens still are looked up.
struct Room(usize);

impl Room {
    /// Takes it for these names, if there is enough.
    fn has(&mut self, names: &[Vec<String>]) -> bool {
        let tokens: usize = names.iter().map(Vec::len).sum();
        let fits = tokens <= self.0;
        self.0 = self.0.saturating_sub(tokens);
        fits && tokens > 0
    }
}

fn tokens(names: &[String], analyzer: &Analyzer) -> Vec<Vec<String>> {
    let names = names.iter().map(|name| analyzer.analyze(name));
    names.filter(|tokens| !tokens.is_empty()).collect()
}

impl Concepts {
    /// The terms with their names, and the words of the question that are written as code is, those
    /// that have other names with these. None at all without any names: such a question is searched
    /// for as it is.
    pub fn of(question: &str, asked: &Asked, analyzer: &Analyzer) -> Self {
        if asked.terms.is_empty() && asked.words.is_empty() {
            return Self::default();
        }
        let mut room = Room(MAXIMUM_TOKENS);
        let terms = asked.terms.iter().map(|term| tokens(&term.names, analyzer));
        let mut all: Vec<Vec<Vec<String>>> = terms.take_while(|names| room.has(names)).collect();
        let written = in_ascii(question);
        let mut words: Vec<(&str, Vec<String>)> = Vec::new();
        for word in exact_name::words(&written).filter(|word| !is_function_word(word)) {
            let tokens = analyzer.analyze(word);
            let is_new = !words.iter().any(|(_, known)| *known == tokens);
            if is_new && room.has(std::slice::from_ref(&tokens)) {
                words.push((word, tokens));
            }
        }
        // What is left is for other names.
        all.extend(words.into_iter().map(|(word, tokens_of_word)| {
            let other = asked.words.iter().find(|renamed| renamed.term == word);
            let others = tokens(other.map_or(&[], |renamed| &renamed.names), analyzer).into_iter();
            let others = others.filter(|name| room.has(std::slice::from_ref(name)));
            std::iter::once(tokens_of_word).chain(others).collect()
        }));
        Self(all)
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
        let scores = by.scores(self.tokens(), ids).await?;
        let of_concept = |names: &Vec<Vec<String>>, id| {
            let names = names.iter().map(|name| scores.of_name(name, id));
            names.fold(0.0, f32::max)
        };
        let of_chunk = |id| self.0.iter().map(|names| of_concept(names, id)).sum();
        Ok(ids.iter().map(of_chunk).collect())
    }

    /// How much of the question each chunk covers where a word counts by its other names too: the
    /// keyword scores become Σ over concepts of w · s, and Σ w is the highest, w being what the word
    /// itself is worth and s the greatest share that the chunk has of the best score of a name. For
    /// words without other names that is the coverage of any search, see [`coverage`].
    pub async fn cover(&self, by: &ByConcept<'_>, chunks: &mut [FineChunk]) -> Result<TokenScores> {
        let ids: Vec<ChunkId> = chunks.iter().map(|chunk| chunk.chunk_id).collect();
        // A bounded number of them is looked for, so the words come first.
        let words = self.0.iter().flat_map(|names| names.first());
        let others = self.0.iter().flat_map(|names| names.iter().skip(1));
        let tokens: Vec<String> = words.chain(others).flatten().cloned().collect();
        let (best, scores) = futures::try_join!(
            coverage::token_scores(by.index, by.plan, &tokens),
            by.scores(self.tokens(), &ids)
        )?;
        let worth =
            |name: &Vec<String>| -> Option<f32> { name.iter().map(|token| best.best(token)).sum() };
        let worths: Vec<Vec<Option<f32>>> = self
            .0
            .iter()
            .map(|names| names.iter().map(worth).collect())
            .collect();
        let of_word = |worths: &Vec<Option<f32>>| worths.first().copied().flatten().unwrap_or(0.0);
        for chunk in chunks {
            let concepts = self.0.iter().zip(&worths).map(|(names, worths)| {
                let share = |(name, worth): (&Vec<String>, &Option<f32>)| match worth {
                    Some(worth) if *worth > 0.0 => scores.of_name(name, &chunk.chunk_id) / worth,
                    _ => 0.0,
                };
                let shares = names.iter().zip(worths).map(share);
                of_word(worths) * shares.fold(0.0, f32::max)
            });
            chunk.keyword_raw = concepts.sum();
        }
        let highest = worths.iter().map(of_word).sum();
        Ok(best.with_highest(highest))
    }

    fn tokens(&self) -> BTreeSet<&String> {
        self.0.iter().flatten().flatten().collect()
    }
}

/// BM25 of tokens in chunks, each by itself.
struct Scores<'a>(HashMap<&'a String, HashMap<ChunkId, f32>>);

impl Scores<'_> {
    fn of_name(&self, name: &[String], id: &ChunkId) -> f32 {
        let of = |token: &String| self.0.get(token)?.get(id).copied();
        name.iter().filter_map(of).sum()
    }
}

impl ByConcept<'_> {
    /// None at all where the search uses no keywords.
    async fn scores<'t>(
        &self,
        tokens: BTreeSet<&'t String>,
        ids: &[ChunkId],
    ) -> Result<Scores<'t>> {
        if !plan::uses_keywords(self.plan) || ids.is_empty() {
            return Ok(Scores(HashMap::new()));
        }
        let found = try_join_all(tokens.iter().map(|token| self.token(token, ids))).await?;
        let found = found.iter().map(|found| by_chunk(found));
        Ok(Scores(tokens.into_iter().zip(found).collect()))
    }

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
    use tributary_schemas::code_search::GlossaryTerm;
    use tributary_taxonomy::{AnalyzerConfig, Lexicon};

    use super::*;

    type Named<'a> = [(&'a str, &'a [&'a str])];

    fn concepts(question: &str, terms: &Named<'_>, words: &Named<'_>) -> Vec<Vec<Vec<String>>> {
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
        let asked = Asked {
            terms: terms.iter().map(term).collect(),
            words: words.iter().map(term).collect(),
            whole: question.to_owned(),
            searched: question.to_owned(),
        };
        Concepts::of(question, &asked, &analyzer).0
    }

    #[test]
    fn a_term_is_a_concept_and_so_is_a_word_that_says_something() {
        let found = concepts(
            "how does kswapd 唤醒页面",
            &[("唤醒", &["wake up", "wakeup"]), ("页面", &["page"])],
            &[],
        );
        assert_eq!(
            found,
            [
                vec![vec!["wake", "up"], vec!["wakeup"]],
                vec![vec!["page"]],
                vec![vec!["kswapd"]],
            ]
        );
        assert!(concepts("who wakes kswapd", &[], &[]).is_empty());
    }

    #[test]
    fn a_word_counts_by_its_other_names_too_and_once() {
        let found = concepts(
            "who deletes a page and deleted pages",
            &[],
            &[("deletes", &["remove", "unlink"])],
        );
        assert_eq!(
            found,
            [
                vec![vec!["delet"], vec!["remov"], vec!["unlink"]],
                vec![vec!["page"]],
            ]
        );
    }

    #[test]
    fn a_long_question_is_bounded() {
        let words: Vec<String> = (0..500).map(|number| format!("w{number}")).collect();
        let names: Vec<&str> = words.iter().map(String::as_str).collect();
        for (terms, words_with_names) in [
            (&[("页面", names.get(..3).unwrap_or_default())][..], &[][..]),
            (&[][..], &[("w3", names.as_slice())][..]),
        ] {
            let found = concepts(&words.join(" "), terms, words_with_names);
            let tokens = found.iter().flatten().map(Vec::len).sum::<usize>();
            assert!(found.len() > 1 && tokens <= MAXIMUM_TOKENS, "{tokens}");
        }
    }
}
