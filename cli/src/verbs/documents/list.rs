//! `tributary documents list`.

use anyhow::Result;
use jiff::Timestamp;
use serde_json::json;
use tributary_query_api::http::document_list::DocumentPage;
use tributary_query_api::http::document_summary::DocumentSummary;

use crate::args::ListDocuments;
use crate::client::{Client, segment};
use crate::names;
use crate::print::{self, Outcome};
use crate::times;

/// A version from here on is a time: the year 2001 in milliseconds.
const FIRST_TIME: i64 = 1_000_000_000_000;
/// Documents asked for at once.
const PAGE: usize = 500;

/// Prints what the server lists, page by page.
pub fn run(client: &Client, wanted: &ListDocuments) -> Result<Outcome> {
    let found = pages(client, wanted)?;
    print::result(wanted.output, &found_json(&found), || text(&found))?;
    Ok(Outcome::Done)
}

/// As many pages as are wanted, as one.
fn pages(client: &Client, wanted: &ListDocuments) -> Result<DocumentPage> {
    let conditions = conditions(wanted)?;
    let mut found = DocumentPage {
        next: wanted.after.clone(),
        ..DocumentPage::default()
    };
    loop {
        let room = wanted.limit.map_or(PAGE, |limit| {
            limit.saturating_sub(found.documents.len()).min(PAGE)
        });
        if room == 0 {
            break;
        }
        let after = found.next.as_deref().map(segment);
        let after = after.map_or_else(String::new, |after| format!("&after={after}"));
        let page: DocumentPage =
            client.get(&format!("/v1/documents?limit={room}{conditions}{after}"))?;
        found.documents.extend(page.documents);
        found = DocumentPage {
            documents: found.documents,
            ..page
        };
        if found.next.is_none() {
            break;
        }
    }
    Ok(found)
}

/// The conditions as parameters, each with `&` before it.
fn conditions(wanted: &ListDocuments) -> Result<String> {
    let now = Timestamp::now();
    let moment = |text: &Option<String>| -> Result<Option<String>> {
        let moment = text.as_deref().map(|text| times::moment(text, now));
        Ok(moment.transpose()?.map(|at_ms| at_ms.to_string()))
    };
    let parameters = [
        ("state", wanted.state.clone()),
        ("searchable", wanted.searchable.map(|yes| yes.to_string())),
        ("degraded", wanted.degraded.map(|yes| yes.to_string())),
        ("source", wanted.source.clone()),
        ("knowledge_set", wanted.set.clone()),
        ("tag", wanted.tag.clone()),
        ("title", wanted.title.clone()),
        ("path", wanted.path.clone()),
        ("path_prefix", wanted.path_prefix.clone()),
        ("text", wanted.text.clone()),
        ("changed_from_ms", moment(&wanted.changed_since)?),
        ("changed_before_ms", moment(&wanted.changed_before)?),
        ("sort", wanted.sort.clone()),
        ("descending", wanted.reverse.then(|| "true".to_owned())),
    ];
    let given = parameters
        .into_iter()
        .filter_map(|(name, value)| Some(format!("&{name}={}", segment(&value?))));
    Ok(given.collect())
}

fn found_json(found: &DocumentPage) -> serde_json::Value {
    let rows: Vec<_> = found.documents.iter().map(row_json).collect();
    json!({
        "documents": rows,
        "total": found.total,
        "searchable": found.searchable,
        "states": found.states,
        "next": found.next,
        "unmet_filter": found.unmet_filter,
    })
}

/// What scripts want of a list; `documents show` has the rest.
fn row_json(row: &DocumentSummary) -> serde_json::Value {
    let last = &row.last_attempt;
    json!({
        "document_id": last.document_id,
        "version": last.version,
        "state": last.state,
        "reason": last.reason,
        "degraded": degraded(row),
        "at_ms": last.at_ms,
        "searchable": row.searchable,
        "source": last.source,
        "source_path": last.source_path,
        "title": last.title,
        "tags": row.tags,
        "knowledge_sets": row.knowledge_sets,
        "chunks": last.chunks,
    })
}

fn text(found: &DocumentPage) -> String {
    if found.total == 0 {
        let unmet = found.unmet_filter.as_ref();
        return unmet.map_or_else(
            || "0 documents".to_owned(),
            |unmet| format!("0 documents: {}", unmet.describe()),
        );
    }
    let mut lines = vec![format!(
        "{:10}  {:12}  {:>6}  {:16}  document, with its id below",
        "searchable", "last attempt", "chunks", "changed (UTC)"
    )];
    lines.extend(found.documents.iter().map(row_text));
    lines.push(totals(found));
    lines.join("\n")
}

/// What was done in a lesser way than configured.
fn degraded(row: &DocumentSummary) -> &[String] {
    let lineage = row.last_attempt.lineage.as_ref();
    lineage.map_or(&[], |lineage| lineage.degraded.as_slice())
}

fn row_text(row: &DocumentSummary) -> String {
    let last = &row.last_attempt;
    let mut remarks: Vec<String> = last.reason.as_deref().map(with_time).into_iter().collect();
    if !degraded(row).is_empty() {
        remarks.push(format!("degraded: {}", degraded(row).join(", ")));
    }
    let reason = match remarks.as_slice() {
        [] => String::new(),
        remarks => format!("  ({})", print::shorten(&remarks.join("; "), 100)),
    };
    let searchable = if row.searchable.is_some() {
        "yes"
    } else {
        "no"
    };
    format!(
        "{searchable:10}  {:12}  {:>6}  {:16}  {}  {}\n{:50}  {}{reason}",
        last.state.as_str(),
        last.chunks,
        times::to_the_minute(last.at_ms),
        names::of_state(last),
        print::shorten(&last.title, 60),
        "",
        last.document_id,
    )
}

/// A version that is the time of its acceptance, as versions are unless the producer gives others, is
/// read as that time.
fn with_time(reason: &str) -> String {
    let Some((before, version)) = reason.rsplit_once(" since version ") else {
        return reason.to_owned();
    };
    match version.parse::<i64>() {
        Ok(at_ms) if at_ms >= FIRST_TIME => {
            format!("{before} since {}", times::to_the_minute(at_ms))
        }
        _ => reason.to_owned(),
    }
}

fn totals(found: &DocumentPage) -> String {
    let states: Vec<String> = found
        .states
        .iter()
        .map(|(state, documents)| format!("{documents} {state}"))
        .collect();
    let all = format!(
        "{}, {} searchable; last attempt: {}",
        print::count(
            usize::try_from(found.total).unwrap_or(usize::MAX),
            "document"
        ),
        found.searchable,
        states.join(", ")
    );
    match &found.next {
        None => all,
        Some(next) => format!(
            "{all}\n{} of them shown; the next: --after {next}",
            found.documents.len()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_is_a_time_is_read_as_one() {
        let unchanged = "content and settings unchanged since version";
        assert_eq!(
            with_time(&format!("{unchanged} 1795253578921")),
            "content and settings unchanged since 2026-11-21 09:32"
        );
        assert_eq!(
            with_time(&format!("{unchanged} 7")),
            format!("{unchanged} 7")
        );
        assert_eq!(with_time("no text"), "no text");
    }
}
