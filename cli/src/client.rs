//! Talks to a server over HTTP: the one that runs on the data folder, a named one, or one that this
//! process starts for itself.

mod problem;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tributary_query_api::http::backup::BYTES_HEADER;
use tributary_schemas::ask::AskEvent;
use tributary_schemas::{Error, ErrorKind};
use tributary_store::data_folder::{self, Guest};

pub use self::problem::is_unconfirmed;
use self::problem::{problem, text_of};
use crate::app::LocalServer;
use crate::args::{Global, Key, Service};
use crate::config::Config;
use crate::events;
use crate::print;
use crate::trust::Trust;

/// How long a request is made again that the server has no room for.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest pause before it is.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// How long a folder that another process has is waited for: its server may be about to answer.
pub const STARTING: Duration = Duration::from_secs(10);
/// Pause between two tries to open it.
pub const STARTING_LOOK: Duration = Duration::from_millis(200);

/// A connection; with its own server if none was running.
pub struct Client {
    base: String,
    agent: ureq::Agent,
    key: Option<Key>,
    trust: Trust,
    /// Stops when the client goes.
    local: Option<LocalServer>,
    /// Keeps the server of another verb.
    guest: Option<Guest>,
}

impl Client {
    /// Finds a server, or starts `services` in this process.
    pub fn connect(global: &Global, config: &Config, services: &[Service]) -> Result<Self> {
        let until = Instant::now() + STARTING;
        let local = loop {
            // Before it is looked for: it may be that of a verb that is about to end.
            let is_of_folder = global.server.is_none();
            let folder = Path::new(&config.store.data_folder);
            let guest = is_of_folder.then(|| Guest::of(folder)).flatten();
            if let Some(running) = Self::of_running_server(global, config) {
                return Ok(Self { guest, ..running });
            }
            drop(guest);
            match LocalServer::start(config, services) {
                // A server that is starting there, or a verb that is about to end.
                Err(error) if is_in_use(&error) && Instant::now() < until => {
                    std::thread::sleep(STARTING_LOOK);
                }
                started => break started?,
            }
        };
        if global.key.is_some() {
            print::note(&format!(
                "no server runs on {}, so nobody looks at the key: this is done as the owner of the folder",
                config.store.data_folder
            ));
        }
        let url = local.url().to_owned();
        let connected = Self::to(url, folder_key(config), Trust::OwnServer);
        Ok(Self {
            local: Some(local),
            ..connected
        })
    }

    /// The server that was named, or that runs on the data folder; starts none.
    pub fn of_running_server(global: &Global, config: &Config) -> Option<Self> {
        if let Some(url) = &global.server {
            let trust = Trust::named(global.ca_file.as_ref());
            return Some(Self::to(base_of(url), global.key.clone(), trust));
        }
        let folder = Path::new(&config.store.data_folder);
        let server = data_folder::running_server(folder)?;
        let key = global.key.clone().or_else(|| folder_key(config));
        Some(Self::to(server.url, key, Trust::OwnServer))
    }

    /// A connection to the server of this address, which shows this key with every request.
    pub fn to(base: String, key: Option<Key>, trust: Trust) -> Self {
        let settings = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .tls_config(trust.settings(&base))
            .timeout_connect(Some(Duration::from_secs(5)))
            // The server closes a connection after five seconds without a request: one that is
            // older may close while it is written to.
            .max_idle_age(Duration::from_secs(3));
        let settings = match &key {
            Some(key) => settings.middleware(Shown(key.bearer())),
            None => settings,
        };
        Self {
            base,
            agent: settings.build().into(),
            key,
            trust,
            local: None,
            guest: None,
        }
    }

    /// Another connection to the same server.
    pub fn another(&self) -> Self {
        Self::to(self.base.clone(), self.key.clone(), self.trust.clone())
    }

    /// Whose certificates it accepts.
    pub fn trust(&self) -> &Trust {
        &self.trust
    }

    /// What it shows to the server.
    pub fn key(&self) -> Option<&Key> {
        self.key.as_ref()
    }

    /// What its addresses begin with.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Whether the server lives and dies with this process.
    pub fn is_local(&self) -> bool {
        self.local.is_some()
    }

    /// Stops a server of our own and waits for what is in progress, or lets that of another verb go.
    pub fn close(mut self) -> Result<()> {
        drop(self.guest.take());
        self.local.take().map_or(Ok(()), LocalServer::stop)
    }

