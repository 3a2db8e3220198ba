//! Damage at rest: what of a partition rotted, each place reported once. Noted by `segment` and
//! `partition`, read by health checks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::folder::lock;

/// Something that rotted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file, or the folder of a partition whose last records are gone.
    pub path: PathBuf,
    /// Where it begins.
    pub position: u64,
    /// Bytes that are passed over.
    pub bytes: u64,
    /// What is wrong.
    pub what: String,
    /// The record's key, if that can still be read.
    pub key: Option<String>,
}

impl Damage {
    /// Damage whose extent is known.
    pub fn new(path: &Path, position: u64, bytes: u64, what: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            position,
            bytes,
            what: what.into(),
            key: None,
        }
    }
}

/// All damage known of a partition, by place.
#[derive(Debug, Default)]
pub struct DamageList(Mutex<BTreeMap<(PathBuf, u64), Damage>>);

impl DamageList {
    /// Notes damage, and says so the first time.
    pub fn note(&self, damage: Damage) {
        let place = (damage.path.clone(), damage.position);
        let mut known = lock(&self.0);
        if known.contains_key(&place) {
            return;
        }
        tracing::error!(
            path = %damage.path.display(),
            position = damage.position,
            bytes = damage.bytes,
            what = damage.what,
            key = damage.key,
            "the event log is damaged here and passes over it: `tributary doctor --verify` lists all damage"
        );
        known.insert(place, damage);
    }

    /// What was noted.
    pub fn all(&self) -> Vec<Damage> {
        lock(&self.0).values().cloned().collect()
    }
}
