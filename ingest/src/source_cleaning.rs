//! What a source profile makes of a converted document: attributes, cleaning steps, tags, edition.
//! A function of the event, the converted text and the profile alone.

use std::collections::HashMap;
use std::sync::Arc;

use tributary_models::service::{SharedServiceObserver, Uncounted};
use tributary_schemas::{CleanDocument, DocumentEvent, DocumentHeader, Lineage, Result};
use tributary_taxonomy::SourceProfiles;
use tributary_taxonomy::source_profiles::{ChunkStrategy, FoldedText, SourceProfile};

use crate::attributes;
use crate::cleaners::{Cleaners, Draft, normalize_text};
use crate::config::{CleanersConfig, Config};
use crate::external::ExternalSteps;
use crate::language::language_of;
use crate::lost_headings;
use tributary_convert::Converted;
use tributary_convert::pages;
use tributary_convert::titles::{file_stem, one_line};

/// The profiles with their cleaning steps, ready to run.
pub struct SourceCleaning {
    profiles: Arc<SourceProfiles>,
    /// By name of the profile.
    steps: HashMap<String, Steps>,
    maximum_title_characters: usize,
}

/// What a profile does, and the hash of all that it says.
struct Steps {
    cleaners: Cleaners,
    external: ExternalSteps,
    fingerprint: String,
}

impl SourceCleaning {
    /// `Invalid` if a profile names an unknown cleaning step or sets one wrongly. Nobody counts the
    /// calls of external steps.
    pub fn new(
        profiles: Arc<SourceProfiles>,
        config: &Config,
        maximum_title_characters: usize,
    ) -> Result<Self> {
        Self::observed(
            profiles,
            config,
            maximum_title_characters,
            &(Arc::new(Uncounted) as _),
        )
    }

    /// The same, with calls of external steps told to `observer`.
    pub fn observed(
        profiles: Arc<SourceProfiles>,
        config: &Config,
        maximum_title_characters: usize,
        observer: &SharedServiceObserver,
    ) -> Result<Self> {
        let of_profile = |profile: &SourceProfile| {
            let steps = Steps {
                cleaners: Cleaners::new(profile, &config.cleaners)?,
                external: ExternalSteps::new(profile, &config.external, observer)?,
                fingerprint: profile.fingerprint(),
            };
            Ok((profile.name.clone(), steps))
        };
        let steps: Result<HashMap<_, _>> = profiles.iter().map(of_profile).collect();
        Ok(Self {
            steps: steps?,
            profiles,
            maximum_title_characters,
        })
    }

    /// For one source alone, with the steps that run before `drop_learned_boilerplate`: what that
    /// step's file is learned from.
    pub fn before_learned_boilerplate(
        profiles: Arc<SourceProfiles>,
        source: &str,
        config: &CleanersConfig,
        maximum_title_characters: usize,
    ) -> Result<Self> {
        let profile = profiles.profile(source);
        let cleaners = Cleaners::before_learned_boilerplate(profile, config)?;
        let steps = HashMap::from([(
            profile.name.clone(),
            Steps {
                cleaners,
                external: ExternalSteps::default(),
                fingerprint: profile.fingerprint(),
            },
        )]);
        Ok(Self {
            steps,
            profiles,
            maximum_title_characters,
        })
    }

    /// The profile of a source.
    pub fn profile(&self, source: &str) -> &SourceProfile {
        self.profiles.profile(source)
    }

    /// Hash of everything that the profile of a source says, learned files included.
    pub fn fingerprint(&self, source: &str) -> &str {
        self.steps
            .get(&self.profile(source).name)
            .map(|steps| steps.fingerprint.as_str())
            .unwrap_or_default()
    }

    /// The external steps of a source.
    pub fn external(&self, source: &str) -> ExternalSteps {
        let steps = self.steps.get(&self.profile(source).name);
        steps
            .map(|steps| steps.external.clone())
            .unwrap_or_default()
    }

    /// All external steps, `PROFILE/NAME`, each with the address of its service.
    pub fn external_addresses(&self) -> Vec<(String, String)> {
        let steps = self
            .steps
            .values()
            .flat_map(|steps| steps.external.addresses());
        let owned = |(name, url): (&str, &str)| (name.to_owned(), url.to_owned());
        let mut all: Vec<_> = steps.map(owned).collect();
        all.sort();
        all
    }

    /// Whether any source has external steps.
    pub fn has_external(&self) -> bool {
        self.steps.values().any(|steps| !steps.external.is_empty())
    }

    /// The clean document without external steps; times, fingerprint and signature are left to the
    /// caller.
    pub fn clean(
        &self,
        event: DocumentEvent,
        document_id: String,
        version: u64,
        converted: Converted,
    ) -> CleanDocument {
        let mut clean = self.begin(event, document_id, version, converted);
        self.finish(&mut clean);
        clean
    }

    /// The document as all local steps leave it: what external steps get.
    pub fn begin(
        &self,
        event: DocumentEvent,
        document_id: String,
        version: u64,
        converted: Converted,
    ) -> CleanDocument {
        let profile = self.profiles.profile(&event.source);
        let document = DocumentHeader {
            version,
            source: event.source,
            source_path: event.source_path.unwrap_or_default(),
            title: self.title(
                event.title.as_deref(),
                converted.title.as_deref(),
                &document_id,
            ),
            document_id,
            media_type: converted.media_type.clone(),
            source_priority: profile.priority,
            attributes: event.attributes,
            knowledge_sets: event.knowledge_sets,
            lineage: Lineage {
                converter: converted.converter.to_string(),
                source_profile: profile.name.clone(),
                ..Lineage::default()
            },
            ..DocumentHeader::default()
        };
        self.run(profile, document, converted)
    }

