//! Arguments of `rights`.

use clap::Subcommand;

use super::Output;

/// What `rights --help` teaches.
pub const RIGHTS_HELP: &str = "\
Where query_api.server.network_access is \"authenticated\", a document is for the groups and users that its producer names in
attributes.access, or else the profile of its source; {} stands for every reader. Where nobody said anything,
query_api.server.documents_without_access decides: administrators alone, unless it says readers.

  tributary rights status                          # which documents nobody said anything of, by source
  tributary keys create --name team --role reader --group radio --clearance 2

More: docs/rights.md";

/// `rights …`.
#[derive(Debug, Subcommand)]
pub enum Rights {
    /// Count documents by what is said of who may see them, by source: what to look at before keys are wanted
    Status {
        /// How results are printed.
        #[command(flatten)]
        output: Output,
    },
}
