//! The stdio transport, as a bridge: each line of standard input is a message that is sent to
//! `/mcp` of a server, and what comes back goes to standard output, a line each. The verb
//! `tributary mcp` is this.
//!
//! Calls run side by side. One that the client gives up with `notifications/cancelled` ends with
//! its connection to the server.

use std::collections::HashMap;
use std::sync::Arc;

use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Certificate, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Mutex, mpsc};
use tokio::task::{AbortHandle, JoinSet};
use tributary_schemas::{Error, ErrorKind, Result};

/// Where the version of a request of 2026 and later stands.
const VERSION: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";
/// Messages that wait to be written.
const WAITING: usize = 64;
/// Longest event that is read.
const MAXIMUM_BYTES: usize = 64 << 20;

/// The server that messages go to.
pub struct Server<'a> {
    /// What its addresses begin with.
    pub base: &'a str,
    /// The header `Authorization`, where it wants a key.
    pub authorization: Option<HeaderValue>,
    /// Which certificate it may show.
    pub certificates: Certificates,
}

/// Certificates that a server may show.
pub enum Certificates {
    /// Any: the server is this machine's own.
    Any,
    /// Those that lead to one of these, each as DER, or to a root that browsers trust.
    SignedBy(Vec<Vec<u8>>),
}

impl Certificates {
    fn client(self) -> Result<reqwest::Client> {
        let mut client = reqwest::Client::builder();
        match self {
            Self::Any => client = client.danger_accept_invalid_certs(true),
            Self::SignedBy(roots) => {
                // One that cannot be read vouches for nobody.
                let roots = roots
                    .iter()
                    .filter_map(|root| Certificate::from_der(root).ok());
                for root in roots {
                    client = client.add_root_certificate(root);
                }
            }
        }
        client.build().map_err(|error| {
            let what = format!("there can be no client of the server: {error}");
            Error::new(ErrorKind::Internal, what)
        })
    }
}

/// What the bridge remembers while it runs.
struct Bridge {
    client: reqwest::Client,
    url: String,
    authorization: Option<HeaderValue>,
    /// What `initialize` agreed on; sent with each later message.
    version: Mutex<Option<String>>,
    output: mpsc::Sender<Value>,
}

/// Calls that are under way, by the id of their request.
#[derive(Default)]
struct Calls {
    running: JoinSet<()>,
    by_id: HashMap<String, AbortHandle>,
}

impl Calls {
    fn start(&mut self, bridge: &Arc<Bridge>, message: Value) {
        // Ended ones are let go, so that a long session does not gather them.
        while self.running.try_join_next().is_some() {}
        self.by_id.retain(|_, call| !call.is_finished());
        let id = message.get("id").map(Value::to_string);
        let call = self.running.spawn(Arc::clone(bridge).send(message));
        if let Some(id) = id {
            self.by_id.insert(id, call);
        }
    }

    /// Ends the call of a request: its connection is closed, and the server notices.
    fn end(&mut self, id: &str) {
        if let Some(call) = self.by_id.remove(id) {
            call.abort();
        }
    }

    async fn finish(mut self) {
        while self.running.join_next().await.is_some() {}
    }
}

/// Bridges until the input ends, and waits for the calls that are under way.
pub async fn bridge(
    server: Server<'_>,
    input: impl AsyncBufRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> Result<()> {
    let (sender, receiver) = mpsc::channel(WAITING);
    let writer = tokio::spawn(write_lines(receiver, output));
    let bridge = Arc::new(Bridge {
        client: server.certificates.client()?,
        url: format!("{}/mcp", server.base),
        authorization: server.authorization,
        version: Mutex::new(None),
        output: sender,
    });
    let mut calls = Calls::default();
    let failed = |error: std::io::Error| broken("cannot read from the client", &error);
    let mut lines = input.split(b'\n');
    while let Some(line) = lines.next_segment().await.map_err(failed)? {
        bridge.take(&line, &mut calls).await;
    }
    calls.finish().await;
    drop(bridge);
    let stopped = |error| Error::new(ErrorKind::Internal, format!("the writer stopped: {error}"));
    writer.await.map_err(stopped)?
}

fn broken(what: &str, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, format!("{what}: {error}"))
}

