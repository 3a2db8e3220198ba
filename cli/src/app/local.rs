//! A server of this process's own, for verbs that found none running: same code, same HTTP, gone
//! with the verb.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use tokio_util::sync::CancellationToken;
use tributary_query_api::tls::TlsConfig;
use tributary_store::data_folder;

use super::App;
use crate::args::Service;
use crate::config::Config;
use crate::print;

/// How long nothing is said of waiting for another verb.
const SILENT_WAIT: Duration = Duration::from_secs(2);
const GUEST_LOOK: Duration = Duration::from_millis(50);

/// A server on a free loopback port, in a thread.
pub struct LocalServer {
    folder: PathBuf,
    url: String,
    shutdown: CancellationToken,
    thread: Option<JoinHandle<Result<()>>>,
}

impl LocalServer {
    /// Starts the services and the query server and waits until it answers.
    pub fn start(config: &Config, services: &[Service]) -> Result<Self> {
        let (mut config, services) = (config.clone(), services.to_vec());
        // Nobody else talks to it, and its name is none that a certificate is for.
        config.query_api.server.tls = TlsConfig::default();
        let folder = PathBuf::from(&config.store.data_folder);
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            super::block_on(async {
                let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
                let app = match App::start(&config, &services, Some(listen)).await {
                    Ok(app) => app,
                    Err(error) => {
                        // The receiver waits for exactly one message; it cannot be gone.
                        return sender
                            .send(Err(error))
                            .map_err(|_| anyhow!("nobody waits for the server"));
                    }
                };
                let url = app.url().map(str::to_owned).unwrap_or_default();
                sender
                    .send(Ok((url, app.shutdown())))
                    .map_err(|_| anyhow!("nobody waits for the server"))?;
                app.run().await
            })
        });
        let (url, shutdown) = receiver.recv().context("the server thread ended early")??;
        Ok(Self {
            folder,
            url,
            shutdown,
            thread: Some(thread),
        })
    }

    /// Where it answers.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Stops it once no other verb relies on it, and waits for what is in progress.
    pub fn stop(mut self) -> Result<()> {
        let begun = Instant::now();
        let mut is_told = false;
        let _closed = data_folder::let_guests_leave(&self.folder, || {
            if begun.elapsed() > SILENT_WAIT && !is_told {
                print::note(
                    "another command still uses the server of this one; waiting for it to end",
                );
                is_told = true;
            }
            std::thread::sleep(GUEST_LOOK);
        });
        self.shutdown.cancel();
        self.thread.take().map_or(Ok(()), |thread| {
            thread
                .join()
                .map_err(|_| anyhow!("the server thread panicked"))?
        })
    }
}

impl Drop for LocalServer {
    fn drop(&mut self) {
        self.shutdown.cancel();
        if let Some(Err(_)) = self.thread.take().map(JoinHandle::join) {
            tracing::error!("the server thread panicked");
        }
    }
}
