//! Arguments of `audit`.

use anyhow::{Result, bail};
use clap::{Args, Subcommand};

use super::Output;

/// What `audit --help` teaches.
pub const AUDIT_HELP: &str = "\
A server whose query_api.server.audit.enabled is true records every call: who made it, on which route, how it ended, how long the
question was, which conditions the filter had, and the ids of the documents that were returned or changed. Never text, never keys.

  tributary audit list --since 1d --status 4xx            # who was refused today
  tributary audit list --document wiki/tilt.md            # who was given this document
  tributary audit list --by 0a1b2c3d4e5f --follow        # what a key does, as it does it

More: docs/rights.md";

/// `audit …`.
#[derive(Debug, Subcommand)]
pub enum Audit {
    /// List calls, the newest last
    List(Box<ListCalls>),
}

/// `audit list`.
#[derive(Debug, Args)]
pub struct ListCalls {
    /// Made with this key: its id, or its visible beginning trb_ID
    #[arg(long, value_name = "ID")]
    pub by: Option<String>,
    /// Returned or changed this document: its id, or SOURCE/PATH
    #[arg(long, value_name = "ID")]
    pub document: Option<String>,
    /// Of routes that begin so, such as /v1/documents
    #[arg(long, value_name = "PATH")]
    pub route: Option<String>,
    /// Answered with this status, or one of a class, such as 403 or 4xx
    #[arg(long, value_parser = status)]
    pub status: Option<u16>,
    /// Refused or failed with this code, such as key_revoked
    #[arg(long)]
    pub code: Option<String>,
    /// At this time or later: a date, a time, or how long ago (90m, 12h, 7d)
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Before this time
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// At most so many, the newest
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Go on with those to come, until Ctrl-C; as JSON one object a line
    #[arg(long, conflicts_with = "until")]
    pub follow: bool,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

/// `403`, or `4xx`, which the server knows as `4`.
fn status(text: &str) -> Result<u16> {
    let class = text.strip_suffix("xx");
    let number: Option<u16> = class.unwrap_or(text).parse().ok();
    match (number, class) {
        (Some(number @ 2..=5), Some(_)) | (Some(number @ 200..=599), None) => Ok(number),
        _ => bail!("`{text}` is no status, such as 403 or 4xx"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_a_number_or_a_class() {
        assert_eq!(status("403").ok(), Some(403));
        assert_eq!(status("4xx").ok(), Some(4));
        for wrong in ["4", "xx", "9xx", "42xx", "600", "", "四xx"] {
            assert!(status(wrong).is_err(), "{wrong}");
        }
    }
}
