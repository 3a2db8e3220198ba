//! Downloads files over HTTP: an attempt that broke off is taken up again, and what arrives has the
//! checksum that was told.

use super::pull::{Progress, copy_bytes};
use crate::folder::file_sha256;
use crate::{Error, Result};
use std::path::Path;
use std::time::Duration;
use tributary_schemas::ErrorKind;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

const ATTEMPTS: u32 = 3;

/// The certificates that this machine trusts (`SSL_CERT_FILE` and `SSL_CERT_DIR` count), which may
/// be those of a company's proxy; where it names none, as in a small container, those that browsers
/// trust.
pub fn trusted() -> RootCerts {
    let found = rustls_native_certs::load_native_certs().certs;
    let certificates: Vec<_> = found
        .iter()
        .map(|certificate| Certificate::from_der(certificate).to_owned())
        .collect();
    if certificates.is_empty() {
        RootCerts::WebPki
    } else {
        certificates.into()
    }
}

/// A client.
pub(super) struct Downloader {
    agent: Agent,
}

/// A file to download.
#[derive(Clone, Debug)]
pub(super) struct RemoteFile {
    pub url: String,
    /// For progress and messages.
    pub name: String,
    /// 0 if it is not known.
    pub bytes: u64,
    /// Lowercase hex, if it is known.
    pub sha256: Option<String>,
}

impl Downloader {
    pub(super) fn new() -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(Duration::from_secs(20)))
            .timeout_recv_response(Some(Duration::from_secs(60)))
            .tls_config(TlsConfig::builder().root_certs(trusted()).build())
            .user_agent("tributary");
        Self {
            agent: config.build().into(),
        }
    }

    /// A small text of one of the media types of `accept`; `None` if it is not there or not public.
    pub(super) fn text(&self, url: &str, accept: &str) -> Result<Option<String>> {
        let mut response = self
            .agent
            .get(url)
            .header("accept", accept)
            .call()
            .map_err(|error| unreachable_host(url, &error))?;
        match response.status().as_u16() {
            200 => response
                .body_mut()
                .read_to_string()
                .map(Some)
                .map_err(|error| unreachable_host(url, &error)),
            401 | 403 | 404 => Ok(None),
            status => Err(bad_status(url, status)),
        }
    }

    /// Fetches a file, taking up an earlier attempt, and returns its SHA-256; `Corrupt` if it
    /// should be another.
    pub(super) fn fetch(
        &self,
        file: &RemoteFile,
        target: &Path,
        progress: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<String> {
        if target.is_file()
            && let Some(expected) = &file.sha256
            && file_sha256(target)? == *expected
        {
            return Ok(expected.clone());
        }
        let mut part = target.as_os_str().to_owned();
        part.push(".part");
        let part = Path::new(&part);
        let mut attempt = 1;
        while let Err(error) = self.fetch_rest(file, part, progress) {
            if attempt == ATTEMPTS
                || !matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Timeout)
            {
                return Err(error);
            }
            tracing::warn!(error = %error, attempt, "download broke off; going on");
            attempt += 1;
        }
        let checksum = file_sha256(part)?;
        if let Some(expected) = &file.sha256
            && *expected != checksum
        {
            std::fs::remove_file(part)
                .map_err(|error| Error::io(format_args!("removing {}", part.display()), &error))?;
            return Err(Error::new(
                ErrorKind::Corrupt,
                format!(
                    "checksum of {} is {checksum}, the hub says {expected}",
                    file.name
                ),
            )
            .with_hint(
                "pull again; if it stays wrong, something between you and the hub changes files",
            ));
        }
        std::fs::rename(part, target)
            .map_err(|error| Error::io(format_args!("renaming {}", part.display()), &error))?;
        Ok(checksum)
    }

    /// One attempt: asks for what is missing and appends it.
    fn fetch_rest(
        &self,
        file: &RemoteFile,
        part: &Path,
        progress: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<()> {
        let failed =
            |error: std::io::Error| Error::io(format_args!("writing {}", part.display()), &error);
        let have = std::fs::metadata(part).map_or(0, |metadata| metadata.len());
        if have > 0 && have == file.bytes {
            return Ok(());
        }
        let url = &file.url;
        let mut request = self.agent.get(url);
        if have > 0 {
            request = request.header("range", format!("bytes={have}-"));
        }
        let response = request
            .call()
            .map_err(|error| unreachable_host(url, &error))?;
        let start = match response.status().as_u16() {
            200 => 0,
            206 => have,
            // What we have is longer than the file: begin again.
            416 => {
                std::fs::remove_file(part).map_err(failed)?;
                return Err(Error::new(
                    ErrorKind::Unavailable,
                    format!("{url}: the part on disk does not fit; starting over"),
                ));
            }
            status => return Err(bad_status(url, status)),
        };
        let output = std::fs::OpenOptions::new()
            .create(true)
            .append(start > 0)
            .write(true)
            .truncate(start == 0)
            .open(part)
            .map_err(failed)?;
        let reader = response.into_body().into_reader();
        append(file, start, reader, output, progress)
    }
}

/// Appends what arrives to what is there already, `start` bytes, and checks the length.
fn append(
    file: &RemoteFile,
    start: u64,
    mut reader: impl std::io::Read,
    mut output: std::fs::File,
    progress: &mut dyn FnMut(&Progress<'_>),
) -> Result<()> {
    let url = &file.url;
    let total_bytes = (file.bytes > 0).then_some(file.bytes);
    let copied = copy_bytes(&mut reader, &mut output, &mut |done| {
        progress(&Progress {
            file: &file.name,
            done_bytes: start + done,
            total_bytes,
        });
    })
    .map_err(|error| {
        Error::new(
            ErrorKind::Unavailable,
            format!("downloading {url}: {error}"),
        )
        .with_hint("pull again: it goes on where it stopped")
    })?;
    if file.bytes > 0 && start + copied != file.bytes {
        return Err(Error::new(
            ErrorKind::Unavailable,
            format!(
                "{url} ended after {} of {} bytes",
                start + copied,
                file.bytes
            ),
        ));
    }
    Ok(())
}

fn unreachable_host(url: &str, error: &ureq::Error) -> Error {
    Error::new(ErrorKind::Unavailable, format!("{url} cannot be reached: {error}"))
        .with_hint("check the network and the address (`models.hub_url`, `models.package_index_url`), or pull from a local folder")
}

fn bad_status(url: &str, status: u16) -> Error {
    let kind = match status {
        429 => ErrorKind::Exhausted,
        500.. => ErrorKind::Unavailable,
        _ => ErrorKind::Invalid,
    };
    Error::new(kind, format!("{url} answered {status}"))
}
