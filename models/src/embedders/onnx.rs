//! Embeds texts with an ONNX model of a model folder: tokenise, batch by length, run, pool,
//! normalise.
//!
//! A CPU does not gain from big batches (padding costs more than it saves), so texts are sorted by
//! length and batched within a small budget of padded tokens; a GPU wants a large one. Each batch
//! takes a session of its own from a pool; questions have a pool of their own, so that they never
//! wait behind passages.

use crate::folder::{ModelFolder, ModelKind, Pooling};
use crate::sessions::{SessionPool, TokenBatch, run_batch};
use crate::tokens::{EncodedText, TextEncoder};
use crate::{Config, Embedder, Error, Result, TextRole, runtime};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tributary_schemas::ErrorKind;

/// An embedding model with its sessions.
pub struct OnnxEmbedder {
    name: String,
    model: ModelFolder,
    encoder: Arc<TextEncoder>,
    passages: SessionPool,
    queries: SessionPool,
    batch_token_budget: usize,
}

impl OnnxEmbedder {
    /// Opens the model: loads runtime, tokenizer and a first session side by side, and embeds one
    /// text to see that the model gives vectors of the length that its settings promise.
    pub fn open(model: ModelFolder, config: &Config, models_folder: &Path) -> Result<Self> {
        if model.settings.kind != ModelKind::Embedding {
            return Err(Error::new(
                ErrorKind::Invalid,
                format!(
                    "{} is a {}, not an embedding model",
                    model.settings.name,
                    model.settings.kind.as_str()
                ),
            )
            .with_hint("name an embedding model in `models.folder`"));
        }
        runtime::initialize(config, models_folder)?;
        let limit = config.session_limit();
        let file = model.onnx_file();
        let queries = SessionPool::new(&file, limit, config.session_threads);
        let passages = SessionPool::new(&file, limit, config.session_threads);
        let (encoder, warm) = std::thread::scope(|scope| {
            let warm = scope.spawn(|| queries.with(|_| Ok(())));
            let encoder = TextEncoder::open(&model.tokenizer_file());
            (
                encoder,
                warm.join().unwrap_or_else(|_| {
                    Err(Error::new(
                        ErrorKind::Internal,
                        "opening the model panicked",
                    ))
                }),
            )
        });
        warm?;
        let name = model.versioned_name()?;
        let embedder = Self {
            name,
            model,
            encoder: Arc::new(encoder?),
            passages,
            queries,
            batch_token_budget: config.batch_token_budget,
        };
        embedder.embed(&["probe"], TextRole::Query)?;
        Ok(embedder)
    }

    /// The model's tokenizer, for counting.
    pub fn encoder(&self) -> Arc<TextEncoder> {
        Arc::clone(&self.encoder)
    }

    /// The model's folder and settings.
    pub fn model(&self) -> &ModelFolder {
        &self.model
    }

    /// Like `embed`, and how long the model itself ran: what is left is tokenising, pooling and
    /// waiting.
    pub fn embed_timed(&self, texts: &[&str], role: TextRole) -> Result<(Vec<Vec<f32>>, Duration)> {
        let prefix = match role {
            TextRole::Query => &self.model.settings.query_prefix,
            TextRole::Passage => &self.model.settings.passage_prefix,
        };
        let encoded = texts
            .iter()
            .map(|text| self.encode(prefix, text))
            .collect::<Result<Vec<_>>>()?;
        let lengths: Vec<usize> = encoded.iter().map(|text| text.ids.len()).collect();
        let pool = match role {
            TextRole::Query => &self.queries,
            TextRole::Passage => &self.passages,
        };
        let mut vectors = vec![Vec::new(); texts.len()];
        let mut in_model = Duration::ZERO;
        for batch in batches(&lengths, self.batch_token_budget) {
            let rows = batch
                .iter()
                .filter_map(|index| encoded.get(*index))
                .collect::<Vec<_>>();
            let tokens = TokenBatch::new(rows.iter().copied(), self.model.settings.pad_token_id);
            let (made, ran) = pool.with(|session| {
                let started = Instant::now();
                run_batch(
                    session,
                    &tokens,
                    self.model.settings.output.as_deref(),
                    |shape, values| {
                        let ran = started.elapsed();
                        Ok((self.pool_vectors(&tokens, shape, values)?, ran))
                    },
                )
            })?;
            in_model += ran;
            for (index, vector) in batch.into_iter().zip(made) {
                if let Some(slot) = vectors.get_mut(index) {
                    *slot = vector;
                }
            }
        }
        Ok((vectors, in_model))
    }

    fn encode(&self, prefix: &str, text: &str) -> Result<EncodedText> {
        let limit = self.model.settings.max_length;
        if prefix.is_empty() {
            return self.encoder.encode(text, limit);
        }
        self.encoder.encode(&format!("{prefix}{text}"), limit)
    }

