//! Drives the real `tributary` binary as users and scripts do: every test has a data folder of its own, results are read from stdout,
//! and the process is stopped, killed and started again in the middle. One file per topic.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod configuration;
mod crash;
mod harness;
mod knowledge_sets;
mod lifecycle;
mod shutdown;
