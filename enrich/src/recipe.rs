//! What a generation of the index is built with: every setting that shapes tokens, chunks and
//! vectors. It is kept with the generation, so that documents and questions are treated alike for
//! as long as it serves, whatever the configuration says by then.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tributary_models::EmbedderKind;
use tributary_models::chat::ChatConfig;
use tributary_models::prompts::Prompts;
use tributary_schemas::{Error, ErrorKind, Result};
use tributary_store::blobs::Blobs;
use tributary_store::generations::Origin;
use tributary_store::search_index::Bm25;
use tributary_taxonomy::{Analyzer, AnalyzerConfig, KnowledgeSets, Lexicon, SummaryMode};

use crate::config::{ChunkerConfig, Chunkers, Config, EmbedConfig, PromptVariant};
use crate::embed_stage;
use crate::prompts::{PROMPTS, variant_ids};
use crate::writing::{WriterChoice, WrittenKind};

/// The sections of the configuration that say how a generation is built.
#[derive(Clone, Debug)]
pub struct RecipeConfig {
    /// Lexicon files and analyzer.
    pub taxonomy: tributary_taxonomy::Config,
    /// Models.
    pub models: tributary_models::Config,
    /// Chunkers and windows.
    pub enrich: Config,
}

/// The settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// How text is cut into tokens.
    pub analyzer: AnalyzerConfig,
    /// Terms that are kept whole: a lexicon file's text.
    pub lexicon: String,
    /// Which models make the vectors.
    pub models: ModelChoice,
    /// How chunks become the texts that are embedded.
    pub embedding: Windows,
    /// How documents are cut.
    pub chunkers: Chunkers,
    /// Which model writes summaries of sections; none where first sentences and titles stand for
    /// them. What is published later is summarised by the model of that day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summaries: Option<WriterChoice>,
    /// Which model writes descriptions of code; none where comments, signatures and names stand for
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub descriptions: Option<WriterChoice>,
    /// How keywords are weighed.
    #[serde(default, skip_serializing_if = "Bm25::is_default")]
    pub bm25: Bm25,
}

/// Bytes of settings that the index's own description takes; every process reads it every second.
const MAXIMUM_BYTES_IN_INDEX: usize = 64 << 10;
const BLOBS_HINT: &str = "all processes that share a log and an index need the same bodies: set store.blobs.url to one folder that every \
                          machine reaches, or put the folder `blobs` back. If the blobs are lost for good, set the index aside (another \
                          store.search_index.elasticsearch.index_prefix, or the folder `index`) and run `tributary knowledge-sets reindex \
                          --all`: what lies in the log is indexed again, and documents over store.inline_limit_bytes are to be published \
                          again";

/// The part of `[models]` that shapes vectors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelChoice {
    kind: EmbedderKind,
    folder: String,
    coarse_folder: String,
    coarse_dimensions: usize,
    hashing_dimensions: usize,
}

