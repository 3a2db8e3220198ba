//! `tributary search QUERY`.

use std::fmt::Write;

use anyhow::Result;
use serde_json::Value;
use tributary_schemas::search::{Hit, SearchRequest, SearchResponse};
use tributary_schemas::{ChunkKind, Filter};

use tributary_retrieval::LIKELY;

use crate::args::{Global, Search, Service, given};
use crate::client::Client;
use crate::config::Config;
use crate::names;
use crate::print::{self, Outcome};

const SHOWN_CHARACTERS: usize = 240;
/// Members of a family that are named below the one that answers.
const SHOWN_MEMBERS: usize = 5;
/// Hits from which one does not ask for more.
const ENOUGH_HITS: usize = 10;
/// Snippets are looked for in this much of a chunk.
const MOST_SEARCHED_CHARACTERS: usize = 20_000;

/// Asks, and prints the hits.
pub fn run(global: &Global, config: &Config, search: &Search) -> Result<Outcome> {
    let client = Client::connect(global, config, &[Service::Query])?;
    let request = request(search)?;
    let response: SearchResponse = client.post("/v1/search", &request)?;
    let is_filtered = !request.filter.is_unrestricted();
    print::result(search.output, &response, || {
        describe(&response, is_filtered)
            + looked_little(&response.hits, request.top_k.unwrap_or(ENOUGH_HITS))
    })?;
    client.close()?;
    Ok(Outcome::Done)
}

/// Names of kinds, which the command line has checked.
fn kinds(named: &[String]) -> Result<Option<Vec<ChunkKind>>> {
    let named: Vec<Value> = named.iter().map(|kind| kind.as_str().into()).collect();
    let kinds: Vec<ChunkKind> = serde_json::from_value(named.into())?;
    Ok((!kinds.is_empty()).then_some(kinds))
}

fn request(search: &Search) -> Result<SearchRequest> {
    Ok(SearchRequest {
        query: search.query.clone(),
        filter: Filter {
            document_ids: given(&search.documents),
            kinds: kinds(&search.kinds)?,
            ..search.filter.filter()
        },
        top_k: search.top_k,
        per_document: search.per_document,
        minimum_relevance: search.minimum_relevance,
        user: search.user.clone(),
        explain: search.explain,
        unfold: search.unfold,
        ..SearchRequest::default()
    })
}

/// The answer as text for people; `is_filtered` says that the question was asked under a filter.
pub fn describe(response: &SearchResponse, is_filtered: bool) -> String {
    let mut text = String::new();
    text.extend(doubt(&response.hits));
    let tiers: Vec<String> = response
        .tiers
        .iter()
        .map(|(name, tier)| format!("{name} {} in {:.1} ms", tier.candidates, tier.ms))
        .collect();
    let words = query_words(&response.query);
    for hit in &response.hits {
        describe_hit(hit, &words, &mut text);
    }
    describe_gaps(response, is_filtered, &mut text);
    writeln!(
        text,
        "{} in {:.1} ms ({})",
        print::count(response.hits.len(), "hit"),
        response.took_ms,
        tiers.join(", ")
    )
    .ok();
    text
}

/// What was not found, and what was done in a lesser way.
fn describe_gaps(response: &SearchResponse, is_filtered: bool, text: &mut String) {
    match &response.unmet_filter {
        Some(unmet) => {
            writeln!(text, "nothing found: {}", unmet.describe()).ok();
        }
        None if response.hits.is_empty() => text.push_str("nothing found\n"),
        None => {}
    }
    if !response.unmatched_terms.is_empty() {
        let terms = response.unmatched_terms.join(", ");
        let place = match is_filtered {
            true => "not found under the filter",
            false => "found nowhere",
        };
        writeln!(text, "{place}: {terms}").ok();
    }
    if !response.degraded.is_empty() {
        writeln!(text, "degraded: {}", response.degraded.join(", ")).ok();
    }
}

/// Said before hits of which none is likely to be an answer.
fn doubt(hits: &[Hit]) -> Option<String> {
    let best = hits.iter().filter_map(|hit| hit.relevance);
    let best = best.max_by(f32::total_cmp)?;
    (best < LIKELY).then(|| {
        format!("nothing that is likely relevant was found; the nearest has a relevance of {best:.2}\n\n")
    })
}

/// Said after few hits that are hardly answers: they are ranked by more than their relevance.
fn looked_little(hits: &[Hit], top_k: usize) -> &'static str {
    match hits.len() == top_k && top_k < ENOUGH_HITS && doubt(hits).is_some() {
        true => "these are the nearest alone: `-k 10` looks further\n",
        false => "",
    }
}

fn describe_hit(hit: &Hit, words: &[String], text: &mut String) {
    let place = place(hit);
    let body = readable(&hit.text);
    let worth = match hit.relevance {
        Some(relevance) => format!("relevance {relevance:.2}"),
        None => format!("score {:.3}", hit.score),
    };
    writeln!(text, "{:2}. {place}  {worth}", hit.rank).ok();
    let family = match hit.family.len() {
        0 => String::new(),
        1 => "  (+1 near-duplicate)".to_owned(),
        more => format!("  (+{more} near-duplicates)"),
    };
    let name = names::of(&hit.source, &hit.source_path, &hit.document_id);
    writeln!(text, "     {name}{family}").ok();
    describe_family(hit, text);
    let what = match hit.kind {
        ChunkKind::Summary => "(summary of the section) ",
        _ => "",
    };
    writeln!(text, "     {what}{}", snippet(&body, words)).ok();
    if let more @ 1.. = hit.more_in_document {
        let passages = print::count(more, "more passage");
        let name = names::of(&hit.source, &hit.source_path, &hit.document_id);
        writeln!(text, "     {passages} of it with --document {name}").ok();
    }
    text.push('\n');
}

