//! `tributary code search QUERY`.

use std::fmt::Write;

use anyhow::Result;
use tributary_retrieval::LIKELY;
use tributary_schemas::code_search::{
    CodeHit, CodeSearchRequest, CodeSearchResponse, GlossaryTerm,
};

use crate::args::{CodeSearch, Global, Service};
use crate::client::Client;
use crate::config::Config;
use crate::print::{self, Outcome};

const NO_CODE: &str = "no source code was found: it is that of sources whose profile has `chunker = \"code\"`, as the server \
                       was started with it (docs/code-search.md)\n";

const SHOWN_CHARACTERS: usize = 200;
/// Files that are named below the hits.
const SHOWN_FILES: usize = 5;

/// Asks, and prints the hits.
pub fn run(global: &Global, config: &Config, search: &CodeSearch) -> Result<Outcome> {
    let client = Client::connect(global, config, &[Service::Query])?;
    let response: CodeSearchResponse = client.post("/v1/code/search", &request(search))?;
    print::result(search.output, &response, || describe(&response))?;
    client.close()?;
    Ok(Outcome::Done)
}

fn request(search: &CodeSearch) -> CodeSearchRequest {
    CodeSearchRequest {
        query: search.query.clone(),
        filter: search.filter.filter(),
        top_k: search.top_k,
        files: search.files,
        rerank: None,
    }
}

/// The answer as text for people.
fn describe(response: &CodeSearchResponse) -> String {
    let mut text = unlikely(&response.hits).unwrap_or_default();
    for hit in &response.hits {
        describe_hit(hit, &mut text);
    }
    describe_files(response, &mut text);
    match &response.unmet_filter {
        Some(unmet) => {
            writeln!(text, "nothing found: {}", unmet.describe()).ok();
        }
        None if response.files.is_empty() => text.push_str(NO_CODE),
        None => {}
    }
    let names = |term: &GlossaryTerm| format!("{} ({})", term.term, term.names.join(", "));
    let looked_up: Vec<String> = response.glossary.iter().map(names).collect();
    if !looked_up.is_empty() {
        writeln!(text, "also by other names: {}", looked_up.join(", ")).ok();
    }
    if !response.degraded.is_empty() {
        writeln!(text, "degraded: {}", response.degraded.join(", ")).ok();
    }
    writeln!(
        text,
        "{} in {} in {:.1} ms",
        print::count(response.hits.len(), "hit"),
        print::count(response.files.len(), "file"),
        response.took_ms
    )
    .ok();
    text
}

/// The first line is a place as compilers and grep write it.
fn describe_hit(hit: &CodeHit, text: &mut String) {
    let place = format!("{}:{}-{}", hit.source_path, hit.start_line, hit.end_line);
    let worth = match hit.relevance {
        Some(relevance) => format!("relevance {relevance:.2}"),
        None => format!("score {:.3}", hit.score),
    };
    writeln!(text, "{place}  {}  {worth}", hit.function).ok();
    writeln!(text, "    {}\n", shortened(&hit.description)).ok();
}

/// Said first where no hit is likely to be what was asked for.
fn unlikely(hits: &[CodeHit]) -> Option<String> {
    let known = hits.iter().filter_map(|hit| hit.relevance);
    let best = known.max_by(f32::total_cmp)?;
    (best < LIKELY).then(|| {
        format!("nothing that is likely relevant was found; the nearest has a relevance of {best:.2}\n\n")
    })
}

fn describe_files(response: &CodeSearchResponse, text: &mut String) {
    if response.files.is_empty() {
        return;
    }
    text.push_str("files:\n");
    for file in response.files.iter().take(SHOWN_FILES) {
        let (path, summary) = (&file.source_path, shortened(&file.summary));
        writeln!(text, "  {:.3} {path}  {summary}", file.score).ok();
    }
    if let more @ 1.. = response.files.len().saturating_sub(SHOWN_FILES) {
        writeln!(text, "  {more} more, with --format json").ok();
    }
}

/// In one line, about as long as two of a terminal.
fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(hits: usize) -> CodeSearchResponse {
        let hit = serde_json::json!({"rank": 1, "score": 0.91, "chunk_id": "0".repeat(32),
            "document_id": "d", "version": 1, "source": "kernel-code", "source_path": "mm/scan.c",
            "start_line": 10, "end_line": 42, "function": "wake_scanner", "definition": "function",
            "language": "c", "signature": "void wake_scanner(void)", "text": "…",
            "description": format!("Wakes\nthe scanner. {}", "长".repeat(400)),
            "described_by": "comment", "calls": [], "callers": [], "url": "", "scores": {}});
        let file = |number: usize| {
            serde_json::json!({"rank": number, "score": 1.0, "document_id": "d",
                "source": "kernel-code", "source_path": format!("mm/{number}.c"), "language": "c",
                "part": "mm", "summary": "Scans pages."})
        };
        let files: Vec<_> = (1..=7 * hits).map(file).collect();
        let answer = serde_json::json!({"query": "q", "took_ms": 1.0, "degraded": ["embedder"],
            "stages": {}, "files": files, "hits": vec![hit; hits]});
        serde_json::from_value(answer).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_hit_begins_with_its_place_and_says_what_it_does() {
        let text = describe(&answer(1));
        let first = "mm/scan.c:10-42  wake_scanner  score 0.910\n    Wakes the scanner. 长";
        assert!(text.starts_with(first), "{text}");
        assert!(
            text.contains("…\n\nfiles:\n  1.000 mm/1.c  Scans pages.\n"),
            "{text}"
        );
        assert!(text.contains("mm/5.c  Scans pages.\n  2 more"), "{text}");
        assert!(
            text.contains("degraded: embedder\n1 hit in 7 files in"),
            "{text}"
        );
    }

    #[test]
    fn an_answer_that_is_hardly_relevant_says_so_first() {
        let mut doubtful = answer(1);
        doubtful.hits[0].relevance = Some(0.04);
        let text = describe(&doubtful);
        let first =
            "nothing that is likely relevant was found; the nearest has a relevance of 0.04";
        assert!(text.starts_with(first), "{text}");
        assert!(text.contains("wake_scanner  relevance 0.04\n"), "{text}");
        doubtful.hits[0].relevance = Some(0.4);
        assert!(!describe(&doubtful).contains("nothing that is likely"));
    }

    #[test]
    fn an_answer_without_code_says_so() {
        let text = describe(&answer(0));
        assert!(text.starts_with("no source code was found: "), "{text}");
    }
}
