//! Documents, dead letters and knowledge sets in memory: published text becomes searchable after
//! two polls.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use async_trait::async_trait;
use tempfile::TempDir;
use tributary_query_api::config::ServerConfig;
use tributary_query_api::documents::{
    Accepted, DeadLetterDetail, DeadLetterPage, DeadLetters, DocumentConditions, DocumentPage,
    Documents,
};
use tributary_query_api::http::health::{Check, ReadinessProbe};
use tributary_query_api::knowledge_sets::KnowledgeSetCatalog;
use tributary_query_api::reindexing::Reindexing;
use tributary_query_api::{Models, OperationsParts, Parts, Retriever, ServerState, retrieval};
use tributary_schemas::dead_letter::DeadLetter;
use tributary_schemas::id::derive_document_id;
use tributary_schemas::reindex::{
    ReindexOverview, ReindexProgress, ReindexReport, ReindexRequest, ReindexState,
};
use tributary_schemas::state::Reconciliation;
use tributary_schemas::{
    DocumentEvent, DocumentState, Error, ErrorKind, Lineage, Result, StageTime, State,
};
use tributary_store::blobs::Blobs;
use tributary_store::search_index::{Operation, SearchIndex};
use tributary_taxonomy::KnowledgeSets;

use super::memory_index::MemoryIndex;

pub const KNOWLEDGE_SETS: &str = r#"
[[knowledge_set]]
id = "common"
name = "Common"
name_zh = "通用"
view = "common"

[[knowledge_set]]
id = "radio"
name = "Radio"
name_zh = "无线"
view = "capability"

[[knowledge_set]]
id = "kernel"
name = "Kernel"
view = "organization"
"#;

/// Requests that are asked for and never done.
#[derive(Default)]
pub struct MemoryReindexing(Mutex<Vec<ReindexRequest>>);

pub struct MemoryDocuments {
    index: Arc<MemoryIndex>,
    states: Mutex<BTreeMap<String, DocumentState>>,
    last_event: Mutex<DocumentEvent>,
    files: TempDir,
}

impl MemoryDocuments {
    pub fn new(index: Arc<MemoryIndex>) -> Self {
        let states = super::TEXTS.iter().map(|text| {
            let event = DocumentEvent {
                title: Some(text.title.into()),
                source: text.source.into(),
                ..DocumentEvent::default()
            };
            let chunks = u32::try_from(text.chunks.len()).unwrap_or(0);
            (
                text.id.to_owned(),
                DocumentState {
                    chunks,
                    ..report(&event, text.id, 1, State::Indexed)
                },
            )
        });
        Self {
            index,
            states: Mutex::new(states.collect()),
            last_event: Mutex::default(),
            files: tempfile::tempdir().unwrap(),
        }
    }

    /// Files that documents carry.
    pub fn blobs(&self) -> Blobs {
        Blobs::local(self.files.path()).unwrap()
    }

    /// What was published last.
    pub fn last_event(&self) -> DocumentEvent {
        self.last_event
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub fn count(&self) -> usize {
        self.states
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }
}

fn report(event: &DocumentEvent, id: &str, version: u64, state: State) -> DocumentState {
    DocumentState {
        document_id: id.to_owned(),
        version,
        state,
        reason: None,
        source: event.source.clone(),
        source_path: event.source_path.clone().unwrap_or_default(),
        title: event
            .title
            .clone()
            .or(event.source_path.clone())
            .unwrap_or_default(),
        chunks: 0,
        fingerprint: String::new(),
        lineage: Some(Lineage {
            converter: "markdown/1".into(),
            fine_model: "hashing".into(),
            ..Lineage::default()
        }),
        timeline: vec![StageTime {
            stage: "ingest".into(),
            at_ms: 1_700_000_000_000,
        }],
        at_ms: 1_700_000_000_000,
        indexed_version: None,
    }
}

#[async_trait]
impl Documents for MemoryDocuments {
    async fn publish(&self, event: DocumentEvent) -> Result<Accepted> {
        let derived = || {
            derive_document_id(
                &event.source,
                event.source_path.as_deref().unwrap_or_default(),
            )
        };
        let document_id = event.document_id.clone().unwrap_or_else(derived);
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let version = event.version.unwrap_or_else(|| {
            states
                .get(&document_id)
                .map_or(1, |state| state.version + 1)
        });
        states.insert(
            document_id.clone(),
            report(&event, &document_id, version, State::Accepted),
        );
        *self
            .last_event
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = event;
        Ok(Accepted {
            document_id,
            version,
            state: State::Accepted,
        })
    }

