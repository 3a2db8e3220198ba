//! The embedded event log.
