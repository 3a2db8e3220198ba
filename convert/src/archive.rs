//! Members of a ZIP container, with limits on what they unpack to.

use std::io::{Cursor, Read};

use tributary_schemas::{Error, ErrorKind, Result};
use zip::ZipArchive;
use zip::result::ZipError;

use crate::limits::Limits;

/// Unpacked bytes from which the ratio counts: small members pack well without harm.
const RATIO_FROM_BYTES: u64 = 16 << 20;

/// An open container.
pub(crate) struct Archive<'a> {
    members: ZipArchive<Cursor<&'a [u8]>>,
    packed_bytes: u64,
    bytes_left: u64,
    maximum_bytes: u64,
    maximum_ratio: u64,
}

impl<'a> Archive<'a> {
    /// Opens a container. `Corrupt` if its directory cannot be read.
    pub(crate) fn open(bytes: &'a [u8], limits: &Limits<'_>) -> Result<Self> {
        let members = ZipArchive::new(Cursor::new(bytes)).map_err(|error| {
            Error::new(
                ErrorKind::Corrupt,
                format!("the ZIP container cannot be read: {error}"),
            )
            .with_hint("the file is damaged or ends early; fetch it again")
        })?;
        Ok(Self {
            members,
            packed_bytes: bytes.len() as u64,
            bytes_left: limits.maximum_unpacked_bytes,
            maximum_bytes: limits.maximum_unpacked_bytes,
            maximum_ratio: limits.maximum_unpacking_ratio,
        })
    }

    /// The content of a member; `None` if there is none of that name. `Unsupported` if it is
    /// encrypted, `Invalid` over a limit, `Corrupt` if it is damaged.
    pub(crate) fn read(&mut self, name: &str) -> Result<Option<Vec<u8>>> {
        let member = match self.members.by_name(name) {
            Ok(member) => member,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(ZipError::UnsupportedArchive(what)) if what.to_lowercase().contains("password") => {
                return Err(encrypted());
            }
            Err(error) => return Err(damaged(name, &error)),
        };
        let allowed = self.bytes_left.min(
            self.packed_bytes
                .saturating_mul(self.maximum_ratio)
                .max(RATIO_FROM_BYTES),
        );
        let mut bytes = Vec::new();
        member
            .take(allowed.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| damaged(name, &error))?;
        if bytes.len() as u64 > allowed {
            return Err(self.too_large(name, allowed));
        }
        self.bytes_left -= bytes.len() as u64;
        Ok(Some(bytes))
    }

    fn too_large(&self, name: &str, allowed: u64) -> Error {
        let message = format!(
            "the part {name} unpacks to more than {allowed} bytes (of at most {} in all)",
            self.maximum_bytes
        );
        Error::new(ErrorKind::Invalid, message).with_hint(
            "split the document, or raise `convert.maximum_unpacked_bytes` and `convert.maximum_unpacking_ratio`",
        )
    }
}

/// The error of a document that needs a password.
pub(crate) fn encrypted() -> Error {
    Error::new(ErrorKind::Unsupported, "the document is encrypted")
        .with_hint("remove the password or the copy protection and send it again")
}

fn damaged(name: &str, error: &dyn std::fmt::Display) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!("the part {name} cannot be unpacked: {error}"),
    )
    .with_hint("the file is damaged or ends early; fetch it again")
}
