//! What `/health/readyz` looks at: everything that this process needs, all at once and each within
//! a bounded time.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::sync::Mutex;
use tributary_convert::isolation::ConversionPool;
use tributary_enrich::Catalog;
use tributary_models::chat::ChatModels;
use tributary_query_api::readiness::{Check, ReadinessProbe};
use tributary_retrieval::{MissingDocuments, SharedServing};
use tributary_schemas::{Error, ErrorKind, Result, Topic};
use tributary_store::config::Stores;
use tributary_store::data_folder::{free_bytes, probe_writing};
use tributary_store::event_log::worker::holds::{Held, Holds};
use tributary_store::parts;
use tributary_store::work::Work;

use super::external_metrics::KnownServices;
use super::{Parts, confinement, left_out, not_run};
use crate::args::Service;
use crate::config::Config;
use crate::print;

/// Whatever has not answered by then counts as away. Probes are usually given up after a few
/// seconds themselves.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Probes that come together look once.
const FRESH: Duration = Duration::from_millis(500);
/// What a process that answers questions does not hear of while its log is away.
const UNHEARD: &str = "; searches go on (those of readers with limited rights for another `rights_valid_seconds`), and see nothing of what others publish or delete, nor of narrower rights, until it answers";
/// A stage that waits for longer does not just meet a moment without room.
const PATIENCE: Duration = Duration::from_secs(5);

/// Log, index and blob store answer, the data folder takes writes and has room, no stage is held
/// up, models are loaded, converters are confined.
pub struct Readiness {
    stores: Stores,
    holds: Holds,
    serving: SharedServing,
    missing: MissingDocuments,
    chat: Arc<ChatModels>,
    services: KnownServices,
    /// Documents that the stage `chunk` has at a time.
    documents_waiting: usize,
    work: Work,
    folder: PathBuf,
    /// Folders in it that must be there.
    embedded: Vec<&'static str>,
    minimum_free_bytes: u64,
    answers_queries: bool,
    knowledge_sets: Arc<Catalog>,
    /// Stages that nobody runs.
    left_out: Vec<String>,
    /// Where documents are converted.
    conversion: Option<Arc<ConversionPool>>,
    last: Mutex<Option<(Instant, Vec<Check>)>>,
}

impl Readiness {
    /// Looks at the given parts.
    pub fn new(parts: &Parts, config: &Config, services: &[Service]) -> Self {
        Self {
            stores: parts.stores.clone(),
            holds: parts.worker_metrics.holds(),
            serving: parts.serving.clone(),
            missing: parts.missing.clone(),
            chat: Arc::clone(&parts.chat),
            services: parts.known_services.clone(),
            documents_waiting: config.enrich.chunk.documents_waiting,
            work: parts.work.clone(),
            folder: PathBuf::from(&config.store.data_folder),
            embedded: config.store.embedded_parts(),
            minimum_free_bytes: config.store.minimum_free_bytes,
            answers_queries: services.contains(&Service::Query),
            left_out: left_out(config, services),
            knowledge_sets: Arc::clone(&parts.knowledge_sets),
            conversion: services
                .contains(&Service::Ingest)
                .then(|| Arc::clone(&parts.conversion)),
            last: Mutex::default(),
        }
    }

    async fn look(&self) -> Vec<Check> {
        let log = async {
            self.stores.topics.probe().await?;
            self.stores
                .topics
                .lag(Topic::DocumentsRaw, "ingest")
                .await
                .map(|_| "answers".to_owned())
        };
        let index = async {
            self.stores.index.probe().await?;
            let generations = self.stores.index.status().await?;
            let serving = generations.iter().find(|generation| generation.serving);
            let none = || {
                Error::new(
                    ErrorKind::NotFound,
                    "no generation of the index serves queries",
                )
            };
            serving
                .map(|serving| served(&serving.name, self.missing.count()))
                .ok_or_else(none)
        };
        let (folder, embedded, minimum) = (
            self.folder.clone(),
            self.embedded.clone(),
            self.minimum_free_bytes,
        );
        let folder = blocking(move || {
            parts::check(&folder, &embedded)?;
            room(&folder, minimum)
        });
        let blobs = async {
            self.stores
                .blobs
                .check()
                .await
                .map(|()| "is there".to_owned())
        };
        let (log, index, blobs, folder, conversion) = tokio::join!(
            bounded(
                "event_log",
                "look whether its brokers or its disk answer",
                log
            ),
            bounded(
                "search_index",
                "look whether its nodes or its disk answer",
                index
            ),
            bounded(
                "blobs",
                "look whether the disk of store.blobs.url answers",
                blobs
            ),
            bounded("data_folder", "look whether its disk answers", folder),
            self.conversion(),
        );
        let others = [
            heard(log, self.answers_queries),
            index,
            blobs,
            folder,
            stages(&self.holds.held(), &self.left_out),
            self.models(),
        ];
        let chat = chat(&self.chat, &self.work, self.documents_waiting);
        let services = external_steps(&self.services);
        let sets = unread_sets(self.knowledge_sets.unread());
        let optional = [chat, services, conversion, sets].into_iter().flatten();
        others.into_iter().chain(optional).collect()
    }

