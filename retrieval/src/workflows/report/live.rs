//! Pages of the web beside the passages of the documents, where a request wants them.

use tributary_schemas::report::Outline;

use super::Found;
use crate::live::{self, LiveResult};
use crate::retriever::degrade;
use crate::workflows::finding;
use crate::workflows::{Asked, Asker};

/// What is named where pages were wanted and no service gave any answer.
const LACKING: &str = "live";

/// What a live search found.
#[derive(Default)]
pub struct Live {
    results: Vec<LiveResult>,
    service: &'static str,
    is_lacking: bool,
}

/// Pages for the question and the first question of each section; nobody is asked unless the request
/// wants it and a service is configured.
pub async fn search(
    asker: &Asker,
    asked: &Asked,
    question: &str,
    outline: Option<&Outline>,
) -> Live {
    if asked.request.live != Some(true) {
        return Live::default();
    }
    let lacking = Live {
        is_lacking: true,
        ..Live::default()
    };
    let Some(service) = &asker.live else {
        return lacking;
    };
    let sections = outline.iter().flat_map(|outline| &outline.sections);
    let firsts = sections.filter_map(|section| section.questions.first().cloned());
    let queries: Vec<String> = std::iter::once(question.to_owned()).chain(firsts).collect();
    let service = service.as_ref();
    match live::search_all(service, &queries, &asker.config().live).await {
        Some(results) => Live {
            results,
            service: service.name(),
            is_lacking: false,
        },
        None => lacking,
    }
}

/// Adds the pages behind the passages, or in their place where those do not answer.
pub fn add(live: Live, found: &mut Found) {
    if live.is_lacking {
        degrade(&mut found.degraded, LACKING);
    }
    if live.results.is_empty() {
        return;
    }
    if !finding::is_answerable(found) {
        found.sources.clear();
        found.hits.clear();
    }
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
    let found_at = now.to_string();
    for result in live.results {
        let number = u32::try_from(found.sources.len() + 1).unwrap_or(u32::MAX);
        let source = live::source(number, live.service, &found_at, result);
        found.sources.push(source);
    }
}
