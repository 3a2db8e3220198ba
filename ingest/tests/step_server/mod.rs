//! A service of a team's own on loopback that answers as a test says: rightly, wrongly or not at all.
//! Also used by the end-to-end tests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// Bytes that [`Behaviour::Huge`] is willing to send.
pub const HUGE_BYTES: u64 = 500 << 20;
/// How long one that hangs or trickles keeps its connection.
const LONG: Duration = Duration::from_secs(120);

/// How one call is answered.
#[derive(Clone, Debug)]
#[allow(dead_code)]
pub enum Behaviour {
    /// 200 with this JSON.
    Reply(Value),
    /// This status (with its words), header lines and body.
    Raw(&'static str, &'static str, String),
    /// 200 with 500 MB.
    Huge,
    /// A length is promised, half of it sent, and the connection closed.
    Half,
    /// Nothing, and the connection stays open.
    Hang,
    /// Nothing, and the connection is closed.
    Close,
    /// A byte every 50 ms.
    Trickle,
}

type Script = Arc<dyn Fn(usize, &Value) -> Behaviour + Send + Sync>;

/// The server; its threads end with the test's process.
#[derive(Clone)]
pub struct StepServer {
    /// Its address.
    pub url: String,
    script: Arc<Mutex<Script>>,
    calls: Arc<AtomicUsize>,
    sent: Arc<AtomicU64>,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
}

/// The reply to a request that changes nothing.
pub fn echo(request: &Value) -> Value {
    json!({"document_id": request["document_id"], "version": request["version"]})
}

#[allow(dead_code)]
impl StepServer {
    /// Starts it. The script gets the number of the call, from 0, and the request.
    pub fn start(script: impl Fn(usize, &Value) -> Behaviour + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let script: Script = Arc::new(script);
        let server = Self {
            url: format!("http://{}/clean", listener.local_addr().unwrap()),
            script: Arc::new(Mutex::new(script)),
            calls: Arc::default(),
            sent: Arc::default(),
            requests: Arc::default(),
        };
        let shared = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let server = shared.clone();
                std::thread::spawn(move || server.serve(&stream));
            }
        });
        server
    }

    /// Always the same.
    pub fn always(behaviour: Behaviour) -> Self {
        Self::start(move |_, _| behaviour.clone())
    }

    /// Answers otherwise from now on.
    pub fn answer(&self, script: impl Fn(usize, &Value) -> Behaviour + Send + Sync + 'static) {
        *self.script.lock().unwrap() = Arc::new(script);
    }

    /// Calls so far.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    /// Bytes of bodies so far.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::SeqCst)
    }

    /// Heads and bodies of the calls so far.
    pub fn requests(&self) -> Vec<(String, Value)> {
        self.requests.lock().unwrap().clone()
    }

    fn serve(&self, stream: &TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        while let Some((head, request)) = read(&mut reader) {
            let call = self.calls.fetch_add(1, Ordering::SeqCst);
            let script = Arc::clone(&self.script.lock().unwrap());
            let behaviour = script(call, &request);
            self.requests.lock().unwrap().push((head, request));
            if self.behave(stream, behaviour).is_none() {
                return;
            }
        }
    }

    /// None ends the connection.
    fn behave(&self, mut stream: &TcpStream, behaviour: Behaviour) -> Option<()> {
        match behaviour {
            Behaviour::Reply(json) => {
                let body = json.to_string();
                self.send(
                    stream,
                    "200 OK",
                    "Content-Type: application/json\r\n",
                    &body,
                )
            }
            Behaviour::Raw(status, headers, body) => self.send(stream, status, headers, &body),
            Behaviour::Half => {
                let head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"docu";
                stream.write_all(head.as_bytes()).ok()?;
                None
            }
            Behaviour::Hang => {
                std::thread::sleep(LONG);
                None
            }
            Behaviour::Close => None,
            Behaviour::Huge => {
                let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";
                stream.write_all(head.as_bytes()).ok()?;
                let piece = vec![b' '; 1 << 16];
                while self.sent() < HUGE_BYTES {
                    stream.write_all(&piece).ok()?;
                    self.sent.fetch_add(piece.len() as u64, Ordering::SeqCst);
                }
                None
            }
            Behaviour::Trickle => {
                let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n";
                stream.write_all(head.as_bytes()).ok()?;
                while stream.write_all(b" ").is_ok() {
                    std::thread::sleep(Duration::from_millis(50));
                }
                None
            }
        }
    }

    fn send(&self, mut stream: &TcpStream, status: &str, headers: &str, body: &str) -> Option<()> {
        let length = body.len();
        // A status without a body has no length either.
        let length = match status.starts_with("204") {
            true => String::new(),
            false => format!("Content-Length: {length}\r\n"),
        };
        let answer = format!("HTTP/1.1 {status}\r\n{headers}{length}\r\n{body}");
        self.sent.fetch_add(body.len() as u64, Ordering::SeqCst);
        stream.write_all(answer.as_bytes()).ok()
    }
}

fn read(reader: &mut impl BufRead) -> Option<(String, Value)> {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line.to_lowercase());
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    Read::read_exact(reader, &mut body).ok()?;
    Some((head, serde_json::from_slice(&body).ok()?))
}
