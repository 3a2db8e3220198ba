//! Scenario files: publish these, expect these states and hits. Every file of this folder is run on
//! all four combinations of embedded and real log and index; nothing but the configuration tells
//! them apart. `TRIBUTARY_TEST_KAFKA=host:port` and `TRIBUTARY_TEST_ELASTICSEARCH=http://host:port` name the servers. What a file may say: `scenario.rs`.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

#[allow(dead_code)]
#[path = "../end_to_end/harness.rs"]
mod harness;
mod lost_index;
mod parity;
mod producer;
mod rights;
mod runner;
mod scenario;
mod separate;
#[allow(dead_code)]
#[path = "../chaos/servers.rs"]
mod servers;
mod stores;

use crate::stores::Stores;

/// All scenarios on one pair of stores.
fn run_all(stores: Option<Stores>) {
    if let Some(stores) = stores {
        runner::run_all(&stores);
    }
}

#[test]
fn scenarios_hold_on_embedded_stores() {
    run_all(Some(Stores::embedded()));
}

#[test]
fn scenarios_hold_on_kafka_and_elasticsearch() {
    run_all(Stores::real());
}

#[test]
fn scenarios_hold_on_kafka_with_an_embedded_index() {
    run_all(Stores::kafka_alone());
}

#[test]
fn scenarios_hold_on_an_embedded_log_with_elasticsearch() {
    run_all(Stores::elasticsearch_alone());
}
