//! `tributary documents show`: all that is known of one document.

use anyhow::Result;
use serde_json::Value;
use tributary_query_api::http::document_summary::Searchable;
use tributary_query_api::http::documents::DocumentDetail;
use tributary_schemas::search::{FamilyMember, Passage};
use tributary_schemas::{Attributes, DocumentState, Lineage};

use super::path_of;
use crate::args::Output;
use crate::client::{Client, require};
use crate::names;
use crate::print::{self, Outcome};
use crate::times;

/// Width of the names on the left.
const NAMES: usize = 15;
/// Characters of a passage that are shown.
const PASSAGE_CHARACTERS: usize = 100;
/// Pictures that are named.
const PICTURES: usize = 10;

/// Prints one document, called by its id or by `source/path`.
pub fn run(client: &Client, name: &str, output: Output) -> Result<Outcome> {
    require(name, "the document id")?;
    let detail: Value = client.get(&format!("{}?passages=true", path_of(name)))?;
    let read: DocumentDetail = serde_json::from_value(detail.clone())?;
    print::result(output, &detail, || text(&read))?;
    Ok(Outcome::Done)
}

fn text(detail: &DocumentDetail) -> String {
    let summary = &detail.summary;
    let last = &summary.last_attempt;
    let mut page = Page::default();
    page.lines.push(match last.title.is_empty() {
        true => names::of_state(last),
        false => last.title.clone(),
    });
    page.line("document", &names::of_state(last));
    page.line("id", &last.document_id);
    page.line("searchable", &searchable(summary.searchable.as_ref()));
    page.line("last attempt", &last_attempt(last));
    page.line("tags", &summary.tags.join(", "));
    page.line("knowledge sets", &summary.knowledge_sets.join(", "));
    page.line("media type", &detail.media_type);
    page.list("attributes", attributes(&detail.attributes));
    let metadata = detail.metadata.iter();
    page.list(
        "metadata",
        metadata.map(|(name, value)| (name.clone(), value.clone())),
    );
    page.line("original", &original(detail));
    page.line("tables", &tables(detail));
    page.pictures(&detail.pictures);
    page.line(
        "stored once as",
        detail.duplicate_of.as_deref().unwrap_or(""),
    );
    page.line(
        "steps aside for",
        detail.superseded_by.as_deref().unwrap_or(""),
    );
    page.list("family", detail.family.iter().map(member));
    let made_with = detail.made_with.as_ref().or(last.lineage.as_ref());
    page.list("made with", made_with.into_iter().flat_map(lineage));
    page.list("stages", stages(last));
    page.passages(detail.passages.as_deref().unwrap_or_default());
    page.lines.join("\n")
}

fn searchable(searchable: Option<&Searchable>) -> String {
    let Some(found) = searchable else {
        return "no".to_owned();
    };
    let since = found.since_ms.map_or_else(String::new, |since_ms| {
        format!(" since {}", times::to_the_second(since_ms))
    });
    let chunks = print::count(found.chunks as usize, "chunk");
    format!("version {}{since}, {chunks}", found.version)
}

fn last_attempt(last: &DocumentState) -> String {
    let reason = last
        .reason
        .as_deref()
        .map(|reason| format!(": {reason}"))
        .unwrap_or_default();
    format!(
        "{} at {}, version {}{reason}",
        last.state.as_str(),
        times::to_the_second(last.at_ms),
        last.version
    )
}

fn attributes(attributes: &Attributes) -> Vec<(String, String)> {
    let mut named: Vec<(String, String)> = attributes
        .texts()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let level = attributes.security_level;
    named.extend(level.map(|level| ("security_level".to_owned(), level.to_string())));
    let rules = attributes.section_rules().iter();
    named.extend(rules.map(|rule| {
        let name = format!("security_level of sections `{}`", rule.heading);
        (name, rule.security_level.to_string())
    }));
    let moments = [
        ("created_at", attributes.created_at),
        ("updated_at", attributes.updated_at),
    ];
    named.extend(
        moments
            .into_iter()
            .filter_map(|(name, at_ms)| Some((name.to_owned(), times::to_the_second(at_ms?)))),
    );
    named.extend(attributes.custom.clone());
    named
}

fn original(detail: &DocumentDetail) -> String {
    match &detail.original {
        None => String::new(),
        Some(path) => format!(
            "{path} (tributary documents original {} -o FILE)",
            detail.summary.last_attempt.document_id
        ),
    }
}

fn tables(detail: &DocumentDetail) -> String {
    match &detail.tables {
        None => String::new(),
        Some(path) => format!(
            "{path} (an SQLite database: tributary documents tables {} --file tables.sqlite)",
            detail.summary.last_attempt.document_id
        ),
    }
}

fn member(member: &FamilyMember) -> (String, String) {
    let place = names::of(&member.source, &member.source_path, &member.document_id);
    let similarity = format!("{:.0} %", member.similarity * 100.0);
    (similarity, format!("{place}  {}", member.title))
}

fn lineage(lineage: &Lineage) -> Vec<(String, String)> {
    let mut made = vec![
        ("converter", lineage.converter.clone()),
        ("source profile", lineage.source_profile.clone()),
        (
            "cut by",
            lineage.chunker_fallback.clone().unwrap_or_default(),
        ),
        ("model", lineage.coarse_model.clone()),
    ];
    if lineage.fine_model != lineage.coarse_model {
        made.push(("fine model", lineage.fine_model.clone()));
    }
    made.push(("degraded", lineage.degraded.join(", ")));
    made.into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn stages(last: &DocumentState) -> Vec<(String, String)> {
    last.timeline
        .iter()
        .map(|time| (time.stage.clone(), times::to_the_second(time.at_ms)))
        .collect()
}

/// Lines with names on the left; what has no value is left out.
#[derive(Default)]
struct Page {
    lines: Vec<String>,
}

impl Page {
    fn line(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            let value = value.replace('\n', " ");
            self.lines.push(format!("  {name:NAMES$} {value}"));
        }
    }

    fn list(&mut self, name: &str, values: impl IntoIterator<Item = (String, String)>) {
        let values: Vec<(String, String)> = values
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .collect();
        if values.is_empty() {
            return;
        }
        self.lines.push(format!("  {name}"));
        for (name, value) in values {
            let value = value.replace('\n', " ");
            self.lines.push(format!("    {name:NAMES$} {value}"));
        }
    }

    fn pictures(&mut self, pictures: &[String]) {
        let named = pictures.iter().take(PICTURES);
        let numbered = (1..).map(|number: usize| number.to_string());
        self.list("pictures", numbered.zip(named.cloned()));
        let more = pictures.len().saturating_sub(PICTURES);
        if more > 0 {
            self.lines.push(format!("    and {more} more"));
        }
    }

    fn passages(&mut self, passages: &[Passage]) {
        if passages.is_empty() {
            return;
        }
        self.lines.push(format!("  passages ({})", passages.len()));
        for passage in passages {
            let text = passage
                .text
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ");
            let section = passage.section_path.join(" › ");
            let shown = print::shorten(&text, PASSAGE_CHARACTERS);
            let number = passage.ordinal + 1;
            self.lines.push(format!("    {number:>4} {section}"));
            self.lines.push(format!("         {shown}"));
        }
    }
}
