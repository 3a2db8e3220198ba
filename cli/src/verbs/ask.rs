//! `tributary ask QUESTION`: an answer as it is written, then its sources.

use std::fmt::Write;
use std::io::{IsTerminal, Read};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tributary_convert::text_encoding;
use tributary_schemas::ask::{
    Answer, AskEvent, AskRequest, Doubt, Retrieval, Source, Support, Verdict, Workflow,
};

use crate::args::{Ask, Format, Global, Service};
use crate::client::{Client, segment};
use crate::config::Config;
use crate::names;
use crate::print::{self, Outcome};

/// Longest question that is taken from stdin, in bytes; the server has limits of its own.
const MAXIMUM_QUESTION_BYTES: u64 = 1 << 20;
/// Statements that are named as not supported.
const SHOWN_DOUBTS: usize = 5;

/// Asks, and prints the answer.
pub fn run(global: &Global, config: &Config, ask: &Ask) -> Result<Outcome> {
    let question = question(ask.question.as_deref())?;
    let client = Client::connect(global, config, &[Service::Query])?;
    let request = request(&client, ask, question)?;
    let answered = match ask.output.format {
        Format::Json => client
            .post("/v1/ask", &request)
            .and_then(|answer: Answer| print::result(ask.output, &answer, String::new)),
        Format::Text => streamed(&client, &request),
    };
    if answered.is_err() && is_begun_here(ask) {
        forget_if_empty(&client, request.conversation_id.as_deref());
    }
    answered?;
    client.close()?;
    Ok(Outcome::Done)
}

/// Whether the question begins a conversation.
fn is_begun_here(ask: &Ask) -> bool {
    !ask.off_the_record && ask.conversation.is_none() && !ask.go_on
}

/// A question that was not taken leaves no conversation behind, which the next `-c` would go on with.
fn forget_if_empty(client: &Client, id: Option<&str>) {
    let Some(id) = id else { return };
    let address = format!("/v1/conversations/{}", segment(id));
    let is_empty = |found: &Value| found.get("turns").and_then(Value::as_u64) == Some(0);
    if client
        .get::<Value>(&address)
        .is_ok_and(|found| is_empty(&found))
    {
        client.delete::<Value>(&address).ok();
    }
}

/// The question, or what stdin holds: a log is piped in.
pub fn question(given: Option<&str>) -> Result<String> {
    match given {
        Some("-") => {}
        Some(given) => return Ok(given.to_owned()),
        None if std::io::stdin().is_terminal() => bail!(
            "there is no question\nhint: tributary ask \"…\", or pipe a log into tributary ask --workflow error-map"
        ),
        None => {}
    }
    let mut bytes = Vec::new();
    std::io::stdin()
        .take(MAXIMUM_QUESTION_BYTES + 1)
        .read_to_end(&mut bytes)
        .context("cannot read the question from stdin")?;
    if bytes.len() as u64 > MAXIMUM_QUESTION_BYTES {
        bail!(
            "stdin holds more than {MAXIMUM_QUESTION_BYTES} bytes\nhint: send the part with the error, such as `tail -c 100000 LOG | tributary ask --workflow error-map`"
        );
    }
    Ok(decoded(&bytes))
}

/// A log may be of any encoding, or hold a byte of another one.
fn decoded(bytes: &[u8]) -> String {
    let (text, encoding) = text_encoding::text_of(bytes);
    if encoding != "UTF-8" {
        print::note(&format!("stdin is read as {encoding}"));
    }
    text.into_owned()
}

