//! Asks questions with and without an answer and fits the estimate of relevance to what was found:
//! every other document of each set is left out, and with it the answers of about half of the
//! questions.

use std::collections::HashSet;

use anyhow::{Result, ensure};
use serde::Serialize;
use tributary_retrieval::Principal;
use tributary_schemas::search::Hit;
use tributary_taxonomy::language::script;

use crate::calibration::{
    self, Bin, Features, SIGNALS, Sample, Weights, area_under_roc, bins, calibration_error,
    calibration_error_of_bins,
};
use crate::runner::{Pipeline, Progress, ingest, request};
use crate::set::{EvaluationSet, Question};

/// Hits of each question that are looked at.
const HITS: usize = 10;

/// What is known of a hit.
#[derive(Clone, Copy, Debug)]
struct Seen {
    features: Features,
    is_relevant: bool,
    is_across: bool,
}

/// A question that was asked.
#[derive(Clone, Debug)]
struct Asked {
    /// Number of its set.
    set: usize,
    has_answer: bool,
    hits: Vec<Seen>,
    /// What the weights of the configuration say of each hit.
    configured: Vec<f64>,
}

/// What was found for all sets so far.
#[derive(Debug, Default)]
pub struct Collection {
    sets: Vec<String>,
    /// Name of the model that embedded the questions.
    model: String,
    /// Name of the reranker that ran.
    reranker: Option<String>,
    asked: Vec<Asked>,
}

/// Weights and what they are worth on questions that they were not fitted on.
#[derive(Debug, Serialize)]
pub struct Calibration {
    /// Names of the sets.
    pub sets: Vec<String>,
    /// Questions whose answer is there.
    pub answerable: usize,
    /// Questions whose answer was left out.
    pub unanswerable: usize,
    /// What the weights of the configuration are worth on the same questions. It flatters them where
    /// they were fitted on these, and is what to go by where they were not.
    pub configured: Figures,
    /// Where the question is embedded, of hits in the script of the question.
    pub with_vectors: Fit,
    /// The same of hits in another script; none where no such hit is relevant.
    pub across_scripts: Option<Fit>,
    /// Where it is not.
    pub keywords_alone: Fit,
    /// Name of the model that embedded the questions.
    pub model: String,
    /// Name of the reranker that ran.
    pub reranker: Option<String>,
    /// Where it is embedded and tier 3 runs; none where no reranker ran.
    pub with_reranker: Option<Fit>,
}

/// One fit.
#[derive(Debug, Serialize)]
pub struct Fit {
    /// Fitted on all questions.
    pub weights: Weights,
    /// Cross-fitted, all sets.
    pub all: Figures,
    /// Cross-fitted, by set, in the order of the sets: how far one set of weights holds for each.
    pub by_set: Vec<Figures>,
}

/// What estimates are worth.
#[derive(Debug, Serialize)]
pub struct Figures {
    /// Mean distance of estimate and truth over ten bins, each weighing as many hits as it has.
    pub calibration_error: f64,
    /// The same with each bin weighing alike.
    pub calibration_error_of_bins: f64,
    /// The area under the curve that tells questions with an answer from those without by the
    /// relevance of their best hit.
    pub answerable_auroc: f64,
    /// The bins.
    pub bins: Vec<Bin>,
}

/// Every other document of a set, and questions with and without an answer among them, at most
/// `limit` of each.
pub fn halved(mut set: EvaluationSet, limit: usize) -> EvaluationSet {
    let mut number = 0;
    set.documents.retain(|_| {
        number += 1;
        number % 2 == 1
    });
    let kept: HashSet<String> = set
        .documents
        .iter()
        .filter_map(|document| document.document_id.clone())
        .collect();
    for question in &mut set.questions {
        question.relevant.retain(|document| kept.contains(document));
    }
    let (with, without): (Vec<Question>, Vec<Question>) = set
        .questions
        .into_iter()
        .partition(|question| !question.relevant.is_empty());
    let first = |questions: Vec<Question>| questions.into_iter().take(limit);
    set.questions = first(with).chain(first(without)).collect();
    set
}