/// The part of `[enrich.embed]` that shapes vectors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Windows {
    window_tokens: usize,
    window_limit: usize,
    /// None were kept before there was such a setting.
    #[serde(default, skip_serializing_if = "is_zero")]
    kept_windows: usize,
    fold_traditional: bool,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Recipe {
    /// What the configuration and the knowledge sets say today. Reads the lexicon files.
    pub fn of_today(config: &RecipeConfig, knowledge_sets: &KnowledgeSets) -> Result<Self> {
        let lexicon = Lexicon::from_files(&config.taxonomy.lexicon_files)?;
        let lines = lexicon
            .terms()
            .map(|(_, term)| format!("{}\t{}\n", term.text, term.weight));
        let (models, embed) = (&config.models, &config.enrich.embed);
        let mut by_set = BTreeMap::new();
        for set in knowledge_sets.iter() {
            let own = set.pipeline.as_ref();
            if let Some(pipeline) = own.filter(|pipeline| !pipeline.chunker.is_empty()) {
                by_set.insert(
                    set.id.clone(),
                    config.enrich.chunker.with(&pipeline.chunker)?,
                );
            }
        }
        Ok(Self {
            analyzer: config.taxonomy.analyzer.clone(),
            lexicon: lines.collect(),
            models: ModelChoice {
                kind: models.kind,
                folder: models.folder.clone(),
                coarse_folder: models.coarse_folder.clone(),
                coarse_dimensions: models.coarse_dimensions,
                hashing_dimensions: models.hashing_dimensions,
            },
            embedding: Windows {
                window_tokens: embed.window_tokens,
                window_limit: embed.window_limit,
                kept_windows: embed.kept_windows,
                fold_traditional: embed.fold_traditional,
            },
            chunkers: Chunkers {
                default: config.enrich.chunker.clone(),
                by_set,
                summaries_by_set: summaries_by_set(knowledge_sets),
                prompts_by_set: prompts_by_set(knowledge_sets, &models.chat)?,
            },
            summaries: WriterChoice::of_today(&models.chat, WrittenKind::Summary)?,
            descriptions: WriterChoice::of_today(&models.chat, WrittenKind::Description)?,
            bm25: config.enrich.bm25,
        })
    }

    /// Today's recipe for these knowledge sets alone: all other documents are cut as in `before`,
    /// and summaries come from where they came, as those of others would be paid for too. Analyzer,
    /// models and weights of keywords are today's.
    #[must_use]
    pub fn for_sets(mut self, sets: &[String], before: &Self) -> Self {
        if sets.is_empty() {
            return self;
        }
        let mut by_set = before.chunkers.by_set.clone();
        let default = &self.chunkers.default;
        for set in sets {
            // Without settings of its own it needs some only where all others are cut as before:
            // they would count before those of a set behind it.
            let new_default = Some(default).filter(|one| **one != before.chunkers.default);
            match self.chunkers.by_set.get(set).or(new_default) {
                Some(own) => by_set.insert(set.clone(), own.clone()),
                None => by_set.remove(set),
            };
        }
        let mut summaries_by_set = before.chunkers.summaries_by_set.clone();
        for set in sets {
            summaries_by_set.remove(set);
            let own = self.chunkers.summaries_by_set.get_key_value(set);
            summaries_by_set.extend(own.map(|(set, mode)| (set.clone(), *mode)));
        }
        let mut prompts_by_set = before.chunkers.prompts_by_set.clone();
        for set in sets {
            prompts_by_set.remove(set);
            let own = self.chunkers.prompts_by_set.get_key_value(set);
            prompts_by_set.extend(own.map(|(set, variant)| (set.clone(), variant.clone())));
        }
        self.chunkers = Chunkers {
            default: before.chunkers.default.clone(),
            by_set,
            summaries_by_set,
            prompts_by_set,
        };
        self.summaries.clone_from(&before.summaries);
        self.descriptions.clone_from(&before.descriptions);
        self
    }

    /// What a generation remembers of it: its place, and itself unless it is large.
    pub async fn origin(&self, request_id: &str, blobs: &Blobs) -> Result<Origin> {
        let json = self.to_json()?;
        let settings = if json.len() <= MAXIMUM_BYTES_IN_INDEX {
            serde_json::from_slice(&json).ok()
        } else {
            None
        };
        Ok(Origin {
            request_id: request_id.to_owned(),
            recipe: self.keep(blobs).await?,
            settings,
            blob_store: blobs.id(),
        })
    }

    /// Reads what a generation remembers.
    pub async fn of_origin(origin: &Origin, generation: &str, blobs: &Blobs) -> Result<Self> {
        if let Some(settings) = &origin.settings {
            return serde_json::from_value(settings.clone()).map_err(unreadable);
        }
        Self::read(blobs, &origin.recipe).await.map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                let message =
                    format!("the blob store does not have the settings of generation `{generation}` of the index ({})", origin.recipe);
                Error::new(ErrorKind::NotFound, message).with_hint(BLOBS_HINT)
            }
            _ => error,
        })
    }

    /// Keeps it durably and returns its place.
    pub async fn keep(&self, blobs: &Blobs) -> Result<String> {
        blobs.put(Bytes::from(self.to_json()?)).await
    }

    /// Reads what [`Recipe::keep`] kept.
    pub async fn read(blobs: &Blobs, url: &str) -> Result<Self> {
        let json = blobs.get(url).await?;
        serde_json::from_slice(&json).map_err(unreadable)
    }

    /// Hash of all of it, 16 hexadecimal digits.
    pub fn fingerprint(&self) -> Result<String> {
        Ok(blake3::hash(&self.to_json()?)
            .to_hex()
            .chars()
            .take(16)
            .collect())
    }

    /// What differs from another recipe, in the words of
    /// [`tributary_schemas::reindex::ReindexOverview::outdated`].
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let mut differences = Vec::new();
        let mut note = |differs: bool, what: &str| {
            if differs {
                differences.push(what.to_owned());
            }
        };
        note(
            self.analyzer != other.analyzer || self.lexicon != other.lexicon,
            "analyzer",
        );
        note(self.models != other.models, "models");
        note(self.embedding != other.embedding, "embedding");
        note(self.bm25 != other.bm25, "bm25");
        note(self.chunkers.default != other.chunkers.default, "chunker");
        note(
            self.summaries != other.summaries,
            WrittenKind::Summary.setting(),
        );
        note(
            self.descriptions != other.descriptions,
            WrittenKind::Description.setting(),
        );
        let sets = self.chunkers.by_set.keys().chain(
            other
                .chunkers
                .by_set
                .keys()
                .filter(|set| !self.chunkers.by_set.contains_key(*set)),
        );
        let own = |recipe: &Self, set: &String| -> ChunkerConfig {
            recipe.chunkers.of(std::slice::from_ref(set)).clone()
        };
        let is_said = self.chunkers.default != other.chunkers.default;
        for set in sets {
            // One that is cut like all others changes with them.
            let is_its_own = !is_said || self.chunkers.by_set.contains_key(set);
            let differs = own(self, set) != own(other, set);
            note(is_its_own && differs, &format!("chunker of {set}"));
        }
        differences.extend(differing_summaries(&self.chunkers, &other.chunkers));
        differences.extend(differing_prompts(&self.chunkers, &other.chunkers));
        differences
    }

    /// The analyzer with its lexicon.
    pub fn open_analyzer(&self) -> Result<Analyzer> {
        Analyzer::new(
            &self.analyzer,
            Lexicon::from_text("lexicon of a generation", &self.lexicon)?,
        )
    }

    /// Whether a model writes summaries or descriptions.
    pub fn has_model_texts(&self) -> bool {
        self.summaries.is_some() || self.descriptions.is_some()
    }

    /// Whether both cut text into the same tokens.
    pub fn has_analyzer_of(&self, other: &Self) -> bool {
        self.analyzer == other.analyzer && self.lexicon == other.lexicon
    }

    /// The models; sessions, folders and the reranker are those of the configuration. CPU-bound.
    pub fn load_models(
        &self,
        today: &tributary_models::Config,
        models_folder: &Path,
    ) -> Result<tributary_models::Models> {
        let choice = self.models.clone();
        let config = tributary_models::Config {
            kind: choice.kind,
            folder: choice.folder,
            coarse_folder: choice.coarse_folder,
            coarse_dimensions: choice.coarse_dimensions,
            hashing_dimensions: choice.hashing_dimensions,
            ..today.clone()
        };
        tributary_models::load(&config, models_folder)
    }

    /// Settings of the embed stage; limits are those of the configuration.
    pub fn embed_config(&self, today: &EmbedConfig) -> EmbedConfig {
        let Windows {
            window_tokens,
            window_limit,
            kept_windows,
            fold_traditional,
        } = self.embedding;
        EmbedConfig {
            window_tokens,
            window_limit,
            kept_windows,
            fold_traditional,
            ..today.clone()
        }
    }

    /// Whether windows of long chunks keep vectors of their own.
    pub fn keeps_windows(&self) -> bool {
        self.embedding.kept_windows > 0
    }

    /// Hash of how chunks become embedded texts, see [`embed_stage::fingerprint`].
    pub fn embedding_fingerprint(&self, today: &EmbedConfig) -> String {
        embed_stage::fingerprint(&self.embed_config(today))
    }

    fn to_json(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| {
            Error::new(
                ErrorKind::Internal,
                format!("cannot encode a recipe: {error}"),
            )
        })
    }
}