/// The title of a document and of the sections that the hit is in.
fn place(hit: &Hit) -> String {
    let mut place = vec![hit.title.as_str()];
    place.extend(
        hit.section_path
            .iter()
            .map(String::as_str)
            .filter(|title| *title != hit.title),
    );
    place.join(" › ")
}

/// Who stands behind a hit, each on a line.
fn describe_family(hit: &Hit, text: &mut String) {
    for member in hit.family.iter().take(SHOWN_MEMBERS) {
        let title = if member.title == hit.title {
            String::new()
        } else {
            format!(" {}", member.title)
        };
        let name = names::of(&member.source, &member.source_path, &member.document_id);
        writeln!(text, "       = {:.2} {name}{title}", member.similarity).ok();
    }
    if let more @ 1.. = hit.family.len().saturating_sub(SHOWN_MEMBERS) {
        writeln!(text, "       = {more} more, with --unfold or --format json").ok();
    }
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

/// A text in one line, without what Markdown needs for pictures and the heads of tables.
fn readable(text: &str) -> String {
    let is_rule = |line: &str| {
        let mut signs = line.chars().filter(|sign| !sign.is_whitespace());
        line.contains("--") && signs.all(|sign| matches!(sign, '|' | '-' | ':'))
    };
    let mut out: Vec<&str> = Vec::new();
    for line in text.lines().filter(|line| !is_rule(line)) {
        let mut rest = line;
        while let Some((before, after)) = rest.split_once("![")
            && let Some((_, behind)) = after.split_once("](")
            && let Some((_, behind)) = behind.split_once(')')
        {
            out.extend(before.split_whitespace());
            rest = behind;
        }
        out.extend(rest.split_whitespace());
    }
    out.join(" ")
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
#[allow(clippy::indexing_slicing)]
mod tests {
    use tributary_schemas::unmet::UnmetFilter;

    use super::*;

    /// An answer with one hit that has so many near-duplicates.
    fn answer(members: usize) -> SearchResponse {
        let member = |number: usize| {
            serde_json::json!({"document_id": number.to_string(), "version": 1, "source": "portal",
                "source_path": format!("{number}.md"), "title": "Tilt", "similarity": 0.93})
        };
        let hit = serde_json::json!({"rank": 1, "score": 0.9, "relevance": 0.81,
            "chunk_id": "0".repeat(32), "document_id": "d", "version": 2, "source": "wiki",
            "source_path": "tilt.md", "title": "Tilt", "section_path": [], "text": "6 degrees",
            "url": "", "pages": [], "kind": "section", "tags": [], "knowledge_sets": [],
            "images": [], "scores": {}, "family": (0..members).map(member).collect::<Vec<_>>()});
        let answer = serde_json::json!({"query": "tilt", "took_ms": 1.0, "degraded": [],
            "unmatched_terms": ["0x80070005"], "tiers": {}, "hits": [hit]});
        serde_json::from_value(answer).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn an_answer_names_who_stands_behind_a_hit_and_what_was_found_nowhere() {
        let text = describe(&answer(7), false);
        assert!(text.starts_with(" 1. Tilt  relevance 0.81\n"), "{text}");
        assert!(
            text.contains("     wiki/tilt.md  (+7 near-duplicates)\n       = 0.93 portal/0.md\n"),
            "{text}"
        );
        assert!(text.contains("portal/4.md\n       = 2 more"), "{text}");
        assert!(text.contains("found nowhere: 0x80070005\n"), "{text}");
        assert!(text.contains("\n1 hit in 1.0 ms"), "{text}");
        assert!(!describe(&answer(0), false).contains("       ="));
    }

    #[test]
    fn an_answer_that_is_hardly_one_and_a_filter_that_nothing_meets_are_told() {
        let mut doubtful = answer(0);
        doubtful.hits[0].relevance = Some(0.04);
        let text = describe(&doubtful, true);
        assert!(
            text.starts_with("nothing that is likely relevant was found; the nearest has a relevance of 0.04\n\n 1. "),
            "{text}"
        );
        assert!(
            text.contains("not found under the filter: 0x80070005\n"),
            "{text}"
        );
        assert!(looked_little(&doubtful.hits, 1).contains("-k 10"));
        assert_eq!(looked_little(&doubtful.hits, 2), "", "there are no others");
        let mut unmet = answer(0);
        unmet.hits.clear();
        unmet.unmatched_terms.clear();
        unmet.unmet_filter = Some(UnmetFilter::default());
        let text = describe(&unmet, true);
        assert!(
            text.starts_with("nothing found: no document meets all conditions"),
            "{text}"
        );
    }

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
        let text = "![](image:0) Pumps ![a sign](image:1)!\n\n| Pump | bar |\n| --- | :-: |\n| P-1 | 5 -- 6 |\na [link](x) ![";
        assert_eq!(
            readable(text),
            "Pumps ! | Pump | bar | | P-1 | 5 -- 6 | a [link](x) !["
        );
    }
}