impl Collection {
    /// Publishes the documents of a [`halved`] set and asks its questions.
    pub async fn add(
        &mut self,
        set: &EvaluationSet,
        pipeline: &Pipeline<'_>,
        progress: &dyn Progress,
    ) -> Result<()> {
        ingest(set, pipeline, progress).await?;
        self.model = pipeline.retriever.embedding_model();
        self.reranker = pipeline.retriever.reranker();
        for (number, question) in set.questions.iter().enumerate() {
            progress.at("ask", number, set.questions.len());
            let request = request(question, HITS);
            let answer = pipeline
                .retriever
                .search(&request, &Principal::unrestricted())
                .await;
            if let Ok(outcome) = answer {
                let degraded = &outcome.response.degraded;
                ensure!(
                    !degraded.iter().any(|what| what == "reranker"),
                    "the reranker failed for `{}`; raise query_api.retrieval.rerank.deadline_ms, or lower fine_keep",
                    question.text
                );
                let hits = &outcome.response.hits;
                self.asked.push(Asked::of(self.sets.len(), question, hits));
            }
        }
        progress.at("ask", set.questions.len(), set.questions.len());
        self.sets.push(set.name.clone());
        Ok(())
    }

    /// Fits what was collected.
    pub fn calibrate(&self) -> Result<Calibration> {
        let answerable = self.asked.iter().filter(|asked| asked.has_answer).count();
        ensure!(
            answerable > 0 && answerable < self.asked.len(),
            "{answerable} of {} questions have an answer: some with and some without are needed",
            self.asked.len()
        );
        let all = SIGNALS.map(|_| true);
        let without = |names: &[&str]| SIGNALS.map(|name| !names.contains(&name));
        let samples = self.samples();
        let (across, within): (Vec<Sample>, Vec<Sample>) =
            samples.iter().cloned().partition(|sample| sample.is_across);
        let is_told = across.iter().any(|sample| sample.is_relevant);
        Ok(Calibration {
            sets: self.sets.clone(),
            answerable,
            unanswerable: self.asked.len() - answerable,
            configured: self.configured(),
            with_vectors: self.fit(&within, without(&["rerank"])),
            across_scripts: is_told.then(|| self.fit(&across, without(&["rerank"]))),
            keywords_alone: self.fit(&samples, without(&["similarity", "rerank"])),
            with_reranker: self.reranker.as_ref().map(|_| self.fit(&samples, all)),
            model: self.model.clone(),
            reranker: self.reranker.clone(),
        })
    }

    fn fit(&self, samples: &[Sample], used: [bool; SIGNALS.len()]) -> Fit {
        let estimates = calibration::cross_fitted(samples, used);
        let figures = |set: Option<usize>| {
            let is_of_set = |asked: &Asked| set.is_none_or(|set| asked.set == set);
            self.figures(samples, &estimates, &is_of_set)
        };
        Fit {
            weights: calibration::fit(&samples.iter().collect::<Vec<_>>(), used),
            all: figures(None),
            by_set: (0..self.sets.len()).map(|set| figures(Some(set))).collect(),
        }
    }

    fn configured(&self) -> Figures {
        let estimates = self.asked.iter().flat_map(|asked| &asked.configured);
        let estimates: Vec<f64> = estimates.copied().collect();
        self.figures(&self.samples(), &estimates, &|_| true)
    }

    /// Of the questions that are `chosen`.
    fn figures(
        &self,
        samples: &[Sample],
        estimates: &[f64],
        chosen: &dyn Fn(&Asked) -> bool,
    ) -> Figures {
        let is_chosen = |sample: &Sample| self.asked.get(sample.question).is_some_and(chosen);
        let mut best = vec![0.0_f64; self.asked.len()];
        let (mut estimated, mut relevant) = (Vec::new(), Vec::new());
        for (sample, estimate) in samples.iter().zip(estimates) {
            if !is_chosen(sample) {
                continue;
            }
            estimated.push(*estimate);
            relevant.push(sample.is_relevant);
            if let Some(best) = best.get_mut(sample.question) {
                *best = best.max(*estimate);
            }
        }
        let best_of = |has_answer: bool| -> Vec<f64> {
            let questions = self.asked.iter().zip(&best);
            questions
                .filter(|(asked, _)| chosen(asked) && asked.has_answer == has_answer)
                .map(|(_, best)| *best)
                .collect()
        };
        let bins = bins(&estimated, &relevant);
        Figures {
            calibration_error: calibration_error(&bins),
            calibration_error_of_bins: calibration_error_of_bins(&bins),
            answerable_auroc: area_under_roc(&best_of(true), &best_of(false)),
            bins,
        }
    }

    fn samples(&self) -> Vec<Sample> {
        let of_question = |(question, asked): (usize, &Asked)| {
            let sample = move |seen: &Seen| Sample {
                question,
                features: seen.features,
                is_relevant: seen.is_relevant,
                is_across: seen.is_across,
            };
            asked.hits.iter().map(sample).collect::<Vec<_>>()
        };
        self.asked
            .iter()
            .enumerate()
            .flat_map(of_question)
            .collect()
    }
}

