//! Says that a running server has other source profiles than this command line: its own hold for what
//! is published to it, and a file that changed since its start does nothing yet.

use std::path::Path;

use anyhow::Result;
use tributary_query_api::readiness::Version;

use crate::client::Client;
use crate::config::Config;
use crate::print;

/// Compares them where this command line names some. Whatever the server does not tell stays unsaid.
pub fn note(client: &Client, config: &Config) -> Result<()> {
    let file = &config.taxonomy.source_profiles_file;
    if client.is_local() || file.as_os_str().is_empty() {
        return Ok(());
    }
    let own = tributary_taxonomy::load_source_profiles(&config.taxonomy, Path::new(""))?;
    let Ok(server) = client.get::<Version>("/version") else {
        return Ok(());
    };
    if !server.source_profiles.is_empty() && server.source_profiles != own.fingerprint() {
        print::note(&format!(
            "the server at {} has other source profiles than {}, and its own hold for what is published to it: \
             start it again with this file",
            client.base(),
            file.display()
        ));
    }
    Ok(())
}
