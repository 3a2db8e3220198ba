//! What the product knows of a domain: the lexicon and the analyzer that cuts text, folding, the
//! knowledge sets 1+X+Y with their tag rules, and the profiles of sources. Code here, data in
//! `deploy/profiles/<domain>/`.

pub mod analyzer;
mod characters;
pub mod discovery;
pub mod fold;
pub mod knowledge_sets;
pub mod language;
pub mod lexicon;
pub mod pattern;
mod problems;
pub mod sentences;
mod simplified;
pub mod source_profiles;
pub mod synonyms;

pub use analyzer::{ANALYZER_VERSION, Analyzer, AnalyzerConfig, SpokenWord};
pub use fold::{fold, simplify};
pub use knowledge_sets::{
    Assignment, KnowledgeSet, KnowledgeSetCatalog, KnowledgeSets, Rule, SetAlarm, SetPipeline,
    SharedKnowledgeSets, View,
};
pub use lexicon::{Lexicon, Term};
pub use pattern::Patterns;
pub use problems::nearest;
pub use source_profiles::{
    AttributeRule, ChunkStrategy, ChunkerRule, CleanerStep, Condition, NewestOnly, SourceProfile,
    SourceProfiles, SummaryMode, TagRule,
};
pub use synonyms::{Mention, Synonyms};

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tributary_schemas::{Error, Result};

/// Section `[taxonomy]` of the configuration. Relative paths are below the profile's folder.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Lexicon files, joined; none is allowed.
    pub lexicon_files: Vec<PathBuf>,
    /// File of knowledge sets; empty for none.
    pub knowledge_sets_file: PathBuf,
    /// File of source profiles; empty for the built-in default alone.
    pub source_profiles_file: PathBuf,
    /// How text is cut.
    pub analyzer: AnalyzerConfig,
}

/// Everything of a domain, loaded.
pub struct Taxonomy {
    /// Cuts text, with the lexicon.
    pub analyzer: Analyzer,
    /// 1+X+Y.
    pub knowledge_sets: KnowledgeSets,
    /// By source.
    pub source_profiles: SourceProfiles,
}

impl Taxonomy {
    /// Reads all files that the configuration names; `folder` is what relative paths are below.
    /// Errors name the file.
    pub fn load(config: &Config, folder: &Path) -> Result<Self> {
        let lexicon_files: Vec<PathBuf> = config
            .lexicon_files
            .iter()
            .map(|file| folder.join(file))
            .collect();
        let lexicon = Lexicon::from_files(&lexicon_files)?;
        let knowledge_sets = load_knowledge_sets(config, folder);
        let source_profiles = load_source_profiles(config, folder);
        let (knowledge_sets, source_profiles) = match (knowledge_sets, source_profiles) {
            // Whoever mends one file wants to know of the other.
            (Err(first), Err(second)) => {
                let both = Error::new(first.kind(), format!("{first}\n{second}"));
                let hint = first.hint().or(second.hint()).map(str::to_owned);
                return Err(hint.into_iter().fold(both, Error::with_hint));
            }
            (sets, profiles) => (sets?, profiles?),
        };
        Ok(Self {
            analyzer: Analyzer::new(&config.analyzer, lexicon)?,
            knowledge_sets,
            source_profiles,
        })
    }
}

/// Reads the file of knowledge sets, if one is named.
pub fn load_knowledge_sets(config: &Config, folder: &Path) -> Result<KnowledgeSets> {
    read_optional(
        folder,
        &config.knowledge_sets_file,
        KnowledgeSets::from_toml,
    )
}

/// Reads the file of source profiles, if one is named, and the files that its cleaning steps name.
pub fn load_source_profiles(config: &Config, folder: &Path) -> Result<SourceProfiles> {
    let mut profiles = parse_source_profiles(config, folder)?;
    let file = folder.join(&config.source_profiles_file);
    profiles.read_files(file.parent().unwrap_or(folder))?;
    Ok(profiles)
}

/// The same without the files of cleaning steps, one of which may be about to be made.
pub fn parse_source_profiles(config: &Config, folder: &Path) -> Result<SourceProfiles> {
    read_optional(
        folder,
        &config.source_profiles_file,
        SourceProfiles::from_toml,
    )
}

fn read_optional<T: Default>(
    folder: &Path,
    file: &Path,
    parse: impl Fn(&str) -> Result<T>,
) -> Result<T> {
    if file.as_os_str().is_empty() {
        return Ok(T::default());
    }
    let path = folder.join(file);
    let name = path.display();
    let text = tributary_schemas::files::read_to_string(&path)
        .map_err(|error| Error::io(format!("read {name}"), &error))?;
    parse(&text).map_err(|error| {
        let located = Error::new(error.kind(), format!("{name}: {error}"));
        match error.hint() {
            Some(hint) => located.with_hint(hint),
            None => located,
        }
    })
}
