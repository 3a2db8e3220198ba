//! Drives the real `tributary` binary as users and scripts do: every test has a data folder of its
//! own, results are read from stdout, and the process is stopped, killed and started again in the
//! middle. One file per topic.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod asking;
mod asking_by_profile;
mod backup;
mod bad_input;
mod changed_settings;
mod chat;
mod chat_server;
mod chunk_steps;
mod configuration;
mod conversations;
mod crash;
mod damage;
mod dead_letters;
mod descriptions;
mod diagnosis;
mod documents;
mod editions;
mod environment;
mod evaluation;
mod fake_elasticsearch;
mod harness;
mod injection;
mod isolation;
mod judging;
mod kafka_rights;
mod knowledge_sets;
mod lexicon;
mod lifecycle;
mod missing;
mod near_duplicates;
mod network;
mod obedient_model;
mod operations;
mod originals;
mod pictures;
mod pipelines;
mod protocols;
mod publishing;
mod queries;
mod readme;
mod recipes;
mod recovery;
mod reindex;
mod reports;
mod rights;
mod shutdown;
#[cfg(unix)]
mod slides;
#[path = "../../../ingest/tests/step_server/mod.rs"]
mod step_server;
mod storage;
mod summaries;
mod tables;
mod training;
mod tuning;
mod usage;
mod versions;