async fn write_lines(
    mut messages: mpsc::Receiver<Value>,
    mut output: impl AsyncWrite + Unpin,
) -> Result<()> {
    let failed = |error: std::io::Error| broken("cannot write to the client", &error);
    while let Some(message) = messages.recv().await {
        let line = format!("{message}\n");
        output.write_all(line.as_bytes()).await.map_err(failed)?;
        output.flush().await.map_err(failed)?;
    }
    Ok(())
}

/// Id of the request that a message gives up.
fn cancelled(message: &Value) -> Option<String> {
    let is_cancelled = message["method"] == "notifications/cancelled";
    let id = message.pointer("/params/requestId");
    id.filter(|_| is_cancelled).map(Value::to_string)
}

fn is_opening(message: &Value) -> bool {
    message["method"] == "initialize"
}

impl Bridge {
    /// Sends the message of a line, or ends the call that it gives up.
    async fn take(self: &Arc<Self>, line: &[u8], calls: &mut Calls) {
        if line.trim_ascii().is_empty() {
            return;
        }
        let Some(message) = self.parsed(line).await else {
            return;
        };
        match cancelled(&message) {
            Some(id) => calls.end(&id),
            // Whatever comes next is sent with the version that it agrees on.
            None if is_opening(&message) => Arc::clone(self).send(message).await,
            None => calls.start(self, message),
        }
    }

    /// The message of a line; a line that is no JSON, or no UTF-8, is answered as JSON-RPC says.
    async fn parsed(&self, line: &[u8]) -> Option<Value> {
        match serde_json::from_slice(line) {
            Ok(message) => Some(message),
            Err(error) => {
                self.fail(Value::Null, -32700, format!("the line is no JSON: {error}"))
                    .await;
                None
            }
        }
    }

    /// Sends a message and passes on what comes back; a request is answered in any case.
    async fn send(self: Arc<Self>, message: Value) {
        let id = message
            .get("id")
            .filter(|_| message.get("method").is_some());
        let id = id.cloned();
        let exchanged = self.exchange(&message, id.as_ref()).await;
        let (Some(id), Err(problem)) = (id, exchanged) else {
            return;
        };
        tracing::warn!(%problem, "a message was not answered");
        self.fail(id, -32603, problem).await;
    }

    async fn exchange(
        &self,
        message: &Value,
        id: Option<&Value>,
    ) -> std::result::Result<(), String> {
        let request = self.request(message).await;
        let response = request
            .send()
            .await
            .map_err(|error| format!("cannot reach the server at {}: {error}", self.url))?;
        let media_type = response.headers().get("content-type");
        let media_type = media_type.and_then(|value| value.to_str().ok());
        let media_type = media_type.unwrap_or_default().to_owned();
        if media_type.starts_with("text/event-stream") {
            return self.pass_on_events(response, id).await;
        }
        let status = response.status();
        let text = response.text().await;
        let text = text.map_err(|error| format!("the answer of the server broke off: {error}"))?;
        let Some(id) = id else { return Ok(()) };
        let answer = serde_json::from_str::<Value>(&text);
        let answer = answer.unwrap_or(Value::Null);
        if answer["id"] == *id && answer["jsonrpc"] == "2.0" {
            self.remember_version(&answer).await;
            self.write(answer).await;
            return Ok(());
        }
        let detail = answer["detail"].as_str().unwrap_or(text.trim());
        Err(format!("the server answered {status}: {detail}"))
    }

    /// With the headers that the transport wants beside what the message says.
    async fn request(&self, message: &Value) -> RequestBuilder {
        let mut request = self
            .client
            .post(&self.url)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let agreed = self.version.lock().await.clone();
        let own = message.pointer(VERSION).and_then(Value::as_str);
        let version = own.map(str::to_owned).or(agreed);
        if let Some(version) = version.filter(|_| !is_opening(message)) {
            request = request.header("mcp-protocol-version", version);
        }
        if let Some(method) = message["method"].as_str() {
            request = request.header("mcp-method", method);
        }
        let name = ["/params/name", "/params/uri"];
        let name = name
            .iter()
            .find_map(|place| message.pointer(place)?.as_str());
        match name.filter(|name| is_plain(name)) {
            Some(name) => request.header("mcp-name", name).body(message.to_string()),
            None => request.body(message.to_string()),
        }
    }

