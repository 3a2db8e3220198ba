//! A look at every byte of the data folder, for `doctor --verify` and `repair`.

use std::path::Path;

use tributary_schemas::{Error, ErrorKind, Result};
use tributary_store::damage::{self, Embedded, Found};
use tributary_store::data_folder::{DataFolder, running_server};

use crate::app;
use crate::config::Config;
use crate::print;

/// What to do about damage.
pub const HINT: &str =
    "`tributary repair` says what it would do about it, `tributary repair --apply` does it";

/// Holds the data folder, which must be there and not be served.
pub fn hold(config: &Config) -> Result<DataFolder> {
    let path = Path::new(&config.store.data_folder);
    if let Some(server) = running_server(path) {
        let message = format!(
            "{} is in use by the server at {} (process {})",
            path.display(),
            server.url,
            server.pid
        );
        return Err(Error::new(ErrorKind::Conflict, message)
            .with_hint("stop it first, or look at a restored backup instead"));
    }
    if !path.join("tributary.json").exists() {
        return Err(Error::new(
            ErrorKind::NotFound,
            format!("there is no data folder {}", path.display()),
        ));
    }
    DataFolder::open(path, config.store.access())
}

/// Looks at all of it, with a bar.
pub fn look(config: &Config, folder: &DataFolder) -> Result<Found> {
    let bar = print::bytes_bar(
        damage::bytes(Path::new(&config.store.data_folder)),
        "verifying",
    );
    let embedded = Embedded::from(&config.store);
    let found = damage::verify(folder, &embedded, &|bytes| bar.inc(bytes));
    bar.finish_and_clear();
    let mut found = found?;
    if config.store.blobs.url.is_empty() {
        let runtime = app::runtime()
            .map_err(|error| Error::new(ErrorKind::Internal, format!("{error:#}")))?;
        let spinner = print::spinner("looking for bodies that are gone");
        let lost = runtime.block_on(damage::lost(folder, &embedded, &found));
        spinner.finish_and_clear();
        found.lost = lost?;
    }
    Ok(found)
}