    /// GET.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        self.answer(patiently(|| self.agent.get(self.url(path)).call()))
    }

    /// GET of what may not be there.
    pub fn get_if_there<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>> {
        let response = patiently(|| self.agent.get(self.url(path)).call());
        if response.as_ref().is_ok_and(is_unknown) {
            return Ok(None);
        }
        self.answer(response).map(Some)
    }

    /// POST with a JSON body.
    pub fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T> {
        self.answer(patiently(|| {
            self.agent.post(self.url(path)).send_json(body)
        }))
    }

    /// POST without a body and with a header, for a stream: the bytes that the server expects to
    /// send, and a reader.
    pub fn post_for_stream(
        &self,
        path: &str,
        (name, value): (&str, &str),
    ) -> Result<(u64, impl std::io::Read)> {
        let sent = self
            .agent
            .post(self.url(path))
            .header(name, value)
            .send_empty();
        let mut response =
            sent.with_context(|| format!("cannot reach the server at {}", self.base))?;
        let status = response.status();
        if !status.is_success() {
            return Err(problem(status.as_u16(), &text_of(&mut response)));
        }
        let bytes = response
            .headers()
            .get(BYTES_HEADER)
            .and_then(|bytes| bytes.to_str().ok()?.parse().ok())
            .unwrap_or(0);
        Ok((bytes, response.into_body().into_reader()))
    }

    /// POST with a JSON body for a file.
    pub fn post_for_bytes(&self, path: &str, body: &impl Serialize) -> Result<Vec<u8>> {
        let sent = patiently(|| self.agent.post(self.url(path)).send_json(body));
        let mut response =
            sent.with_context(|| format!("cannot reach the server at {}", self.base))?;
        let status = response.status();
        if !status.is_success() {
            return Err(problem(status.as_u16(), &text_of(&mut response)));
        }
        let read = response.body_mut().with_config().limit(1 << 30);
        read.read_to_vec().context("the server's answer broke off")
    }

    /// POST with a JSON body for an answer as it is written.
    pub fn post_for_events(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<impl Iterator<Item = Result<AskEvent>>> {
        let sent = patiently(|| {
            let post = self.agent.post(self.url(path));
            post.header("accept", "text/event-stream").send_json(body)
        });
        let mut response =
            sent.with_context(|| format!("cannot reach the server at {}", self.base))?;
        let status = response.status();
        if !status.is_success() {
            let body = response.body_mut().read_to_string();
            return Err(problem(status.as_u16(), &body.ok().unwrap_or_default()));
        }
        Ok(events::read(response.into_body().into_reader()))
    }

    /// GET of lines, each as it comes.
    pub fn get_lines(&self, path: &str) -> Result<impl Iterator<Item = Result<String>> + use<>> {
        let got = self.agent.get(self.url(path)).call();
        let mut response =
            got.with_context(|| format!("cannot reach the server at {}", self.base))?;
        let status = response.status();
        if !status.is_success() {
            return Err(problem(status.as_u16(), &text_of(&mut response)));
        }
        let lines = BufReader::new(response.into_body().into_reader()).lines();
        Ok(lines.map(|line| line.context("the server's answer broke off")))
    }

    /// GET, as text.
    pub fn get_text(&self, path: &str) -> Result<String> {
        let mut response = self
            .agent
            .get(self.url(path))
            .call()
            .with_context(|| format!("cannot reach the server at {}", self.base))?;
        let text = response
            .body_mut()
            .read_to_string()
            .context("the server's answer broke off")?;
        if response.status().is_success() {
            Ok(text)
        } else {
            Err(problem(response.status().as_u16(), &text))
        }
    }

    /// GET of a file, written as it comes; how many bytes it has.
    pub fn download(&self, path: &str, to: &mut impl std::io::Write) -> Result<u64> {
        let got = self.agent.get(self.url(path)).call();
        let mut response =
            got.with_context(|| format!("cannot reach the server at {}", self.base))?;
        let status = response.status();
        if !status.is_success() {
            return Err(problem(status.as_u16(), &text_of(&mut response)));
        }
        std::io::copy(&mut response.into_body().into_reader(), to)
            .context("the server's answer broke off")
    }

    /// PUT with a text body.
    pub fn put_text<T: DeserializeOwned>(
        &self,
        path: &str,
        media_type: &str,
        body: &str,
    ) -> Result<T> {
        self.answer(
            self.agent
                .put(self.url(path))
                .content_type(media_type)
                .send(body),
        )
    }

    /// PATCH with a JSON body.
    pub fn patch<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T> {
        self.answer(self.agent.patch(self.url(path)).send_json(body))
    }

    /// DELETE.
    pub fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        self.answer(self.agent.delete(self.url(path)).call())
    }

    /// DELETE; `None` for what the server does not know.
    pub fn delete_if_there<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>> {
        let response = self.agent.delete(self.url(path)).call();
        if response.as_ref().is_ok_and(is_unknown) {
            return Ok(None);
        }
        self.answer(response).map(Some)
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    fn unreachable(&self, error: ureq::Error) -> anyhow::Error {
        let hint = hint(&self.base, &error.to_string());
        let what = format!("cannot reach the server at {}", self.base);
        let failed = anyhow::Error::from(error).context(what);
        match hint {
            Some(hint) => Error::new(ErrorKind::Unavailable, format!("{failed:#}"))
                .with_hint(hint)
                .into(),
            None => failed,
        }
    }

    fn answer<T: DeserializeOwned>(
        &self,
        response: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    ) -> Result<T> {
        let mut response = response.map_err(|error| self.unreachable(error))?;
        let status = response.status();
        let body = response
            .body_mut()
            .with_config()
            .limit(1 << 30)
            .read_to_string()
            .context("the server's answer broke off")?;
        if !status.is_success() {
            return Err(problem(status.as_u16(), &body));
        }
        let text = if body.is_empty() {
            "null"
        } else {
            body.as_str()
        };
        serde_json::from_str(text)
            .with_context(|| format!("the server at {} answered something unexpected", self.base))
    }
}