fn request(client: &Client, ask: &Ask, question: String) -> Result<AskRequest> {
    let conversation_id = match &ask.conversation {
        _ if ask.off_the_record => None,
        Some(id) => Some(id.clone()),
        None if ask.go_on => Some(last_conversation(client)?),
        None => Some(new_conversation(client, &question)?),
    };
    Ok(AskRequest {
        question,
        conversation_id,
        // The command line has checked the names.
        workflow: ask.workflow.as_deref().and_then(Workflow::named),
        retrieval: ask
            .retrieval
            .as_deref()
            .and_then(Retrieval::named)
            .unwrap_or_default(),
        user: ask.user.clone(),
        filter: ask.filter.filter(),
        top_k: ask.top_k,
        minimum_relevance: ask.minimum_relevance,
        rewrite: ask.no_rewrite.then_some(false),
        explain: ask.explain,
        ..AskRequest::default()
    })
}

/// An empty question begins none: the server says what is wrong with it.
fn new_conversation(client: &Client, question: &str) -> Result<String> {
    if question.trim().is_empty() {
        bail!("the question is empty");
    }
    let made: Value = client.post("/v1/conversations", &json!({}))?;
    id_of(&made)
}

fn last_conversation(client: &Client) -> Result<String> {
    let page: Value = client.get("/v1/conversations?limit=1")?;
    let first = page.get("conversations").and_then(|all| all.get(0));
    match first {
        Some(conversation) => id_of(conversation),
        None => bail!("there is no conversation to go on with\nhint: ask without -c first"),
    }
}

fn id_of(conversation: &Value) -> Result<String> {
    let id = conversation.get("id").and_then(Value::as_str);
    id.map(str::to_owned)
        .context("the server gave a conversation without an id")
}

/// Prints the answer as it comes.
fn streamed(client: &Client, request: &AskRequest) -> Result<()> {
    let spinner = print::spinner("understanding");
    let mut is_begun = false;
    let mut answer = None;
    let mut meant = None;
    for event in client.post_for_events("/v1/ask", request)? {
        match event? {
            AskEvent::Thinking { step } => spinner.set_message(step),
            AskEvent::AnswerChunk { text } | AskEvent::CodeDescriptionChunk { text } => {
                spinner.finish_and_clear();
                is_begun = true;
                print::piece(&text)?;
            }
            AskEvent::Done(done) => answer = Some(done),
            AskEvent::Error(failure) => {
                spinner.finish_and_clear();
                if is_begun {
                    print::line("")?;
                }
                match failure.hint {
                    Some(hint) => bail!("{}\nhint: {hint}", failure.detail),
                    None => bail!("{}", failure.detail),
                }
            }
            AskEvent::Understanding(understood) => meant = Some(understood.standalone_question),
            AskEvent::Retrieval(_)
            | AskEvent::Table(_)
            | AskEvent::CodeRetrieval(_)
            | AskEvent::TextbookDone(_)
            | AskEvent::CodeDone(_)
            | AskEvent::Outline(_)
            | AskEvent::Section(_)
            | AskEvent::Citation { .. } => {}
        }
    }
    spinner.finish_and_clear();
    let Some(answer) = answer else {
        bail!("the server ended the answer before its end\nhint: ask again");
    };
    let meant = meant.filter(|meant| meant != request.question.trim());
    let meant = meant.map_or_else(String::new, |meant| format!("understood as: {meant}\n"));
    print::line(&format!("\n{meant}{}", notes(&answer)))
}

/// What stands below an answer: its sources, what they do not support, what was lacking.
pub fn notes(answer: &Answer) -> String {
    let mut text = String::new();
    if let Some(table) = answer
        .table
        .as_deref()
        .filter(|table| !table.sql.is_empty())
    {
        writeln!(text, "sql: {}", table.sql).ok();
    }
    let cited = answer.sources.iter().filter(|source| source.cited);
    for source in cited {
        writeln!(text, "[{}] {}", source.number, place(source)).ok();
    }
    if !answer.related.is_empty() {
        text.push_str("nearest:\n");
        for source in &answer.related {
            writeln!(text, "  - {}", place(source)).ok();
        }
    }
    text.push_str(&doubts(answer));
    text
}

