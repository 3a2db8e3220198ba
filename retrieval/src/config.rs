//! Settings of the three tiers; the values live in `cli/default.toml`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tributary_schemas::search::{FoldLimits, TierLimits};
use tributary_schemas::{Error, ErrorKind, Result};

use crate::understand::UnderstandingConfig;
use crate::vector_weight::VectorWeight;

/// Everything that shapes a search, `[query_api.retrieval]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Longest query that is accepted, in bytes of UTF-8.
    pub query_limit_bytes: usize,
    /// Turn traditional Chinese characters of a query into simplified ones before it is embedded.
    pub fold_traditional: bool,
    /// Hits of a request that names no `top_k`.
    pub top_k: usize,
    /// Largest `top_k` of a request; at most `fine_keep`.
    pub maximum_top_k: usize,
    /// Tier 1 (粗筛): candidates by each signal.
    pub coarse: TierLimits,
    /// Tier 2 (精筛): candidates by each signal.
    pub fine: TierLimits,
    /// Chunks that tier 2 hands on.
    pub fine_keep: usize,
    /// Share of the nearest window in the cosine of a chunk that has several, see
    /// [`crate::windows`], 0 to 1.
    pub window_weight: f32,
    /// Query embeddings that run at the same time; more wait.
    pub embedding_concurrency: usize,
    /// α of the fusion in tier 2, see [`crate::vector_weight`].
    pub vector_weight: VectorWeight,
    /// k of reciprocal rank fusion, which orders the candidates of tier 1.
    pub reciprocal_rank_constant: f32,
    /// Tier 3 (精排).
    pub rerank: RerankConfig,
    /// Families of nearly equal documents.
    pub near_duplicates: NearDuplicateConfig,
    /// What it counts that a question names a document.
    pub exact_name: ExactNameConfig,
    /// How relevance is estimated.
    pub relevance: RelevanceConfig,
    /// Values that a search can be narrowed by.
    pub facets: FacetConfig,
    /// What it counts that a user prefers something.
    pub user_profile: UserProfileConfig,
    /// How questions are understood.
    pub understanding: UnderstandingConfig,
    /// Search over source code.
    pub code: CodeConfig,
}

/// Tier 3.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RerankConfig {
    /// After this time the fused order is the answer, and `degraded` names the reranker.
    pub deadline_ms: u64,
    /// Rerank calls that run at the same time; more wait until their deadline.
    pub concurrency: usize,
    /// Chunks that are read, the best of tier 2.
    pub candidates: usize,
    /// Share of the reranker in the final score, 0 to 1; the rest is what tier 2 gave. See
    /// [`crate::rerank::order`].
    pub weight: f32,
}

/// Families of nearly equal documents, see [`crate::families`].
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NearDuplicateConfig {
    /// A family is one hit, unless a request asks for all its members.
    pub fold: bool,
    /// Least similarity of two documents of one family, above 0 and at most 1.
    pub threshold: f32,
    /// The same where their titles differ in more than a version; at least `threshold`.
    pub other_title_threshold: f32,
    /// The newest member answers for its family if its best chunk scores at most this much below
    /// the family's best, 0 to 1.
    pub score_margin: f32,
}

/// Search over source code, see [`crate::code`].
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CodeConfig {
    /// Files in which definitions are looked for when a request does not say how many.
    pub files: usize,
    /// Most that a request may ask for.
    pub maximum_files: usize,
    /// Attribute that names the part of the code base that a file belongs to.
    pub part_attribute: String,
    /// Files of one part at most.
    pub files_per_part: usize,
    /// Chunks that are ranked in each step: summaries, definitions by which files come in, and
    /// definitions in those files.
    pub candidates: usize,
    /// Weight of a file's rank by its summary, 0 to 1; the rest is that of its rank by its best
    /// definition.
    pub summary_weight: f32,
    /// k of the reciprocal rank fusion of both.
    pub rank_constant: f32,
    /// Weight of a file's score in the scores of its definitions, 0 to 1.
    pub file_weight: f32,
    /// Files of terms with their names in the code, in the form of a lexicon's synonyms: a question
    /// that has a term is searched for with its names, too.
    pub glossary_files: Vec<PathBuf>,
    /// Weight of the vector side for a question with such terms, 0 to 1.
    pub term_vector_weight: f32,
    /// Weight of the question as it was asked on that side, 0 to 1; that of the names is 1.
    pub question_weight: f32,
}

