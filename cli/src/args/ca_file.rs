//! The certificates of `--ca-file`: whom a verb trusts besides those that this machine trusts.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use ureq::tls::{Certificate, PemItem, parse_pem};

/// Certificates of a PEM file.
#[derive(Clone, Debug)]
pub struct CaFile(Arc<Vec<Certificate<'static>>>);

impl CaFile {
    /// Those that are in it, at least one.
    pub fn certificates(&self) -> Arc<Vec<Certificate<'static>>> {
        Arc::clone(&self.0)
    }
}

impl FromStr for CaFile {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let file = PathBuf::from(text);
        let bytes = tributary_schemas::files::read(&file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        let mut certificates = Vec::new();
        for item in parse_pem(&bytes) {
            let item = item.with_context(|| format!("{} is no PEM file", file.display()))?;
            if let PemItem::Certificate(certificate) = item {
                certificates.push(certificate);
            }
        }
        if certificates.is_empty() {
            bail!("there is no certificate in {}", file.display());
        }
        Ok(Self(Arc::new(certificates)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_certificates_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("empty.pem");
        std::fs::write(&file, "nothing").unwrap();
        for path in [file.as_path(), &folder.path().join("missing.pem")] {
            let error = path.to_str().unwrap().parse::<CaFile>().unwrap_err();
            assert!(format!("{error:#}").contains(".pem"), "{error:#}");
        }
    }
}