/// What each set says of summaries for itself.
fn summaries_by_set(knowledge_sets: &KnowledgeSets) -> BTreeMap<String, SummaryMode> {
    let own = knowledge_sets.iter().filter_map(|set| {
        let mode = set.pipeline.as_ref()?.summaries?;
        Some((set.id.clone(), mode))
    });
    own.collect()
}

/// Sets that say something else of summaries than before.
fn differing_summaries(now: &Chunkers, before: &Chunkers) -> Vec<String> {
    let (now, before) = (&now.summaries_by_set, &before.summaries_by_set);
    let sets: BTreeSet<&String> = now.keys().chain(before.keys()).collect();
    let differing = sets
        .into_iter()
        .filter(|set| now.get(*set) != before.get(*set));
    differing.map(|set| format!("summaries of {set}")).collect()
}

/// By which prompts a model writes for each set that names some for itself.
fn prompts_by_set(
    knowledge_sets: &KnowledgeSets,
    chat: &ChatConfig,
) -> Result<BTreeMap<String, PromptVariant>> {
    let named = knowledge_sets.iter().filter_map(|set| {
        let variant = set.pipeline.as_ref()?.prompts.as_ref()?;
        Some((set.id.clone(), variant.clone()))
    });
    let named: BTreeMap<String, String> = named.collect();
    if named.is_empty() {
        return Ok(BTreeMap::new());
    }
    let all = Prompts::load_own(&[&PROMPTS], chat.prompts_folder())?;
    let names = WrittenKind::ALL.map(WrittenKind::prompts).concat();
    let variants = named.into_iter().map(|(set, name)| {
        let prompts = variant_ids(&all, &names, Some(&name));
        (set, PromptVariant { name, prompts })
    });
    Ok(variants.collect())
}

