//! A language model on loopback that does whatever the documents say, and keeps what it was sent.

use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::chat_server::{read, response};
use crate::harness::Workspace;

/// Characters of each piece of a reply.
const PIECE: usize = 3;

/// What is said where a text stands in the last message.
#[derive(Clone)]
pub struct Obeys {
    /// All of these stand there.
    pub if_shown: Vec<String>,
    /// The reply.
    pub reply: String,
}

/// The model; its threads end with the test's process.
#[derive(Clone)]
pub struct ObedientModel {
    url: String,
    obeys: Arc<Vec<Obeys>>,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl ObedientModel {
    /// Starts it.
    pub fn start(obeys: Vec<Obeys>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let model = Self {
            url: format!("http://{}/v1", listener.local_addr().unwrap()),
            obeys: Arc::new(obeys),
            requests: Arc::default(),
        };
        let shared = model.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let model = shared.clone();
                std::thread::spawn(move || model.serve(stream));
            }
        });
        model
    }

    /// The workspace with it as the model that answers.
    pub fn of(&self, workspace: Workspace) -> Workspace {
        workspace
            .with("models.chat.endpoints.obedient.url", &self.url)
            .with("models.chat.endpoints.obedient.model", "obedient")
            .with("models.chat.roles.answer.endpoint", "obedient")
    }

    /// What it was sent, oldest first.
    pub fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }

    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut writer = stream;
        while let Some(body) = read(&mut reader) {
            let request: Value = serde_json::from_str(&body).unwrap();
            let reply = events(&self.reply(&request));
            self.requests.lock().unwrap().push(request);
            let answer = response("200 OK", "text/event-stream", &reply);
            if writer.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    }

    fn reply(&self, request: &Value) -> String {
        let last = request["messages"].as_array().unwrap().last().unwrap();
        let shown = last["content"].as_str().unwrap();
        let is_shown = |obeys: &&Obeys| obeys.if_shown.iter().all(|text| shown.contains(text));
        let obeyed = self.obeys.iter().find(is_shown);
        obeyed
            .map_or("Nothing was ordered [1].", |obeys| &obeys.reply)
            .to_owned()
    }
}

fn events(reply: &str) -> String {
    let characters: Vec<char> = reply.chars().collect();
    let piece = |piece: &[char]| {
        let text: String = piece.iter().collect();
        json!({"choices": [{"index": 0, "delta": {"content": text}}]}).to_string()
    };
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}).to_string();
    let pieces = characters.chunks(PIECE).map(piece);
    let lines = pieces.chain([end, "[DONE]".to_owned()]);
    lines.map(|line| format!("data: {line}\n\n")).collect()
}
