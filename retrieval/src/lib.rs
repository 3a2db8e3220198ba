//! The three-tier retrieval: coarse (粗筛), fine (精筛), rerank (精排), and in two stages the search
//! over source code that is made of them. [`Retriever`] names the steps in order, and no other way
//! leads to what the index holds; each formula has a file of its own.

mod access;
mod adapting;
pub mod answer;
mod chat_reranker;
mod coarse;
mod code;
mod config;
mod coverage;
mod document;
mod elapsed;
mod embed;
mod error;
mod events;
mod evidence;
mod exact_name;
mod facets;
mod families;
mod fine;
mod function_words;
mod fusion;
mod hits;
mod leaving;
pub mod live;
mod made_of;
mod missing;
mod named;
mod normalize;
mod overtaken;
mod plan;
mod preferences;
pub mod prompts;
mod relevance;
mod rerank;
mod retriever;
mod route;
mod serving;
mod set_contents;
mod tables;
mod titles;
pub mod understand;
mod unmet;
mod variants;
mod vector_weight;
mod weight_features;
mod windows;
mod workflows;

pub use access::Principal;
pub use chat_reranker::ChatReranker;
pub use config::{Config, RelevanceConfig, RelevanceWeights};
pub use document::{DocumentParts, DocumentView};
pub use error::SearchError;
pub use events::Events;
pub use evidence::Evidence;
pub use function_words::is_function_word;
pub use made_of::MadeOf;
pub use missing::MissingDocuments;
pub use relevance::{LIKELY, Signals, relevance};
pub use retriever::{Models, Outcome, Retriever};
pub use serving::{Serving, SharedServing};
pub use tables::TableConfig;
pub use understand::{
    AnalyzerSource, Understander, UnderstanderParts, UnderstandingConfig, Understood,
};
pub use variants::SearchedAll;
pub use vector_weight::{AdaptiveWeight, VectorWeight, WeightKind};
pub use weight_features::{FEATURES, WeightFeatures};
pub use workflows::{
    Asked, Asker, AskerParts, CodeExplanationConfig, CourseConfig, EnvironmentField,
    ErrorMapConfig, GeneralConfig, Grade, Heading, JudgeConfig, OnDemandConfig, ReportConfig,
    ReportKeeper, Scope, Side, SideText, SummedUp, TextbookConfig, ToGrade,
};

#[cfg(test)]
pub(crate) mod tests {
    use tributary_schemas::search::TierLimits;

    use super::config::{
        CodeConfig, ExactNameConfig, FacetConfig, NearDuplicateConfig, RelevanceConfig,
        RelevanceWeights, RerankConfig, UserProfileConfig,
    };
    use super::vector_weight::{AdaptiveWeight, VectorWeight, WeightKind};
    use super::{Config, UnderstandingConfig};

    fn weights() -> RelevanceWeights {
        RelevanceWeights {
            intercept: -1.0,
            similarity: 1.0,
            coverage: 1.0,
            standing: 1.0,
            exact_name: 1.0,
            rerank: 0.0,
        }
    }

    /// The figures of the mission.
    pub fn config() -> Config {
        Config {
            query_limit_bytes: 8192,
            fold_traditional: true,
            top_k: 10,
            maximum_top_k: 80,
            coarse: TierLimits {
                keyword: 1500,
                vector: 1500,
            },
            fine: TierLimits {
                keyword: 160,
                vector: 160,
            },
            fine_keep: 80,
            window_weight: 0.5,
            embedding_concurrency: 2,
            vector_weight: VectorWeight {
                kind: WeightKind::Length,
                fixed: 0.5,
                base: 0.4,
                range: 0.3,
                midpoint_tokens: 8.0,
                slope_tokens: 1.0,
                adaptive: AdaptiveWeight {
                    model: "multilingual-e5-small".into(),
                    intercept: 0.0,
                    keyword_spread: -1.0,
                    vector_spread: 10.0,
                },
            },
            reciprocal_rank_constant: 60.0,
            rerank: RerankConfig {
                deadline_ms: 1000,
                concurrency: 1,
                candidates: 80,
                weight: 1.0,
            },
            near_duplicates: NearDuplicateConfig {
                fold: true,
                threshold: 0.5,
                other_title_threshold: 0.9,
                score_margin: 0.1,
            },
            exact_name: ExactNameConfig {
                path: 1.2,
                title: 1.1,
                heading: 0.7,
                last_part: 0.6,
                definition: 1.1,
                code_in_text: 0.3,
            },
            relevance: RelevanceConfig {
                model: "multilingual-e5-small".into(),
                with_vectors: weights(),
                across_scripts: weights(),
                keywords_alone: weights(),
                reranker: String::new(),
                with_reranker: weights(),
            },
            facets: FacetConfig {
                keep_ms: 0,
                values: 100,
            },
            user_profile: UserProfileConfig {
                preferred_set: 1.2,
                preferred_language: 1.1,
            },
            understanding: UnderstandingConfig {
                deadline_ms: 1000,
                history_rounds: 3,
                reply_tokens: 400,
                hypothetical_passage: false,
            },
            code: CodeConfig {
                files: 20,
                maximum_files: 50,
                part_attribute: "category".into(),
                files_per_part: 15,
                candidates: 200,
                summary_weight: 0.5,
                rank_constant: 10.0,
                file_weight: 0.3,
                glossary_files: Vec::new(),
                term_vector_weight: 0.35,
                question_weight: 0.3,
            },
        }
    }

    /// Key that the message names, and what is wrong with it.
    type Case = (&'static str, fn(&mut Config));

    #[test]
    fn settings_that_contradict_each_other_are_refused_by_name() {
        assert_eq!(config().check(), Ok(()));
        let table: [Case; 19] = [
            ("user_profile", |config| {
                config.user_profile.preferred_set = 0.9
            }),
            ("fine_keep", |config| config.fine_keep = 0),
            ("top_k", |config| config.top_k = 81),
            ("maximum_top_k", |config| config.maximum_top_k = 81),
            ("vector_weight.range", |config| {
                config.vector_weight.range = 0.7
            }),
            ("vector_weight.fixed", |config| {
                config.vector_weight.fixed = 1.1
            }),
            ("vector_weight.adaptive", |config| {
                config.vector_weight.adaptive.vector_spread = f32::NAN
            }),
            ("slope_tokens", |config| {
                config.vector_weight.slope_tokens = 0.0
            }),
            ("near_duplicates.threshold", |config| {
                config.near_duplicates.threshold = 0.0
            }),
            ("near_duplicates.other_title_threshold", |config| {
                config.near_duplicates.other_title_threshold = 0.4
            }),
            ("exact_name", |config| config.exact_name.title = -0.1),
            ("relevance", |config| {
                config.relevance.with_vectors.coverage = f32::NAN
            }),
            ("reciprocal_rank_constant", |config| {
                config.reciprocal_rank_constant = f32::NAN
            }),
            ("understanding.deadline_ms", |config| {
                config.understanding.deadline_ms = 0
            }),
            ("rerank.candidates", |config| config.rerank.candidates = 0),
            ("rerank.weight", |config| config.rerank.weight = f32::NAN),
            ("code.files", |config| config.code.files = 51),
            ("code.file_weight", |config| config.code.file_weight = 1.1),
            ("code.question_weight", |config| {
                config.code.question_weight = -0.1
            }),
        ];
        for (key, spoil) in table {
            let mut config = config();
            spoil(&mut config);
            let error = config
                .check()
                .map_or_else(|error| error.to_string(), |()| String::new());
            assert!(error.contains(key), "{key}: {error}");
        }
    }
}
