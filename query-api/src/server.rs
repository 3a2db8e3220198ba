//! The HTTP server: what its routes share, and the loop around them.

use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use actix_web::middleware::from_fn;
use actix_web::{App, HttpServer, web};
use tokio::sync::watch;
use tributary_retrieval::{Asker, Retriever};
use tributary_schemas::{Error, ErrorKind, Result};
use tributary_store::audit::AuditTopic;
use tributary_store::blobs::Blobs;
use tributary_store::conversations::SharedConversations;
use tributary_store::evaluations::RunStore;
use tributary_store::manifest::dead_letters::DeadLetters;
use tributary_store::manifest::documents::Documents;
use tributary_store::missed_searches::MissedSearches;
use tributary_taxonomy::KnowledgeSetCatalog;

use crate::asking::{AskConfig, Asking};
use crate::config::{NetworkAccess, ServerConfig};
use crate::http::budget::BodyBudget;
use crate::http::idempotency::IdempotencyKeys;
use crate::http::rights::Right;
use crate::http::turns::Turns;
use crate::http::{self, trace};
use crate::metrics::Metrics;
use crate::operations::{Operations, OperationsParts};
use crate::page_drawing::{DrawnPages, PageDrawing};
use crate::problem::{Code, Problem};
use crate::reindexing::Reindexing;
use crate::repairing::Repairing;
use crate::term_review::TermReview;
use crate::tls;

/// What the server is made of.
pub struct Parts {
    /// Answers searches.
    pub retriever: Arc<Retriever>,
    /// Answers questions.
    pub asker: Arc<Asker>,
    /// Keeps what was asked and answered.
    pub conversations: SharedConversations,
    /// Publishes and knows documents.
    pub documents: Arc<Documents>,
    /// Knows what was given up.
    pub dead_letters: Arc<DeadLetters>,
    /// The knowledge sets that hold now.
    pub knowledge_sets: Arc<dyn KnowledgeSetCatalog>,
    /// Builds new generations of the index.
    pub reindexing: Arc<dyn Reindexing>,
    /// Repairs of degraded documents.
    pub repairing: Arc<dyn Repairing>,
    /// Draws pages of documents.
    pub page_drawing: Arc<dyn PageDrawing>,
    /// Runs of evaluations that are kept.
    pub evaluations: RunStore,
    /// Candidates for terms, and what people said of them.
    pub terms: TermReview,
    /// Questions of searches that were not answered.
    pub missed_searches: MissedSearches,
    /// Where large bodies and pictures of documents are kept.
    pub blobs: Blobs,
    /// Contents over this size go there.
    pub inline_limit_bytes: usize,
    /// What every process answers.
    pub operations: OperationsParts,
}

/// What all routes share.
pub struct ServerState {
    pub(crate) retriever: Arc<Retriever>,
    pub(crate) asking: Asking,
    pub(crate) conversations: SharedConversations,
    pub(crate) documents: Arc<Documents>,
    pub(crate) dead_letters: Arc<DeadLetters>,
    pub(crate) knowledge_sets: Arc<dyn KnowledgeSetCatalog>,
    pub(crate) reindexing: Arc<dyn Reindexing>,
    pub(crate) repairing: Arc<dyn Repairing>,
    pub(crate) page_drawing: Arc<dyn PageDrawing>,
    pub(crate) drawn_pages: Arc<DrawnPages>,
    pub(crate) evaluations: RunStore,
    pub(crate) terms: Arc<TermReview>,
    pub(crate) missed_searches: Arc<MissedSearches>,
    pub(crate) blobs: Blobs,
    pub(crate) inline_limit_bytes: usize,
    pub(crate) bodies: Arc<BodyBudget>,
    pub(crate) searches: Turns,
    pub(crate) renderings: Turns,
    pub(crate) drawings: Turns,
    pub(crate) metrics: Metrics,
    pub(crate) idempotency_keys: IdempotencyKeys,
    pub(crate) config: ServerConfig,
    /// True from the moment that the server is told to stop: streams without an end end then.
    pub(crate) stopping: watch::Sender<bool>,
    operations: web::Data<Operations>,
}

impl ServerState {
    /// Joins the parts, within a runtime, which works on answers. `Conflict` if this registry serves another server already.
    pub fn new(parts: Parts, config: ServerConfig, ask: AskConfig) -> Result<Self> {
        let operations = Operations::new(parts.operations, config.clone())?;
        let stopping = watch::Sender::new(false);
        let metrics = operations.metrics.clone();
        let asking = Asking::new(
            parts.asker,
            Arc::clone(&parts.conversations),
            ask,
            metrics,
            stopping.clone(),
        );
        Ok(Self {
            asking,
            conversations: parts.conversations,
            metrics: operations.metrics.clone(),
            idempotency_keys: IdempotencyKeys::new(config.idempotency_keys),
            retriever: parts.retriever,
            documents: parts.documents,
            dead_letters: parts.dead_letters,
            knowledge_sets: parts.knowledge_sets,
            reindexing: parts.reindexing,
            repairing: parts.repairing,
            page_drawing: parts.page_drawing,
            drawn_pages: Arc::new(DrawnPages::new(config.page_cache_bytes)),
            evaluations: parts.evaluations,
            terms: Arc::new(parts.terms),
            missed_searches: Arc::new(parts.missed_searches),
            blobs: parts.blobs,
            inline_limit_bytes: parts.inline_limit_bytes,
            bodies: Arc::new(BodyBudget::new(
                config.body_budget_bytes,
                operations.metrics.clone(),
            )),
            searches: Turns::of_searches(&config, operations.metrics.clone()),
            renderings: Turns::of_renderings(&config, operations.metrics.clone()),
            drawings: Turns::of_drawings(&config, operations.metrics.clone()),
            operations: web::Data::new(operations),
            stopping,
            config,
        })
    }

