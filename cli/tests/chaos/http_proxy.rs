//! A proxy on loopback that knows HTTP and bulk requests: between the processes and Elasticsearch.
//! It answers 401 to 503, takes its time, cuts connections in the middle of an answer, and refuses
//! single items of a bulk request, as a node under pressure does.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::driver::POISON;

/// How the node seems to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weather {
    /// Everything passes.
    #[default]
    Fair,
    /// Every write is answered 429.
    TooManyRequests,
    /// Every request is answered 503.
    Unavailable,
    /// Every request is answered 401, as after a change of the password.
    Unauthorized,
    /// Every request is answered 403.
    Forbidden,
    /// Every request is answered 500.
    Broken,
    /// Every other item of a bulk request is refused with 429; the others pass.
    RejectedItems,
    /// Every request takes half a second longer.
    Slow,
    /// Every third request reaches the node, but the connection is cut before the answer is whole.
    Cut,
    /// Connections end before the request is read.
    Away,
}

#[derive(Default)]
struct State {
    target: AtomicU16,
    weather: Mutex<Weather>,
    requests: AtomicU64,
    disturbed: AtomicU64,
}

/// The proxy; lives until the test ends.
pub struct HttpProxy {
    pub port: u16,
    state: Arc<State>,
}

struct Request {
    line: String,
    headers: Vec<String>,
    body: Vec<u8>,
}

impl HttpProxy {
    /// Listens on a free port.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                // A failed connection is what this is for.
                std::thread::spawn(move || serve(client, &state).ok());
            }
        });
        Self { port, state }
    }

    /// Where everything goes.
    pub fn lead_to(&self, port: u16) {
        self.state.target.store(port, Ordering::Relaxed);
    }

    /// From now on.
    pub fn set(&self, weather: Weather) {
        *self
            .state
            .weather
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = weather;
    }

    /// Requests that did not pass as they came.
    pub fn disturbed(&self) -> u64 {
        self.state.disturbed.load(Ordering::Relaxed)
    }
}

fn serve(client: TcpStream, state: &State) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    let mut answers = client.try_clone()?;
    let mut reader = BufReader::new(client);
    while let Some(request) = read_request(&mut reader)? {
        let number = state.requests.fetch_add(1, Ordering::Relaxed);
        let weather = *state.weather.lock().unwrap_or_else(PoisonError::into_inner);
        let is_write = request.line.starts_with("PUT ") || request.line.contains("_bulk");
        if weather != Weather::Fair {
            state.disturbed.fetch_add(1, Ordering::Relaxed);
        }
        match weather {
            Weather::Away => return answers.shutdown(Shutdown::Both),
            Weather::TooManyRequests if is_write => {
                answers.write_all(&refusal(429, "es_rejected_execution_exception"))?
            }
            Weather::Unauthorized => answers.write_all(&refusal(401, "security_exception"))?,
            Weather::Forbidden => answers.write_all(&refusal(403, "security_exception"))?,
            Weather::Broken => answers.write_all(&refusal(500, "node_closed_exception"))?,
            Weather::Unavailable => answers.write_all(&refusal(503, "cluster_block_exception"))?,
            Weather::Cut if number.is_multiple_of(3) => {
                let answer = ask(&request, state)?;
                answers.write_all(&answer[..answer.len() / 2])?;
                return answers.shutdown(Shutdown::Both);
            }
            _ => {
                if weather == Weather::Slow {
                    std::thread::sleep(Duration::from_millis(500));
                }
                answers.write_all(&pass(&request, weather == Weather::RejectedItems, state)?)?;
            }
        }
    }
    Ok(())
}

fn invalid(what: &str) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, what.to_owned())
}

fn read_request(reader: &mut BufReader<TcpStream>) -> std::io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        if header.trim_end().is_empty() {
            break;
        }
        headers.push(header);
    }
    let body = match header(&headers, "content-length") {
        Some(length) => {
            let mut body = vec![0; length.parse().map_err(|_| invalid("content-length"))?];
            reader.read_exact(&mut body)?;
            body
        }
        None if header(&headers, "transfer-encoding").is_some() => read_chunks(reader)?,
        None => Vec::new(),
    };
    Ok(Some(Request {
        line,
        headers,
        body,
    }))
}

