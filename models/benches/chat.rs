//! What the client of chat models costs: a server in this process streams a reply of 500 pieces as
//! fast as it can, to a reader of bare bytes, to the client, and to a role with everything around a
//! call. Prints milliseconds a call and microseconds a piece.
//!
//! ```console
//! $ cargo bench -p tributary-models --bench chat
//! ```
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tributary_models::chat::budget::Budget;
use tributary_models::chat::config::EndpointConfig;
use tributary_models::chat::openai::OpenAiModel;
use tributary_models::chat::role_model::Endpoint;
use tributary_models::chat::{
    ChatConfig, ChatModel, ChatRequest, Format, Message, Role, RoleModel, SharedObserver, Speaker,
    Unobserved,
};
use tributary_models::tokens::estimate::EstimatedTokens;

const PIECES: usize = 500;
const CALLS: usize = 200;

fn main() {
    let (address, reply) = serve();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let config = endpoint(&address);
    let client: Arc<dyn ChatModel> = Arc::new(OpenAiModel::new("bench", config.clone()).unwrap());
    let role = role(Arc::clone(&client), &config);
    for short in [true, false] {
        let pieces = if short { 1 } else { PIECES };
        let bare = median(|| bare(&address, reply, pieces));
        let clients = median(|| runtime.block_on(call(client.as_ref(), pieces)));
        let roles = median(|| runtime.block_on(call(&role, pieces)));
        println!("{pieces:4} pieces: bare {}", milliseconds(bare));
        for (name, took) in [("client", clients), ("role", roles)] {
            let over = took.saturating_sub(bare);
            println!(
                "{pieces:4} pieces: {name} {}, {} more, {:.2} µs a piece",
                milliseconds(took),
                milliseconds(over),
                over.as_secs_f64() * 1e6 / pieces as f64
            );
        }
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}

fn median(mut once: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..CALLS)
        .map(|_| {
            let started = Instant::now();
            once();
            started.elapsed()
        })
        .collect();
    times.sort();
    times[CALLS / 2]
}

fn endpoint(url: &str) -> EndpointConfig {
    let defaults: toml::Table = include_str!("../../cli/default.toml").parse().unwrap();
    let chat: ChatConfig = defaults["models"]["chat"].clone().try_into().unwrap();
    EndpointConfig {
        url: format!("http://{url}/v1"),
        model: "bench".to_owned(),
        ..chat.endpoint
    }
}

fn role(model: Arc<dyn ChatModel>, config: &EndpointConfig) -> RoleModel {
    let observer: SharedObserver = Arc::new(Unobserved);
    let endpoint = Arc::new(Endpoint::new("bench", model, config.clone(), &observer));
    RoleModel::new(
        Role::Answer,
        endpoint,
        Budget::new(0, 0),
        Arc::new(EstimatedTokens),
    )
}

async fn call(model: &dyn ChatModel, pieces: usize) {
    let request = ChatRequest {
        prompt: "bench".to_owned(),
        messages: vec![Message::new(Speaker::User, "x".repeat(4000))],
        tools: Vec::new(),
        maximum_tokens: pieces,
        temperature: None,
        format: Format::Text,
        top_logprobs: 0,
        deadline: None,
    };
    let reply = model.complete(&request).await.unwrap();
    assert_eq!(reply.text.len(), pieces * 6);
}

/// A request over a connection of its own thread, and its bytes.
fn bare(address: &str, reply: fn(usize) -> String, pieces: usize) {
    thread_local! {
        static KEPT: std::cell::RefCell<Option<TcpStream>> = const { std::cell::RefCell::new(None) };
    }
    KEPT.with_borrow_mut(|kept| {
        let stream = kept.get_or_insert_with(|| connect(address));
        let body = format!(
            "{{\"max_tokens\":{pieces},\"text\":\"{}\"}}",
            "x".repeat(4000)
        );
        write!(
            stream,
            "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut rest = reply(pieces).len();
        let mut buffer = vec![0; 64 << 10];
        while rest > 0 {
            rest -= stream.read(&mut buffer).unwrap();
        }
    });
}

fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Its address, and the bytes of its reply of so many pieces.
fn serve() -> (String, fn(usize) -> String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || answer(stream));
        }
    });
    (address, reply)
}

fn answer(stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    while let Some(body) = read(&mut reader) {
        let number = body.split("\"max_tokens\":").nth(1).unwrap();
        let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
        if writer
            .write_all(reply(digits.parse().unwrap()).as_bytes())
            .is_err()
        {
            return;
        }
    }
}

fn read(reader: &mut impl BufRead) -> Option<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let lower = head.to_lowercase();
    let length = lower.split("content-length: ").nth(1)?;
    let digits: String = length.chars().take_while(char::is_ascii_digit).collect();
    let mut body = vec![0; digits.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    String::from_utf8(body).ok()
}

fn reply(pieces: usize) -> String {
    let piece = "data: {\"choices\":[{\"finish_reason\":null,\"index\":0,\"delta\":{\"content\":\" piece\"}}],\"created\":1795253578,\"id\":\"chatcmpl-x\",\"model\":\"bench\",\"object\":\"chat.completion.chunk\"}\n\n";
    let end = "data: {\"choices\":[{\"finish_reason\":\"stop\",\"index\":0,\"delta\":{}}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":1000,\"completion_tokens\":500}}\n\ndata: [DONE]\n\n";
    let events = format!("{}{end}", piece.repeat(pieces));
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{events}",
        events.len()
    )
}
