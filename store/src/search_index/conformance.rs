//! Behaviour that every search index must show, as plain functions over `&dyn SearchIndex`.
