//! A running Tributary in this process: stores, models, stages and server, joined as the
//! configuration says.

mod chat_metrics;
mod confinement;
mod external_metrics;
mod gauges;
mod known_tags;
mod lag;
mod limits;
mod local;
mod missing;
mod pages;
mod parts;
mod readiness;
mod reindex;
mod repair;
mod set_gauges;
mod stages;
mod watch;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tributary_query_api::operations::Operations;
use tributary_query_api::server::{ServerState, check_address, serve, serve_operations};
use tributary_query_api::tls::Certificate;
use tributary_store::data_folder::{Access, DataFolder};

pub use self::confinement::look as look_at_confinement;
pub use self::lag::{is_nearly_forgotten, oldest_unread};
pub use self::limits::{FEW_OPEN_FILES, raise_open_files};
pub use self::local::LocalServer;
pub use self::parts::{PROMPT_SETS, Parts, check_profile_prompts};
pub use self::readiness::WAITING_FOR_MODEL;
use crate::args::Service;
use crate::config::Config;

/// What threads have to end in, once all services have stopped.
const LAST_WAIT: Duration = Duration::from_secs(2);
/// How long a thread for blocking work is kept without any; something is looked at more often than
/// that.
const KEPT_THREADS: Duration = Duration::from_secs(60);

/// Services that run until they are told to stop.
pub struct App {
    folder: DataFolder,
    parts: Arc<Parts>,
    url: Option<String>,
    shutdown: CancellationToken,
    tasks: JoinSet<Result<()>>,
}

impl App {
    /// Opens everything and starts the services; the HTTP server listens on `listen`, or where the
    /// configuration says.
    pub async fn start(
        config: &Config,
        services: &[Service],
        listen: Option<SocketAddr>,
    ) -> Result<Self> {
        raise_open_files();
        limits::check_open_files()?;
        limits::outlive_file_sizes();
        // Before anybody is told that the server listens.
        if let Some(files) = config.query_api.server.tls.files() {
            Certificate::load(&files)?;
        }
        let folder = DataFolder::open(
            std::path::Path::new(&config.store.data_folder),
            config.store.access(),
        )?;
        let parts = Arc::new(Parts::open(config, &folder).await?);
        let shutdown = CancellationToken::new();
        let mut tasks = JoinSet::new();
        watch::spawn(&mut tasks, config, &parts, &shutdown);
        for service in services {
            stages::spawn(&mut tasks, *service, config, &parts, &shutdown)?;
        }
        spawn_gauges(&mut tasks, config, &parts, &shutdown)?;
        let url = match bind(config, services, listen)? {
            Some(listener) => {
                let address = listener
                    .local_addr()
                    .context("cannot read the address of the listener")?;
                spawn_server(&mut tasks, listener, (config, services), &parts, &shutdown)?;
                let scheme = config.query_api.server.tls.scheme();
                Some(format!("{scheme}://{}", reachable(address)))
            }
            None => None,
        };
        // Verbs look here for whom to talk to: of several processes that is the one that answers
        // questions.
        let is_to_be_asked =
            services.contains(&Service::Query) || matches!(config.store.access(), Access::Alone);
        if let Some(url) = url.as_ref().filter(|_| is_to_be_asked) {
            folder.announce(url)?;
        }
        Ok(Self {
            folder,
            parts,
            url,
            shutdown,
            tasks,
        })
    }

    /// Where the HTTP server answers.
    pub fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// What the services share.
    pub fn parts(&self) -> Arc<Parts> {
        Arc::clone(&self.parts)
    }

    /// Tells the services to stop when cancelled.
    pub fn shutdown(&self) -> CancellationToken {
        self.shutdown.clone()
    }

    /// Runs until told to stop, or until a service fails; then all of them finish what is in
    /// progress.
    pub async fn run(mut self) -> Result<()> {
        let mut outcome = Ok(());
        while let Some(ended) = self.tasks.join_next().await {
            let ended = ended
                .context("a service panicked")
                .and_then(|result| result);
            if outcome.is_ok() {
                outcome = ended;
            }
            self.shutdown.cancel();
        }
        if self.parts.table.reports_since_checkpoint() >= watch::WORTH_KEEPING
            && let Err(error) = self.parts.table.checkpoint().await
        {
            tracing::warn!(%error, "the document table cannot be kept; the next start reads more reports");
        }
        if let Err(error) = self.parts.table.commit(&self.parts.stores.topics).await {
            tracing::warn!(%error, "how far reports about documents were read cannot be noted");
        }
        self.folder.withdraw();
        outcome
    }
}

