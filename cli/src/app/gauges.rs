//! Gauges read at the moment of a scrape: documents by state, free room on the disk, damage. They
//! are derived from what is kept, so they hold over restarts, as counters do not.

use std::path::PathBuf;
use std::sync::Arc;

use tributary_schemas::{Result, State};
use tributary_store::damage::Known;
use tributary_store::data_folder::free_bytes;
use tributary_store::manifest::table::DocumentTable;
use tributary_store::metrics::{Gauge, Gauges, MetricRegistry};

/// `accepted = indexed + skipped + deleted + dead + in flight`, counted in distinct documents by
/// their newest version.
struct KeptGauges {
    table: Arc<DocumentTable>,
    data_folder: PathBuf,
    states: Gauges,
    accepted: Gauge,
    searchable: Gauge,
    in_flight: Gauge,
    free_bytes: Gauge,
    damage: Known,
    damaged: Gauges,
}

/// Registers them.
pub fn register(
    registry: &MetricRegistry,
    table: Arc<DocumentTable>,
    data_folder: PathBuf,
    damage: Known,
) -> Result<()> {
    let gauges = KeptGauges {
        damage,
        damaged: registry.gauges(
            "tributary_damaged",
            "Places where data at rest was found damaged since the start, and passed over.",
            &["part"],
        )?,
        table,
        data_folder,
        states: registry.gauges(
            "tributary_documents",
            "Documents by the state of their newest version.",
            &["state"],
        )?,
        accepted: registry.gauge(
            "tributary_documents_accepted",
            "Documents that were ever accepted.",
        )?,
        searchable: registry.gauge(
            "tributary_documents_searchable",
            "Documents of which a version can be found, whatever became of the newest one.",
        )?,
        in_flight: registry.gauge(
            "tributary_documents_in_flight",
            "Documents whose newest version is on its way.",
        )?,
        free_bytes: registry.gauge(
            "tributary_data_folder_free_bytes",
            "Bytes that may still be written on the disk of the data folder.",
        )?,
    };
    registry.before_each_text(move || gauges.refresh());
    Ok(())
}

impl KeptGauges {
    fn refresh(&self) {
        let counts = self.table.counts();
        let states = counts.states;
        let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        self.accepted.set(count(counts.documents));
        self.searchable.set(count(counts.searchable));
        for (state, documents) in State::ALL.into_iter().zip(states) {
            self.states.with(&[state.as_str()]).set(count(documents));
        }
        let in_flight = State::ALL
            .into_iter()
            .zip(states)
            .filter(|(state, _)| !state.is_final())
            .map(|(_, documents)| documents)
            .sum();
        self.in_flight.set(count(in_flight));
        for (part, places) in [("log", self.damage.log()), ("index", self.damage.index())] {
            self.damaged.with(&[part]).set(count(places));
        }
        match free_bytes(&self.data_folder) {
            Ok(free) => _ = self.free_bytes.set(count(free)),
            Err(error) => tracing::warn!(%error, "the free room of the disk is not known"),
        }
    }
}