    /// Where calls are recorded.
    pub(crate) fn audit_topic(&self) -> Option<&AuditTopic> {
        self.operations.audit_topic.as_ref()
    }

    /// The size of a page: what was asked for, within the server's maximum.
    pub(crate) fn page_limit(&self, wanted: Option<usize>) -> std::result::Result<usize, Problem> {
        let maximum = self.config.maximum_page;
        match wanted {
            None => Ok(maximum),
            Some(limit) if (1..=maximum).contains(&limit) => Ok(limit),
            Some(limit) => Err(Problem::new(
                Code::InvalidParameter,
                format!("limit is {limit}, it must be between 1 and {maximum}"),
            )),
        }
    }
}

/// Serves on `listener` until `shutdown` ends, then finishes the requests that are being worked on.
///
/// `Denied` for an address that other machines can reach, unless the configuration wants keys, or
/// allows everyone in so many words.
pub async fn serve(
    state: ServerState,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<()> {
    let (config, operations) = (state.config.clone(), state.operations.clone());
    let stopping = state.stopping.clone();
    let shutdown = async move {
        shutdown.await;
        stopping.send_replace(true);
    };
    let state = web::Data::new(state);
    let configure = move |app: &mut web::ServiceConfig| {
        app.app_data(state.clone()).configure(http::routes);
    };
    run(operations, config, listener, configure, shutdown).await
}

/// The same for a process without the service `query`: health, metrics, version, backup.
pub async fn serve_operations(
    operations: Operations,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<()> {
    let config = ServerConfig {
        worker_threads: 1,
        ..operations.config.clone()
    };
    let configure = |app: &mut web::ServiceConfig| {
        app.configure(http::operation_routes)
            .default_service(Right::AnyKey.any(http::other_service));
    };
    run(
        web::Data::new(operations),
        config,
        listener,
        configure,
        shutdown,
    )
    .await
}

async fn run(
    operations: web::Data<Operations>,
    config: ServerConfig,
    listener: TcpListener,
    configure: impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<()> {
    check_address(&listener, config.network_access)?;
    let audit = operations.audit.clone();
    let app = move || {
        App::new()
            .app_data(operations.clone())
            .wrap(from_fn(trace::around))
            .configure(configure.clone())
    };
    let server = HttpServer::new(app)
        .workers(config.worker_threads.max(1))
        .max_connections(config.connections_per_worker)
        .client_request_timeout(Duration::from_millis(config.head_timeout_ms))
        .keep_alive(Duration::from_millis(config.keep_alive_ms))
        // Work for a caller who has gone away ends at once.
        .h1_allow_half_closed(false)
        .shutdown_timeout(config.shutdown_timeout_ms.div_ceil(1000))
        .disable_signals();
    let listening = match tls::server(&config.tls)? {
        Some(tls) => server
            .tls_handshake_timeout(Duration::from_millis(config.head_timeout_ms))
            .listen_rustls_0_23(listener, tls),
        None => server.listen(listener),
    };
    let server = listening
        .map_err(|error| Error::io("cannot listen", &error))?
        .run();
    let handle = server.handle();
    let stop = tokio::spawn(async move {
        shutdown.await;
        tracing::info!("server stops");
        handle.stop(true).await;
    });
    let served = server
        .await
        .map_err(|error| Error::io("server failed", &error));
    stop.abort();
    if let Some(audit) = audit {
        audit.flush().await;
    }
    served
}

/// Refuses an address that other machines reach, where that is not allowed.
pub fn check_address(listener: &TcpListener, access: NetworkAccess) -> Result<()> {
    let address = listener
        .local_addr()
        .map_err(|error| Error::io("cannot read the address of the listener", &error))?;
    let is_open = access == NetworkAccess::EveryoneWithoutAuthentication;
    if is_open && !address.ip().is_loopback() {
        tracing::warn!(%address, "everyone who reaches this address may read, publish and delete");
    }
    check_listen(address, access)
}

/// The same before anything listens there.
pub fn check_listen(address: SocketAddr, access: NetworkAccess) -> Result<()> {
    if access != NetworkAccess::LoopbackOnly || address.ip().is_loopback() {
        return Ok(());
    }
    let hint = "listen on 127.0.0.1, or set query_api.server.network_access = \"authenticated\" and give callers keys \
                (`tributary keys create`); \"everyone_without_authentication\" is for servers with something in front that authenticates";
    Err(Error::new(
        ErrorKind::Denied,
        format!("{address} can be reached by other machines and there is no authentication"),
    )
    .with_hint(hint))
}
