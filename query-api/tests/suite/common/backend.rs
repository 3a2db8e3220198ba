//! What a server of the tests is made of: a real log, an index in memory, and requests for a
//! reindex that nobody fulfils.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use tempfile::TempDir;
use tributary_models::chat::ChatModels;
use tributary_models::prompts::Prompts;
use tributary_models::tokens::estimate::EstimatedTokens;
use tributary_query_api::asking::AskConfig;
use tributary_query_api::config::ServerConfig;
use tributary_query_api::page_drawing::PageDrawing;
use tributary_query_api::readiness::{Check, ReadinessProbe};
use tributary_query_api::reindexing::Reindexing;
use tributary_query_api::repairing::Repairing;
use tributary_query_api::term_review::TermReview;
use tributary_query_api::{OperationsParts, Parts, ServerState};
use tributary_retrieval::answer::AnswerConfig;
use tributary_retrieval::{
    AnalyzerSource, Asker, AskerParts, Models, Retriever, Understander, UnderstanderParts,
};
use tributary_schemas::reindex::{
    ReindexOverview, ReindexProgress, ReindexReport, ReindexRequest, ReindexState,
};
use tributary_schemas::repair::DegradedRepair;
use tributary_schemas::{
    DocumentEvent, DocumentHeader, DocumentState, Error, ErrorKind, Lineage, Result,
    SharedNewestRights, StageTime, State, Topic, event,
};
use tributary_store::audit::AuditTopic;
use tributary_store::blobs::Blobs;
use tributary_store::conversations::embedded::EmbeddedConversations;
use tributary_store::conversations::{self, Settling, SharedConversations};
use tributary_store::evaluations::RunStore;
use tributary_store::event_log::dead_letter::{self, Failure};
use tributary_store::event_log::embedded::{self, EmbeddedEventLog};
use tributary_store::event_log::stage::Output;
use tributary_store::event_log::topics::Topics;
use tributary_store::event_log::{Position, Record, StoredRecord, message};
use tributary_store::keys::KeyRing;
use tributary_store::manifest::dead_letters::DeadLetters;
use tributary_store::manifest::documents::Documents;
use tributary_store::manifest::given_time::GivenTime;
use tributary_store::manifest::table::DocumentTable;
use tributary_store::manifest::versions::VersionRule;
use tributary_store::metrics::MetricRegistry;
use tributary_store::missed_searches::MissedSearches;
use tributary_store::search_index::SharedSearchIndex;
use tributary_store::work::Work;
use tributary_store::{manifest, system_clock};
use tributary_taxonomy::{KnowledgeSetCatalog, KnowledgeSets, SharedKnowledgeSets};

use super::memory_index::MemoryIndex;

const LOG: embedded::Config = embedded::Config {
    segment_bytes: 1 << 20,
    max_record_bytes: 4 << 20,
    linger_ms: 0,
    queue_bytes: 8 << 20,
    maintenance_interval_seconds: 0,
    compaction_dirty_ratio: 0.5,
    tombstone_retention_seconds: 0,
};

/// Requests that are asked for and never done.
#[derive(Default)]
pub struct MemoryReindexing(Mutex<Vec<ReindexRequest>>);

/// Draws what stands for a page, of documents that have one; one that is damaged has none.
pub struct FirstPage;

#[async_trait]
impl PageDrawing for FirstPage {
    async fn draw(&self, pdf: Bytes, page: u32) -> Result<Bytes> {
        match page {
            1 if pdf.starts_with(b"%PDF") => Ok(Bytes::from_static(b"\xFF\xD8\xFFpage")),
            1 => Err(Error::new(ErrorKind::Corrupt, "not a readable PDF")),
            _ => Err(Error::new(ErrorKind::NotFound, "there is no such page")),
        }
    }
}

/// The document side of a server: a log in a folder of its own, and the texts of the index as
/// reported. No stage runs: what one would report is said with [`Kept::report`].
pub struct Kept {
    pub documents: Arc<Documents>,
    /// What searches find.
    pub index: Arc<MemoryIndex>,
    /// What was asked and answered.
    pub conversations: SharedConversations,
    /// Runs of evaluations.
    pub evaluations: PathBuf,
    /// Candidates for terms and verdicts.
    pub lexicon: PathBuf,
    dead_letters: Arc<DeadLetters>,
    topics: Topics,
    blobs: Blobs,
    folder: TempDir,
}

impl Kept {
    /// What was recorded of calls.
    pub fn audit(&self) -> AuditTopic {
        AuditTopic::new(self.topics.clone())
    }

