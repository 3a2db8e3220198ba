//! A completion as a stream of server-sent events, made from the events of an answer.

use std::convert::Infallible;
use std::time::Duration;

use actix_web::HttpResponse;
use bytes::Bytes;
use futures::stream::{self, Stream, StreamExt};
use serde_json::{Value, json};
use tributary_schemas::ask::AskEvent;

use super::reply::{self, About};
use crate::problem::Problem;

/// The events as they go over the wire, with a comment after each long silence.
pub fn response(
    events: impl Stream<Item = (usize, AskEvent)> + Unpin + 'static,
    about: About,
    heartbeat: Duration,
) -> HttpResponse {
    let events = events.map(|(_, event)| event);
    HttpResponse::Ok()
        .content_type("text/event-stream")
        .insert_header(("cache-control", "no-store"))
        .insert_header(("x-accel-buffering", "no"))
        .streaming(written(events, about, heartbeat))
}

/// Where a stream is.
struct Writing<S> {
    events: S,
    about: About,
    heartbeat: Duration,
    is_opened: bool,
    is_over: bool,
}

/// OpenAI's events for ours; they end in `[DONE]`, or in an error.
fn written<S: Stream<Item = AskEvent> + Unpin>(
    events: S,
    about: About,
    heartbeat: Duration,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    let writing = Writing {
        events,
        about,
        heartbeat,
        is_opened: false,
        is_over: false,
    };
    stream::unfold(writing, |mut writing| async {
        let text = writing.next().await?;
        Some((Ok(Bytes::from(text)), writing))
    })
}

impl<S: Stream<Item = AskEvent> + Unpin> Writing<S> {
    /// What is written next; nothing at the end.
    async fn next(&mut self) -> Option<String> {
        if !self.is_opened {
            self.is_opened = true;
            return Some(data(&self.about.opening()));
        }
        while !self.is_over {
            let next = tokio::time::timeout(self.heartbeat, self.events.next()).await;
            match next {
                Err(_) => return Some(": still here\n\n".to_owned()),
                Ok(None) => return None,
                Ok(Some(event)) => {
                    self.is_over = event.is_last();
                    if let Some(text) = self.shown(event) {
                        return Some(text);
                    }
                }
            }
        }
        None
    }

    fn shown(&self, event: AskEvent) -> Option<String> {
        match event {
            AskEvent::AnswerChunk { text } | AskEvent::CodeDescriptionChunk { text } => {
                Some(data(&self.about.more(&text)))
            }
            AskEvent::Done(answer) => {
                let parts = self.about.ending(&answer);
                let parts: String = parts.iter().map(data).collect();
                Some(parts + "data: [DONE]\n\n")
            }
            AskEvent::Error(failure) => {
                let problem = Problem::from(failure);
                Some(data(&json!({"error": reply::error(&problem)})))
            }
            _ => None,
        }
    }
}

fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

#[cfg(test)]
mod tests {
    use tributary_schemas::ask::AskFailure;

    use super::*;
    use crate::openai::CompletionRequest;
    use crate::sources::tests::answer;

    async fn shown(events: Vec<AskEvent>, counts: bool) -> Vec<Value> {
        let request = json!({"model": "general", "messages": [], "stream": true,
            "stream_options": {"include_usage": counts}});
        let request: CompletionRequest =
            serde_json::from_value(request).unwrap_or_else(|error| panic!("{error}"));
        let written = written(
            stream::iter(events),
            About::new(&request),
            Duration::from_secs(1),
        );
        let text: Vec<Bytes> = written.map(|Ok(piece)| piece).collect().await;
        let text = String::from_utf8_lossy(&text.concat()).into_owned();
        text.split_terminator("\n\n")
            .map(|event| event.strip_prefix("data: ").unwrap_or_default())
            .map(|data| serde_json::from_str(data).unwrap_or_else(|_| json!(data)))
            .collect()
    }

    fn chunk(text: &str) -> AskEvent {
        AskEvent::AnswerChunk {
            text: text.to_owned(),
        }
    }

    #[tokio::test]
    async fn an_answer_is_streamed_and_ends_with_its_sources() {
        let done = AskEvent::Done(Box::new(answer("Eight [1].", "answered")));
        let step = AskEvent::Thinking {
            step: "answer".into(),
        };
        let events = vec![step, chunk("Eight "), chunk("[1]."), done];
        let shown = shown(events, true).await;
        let text: String = shown
            .iter()
            .filter_map(|event| event["choices"][0]["delta"]["content"].as_str())
            .collect();
        assert!(
            text.starts_with("Eight [1].\n\n---\n**Sources**\n- [1] Tilt"),
            "{text}"
        );
        let end = shown.get(shown.len() - 3).cloned().unwrap_or_default();
        assert_eq!(end["choices"][0]["finish_reason"], "stop");
        let citation = &end["choices"][0]["delta"]["annotations"][0]["url_citation"];
        assert_eq!(
            (&citation["start_index"], &citation["end_index"]),
            (&json!(6), &json!(9))
        );
        let usage = shown.get(shown.len() - 2).cloned().unwrap_or_default();
        assert_eq!(usage["usage"]["total_tokens"], 14);
        assert_eq!(shown.last(), Some(&json!("[DONE]")));
    }

    #[tokio::test]
    async fn a_failure_ends_the_stream() {
        let failure = AskFailure {
            code: "unavailable".into(),
            detail: "the model is away".into(),
            hint: None,
        };
        let shown = shown(
            vec![chunk("a"), AskEvent::Error(failure), chunk("b")],
            false,
        )
        .await;
        let last = shown.last().cloned().unwrap_or_default();
        assert_eq!(last["error"]["code"], "unavailable");
        assert_eq!(last["error"]["type"], "server_error");
        assert_eq!(shown.len(), 3, "{shown:?}");
    }
}
