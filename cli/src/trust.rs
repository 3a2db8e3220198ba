//! Whose certificates a verb accepts of the server that it talks to.

use std::sync::Arc;

use tributary_models::registry::trusted_roots;
use tributary_query_api::mcp::stdio::Certificates;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::args::CaFile;

/// Who vouches for a server.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Nobody has to: the server runs on this machine and data folder, which its address was read
    /// from. Its certificate is for another name.
    OwnServer,
    /// Whom this machine trusts.
    Machine,
    /// The certificates of a file.
    File(Arc<Vec<Certificate<'static>>>),
}

impl Trust {
    /// For a server that was named.
    pub fn named(file: Option<&CaFile>) -> Self {
        file.map_or(Self::Machine, |file| Self::File(file.certificates()))
    }

    /// As the client of an address of this kind has it. Certificates are read for HTTPS only: there
    /// are hundreds.
    pub fn settings(&self, base: &str) -> TlsConfig {
        if !base.starts_with("https://") {
            return TlsConfig::default();
        }
        let settings = TlsConfig::builder();
        match self {
            Self::OwnServer => settings.disable_verification(true).build(),
            Self::Machine => settings.root_certs(trusted_roots()).build(),
            Self::File(own) => {
                let roots = RootCerts::Specific(Arc::clone(own));
                settings.root_certs(roots).build()
            }
        }
    }

    /// The same for the bridge of `mcp`.
    pub fn certificates(&self) -> Certificates {
        let certificates = match self {
            Self::OwnServer => return Certificates::Any,
            Self::File(own) => Arc::clone(own),
            Self::Machine => match trusted_roots() {
                RootCerts::Specific(found) => found,
                _ => Arc::default(),
            },
        };
        let der = certificates.iter().map(|one| one.der().to_vec());
        Certificates::SignedBy(der.collect())
    }
}