    /// Where it is required and missing, documents wait.
    async fn conversion(&self) -> Option<Check> {
        let pool = Arc::clone(self.conversion.as_ref()?);
        let look = blocking(move || confinement::look(&pool));
        Some(
            bounded(
                "conversion",
                "`tributary doctor` says what is missing",
                look,
            )
            .await,
        )
    }

    /// They were loaded before the process answered at all: this tells which, and what stands in
    /// for a missing one.
    fn models(&self) -> Check {
        let serving = self.serving.current();
        let name = serving.models.embedder.fine_name();
        let (detail, hint) = match serving.models.degraded.as_slice() {
            [] => (format!("{name} is loaded"), None),
            missing => (
                format!("{name}, without {}", missing.join(", ")),
                Some("deploy/models/fetch gets the models".to_owned()),
            ),
        };
        Check {
            name: "models".to_owned(),
            ok: true,
            detail,
            hint,
        }
    }
}

#[async_trait]
impl ReadinessProbe for Readiness {
    async fn check(&self) -> Vec<Check> {
        let mut last = self.last.lock().await;
        if let Some((_, checks)) = last.as_ref().filter(|(looked, _)| looked.elapsed() < FRESH) {
            return checks.clone();
        }
        let checks = self.look().await;
        *last = Some((Instant::now(), checks.clone()));
        checks
    }
}

/// Where what was applied last cannot be read, documents are tagged by older rules.
fn unread_sets(unread: Option<String>) -> Option<Check> {
    unread.map(|what| Check {
        name: "knowledge_sets".to_owned(),
        ok: false,
        detail: format!("what was applied last cannot be read, older rules hold: {what}"),
        hint: Some("apply the sets again: `tributary knowledge-sets apply FILE`".to_owned()),
    })
}

/// An index that lacks documents answers with those that it has.
fn served(generation: &str, missing: u64) -> String {
    let whole = format!("generation {generation} serves");
    match missing {
        0 => whole,
        missing => format!(
            "degraded: {whole} and is built again from the log, {} still to come",
            print::count(usize::try_from(missing).unwrap_or(usize::MAX), "document")
        ),
    }
}

/// Says what it means for readers that the log is away.
fn heard(log: Check, answers_queries: bool) -> Check {
    let is_unheard = answers_queries && !log.ok;
    let told = if is_unheard { UNHEARD } else { "" };
    Check {
        detail: format!("{}{told}", log.detail),
        ..log
    }
}

/// Language models, if there are any. One that is away takes nothing out of service: answers are
/// given in the lesser way. Nobody is asked here.
fn chat(chat: &ChatModels, work: &Work, maximum_waiting: usize) -> Option<Check> {
    let endpoints = chat.by_endpoint().len();
    let away = chat.away();
    let (detail, hint) = match away.as_slice() {
        _ if endpoints == 0 => return None,
        [] => (
            match endpoints {
                1 => "1 endpoint, not known to be away".to_owned(),
                _ => format!("{endpoints} endpoints, none known to be away"),
            },
            None,
        ),
        away => (
            format!(
                "degraded: {} failed and is left alone for a while",
                away.join(", ")
            ),
            Some("`tributary doctor` says what is wrong with it".to_owned()),
        ),
    };
    let detail = match waiting_for_texts(work, maximum_waiting) {
        Some(waiting) => format!("{detail}; {waiting}"),
        None => detail,
    };
    Some(Check {
        name: "chat".to_owned(),
        ok: true,
        detail,
        hint,
    })
}

/// Said of documents that wait for texts of a language model, by its check.
pub const WAITING_FOR_MODEL: &str = "waiting for what it writes";

