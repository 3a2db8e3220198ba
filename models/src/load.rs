//! Opens what the configuration asks for, once at the start of every process that embeds or
//! searches.

use crate::embedders::hashing::HashingEmbedder;
use crate::embedders::onnx::OnnxEmbedder;
use crate::folder::ModelFolder;
use crate::rerankers::lexical::LexicalReranker;
use crate::rerankers::onnx::OnnxReranker;
use crate::tokens::estimate::EstimatedTokens;
use crate::{
    Config, DualEmbedder, Embedder, EmbedderKind, Error, Reranker, RerankerKind, Result,
    TokenCounter, token_counter,
};
use std::path::Path;
use std::sync::Arc;
use tributary_schemas::ErrorKind;

/// Everything that was loaded.
pub struct Models {
    /// Coarse and fine vectors.
    pub embedder: Arc<DualEmbedder>,
    /// `None` when the configuration wants none.
    pub reranker: Option<Arc<dyn Reranker>>,
    /// Token counts of the fine model, or estimates.
    pub tokens: Arc<dyn TokenCounter>,
    /// What is not what the configuration asked for: "embedder" (hashing stands in), "reranker"
    /// (lexical stands in).
    pub degraded: Vec<String>,
}

/// Loads models. A missing model or runtime is an error with a hint, unless the hashing fallback is
/// allowed; then `degraded` says so, and a cross-encoder that cannot be loaded is replaced by the
/// lexical reranker.
pub fn load(config: &Config, models_folder: &Path) -> Result<Models> {
    let mut degraded = Vec::new();
    let (embedder, tokens) = match load_embedder(config, models_folder) {
        Ok(loaded) => loaded,
        Err(error) if config.allow_hashing_fallback && config.kind == EmbedderKind::Onnx => {
            tracing::warn!(error = %error.full_message(), "the embedding model cannot be loaded; feature hashing stands in");
            degraded.push("embedder".to_owned());
            let hashing: Arc<dyn Embedder> =
                Arc::new(HashingEmbedder::new(config.hashing_dimensions)?);
            (
                DualEmbedder::shared(hashing),
                token_counter(config, models_folder),
            )
        }
        Err(error) => return Err(error),
    };
    let reranker = load_or_stand_in(config, models_folder, &mut degraded)?;
    Ok(Models {
        embedder: Arc::new(embedder),
        reranker,
        tokens,
        degraded,
    })
}

fn load_embedder(
    config: &Config,
    models_folder: &Path,
) -> Result<(DualEmbedder, Arc<dyn TokenCounter>)> {
    if config.kind == EmbedderKind::Hashing {
        let hashing: Arc<dyn Embedder> = Arc::new(HashingEmbedder::new(config.hashing_dimensions)?);
        return Ok((DualEmbedder::shared(hashing), Arc::new(EstimatedTokens)));
    }
    let folders = config.folders(models_folder);
    let fine = OnnxEmbedder::open(
        ModelFolder::find(&config.folder, &folders)?,
        config,
        models_folder,
    )?;
    let tokens: Arc<dyn TokenCounter> = fine.encoder();
    if !config.coarse_folder.is_empty() {
        if config.coarse_dimensions != 0 {
            return Err(Error::new(
                ErrorKind::Invalid,
                "coarse_folder and coarse_dimensions are both set",
            )
            .with_hint(
                "set `models.coarse_dimensions = 0`, or leave `models.coarse_folder` empty",
            ));
        }
        let coarse = OnnxEmbedder::open(
            ModelFolder::find(&config.coarse_folder, &folders)?,
            config,
            models_folder,
        )?;
        return Ok((DualEmbedder::pair(Arc::new(coarse), Arc::new(fine)), tokens));
    }
    check_cut(config.coarse_dimensions, fine.model())?;
    let fine: Arc<dyn Embedder> = Arc::new(fine);
    match config.coarse_dimensions {
        0 => Ok((DualEmbedder::shared(fine), tokens)),
        length => Ok((DualEmbedder::matryoshka(fine, length)?, tokens)),
    }
}

/// Only a Matryoshka model's vectors keep their meaning when they are cut, and only at the lengths
/// it was trained for.
fn check_cut(coarse_dimensions: usize, model: &ModelFolder) -> Result<()> {
    let settings = &model.settings;
    let allowed = &settings.matryoshka_dimensions;
    if coarse_dimensions == 0
        || coarse_dimensions == settings.hidden_size
        || allowed.contains(&coarse_dimensions)
    {
        return Ok(());
    }
    let message = match allowed.is_empty() {
        true => format!(
            "{} is not a Matryoshka model; its vectors cannot be cut to {coarse_dimensions} dimensions",
            settings.name
        ),
        false => format!(
            "{} can be cut to {allowed:?} dimensions, not to {coarse_dimensions}",
            settings.name
        ),
    };
    Err(Error::new(ErrorKind::Invalid, message)
        .with_hint("set `models.coarse_dimensions = 0` to use one vector for both tiers"))
}

/// The reranker alone, without any that stands in for it; `None` where the configuration wants none
/// of this crate.
pub fn load_reranker(config: &Config, models_folder: &Path) -> Result<Option<Arc<dyn Reranker>>> {
    match config.reranker.kind {
        RerankerKind::None | RerankerKind::Chat => Ok(None),
        RerankerKind::Lexical => Ok(Some(Arc::new(LexicalReranker))),
        RerankerKind::Onnx => {
            let model = ModelFolder::find(&config.reranker.folder, &config.folders(models_folder))?;
            let reranker = OnnxReranker::open(model, config, models_folder)?;
            Ok(Some(Arc::new(reranker)))
        }
    }
}

fn load_or_stand_in(
    config: &Config,
    models_folder: &Path,
    degraded: &mut Vec<String>,
) -> Result<Option<Arc<dyn Reranker>>> {
    match load_reranker(config, models_folder) {
        Err(error) if config.allow_hashing_fallback => {
            tracing::warn!(error = %error.full_message(), "the reranker cannot be loaded; the lexical one stands in");
            degraded.push("reranker".to_owned());
            Ok(Some(Arc::new(LexicalReranker)))
        }
        loaded => loaded,
    }
}
