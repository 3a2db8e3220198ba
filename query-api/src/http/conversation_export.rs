//! Conversations and feedback as files: written while they are read, a few turns at a time.

use actix_web::HttpResponse;
use bytes::Bytes;
use futures::stream::{self, Stream, StreamExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_schemas::ask::{Answer, Source};
use tributary_schemas::conversation::{Conversation, Turn};
use tributary_schemas::{Error, ErrorKind, Result};
use tributary_store::conversations::{SharedConversations, TurnQuery};

use super::withholding::Withholding;

/// Media type of JSON Lines.
pub const LINES: &str = "application/jsonl";
/// Turns in memory at a time.
const AT_ONCE: usize = 50;

/// How a conversation is exported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    /// Questions, answers and sources, to be read.
    #[default]
    Markdown,
    /// Everything.
    Json,
}

/// An exported conversation as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationExport {
    /// The conversation.
    pub conversation: Conversation,
    /// Its turns by number.
    pub turns: Vec<Turn>,
}

/// What is exported.
pub struct Export {
    pub store: SharedConversations,
    pub withholding: Withholding,
    pub conversation: Conversation,
    pub format: ExportFormat,
}

/// The answer of `GET /v1/conversations/{id}/export`.
pub fn answer(export: Export) -> HttpResponse {
    let (ending, media_type) = match export.format {
        ExportFormat::Markdown => ("md", "text/markdown; charset=utf-8"),
        ExportFormat::Json => ("json", "application/json"),
    };
    let id = &export.conversation.id;
    let disposition = format!("attachment; filename=\"conversation-{id}.{ending}\"");
    HttpResponse::Ok()
        .content_type(media_type)
        .insert_header(("content-disposition", disposition))
        .insert_header(("x-content-type-options", "nosniff"))
        .streaming(parts(export))
}

/// A page of turns after a cursor.
struct Reading {
    after: Option<String>,
    is_over: bool,
}

impl Reading {
    const START: Self = Self {
        after: None,
        is_over: false,
    };

    fn next(next: Option<String>) -> Self {
        Self {
            is_over: next.is_none(),
            after: next,
        }
    }
}

fn parts(export: Export) -> impl Stream<Item = Result<Bytes>> {
    let (before, behind) = match export.format {
        ExportFormat::Markdown => (heading(&export.conversation), String::new()),
        ExportFormat::Json => (opening(&export.conversation), "]}\n".to_owned()),
    };
    let one = |text: String| stream::iter([Ok(Bytes::from(text))]);
    let pages = stream::try_unfold((export, Reading::START), |(export, reading)| async move {
        if reading.is_over {
            return Ok(None);
        }
        let query = TurnQuery {
            newest_first: false,
            after: reading.after.as_deref(),
            limit: AT_ONCE,
        };
        let (owner, id) = (export.withholding.owner(), &export.conversation.id);
        let page = export.store.turns(owner, id, query).await?;
        let turns = export.withholding.shown(page.items).await?;
        let texts: Result<Vec<String>> =
            turns.iter().map(|turn| export.format.turn(turn)).collect();
        let part = Bytes::from(texts?.concat());
        Ok(Some((part, (export, Reading::next(page.next)))))
    });
    one(before).chain(pages).chain(one(behind))
}

impl ExportFormat {
    fn turn(self, turn: &Turn) -> Result<String> {
        let separator = if turn.number == 1 { "" } else { "," };
        match self {
            Self::Markdown => Ok(markdown(turn)),
            Self::Json => Ok(format!("{separator}{}", to_json(turn)?)),
        }
    }
}

/// All turns with feedback, a line each.
pub fn feedback_lines(
    store: SharedConversations,
    withholding: Withholding,
) -> impl Stream<Item = Result<Bytes>> {
    let start = (store, withholding, Reading::START);
    stream::try_unfold(start, |(store, withholding, reading)| async move {
        if reading.is_over {
            return Ok(None);
        }
        let after = reading.after.as_deref();
        let page = store
            .with_feedback(withholding.owner(), after, AT_ONCE)
            .await?;
        let mut text = String::new();
        for turn in &withholding.shown(page.items).await? {
            text.push_str(&to_json(turn)?);
            text.push('\n');
        }
        let part = Bytes::from(text);
        Ok(Some((part, (store, withholding, Reading::next(page.next)))))
    })
}