/// Documents whose summaries and descriptions a model writes now: the stage `chunk` says so of these
/// alone.
fn waiting_for_texts(work: &Work, maximum_waiting: usize) -> Option<String> {
    let items = work.items();
    let mut waiting = items.iter().filter(|item| item.stage == "chunk");
    let longest = waiting.next()?;
    let count = waiting.count() + 1;
    let held_up = match count >= maximum_waiting {
        true => {
            "; as many as may (enrich.chunk.documents_waiting), so that documents behind them wait, too, also those that need no model"
        }
        false => "",
    };
    Some(format!(
        "{} {WAITING_FOR_MODEL}, the longest for {:.0} s{held_up}",
        print::count(count, "document"),
        longest.seconds
    ))
}

/// Steps that are services, if there are any. One that is away takes nothing out of service: its
/// documents wait, and go to the dead letters when their patience ends. Nobody is called here.
fn external_steps(services: &KnownServices) -> Option<Check> {
    let (count, away) = services.away();
    let (detail, hint) = match away.as_slice() {
        _ if count == 0 => return None,
        [] => (format!("{count} known, none known to be away"), None),
        away => (
            format!(
                "{} failed and is left alone for a while: its documents wait",
                away.join(", ")
            ),
            Some("`tributary doctor` says whether it answers; then `tributary dead-letters replay --all`".to_owned()),
        ),
    };
    Some(Check {
        name: "external_steps".to_owned(),
        ok: true,
        detail,
        hint,
    })
}

/// What stages of this process wait for, and which ones nobody runs.
fn stages(held: &[Held], left_out: &[String]) -> Check {
    let long = held.iter().filter(|held| held.waited >= PATIENCE);
    let waiting: Vec<String> = long
        .map(|held| {
            format!(
                "{} has waited for {} s: {}",
                held.stage,
                held.waited.as_secs(),
                held.reason
            )
        })
        .collect();
    let check = Check {
        name: "stages".to_owned(),
        ok: waiting.is_empty(),
        detail: "none is held up".to_owned(),
        hint: None,
    };
    if check.ok && !left_out.is_empty() {
        let hint = "start `tributary run` without --services; processes with a part of them share Kafka and Elasticsearch";
        return Check {
            detail: not_run(left_out),
            hint: Some(hint.to_owned()),
            ..check
        };
    }
    if check.ok {
        return check;
    }
    let hint =
        "nothing is lost: work goes on by itself when the cause is gone; the log has every try"
            .to_owned();
    Check {
        detail: waiting.join("; "),
        hint: Some(hint),
        ..check
    }
}

fn room(folder: &std::path::Path, minimum_free_bytes: u64) -> Result<String> {
    if let Err(error) = std::fs::metadata(folder.join("tributary.json")) {
        return Err(Error::io(
            format!("{} is no data folder any more", folder.display()),
            &error,
        )
        .with_hint("it was moved or removed: put it back and start again"));
    }
    probe_writing(folder)?;
    let free = free_bytes(folder)?;
    if free < minimum_free_bytes {
        let message = format!(
            "{} has {} MiB free, fewer than the {} MiB wanted",
            folder.display(),
            free >> 20,
            minimum_free_bytes >> 20
        );
        return Err(Error::new(ErrorKind::Exhausted, message)
            .with_hint("make room; work goes on by itself (store.minimum_free_bytes)"));
    }
    Ok(format!("{} MiB free", free >> 20))
}

/// Looks on a thread that may wait.
async fn blocking(look: impl FnOnce() -> Result<String> + Send + 'static) -> Result<String> {
    let looked = tokio::task::spawn_blocking(look).await;
    looked.unwrap_or_else(|error| Err(Error::new(ErrorKind::Internal, error.to_string())))
}

async fn bounded(name: &str, away: &str, look: impl Future<Output = Result<String>>) -> Check {
    bounded_by(TIMEOUT, name, away, look).await
}

