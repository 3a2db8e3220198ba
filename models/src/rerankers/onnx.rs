//! A cross-encoder in a model folder: question and passage go through the model as one pair; the
//! logit becomes a score by the sigmoid.

use crate::embedders::onnx::batches;
use crate::folder::{ModelFolder, ModelKind};
use crate::sessions::{SessionPool, TokenBatch, run_batch};
use crate::tokens::TextEncoder;
use crate::{Config, Error, Reranker, Result, runtime};
use std::path::Path;
use tributary_schemas::ErrorKind;

/// A cross-encoder with its sessions.
pub struct OnnxReranker {
    name: String,
    model: ModelFolder,
    encoder: TextEncoder,
    sessions: SessionPool,
    batch_token_budget: usize,
}

impl OnnxReranker {
    /// Opens the model and scores one pair to see that it gives one logit per pair.
    pub fn open(model: ModelFolder, config: &Config, models_folder: &Path) -> Result<Self> {
        if model.settings.kind != ModelKind::Reranker {
            return Err(Error::new(
                ErrorKind::Invalid,
                format!(
                    "{} is an {} model, not a reranker",
                    model.settings.name,
                    model.settings.kind.as_str()
                ),
            )
            .with_hint("name a cross-encoder in `models.reranker.folder`"));
        }
        runtime::initialize(config, models_folder)?;
        let reranker = Self {
            name: model.versioned_name()?,
            encoder: TextEncoder::open(&model.tokenizer_file())?,
            sessions: SessionPool::new(
                &model.onnx_file(),
                config.session_limit(),
                config.session_threads,
            ),
            batch_token_budget: config.batch_token_budget,
            model,
        };
        reranker.score("probe", &["probe"])?;
        Ok(reranker)
    }

    /// Scores out of the logits: `[rows, 1]` or `[rows]`; of two classes the second is "relevant".
    fn read_scores(&self, rows: usize, shape: &[i64], values: &[f32]) -> Result<Vec<f32>> {
        let rows_match = shape.first() == Some(&(rows as i64));
        let scores: Vec<f32> = match shape {
            [_] | [_, 1] if rows_match => values.iter().map(|logit| sigmoid(*logit)).collect(),
            [_, 2] if rows_match => values
                .as_chunks::<2>()
                .0
                .iter()
                .map(|[other, relevant]| sigmoid(relevant - other))
                .collect(),
            _ => return Err(self.unexpected_shape(rows, shape)),
        };
        match scores.iter().all(|score| score.is_finite()) {
            true => Ok(scores),
            false => Err(Error::new(
                ErrorKind::Internal,
                format!(
                    "model {} gave a score that is not a number",
                    self.model.settings.name
                ),
            )),
        }
    }

    fn unexpected_shape(&self, rows: usize, shape: &[i64]) -> Error {
        let message = format!(
            "model {} gives an output of shape {shape:?} for {rows} pairs, not one logit each",
            self.model.settings.name
        );
        Error::new(ErrorKind::Invalid, message)
            .with_hint("correct `output` in the model's config.json")
    }
}

impl Reranker for OnnxReranker {
    fn name(&self) -> &str {
        &self.name
    }

    fn score(&self, query: &str, passages: &[&str]) -> Result<Vec<f32>> {
        let settings = &self.model.settings;
        let query = format!("{}{query}", settings.query_prefix);
        let pairs = passages
            .iter()
            .map(|passage| {
                self.encoder.encode_pair(
                    &query,
                    &format!("{}{passage}", settings.passage_prefix),
                    settings.max_length,
                )
            })
            .collect::<Result<Vec<_>>>()?;
        let lengths: Vec<usize> = pairs.iter().map(|pair| pair.ids.len()).collect();
        let mut scores = vec![0.0; passages.len()];
        for batch in batches(&lengths, self.batch_token_budget) {
            let rows = batch
                .iter()
                .filter_map(|index| pairs.get(*index))
                .collect::<Vec<_>>();
            let tokens = TokenBatch::new(rows.iter().copied(), settings.pad_token_id);
            let made = self.sessions.with(|session| {
                run_batch(
                    session,
                    &tokens,
                    settings.output.as_deref(),
                    |shape, values| self.read_scores(tokens.rows, shape, values),
                )
            })?;
            for (index, score) in batch.into_iter().zip(made) {
                if let Some(slot) = scores.get_mut(index) {
                    *slot = score;
                }
            }
        }
        Ok(scores)
    }
}

/// The logistic function.
fn sigmoid(logit: f32) -> f32 {
    1.0 / (1.0 + (-logit).exp())
}

#[cfg(test)]
mod tests {
    use super::sigmoid;

    #[test]
    fn sigmoid_has_its_fixed_points() {
        assert_eq!(sigmoid(0.0), 0.5);
        assert!(sigmoid(-200.0) < 1e-30 && sigmoid(200.0) == 1.0);
        assert!((sigmoid(1.0) - 0.731_058_6).abs() < 1e-6);
    }
}
