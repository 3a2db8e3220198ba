//! Behaviour that every event log must show, as plain functions over `&dyn EventLog`.
