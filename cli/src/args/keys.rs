//! Arguments of `keys`.

use std::str::FromStr;

use anyhow::Result;
use clap::{Args, Subcommand};
use tributary_store::keys::Grant;

use super::Output;

/// What `keys --help` teaches.
pub const KEYS_HELP: &str = "\
A server asks for keys where query_api.server.network_access is \"authenticated\". Keys lie in the data folder as hashes; these verbs
work there, on the server's machine, whether it runs or not, and a running server notices at its next request.

  tributary keys create --name \"Dify\" --role reader
  tributary keys create --name \"wiki import\" --role publisher=wiki,mail --expires 90d
  tributary keys create --name \"sets\" --role builder=tcp,radio --role reader
  tributary keys create --name \"radio team\" --role reader --group radio --clearance 2
  tributary keys rotate 0a1b2c3d4e5f --overlap 24h

Roles: reader (search, ask, read), publisher=SOURCE,… (publish and delete under these sources), builder=SET,… or builder (define these
or all knowledge sets and build the index anew), administrator (everything). What each route needs: docs/rights.md";

/// `keys …`.
#[derive(Debug, Subcommand)]
pub enum Keys {
    /// Make a key and show it, once
    Create(NewKey),
    /// List keys with their roles and when they were used last; never the keys themselves
    List {
        /// How results are printed.
        #[command(flatten)]
        output: Output,
    },
    /// Show one key: what it may do, and until when
    Show {
        /// Id of the key, or its visible beginning trb_ID
        id: String,
        /// How results are printed.
        #[command(flatten)]
        output: Output,
    },
    /// Refuse keys from now on, for good
    Revoke {
        /// Ids of keys
        #[arg(required = true)]
        ids: Vec<String>,
        /// How results are printed.
        #[command(flatten)]
        output: Output,
    },
    /// Give a key another secret and show it, once; id, roles and conversations stay
    Rotate {
        /// Id of the key
        id: String,
        /// For how long the secret of before is still accepted (30m, 12h, 7d)
        #[arg(long, value_name = "TIME", default_value = "24h")]
        overlap: String,
        /// How results are printed.
        #[command(flatten)]
        output: Output,
    },
}

/// `keys create`.
#[derive(Debug, Args)]
pub struct NewKey {
    /// What people call it
    #[arg(long, value_name = "NAME")]
    pub name: String,
    /// What it may do: reader, publisher=SOURCE,…, builder, builder=SET,… or administrator; may be given several times
    #[arg(long = "role", value_name = "ROLE", required = true)]
    pub roles: Vec<RoleArgument>,
    /// A group whose documents it may read; may be given several times. Documents name groups in attributes.access
    #[arg(long = "group", value_name = "GROUP")]
    pub groups: Vec<String>,
    /// The highest security level (密级) of documents that it may read, 0 to 255
    #[arg(long, value_name = "LEVEL", default_value_t = 0)]
    pub clearance: u8,
    /// When its time is over: a date (2027-01-31), a time (2027-01-31T08:00:00Z) or in how long (12h, 90d) [default: never]
    #[arg(long, value_name = "TIME")]
    pub expires: Option<String>,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

/// A role as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleArgument(pub Grant);

impl FromStr for RoleArgument {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        Ok(Self(text.parse()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_read_with_what_they_are_for() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let table = [
            ("reader", Grant::Reader),
            ("administrator", Grant::Administrator),
            (
                "publisher=wiki, 维基",
                Grant::Publisher {
                    sources: names(&["wiki", "维基"]),
                },
            ),
            (
                "builder",
                Grant::Builder {
                    knowledge_sets: None,
                },
            ),
            (
                "builder=a",
                Grant::Builder {
                    knowledge_sets: Some(names(&["a"])),
                },
            ),
        ];
        for (text, grant) in table {
            assert_eq!(text.parse().ok(), Some(RoleArgument(grant)), "{text}");
        }
        for wrong in [
            "",
            "publisher",
            "publisher=",
            "publisher=a,,b",
            "reader=a",
            "root",
        ] {
            assert!(wrong.parse::<RoleArgument>().is_err(), "{wrong}");
        }
    }
}
