//! Chat models: what every one of them must do (`conformance`), what servers do wrong (`faults`),
//! calls of tools (`tools`), and what a role adds to a call (`roles`). The real server is the one that `TRIBUTARY_TEST_CHAT`
//! names (`deploy/services/chat`).
#![allow(clippy::unwrap_used, clippy::print_stderr)]

#[path = "../common/mod.rs"]
mod common;
mod conformance;
mod faults;
mod roles;
mod server;
mod setup;
mod tools;