/// What is not supported, and what was done in a lesser way.
pub fn doubts(answer: &Answer) -> String {
    let mut text = String::new();
    let doubtful = answer.support.iter().filter(|one| !one.supported);
    for statement in doubtful.clone().take(SHOWN_DOUBTS) {
        writeln!(text, "not supported: {}", doubt(&answer.answer, statement)).ok();
    }
    if let more @ 1.. = doubtful.count().saturating_sub(SHOWN_DOUBTS) {
        writeln!(text, "not supported: {more} more, with --format json").ok();
    }
    text.push_str(&lacking(answer));
    text
}

fn place(source: &Source) -> String {
    let mut titles = vec![source.title.as_str()];
    let above = source.section_path.iter().map(String::as_str);
    titles.extend(above.filter(|title| *title != source.title));
    let pages = match source.pages.as_slice() {
        [] => String::new(),
        [page] => format!("  page {page}"),
        [first, .., last] => format!("  pages {first}-{last}"),
    };
    let name = names::of(&source.source, &source.source_path, &source.document_id);
    let lines = source.lines.map_or_else(String::new, |lines| {
        format!(":{}-{}", lines.first, lines.last)
    });
    format!("{}  {name}{lines}{pages}", titles.join(" › "))
}

fn doubt(answer: &str, statement: &Support) -> String {
    let span = statement.span;
    let words: String = answer
        .chars()
        .skip(span.start)
        .take(span.end.saturating_sub(span.start))
        .collect();
    let why = match statement.doubt {
        Some(Doubt::NoCitation) => "it cites nothing, and no source says it",
        Some(Doubt::FewWords) => "what it cites says something else",
        Some(Doubt::Number) => "a number of it does not stand in what it cites",
        Some(Doubt::Negation) => "what it cites says the opposite",
        None => "",
    };
    format!("“{}” ({why})", words.trim())
}

fn lacking(answer: &Answer) -> String {
    let mut text = String::new();
    if answer.verdict == Verdict::Extractive {
        text.push_str("in the words of the documents: no language model answered\n");
    }
    let is_said =
        |what: &&String| answer.verdict == Verdict::Extractive && what.as_str() == "answer";
    if answer.verdict == Verdict::Unsourced {
        text.push_str("nothing was searched for: this says nothing from the documents\n");
    }
    let others: Vec<&str> = answer
        .degraded
        .iter()
        .filter(|what| !is_said(what))
        .map(String::as_str)
        .collect();
    if let Some(unmet) = &answer.unmet_filter {
        writeln!(text, "nothing was searched: {}", unmet.describe()).ok();
    }
    if !answer.unmatched_terms.is_empty() {
        let terms = answer.unmatched_terms.join(", ");
        writeln!(text, "in no document that was searched: {terms}").ok();
    }
    if !others.is_empty() {
        writeln!(text, "degraded: {}", others.join(", ")).ok();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_an_answer_stand_its_sources_and_what_is_wrong_with_it() {
        let source = |number: u32, cited: bool| {
            json!({"number": number, "cited": cited, "chunk_id": "0".repeat(32),
                "document_id": "d", "version": 1, "source": "wiki", "source_path": "tilt.md",
                "title": "Tilt", "section_path": ["Tilt", "Limits"], "pages": [3, 4],
                "url": "", "kind": "leaf", "text": "6 degrees"})
        };
        let answer = json!({"id": "a", "question": "q", "answer": "倾角是八度 [1]。", "verdict": "partly",
            "workflow": "general", "language": "zh", "sources": [source(1, true), source(2, false)],
            "support": [{"span": {"start": 0, "end": 10}, "citations": [1], "supported": false,
                "coverage": 0.9, "doubt": "number"}],
            "degraded": ["reranker"], "took_ms": 1.0, "steps": []});
        let answer: Answer =
            serde_json::from_value(answer).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            notes(&answer),
            "[1] Tilt › Limits  wiki/tilt.md  pages 3-4\n\
             not supported: “倾角是八度 [1]。” (a number of it does not stand in what it cites)\n\
             degraded: reranker\n"
        );
    }
}