/// Sets whose prompts are others than before.
fn differing_prompts(now: &Chunkers, before: &Chunkers) -> Vec<String> {
    let (now, before) = (&now.prompts_by_set, &before.prompts_by_set);
    let sets: BTreeSet<&String> = now.keys().chain(before.keys()).collect();
    let differing = sets
        .into_iter()
        .filter(|set| now.get(*set) != before.get(*set));
    differing.map(|set| format!("prompts of {set}")).collect()
}

fn unreadable(error: serde_json::Error) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!("the settings of a generation of the index cannot be read: {error}"),
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn today() -> Recipe {
        let mut defaults: toml::Table = include_str!("../../cli/default.toml").parse().unwrap();
        let mut section = |name: &str| defaults.remove(name).unwrap();
        let config = RecipeConfig {
            taxonomy: section("taxonomy").try_into().unwrap(),
            models: section("models").try_into().unwrap(),
            enrich: section("enrich").try_into().unwrap(),
        };
        Recipe::of_today(&config, &KnowledgeSets::default()).unwrap()
    }

    /// What was kept before a setting existed; a file for each such setting.
    #[test]
    fn recipes_of_earlier_versions_are_read() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recipes");
        let mut read = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let json = std::fs::read(entry.unwrap().path()).unwrap();
            let recipe: Recipe = serde_json::from_slice(&json).unwrap();
            assert!(!recipe.analyzer.term_words && !recipe.keeps_windows());
            read += 1;
        }
        assert!(read > 0);
    }

    fn with_leaves(recipe: &Recipe, leaf_maximum_tokens: usize) -> ChunkerConfig {
        ChunkerConfig {
            leaf_maximum_tokens,
            ..recipe.chunkers.default.clone()
        }
    }

    #[test]
    fn a_reindex_of_one_set_leaves_the_chunks_of_others_alone() {
        let before = today();
        let mut changed = before.clone();
        changed.chunkers.default = with_leaves(&before, 700);
        changed.lexicon = "载波聚合\t1\n".to_owned();
        let one = changed.clone().for_sets(&["wireless".to_owned()], &before);
        assert_eq!(
            one.differences(&before),
            ["analyzer", "chunker of wireless"]
        );
        assert_eq!(
            one.chunkers.of(&["wireless".to_owned()]),
            &changed.chunkers.default
        );
        assert_eq!(changed.clone().for_sets(&[], &before), changed);
    }

    #[test]
    fn a_set_without_settings_is_cut_and_named_like_all_others() {
        let (wireless, zebra) = ("wireless".to_owned(), "zebra".to_owned());
        let mut before = today();
        let of_zebra = with_leaves(&before, 600);
        before.chunkers.by_set = [(zebra.clone(), of_zebra.clone())].into();
        let same = before
            .clone()
            .for_sets(std::slice::from_ref(&wireless), &before);
        let both = [wireless.clone(), zebra];
        assert_eq!(same.chunkers.of(&both), &of_zebra);
        let mut next = before.clone();
        next.chunkers.default = with_leaves(&before, 700);
        let one = next.for_sets(&[wireless], &before);
        let mut later = before.clone();
        later.chunkers.default = with_leaves(&before, 900);
        assert_eq!(later.differences(&one), ["chunker"]);
        assert_eq!(before.differences(&one), ["chunker of wireless"]);
    }

    #[test]
    fn a_model_for_summaries_is_another_recipe_and_none_is_that_of_before() {
        let without = today();
        let json = String::from_utf8(without.to_json().unwrap()).unwrap();
        assert!(!json.contains("summaries"), "{json}");
        let with = Recipe {
            summaries: Some(WriterChoice {
                model: "qwen".to_owned(),
                prompts: vec!["section_summary.en@1:00".to_owned()],
            }),
            ..without.clone()
        };
        assert_eq!(with.differences(&without), ["summaries"]);
        let one = with.clone().for_sets(&["wireless".to_owned()], &without);
        assert_eq!(one.summaries, None, "those of other sets would be paid for");
        let all = with.clone().for_sets(&[], &without);
        assert_eq!(all.summaries, with.summaries);
    }

    #[test]
    fn what_a_set_says_of_summaries_is_another_recipe_for_it_alone() {
        let before = today();
        let mut changed = before.clone();
        let modes = [
            ("cases", SummaryMode::None),
            ("wireless", SummaryMode::Extractive),
        ];
        changed.chunkers.summaries_by_set = modes.map(|(set, mode)| (set.to_owned(), mode)).into();
        let both = ["summaries of cases", "summaries of wireless"];
        assert_eq!(changed.differences(&before), both);
        let one = changed.clone().for_sets(&["cases".to_owned()], &before);
        assert_eq!(one.differences(&before), ["summaries of cases"]);
        let back = before.clone().for_sets(&["cases".to_owned()], &changed);
        assert_eq!(back.differences(&changed), ["summaries of cases"]);
        assert_eq!(back.differences(&before), ["summaries of wireless"]);
    }

    #[tokio::test]
    async fn a_generation_can_be_continued_beside_another_blob_store() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (blobs, others) = (
            Blobs::local(folder.path()).unwrap(),
            Blobs::local(other.path()).unwrap(),
        );
        let recipe = today();
        let origin = recipe.origin("r", &blobs).await.unwrap();
        let decoded = Origin::decode(&origin.encode().unwrap()).unwrap().unwrap();
        assert_eq!(
            Recipe::of_origin(&decoded, "g", &others).await.unwrap(),
            recipe
        );
        // As generations of before remember it, and those with a large lexicon.
        let old = Origin {
            settings: None,
            ..decoded
        };
        assert_eq!(Recipe::of_origin(&old, "g", &blobs).await.unwrap(), recipe);
        let error = Recipe::of_origin(&old, "g", &others).await.unwrap_err();
        assert!(
            error.to_string().contains("generation `g`")
                && error.hint().unwrap().contains("store.blobs.url"),
            "{error:?}"
        );
        let large = Recipe {
            lexicon: "载波聚合\t1\n".repeat(10_000),
            ..recipe
        };
        assert_eq!(large.origin("r", &blobs).await.unwrap().settings, None);
    }

    #[tokio::test]
    async fn a_kept_recipe_comes_back_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::local(folder.path()).unwrap();
        let mut recipe = today();
        recipe
            .chunkers
            .by_set
            .insert("a".to_owned(), with_leaves(&recipe, 600));
        let url = recipe.keep(&blobs).await.unwrap();
        let read = Recipe::read(&blobs, &url).await.unwrap();
        assert_eq!(read, recipe);
        assert_eq!(read.fingerprint().unwrap(), recipe.fingerprint().unwrap());
        assert_ne!(read.fingerprint().unwrap(), today().fingerprint().unwrap());
    }
}
