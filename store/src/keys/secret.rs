//! What is shown once: `trb_`, the id, `_`, and 256 random bits in hexadecimal digits. The fixed
//! beginning lets scanners of repositories find a key that was committed by mistake.

use std::fs::File;
use std::io::Read;

use tributary_schemas::{Error, Result};

/// How every key begins.
pub(super) const SCHEME: &str = "trb_";
const ID_BYTES: usize = 6;
const SECRET_BYTES: usize = 32;

/// A whole key. Printed in full only where somebody asks for it by name.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    id: String,
    text: String,
}

impl Secret {
    /// A new one for a new key.
    pub(super) fn new() -> Result<Self> {
        Self::for_id(hexadecimal(&random_bytes::<ID_BYTES>()?))
    }

    /// A new one for a key that there is.
    pub(super) fn for_id(id: String) -> Result<Self> {
        let secret = hexadecimal(&random_bytes::<SECRET_BYTES>()?);
        let text = format!("{SCHEME}{id}_{secret}");
        Ok(Self { id, text })
    }

    /// Takes what a caller shows; `None` for what has not the form of a key.
    pub fn parse(text: &str) -> Option<Self> {
        let (id, secret) = text.strip_prefix(SCHEME)?.split_once('_')?;
        let is_well_formed = is_hexadecimal(id, ID_BYTES) && is_hexadecimal(secret, SECRET_BYTES);
        is_well_formed.then(|| Self {
            id: id.to_owned(),
            text: text.to_owned(),
        })
    }

    /// Id of the key.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// All of it, to be shown to whom it is made for.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// What is kept of it.
    pub(super) fn hash(&self) -> blake3::Hash {
        blake3::hash(self.text.as_bytes())
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{SCHEME}{}_…", self.id)
    }
}

/// Bytes of the system's randomness.
pub fn random_bytes<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(|error| Error::io("cannot read the system's randomness", &error))?;
    Ok(bytes)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn is_hexadecimal(text: &str, bytes: usize) -> bool {
    text.len() == 2 * bytes
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
