//! A chat server on loopback that writes a summary or a description with a word of its own for each text, counts its
//! calls, takes its time and goes away when a test says so.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;

use crate::harness::Workspace;

/// The server; its threads end with the test's process.
#[derive(Clone, Default)]
pub struct ChatServer {
    url: String,
    is_away: Arc<AtomicBool>,
    delay_ms: Arc<AtomicU64>,
    calls: Arc<AtomicUsize>,
    bodies: Arc<Mutex<Vec<String>>>,
}

impl ChatServer {
    /// Starts it.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            url: format!("http://{}/v1", listener.local_addr().unwrap()),
            ..Self::default()
        };
        let shared = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let server = shared.clone();
                std::thread::spawn(move || server.serve(stream));
            }
        });
        server
    }

    /// The workspace with it as the model of all roles.
    pub fn of(&self, workspace: Workspace) -> Workspace {
        workspace
            .with("models.chat.endpoint.url", &self.url)
            .with("models.chat.endpoint.model", "parrot")
            .with("models.chat.endpoint.parallel", "8")
            .with("models.chat.endpoint.retry_pause_ms", "10")
            .with("models.chat.endpoint.circuit_pause_ms", "100")
            .with("enrich.summaries.patience_seconds", "2")
    }

    /// Whether it answers 503 from now on.
    pub fn set_away(&self, is_away: bool) {
        self.is_away.store(is_away, Ordering::SeqCst);
    }

    /// How long it takes for a reply from now on.
    pub fn set_delay(&self, delay: Duration) {
        let delay_ms = u64::try_from(delay.as_millis()).unwrap();
        self.delay_ms.store(delay_ms, Ordering::SeqCst);
    }

    /// Replies so far.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    /// Bodies of the calls that were replied to.
    pub fn bodies(&self) -> Vec<String> {
        self.bodies.lock().unwrap().clone()
    }

    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut writer = stream;
        while let Some(body) = read(&mut reader) {
            let answer = if self.is_away.load(Ordering::SeqCst) {
                let body = json!({"error": {"message": "no worker"}}).to_string();
                response("503 Service Unavailable", "application/json", &body)
            } else {
                std::thread::sleep(Duration::from_millis(self.delay_ms.load(Ordering::SeqCst)));
                let call = self.calls.fetch_add(1, Ordering::SeqCst);
                // Its examples have the field that a prompt wants.
                let field = match body.contains(r#"\"description\""#) {
                    true => "description",
                    false => "summary",
                };
                self.bodies.lock().unwrap().push(body);
                response("200 OK", "text/event-stream", &reply(call, field))
            };
            if writer.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    }
}

fn reply(call: usize, field: &str) -> String {
    let text = json!({field: format!("Parrotword number {call} of the relay.")}).to_string();
    let piece = json!({"choices": [{"index": 0, "delta": {"content": text}}]});
    let end =
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "model": "parrot"});
    format!("data: {piece}\n\ndata: {end}\n\ndata: [DONE]\n\n")
}

pub fn response(status: &str, media_type: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

pub fn read(reader: &mut impl BufRead) -> Option<String> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim().to_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    String::from_utf8(body).ok()
}