    async fn pass_on_events(
        &self,
        mut response: Response,
        id: Option<&Value>,
    ) -> std::result::Result<(), String> {
        let broke_off = |error| format!("the answer of the server broke off: {error}");
        let mut events = Events::default();
        while let Some(piece) = response.chunk().await.map_err(broke_off)? {
            for data in events.read(&piece)? {
                let Ok(message) = serde_json::from_str::<Value>(&data) else {
                    continue;
                };
                let is_answer = message.get("method").is_none() && message.get("id") == id;
                if is_answer {
                    self.remember_version(&message).await;
                }
                self.write(message).await;
                if is_answer {
                    return Ok(());
                }
            }
        }
        Err("the answer of the server ended early".to_owned())
    }

    async fn remember_version(&self, answer: &Value) {
        let agreed = answer.pointer("/result/protocolVersion");
        if let Some(version) = agreed.and_then(Value::as_str) {
            *self.version.lock().await = Some(version.to_owned());
        }
    }

    async fn fail(&self, id: Value, code: i64, message: String) {
        let error = json!({"code": code, "message": message});
        self.write(json!({"jsonrpc": "2.0", "id": id, "error": error}))
            .await;
    }

    async fn write(&self, message: Value) {
        if self.output.send(message).await.is_err() {
            tracing::debug!("the client reads no more");
        }
    }
}

/// Whether a header can carry it as it is.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && text.trim() == text
}

/// Server-sent events as they come in pieces; only their data counts.
#[derive(Default)]
struct Events {
    rest: Vec<u8>,
    data: Vec<String>,
}

impl Events {
    /// Data of the events that are complete with this piece.
    fn read(&mut self, piece: &[u8]) -> std::result::Result<Vec<String>, String> {
        self.rest.extend_from_slice(piece);
        let mut complete = Vec::new();
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\n', '\r']);
            if line.is_empty() && !self.data.is_empty() {
                complete.push(std::mem::take(&mut self.data).join("\n"));
            }
            if let Some(data) = line.strip_prefix("data:") {
                self.data
                    .push(data.strip_prefix(' ').unwrap_or(data).to_owned());
            }
        }
        match self.rest.len() > MAXIMUM_BYTES {
            true => Err("the server sent an event that is too long".to_owned()),
            false => Ok(complete),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_in_whatever_pieces_they_come() {
        let text = ": ping\n\ndata: {\"a\":\ndata: \"长\"}\r\n\r\nid: 3\ndata:x\n\ndata: half";
        for size in 1..text.len() {
            let mut events = Events::default();
            let pieces = text.as_bytes().chunks(size);
            let read: Vec<String> = pieces
                .flat_map(|piece| events.read(piece).unwrap_or_else(|error| panic!("{error}")))
                .collect();
            assert_eq!(read, ["{\"a\":\n\"长\"}", "x"], "{size}");
        }
    }

    #[test]
    fn a_cancelled_request_is_told_by_its_id() {
        let message = |id: Value| json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
        assert_eq!(cancelled(&message(json!(3))).as_deref(), Some("3"));
        assert_eq!(cancelled(&message(json!("3"))).as_deref(), Some("\"3\""));
        assert_eq!(cancelled(&json!({"method": "ping", "id": 3})), None);
    }

    #[tokio::test]
    async fn without_a_server_every_request_is_answered_with_the_reason() {
        let input = b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\"}\nno json\n\r\n\
            {\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"\xff\xfe\"}\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
        let (output, reader) = tokio::io::duplex(1 << 16);
        let server = Server {
            base: "http://127.0.0.1:1",
            authorization: None,
            certificates: Certificates::SignedBy(Vec::new()),
        };
        let bridged = bridge(server, input.as_slice(), output).await;
        assert!(bridged.is_ok());
        let mut lines = tokio::io::BufReader::new(reader).lines();
        let mut answers = Vec::new();
        while let Ok(Some(line)) = lines.next_line().await {
            answers.push(
                serde_json::from_str::<Value>(&line).unwrap_or_else(|error| panic!("{error}")),
            );
        }
        answers.sort_by_key(|answer| answer["id"].as_i64());
        let codes: Vec<&Value> = answers
            .iter()
            .map(|answer| &answer["error"]["code"])
            .collect();
        assert_eq!(codes, [-32700, -32700, -32603], "{answers:?}");
        let message = answers
            .last()
            .and_then(|answer| answer["error"]["message"].as_str());
        assert!(message.is_some_and(|text| text.starts_with("cannot reach the server")));
    }
}