fn to_json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| {
        let message = format!("cannot write the export: {error}");
        Error::new(ErrorKind::Internal, message)
    })
}

/// The JSON of a [`ConversationExport`] up to its first turn.
fn opening(conversation: &Conversation) -> String {
    let conversation = serde_json::to_string(conversation).unwrap_or_else(|_| "null".to_owned());
    format!("{{\"conversation\":{conversation},\"turns\":[")
}

fn heading(conversation: &Conversation) -> String {
    format!("# {}\n", in_one_line(&conversation.title))
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn written(at_ms: u64) -> String {
    let time = i64::try_from(at_ms).ok();
    let time = time.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    time.map(|time| time.strftime("%Y-%m-%d %H:%M UTC").to_string())
        .unwrap_or_default()
}

/// A turn for people: the question as a quotation, the answer, what it cites.
pub fn markdown(turn: &Turn) -> String {
    let mut text = format!("\n## {} · {}\n\n", turn.number, written(turn.asked_at_ms));
    for line in turn.question.lines() {
        text.push_str(format!("> {line}").trim_end());
        text.push('\n');
    }
    text.push('\n');
    match (&turn.answer, &turn.failure) {
        (Some(answer), _) => text.push_str(&answered(answer)),
        (None, Some(failure)) => text.push_str(&format!("*No answer: {}*\n", failure.detail)),
        (None, None) => text.push_str("*Not answered yet.*\n"),
    }
    if let Some(feedback) = &turn.feedback {
        let verdict = match feedback.helpful {
            true => "Helpful",
            false => "Not helpful",
        };
        let reason = in_one_line(&feedback.reason);
        text.push_str(format!("\n*{verdict}.* {reason}").trim_end());
        text.push('\n');
    }
    text
}

fn answered(answer: &Answer) -> String {
    let mut text = format!("{}\n", answer.answer.trim_end());
    let cited: Vec<&Source> = answer
        .sources
        .iter()
        .filter(|source| source.cited)
        .collect();
    if !cited.is_empty() {
        text.push('\n');
    }
    for source in cited {
        let title = in_one_line(&source.title);
        let place = match source.url.is_empty() {
            true => format!("{}/{}", source.source, source.source_path),
            false => source.url.clone(),
        };
        text.push_str(&format!("- \\[{}\\] {title}: <{place}>\n", source.number));
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_turn_is_written_for_people() {
        let source = |number: u32, cited: bool, url: &str| {
            json!({"number": number, "cited": cited, "chunk_id": "0".repeat(32),
                "document_id": "d", "version": 1, "source": "wiki", "source_path": "a.md",
                "title": "A\nguide", "section_path": [], "pages": [], "url": url, "kind": "leaf",
                "text": "…"})
        };
        let sources = [
            source(1, true, ""),
            source(2, false, ""),
            source(3, true, "http://x"),
        ];
        let turn = json!({"id": "1", "conversation_id": "2", "number": 3, "question": "why?\n\nso?",
            "state": "answered", "asked_at_ms": 0, "answer": {"id": "1", "question": "why?",
            "answer": "Because [1].\n", "verdict": "answered", "workflow": "general",
            "language": "en", "sources": sources, "support": [], "degraded": [], "took_ms": 1.0,
            "steps": []}, "feedback": {"helpful": false, "reason": "too\nshort"}});
        let turn: Turn = serde_json::from_value(turn).unwrap();
        let expected = "\n## 3 · 1970-01-01 00:00 UTC\n\n> why?\n>\n> so?\n\nBecause [1].\n\n\
            - \\[1\\] A guide: <wiki/a.md>\n- \\[3\\] A guide: <http://x>\n\n\
            *Not helpful.* too short\n";
        assert_eq!(markdown(&turn), expected);
    }
}