fn read_chunks(reader: &mut BufReader<TcpStream>) -> std::io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut size = String::new();
        reader.read_line(&mut size)?;
        let size = usize::from_str_radix(size.trim(), 16).map_err(|_| invalid("chunk size"))?;
        let start = body.len();
        body.resize(start + size + 2, 0);
        reader.read_exact(&mut body[start..])?;
        body.truncate(start + size);
        if size == 0 {
            return Ok(body);
        }
    }
}

fn header<'a>(headers: &'a [String], name: &str) -> Option<&'a str> {
    let pair = headers
        .iter()
        .filter_map(|header| header.split_once(':'))
        .find(|(other, _)| other.eq_ignore_ascii_case(name));
    pair.map(|(_, value)| value.trim())
}

/// The whole answer of the node, as it came.
fn ask(request: &Request, state: &State) -> std::io::Result<Vec<u8>> {
    let mut node = TcpStream::connect(("127.0.0.1", state.target.load(Ordering::Relaxed)))?;
    node.set_nodelay(true)?;
    let mut head = request.line.clone();
    let hidden = [
        "connection",
        "content-length",
        "transfer-encoding",
        "accept-encoding",
    ];
    for header in &request.headers {
        let name = header
            .split(':')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase();
        if !hidden.contains(&name.as_str()) {
            head.push_str(header);
        }
    }
    head.push_str(&format!(
        "content-length: {}\r\nconnection: close\r\n\r\n",
        request.body.len()
    ));
    node.write_all(head.as_bytes())?;
    node.write_all(&request.body)?;
    let mut answer = Vec::new();
    node.read_to_end(&mut answer)?;
    Ok(answer)
}

/// Head and body of an answer; the body without its chunks.
fn split(answer: &[u8]) -> std::io::Result<(Vec<String>, Vec<u8>)> {
    let end = answer
        .windows(4)
        .position(|bytes| bytes == b"\r\n\r\n")
        .ok_or_else(|| invalid("no answer"))?;
    let head = String::from_utf8_lossy(&answer[..end])
        .lines()
        .map(str::to_owned)
        .collect::<Vec<_>>();
    let mut body = answer[end + 4..].to_vec();
    if header(&head, "transfer-encoding").is_some_and(|encoding| encoding.contains("chunked")) {
        let mut whole = Vec::new();
        let mut rest = body.as_slice();
        while let Some(line_end) = rest.windows(2).position(|bytes| bytes == b"\r\n") {
            let size = usize::from_str_radix(&String::from_utf8_lossy(&rest[..line_end]), 16)
                .map_err(|_| invalid("chunk size"))?;
            if size == 0 {
                break;
            }
            let data = rest
                .get(line_end + 2..line_end + 2 + size)
                .ok_or_else(|| invalid("short answer"))?;
            whole.extend_from_slice(data);
            rest = rest.get(line_end + 4 + size..).unwrap_or_default();
        }
        body = whole;
    }
    Ok((head, body))
}

fn reply(head: &[String], body: &[u8]) -> Vec<u8> {
    let mut answer = format!("{}\r\n", head[0]);
    let hidden = ["connection", "content-length", "transfer-encoding"];
    for line in &head[1..] {
        if !hidden.contains(
            &line
                .split(':')
                .next()
                .unwrap_or_default()
                .to_ascii_lowercase()
                .as_str(),
        ) {
            answer.push_str(&format!("{line}\r\n"));
        }
    }
    answer.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
    [answer.as_bytes(), body].concat()
}

