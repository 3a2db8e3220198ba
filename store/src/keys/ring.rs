//! The keys as a server asks for them: who shows this secret? The file is looked at for every
//! question and read again when it changed, so that a revocation holds from the next request on.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::secret::Secret;
use super::{ApiKey, Grant, KeyFile, KeyState, used};
use crate::Result;

/// How often times of use are written.
const WRITTEN_EVERY_MS: i64 = 60_000;

/// Why somebody is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No key, or none of ours.
    Unknown,
    /// One of ours, whose time is over.
    Expired,
    /// One of ours, which somebody revoked.
    Revoked,
    /// The keys cannot be read: nobody is let in.
    Unreadable,
}

/// Who shows a secret that is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Id of the key; `None` for the data folder's own token.
    pub id: Option<String>,
    /// What people call the key, or the user that somebody else vouches for.
    pub name: Option<String>,
    /// What it may do.
    pub roles: Vec<Grant>,
    /// Groups whose documents it may read.
    pub groups: Vec<String>,
    /// The highest security level that it may read.
    pub clearance: u8,
    /// Stands for the secret that was shown, so that what is derived from it ends with it.
    pub mark: [u8; 32],
}

/// All keys of a data folder.
pub struct KeyRing {
    file: KeyFile,
    folder: PathBuf,
    /// Of the folder's own token, which its owner alone can read: an administrator.
    folder_token: blake3::Hash,
    loaded: Mutex<Option<Loaded>>,
    uses: Mutex<Uses>,
}

struct Loaded {
    stamp: Stamp,
    keys: Arc<[ApiKey]>,
}

/// Tells one content of the file from the next: it is only ever replaced.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

#[derive(Default)]
struct Uses {
    seen: used::LastUsed,
    written_ms: i64,
}

impl KeyRing {
    /// Of this data folder and the token in it; see
    /// [`DataFolder::backup_token`](crate::data_folder::DataFolder::backup_token).
    pub fn open(folder: PathBuf, folder_token: &str) -> Self {
        Self {
            file: KeyFile::in_folder(&folder),
            folder,
            folder_token: blake3::hash(folder_token.as_bytes()),
            loaded: Mutex::default(),
            uses: Mutex::default(),
        }
    }

    /// Who shows this. Whether a key is expired or revoked is only told to who has its secret.
    pub fn holder(&self, shown: &str, now_ms: i64) -> std::result::Result<Holder, Refusal> {
        let hash = blake3::hash(shown.as_bytes());
        // Hashes are compared in constant time.
        if hash == self.folder_token {
            return Ok(Holder {
                id: None,
                name: None,
                roles: vec![Grant::Administrator],
                groups: Vec::new(),
                clearance: 0,
                mark: *hash.as_bytes(),
            });
        }
        let secret = Secret::parse(shown).ok_or(Refusal::Unknown)?;
        let key = self.key(secret.id())?.ok_or(Refusal::Unknown)?;
        let is_shown = |stored: &&super::StoredSecret| {
            blake3::Hash::from_hex(&stored.hash).is_ok_and(|stored| stored == hash)
        };
        let found = key.secrets.iter().find(is_shown);
        let found = found.ok_or(Refusal::Unknown)?;
        match key.state(now_ms) {
            KeyState::Revoked => Err(Refusal::Revoked),
            KeyState::Expired => Err(Refusal::Expired),
            KeyState::Active if !found.is_valid(now_ms) => Err(Refusal::Expired),
            KeyState::Active => Ok(self.accepted(&key, *hash.as_bytes(), now_ms)),
        }
    }

    /// The holder that this id and mark stand for, as long as their secret is accepted; for what was
    /// derived from them. `None` for the id is the folder's token.
    pub fn still_holds(
        &self,
        id: Option<&str>,
        mark: &[u8; 32],
        now_ms: i64,
    ) -> std::result::Result<Holder, Refusal> {
        let Some(id) = id else {
            let is_token = blake3::Hash::from_bytes(*mark) == self.folder_token;
            return is_token
                .then(|| Holder {
                    id: None,
                    name: None,
                    roles: vec![Grant::Administrator],
                    groups: Vec::new(),
                    clearance: 0,
                    mark: *mark,
                })
                .ok_or(Refusal::Unknown);
        };
        let key = self.key(id)?.ok_or(Refusal::Unknown)?;
        let is_meant = |stored: &super::StoredSecret| {
            blake3::Hash::from_hex(&stored.hash).is_ok_and(|stored| stored == *mark)
                && stored.is_valid(now_ms)
        };
        match key.state(now_ms) {
            KeyState::Revoked => Err(Refusal::Revoked),
            KeyState::Active if key.secrets.iter().any(is_meant) => {
                Ok(self.accepted(&key, *mark, now_ms))
            }
            _ => Err(Refusal::Expired),
        }
    }

    /// Writes when keys were used, if some time has passed since it was done last. Blocks.
    pub fn write_uses(&self) -> Result<()> {
        let seen = std::mem::take(&mut self.lock_uses().seen);
        if seen.is_empty() {
            return Ok(());
        }
        used::write(&self.folder, &seen)
    }

    /// Whether uses are to be written now; says so once.
    pub fn has_uses_to_write(&self, now_ms: i64) -> bool {
        let mut uses = self.lock_uses();
        let is_time = now_ms.saturating_sub(uses.written_ms) >= WRITTEN_EVERY_MS;
        if is_time && !uses.seen.is_empty() {
            uses.written_ms = now_ms;
            return true;
        }
        false
    }

    fn accepted(&self, key: &ApiKey, mark: [u8; 32], now_ms: i64) -> Holder {
        self.lock_uses().seen.insert(key.id.clone(), now_ms);
        Holder {
            id: Some(key.id.clone()),
            name: Some(key.name.clone()),
            roles: key.roles.clone(),
            groups: key.groups.clone(),
            clearance: key.clearance,
            mark,
        }
    }

    fn key(&self, id: &str) -> std::result::Result<Option<ApiKey>, Refusal> {
        let keys = self.current()?;
        Ok(keys.iter().find(|key| key.id == id).cloned())
    }

    fn current(&self) -> std::result::Result<Arc<[ApiKey]>, Refusal> {
        let stamp = self.stamp()?;
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = loaded.as_ref().filter(|known| known.stamp == stamp) {
            return Ok(Arc::clone(&known.keys));
        }
        *loaded = None;
        // A change between both looks is seen at the next question: the stamp is the older one.
        let keys: Arc<[ApiKey]> = self.file.read().map_err(unreadable)?.into();
        *loaded = Some(Loaded {
            stamp,
            keys: Arc::clone(&keys),
        });
        Ok(keys)
    }

    fn stamp(&self) -> std::result::Result<Stamp, Refusal> {
        match std::fs::metadata(self.file.path()) {
            Ok(found) => Ok(Stamp {
                inode: found.ino(),
                modified: (found.mtime(), found.mtime_nsec()),
                changed: (found.ctime(), found.ctime_nsec()),
            }),
            // No keys: nobody but the owner of the folder.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(Refusal::Unknown),
            Err(error) => Err(unreadable(crate::Error::io(
                "cannot look at the keys",
                &error,
            ))),
        }
    }

    fn lock_uses(&self) -> MutexGuard<'_, Uses> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unreadable(error: crate::Error) -> Refusal {
    tracing::error!(error = %error.full_message(), "nobody is let in: the keys cannot be read");
    Refusal::Unreadable
}
