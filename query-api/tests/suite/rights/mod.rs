//! A server that wants keys: whom its door lets in, and what ends with a key's sources, sets and
//! owner.

pub(crate) mod door;
mod owners;
mod unheard;

use std::sync::Arc;

use serde_json::Value;
use tributary_query_api::config::{NetworkAccess, ServerConfig};
use tributary_schemas::SharedNewestRights;
use tributary_store::keys::{Grant, KeyFile, KeyRing, NewKey};

use crate::common;
use crate::common::backend::{BACKUP_TOKEN, Kept, Settings};
use crate::common::client::{Answer, Server};

const JSON: (&str, &str) = ("Content-Type", "application/json");
pub const NOW: i64 = 1_764_000_000_000;
/// The same for two requests, so that their answers can be compared byte by byte.
const TRACE: (&str, &str) = (
    "traceparent",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
);

/// A server that wants keys, and where they lie.
pub struct Keyed {
    pub server: Server,
    pub file: KeyFile,
    _folder: tempfile::TempDir,
}

impl Keyed {
    /// Wrong keys are not slowed: some tests show many.
    pub async fn start() -> Self {
        let mut config = ServerConfig {
            network_access: NetworkAccess::Authenticated,
            ..common::server_config()
        };
        config.limits.wrong_keys_per_minute = 0;
        Self::start_with(config).await
    }

    pub async fn start_with(server: ServerConfig) -> Self {
        Self::start_as(Settings {
            server,
            ..Settings::default()
        })
        .await
    }

    /// The same, where somebody else says what is known of rights.
    async fn start_by(server: ServerConfig, newest_rights: Option<SharedNewestRights>) -> Self {
        Self::start_as(Settings {
            server,
            newest_rights,
            ..Settings::default()
        })
        .await
    }

    /// Any settings but the keys.
    pub async fn start_as(settings: Settings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings {
            keys: Some(Arc::new(KeyRing::open(
                folder.path().to_owned(),
                BACKUP_TOKEN,
            ))),
            ..settings
        };
        Self {
            server: Server::start_with_settings(common::models(None), settings).await,
            file: KeyFile::in_folder(folder.path()),
            _folder: folder,
        }
    }

    /// Stops the server; what it kept is still there.
    pub async fn stop(self) -> Arc<Kept> {
        let kept = Arc::clone(&self.server.kept);
        self.server.stop().await.unwrap();
        kept
    }

    /// Id and value of `Authorization`.
    pub fn key(&self, roles: Vec<Grant>) -> (String, String) {
        self.key_until(roles, None)
    }

    fn key_until(&self, roles: Vec<Grant>, expires_ms: Option<i64>) -> (String, String) {
        let new = NewKey {
            name: "test".to_owned(),
            roles,
            groups: Vec::new(),
            clearance: 0,
            expires_ms,
        };
        let (key, secret) = self.file.create(new, NOW).unwrap();
        (key.id, format!("Bearer {}", secret.reveal()))
    }

    pub async fn send(&self, key: &str, method: &str, path: &str, body: Option<Value>) -> Answer {
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let headers = [("Authorization", key), JSON, TRACE];
        self.server
            .send(method, path, &headers, body.as_bytes())
            .await
    }
}

fn publisher(source: &str) -> Vec<Grant> {
    vec![Grant::Publisher {
        sources: vec![source.to_owned()],
    }]
}

fn builder(set: &str) -> Vec<Grant> {
    vec![Grant::Builder {
        knowledge_sets: Some(vec![set.to_owned()]),
    }]
}
