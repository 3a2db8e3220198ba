//! A client that writes requests byte by byte, so that tests can send what no library would.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tributary_query_api::Operations;
use tributary_query_api::config::ServerConfig;

use super::backend::{self, Kept, Settings};

/// A running server.
pub struct Server {
    pub address: SocketAddr,
    pub kept: Arc<Kept>,
    stop: oneshot::Sender<()>,
    served: Served,
}

type Served = JoinHandle<tributary_schemas::Result<()>>;
type Shutdown = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(other, _)| other == name)
            .map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// Code of a problem.
    pub fn code(&self) -> String {
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json"),
            "{self:?}"
        );
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }
}

impl Server {
    pub async fn start() -> Self {
        Self::start_with(super::models(None), true).await
    }

    pub async fn start_with(models: tributary_retrieval::Models, ready: bool) -> Self {
        Self::start_with_config(models, ready, super::server_config()).await
    }

    pub async fn start_with_config(
        models: tributary_retrieval::Models,
        ready: bool,
        config: ServerConfig,
    ) -> Self {
        let (state, kept) = backend::state_with(models, ready, config).await;
        Self::serve(kept, |listener, shutdown| {
            tokio::spawn(tributary_query_api::serve(state, listener, shutdown))
        })
    }

    pub async fn start_with_settings(
        models: tributary_retrieval::Models,
        settings: Settings,
    ) -> Self {
        let (state, kept) = backend::state_of(models, true, settings).await;
        Self::serve(kept, |listener, shutdown| {
            tokio::spawn(tributary_query_api::serve(state, listener, shutdown))
        })
    }

    /// With time for a reranker that waits.
    pub async fn start_with_patience(
        models: tributary_retrieval::Models,
        config: ServerConfig,
    ) -> Self {
        let mut retrieval = super::config();
        retrieval.rerank.deadline_ms = 60_000;
        let (state, kept) = backend::state_with_retrieval(models, true, config, retrieval).await;
        Self::serve(kept, |listener, shutdown| {
            tokio::spawn(tributary_query_api::serve(state, listener, shutdown))
        })
    }

    /// What a process without the service `query` serves.
    pub async fn start_operations(ready: bool) -> Self {
        let operations =
            Operations::new(backend::operations(ready), super::server_config()).unwrap();
        let (_, kept) =
            backend::state_with(super::models(None), ready, super::server_config()).await;
        Self::serve(kept, |listener, shutdown| {
            tokio::spawn(tributary_query_api::serve_operations(
                operations, listener, shutdown,
            ))
        })
    }

    /// At an address of this machine that may be no loopback.
    pub async fn start_at(ip: IpAddr, settings: Settings) -> Self {
        let (state, kept) = backend::state_of(super::models(None), true, settings).await;
        Self::serve_at(ip, kept, |listener, shutdown| {
            tokio::spawn(tributary_query_api::serve(state, listener, shutdown))
        })
    }

    fn serve(kept: Arc<Kept>, spawn: impl FnOnce(TcpListener, Shutdown) -> Served) -> Self {
        Self::serve_at(Ipv4Addr::LOCALHOST.into(), kept, spawn)
    }

    fn serve_at(
        ip: IpAddr,
        kept: Arc<Kept>,
        spawn: impl FnOnce(TcpListener, Shutdown) -> Served,
    ) -> Self {
        let listener = TcpListener::bind((ip, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let served = spawn(
            listener,
            Box::pin(async move { stopped.await.unwrap_or(()) }),
        );
        Self {
            address,
            kept,
            stop,
            served,
        }
    }

    /// Stops the server and gives what `serve` returned.
    pub async fn stop(self) -> tributary_schemas::Result<()> {
        self.stop.send(()).unwrap();
        tokio::time::timeout(Duration::from_secs(10), self.served)
            .await
            .unwrap()
            .unwrap()
    }

    /// What `serve` returns by itself.
    pub async fn ended(self) -> tributary_schemas::Result<()> {
        let ended = tokio::time::timeout(Duration::from_secs(10), self.served);
        ended.await.unwrap().unwrap()
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"").await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(
            "POST",
            path,
            &[("Content-Type", "application/json")],
            body.to_string().as_bytes(),
        )
        .await
    }

    /// Sends a body and reads the head of the answer.
    pub async fn open(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> Reader {
        self.begin("POST", path, headers, &body.to_string()).await
    }

    /// The same with any method.
    pub async fn begin(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Reader {
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\nHost: {}\r\n",
            body.len(),
            self.address
        );
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str(&format!("\r\n{body}"));
        let address = self.address;
        let opened = move || {
            let mut stream = TcpStream::connect(address).unwrap();
            let patience = Some(Duration::from_secs(60));
            stream.set_read_timeout(patience).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
                head.extend(byte);
            }
            Reader {
                stream,
                head: String::from_utf8(head).unwrap(),
            }
        };
        tokio::task::spawn_blocking(opened).await.unwrap()
    }

    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n",
            body.len()
        );
        if !headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("host"))
        {
            head.push_str(&format!("Host: {}\r\n", self.address));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let (address, bytes) = (self.address, [head.as_bytes(), body].concat());
        tokio::task::spawn_blocking(move || exchange(address, &bytes))
            .await
            .unwrap()
    }
}

/// Reads an answer as it comes; dropping it closes the connection.
pub struct Reader {
    stream: TcpStream,
    head: String,
}

impl Reader {
    pub fn status(&self) -> u16 {
        self.head.split(' ').nth(1).unwrap().parse().unwrap()
    }

    pub fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines();
        let of_name = |line: &&str| line.to_lowercase().starts_with(&format!("{name}: "));
        lines.find(of_name).unwrap().split_once(": ").unwrap().1
    }

    /// All that is still to come.
    pub async fn rest(mut self) -> String {
        let read = move || {
            let mut rest = Vec::new();
            self.stream.read_to_end(&mut rest).unwrap();
            String::from_utf8_lossy(&rest).into_owned()
        };
        tokio::task::spawn_blocking(read).await.unwrap()
    }
}

fn exchange(address: SocketAddr, request: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    stream.write_all(request).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let mut lines = head.lines();
    let status = lines
        .next()
        .and_then(|line| line.split(' ').nth(1))
        .and_then(|code| code.parse().ok())
        .unwrap_or(0);
    let header = |line: &str| {
        line.split_once(": ")
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
    };
    Answer {
        status,
        headers: lines.filter_map(header).collect(),
        body: body.to_owned(),
    }
}
