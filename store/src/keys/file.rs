//! The file of keys: read, and changed under a lock. `tributary keys` works here, whether a server
//! runs or not; a server notices the change at its next request.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tributary_schemas::{Error, ErrorKind, Result};

use super::secret::Secret;
use super::{ApiKey, Grant, StoredSecret, used};
use crate::data_folder::sync_folder;

const FORMAT: u32 = 1;
const NAME: &str = "keys.json";
/// More than a hundred thousand keys.
const MAXIMUM_BYTES: u64 = 64 << 20;
/// Most characters of a name.
const MAXIMUM_NAME_CHARACTERS: usize = 200;

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    format: u32,
    keys: Vec<ApiKey>,
}

/// A key to be made.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// What people call it, 1 to 200 characters; need not be unique.
    pub name: String,
    /// What it may do, at least one.
    pub roles: Vec<Grant>,
    /// Groups whose documents it may read.
    pub groups: Vec<String>,
    /// The highest security level that it may read.
    pub clearance: u8,
    /// From when on it is refused, milliseconds since 1970; `None` for never.
    pub expires_ms: Option<i64>,
}

/// The keys of a data folder.
#[derive(Clone, Debug)]
pub struct KeyFile {
    folder: PathBuf,
}

impl KeyFile {
    /// Of this data folder, which must be there.
    pub fn in_folder(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.folder.join(NAME)
    }

    /// All keys, the oldest first; none where the file is not there. `Denied` where others than its
    /// owner may write it, `Corrupt` for what cannot be read.
    pub fn read(&self) -> Result<Vec<ApiKey>> {
        let path = self.path();
        let failed =
            |error: std::io::Error| Error::io(format!("cannot read {}", path.display()), &error);
        let found = match fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            found => found.map_err(failed)?,
        };
        if !found.is_file() || found.len() > MAXIMUM_BYTES {
            // Reading a pipe would hang, and with it whoever asks who calls.
            return Err(damaged(&path, "it is no file of keys"));
        }
        if found.permissions().mode() & 0o022 != 0 {
            let message = format!("{} can be written by other users", path.display());
            return Err(Error::new(ErrorKind::Denied, message).with_hint(
                "look whether its keys are yours (`tributary keys list`), and take the right away: chmod 600",
            ));
        }
        let content: Content = serde_json::from_slice(&fs::read(&path).map_err(failed)?)
            .map_err(|error| damaged(&path, &error.to_string()))?;
        match content.format {
            FORMAT => Ok(content.keys),
            other => Err(damaged(
                &path,
                &format!("it has format {other}, this build reads {FORMAT}"),
            )),
        }
    }

    /// When each key was used last, by id, milliseconds since 1970.
    pub fn last_used(&self) -> Result<used::LastUsed> {
        used::read(&self.folder)
    }

    /// Makes a key. The secret is nowhere else.
    pub fn create(&self, new: NewKey, now_ms: i64) -> Result<(ApiKey, Secret)> {
        check(&new)?;
        let secret = Secret::new()?;
        let key = ApiKey {
            id: secret.id().to_owned(),
            name: new.name,
            roles: new.roles,
            groups: new.groups,
            clearance: new.clearance,
            created_ms: now_ms,
            expires_ms: new.expires_ms,
            revoked_ms: None,
            secrets: vec![stored(&secret)],
        };
        self.change(|keys| {
            keys.push(key.clone());
            Ok(())
        })?;
        Ok((key, secret))
    }

    /// Makes the first administrator's key where there is no key at all; `None` where there is one.
    pub fn create_first(&self, now_ms: i64) -> Result<Option<Secret>> {
        let secret = Secret::new()?;
        let first = ApiKey {
            id: secret.id().to_owned(),
            name: "first administrator".to_owned(),
            roles: vec![Grant::Administrator],
            groups: Vec::new(),
            clearance: 0,
            created_ms: now_ms,
            expires_ms: None,
            revoked_ms: None,
            secrets: vec![stored(&secret)],
        };
        // Of several processes that start at once, one makes it.
        let is_made = self.change(|keys| {
            let is_empty = keys.is_empty();
            if is_empty {
                keys.push(first);
            }
            Ok(is_empty)
        })?;
        Ok(is_made.then_some(secret))
    }

    /// Revokes a key for good. One that is revoked stays as it is. `NotFound` for none.
    pub fn revoke(&self, id: &str, now_ms: i64) -> Result<ApiKey> {
        self.change(|keys| {
            let key = named(keys, id)?;
            key.revoked_ms.get_or_insert(now_ms);
            Ok(key.clone())
        })
    }

    /// Gives a key another secret; those of before are refused after `overlap_ms`. `Conflict` for a
    /// key that is revoked or expired.
    pub fn rotate(&self, id: &str, overlap_ms: i64, now_ms: i64) -> Result<(ApiKey, Secret)> {
        self.change(|keys| {
            let key = named(keys, id)?;
            let state = key.state(now_ms);
            if state != super::KeyState::Active {
                let message = format!("the key {} is {}", key.prefix(), state.as_str());
                return Err(Error::new(ErrorKind::Conflict, message)
                    .with_hint("make another with `tributary keys create`"));
            }
            let secret = Secret::for_id(key.id.clone())?;
            let last = now_ms.saturating_add(overlap_ms.max(0));
            for old in &mut key.secrets {
                old.until_ms = Some(old.until_ms.map_or(last, |until| until.min(last)));
            }
            key.secrets.retain(|old| old.is_valid(now_ms));
            key.secrets.push(stored(&secret));
            Ok((key.clone(), secret))
        })
    }

    /// Reads, changes and replaces the file, alone.
    fn change<T>(&self, change: impl FnOnce(&mut Vec<ApiKey>) -> Result<T>) -> Result<T> {
        let _lock = lock(&self.folder)?;
        let mut keys = self.read()?;
        let before = keys.clone();
        let changed = change(&mut keys)?;
        if keys != before {
            let content = Content {
                format: FORMAT,
                keys,
            };
            replace_privately(&self.path(), &content)?;
        }
        Ok(changed)
    }
}