    async fn delete(&self, document_id: &str) -> Result<Accepted> {
        let version = {
            let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
            let state = states
                .get_mut(document_id)
                .ok_or_else(|| Error::new(ErrorKind::NotFound, "no such document"))?;
            state.state = State::Deleted;
            state.version += 1;
            state.version
        };
        let document_id = document_id.to_owned();
        self.index
            .write(
                "1",
                vec![Operation::Delete {
                    document_id: document_id.clone(),
                    version,
                }],
            )
            .await?;
        Ok(Accepted {
            document_id,
            version,
            state: State::Deleted,
        })
    }

    async fn get(&self, document_id: &str) -> Result<Option<DocumentState>> {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(state) = states.get_mut(document_id) else {
            return Ok(None);
        };
        let seen = state.clone();
        state.state = match state.state {
            State::Accepted => State::Embedding,
            State::Embedding => State::Indexed,
            other => other,
        };
        Ok(Some(seen))
    }

    async fn list(
        &self,
        conditions: &DocumentConditions,
        after: Option<&str>,
        limit: usize,
    ) -> Result<DocumentPage> {
        let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = |state: &&DocumentState| {
            after.is_none_or(|after| state.document_id.as_str() > after)
                && conditions.state.is_none_or(|wanted| state.state == wanted)
                && conditions
                    .source
                    .as_ref()
                    .is_none_or(|source| *source == state.source)
        };
        let mut documents: Vec<DocumentState> = states
            .values()
            .filter(wanted)
            .take(limit + 1)
            .cloned()
            .collect();
        let more = documents.len() > limit;
        documents.truncate(limit);
        let next = documents
            .last()
            .filter(|_| more)
            .map(|last| last.document_id.clone());
        Ok(DocumentPage { documents, next })
    }

    async fn reconcile(&self) -> Result<Reconciliation> {
        let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let count = |wanted: State| {
            states
                .values()
                .filter(|state| state.state == wanted)
                .count() as u64
        };
        Ok(Reconciliation {
            accepted: states.len() as u64,
            indexed: count(State::Indexed),
            deleted: count(State::Deleted),
            in_flight: states
                .values()
                .filter(|state| !state.state.is_final())
                .count() as u64,
            ok: states.values().all(|state| state.state.is_final()),
            ..Reconciliation::default()
        })
    }
}

pub struct MemoryDeadLetters {
    letters: Mutex<Vec<DeadLetter>>,
}

impl Default for MemoryDeadLetters {
    fn default() -> Self {
        let letter = |offset: u64, message: &str| DeadLetter {
            id: format!("documents.raw.v1-0-{offset}"),
            document_id: format!("broken/{offset}.docx"),
            topic: "tributary.documents.raw.v1".into(),
            partition: 0,
            offset,
            stage: "ingest".into(),
            attempts: 1,
            kind: ErrorKind::Corrupt,
            message: message.into(),
            at_ms: 1_700_000_000_000,
            bytes: 1234,
        };
        Self {
            letters: Mutex::new(vec![
                letter(7, "zip archive ends in the middle of word/document.xml"),
                letter(9, "<script>alert(1)</script>"),
            ]),
        }
    }
}

impl MemoryDeadLetters {
    fn take(&self, id: &str) -> Result<()> {
        let mut letters = self.letters.lock().unwrap_or_else(PoisonError::into_inner);
        let position = letters.iter().position(|letter| letter.id == id);
        let position =
            position.ok_or_else(|| Error::new(ErrorKind::NotFound, "no such dead letter"))?;
        letters.remove(position);
        Ok(())
    }
}

#[async_trait]
impl DeadLetters for MemoryDeadLetters {
    async fn list(&self, _: Option<&str>, limit: usize) -> Result<DeadLetterPage> {
        let letters = self.letters.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(DeadLetterPage {
            dead_letters: letters.iter().take(limit).cloned().collect(),
            next: None,
        })
    }

    async fn show(&self, id: &str) -> Result<Option<DeadLetterDetail>> {
        let letters = self.letters.lock().unwrap_or_else(PoisonError::into_inner);
        let letter = letters.iter().find(|letter| letter.id == id).cloned();
        Ok(letter.map(|dead_letter| DeadLetterDetail {
            dead_letter,
            preview: Some("{\"source\":\"wiki\",…".into()),
        }))
    }

    async fn replay(&self, id: &str) -> Result<()> {
        self.take(id)
    }

    async fn forget(&self, id: &str) -> Result<()> {
        self.take(id)
    }