    async fn new(index: Arc<MemoryIndex>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::local(&folder.path().join("blobs")).unwrap();
        let log = Arc::new(EmbeddedEventLog::open(&folder.path().join("log"), LOG).unwrap());
        let topics = Topics::new(log, "tributary".into(), blobs.clone(), 1 << 20);
        topics.create(1, None, None).await.unwrap();
        topics
            .append(
                Topic::DeadLetters,
                LETTERS
                    .map(|(offset, message)| letter(offset, message))
                    .into(),
            )
            .await
            .unwrap();
        for text in super::TEXTS {
            let document = DocumentHeader {
                title: text.title.into(),
                source: text.source.into(),
                source_path: text.id.into(),
                ..header(text.id, 1)
            };
            let chunks = u32::try_from(text.chunks.len()).unwrap();
            let lineage = Some(Lineage {
                converter: "markdown/1".into(),
                fine_model: "hashing".into(),
                ..Lineage::default()
            });
            report(
                &topics,
                &DocumentState {
                    chunks,
                    lineage,
                    ..manifest::report(&document, State::Indexed, REPORTED_MS)
                },
            )
            .await;
        }
        let (table, clock) = (
            Arc::new(DocumentTable::open(&topics).await.unwrap()),
            system_clock(),
        );
        let rule = VersionRule::new(0);
        let given = GivenTime::open(&folder.path().join("manifest"), rule, clock()).unwrap();
        let dead_letters = Arc::new(
            DeadLetters::open(topics.clone(), Arc::clone(&clock))
                .await
                .unwrap(),
        );
        let documents = Arc::new(Documents::new(
            topics.clone(),
            table,
            Arc::clone(&index) as SharedSearchIndex,
            rule,
            given,
            clock,
        ));
        let conversations = open_conversations(folder.path());
        Self {
            documents,
            index,
            conversations,
            dead_letters,
            topics,
            blobs,
            evaluations: folder.path().join("evaluations"),
            lexicon: folder.path().join("lexicon"),
            folder,
        }
    }

    /// Files that documents carry.
    pub fn blobs(&self) -> Blobs {
        self.blobs.clone()
    }

    /// Where the server keeps what it writes itself.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What was published last.
    pub async fn last_event(&self) -> DocumentEvent {
        let stored = self
            .topics
            .read_all(Topic::DocumentsRaw)
            .await
            .unwrap()
            .pop()
            .unwrap();
        message::decode(&self.topics.redeem(stored.record).await.unwrap())
            .unwrap()
            .unwrap()
    }

    /// Ingest has read all that was published.
    pub async fn all_is_read(&self) {
        let mut group = self
            .topics
            .subscribe(Topic::DocumentsRaw, Some("ingest"))
            .await
            .unwrap();
        let lag = self
            .topics
            .lag(Topic::DocumentsRaw, "ingest")
            .await
            .unwrap();
        let ends = lag.iter().map(|lag| Position {
            partition: lag.partition,
            offset: lag.end,
        });
        group.commit(&ends.collect::<Vec<_>>()).await.unwrap();
    }

    /// How many documents there are.
    pub async fn count(&self) -> usize {
        self.documents.all().await.unwrap().len()
    }

    /// What the last stage reports of a document.
    pub async fn report_document(&self, document: &DocumentHeader, state: State) {
        let state = manifest::report(document, state, REPORTED_MS);
        report(&self.topics, &state).await;
    }

    /// What a stage reports.
    pub async fn report(&self, id: &str, version: u64, state: State) {
        report(
            &self.topics,
            &manifest::report(&header(id, version), state, REPORTED_MS),
        )
        .await;
    }
}

fn open_conversations(folder: &Path) -> SharedConversations {
    let (place, aside) = (folder.join("conversations"), folder.join("damaged"));
    let config = conversations::Config {
        retention_days: 0,
        maximum_turns: 1000,
        pending_minutes: 15,
        report_days: 7,
    };
    let store = EmbeddedConversations::open(&place, &aside, config, system_clock()).unwrap();
    Settling::shared(Arc::new(store), system_clock())
}

const REPORTED_MS: i64 = 1_700_000_000_000;

fn header(id: &str, version: u64) -> DocumentHeader {
    let timeline = vec![StageTime {
        stage: "ingest".into(),
        at_ms: REPORTED_MS,
    }];
    DocumentHeader {
        document_id: id.into(),
        version,
        timeline,
        ..DocumentHeader::default()
    }
}

async fn report(topics: &Topics, state: &DocumentState) {
    let Output { topic, record } = Output::report(state).unwrap();
    topics.append(topic, vec![record]).await.unwrap();
}

/// Offset in `documents.raw`, and why it was given up.
const LETTERS: [(u64, &str); 2] = [
    (7, "zip archive ends in the middle of word/document.xml"),
    (9, "<script>alert(1)</script>"),
];

fn letter(offset: u64, message: &str) -> Record {
    let event = DocumentEvent {
        source: "wiki".into(),
        content: Some("x".into()),
        ..DocumentEvent::default()
    };
    let id = format!("broken/{offset}.docx");
    let record =
        message::encode(event::TYPE_DOCUMENT_PUBLISHED, &id, 1, &event, REPORTED_MS).unwrap();
    let failed = StoredRecord {
        position: Position {
            partition: 0,
            offset,
        },
        record,
    };
    let error = Error::new(ErrorKind::Corrupt, message);
    dead_letter::record(
        &failed,
        &Failure {
            topic: Topic::DocumentsRaw,
            stage: "ingest",
            attempts: 1,
            error: &error,
            at_ms: REPORTED_MS,
        },
    )
}

