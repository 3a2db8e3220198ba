//! `tributary search QUERY`.

use std::fmt::Write;

use anyhow::Result;
use tributary_schemas::Filter;
use tributary_schemas::search::{Hit, SearchRequest, SearchResponse};

use crate::args::{Global, Search, Service};
use crate::client::Client;
use crate::config::Config;
use crate::print::{self, Outcome};

const SHOWN_CHARACTERS: usize = 240;
/// Snippets are looked for in this much of a chunk.
const MOST_SEARCHED_CHARACTERS: usize = 20_000;

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
        unfold: search.unfold,
    }
}

/// The answer as text for people.
pub fn describe(response: &SearchResponse) -> String {
    let mut text = String::new();
    let tiers: Vec<String> = response
        .tiers
        .iter()
        .map(|(name, tier)| format!("{name} {} in {:.1} ms", tier.candidates, tier.ms))
        .collect();
    let words = query_words(&response.query);
    for hit in &response.hits {
        describe_hit(hit, &words, &mut text);
    }
    if response.hits.is_empty() {
        text.push_str("nothing found\n");
    }
    if !response.degraded.is_empty() {
        writeln!(text, "degraded: {}", response.degraded.join(", ")).ok();
    }
    writeln!(
        text,
        "{} hits in {:.1} ms ({})",
        response.hits.len(),
        response.took_ms,
        tiers.join(", ")
    )
    .ok();
    text
}

fn describe_hit(hit: &Hit, words: &[String], text: &mut String) {
    let mut place = vec![hit.title.as_str()];
    place.extend(
        hit.section_path
            .iter()
            .map(String::as_str)
            .filter(|title| *title != hit.title),
    );
    let body = hit.text.split_whitespace().collect::<Vec<_>>().join(" ");
    writeln!(
        text,
        "{:2}. {:.3}  {}",
        hit.rank,
        hit.score,
        place.join(" › ")
    )
    .ok();
    let family = match hit.family.len() {
        0 => String::new(),
        1 => "  (+1 near-duplicate)".to_owned(),
        more => format!("  (+{more} near-duplicates)"),
    };
    writeln!(text, "     {} {}{family}", hit.source, hit.source_path).ok();
    writeln!(text, "     {}\n", snippet(&body, words)).ok();
}

/// What to look for in a hit: words, and pairs of characters where words have no spaces between
/// them.
fn query_words(query: &str) -> Vec<String> {
    let runs = query
        .split(|character: char| !character.is_alphanumeric())
        .filter(|run| !run.is_empty());
    runs.flat_map(|run| {
        let characters: Vec<char> = run.to_lowercase().chars().collect();
        match run.is_ascii() {
            true => vec![characters.into_iter().collect()],
            false => characters
                .windows(2)
                .map(|pair| pair.iter().collect())
                .collect(),
        }
    })
    .filter(|word: &String| word.chars().count() > 1)
    .collect()
}

/// The part of a text with the most of the words, about as long as two lines.
fn snippet(text: &str, words: &[String]) -> String {
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let window = |from: usize| {
        let start = starts.get(from).copied().unwrap_or(0);
        let end = starts
            .get(from + SHOWN_CHARACTERS)
            .copied()
            .unwrap_or(text.len());
        text.get(start..end).unwrap_or_default()
    };
    let found = |from: usize| {
        let lower = window(from).to_lowercase();
        words
            .iter()
            .filter(|word| lower.contains(word.as_str()))
            .count()
    };
    let step = SHOWN_CHARACTERS / 4;
    let candidates = (0..starts.len().min(MOST_SEARCHED_CHARACTERS)).step_by(step);
    // The first of equals: max_by_key would take the last.
    let best = candidates
        .rev()
        .max_by_key(|from| found(*from))
        .unwrap_or(0);
    let before = if best == 0 { "" } else { "…" };
    let after = if best + SHOWN_CHARACTERS < starts.len() {
        "…"
    } else {
        ""
    };
    format!("{before}{}{after}", window(best))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_shows_where_the_words_are() {
        let text = format!(
            "{}信号强度的阈值是二十。{}",
            "前言。".repeat(300),
            "后记。".repeat(300)
        );
        let shown = snippet(&text, &query_words("信号强度是多少"));
        assert!(shown.contains("信号强度的阈值"), "{shown}");
        assert!(shown.starts_with('…') && shown.ends_with('…'));
        assert_eq!(snippet("short text", &query_words("absent")), "short text");
        assert_eq!(snippet("", &[]), "");
    }
}