/// Asks the node; single items may be refused on the way.
fn pass(request: &Request, refuse_some: bool, state: &State) -> std::io::Result<Vec<u8>> {
    if !request.line.contains("_bulk") {
        let (head, body) = split(&ask(request, state)?)?;
        // A HEAD request's answer has the length of what is not there.
        return Ok(if request.line.starts_with("HEAD ") {
            headless(&head)
        } else {
            reply(&head, &body)
        });
    }
    let items = bulk_items(&request.body);
    let refused: Vec<Option<Value>> = items
        .iter()
        .enumerate()
        .map(|(number, item)| refused(number, item, refuse_some))
        .collect();
    if refused.iter().all(Option::is_none) {
        let (head, body) = split(&ask(request, state)?)?;
        return Ok(reply(&head, &body));
    }
    state.disturbed.fetch_add(1, Ordering::Relaxed);
    let passed: Vec<u8> = items
        .iter()
        .zip(&refused)
        .filter(|(_, refused)| refused.is_none())
        .flat_map(|(item, _)| item.bytes.clone())
        .collect();
    let (head, mut answer) = if passed.is_empty() {
        let head = [
            "HTTP/1.1 200 OK",
            "X-elastic-product: Elasticsearch",
            "content-type: application/vnd.elasticsearch+json;compatible-with=8",
        ];
        (
            head.map(str::to_owned).to_vec(),
            json!({"took": 1, "items": []}),
        )
    } else {
        let request = Request {
            line: request.line.clone(),
            headers: request.headers.clone(),
            body: passed,
        };
        let (head, body) = split(&ask(&request, state)?)?;
        match serde_json::from_slice::<Value>(&body) {
            Ok(answer) if answer.get("items").is_some() => (head, answer),
            _ => return Ok(reply(&head, &body)),
        }
    };
    let mut done = answer["items"]
        .as_array()
        .cloned()
        .unwrap_or_default()
        .into_iter();
    answer["items"] = refused
        .into_iter()
        .filter_map(|refused| refused.or_else(|| done.next()))
        .collect();
    answer["errors"] = json!(true);
    Ok(reply(&head, answer.to_string().as_bytes()))
}

fn headless(head: &[String]) -> Vec<u8> {
    let lines = head
        .iter()
        .filter(|line| !line.to_ascii_lowercase().starts_with("connection"))
        .cloned()
        .collect::<Vec<_>>();
    format!("{}\r\n\r\n", lines.join("\r\n")).into_bytes()
}

/// One action of a bulk request with its source.
struct BulkItem {
    action: String,
    target: Value,
    bytes: Vec<u8>,
}

fn bulk_items(body: &[u8]) -> Vec<BulkItem> {
    let mut items = Vec::new();
    let mut lines = body
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    while let Some(line) = lines.next() {
        let Ok(Value::Object(action)) = serde_json::from_slice::<Value>(line) else {
            break;
        };
        let Some((name, target)) = action.into_iter().next() else {
            break;
        };
        let mut bytes = [line, b"\n"].concat();
        if name != "delete" {
            bytes.extend_from_slice(lines.next().unwrap_or_default());
            bytes.push(b'\n');
        }
        items.push(BulkItem {
            action: name,
            target,
            bytes,
        });
    }
    items
}

/// The answer for an item that does not pass.
fn refused(number: usize, item: &BulkItem, refuse_some: bool) -> Option<Value> {
    let is_poison = item.action != "delete"
        && item
            .bytes
            .windows(POISON.len())
            .any(|bytes| bytes == POISON.as_bytes());
    let (status, kind, reason) = match (is_poison, refuse_some && number.is_multiple_of(2)) {
        (true, _) => (
            400,
            "document_parsing_exception",
            "[1:9] failed to parse field [text] of type [text]",
        ),
        (false, true) => (
            429,
            "es_rejected_execution_exception",
            "rejected execution of coordinating operation",
        ),
        (false, false) => return None,
    };
    let error = json!({"type": kind, "reason": reason});
    Some(
        json!({item.action.as_str(): {"_index": item.target["_index"], "_id": item.target["_id"], "status": status, "error": error}}),
    )
}

fn refusal(status: u16, kind: &str) -> Vec<u8> {
    let body =
        json!({"error": {"type": kind, "reason": "the node is under pressure"}, "status": status})
            .to_string();
    let head = format!(
        "HTTP/1.1 {status} Refused\r\nX-elastic-product: Elasticsearch\r\ncontent-type: application/json\r\n"
    );
    format!("{head}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}
