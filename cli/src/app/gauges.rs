//! Gauges read at the moment of a scrape: documents by state, free room on the disk, damage. They
//! are derived from what is kept, so they hold over restarts, as counters do not.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{IntGauge, IntGaugeVec, Opts, Registry};
use tributary_schemas::State;
use tributary_store::damage::Known;
use tributary_store::data_folder::free_bytes;
use tributary_store::manifest::table::DocumentTable;

/// `accepted = indexed + skipped + deleted + dead + in flight`, counted in distinct documents by
/// their newest version.
struct KeptGauges {
    table: Arc<DocumentTable>,
    data_folder: PathBuf,
    states: IntGaugeVec,
    accepted: IntGauge,
    in_flight: IntGauge,
    free_bytes: IntGauge,
    damage: Known,
    damaged: IntGaugeVec,
}

/// Registers them.
pub fn register(
    registry: &Registry,
    table: Arc<DocumentTable>,
    data_folder: PathBuf,
    damage: Known,
) -> Result<()> {
    let gauge = |name: &str, help: &str| IntGauge::new(name, help).context("cannot make metrics");
    let states = Opts::new(
        "tributary_documents",
        "Documents by the state of their newest version.",
    );
    let damaged = Opts::new(
        "tributary_damaged",
        "Places where data at rest was found damaged since the start, and passed over.",
    );
    let gauges = KeptGauges {
        damage,
        damaged: IntGaugeVec::new(damaged, &["part"]).context("cannot make metrics")?,
        table,
        data_folder,
        states: IntGaugeVec::new(states, &["state"]).context("cannot make metrics")?,
        accepted: gauge(
            "tributary_documents_accepted",
            "Documents that were ever accepted.",
        )?,
        in_flight: gauge(
            "tributary_documents_in_flight",
            "Documents whose newest version is on its way.",
        )?,
        free_bytes: gauge(
            "tributary_data_folder_free_bytes",
            "Bytes that may still be written on the disk of the data folder.",
        )?,
    };
    registry
        .register(Box::new(gauges))
        .context("cannot register metrics")
}

impl KeptGauges {
    fn refresh(&self) {
        let (accepted, states) = self.table.counts();
        let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        self.accepted.set(count(accepted));
        for (state, documents) in State::ALL.into_iter().zip(states) {
            self.states
                .with_label_values(&[state.as_str()])
                .set(count(documents));
        }
        let in_flight = State::ALL
            .into_iter()
            .zip(states)
            .filter(|(state, _)| !state.is_final())
            .map(|(_, documents)| documents)
            .sum();
        self.in_flight.set(count(in_flight));
        for (part, places) in [("log", self.damage.log()), ("index", self.damage.index())] {
            self.damaged.with_label_values(&[part]).set(count(places));
        }
        match free_bytes(&self.data_folder) {
            Ok(free) => self.free_bytes.set(count(free)),
            Err(error) => tracing::warn!(%error, "the free room of the disk is not known"),
        }
    }

    fn all(&self) -> [&dyn Collector; 5] {
        [
            &self.states,
            &self.accepted,
            &self.in_flight,
            &self.free_bytes,
            &self.damaged,
        ]
    }
}

impl Collector for KeptGauges {
    fn desc(&self) -> Vec<&Desc> {
        self.all().into_iter().flat_map(Collector::desc).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.refresh();
        self.all()
            .into_iter()
            .flat_map(Collector::collect)
            .collect()
    }
}
