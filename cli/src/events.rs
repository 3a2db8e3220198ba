//! Reads the events of an answer as the server writes them: `event:` and `data:` lines, one of each,
//! and an empty line.

use std::io::{BufRead, BufReader, Read};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tributary_schemas::ask::AskEvent;

/// The events of a stream. An event of a name that is not known is passed over: a newer server may
/// say more.
pub fn read(stream: impl Read) -> impl Iterator<Item = Result<AskEvent>> {
    let mut name = String::new();
    let lines = BufReader::new(stream).lines();
    lines.filter_map(move |line| {
        let line = match line.context("the server's answer broke off") {
            Ok(line) => line,
            Err(error) => return Some(Err(error)),
        };
        if let Some(given) = line.strip_prefix("event: ") {
            name = given.to_owned();
        }
        let data = line.strip_prefix("data: ")?;
        event(&name, data).transpose()
    })
}

fn event(name: &str, data: &str) -> Result<Option<AskEvent>> {
    let unexpected = "the server sent an event that cannot be read";
    let data: Value = serde_json::from_str(data).context(unexpected)?;
    let read = serde_json::from_value(json!({"event": name, "data": data}));
    match read {
        Ok(event) => Ok(Some(event)),
        Err(error) if error.to_string().contains("unknown variant") => Ok(None),
        Err(error) => Err(error).context(unexpected),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_and_unknown_ones_passed_over() {
        let stream = "id: a-1\nevent: thinking\ndata: {\"step\":\"retrieval\"}\n\n: still here\n\n\
            id: a-2\nevent: music\ndata: {}\n\nevent: answer_chunk\ndata: {\"text\":\"表\"}\n\n";
        let events: Vec<AskEvent> = read(stream.as_bytes())
            .map(|event| event.unwrap_or_else(|error| panic!("{error}")))
            .collect();
        let step = "retrieval".to_owned();
        let text = "表".to_owned();
        assert_eq!(
            events,
            [AskEvent::Thinking { step }, AskEvent::AnswerChunk { text }]
        );
        assert!(read("event: done\ndata: {}\n".as_bytes()).any(|event| event.is_err()));
    }
}