    async fn forget_all(&self) -> Result<u64> {
        Ok(self
            .letters
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .drain(..)
            .count() as u64)
    }
}

pub struct MemoryCatalog(RwLock<Arc<KnowledgeSets>>);

impl MemoryCatalog {
    pub fn new() -> Self {
        Self(RwLock::new(Arc::new(
            KnowledgeSets::from_toml(KNOWLEDGE_SETS).unwrap(),
        )))
    }
}

#[async_trait]
impl Reindexing for MemoryReindexing {
    async fn request(&self, knowledge_sets: Vec<String>) -> Result<ReindexRequest> {
        let mut requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let request = ReindexRequest {
            request_id: format!("r{}", requests.len()),
            knowledge_sets,
            requested_at_ms: 1,
        };
        requests.push(request.clone());
        Ok(request)
    }

    async fn cancel(&self) -> Result<ReindexReport> {
        let ended = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let request =
            ended.ok_or_else(|| Error::new(ErrorKind::NotFound, "no reindex is under way"))?;
        Ok(building(&request, ReindexState::Cancelled))
    }

    async fn rollback(&self) -> Result<ReindexReport> {
        Ok(building(
            &ReindexRequest {
                request_id: "r".into(),
                ..ReindexRequest::default()
            },
            ReindexState::RolledBack,
        ))
    }

    async fn overview(&self) -> Result<ReindexOverview> {
        let requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let progress = |request: &ReindexRequest| ReindexProgress {
            request: request.clone(),
            report: building(request, ReindexState::Building),
            documents_total: 10,
            documents_done: 4,
            remaining_seconds: Some(1.5),
        };
        Ok(ReindexOverview {
            builds: requests.iter().rev().map(progress).collect(),
            generations: Vec::new(),
            outdated: vec!["analyzer".into()],
        })
    }
}

fn building(request: &ReindexRequest, state: ReindexState) -> ReindexReport {
    let (request_id, generation, previous) =
        (request.request_id.clone(), "g2".to_owned(), "g1".to_owned());
    ReindexReport {
        request_id,
        state,
        generation,
        previous,
        reason: None,
        at_ms: 2,
    }
}

#[async_trait]
impl KnowledgeSetCatalog for MemoryCatalog {
    fn current(&self) -> Arc<KnowledgeSets> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    async fn apply(&self, knowledge_sets: KnowledgeSets) -> Result<()> {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(knowledge_sets);
        Ok(())
    }
}

pub struct Ready(pub bool);

#[async_trait]
impl ReadinessProbe for Ready {
    async fn check(&self) -> Vec<Check> {
        vec![Check {
            name: "index".into(),
            ok: self.0,
            detail: "generation 1 is served".into(),
            hint: None,
        }]
    }
}

/// What the server of the tests wants to be shown for a backup.
pub const BACKUP_TOKEN: &str = "0123456789abcdef";

/// What every process answers.
pub fn operations(ready: bool) -> OperationsParts {
    OperationsParts {
        readiness: Arc::new(Ready(ready)),
        registry: prometheus::Registry::new(),
        version: "0.1.0".into(),
        services: vec!["ingest".into(), "chunk".into()],
        backup: None,
        backup_token: BACKUP_TOKEN.into(),
    }
}

/// A server over the memory index, filled with the test texts.
pub async fn state(models: Models, ready: bool) -> (ServerState, Arc<MemoryDocuments>) {
    state_with(models, ready, super::config().server).await
}

/// The same with other settings.
pub async fn state_with(
    models: Models,
    ready: bool,
    config: ServerConfig,
) -> (ServerState, Arc<MemoryDocuments>) {
    let retrieval = super::config().retrieval;
    state_with_retrieval(models, ready, config, retrieval).await
}

/// The same with other settings of retrieval too.
pub async fn state_with_retrieval(
    models: Models,
    ready: bool,
    config: ServerConfig,
    retrieval: retrieval::Config,
) -> (ServerState, Arc<MemoryDocuments>) {
    let index = Arc::new(MemoryIndex::default());
    super::fill(index.as_ref()).await;
    let documents = Arc::new(MemoryDocuments::new(Arc::clone(&index)));
    let parts = Parts {
        retriever: Arc::new(Retriever::new(index, super::serving(models), retrieval).unwrap()),
        documents: Arc::clone(&documents) as Arc<dyn Documents>,
        dead_letters: Arc::new(MemoryDeadLetters::default()),
        knowledge_sets: Arc::new(MemoryCatalog::new()),
        reindexing: Arc::new(MemoryReindexing::default()),
        blobs: documents.blobs(),
        inline_limit_bytes: 50_000,
        operations: operations(ready),
    };
    (ServerState::new(parts, config).unwrap(), documents)
}
