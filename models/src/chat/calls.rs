//! Calls of tools as they come in: servers send a call whole or in pieces, the pieces of several
//! calls mixed and told apart by an index that some leave out.

use serde::Deserialize;
use serde_json::Value;

use super::request::ToolCall;

/// Calls of one reply at most; more are passed over.
const MAXIMUM_CALLS: usize = 16;

/// A piece of a call.
#[derive(Clone, Debug, Deserialize)]
pub struct WireCall {
    index: Option<usize>,
    id: Option<String>,
    function: Option<WireFunction>,
}

#[derive(Clone, Debug, Deserialize)]
struct WireFunction {
    name: Option<String>,
    arguments: Option<Value>,
}

/// The calls of a reply so far, each with its index.
#[derive(Debug, Default)]
pub struct Calls(Vec<(usize, ToolCall)>);

impl Calls {
    /// Takes a piece.
    pub fn push(&mut self, piece: &WireCall) {
        let index = piece.index.unwrap_or_else(|| self.guess(piece));
        let known = self.0.iter().position(|(known, _)| *known == index);
        let at = match known {
            Some(at) => at,
            None if self.0.len() >= MAXIMUM_CALLS => return,
            None => {
                self.0.push((index, ToolCall::default()));
                self.0.len() - 1
            }
        };
        if let Some((_, call)) = self.0.get_mut(at) {
            append(call, piece);
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them. A call without an id gets one, since its answer has to name it.
    pub fn take(&mut self) -> Vec<ToolCall> {
        let calls = std::mem::take(&mut self.0).into_iter().enumerate();
        let with_id = |(at, (_, call)): (usize, (usize, ToolCall))| match call.id.is_empty() {
            true => ToolCall {
                id: format!("call_{at}"),
                ..call
            },
            false => call,
        };
        calls.map(with_id).collect()
    }

    /// A piece without an index begins a call if it names a tool, and goes on with the last one
    /// otherwise.
    fn guess(&self, piece: &WireCall) -> usize {
        let named = piece.function.as_ref().and_then(|one| one.name.as_ref());
        let begins = named.is_some_and(|name| !name.is_empty());
        match self.0.last() {
            Some((last, _)) if !begins => *last,
            Some((last, _)) => last + 1,
            None => 0,
        }
    }
}

fn append(call: &mut ToolCall, piece: &WireCall) {
    if let Some(id) = piece.id.as_ref().filter(|id| !id.is_empty()) {
        id.clone_into(&mut call.id);
    }
    let Some(function) = &piece.function else {
        return;
    };
    if let Some(name) = function.name.as_ref().filter(|name| !name.is_empty()) {
        name.clone_into(&mut call.name);
    }
    match &function.arguments {
        None | Some(Value::Null) => {}
        Some(Value::String(text)) => call.arguments.push_str(text),
        // Some servers send them read.
        Some(read) => call.arguments = read.to_string(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn calls(pieces: Value) -> Vec<(String, String, String)> {
        let pieces: Vec<WireCall> = serde_json::from_value(pieces).unwrap();
        let mut calls = Calls::default();
        pieces.iter().for_each(|piece| calls.push(piece));
        let calls = calls.take().into_iter();
        calls
            .map(|call| (call.id, call.name, call.arguments))
            .collect()
    }

    fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
        (id.to_owned(), name.to_owned(), arguments.to_owned())
    }

    #[test]
    fn pieces_of_all_servers_become_calls() {
        let in_pieces = json!([
            {"index": 0, "id": "a", "type": "function", "function": {"name": "search", "arguments": ""}},
            {"index": 1, "id": "b", "function": {"name": "search", "arguments": "{\"q"}},
            {"index": 0, "function": {"arguments": "{}"}},
            {"index": 1, "id": null, "function": {"name": null, "arguments": "\":1}"}},
        ]);
        let expected = [call("a", "search", "{}"), call("b", "search", "{\"q\":1}")];
        assert_eq!(calls(in_pieces), expected);
        let whole = json!([
            {"function": {"name": "search", "arguments": {"q": 1}}},
            {"function": {"name": "search", "arguments": "{"}},
            {"function": {"arguments": "}"}},
        ]);
        let expected = [
            call("call_0", "search", "{\"q\":1}"),
            call("call_1", "search", "{}"),
        ];
        assert_eq!(calls(whole), expected);
        let many: Vec<Value> = (0..100).map(|at| json!({"index": at})).collect();
        assert_eq!(calls(json!(many)).len(), MAXIMUM_CALLS);
    }
}
