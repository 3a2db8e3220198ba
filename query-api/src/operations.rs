//! What every process answers over HTTP, whichever services it runs: health, metrics, version,
//! backup. A process without the service `query` runs this alone
//! ([`crate::server::serve_operations`]); the whole server includes it.

use std::sync::Arc;

use tributary_schemas::{Result, SharedNewestRights};
use tributary_store::audit::AuditTopic;
use tributary_store::backup;
use tributary_store::keys::KeyRing;
use tributary_store::metrics::MetricRegistry;
use tributary_store::work::Work;

use crate::audit::AuditLog;
use crate::authentication::{Authentication, AuthenticationParts};
use crate::config::ServerConfig;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::readiness::{ReadinessProbe, Version};

/// The parts, which the command line fills.
pub struct OperationsParts {
    /// Says whether the process can do its work.
    pub readiness: Arc<dyn ReadinessProbe>,
    /// What `/metrics` prints; the server adds its own.
    pub registry: MetricRegistry,
    /// Which program answers.
    pub version: String,
    /// Hash of its source profiles.
    pub source_profiles: String,
    /// Services of this process, for who asks it for something else.
    pub services: Vec<String>,
    /// What of its data can be backed up; `None` if nothing.
    pub backup: Option<backup::Source>,
    /// What a caller of a backup must show, which lies in the data folder.
    pub backup_token: String,
    /// The keys of the data folder; needed where the configuration wants keys.
    pub keys: Option<Arc<KeyRing>>,
    /// What newest versions of documents say of their readers.
    pub newest_rights: SharedNewestRights,
    /// What its stages are at.
    pub work: Work,
    /// Where calls are recorded, if they are, and where those of before are read.
    pub audit: Option<AuditTopic>,
}

/// What the routes of every process share.
pub struct Operations {
    pub(crate) readiness: Arc<dyn ReadinessProbe>,
    pub(crate) registry: MetricRegistry,
    pub(crate) metrics: Metrics,
    pub(crate) version: Version,
    pub(crate) services: Vec<String>,
    pub(crate) backup: Option<backup::Source>,
    /// Hashed: hashes are compared in constant time.
    pub(crate) backup_token: blake3::Hash,
    pub(crate) authentication: Authentication,
    pub(crate) limits: Arc<Limits>,
    /// `None` where calls are not recorded.
    pub(crate) audit: Option<AuditLog>,
    pub(crate) audit_topic: Option<AuditTopic>,
    pub(crate) work: Work,
    pub(crate) config: ServerConfig,
}

impl Operations {
    /// Joins the parts, within a runtime, which writes the audit record. `Conflict` if this registry serves another server already, `Denied` where
    /// keys are wanted and there are none.
    pub fn new(parts: OperationsParts, config: ServerConfig) -> Result<Self> {
        let metrics = Metrics::register(&parts.registry)?;
        let recorded = parts.audit.clone().filter(|_| config.audit.enabled);
        Ok(Self {
            limits: Limits::new(&config.limits, metrics.clone()),
            audit: recorded.map(|topic| AuditLog::open(topic, &config.audit, metrics.clone())),
            audit_topic: parts.audit,
            metrics,
            readiness: parts.readiness,
            registry: parts.registry,
            version: Version {
                name: "tributary".to_owned(),
                version: parts.version,
                source_profiles: parts.source_profiles,
            },
            services: parts.services,
            backup: parts.backup,
            authentication: Authentication::new(
                &config,
                AuthenticationParts {
                    ring: parts.keys,
                    newest_rights: parts.newest_rights,
                    clock: tributary_store::system_clock(),
                },
            )?,
            backup_token: blake3::hash(parts.backup_token.as_bytes()),
            work: parts.work,
            config,
        })
    }
}
