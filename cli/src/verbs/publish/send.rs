//! Sends documents to the server, several side by side.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tributary_query_api::http::documents::Accepted;
use tributary_schemas::{DocumentEvent, State};

use super::Published;
use super::progress::Progress;
use super::urls::{Fetched, Fetcher};
use crate::client::Client;

/// Requests side by side: the server makes their records durable together.
const SENDERS: usize = 16;
/// Documents fetched side by side: they may all lie on one host.
const FETCHERS: usize = 4;

/// A document to publish.
#[derive(Debug)]
pub struct Item {
    /// Path within the source.
    pub source_path: String,
    /// Id that it was given by hand before.
    pub document_id: Option<String>,
    /// Title that it is or was given by hand.
    pub title: Option<String>,
    /// Where its content is.
    pub body: Body,
}

/// Where a content is.
#[derive(Debug)]
pub enum Body {
    /// In a file.
    File(PathBuf),
    /// Here.
    Bytes(Vec<u8>),
    /// At an address.
    Address(String),
}

/// What all documents are sent with.
pub struct Sender<'a> {
    /// The server.
    pub client: &'a Client,
    /// What is said of each, beside path and content.
    pub template: &'a DocumentEvent,
    /// Who fetches what lies at an address.
    pub fetcher: &'a Fetcher,
}

impl Item {
    /// With nothing said of it by hand.
    pub fn new(source_path: String, body: Body) -> Self {
        Self {
            source_path,
            document_id: None,
            title: None,
            body,
        }
    }

    /// Its size, as far as that is known before it is read.
    pub fn bytes(&self) -> u64 {
        match &self.body {
            Body::File(file) => std::fs::metadata(file).map_or(0, |metadata| metadata.len()),
            Body::Bytes(bytes) => bytes.len() as u64,
            Body::Address(_) => 0,
        }
    }
}

/// How many send at once.
fn senders(items: &[Item]) -> usize {
    let is_fetched = |item: &Item| matches!(item.body, Body::Address(_));
    if items.iter().any(is_fetched) {
        FETCHERS
    } else {
        SENDERS
    }
}

impl Sender<'_> {
    /// Sends all of them; what became of each, by path.
    pub fn send_all(&self, items: &[Item], progress: &Progress) -> Vec<Published> {
        let next = AtomicUsize::new(0);
        let sent = Mutex::new(Vec::with_capacity(items.len()));
        let senders = senders(items);
        std::thread::scope(|scope| {
            for _ in 0..senders.min(items.len()) {
                scope.spawn(|| {
                    while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                        progress.sending(&item.source_path);
                        let published = self.send(item);
                        progress.sent(&published);
                        sent.lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .push(published);
                    }
                });
            }
        });
        let mut sent = sent.into_inner().unwrap_or_else(PoisonError::into_inner);
        sent.sort_by(|left, right| left.source_path.cmp(&right.source_path));
        sent
    }

    fn send(&self, item: &Item) -> Published {
        let event = self.event(item);
        let bytes = event.as_ref().map_or(0, |(_, bytes)| *bytes);
        let accepted =
            event.and_then(|(event, _)| self.client.post::<Accepted>("/v1/documents", &event));
        let published = Published {
            source_path: item.source_path.clone(),
            bytes,
            ..Published::default()
        };
        match accepted {
            Ok(accepted) => Published {
                document_id: accepted.document_id,
                version: accepted.version,
                state: State::Accepted.as_str().to_owned(),
                ..published
            },
            Err(error) => Published {
                state: super::state_of_failure(&error).to_owned(),
                reason: Some(format!("{error:#}")),
                ..published
            },
        }
    }

    /// The event, and the size of its content.
    fn event(&self, item: &Item) -> Result<(DocumentEvent, u64)> {
        let mut event = self.template.clone();
        event.document_id = event.document_id.or_else(|| item.document_id.clone());
        event.title = item.title.clone().filter(|title| !title.is_empty());
        if !item.source_path.is_empty() {
            event.source_path = Some(item.source_path.clone());
        }
        let bytes = self.content(item, &mut event)?;
        let size = bytes.len() as u64;
        match String::from_utf8(bytes) {
            Ok(text) => event.content = Some(text),
            Err(error) => event.content_base64 = Some(STANDARD.encode(error.as_bytes())),
        }
        Ok((event, size))
    }

    /// The content of an item; what its address says of it goes into the event.
    fn content(&self, item: &Item, event: &mut DocumentEvent) -> Result<Vec<u8>> {
        Ok(match &item.body {
            Body::File(file) => tributary_schemas::files::read_data(file)
                .with_context(|| format!("cannot read {}", file.display()))?,
            Body::Bytes(bytes) => bytes.clone(),
            Body::Address(address) => {
                let Fetched { bytes, media_type } = self.fetcher.fetch(address)?;
                event.media_type = event.media_type.take().or(media_type);
                event.attributes.link.get_or_insert_with(|| address.clone());
                bytes
            }
        })
    }
}
