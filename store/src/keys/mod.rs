//! API keys: who may call a server, and in which roles. They lie in one file of the data folder,
//! whichever stores are configured: who may write that file may do everything already.
//!
//! `keys.json`, mode 0600, replaced as a whole:
//! ```text
//! {"format": 1, "keys": [{
//!   "id": "0a1b2c3d4e5f",                      also the visible part of the key
//!   "name": "wiki import",
//!   "roles": [{"role": "publisher", "sources": ["wiki"]}, {"role": "reader"}],
//!   "groups": ["radio"],                       left out for none
//!   "clearance": 2,                            left out for 0
//!   "created_ms": 1764000000000,
//!   "expires_ms": null,                        null for never
//!   "revoked_ms": null,
//!   "secrets": [{"hash": "<64 hexadecimal digits>", "until_ms": null}]
//! }]}
//! ```
//! `keys.used.json` says when each was used last, to the minute: `{"<id>": 1764000000000}`.
//!
//! A key is shown once and kept as its BLAKE3 hash. A slow hash as for passwords would only make
//! every request dear: nobody guesses 256 random bits, however fast the guesses are checked.

mod file;
mod ring;
mod secret;
#[cfg(test)]
mod tests;
mod used;

use serde::{Deserialize, Serialize};
use tributary_schemas::{Error, ErrorKind, Result};

pub use file::{KeyFile, NewKey};
pub use ring::{Holder, KeyRing, Refusal};
pub use secret::{Secret, random_bytes};

/// What somebody may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Search, ask and read.
    Reader,
    /// Publish and delete documents of some sources.
    Publisher,
    /// Define some knowledge sets and build the index anew for them.
    Builder,
    /// Everything.
    Administrator,
}

impl Role {
    /// The name in JSON and at the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Publisher => "publisher",
            Self::Builder => "builder",
            Self::Administrator => "administrator",
        }
    }
}

/// A role with what it is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case", deny_unknown_fields)]
pub enum Grant {
    /// Search, ask and read.
    Reader,
    /// Publish and delete documents of these sources.
    Publisher {
        /// Names of sources; no other is written to.
        sources: Vec<String>,
    },
    /// Define knowledge sets and build the index anew for them.
    Builder {
        /// Ids of the sets; `null` for all of them, and for the index as a whole.
        knowledge_sets: Option<Vec<String>>,
    },
    /// Everything.
    Administrator,
}

impl Grant {
    /// Without what it is for.
    pub fn role(&self) -> Role {
        match self {
            Self::Reader => Role::Reader,
            Self::Publisher { .. } => Role::Publisher,
            Self::Builder { .. } => Role::Builder,
            Self::Administrator => Role::Administrator,
        }
    }
}

impl std::str::FromStr for Grant {
    type Err = Error;

    /// As the command line and settings have it: `reader`, `publisher=SOURCE,…`, `builder`,
    /// `builder=SET,…`, `administrator`.
    fn from_str(text: &str) -> Result<Self> {
        let invalid = |what: String| Error::new(ErrorKind::Invalid, what);
        let (role, names) = match text.split_once('=') {
            Some((role, names)) => (role, Some(names)),
            None => (text, None),
        };
        let names = names.map(|names| {
            let names = names.split(',').map(str::trim);
            names.map(str::to_owned).collect::<Vec<String>>()
        });
        let has_empty = |names: &Vec<String>| names.iter().any(String::is_empty);
        if names.as_ref().is_some_and(has_empty) {
            return Err(invalid(format!("`{text}` has an empty name")));
        }
        match (role, names) {
            ("reader", None) => Ok(Self::Reader),
            ("administrator", None) => Ok(Self::Administrator),
            ("publisher", Some(sources)) => Ok(Self::Publisher { sources }),
            ("builder", knowledge_sets) => Ok(Self::Builder { knowledge_sets }),
            ("publisher", None) => Err(invalid(
                "a publisher needs sources: publisher=wiki,mail".to_owned(),
            )),
            _ => Err(invalid(format!(
                "`{text}` is no role; there are reader, publisher=SOURCE,…, builder, builder=SET,… and administrator"
            ))),
        }
    }
}

impl std::fmt::Display for Grant {
    /// As people read it, such as `publisher of wiki, mail`.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let role = self.role().as_str();
        match self {
            Self::Reader | Self::Administrator => formatter.write_str(role),
            Self::Publisher { sources } => write!(formatter, "{role} of {}", sources.join(", ")),
            Self::Builder {
                knowledge_sets: Some(sets),
            } => write!(formatter, "{role} of {}", sets.join(", ")),
            Self::Builder {
                knowledge_sets: None,
            } => write!(formatter, "{role} of all sets"),
        }
    }
}

/// A key as it is kept. Holds no secret, only hashes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApiKey {
    /// 12 hexadecimal digits; owner of what is asked with the key.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What it may do, at least one.
    pub roles: Vec<Grant>,
    /// Groups whose documents it may read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// The highest security level that it may read.
    #[serde(default, skip_serializing_if = "is_public")]
    pub clearance: u8,
    /// When it was made, milliseconds since 1970.
    pub created_ms: i64,
    /// From when on it is refused; `None` for never.
    pub expires_ms: Option<i64>,
    /// Since when it is revoked.
    pub revoked_ms: Option<i64>,
    /// Hashes of its secrets: one, or two while a rotation overlaps.
    secrets: Vec<StoredSecret>,
}

fn is_public(level: &u8) -> bool {
    *level == 0
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredSecret {
    hash: String,
    /// From when on it is refused, where a newer one took its place.
    until_ms: Option<i64>,
}

impl StoredSecret {
    fn is_valid(&self, now_ms: i64) -> bool {
        self.until_ms.is_none_or(|until| now_ms < until)
    }
}

/// How a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyState {
    /// It is accepted.
    Active,
    /// Its time is over.
    Expired,
    /// Somebody revoked it.
    Revoked,
}

impl KeyState {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}

impl ApiKey {
    /// How it is at a moment, in milliseconds since 1970.
    pub fn state(&self, now_ms: i64) -> KeyState {
        match (self.revoked_ms, self.expires_ms) {
            (Some(_), _) => KeyState::Revoked,
            (None, Some(expires)) if expires <= now_ms => KeyState::Expired,
            _ => KeyState::Active,
        }
    }

    /// The part of the key that may be seen, such as `trb_0a1b2c3d4e5f`.
    pub fn prefix(&self) -> String {
        format!("{}{}", secret::SCHEME, self.id)
    }

    /// Until when older secrets are accepted beside the newest, if any is.
    pub fn overlap_until_ms(&self, now_ms: i64) -> Option<i64> {
        let untils = self.secrets.iter().filter_map(|secret| secret.until_ms);
        untils.filter(|until| now_ms < *until).max()
    }
}
