//! TLS in the server, by rustls: a certificate with its key from two PEM files, looked at again while
//! the server runs, so that a renewed one is used without a connection being dropped.

mod certificate;
mod config;
mod reloading;
mod validity;

use std::sync::Arc;

use rustls::ServerConfig;
use tokio::signal::unix::{SignalKind, signal};
use tributary_schemas::{Error, ErrorKind, Result};

pub use certificate::{Certificate, Lifetime};
pub use config::TlsConfig;
use reloading::Reloading;

/// What a listener speaks TLS with; `None` where none is configured. The certificate is looked at
/// again until the runtime ends that this is called in. `Invalid` or `NotFound` says which file and
/// what is wrong.
pub(crate) fn server(config: &TlsConfig) -> Result<Option<ServerConfig>> {
    let Some(files) = config.files() else {
        return Ok(None);
    };
    let certificate = Certificate::load(&files)?;
    let reloading = Arc::new(Reloading::begin(files, certificate));
    // From now on: it would end the process otherwise.
    let hangup = signal(SignalKind::hangup())
        .map_err(|error| Error::io("cannot listen for SIGHUP", &error))?;
    tokio::spawn(Arc::clone(&reloading).watch(hangup));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::new(ErrorKind::Internal, format!("TLS cannot start: {error}")))?;
    let server = versions.with_no_client_auth().with_cert_resolver(reloading);
    Ok(Some(server))
}
