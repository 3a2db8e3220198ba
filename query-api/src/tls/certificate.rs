//! A certificate with its key, read from PEM files, and what is wrong with them in words.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{Error as TlsError, InconsistentKeys};
use tributary_schemas::{Error, ErrorKind, Result};

use super::config::Files;
use super::validity::Validity;

/// Days before its end from which on a certificate is said to end soon.
const SOON_DAYS: i64 = 14;
const DAY_MS: i64 = 24 * 3600 * 1000;

/// Ready to be shown to callers.
pub struct Certificate {
    pub(super) key: Arc<CertifiedKey>,
    validity: Validity,
}

/// How long a certificate holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// From then on.
    Later,
    /// For so many more days.
    Days(i64),
    /// For so many more days, which are few.
    Soon(i64),
    /// Not any more.
    Over,
}

impl Certificate {
    /// Reads both files. `NotFound` or `Denied` for one that cannot be read, `Invalid` for what is
    /// in it.
    pub fn load(files: &Files) -> Result<Self> {
        let chain = chain(&files.certificate)?;
        let first = chain
            .first()
            .ok_or_else(|| no_certificate(&files.certificate))?;
        let validity = Validity::of(first).ok_or_else(|| {
            let what = format!(
                "{} holds a certificate that cannot be read",
                shown(&files.certificate)
            );
            Error::new(ErrorKind::Invalid, what)
        })?;
        let key = private_key(&files.key)?;
        let provider = rustls::crypto::ring::default_provider();
        let certified = CertifiedKey::from_der(chain, key, &provider);
        let certified = certified.map_err(|error| unusable(files, &error))?;
        Ok(Self {
            key: Arc::new(certified),
            validity,
        })
    }

    /// How long it holds, as of a moment in milliseconds since 1970.
    pub fn lifetime(&self, now_ms: i64) -> Lifetime {
        let days = (self.validity.until_ms - now_ms) / DAY_MS;
        if now_ms < self.validity.from_ms {
            Lifetime::Later
        } else if self.validity.until_ms <= now_ms {
            Lifetime::Over
        } else if days < SOON_DAYS {
            Lifetime::Soon(days)
        } else {
            Lifetime::Days(days)
        }
    }

    /// When it ends, for people.
    pub fn until(&self) -> String {
        let until = Timestamp::from_millisecond(self.validity.until_ms);
        until.map_or_else(|_| "for ever".to_owned(), |until| until.to_string())
    }
}

fn chain(file: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let bytes = read(file)?;
    let parsed: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let chain = parsed.map_err(|error| {
        let what = format!("{} is no PEM file of certificates: {error}", shown(file));
        Error::new(ErrorKind::Invalid, what)
    })?;
    match chain.is_empty() {
        true => Err(no_certificate(file)),
        false => Ok(chain),
    }
}

fn no_certificate(file: &Path) -> Error {
    let what = format!("there is no certificate in {}", shown(file));
    Error::new(ErrorKind::Invalid, what).with_hint("it begins with -----BEGIN CERTIFICATE-----")
}

fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>> {
    let bytes = read(file)?;
    PrivateKeyDer::from_pem_slice(&bytes).map_err(|_| {
        let is_encrypted = String::from_utf8_lossy(&bytes).contains("ENCRYPTED");
        let hint = match is_encrypted {
            true => {
                "it is encrypted; `openssl pkey -in FILE -out FILE.plain` takes the password off"
            }
            false => "it begins with -----BEGIN PRIVATE KEY-----, or RSA or EC before PRIVATE KEY",
        };
        let what = format!(
            "there is no private key in {} that can be used",
            shown(file)
        );
        Error::new(ErrorKind::Invalid, what).with_hint(hint)
    })
}

fn unusable(files: &Files, error: &TlsError) -> Error {
    let (certificate, key) = (shown(&files.certificate), shown(&files.key));
    match error {
        TlsError::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
            let what =
                format!("the key in {key} does not belong to the certificate in {certificate}");
            Error::new(ErrorKind::Invalid, what)
                .with_hint("the server's own certificate stands first in its file, before those that lead to a root")
        }
        error => {
            let what = format!("certificate {certificate} and key {key} cannot be used: {error}");
            Error::new(ErrorKind::Invalid, what)
        }
    }
}

fn read(file: &Path) -> Result<Vec<u8>> {
    tributary_schemas::files::read(file).map_err(|error| {
        Error::io(format!("cannot read {}", shown(file)), &error)
            .with_hint("query_api.server.tls names it")
    })
}

fn shown(file: &Path) -> String {
    file.display().to_string()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests {
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    const NOW: i64 = 1_764_000_000_000;

    /// PEM of a certificate for `localhost` that ends in a year, and of its key.
    pub fn pair(year: i32) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let mut parameters = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        parameters.not_before = date_time_ymd(2020, 1, 1);
        parameters.not_after = date_time_ymd(year, 1, 1);
        let certificate = parameters.self_signed(&key).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    pub fn files(folder: &Path, certificate: &str, key: &str) -> Files {
        let files = Files {
            certificate: folder.join("certificate.pem"),
            key: folder.join("key.pem"),
        };
        std::fs::write(&files.certificate, certificate).unwrap();
        std::fs::write(&files.key, key).unwrap();
        files
    }

    #[test]
    fn a_pair_is_read_with_its_end() {
        let folder = tempfile::tempdir().unwrap();
        for (year, expected) in [(2020, Lifetime::Over), (2090, Lifetime::Days(23_413))] {
            let (certificate, key) = pair(year);
            let read = Certificate::load(&files(folder.path(), &certificate, &key)).unwrap();
            assert_eq!(read.lifetime(NOW), expected);
            assert_eq!(read.until(), format!("{year}-01-01T00:00:00Z"));
            assert_eq!(read.lifetime(0), Lifetime::Later);
        }
        let (certificate, key) = pair(2026);
        let read = Certificate::load(&files(folder.path(), &certificate, &key)).unwrap();
        let first_of_january = 1_767_225_600_000;
        assert_eq!(
            read.lifetime(first_of_january - 13 * DAY_MS),
            Lifetime::Soon(13)
        );
        assert_eq!(
            read.lifetime(first_of_january - 15 * DAY_MS),
            Lifetime::Days(15)
        );
    }

    #[test]
    fn what_is_wrong_is_told_with_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = pair(2090);
        let (_, other_key) = pair(2090);
        let encrypted =
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
        let damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let table = [
            (certificate.as_str(), other_key.as_str(), "does not belong"),
            ("nothing", &key, "no certificate in"),
            (&key, &key, "no certificate in"),
            (damaged, &key, "cannot be read"),
            (&certificate, "nothing", "BEGIN PRIVATE KEY"),
            (&certificate, &certificate, "no private key in"),
            (&certificate, encrypted, "it is encrypted"),
        ];
        for (certificate, key, expected) in table {
            let error = Certificate::load(&files(folder.path(), certificate, key))
                .err()
                .unwrap();
            let told = error.full_message();
            assert!(
                told.contains(expected) && told.contains(".pem"),
                "{expected}: {told}"
            );
            assert_eq!(error.kind(), ErrorKind::Invalid);
        }
        let missing = Files {
            certificate: folder.path().join("none.pem"),
            key: folder.path().join("none.pem"),
        };
        let told = Certificate::load(&missing).err().unwrap().full_message();
        assert!(
            told.contains("none.pem") && told.contains("query_api.server.tls"),
            "{told}"
        );
    }
}
