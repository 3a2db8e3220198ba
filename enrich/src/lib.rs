//! Enrichment: clean documents become tagged chunks (chunk stage), tagged chunks become embedded chunks (embed stage).
//! The worker loops of the services `chunk` and `embed` run the two stages; the command line also cuts files with [`chunkers::chunk`].

pub mod chunkers;
pub mod config;
pub mod markdown;
pub mod plain;
pub mod sentences;
pub mod summarize;

pub use config::{ChunkStageConfig, ChunkerConfig, Config, EmbedConfig};
pub use tributary_schemas::{Error, Result};
