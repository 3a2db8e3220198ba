//! A server on loopback that answers as Elasticsearch would, and as it does on bad days: what it
//! says to bulk requests is scripted.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What is done with a bulk request.
#[derive(Clone)]
pub enum Step {
    /// Every item is done.
    Take,
    /// A whole answer with this status and type of error.
    Refuse(u16, &'static str, &'static str),
    /// Items whose id or source contains the text get this status and type of error; the others are
    /// done.
    RefuseItems(&'static str, u16, &'static str, &'static str),
    /// No answer.
    Hang,
    /// The connection is closed after the request was read.
    HangUp,
}

/// The server; it ends with the runtime.
pub struct Fake {
    pub url: String,
    state: Arc<State>,
}

struct State {
    prefix: String,
    dimensions: usize,
    steps: Mutex<VecDeque<Step>>,
    last: Mutex<Step>,
    bulks: Mutex<Vec<Vec<Value>>>,
    heads: Mutex<Vec<String>>,
}

impl Fake {
    /// Answers for one generation `g` of an installation; bulk requests follow the steps, the last
    /// one for ever.
    pub async fn start(prefix: &str, dimensions: usize, steps: &[Step]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(State {
            prefix: prefix.to_owned(),
            dimensions,
            steps: Mutex::new(steps.iter().cloned().collect()),
            last: Mutex::new(Step::Take),
            bulks: Mutex::default(),
            heads: Mutex::default(),
        });
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&shared)));
            }
        });
        Self { url, state }
    }

    /// The lines of every bulk request so far.
    pub fn bulks(&self) -> Vec<Vec<Value>> {
        self.state.bulks.lock().unwrap().clone()
    }

    /// The heads of every request so far.
    pub fn heads(&self) -> Vec<String> {
        self.state.heads.lock().unwrap().clone()
    }
}

async fn serve(mut stream: TcpStream, state: Arc<State>) {
    while let Some((head, body)) = read(&mut stream).await {
        state.heads.lock().unwrap().push(head.clone());
        let mut words = head.split(' ');
        let (method, path) = (
            words.next().unwrap().to_owned(),
            words.next().unwrap().to_owned(),
        );
        let path = path.split('?').next().unwrap();
        let answer = match path {
            _ if path.ends_with("/_bulk") => bulk(&state, &body).await,
            _ if path.ends_with("/_mget") => Some((200, mget(&body))),
            _ if path.ends_with("/_refresh") => Some((200, json!({"_shards": {"failed": 0}}))),
            _ if method == "GET" && path == format!("/{}-g", state.prefix) => {
                Some((200, describe(&state)))
            }
            _ if path.starts_with("/_alias/") => {
                Some((404, json!({"error": "alias missing", "status": 404})))
            }
            _ => Some((
                400,
                json!({"error": format!("the fake knows no {method} {path}")}),
            )),
        };
        let Some((status, answer)) = answer else {
            return;
        };
        let answer = answer.to_string();
        let text = format!(
            "HTTP/1.1 {status} x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{answer}",
            answer.len()
        );
        if stream.write_all(text.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn read(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    loop {
        let mut part = [0; 65_536];
        let count = stream
            .read(&mut part)
            .await
            .ok()
            .filter(|count| *count > 0)?;
        bytes.extend_from_slice(&part[..count]);
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let length = head
            .lines()
            .find_map(|line| {
                line.to_lowercase()
                    .strip_prefix("content-length: ")?
                    .trim()
                    .parse()
                    .ok()
            })
            .unwrap_or(0);
        while bytes.len() < end + 4 + length {
            let count = stream
                .read(&mut part)
                .await
                .ok()
                .filter(|count| *count > 0)?;
            bytes.extend_from_slice(&part[..count]);
        }
        return Some((
            head,
            String::from_utf8_lossy(&bytes[end + 4..]).into_owned(),
        ));
    }
}

async fn bulk(state: &State, body: &str) -> Option<(u16, Value)> {
    let lines: Vec<Value> = body
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    state.bulks.lock().unwrap().push(lines.clone());
    let next = state.steps.lock().unwrap().pop_front();
    let step = match next {
        Some(step) => {
            *state.last.lock().unwrap() = step.clone();
            step
        }
        None => state.last.lock().unwrap().clone(),
    };
    let error = |kind: &str, reason: &str| json!({"type": kind, "reason": reason});
    match step {
        Step::Take => Some((200, json!({"items": items(&lines, |_| None)}))),
        Step::Refuse(status, kind, reason) => Some((
            status,
            json!({"error": error(kind, reason), "status": status}),
        )),
        Step::RefuseItems(text, status, kind, reason) => {
            let refused = |item: &str| item.contains(text).then(|| (status, error(kind, reason)));
            Some((200, json!({"items": items(&lines, refused)})))
        }
        Step::Hang => {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            None
        }
        Step::HangUp => None,
    }
}

fn items(lines: &[Value], refused: impl Fn(&str) -> Option<(u16, Value)>) -> Vec<Value> {
    let mut items = Vec::new();
    let mut place = 0;
    while let Some(head) = lines.get(place) {
        let verb = head.as_object().unwrap().keys().next().unwrap().clone();
        let source = if verb == "delete" {
            String::new()
        } else {
            lines[place + 1].to_string()
        };
        place += if verb == "delete" { 1 } else { 2 };
        items.push(match refused(&format!("{head}{source}")) {
            Some((status, error)) if verb != "delete" => {
                json!({verb: {"status": status, "error": error}})
            }
            _ => json!({verb: {"status": 201}}),
        });
    }
    items
}

fn mget(body: &str) -> Value {
    let asked: Value = serde_json::from_str(body).unwrap();
    let docs: Vec<Value> = asked["docs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|_| json!({"found": false}))
        .collect();
    json!({"docs": docs})
}

fn describe(state: &State) -> Value {
    let settings = json!({"coarse_dimensions": state.dimensions, "fine_dimensions": state.dimensions, "shared_vectors": true,
        "coarse_model": "m", "fine_model": "m", "analyzer": "a", "origin": ""});
    let meta =
        json!({"format": 1, "prefix": state.prefix, "generation": "g", "settings": settings});
    json!({format!("{}-g", state.prefix): {
        "aliases": {},
        "mappings": {"_meta": {"tributary": meta}, "properties": {"coarse": {"index_options": {"type": "flat"}}}},
        "settings": {"index.number_of_shards": "1"},
    }})
}
