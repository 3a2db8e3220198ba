//! An HTTP server that does what a test says, byte by byte, and notices when a client leaves.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// What it does next on a connection.
#[derive(Clone, Debug)]
pub enum Step {
    /// Sends bytes.
    Send(Vec<u8>),
    /// Waits.
    Pause(Duration),
    /// Does nothing until the client leaves.
    Hang,
    /// Closes the connection, as it does after the last step anyway unless the client may use it
    /// again.
    KeepOpen,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Seen {
    /// From 1.
    pub number: usize,
    /// Its head.
    pub head: String,
    /// Its body.
    pub body: Value,
}

/// The server; its threads end with the test's process.
pub struct Server {
    /// Address of its API.
    pub url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    left: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// Answers each request with the steps that `answer` gives.
    pub fn start(answer: impl Fn(&Seen) -> Vec<Step> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            url: format!("http://{}/v1", listener.local_addr().unwrap()),
            seen: Arc::default(),
            left: Arc::default(),
            connections: Arc::default(),
        };
        let (seen, left) = (Arc::clone(&server.seen), Arc::clone(&server.left));
        let (answer, connections) = (Arc::new(answer), Arc::clone(&server.connections));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                connections.fetch_add(1, Ordering::SeqCst);
                let (seen, left, answer) = (Arc::clone(&seen), Arc::clone(&left), answer.clone());
                std::thread::spawn(move || serve(stream, &seen, &left, answer.as_ref()));
            }
        });
        server
    }

    /// Requests so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Clients that left while it did nothing.
    pub fn left(&self) -> usize {
        self.left.load(Ordering::SeqCst)
    }

    /// Connections so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

fn serve(
    stream: TcpStream,
    seen: &Mutex<Vec<Seen>>,
    left: &AtomicUsize,
    answer: &dyn Fn(&Seen) -> Vec<Step>,
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    while let Some((head, body)) = read(&mut reader) {
        let request = {
            let mut seen = seen.lock().unwrap();
            let number = seen.len() + 1;
            seen.push(Seen { number, head, body });
            seen[number - 1].clone()
        };
        let mut keeps = false;
        for step in answer(&request) {
            match step {
                Step::Send(bytes) => {
                    if writer.write_all(&bytes).is_err() {
                        left.fetch_add(1, Ordering::SeqCst);
                        return;
                    }
                }
                Step::Pause(pause) => std::thread::sleep(pause),
                Step::KeepOpen => keeps = true,
                Step::Hang => {
                    let mut rest = [0; 64];
                    while reader.read(&mut rest).is_ok_and(|count| count > 0) {}
                    left.fetch_add(1, Ordering::SeqCst);
                    return;
                }
            }
        }
        if !keeps {
            return;
        }
    }
}

fn read(reader: &mut impl BufRead) -> Option<(String, Value)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((head, serde_json::from_slice(&body).unwrap_or(Value::Null)))
}

/// Bytes.
pub fn send(text: impl AsRef<[u8]>) -> Step {
    Step::Send(text.as_ref().to_vec())
}

/// The head of a reply whose body ends with the connection.
pub fn head(status: u16, media_type: &str) -> Step {
    send(format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {media_type}\r\nconnection: close\r\n\r\n"
    ))
}

/// A whole reply.
pub fn whole(status: u16, media_type: &str, headers: &str, body: &str) -> Vec<Step> {
    vec![send(format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {media_type}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    ))]
}

/// A refusal in OpenAI's shape.
pub fn refusal(status: u16, message: &str) -> Vec<Step> {
    let body = json!({"error": {"message": message}}).to_string();
    whole(status, "application/json", "", &body)
}

/// The head of a stream.
pub fn stream() -> Step {
    head(200, "text/event-stream")
}

/// An event.
pub fn data(value: &Value) -> Step {
    send(format!("data: {value}\n\n"))
}

/// An event with a piece of text.
pub fn piece(text: &str) -> Step {
    data(&json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]}))
}

/// The events at the end.
pub fn end() -> Vec<Step> {
    vec![
        data(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})),
        data(
            &json!({"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 5}, "model": "served"}),
        ),
        send("data: [DONE]\n\n"),
    ]
}

/// A stream of these pieces as it should be.
pub fn good(pieces: &[&str]) -> Vec<Step> {
    let mut steps = vec![stream()];
    steps.extend(pieces.iter().map(|text| piece(text)));
    steps.extend(end());
    steps
}
