//! Which generation of the index is written to: the serving one, or the first one, made with today's settings.

use tributary_schemas::{Error, ErrorKind, Result};
use tributary_store::search_index::{GenerationStatus, IndexSettings, SearchIndex};

const FIRST: &str = "g1";

/// The generation to write to. Its settings must be today's: vectors of two models, or tokens of two analyzers, never meet in one.
pub async fn open_generation(index: &dyn SearchIndex, settings: &IndexSettings) -> Result<String> {
    let generations = index.status().await?;
    match generations.into_iter().find(|generation| generation.serving) {
        Some(serving) => check(serving, settings),
        None => {
            index.create(FIRST, settings).await?;
            index.promote(FIRST).await?;
            Ok(FIRST.to_owned())
        }
    }
}

fn check(serving: GenerationStatus, wanted: &IndexSettings) -> Result<String> {
    let differences = differences(&serving.settings, wanted);
    if differences.is_empty() {
        return Ok(serving.name);
    }
    let message = format!("index generation `{}` was built with other settings: {}", serving.name, differences.join(", "));
    Err(Error::new(ErrorKind::Conflict, message).with_hint("set these back, or start with an empty --data-dir and publish again"))
}

fn differences(built: &IndexSettings, wanted: &IndexSettings) -> Vec<String> {
    let rows = [
        ("coarse model", built.coarse_model.clone(), wanted.coarse_model.clone()),
        ("fine model", built.fine_model.clone(), wanted.fine_model.clone()),
        ("coarse dimensions", built.coarse_dimensions.to_string(), wanted.coarse_dimensions.to_string()),
        ("fine dimensions", built.fine_dimensions.to_string(), wanted.fine_dimensions.to_string()),
        ("analyzer", built.analyzer.clone(), wanted.analyzer.clone()),
    ];
    rows.into_iter()
        .filter(|(_, built, wanted)| built != wanted)
        .map(|(name, built, wanted)| format!("{name} `{built}`, now `{wanted}`"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_model_is_named() {
        let built = IndexSettings {
            coarse_dimensions: 384,
            fine_dimensions: 384,
            shared_vectors: true,
            coarse_model: "a".into(),
            fine_model: "a".into(),
            analyzer: "x".into(),
            origin: String::new(),
        };
        let wanted = IndexSettings { coarse_model: "b".into(), ..built.clone() };
        let status = GenerationStatus { name: "g1".into(), settings: built.clone(), serving: true, documents: 0, chunks: 0, bytes: 0 };
        assert_eq!(check(status.clone(), &built).ok().as_deref(), Some("g1"));
        let error = check(status, &wanted).err();
        assert_eq!(error.as_ref().map(Error::kind), Some(ErrorKind::Conflict));
        assert!(error.is_some_and(|error| error.to_string().contains("coarse model `a`, now `b`")));
    }
}
