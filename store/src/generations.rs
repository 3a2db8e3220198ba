//! The generations of the index as this process last saw them, for whoever must act on a
//! generation's birth, promotion or end. Another process may make, promote or drop one at any time:
//! this looks every now and then, and at once when asked about one it does not know.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tributary_schemas::reindex::ReindexRequest;
use tributary_schemas::{Error, ErrorKind, Result};

use crate::search_index::{GenerationStatus, IndexSettings, SharedSearchIndex};

/// Pause between two looks.
const REFRESH: Duration = Duration::from_millis(1000);

/// All generations, by name.
pub type GenerationList = Arc<Vec<GenerationStatus>>;

/// The group in which a generation's chunk stage reads `documents.clean`.
pub fn chunk_group(generation: &str) -> String {
    format!("chunk-{generation}")
}

/// What a generation's [`origin`](IndexSettings::origin) says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The request that it was built for; empty for the first generation.
    #[serde(default)]
    pub request_id: String,
    /// Where the settings lie that it is built with (a blob's URL).
    pub recipe: String,
    /// The settings themselves, so that the index can be continued where the blob is not to be
    /// had. Absent in generations of before, and where they are too large for the index's own
    /// description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<serde_json::Value>,
    /// Id of the blob store of whoever made it. Absent in generations of before, and where blobs are
    /// in no folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob_store: Option<String>,
}

impl Origin {
    /// As it is kept with the generation.
    pub fn encode(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| {
            Error::new(
                ErrorKind::Internal,
                format!("cannot encode a generation's origin: {error}"),
            )
        })
    }

    /// Reads [`Origin::encode`]; `None` for a generation without one.
    pub fn decode(text: &str) -> Result<Option<Self>> {
        if text.is_empty() {
            return Ok(None);
        }
        serde_json::from_str(text).map(Some).map_err(|error| {
            Error::new(
                ErrorKind::Corrupt,
                format!("a generation's origin cannot be read: {error}"),
            )
        })
    }
}

/// Settings for new generations, made by whoever knows the whole configuration.
#[async_trait]
pub trait GenerationBuilder: Send + Sync {
    /// Settings of the generation that a request asks for, with its [`Origin`]; read anew from the
    /// configuration of today. Everything of documents that the request leaves alone stays as
    /// in `serving`, if there is one.
    async fn settings(
        &self,
        request: &ReindexRequest,
        serving: Option<&GenerationStatus>,
    ) -> Result<IndexSettings>;
}

/// What is known of the generations.
pub struct Generations {
    index: SharedSearchIndex,
    known: watch::Sender<GenerationList>,
}

impl Generations {
    /// Looks for the first time.
    pub async fn open(index: SharedSearchIndex) -> Result<Self> {
        let known = watch::Sender::new(Arc::new(index.status().await?));
        Ok(Self { index, known })
    }

    /// Looks every now and then until `shutdown`.
    pub async fn follow(self: Arc<Self>, shutdown: CancellationToken) {
        while !shutdown.is_cancelled() {
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(REFRESH) => {}
            }
            if let Err(error) = self.refresh().await {
                tracing::warn!(%error, "the generations of the index cannot be read, trying again");
            }
        }
    }

    /// Looks now. Watchers are told if a generation came or went, or another one serves.
    pub async fn refresh(&self) -> Result<GenerationList> {
        let found = Arc::new(self.index.status().await?);
        self.known.send_if_modified(|known| {
            let roles = |list: &GenerationList| {
                list.iter()
                    .map(|one| (one.name.clone(), one.serving))
                    .collect::<Vec<_>>()
            };
            let changed = roles(known) != roles(&found);
            *known = Arc::clone(&found);
            changed
        });
        Ok(found)
    }

    /// What was last seen.
    pub fn current(&self) -> GenerationList {
        Arc::clone(&self.known.borrow())
    }

    /// Tells when a generation comes, goes or is promoted.
    pub fn watch(&self) -> watch::Receiver<GenerationList> {
        self.known.subscribe()
    }

    /// The generation that queries go to.
    pub fn serving(&self) -> Option<String> {
        self.current()
            .iter()
            .find(|generation| generation.serving)
            .map(|generation| generation.name.clone())
    }

    /// Whether queries go to this one.
    pub fn is_serving(&self, name: &str) -> bool {
        self.current()
            .iter()
            .any(|generation| generation.serving && generation.name == name)
    }

    /// The generation of this name; one that is not known is looked for once more, so that `None`
    /// means that it is gone.
    pub async fn find(&self, name: &str) -> Result<Option<GenerationStatus>> {
        let pick = |list: &GenerationList| {
            list.iter()
                .find(|generation| generation.name == name)
                .cloned()
        };
        match pick(&self.current()) {
            Some(found) => Ok(Some(found)),
            None => Ok(pick(&self.refresh().await?)),
        }
    }
}
