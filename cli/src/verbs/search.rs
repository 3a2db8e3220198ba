//! `tributary search QUERY`.

use std::fmt::Write;

use anyhow::Result;
use tributary_schemas::Filter;
use tributary_schemas::search::{Hit, SearchRequest, SearchResponse};

use crate::args::{Global, Search, Service};
use crate::client::Client;
use crate::config::Config;
use crate::print::{self, Outcome};

const SHOWN_CHARACTERS: usize = 280;

/// Asks, and prints the hits.
pub fn run(global: &Global, config: &Config, search: &Search) -> Result<Outcome> {
    let client = Client::connect(global, config, &[Service::Query])?;
    let response: SearchResponse = client.post("/v1/search", &request(search))?;
    print::result(search.output, &response, || describe(&response))?;
    client.close()?;
    Ok(Outcome::Done)
}

fn request(search: &Search) -> SearchRequest {
    let given = |values: &[String]| (!values.is_empty()).then(|| values.to_vec());
    SearchRequest {
        query: search.query.clone(),
        filter: Filter {
            knowledge_sets: given(&search.sets),
            tags: given(&search.tags),
            sources: given(&search.sources),
            ..Filter::default()
        },
        top_k: search.top_k,
        strategy: Default::default(),
        minimum_score: None,
        rerank: None,
        profile: Default::default(),
        parents: false,
        neighbours: 0,
        explain: search.explain,
    }
}

/// The answer as text for people.
pub fn describe(response: &SearchResponse) -> String {
    let mut text = String::new();
    let tiers: Vec<String> = response.tiers.iter().map(|(name, tier)| format!("{name} {} in {:.1} ms", tier.candidates, tier.ms)).collect();
    for hit in &response.hits {
        describe_hit(hit, &mut text);
    }
    if response.hits.is_empty() {
        text.push_str("nothing found\n");
    }
    if !response.degraded.is_empty() {
        writeln!(text, "degraded: {}", response.degraded.join(", ")).ok();
    }
    writeln!(text, "{} hits in {:.1} ms ({})", response.hits.len(), response.took_ms, tiers.join(", ")).ok();
    text
}

fn describe_hit(hit: &Hit, text: &mut String) {
    let mut place = vec![hit.title.as_str()];
    place.extend(hit.section_path.iter().map(String::as_str).filter(|title| *title != hit.title));
    let body = hit.text.split_whitespace().collect::<Vec<_>>().join(" ");
    writeln!(text, "{:2}. {:.3}  {}", hit.rank, hit.score, place.join(" › ")).ok();
    writeln!(text, "     {} {}", hit.source, hit.source_path).ok();
    writeln!(text, "     {}\n", print::shorten(&body, SHOWN_CHARACTERS)).ok();
}