/// Without the service `query` a process listens only when it is told where.
fn bind(
    config: &Config,
    services: &[Service],
    listen: Option<SocketAddr>,
) -> Result<Option<TcpListener>> {
    let (key, configured) = if services.contains(&Service::Query) {
        ("query_api.server.listen", &config.query_api.server.listen)
    } else {
        ("telemetry.listen", &config.telemetry.listen)
    };
    let address = match listen {
        Some(address) => address,
        None if configured.is_empty() && key == "telemetry.listen" => return Ok(None),
        None => configured
            .parse()
            .with_context(|| format!("{key} `{configured}` is no HOST:PORT"))?,
    };
    let listener = TcpListener::bind(address)
        .with_context(|| format!("cannot listen on {address} (hint: another server may run there; --listen 127.0.0.1:0 picks a free port)"))?;
    // Before anybody is told that the server listens.
    check_address(&listener, config.query_api.server.network_access)?;
    Ok(Some(listener))
}

/// Where this machine reaches a listener: "any address" is none to call.
fn reachable(listening: SocketAddr) -> SocketAddr {
    let ip = match listening.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listening.port())
}

/// Runs `work` on a runtime of its own. What blocking threads are still busy with afterwards, such
/// as the vectors of a long document that nobody waits for any more, is left behind.
pub fn block_on<T, E: Into<anyhow::Error>>(work: impl Future<Output = Result<T, E>>) -> Result<T> {
    let runtime = runtime()?;
    let outcome = runtime.block_on(work);
    runtime.shutdown_timeout(LAST_WAIT);
    outcome.map_err(Into::into)
}

/// Stages that nobody runs: this process has the embedded stores for itself and leaves them out.
pub fn left_out(config: &Config, services: &[Service]) -> Vec<String> {
    let is_stage = |service: &Service| *service != Service::Query;
    let is_left_out = |service: &Service| is_stage(service) && !services.contains(service);
    let left_out = Service::ALL.into_iter().filter(is_left_out);
    match config.store.access() {
        Access::Alone => left_out.map(|service| service.to_string()).collect(),
        Access::Shared => Vec::new(),
    }
}

/// What is said of them.
pub fn not_run(left_out: &[String]) -> String {
    format!(
        "not run by any process: {}; the embedded stores are this one's alone, and what is published waits",
        left_out.join(", ")
    )
}

/// The runtime that services run on. Threads for blocking work are kept for a while: where no
/// thread can be made any more, tokio panics unless it has one.
pub fn runtime() -> Result<tokio::runtime::Runtime> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_keep_alive(KEPT_THREADS)
        .build();
    runtime.context("cannot start the async runtime")
}

/// Figures of documents, of the lag and of knowledge sets, for `/metrics`.
fn spawn_gauges(
    tasks: &mut JoinSet<Result<()>>,
    config: &Config,
    parts: &Arc<Parts>,
    shutdown: &CancellationToken,
) -> Result<()> {
    gauges::register(
        &parts.registry,
        Arc::clone(&parts.table),
        PathBuf::from(&config.store.data_folder),
        parts.stores.damage.clone(),
    )?;
    let lag = lag::LagGauges::register(&parts.registry, config.store.forgets_after())?
        .follow(Arc::clone(parts), shutdown.clone());
    watch::keep(tasks, "the gauges of the lag", lag, shutdown);
    let sets = set_gauges::SetGauges::register(&parts.registry)?
        .follow(Arc::clone(parts), shutdown.clone());
    watch::keep(tasks, "the gauges of knowledge sets", sets, shutdown);
    Ok(())
}

/// The server of queries, or of health and metrics alone where this process answers none.
fn spawn_server(
    tasks: &mut JoinSet<Result<()>>,
    listener: TcpListener,
    (config, services): (&Config, &[Service]),
    parts: &Parts,
    shutdown: &CancellationToken,
) -> Result<()> {
    let stopped = shutdown.clone().cancelled_owned();
    let mut server = config.query_api.server.clone();
    server.connections_per_worker =
        limits::connections_per_worker(server.connections_per_worker, server.worker_threads);
    if services.contains(&Service::Query) {
        let state = ServerState::new(
            parts.server_parts(config, services)?,
            server,
            config.query_api.ask.clone(),
        )?;
        tasks.spawn(async move {
            serve(state, listener, stopped)
                .await
                .context("the query server stopped")
        });
    } else {
        let operations = Operations::new(parts.operations_parts(config, services), server)?;
        tasks.spawn(async move {
            serve_operations(operations, listener, stopped)
                .await
                .context("the health server stopped")
        });
    }
    Ok(())
}