fn damaged(path: &Path, why: &str) -> Error {
    let message = format!("{} cannot be used: {why}", path.display());
    Error::new(ErrorKind::Corrupt, message).with_hint(
        "nobody is let in meanwhile; put it back from a backup, or move it away and make new keys",
    )
}

fn check(new: &NewKey) -> Result<()> {
    let invalid = |message: &str| Err(Error::new(ErrorKind::Invalid, message));
    let characters = new.name.chars().count();
    if characters == 0 || characters > MAXIMUM_NAME_CHARACTERS {
        return invalid("the name of a key must have 1 to 200 characters");
    }
    let names = new.roles.iter().flat_map(|grant| match grant {
        Grant::Publisher { sources } => sources.as_slice(),
        Grant::Builder { knowledge_sets } => knowledge_sets.as_deref().unwrap_or_default(),
        Grant::Reader | Grant::Administrator => &[],
    });
    // A list of keys must not be able to say what nobody granted.
    let mut named = names.chain([&new.name]);
    if named.any(|name| name.contains(char::is_control)) {
        return invalid(
            "names of keys, sources and sets have no control characters or line breaks",
        );
    }
    if new.groups.iter().any(|group| group.trim().is_empty()) {
        return invalid("the name of a group must not be empty");
    }
    let is_for_nothing = |grant: &Grant| match grant {
        Grant::Publisher { sources } => sources.is_empty() || sources.contains(&String::new()),
        Grant::Builder { knowledge_sets } => knowledge_sets.as_ref().is_some_and(Vec::is_empty),
        Grant::Reader | Grant::Administrator => false,
    };
    if new.roles.is_empty() || new.roles.iter().any(is_for_nothing) {
        return invalid("a key needs a role, a publisher its sources, a builder its sets");
    }
    Ok(())
}

fn stored(secret: &Secret) -> StoredSecret {
    StoredSecret {
        hash: secret.hash().to_hex().to_string(),
        until_ms: None,
    }
}

/// By id, or by the visible part of the key.
fn named<'a>(keys: &'a mut [ApiKey], id: &str) -> Result<&'a mut ApiKey> {
    let wanted = id.strip_prefix(super::secret::SCHEME).unwrap_or(id);
    let found = keys.iter_mut().find(|key| key.id == wanted);
    found.ok_or_else(|| {
        // Not what was given: it may be a whole key by mistake.
        Error::new(ErrorKind::NotFound, "there is no key with this id")
            .with_hint("`tributary keys list` shows those that there are; give the id, not the key")
    })
}

/// Held while one of the files is changed.
pub(super) fn lock(folder: &Path) -> Result<File> {
    let path = folder.join("keys.lock");
    let failed =
        |error: std::io::Error| Error::io(format!("cannot lock {}", path.display()), &error);
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(0o600);
    let lock = options.open(&path).map_err(failed)?;
    lock.lock().map_err(failed)?;
    Ok(lock)
}

/// Replaces a file that only its owner may read; a crash leaves the old or the new content.
pub(super) fn replace_privately(path: &Path, content: &impl Serialize) -> Result<()> {
    let failed =
        |error: std::io::Error| Error::io(format!("cannot write {}", path.display()), &error);
    let bytes = serde_json::to_vec_pretty(content)
        .map_err(|error| Error::new(ErrorKind::Internal, format!("cannot encode keys: {error}")))?;
    let draft = path.with_extension("tmp");
    let mut options = OpenOptions::new();
    options.create(true).truncate(true).write(true).mode(0o600);
    let mut file = options.open(&draft).map_err(failed)?;
    // A draft that a crash left keeps the mode that it had.
    file.set_permissions(fs::Permissions::from_mode(0o600))
        .and_then(|()| file.write_all(&bytes))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&draft, path))
        .map_err(failed)?;
    path.parent().map_or(Ok(()), sync_folder)
}