/// Why a server that answers in another way than expected cannot be spoken to.
fn hint(base: &str, why: &str) -> Option<&'static str> {
    if why.contains("invalid peer certificate") {
        return Some(
            "--ca-file FILE names whom to trust: the certificate that signed the server's",
        );
    }
    let is_plain = base.starts_with("http://") && why.contains("http parse fail");
    is_plain.then_some("the server may speak HTTPS: begin its address with https://")
}

/// Who may read the data folder may do everything on its server: shows what lies there for that.
pub fn folder_key(config: &Config) -> Option<Key> {
    let folder = Path::new(&config.store.data_folder);
    let token = data_folder::read_backup_token(folder);
    // Who may not read it needs a key of their own, and is told so by the server.
    token.ok().flatten()?.parse().ok()
}

/// Adds the key to every request.
struct Shown(ureq::http::HeaderValue);

impl ureq::middleware::Middleware for Shown {
    fn handle(
        &self,
        mut request: ureq::http::Request<ureq::SendBody>,
        next: ureq::middleware::MiddlewareNext,
    ) -> Result<ureq::http::Response<ureq::Body>, ureq::Error> {
        let headers = request.headers_mut();
        headers.insert(ureq::http::header::AUTHORIZATION, self.0.clone());
        next.handle(request)
    }
}

/// The base of a server's addresses; `host:port` alone means HTTP.
pub fn base_of(server: &str) -> String {
    let server = server.trim_end_matches('/');
    if server.contains("://") {
        server.to_owned()
    } else {
        format!("http://{server}")
    }
}

/// Asks again for a while if the server has too much to do: it refuses what it has no room for, and
/// says when to come again.
fn patiently(
    ask: impl Fn() -> Result<ureq::http::Response<ureq::Body>, ureq::Error>,
) -> Result<ureq::http::Response<ureq::Body>, ureq::Error> {
    let started = Instant::now();
    loop {
        let response = ask()?;
        if response.status() != ureq::http::StatusCode::TOO_MANY_REQUESTS
            || started.elapsed() >= PATIENCE
        {
            return Ok(response);
        }
        let seconds = response
            .headers()
            .get("retry-after")
            .and_then(|seconds| seconds.to_str().ok()?.parse().ok())
            .unwrap_or(1);
        std::thread::sleep(Duration::from_secs(seconds).min(LONGEST_PAUSE));
    }
}

fn is_unknown(response: &ureq::http::Response<ureq::Body>) -> bool {
    response.status() == ureq::http::StatusCode::NOT_FOUND
}

/// Percent-encodes one segment of a path.
pub fn segment(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// Refuses an empty argument.
pub fn require(text: &str, what: &str) -> Result<()> {
    if text.is_empty() {
        bail!("{what} is empty")
    } else {
        Ok(())
    }
}

/// Whether another process has the data folder.
pub fn is_in_use(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<Error>()
        .is_some_and(data_folder::is_in_use)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_and_a_port_are_an_address() {
        assert_eq!(base_of("127.0.0.1:7470"), "http://127.0.0.1:7470");
        assert_eq!(base_of("https://kb.example/"), "https://kb.example");
    }

    #[test]
    fn ids_with_slashes_and_emoji_fit_into_a_path() {
        assert_eq!(segment("a/b c😀"), "a%2Fb%20c%F0%9F%98%80");
    }

    #[test]
    fn what_the_server_has_no_room_for_is_asked_again() {
        let asked = std::cell::Cell::new(0);
        let answered = patiently(|| {
            asked.set(asked.get() + 1);
            let status = if asked.get() < 3 { 429 } else { 200 };
            let response = ureq::http::Response::builder()
                .status(status)
                .header("retry-after", "0");
            Ok(response
                .body(ureq::Body::builder().data(""))
                .unwrap_or_else(|error| panic!("{error}")))
        });
        assert_eq!(
            (
                answered.map(|response| response.status().as_u16()).ok(),
                asked.get()
            ),
            (Some(200), 3)
        );
    }
}