    /// Unit vectors out of the model's output: `[rows, tokens, hidden]` or, already pooled, `[rows,
    /// hidden]`.
    fn pool_vectors(
        &self,
        batch: &TokenBatch,
        shape: &[i64],
        values: &[f32],
    ) -> Result<Vec<Vec<f32>>> {
        let settings = &self.model.settings;
        let hidden = settings.hidden_size;
        let expected = |dimensions: &[usize]| {
            dimensions
                .iter()
                .map(|size| *size as i64)
                .eq(shape.iter().copied())
        };
        let mut vectors: Vec<Vec<f32>> = if expected(&[batch.rows, batch.columns, hidden]) {
            let rows = values
                .chunks_exact(batch.columns * hidden)
                .zip(batch.mask.chunks_exact(batch.columns));
            rows.map(|(tokens, mask)| pool_tokens(tokens, mask, hidden, settings.pooling))
                .collect()
        } else if expected(&[batch.rows, hidden]) {
            values.chunks_exact(hidden).map(<[f32]>::to_vec).collect()
        } else {
            return Err(Error::new(
                ErrorKind::Invalid,
                format!(
                    "model {} gives an output of shape {shape:?} for {} texts of {} tokens, its config.json says hidden_size {hidden}",
                    settings.name, batch.rows, batch.columns
                ),
            )
            .with_hint("correct `hidden_size` or `output` in the model's config.json"));
        };
        if vectors.iter().flatten().any(|value| !value.is_finite()) {
            return Err(Error::new(
                ErrorKind::Internal,
                format!("model {} gave a value that is not a number", settings.name),
            ));
        }
        vectors
            .iter_mut()
            .for_each(|vector| super::normalize(vector));
        Ok(vectors)
    }
}

impl Embedder for OnnxEmbedder {
    fn name(&self) -> &str {
        &self.name
    }

    fn dimensions(&self) -> usize {
        self.model.settings.hidden_size
    }

    fn embed(&self, texts: &[&str], role: TextRole) -> Result<Vec<Vec<f32>>> {
        Ok(self.embed_timed(texts, role)?.0)
    }
}

/// Indices of texts in batches: sorted by length, each batch within the budget of padded tokens (or
/// a single text).
pub fn batches(lengths: &[usize], token_budget: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|index| lengths.get(*index));
    let mut all: Vec<Vec<usize>> = Vec::new();
    for index in order {
        let length = lengths.get(index).copied().unwrap_or_default();
        match all.last_mut() {
            // Sorted: the new text is the longest of its batch and sets the padding.
            Some(batch) if (batch.len() + 1) * length <= token_budget => batch.push(index),
            _ => all.push(vec![index]),
        }
    }
    all
}

/// One vector out of the token vectors of a text.
fn pool_tokens(tokens: &[f32], mask: &[i64], hidden: usize, pooling: Pooling) -> Vec<f32> {
    let mut rows = tokens
        .chunks_exact(hidden)
        .zip(mask)
        .filter(|(_, mask)| **mask != 0)
        .map(|(row, _)| row);
    let picked = match pooling {
        Pooling::Cls => rows.next(),
        Pooling::Last => rows.next_back(),
        Pooling::Mean => {
            let mut sum = vec![0.0_f32; hidden];
            let mut count = 0.0_f32;
            for row in rows {
                sum.iter_mut()
                    .zip(row)
                    .for_each(|(sum, value)| *sum += value);
                count += 1.0;
            }
            sum.iter_mut().for_each(|value| *value /= count.max(1.0));
            return sum;
        }
    };
    picked.map_or_else(|| vec![0.0; hidden], <[f32]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_keep_the_budget_and_every_text_once() {
        let lengths = [5, 600, 100, 7, 250, 6, 240];
        let all = batches(&lengths, 512);
        assert_eq!(all, [vec![0, 5, 3, 2], vec![6, 4], vec![1]]);
        assert!(batches(&[], 512).is_empty());
        assert_eq!(batches(&[3, 3], 0), [[0], [1]]);
    }

    #[test]
    fn pooling_reads_the_mask() {
        let tokens = [1.0, 2.0, 3.0, 4.0, 9.0, 9.0];
        let mask = [1, 1, 0];
        assert_eq!(pool_tokens(&tokens, &mask, 2, Pooling::Mean), [2.0, 3.0]);
        assert_eq!(pool_tokens(&tokens, &mask, 2, Pooling::Cls), [1.0, 2.0]);
        assert_eq!(pool_tokens(&tokens, &mask, 2, Pooling::Last), [3.0, 4.0]);
        assert_eq!(
            pool_tokens(&tokens, &[0, 0, 0], 2, Pooling::Last),
            [0.0, 0.0]
        );
    }
}
