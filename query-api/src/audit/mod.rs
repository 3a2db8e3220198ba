//! The audit record: who called, what they asked the server to do and which documents they were
//! given, as a topic of the event log. The door (`http/rights.rs`) makes a [`Call`] of every request
//! that is not open to all; whoever answers notes in its [`Trail`] what it is about; the record is
//! written when the answer is over.

mod call;
mod config;
mod queue;
mod trail;

pub use call::Call;
pub use config::AuditConfig;
pub use queue::AuditLog;
pub use trail::{Trail, answers_with, asks, current, fails_with, within};