    fn title(&self, given: Option<&str>, found: Option<&str>, document_id: &str) -> String {
        let titles = [given, found, Some(document_id)];
        let one_line = |title: &str| one_line(title, self.maximum_title_characters);
        titles
            .into_iter()
            .flatten()
            .map(one_line)
            .find(|title| !title.is_empty())
            .unwrap_or_else(|| document_id.to_owned())
    }

    /// A file of source code is called by its whole name: `vmscan.c` is not `vmscan.h`.
    fn file_name(&self, source_path: &str) -> String {
        let path = source_path.trim_end_matches(['/', '\\']);
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        one_line(name, self.maximum_title_characters)
    }

    /// Attributes that are still missing, tags and edition of a document after all steps.
    pub fn finish(&self, clean: &mut CleanDocument) {
        let profile = self.profiles.profile(&clean.document.source);
        if clean.document.attributes.language.is_none()
            && !is_code(profile, &clean.document, &clean.markdown)
        {
            let language = language_of(&clean.markdown);
            clean.document.attributes.language = language.map(str::to_owned);
        }
        profile.apply(&mut clean.document, &clean.markdown);
        clean.document.edition = profile
            .newest_only
            .as_ref()
            .and_then(|newest| newest.edition(&clean.document, &clean.metadata));
    }

    /// Attributes from the document and the profile, and the profile's local steps.
    fn run(
        &self,
        profile: &SourceProfile,
        mut document: DocumentHeader,
        converted: Converted,
    ) -> CleanDocument {
        attributes::fill_from_metadata(&mut document.attributes, &converted.metadata);
        profile.fill_attributes(&mut document, &FoldedText::new(&converted.markdown));
        let rules = profile.possible_section_rules(&document.attributes);
        let before = lost_headings::Before::new(rules, &converted.markdown);
        let mut draft = Draft {
            markdown: normalize_text(&pages::mark(&converted.markdown)),
            title: document.title,
            source_path: document.source_path.clone(),
            attributes: document.attributes,
            metadata: converted.metadata,
        };
        if let Some(steps) = self.steps.get(&profile.name) {
            steps.cleaners.clean(&mut draft);
        }
        let mut document = DocumentHeader {
            title: draft.title,
            attributes: draft.attributes,
            ..document
        };
        let (markdown, page_starts) = pages::take_out(&draft.markdown);
        before.guard(&markdown, &mut document.attributes);
        if is_code(profile, &document, &markdown)
            && file_stem(&document.source_path).as_ref() == Some(&document.title)
        {
            document.title = self.file_name(&document.source_path);
        }
        CleanDocument {
            document,
            markdown,
            metadata: draft.metadata,
            images: converted.images,
            page_starts,
        }
    }
}

/// Whether a document is cut as source code.
fn is_code(profile: &SourceProfile, document: &DocumentHeader, markdown: &str) -> bool {
    let mut rules = profile.chunker_rules.iter().map(|rule| rule.chunker);
    let is_possible = profile.chunker == ChunkStrategy::Code
        || rules.any(|chunker| chunker == ChunkStrategy::Code);
    is_possible && profile.chunker_of(document, markdown) == ChunkStrategy::Code
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tributary_schemas::Attributes;

    use super::*;
    use crate::test_config::config;

    const PROFILE: &str = r#"
[[source_profile]]
name = "p"
source = "s"
cleaners = [{ step = "strip_boilerplate", patterns = ['^## Internal$'] }]
[source_profile.attributes]
section_levels = [{ heading = "Internal*", security_level = 3 }]
"#;

    fn cleaned(attributes: Attributes, markdown: &str) -> DocumentHeader {
        let profiles = Arc::new(SourceProfiles::from_toml(PROFILE).unwrap());
        let cleaning = SourceCleaning::new(profiles, &config::<Config>(), 200).unwrap();
        let event = DocumentEvent {
            source: "s".into(),
            attributes,
            ..DocumentEvent::default()
        };
        let converted = Converted {
            markdown: markdown.to_owned(),
            ..Converted::default()
        };
        cleaning.clean(event, "d".into(), 1, converted).document
    }

    #[test]
    fn a_closed_heading_that_a_step_takes_away_closes_the_document() {
        let kept = cleaned(Attributes::default(), "# T\n\n## Internal notes\n\ntext\n");
        assert_eq!(kept.attributes.section_rules().len(), 1);
        assert_eq!(kept.attributes.security_level, None);
        let lost = cleaned(Attributes::default(), "# T\n\n## Internal\n\ntext\n");
        assert_eq!(lost.attributes.security_level, Some(3));
        let own_rules = Attributes {
            section_levels: Some(Vec::new()),
            ..Attributes::default()
        };
        let own = cleaned(own_rules, "# T\n\n## Internal\n\ntext\n");
        assert_eq!(own.attributes.section_rules().len(), 0);
        assert_eq!(own.attributes.security_level, None);
    }

    #[test]
    fn a_rule_without_a_heading_is_a_problem_of_the_profile() {
        let error = SourceProfiles::from_toml(&PROFILE.replace("Internal*", " ")).unwrap_err();
        let said = error.to_string();
        assert!(said.contains("section_levels.heading"), "{said}");
    }
}
