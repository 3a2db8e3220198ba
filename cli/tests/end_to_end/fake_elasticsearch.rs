//! As much of Elasticsearch as one generation needs, in memory, on loopback. It refuses what is
//! asked of its documents when a test says so.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};

/// The server; its threads end with the test's process.
pub struct FakeElasticsearch {
    /// Its address.
    pub url: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Bodies of the requests that created them.
    indexes: BTreeMap<String, Value>,
    /// The index of each alias.
    aliases: BTreeMap<String, String>,
    /// By id: sequence number and source.
    documents: BTreeMap<String, (u64, Value)>,
    written: u64,
    refused: Option<(u16, &'static str)>,
}

type Answer = (u16, Value);

impl FakeElasticsearch {
    /// Starts an empty one.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, &state));
            }
        });
        Self { url, state }
    }

    /// Refuses requests about documents with this status and type of error from now on.
    pub fn refuse(&self, refused: Option<(u16, &'static str)>) {
        self.state.lock().unwrap().refused = refused;
    }
}

fn serve(stream: TcpStream, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    while let Some((method, path, body)) = read(&mut reader) {
        let (status, answer) = state.lock().unwrap().answer(&method, &path, &body);
        let text = answer.to_string();
        let head = format!(
            "HTTP/1.1 {status} x\r\nContent-Type: application/json\r\nX-Elastic-Product: Elasticsearch\r\n"
        );
        if write!(writer, "{head}Content-Length: {}\r\n\r\n{text}", text.len()).is_err() {
            return;
        }
    }
}

fn read(reader: &mut impl BufRead) -> Option<(String, String, String)> {
    let mut line = String::new();
    reader
        .read_line(&mut line)
        .ok()
        .filter(|count| *count > 0)?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader
            .read_line(&mut header)
            .ok()
            .filter(|count| *count > 0)?;
        let header = header.trim().to_lowercase();
        if header.is_empty() {
            break;
        }
        length = header
            .strip_prefix("content-length:")
            .and_then(|length| length.trim().parse().ok())
            .unwrap_or(length);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let path = target.split('?').next()?.to_owned();
    Some((method, path, String::from_utf8(body).ok()?))
}

impl State {
    fn answer(&mut self, method: &str, path: &str, body: &str) -> Answer {
        let verb = path.rsplit('/').next().unwrap_or_default();
        let is_about_documents = ["_mget", "_bulk", "_refresh", "_search"].contains(&verb);
        if let Some((status, kind)) = self.refused.filter(|_| is_about_documents) {
            return (
                status,
                json!({"error": {"type": kind, "reason": "scripted"}, "status": status}),
            );
        }
        let done = || json!({"acknowledged": true});
        match (method, verb) {
            (_, "_aliases") => (200, self.change_aliases(body)),
            (_, "_msearch") => (
                200,
                json!({"responses": body.lines().step_by(2).map(|_| json!({"hits": {"total": {"value": 0}}})).collect::<Vec<_>>()}),
            ),
            (_, "_refresh") => (200, json!({"_shards": {"failed": 0}})),
            (_, "_search") => (200, json!({"hits": {"hits": []}})),
            (_, "_mget") => (200, self.get_many(body)),
            (_, "_bulk") => (200, self.write(body)),
            _ if path.starts_with("/_alias/") => {
                (404, json!({"error": "alias missing", "status": 404}))
            }
            ("PUT", _) if path.matches('/').count() == 1 => {
                self.indexes
                    .insert(verb.to_owned(), serde_json::from_str(body).unwrap());
                (200, done())
            }
            ("GET", _) if path.matches('/').count() == 1 => self.describe(verb),
            _ => (200, json!({})),
        }
    }

    fn change_aliases(&mut self, body: &str) -> Value {
        let asked: Value = serde_json::from_str(body).unwrap();
        for added in asked["actions"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|action| action.get("add"))
        {
            let name = |key: &str| added[key].as_str().unwrap().to_owned();
            self.aliases.insert(name("alias"), name("index"));
        }
        json!({"acknowledged": true})
    }

    fn describe(&self, target: &str) -> Answer {
        let pattern = target.strip_suffix('*');
        let is_meant = |index: &str| {
            index == target
                || self.aliases.get(target).is_some_and(|of| of == index)
                || pattern.is_some_and(|start| index.starts_with(start))
        };
        let mut found = Map::new();
        for (index, created) in self.indexes.iter().filter(|(index, _)| is_meant(index)) {
            let aliases: Map<String, Value> = self
                .aliases
                .iter()
                .filter(|(_, of)| *of == index)
                .map(|(alias, _)| (alias.clone(), json!({})))
                .collect();
            let settings = json!({"index.number_of_shards": "1"});
            found.insert(
                index.clone(),
                json!({"aliases": aliases, "mappings": created["mappings"], "settings": settings}),
            );
        }
        let status = if found.is_empty() && pattern.is_none() {
            404
        } else {
            200
        };
        (status, Value::Object(found))
    }

    fn get_many(&self, body: &str) -> Value {
        let asked: Value = serde_json::from_str(body).unwrap();
        let one = |asked: &Value| match self.documents.get(asked["_id"].as_str().unwrap()) {
            Some((number, source)) => {
                json!({"found": true, "_source": source, "_seq_no": number, "_primary_term": 1})
            }
            None => json!({"found": false}),
        };
        json!({"docs": asked["docs"].as_array().unwrap().iter().map(one).collect::<Vec<_>>()})
    }

    fn write(&mut self, body: &str) -> Value {
        let mut lines = body
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut items = Vec::new();
        while let Some(head) = lines.next() {
            let (verb, action) = head.as_object().unwrap().iter().next().unwrap();
            let id = action["_id"].as_str().unwrap().to_owned();
            if verb == "delete" {
                self.documents.remove(&id);
            } else {
                self.written += 1;
                self.documents
                    .insert(id, (self.written, lines.next().unwrap()));
            }
            items.push(json!({verb: {"status": 200}}));
        }
        json!({"items": items})
    }
}
