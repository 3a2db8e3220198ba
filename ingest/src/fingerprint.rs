//! The fingerprint that the skip gate compares: a hash over all that a document became and every
//! setting that shaped it, so that both a changed text and a changed setting are seen.

use tributary_schemas::CleanDocument;

/// Settings that shape a document beside its content.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// Hash of the source profile.
    pub profile: &'a str,
    /// Hash of all settings of later stages (chunker, lexicon, models), made by whoever starts the
    /// service.
    pub later_stages: &'a str,
    /// Whether the document's original is kept: one that was indexed without it counts as changed
    /// when it is published again.
    pub keeps_original: bool,
}

/// BLAKE3 in hexadecimal over content, title, attributes, knowledge sets, converter version and
/// settings; not over id, version, times.
pub fn fingerprint(clean: &CleanDocument, settings: Settings) -> String {
    let document = &clean.document;
    let mut knowledge_sets = document.knowledge_sets.clone();
    knowledge_sets.sort_unstable();
    let mut hasher = blake3::Hasher::new();
    let mut part = |bytes: &[u8]| {
        // Length first, so that moving a character from one part to the next changes the hash.
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    for text in [
        &clean.markdown,
        &document.title,
        &document.source,
        &document.source_path,
        &document.lineage.converter,
    ] {
        part(text.as_bytes());
    }
    for text in [settings.profile, settings.later_stages] {
        part(text.as_bytes());
    }
    // JSON of ordered maps and lists: the same between builds.
    for value in [
        json(&document.attributes),
        json(&knowledge_sets),
        json(&document.tags),
        json(&clean.metadata),
        json(&clean.images),
        json(&clean.page_starts),
    ] {
        part(&value);
    }
    // What is indexed without originals keeps the fingerprint that it had before there were any.
    if settings.keeps_original {
        part(b"original");
    }
    hasher.finalize().to_hex().to_string()
}

/// A value as it is hashed. Writing it does not fail: all keys are text.
pub(crate) fn json(value: &impl serde::Serialize) -> Vec<u8> {
    let json = serde_json::to_vec(value);
    debug_assert!(json.is_ok(), "a value that cannot be written as JSON");
    json.unwrap_or_else(|error| error.to_string().into_bytes())
}

#[cfg(test)]
mod tests {
    use tributary_schemas::DocumentHeader;

    use super::*;

    #[test]
    fn everything_that_shapes_a_document_counts_and_nothing_else() {
        let settings = Settings {
            profile: "p",
            later_stages: "s",
            keeps_original: false,
        };
        let document = CleanDocument {
            markdown: "text".into(),
            ..CleanDocument::default()
        };
        let base = fingerprint(&document, settings);
        assert_eq!(base.len(), 64);
        let with = |change: &dyn Fn(&mut CleanDocument)| {
            let mut changed = document.clone();
            change(&mut changed);
            fingerprint(&changed, settings)
        };
        assert_eq!(with(&|clean| clean.document.version = 9), base);
        assert_eq!(
            with(&|clean| clean.document = DocumentHeader {
                document_id: "other".into(),
                ..DocumentHeader::default()
            }),
            base
        );
        assert_ne!(with(&|clean| clean.markdown.push('x')), base);
        assert_ne!(with(&|clean| clean.document.title.push('x')), base);
        assert_ne!(
            with(&|clean| clean.document.attributes.security_level = Some(2)),
            base
        );
        assert_ne!(
            with(&|clean| clean.document.knowledge_sets.push("x".into())),
            base
        );
        assert_ne!(
            with(&|clean| clean.document.lineage.converter = "text/2".into()),
            base
        );
        assert_ne!(
            fingerprint(
                &document,
                Settings {
                    profile: "q",
                    ..settings
                }
            ),
            base
        );
        assert_ne!(
            fingerprint(
                &document,
                Settings {
                    later_stages: "t",
                    ..settings
                }
            ),
            base
        );
        assert_ne!(
            fingerprint(
                &document,
                Settings {
                    keeps_original: true,
                    ..settings
                }
            ),
            base
        );
    }

    #[test]
    fn the_order_of_knowledge_sets_does_not_count() {
        let sets = |names: [&str; 2]| CleanDocument {
            document: DocumentHeader {
                knowledge_sets: names.map(str::to_owned).to_vec(),
                ..DocumentHeader::default()
            },
            ..CleanDocument::default()
        };
        let settings = Settings {
            profile: "",
            later_stages: "",
            keeps_original: false,
        };
        assert_eq!(
            fingerprint(&sets(["a", "b"]), settings),
            fingerprint(&sets(["b", "a"]), settings)
        );
    }
}
