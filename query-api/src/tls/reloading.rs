//! The certificate that callers are shown now. Its files are looked at now and then, and at once on
//! SIGHUP; connections that are there keep theirs. A pair that cannot be used, as while only one of
//! two files is replaced, changes nothing.

use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::signal::unix::Signal;

use super::certificate::{Certificate, Lifetime};
use super::config::Files;

/// Between two looks at the files.
const LOOK: Duration = Duration::from_secs(10);
/// Looks after which an end that is near is told again: once a day.
const TOLD_EVERY: u32 = 24 * 360;

/// The pair, and where it comes from.
pub struct Reloading {
    files: Files,
    current: ArcSwap<CertifiedKey>,
    /// Of the files that were looked at last.
    seen: Mutex<Stamps>,
}

/// Tells one content of a file from the next.
type Stamp = Option<(u64, u64, i64, i64)>;
type Stamps = [Stamp; 2];

impl std::fmt::Debug for Reloading {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Reloading")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

impl ResolvesServerCert for Reloading {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current.load_full())
    }
}

impl Reloading {
    /// With what was read of the files just now.
    pub fn begin(files: Files, certificate: Certificate) -> Self {
        warn_of_its_end(&certificate);
        let seen = Mutex::new(stamps(&files));
        Self {
            files,
            current: ArcSwap::new(certificate.key),
            seen,
        }
    }

    /// Looks again and again.
    pub async fn watch(self: Arc<Self>, mut hangup: Signal) {
        let mut looks: u32 = 0;
        loop {
            let is_asked = tokio::select! {
                asked = hangup.recv() => asked.is_some(),
                () = tokio::time::sleep(LOOK) => false,
            };
            looks = looks.wrapping_add(1);
            let must = is_asked || looks.is_multiple_of(TOLD_EVERY);
            let own = Arc::clone(&self);
            // Files are read where blocking harms nobody.
            let looked = tokio::task::spawn_blocking(move || own.look(must)).await;
            if let Err(error) = looked {
                tracing::warn!(%error, "the certificate was not looked at");
            }
        }
    }

    /// Takes what is there now, if it changed, or in any case.
    fn look(&self, must: bool) {
        let now = stamps(&self.files);
        let before = {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *seen, now)
        };
        if before == now && !must {
            return;
        }
        match Certificate::load(&self.files) {
            Ok(certificate) => {
                warn_of_its_end(&certificate);
                tracing::info!(
                    until = certificate.until(),
                    "the certificate was read again"
                );
                self.current.store(certificate.key);
            }
            Err(error) => {
                tracing::warn!(error = %error.full_message(), "the certificate of before is kept");
            }
        }
    }
}

fn stamps(files: &Files) -> Stamps {
    [&files.certificate, &files.key].map(|file| {
        let found = std::fs::metadata(file).ok()?;
        Some((found.ino(), found.size(), found.mtime(), found.mtime_nsec()))
    })
}

fn warn_of_its_end(certificate: &Certificate) {
    let until = certificate.until();
    match certificate.lifetime(Timestamp::now().as_millisecond()) {
        Lifetime::Over => tracing::warn!(
            until,
            "the certificate of the server is over: callers refuse it"
        ),
        Lifetime::Later => {
            tracing::warn!("the certificate of the server does not hold yet: callers refuse it")
        }
        Lifetime::Soon(_) => tracing::warn!(until, "the certificate of the server ends soon"),
        Lifetime::Days(_) => {}
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::certificate::tests::{files, pair};
    use super::*;

    #[test]
    fn a_new_pair_is_taken_and_half_of_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let (first, first_key) = pair(2090);
        let written = files(folder.path(), &first, &first_key);
        let reloading = Reloading::begin(written.clone(), Certificate::load(&written).unwrap());
        let shown = || reloading.current.load().cert.clone();
        let before = shown();
        let (second, second_key) = pair(2091);
        std::fs::write(&written.certificate, &second).unwrap();
        reloading.look(false);
        assert_eq!(shown(), before, "its key is not there yet");
        std::fs::write(&written.key, &second_key).unwrap();
        reloading.look(false);
        assert_ne!(shown(), before);
        let after = shown();
        std::fs::remove_file(&written.key).unwrap();
        reloading.look(false);
        reloading.look(true);
        assert_eq!(shown(), after);
    }
}
