//! Settings of TLS, section `[query_api.server.tls]`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Where certificate and key lie; both empty for none.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TlsConfig {
    /// PEM file with the server's certificate, and behind it those that lead to a root.
    pub certificate_file: PathBuf,
    /// PEM file with its private key.
    pub key_file: PathBuf,
}

/// Both of them.
#[derive(Clone, Debug)]
pub struct Files {
    /// That of the certificates.
    pub certificate: PathBuf,
    /// That of the key.
    pub key: PathBuf,
}

impl TlsConfig {
    /// The files; `None` where there is to be no TLS.
    pub fn files(&self) -> Option<Files> {
        let is_complete = self.has_certificate() && self.has_key();
        is_complete.then(|| Files {
            certificate: self.certificate_file.clone(),
            key: self.key_file.clone(),
        })
    }

    /// What addresses of the server begin with.
    pub fn scheme(&self) -> &'static str {
        match self.files() {
            Some(_) => "https",
            None => "http",
        }
    }

    /// Everything that is wrong with the values, one line each.
    pub fn problems(&self) -> Vec<String> {
        let (given, missing) = match (self.has_certificate(), self.has_key()) {
            (true, false) => ("certificate_file", "key_file"),
            (false, true) => ("key_file", "certificate_file"),
            _ => return Vec::new(),
        };
        vec![format!(
            "query_api.server.tls.{given} is set and {missing} is not: TLS needs both, plain HTTP neither"
        )]
    }

    fn has_certificate(&self) -> bool {
        !self.certificate_file.as_os_str().is_empty()
    }

    fn has_key(&self) -> bool {
        !self.key_file.as_os_str().is_empty()
    }
}
