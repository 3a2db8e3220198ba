//! A running Tributary in this process: stores, models, stages and server, joined as the configuration says.

mod documents;
mod knowledge_sets;
mod lag;
mod local;
mod parts;
mod readiness;
mod stages;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use anyhow::{Context, Result};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tributary_query_api::server::{ServerState, serve};
use tributary_store::data_folder::DataFolder;

pub use self::local::LocalServer;
pub use self::parts::Parts;
use crate::args::Service;
use crate::config::Config;

/// Services that run until they are told to stop.
pub struct App {
    folder: DataFolder,
    parts: Arc<Parts>,
    url: Option<String>,
    shutdown: CancellationToken,
    tasks: JoinSet<Result<()>>,
}

impl App {
    /// Opens everything and starts the services; the HTTP server listens on `listen`, or where the configuration says.
    pub async fn start(config: &Config, services: &[Service], listen: Option<SocketAddr>) -> Result<Self> {
        let folder = DataFolder::open(std::path::Path::new(&config.store.data_folder), config.store.access())?;
        let parts = Arc::new(Parts::open(config, &folder).await?);
        let shutdown = CancellationToken::new();
        let mut tasks = JoinSet::new();
        for service in services {
            stages::spawn(&mut tasks, *service, config, &parts, &shutdown)?;
        }
        tokio::spawn(lag::LagGauges::register(&parts.registry)?.follow(Arc::clone(&parts), shutdown.clone()));
        let mut url = None;
        if services.contains(&Service::Query) {
            let listener = bind(config, listen)?;
            let address = listener.local_addr().context("cannot read the address of the listener")?;
            let state = ServerState::new(parts.server_parts(config)?, config.query_api.server.clone())?;
            let stopped = shutdown.clone().cancelled_owned();
            tasks.spawn(async move { serve(state, listener, stopped).await.context("the query server stopped") });
            url = Some(format!("http://{address}"));
        }
        if let Some(url) = &url {
            folder.announce(url)?;
        }
        Ok(Self { folder, parts, url, shutdown, tasks })
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

    /// Runs until told to stop, or until a service fails; then all of them finish what is in progress.
    pub async fn run(mut self) -> Result<()> {
        let mut outcome = Ok(());
        while let Some(ended) = self.tasks.join_next().await {
            let ended = ended.context("a service panicked").and_then(|result| result);
            if outcome.is_ok() {
                outcome = ended;
            }
            self.shutdown.cancel();
        }
        self.folder.withdraw();
        outcome
    }
}

fn bind(config: &Config, listen: Option<SocketAddr>) -> Result<TcpListener> {
    let configured = &config.query_api.server.listen;
    let address = match listen {
        Some(address) => address,
        None => configured.parse().with_context(|| format!("query_api.server.listen `{configured}` is no HOST:PORT"))?,
    };
    TcpListener::bind(address)
        .with_context(|| format!("cannot listen on {address} (hint: another server may run there; --listen 127.0.0.1:0 picks a free port)"))
}

/// The runtime that services run on.
pub fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start the async runtime")
}
