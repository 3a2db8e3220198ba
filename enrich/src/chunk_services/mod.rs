//! Steps on chunks that are HTTP services of a team's own: once a document is cut and summarised,
//! each service of its source profile, in their order, gets its chunks as JSON and says which texts
//! change and which chunks go ([`tributary_schemas::external_step`]). A step may be for documents of
//! some knowledge sets alone.
//!
//! A failure is that of the document, named by its step. Chunks are made for each generation of the
//! index and made again at each replay: what a service answered is cached by step and request, so
//! that it is asked once.

mod apply;

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use tributary_models::TokenCounter;
use tributary_models::chat::ChatError;
use tributary_models::chat::config::Key;
use tributary_models::service::{Answer, Service, ServiceSettings, SharedServiceObserver};
use tributary_schemas::external_step::{ExternalChunksReply, ExternalChunksRequest};
use tributary_schemas::{Chunk, DocumentHeader, Error, ErrorKind, Result};
use tributary_store::blobs::Blobs;
use tributary_taxonomy::SourceProfiles;
use tributary_taxonomy::source_profiles::ChunkStep;

use crate::blocking;

/// Longest answer in bytes that is cached; a longer one is asked for again.
const MAXIMUM_CACHED_BYTES: usize = 512 << 10;
/// What is cached of an answer without a body.
const NO_CHANGE: &str = "";

/// The services of all source profiles.
#[derive(Default)]
pub struct ChunkServices {
    by_profile: HashMap<String, Vec<Arc<ChunkService>>>,
}

/// One of them, ready to be called.
struct ChunkService {
    name: String,
    /// Empty: documents of all.
    knowledge_sets: Vec<String>,
    /// What shapes an answer, beside the request.
    identity: String,
    service: Service,
    /// Where answers are cached.
    blobs: Option<Blobs>,
}

impl ChunkServices {
    /// Prepares the services that profiles name; without `blobs` nothing is cached. What a step does not say is as in `defaults`.
    /// `Invalid` for a setting, a key or a header that cannot be used; the message names the step.
    pub fn new(
        profiles: &SourceProfiles,
        defaults: &ServiceSettings,
        observer: &SharedServiceObserver,
        blobs: Option<&Blobs>,
    ) -> Result<Self> {
        let mut by_profile = HashMap::new();
        for profile in profiles.iter().filter(|one| !one.chunk_steps.is_empty()) {
            let steps = profile.chunk_steps.iter();
            let services = steps.map(|step| {
                ChunkService::new(step, &profile.name, defaults, observer, blobs).map(Arc::new)
            });
            let services: Result<Vec<_>> = services.collect();
            by_profile.insert(profile.name.clone(), services?);
        }
        Ok(Self { by_profile })
    }

    /// Each step, `PROFILE/NAME`, with the address of its service.
    pub fn addresses(&self) -> Vec<(String, String)> {
        let services = self.by_profile.values().flatten();
        let both = |service: &Arc<ChunkService>| {
            let service = &service.service;
            (service.name().to_owned(), service.address().to_owned())
        };
        let mut all: Vec<_> = services.map(both).collect();
        all.sort();
        all
    }

    /// Whether any service sees the chunks of such a document.
    pub fn are_for(&self, profile: &str, document: &DocumentHeader) -> bool {
        self.of(profile, document).next().is_some()
    }

    /// The chunks as all services leave them. Ids of chunks that change are made anew.
    pub async fn run(
        &self,
        profile: &str,
        document: &DocumentHeader,
        chunks: Vec<Chunk>,
        tokens: &Arc<dyn TokenCounter>,
    ) -> Result<Vec<Chunk>> {
        let mut chunks = chunks;
        for service in self.of(profile, document) {
            let service = Arc::clone(service);
            chunks = service.run(document, chunks, tokens).await?;
        }
        Ok(chunks)
    }

    fn of<'a>(
        &'a self,
        profile: &str,
        document: &'a DocumentHeader,
    ) -> impl Iterator<Item = &'a Arc<ChunkService>> {
        let services = self.by_profile.get(profile).into_iter().flatten();
        services.filter(move |service| service.is_for(&document.knowledge_sets))
    }
}

impl ChunkService {
    fn new(
        step: &ChunkStep,
        profile: &str,
        defaults: &ServiceSettings,
        observer: &SharedServiceObserver,
        blobs: Option<&Blobs>,
    ) -> Result<Self> {
        let settings = settings(step, profile, defaults)?;
        let label = format!("{profile}/{}", step.name);
        let service = Service::new(&label, settings, Arc::clone(observer)).map_err(|error| {
            let place = format!("source profile {profile}: chunk step `{}`", step.name);
            let located = Error::new(error.kind(), format!("{place}: {error}"));
            match error.hint() {
                Some(hint) => located.with_hint(hint),
                None => located,
            }
        })?;
        Ok(Self {
            name: step.name.clone(),
            knowledge_sets: step.knowledge_sets.clone(),
            identity: format!("{label}\0{}\0{}", step.url, step.version),
            service,
            blobs: blobs.cloned(),
        })
    }