async fn bounded_by(
    timeout: Duration,
    name: &str,
    away: &str,
    look: impl Future<Output = Result<String>>,
) -> Check {
    let silent = || {
        Error::new(
            ErrorKind::Timeout,
            format!("no answer within {} ms", timeout.as_millis()),
        )
        .with_hint(away)
    };
    let looked = tokio::time::timeout(timeout, look)
        .await
        .unwrap_or_else(|_| Err(silent()));
    match looked {
        Ok(detail) => Check {
            name: name.to_owned(),
            ok: true,
            detail,
            hint: None,
        },
        Err(error) => Check {
            name: name.to_owned(),
            ok: false,
            detail: error.to_string(),
            hint: error.hint().or(Some(away)).map(str::to_owned),
        },
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tributary_models::TokenCounter;
    use tributary_models::chat::config::EndpointKind;
    use tributary_models::chat::{
        ChatConfig, ChatModel, ChatRequest, Format, Message, Role, SharedObserver, Speaker,
        Unobserved,
    };
    use tributary_models::tokens::estimate::EstimatedTokens;

    use super::*;

    #[tokio::test]
    async fn what_does_not_answer_is_away_within_a_bounded_time() {
        let check = bounded_by(
            Duration::from_millis(20),
            "event_log",
            "look at it",
            std::future::pending(),
        )
        .await;
        assert_eq!(
            (check.ok, check.detail.as_str(), check.hint.as_deref()),
            (false, "no answer within 20 ms", Some("look at it"))
        );
    }

    #[test]
    fn a_log_that_is_away_says_what_its_readers_are_not_told() {
        let log = |ok| Check {
            name: "event_log".into(),
            ok,
            detail: "no answer".into(),
            hint: None,
        };
        let says = |ok, answers_queries| {
            let told = heard(log(ok), answers_queries).detail;
            told.contains("narrower rights")
        };
        assert!(says(false, true));
        assert!(!says(false, false) && !says(true, true));
    }

    /// One endpoint, whose script fails, and which is left alone after one failure.
    fn failing_chat(folder: &std::path::Path) -> ChatModels {
        let script = folder.join("script.json");
        std::fs::write(&script, r#"[{"failure": "unreachable"}]"#).unwrap();
        let defaults: toml::Table = include_str!("../../default.toml").parse().unwrap();
        let mut config: ChatConfig = defaults["models"]["chat"].clone().try_into().unwrap();
        config.endpoint.kind = EndpointKind::Scripted;
        config.endpoint.script_file = script.display().to_string();
        config.endpoint.circuit_failures = 1;
        let tokens: Arc<dyn TokenCounter> = Arc::new(EstimatedTokens);
        let observer: SharedObserver = Arc::new(Unobserved);
        ChatModels::open(&config, &tokens, &observer).unwrap()
    }

    #[tokio::test]
    async fn a_language_model_that_is_away_is_named_and_keeps_nobody_from_being_ready() {
        let folder = tempfile::tempdir().unwrap();
        let models = failing_chat(folder.path());
        assert!(
            !chat(&models, &Work::default(), 10)
                .unwrap()
                .detail
                .contains("degraded")
        );
        let model = models.role(Role::Answer).unwrap();
        let request = ChatRequest {
            prompt: "x".into(),
            messages: vec![Message::new(Speaker::User, "x")],
            maximum_tokens: 10,
            temperature: None,
            format: Format::Text,
            tools: Vec::new(),
            top_logprobs: 0,
            deadline: None,
        };
        assert!(model.complete(&request).await.is_err());
        let check = chat(&models, &Work::default(), 10).unwrap();
        assert!(
            check.ok && check.detail.contains("degraded: default"),
            "{}",
            check.detail
        );
        assert!(
            chat(&ChatModels::default(), &Work::default(), 10).is_none(),
            "none is nothing to say"
        );
    }

    #[test]
    fn a_stage_that_waits_for_long_is_named_with_its_reason() {
        let held = |seconds| Held {
            stage: "index".into(),
            count: 2,
            waited: Duration::from_secs(seconds),
            reason: "refused".into(),
        };
        assert!(
            stages(&[], &[]).ok && stages(&[held(1)], &[]).ok,
            "a moment is no reason to be taken out of service"
        );
        let left_out = ["chunk".to_owned()];
        let check = stages(&[], &left_out);
        assert!(check.ok && check.detail.contains("chunk"), "{check:?}");
        let check = stages(&[held(61)], &left_out);
        assert_eq!(
            (check.ok, check.detail.as_str()),
            (false, "index has waited for 61 s: refused")
        );
    }

    #[test]
    fn a_folder_without_room_or_identity_is_not_ready() {
        let folder = tempfile::tempdir().unwrap();
        assert!(
            room(folder.path(), 0)
                .unwrap_err()
                .to_string()
                .contains("no data folder any more")
        );
        std::fs::write(folder.path().join("tributary.json"), "{}").unwrap();
        assert!(room(folder.path(), 0).unwrap().contains("MiB free"));
        let error = room(folder.path(), u64::MAX).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Exhausted);
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            1,
            "no probe is left"
        );
    }
}