pub struct MemoryCatalog(SharedKnowledgeSets);

/// Nothing is degraded here.
pub struct NothingToRepair;

#[async_trait]
impl Repairing for NothingToRepair {
    async fn start(&self) -> Result<DegradedRepair> {
        Ok(self.report())
    }

    fn report(&self) -> DegradedRepair {
        DegradedRepair::default()
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
            documents_under_old_rules: 0,
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
        self.0.current()
    }

    async fn apply(&self, knowledge_sets: KnowledgeSets) -> Result<()> {
        self.0.replace(knowledge_sets);
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
        registry: MetricRegistry::default(),
        version: "0.1.0".into(),
        source_profiles: "p1".into(),
        services: vec!["ingest".into(), "chunk".into()],
        backup: None,
        backup_token: BACKUP_TOKEN.into(),
        keys: None,
        newest_rights: SharedNewestRights::default(),
        work: Work::default(),
        audit: None,
    }
}

/// A server over the memory index, filled with the test texts.
pub async fn state(models: Models, ready: bool) -> (ServerState, Arc<Kept>) {
    state_with(models, ready, super::server_config()).await
}

/// The same with other settings.
pub async fn state_with(
    models: Models,
    ready: bool,
    config: ServerConfig,
) -> (ServerState, Arc<Kept>) {
    let retrieval = super::config();
    state_with_retrieval(models, ready, config, retrieval).await
}

/// The same with other settings of retrieval too.
pub async fn state_with_retrieval(
    models: Models,
    ready: bool,
    config: ServerConfig,
    retrieval: tributary_retrieval::Config,
) -> (ServerState, Arc<Kept>) {
    let settings = Settings {
        server: config,
        retrieval,
        ..Settings::default()
    };
    state_of(models, ready, settings).await
}

/// What a server of a test has of its own.
pub struct Settings {
    pub server: ServerConfig,
    pub retrieval: tributary_retrieval::Config,
    pub chat: ChatModels,
    pub ask: AskConfig,
    pub answer: AnswerConfig,
    pub keys: Option<Arc<KeyRing>>,
    /// What is said of rights; else what the documents of the server say.
    pub newest_rights: Option<SharedNewestRights>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            server: super::server_config(),
            retrieval: super::config(),
            chat: ChatModels::default(),
            ask: super::ask_config(),
            answer: super::answer_config(),
            keys: None,
            newest_rights: None,
        }
    }
}

/// A server with settings of its own.
pub async fn state_of(models: Models, ready: bool, settings: Settings) -> (ServerState, Arc<Kept>) {
    let Settings {
        server,
        retrieval,
        chat,
        ask,
        answer,
        keys,
        newest_rights,
    } = settings;
    let index = Arc::new(MemoryIndex::default());
    super::fill(index.as_ref()).await;
    let kept = Arc::new(Kept::new(Arc::clone(&index)).await);
    let knowledge_sets = super::knowledge_sets();
    let serving = super::serving(models);
    let retriever = Retriever::new(index, serving, knowledge_sets.clone(), retrieval).unwrap();
    let retriever = Arc::new(retriever);
    let parts = Parts {
        asker: Arc::new(asker(&retriever, chat, answer, kept.blobs())),
        retriever,
        conversations: Arc::clone(&kept.conversations),
        documents: Arc::clone(&kept.documents),
        dead_letters: Arc::clone(&kept.dead_letters),
        knowledge_sets: Arc::new(MemoryCatalog(knowledge_sets)),
        reindexing: Arc::new(MemoryReindexing::default()),
        repairing: Arc::new(NothingToRepair),
        page_drawing: Arc::new(FirstPage),
        evaluations: RunStore::new(kept.evaluations.clone()),
        terms: TermReview::new(&kept.lexicon),
        missed_searches: MissedSearches::in_folder(kept.folder(), server.missed_searches),
        blobs: kept.blobs(),
        inline_limit_bytes: 50_000,
        operations: OperationsParts {
            keys,
            newest_rights: newest_rights.unwrap_or_else(|| kept.documents.newest_rights()),
            audit: Some(kept.audit()),
            ..operations(ready)
        },
    };
    (ServerState::new(parts, server, ask).unwrap(), kept)
}

fn asker(
    retriever: &Arc<Retriever>,
    chat: ChatModels,
    config: AnswerConfig,
    blobs: Blobs,
) -> Asker {
    let prompts = Prompts::load(&[&tributary_retrieval::prompts::PROMPTS], None).unwrap();
    let (chat, prompts) = (Arc::new(chat), Arc::new(prompts));
    let understander = Understander::new(UnderstanderParts {
        analyzer: AnalyzerSource::Fixed(super::analyzer()),
        synonyms: Arc::default(),
        chat: Arc::clone(&chat),
        prompts: Arc::clone(&prompts),
        config: retriever.limits().understanding,
    });
    Asker::new(AskerParts {
        retriever: Arc::clone(retriever),
        understander,
        chat,
        tokens: Arc::new(EstimatedTokens),
        prompts,
        blobs,
        config,
        known_tags: None,
    })
    .unwrap()
}