impl Asked {
    fn of(set: usize, question: &Question, hits: &[Hit]) -> Self {
        let signal =
            |hit: &Hit, name: &str| f64::from(hit.scores.get(name).copied().unwrap_or(0.0));
        let asked = script(&question.text);
        let seen = |hit: &Hit| Seen {
            features: SIGNALS.map(|name| signal(hit, name)),
            is_relevant: question.relevant.contains(&hit.document_id),
            is_across: asked
                .zip(script(&hit.text))
                .is_some_and(|(one, other)| one != other),
        };
        let estimated = |hit: &Hit| f64::from(hit.relevance.unwrap_or(0.0));
        Self {
            set,
            has_answer: !question.relevant.is_empty(),
            hits: hits.iter().map(seen).collect(),
            configured: hits.iter().map(estimated).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use tributary_schemas::DocumentEvent;

    use super::*;

    #[test]
    fn every_other_document_is_left_out_and_its_questions_have_no_answer() {
        let document = |id: &str| DocumentEvent {
            document_id: Some(id.to_owned()),
            ..DocumentEvent::default()
        };
        let question = |id: &str, relevant: &[&str]| Question {
            id: id.to_owned(),
            text: id.to_owned(),
            relevant: relevant.iter().map(|id| (*id).to_owned()).collect(),
            answers: Vec::new(),
            history: Vec::new(),
            case: crate::case::Case::default(),
        };
        let set = EvaluationSet {
            name: "s".into(),
            documents: ["a", "b", "c", "d"].map(document).into(),
            questions: vec![
                question("in b", &["b"]),
                question("in a or b", &["a", "b"]),
                question("in c", &["c"]),
                question("in d", &["d"]),
            ],
            unanswerable: Vec::new(),
            faulty: 0,
            left_out: Vec::new(),
        };
        let halved = halved(set, 1);
        let ids: Vec<&str> = halved
            .questions
            .iter()
            .map(|question| question.id.as_str())
            .collect();
        assert_eq!(halved.documents.len(), 2);
        assert_eq!(ids, ["in a or b", "in b"], "one of each kind");
        assert!(!halved.questions[0].relevant.contains("b"));
        assert!(halved.questions[1].relevant.is_empty());
    }

    fn seen(features: Features, is_relevant: bool) -> Seen {
        Seen {
            features,
            is_relevant,
            is_across: false,
        }
    }

    #[test]
    fn questions_without_an_answer_are_told_by_their_signals() {
        let asked = |number: usize| {
            let has_answer = number.is_multiple_of(2);
            let best = if has_answer { 0.9 } else { 0.4 } + (number % 7) as f64 / 100.0;
            Asked {
                set: 0,
                has_answer,
                hits: vec![
                    seen([best, best, 1.0, 0.0, 0.0], has_answer),
                    seen([0.3, 0.1, 0.0, 0.0, 0.0], false),
                ],
                configured: vec![if has_answer { 1.0 } else { 0.0 }, 0.5],
            }
        };
        let collection = Collection {
            sets: vec!["s".into()],
            model: "e5".into(),
            reranker: None,
            asked: (0..200).map(asked).collect(),
        };
        let Ok(calibration) = collection.calibrate() else {
            panic!("both kinds are there");
        };
        assert_eq!(
            (calibration.answerable, calibration.unanswerable),
            (100, 100)
        );
        let all = &calibration.with_vectors.all;
        assert!(all.answerable_auroc > 0.99 && all.calibration_error < 0.05);
        assert_eq!(calibration.with_vectors.by_set.len(), 1);
        // The first hits are right, the others are called even and none is.
        let configured = &calibration.configured;
        assert!(
            (configured.calibration_error - 0.25).abs() < 1e-9,
            "{configured:?}"
        );
        assert!(calibration.with_reranker.is_none() && calibration.across_scripts.is_none());
        let mut across = Collection {
            asked: collection.asked.clone(),
            ..Collection::default()
        };
        let hits = across.asked.iter_mut().flat_map(|asked| &mut asked.hits);
        hits.for_each(|seen| seen.is_across = true);
        let fit = across.calibrate().ok().and_then(|fit| fit.across_scripts);
        assert!(fit.is_some_and(|fit| fit.all.answerable_auroc > 0.99));
        let reranked = Collection {
            reranker: Some("chat:small".into()),
            ..collection
        };
        let fit = reranked.calibrate().ok().and_then(|fit| fit.with_reranker);
        assert!(
            fit.is_some_and(|fit| fit.weights.signals[4].abs() < 1e-6),
            "it was always 0"
        );
        assert!(Collection::default().calibrate().is_err());
    }
}