    fn is_for(&self, knowledge_sets: &[String]) -> bool {
        let own = &self.knowledge_sets;
        own.is_empty() || own.iter().any(|set| knowledge_sets.contains(set))
    }

    /// Documents may be long: JSON is written and read on a blocking thread.
    async fn run(
        self: Arc<Self>,
        document: &DocumentHeader,
        chunks: Vec<Chunk>,
        tokens: &Arc<dyn TokenCounter>,
    ) -> Result<Vec<Chunk>> {
        if chunks.is_empty() {
            return Ok(chunks);
        }
        let header = document.clone();
        let (chunks, request, body) = blocking("chunk", move || {
            let request = apply::request(&header, &chunks);
            let body = serde_json::to_vec(&request).map_err(|error| {
                let message = format!("cannot encode chunks for a step: {error}");
                Error::new(ErrorKind::Internal, message)
            })?;
            Ok((chunks, request, Bytes::from(body)))
        })
        .await?;
        let key = self.key(&body);
        if let Some(cached) = self.cached(&key).await? {
            let applied = self
                .applied(cached.into_bytes(), request, chunks, tokens)
                .await;
            return applied.map_err(|error| self.refused(&error));
        }
        let answer = self.service.call(&body).await;
        let Answer { body, took } = answer.map_err(|failed| self.failed(&failed))?;
        let reply = body.unwrap_or_default();
        let applied = self.applied(reply.clone(), request, chunks, tokens).await;
        let outcome = match &applied {
            Ok(_) if reply.is_empty() => "unchanged",
            Ok(_) => "ok",
            Err(_) => "bad_reply",
        };
        self.service.judged(outcome, took);
        let applied = applied.map_err(|error| self.refused(&error))?;
        self.remember(&key, reply).await;
        Ok(applied)
    }

    /// Hash of the step and all that it is sent. 64 hexadecimal digits.
    fn key(&self, body: &[u8]) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher
            .update(self.identity.as_bytes())
            .update(&[0])
            .update(body);
        hasher.finalize().to_hex().to_string()
    }

    async fn cached(&self, key: &str) -> Result<Option<String>> {
        match &self.blobs {
            Some(blobs) => blobs.cached(key).await,
            None => Ok(None),
        }
    }

    async fn remember(&self, key: &str, reply: Vec<u8>) {
        let reply = String::from_utf8(reply).ok();
        let reply = reply.filter(|reply| reply.len() <= MAXIMUM_CACHED_BYTES);
        let (Some(blobs), Some(reply)) = (&self.blobs, reply) else {
            return;
        };
        if let Err(error) = blobs.cache(key, &reply).await {
            let (step, error) = (&self.name, error.full_message());
            tracing::warn!(step, error, "what a step on chunks answered is not cached");
        }
    }

    async fn applied(
        &self,
        reply: Vec<u8>,
        request: ExternalChunksRequest,
        chunks: Vec<Chunk>,
        tokens: &Arc<dyn TokenCounter>,
    ) -> Result<Vec<Chunk>> {
        if reply == NO_CHANGE.as_bytes() {
            return Ok(chunks);
        }
        let tokens = Arc::clone(tokens);
        blocking("chunk", move || {
            let reply: ExternalChunksReply = serde_json::from_slice(&reply).map_err(|error| {
                let message = format!("its answer is not as asked for: {error}");
                Error::new(ErrorKind::Invalid, message)
            })?;
            reply.check(&request)?;
            Ok(apply::apply(
                &request.document_id,
                chunks,
                reply,
                tokens.as_ref(),
            ))
        })
        .await
    }

    fn failed(&self, failed: &ChatError) -> Error {
        let message = format!("step `{}` on chunks {failed}", self.name);
        let hint = "put the service in order, then replay the dead letter";
        Error::new(failed.error().kind(), message)
            .of_record_alone()
            .with_hint(hint)
    }

    fn refused(&self, error: &Error) -> Error {
        let message = format!("step `{}` on chunks: {error}", self.name);
        let hint = "its answer must be as docs/pipelines.md says; then replay the dead letter";
        Error::new(error.kind(), message)
            .of_record_alone()
            .with_hint(hint)
    }
}

/// What the step says, over the defaults.
fn settings(
    step: &ChunkStep,
    profile: &str,
    defaults: &ServiceSettings,
) -> Result<ServiceSettings> {
    let seconds = std::time::Duration::from_secs;
    let secret = |text: Option<String>| text.map(|text| Key::new(text.trim()));
    let defaults = defaults.clone();
    Ok(ServiceSettings {
        url: step.url.clone(),
        key: secret(step.key(profile)?),
        header: secret(step.header(profile)?),
        timeout: step.timeout_seconds.map_or(defaults.timeout, seconds),
        patience: step.patience_seconds.map_or(defaults.patience, seconds),
        parallel: step.parallel.unwrap_or(defaults.parallel),
        retries: step.retries.unwrap_or(defaults.retries),
        waiting: step.waiting.unwrap_or(defaults.waiting),
        maximum_reply_bytes: step
            .maximum_reply_bytes
            .unwrap_or(defaults.maximum_reply_bytes),
        ..defaults
    })
}
