//! When keys were used last. A file of its own, so that a server never writes that of the keys.

use std::collections::BTreeMap;
use std::path::Path;

use tributary_schemas::{Error, ErrorKind, Result};

use super::file::{lock, replace_privately};

const NAME: &str = "keys.used.json";

/// Milliseconds since 1970, by the id of the key.
pub type LastUsed = BTreeMap<String, i64>;

/// What is known; nothing where the file is not there.
pub(super) fn read(folder: &Path) -> Result<LastUsed> {
    let path = folder.join(NAME);
    match tributary_schemas::files::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
            let message = format!("{} cannot be read: {error}", path.display());
            Error::new(ErrorKind::Corrupt, message)
                .with_hint("remove it: only the times of last use are lost")
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(LastUsed::new()),
        Err(error) => Err(Error::io(format!("cannot read {}", path.display()), &error)),
    }
}

/// Adds what this process saw to what others did; the later time stands.
pub(super) fn write(folder: &Path, seen: &LastUsed) -> Result<()> {
    let _lock = lock(folder)?;
    let mut all = read(folder)?;
    for (id, at_ms) in seen {
        let known = all.entry(id.clone()).or_insert(*at_ms);
        *known = (*known).max(*at_ms);
    }
    replace_privately(&folder.join(NAME), &all)
}