/// What preferences of a user count, see [`crate::preferences`].
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct UserProfileConfig {
    /// What fine scores of documents in a preferred knowledge set are multiplied with, 1 to 10.
    pub preferred_set: f32,
    /// The same for texts in the preferred language.
    pub preferred_language: f32,
}

/// Values that a search can be narrowed by, see [`crate::facets`].
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FacetConfig {
    /// How long they are good for: they are read from the whole index.
    pub keep_ms: u64,
    /// Most values of one kind, the most frequent ones.
    pub values: usize,
}

impl NearDuplicateConfig {
    /// For a plan: none for a request that unfolds.
    pub fn limits(&self, unfold: bool) -> Option<FoldLimits> {
        (self.fold && !unfold).then(|| self.families())
    }

    /// What makes a family, whether it is folded or not.
    pub fn families(&self) -> FoldLimits {
        FoldLimits {
            threshold: self.threshold,
            other_title_threshold: self.other_title_threshold,
            score_margin: self.score_margin,
        }
    }
}

/// Strength by what of a document the question names, 0 or more, see [`crate::exact_name`]: it is
/// added to the score, which lies between 0 and 1.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ExactNameConfig {
    /// Its path, or the end of it.
    pub path: f32,
    /// Its title.
    pub title: f32,
    /// The heading right above a chunk.
    pub heading: f32,
    /// The last parts of its title or file name.
    pub last_part: f32,
    /// What a chunk of source code defines.
    pub definition: f32,
    /// An error code in the text of a chunk.
    pub code_in_text: f32,
}

/// Weights of the estimate of relevance, see [`crate::relevance`]; `tributary eval calibrate` fits
/// them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RelevanceConfig {
    /// How the name of the embedding model begins that `with_vectors` was fitted for; with another
    /// one `keywords_alone` holds.
    pub model: String,
    /// Where the question was embedded.
    pub with_vectors: RelevanceWeights,
    /// The same where question and chunk are written in different scripts, as a Chinese question
    /// about an English text: that they share few words says little.
    pub across_scripts: RelevanceWeights,
    /// Where it was not, or by another model.
    pub keywords_alone: RelevanceWeights,
    /// How the name of the reranker begins that `with_reranker` was fitted for; empty = for none.
    pub reranker: String,
    /// Where the question was embedded and that reranker ran.
    pub with_reranker: RelevanceWeights,
}

/// Coefficients of a logistic regression.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RelevanceWeights {
    /// Of nothing: what is subtracted from all.
    pub intercept: f32,
    /// Of the cosine.
    pub similarity: f32,
    /// Of the share of the question that is covered.
    pub coverage: f32,
    /// Of where the chunk stands in its answer.
    pub standing: f32,
    /// Of how exactly the question names it.
    pub exact_name: f32,
    /// Of the reranker's score.
    pub rerank: f32,
}

impl RelevanceWeights {
    fn are_numbers(&self) -> bool {
        let weights = [
            self.intercept,
            self.similarity,
            self.coverage,
            self.standing,
            self.exact_name,
            self.rerank,
        ];
        weights.iter().all(|weight| weight.is_finite())
    }
}

impl RelevanceConfig {
    fn are_numbers(&self) -> bool {
        let all = [
            &self.with_vectors,
            &self.across_scripts,
            &self.keywords_alone,
            &self.with_reranker,
        ];
        all.into_iter().all(RelevanceWeights::are_numbers)
    }
}

impl UserProfileConfig {
    fn rules(&self) -> [Rule; 1] {
        let weights = [self.preferred_set, self.preferred_language];
        let holds = weights.iter().all(|weight| (1.0..=10.0).contains(weight));
        [(
            holds,
            "user_profile",
            "has weights that must be between 1 and 10",
        )]
    }
}

impl Config {
    /// `Invalid` with everything that no search can work with.
    pub fn check(&self) -> Result<()> {
        let problems = self.problems();
        if problems.is_empty() {
            Ok(())
        } else {
            Err(Error::new(ErrorKind::Invalid, problems.join("; ")))
        }
    }

