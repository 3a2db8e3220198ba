//! The embedded index.
