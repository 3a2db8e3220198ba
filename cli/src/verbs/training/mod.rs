//! `tributary training generate|clean|export`: training data for an embedding model from the
//! documents of the knowledge base.

mod clean;
mod export;
mod generate;
mod passages;

use anyhow::Result;
use tributary_eval::training::Search;
use tributary_schemas::search::{SearchRequest, SearchResponse};

use crate::args::{Global, Training};
use crate::client::Client;
use crate::config::Config;
use crate::print::Outcome;

/// Does it.
pub fn run(global: &Global, config: &Config, verb: &Training) -> Result<Outcome> {
    match verb {
        Training::Generate(generate) => generate::run(global, config, generate),
        Training::Clean(clean) => clean::run(global, config, clean),
        Training::Export(export) => export::run(global, config, export),
    }
}

/// The index behind a server; none where it is not to be asked.
struct Index {
    client: Option<Client>,
}

impl Index {
    fn close(self) -> Result<()> {
        self.client.map_or(Ok(()), Client::close)
    }
}

impl Search for Index {
    fn search(&self, question: &str, top_k: usize, unfold: bool) -> Result<SearchResponse> {
        let Some(client) = &self.client else {
            anyhow::bail!("the index is not asked");
        };
        let request = SearchRequest {
            query: question.to_owned(),
            top_k: Some(top_k),
            unfold,
            ..SearchRequest::default()
        };
        client.post("/v1/search", &request)
    }
}