    /// Everything that is wrong with the values, one line each.
    pub fn problems(&self) -> Vec<String> {
        let zero = self.counts().into_iter().filter(|(_, value)| *value == 0);
        let mut problems: Vec<String> = zero
            .map(|(key, _)| problem(key, "must be at least 1"))
            .collect();
        let rules = self
            .rules()
            .into_iter()
            .chain(self.vector_weight.rules())
            .chain(self.code_rules())
            .chain(self.user_profile.rules());
        problems.extend(
            rules
                .filter(|(holds, _, _)| !holds)
                .map(|(_, key, rule)| problem(key, rule)),
        );
        let of_understanding = self.understanding.problems();
        problems.extend(
            of_understanding
                .iter()
                .map(|(key, rule)| problem(key, rule)),
        );
        problems
    }

    /// What must be at least 1, by key.
    fn counts(&self) -> [(&'static str, usize); 14] {
        [
            ("query_limit_bytes", self.query_limit_bytes),
            ("top_k", self.top_k),
            ("coarse.keyword", self.coarse.keyword),
            ("coarse.vector", self.coarse.vector),
            ("fine.keyword", self.fine.keyword),
            ("fine.vector", self.fine.vector),
            ("fine_keep", self.fine_keep),
            ("embedding_concurrency", self.embedding_concurrency),
            ("rerank.concurrency", self.rerank.concurrency),
            ("rerank.candidates", self.rerank.candidates),
            ("facets.values", self.facets.values),
            ("code.files", self.code.files),
            ("code.files_per_part", self.code.files_per_part),
            ("code.candidates", self.code.candidates),
        ]
    }

    fn rules(&self) -> [Rule; 10] {
        [
            (
                self.top_k <= self.maximum_top_k,
                "top_k",
                "must not exceed maximum_top_k",
            ),
            (
                self.maximum_top_k <= self.fine_keep,
                "maximum_top_k",
                "must not exceed fine_keep: tier 2 hands on no more chunks",
            ),
            (
                self.reciprocal_rank_constant.is_finite() && self.reciprocal_rank_constant >= 0.0,
                "reciprocal_rank_constant",
                "must be 0 or more",
            ),
            (
                (0.0..=1.0).contains(&self.window_weight),
                "window_weight",
                "must lie between 0 and 1",
            ),
            (
                (0.0..=1.0).contains(&self.rerank.weight),
                "rerank.weight",
                "must lie between 0 and 1",
            ),
            (
                self.near_duplicates.threshold > 0.0 && self.near_duplicates.threshold <= 1.0,
                "near_duplicates.threshold",
                "must lie above 0 and not above 1",
            ),
            (
                (self.near_duplicates.threshold..=1.0)
                    .contains(&self.near_duplicates.other_title_threshold),
                "near_duplicates.other_title_threshold",
                "must lie between near_duplicates.threshold and 1",
            ),
            (
                self.exact_name.are_strengths(),
                "exact_name",
                "must have strengths of 0 or more",
            ),
            (
                self.relevance.are_numbers(),
                "relevance",
                "must have numbers as weights",
            ),
            (
                (0.0..=1.0).contains(&self.near_duplicates.score_margin),
                "near_duplicates.score_margin",
                "must lie between 0 and 1",
            ),
        ]
    }

    fn code_rules(&self) -> [Rule; 6] {
        [
            (
                self.code.files <= self.code.maximum_files,
                "code.files",
                "must not exceed code.maximum_files",
            ),
            (
                (0.0..=1.0).contains(&self.code.summary_weight),
                "code.summary_weight",
                "must lie between 0 and 1",
            ),
            (
                (0.0..=1.0).contains(&self.code.file_weight),
                "code.file_weight",
                "must lie between 0 and 1",
            ),
            (
                (0.0..=1.0).contains(&self.code.term_vector_weight),
                "code.term_vector_weight",
                "must lie between 0 and 1",
            ),
            (
                (0.0..=1.0).contains(&self.code.question_weight),
                "code.question_weight",
                "must lie between 0 and 1",
            ),
            (
                self.code.rank_constant.is_finite() && self.code.rank_constant >= 0.0,
                "code.rank_constant",
                "must be 0 or more",
            ),
        ]
    }
}

impl ExactNameConfig {
    fn are_strengths(&self) -> bool {
        let strengths = [
            self.path,
            self.title,
            self.heading,
            self.last_part,
            self.definition,
            self.code_in_text,
        ];
        strengths
            .iter()
            .all(|strength| strength.is_finite() && *strength >= 0.0)
    }
}

/// Whether it holds, its key and what it demands.
pub(crate) type Rule = (bool, &'static str, &'static str);

fn problem(key: &str, rule: &str) -> String {
    format!("query_api.retrieval.{key} {rule}")
}
