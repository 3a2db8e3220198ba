//! A folder with its own data folder, runs of the binary with a deadline, and servers that go with
//! the test.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Whatever takes longer is stuck, on the busiest machine too.
pub const RUN_DEADLINE: Duration = Duration::from_secs(180);
const POLL: Duration = Duration::from_millis(20);

/// A folder of one test: files to publish, a data folder, settings.
pub struct Workspace {
    folder: TempDir,
    settings: Vec<(String, String)>,
}

/// What one run of the binary left.
#[derive(Debug)]
pub struct Run {
    /// Exit code; -1 after a signal.
    pub code: i32,
    /// The result.
    pub stdout: String,
    /// The rest.
    pub stderr: String,
}

/// A running server; killed when it goes.
pub struct Server {
    child: Child,
    /// Base URL.
    pub url: String,
    /// Lines of stdout after the first.
    reader: Option<JoinHandle<String>>,
    log: PathBuf,
    agent: ureq::Agent,
}

impl Workspace {
    /// An empty folder; models are the hashing embedder, so that no file of a model is needed.
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            settings: Vec::new(),
        }
        .with("models.kind", "hashing")
        .with("telemetry.filter", "info")
    }

    /// With a configuration key set, as the environment does it.
    pub fn with(mut self, key: &str, value: &str) -> Self {
        self.settings.push((
            format!("TRIBUTARY__{}", key.to_uppercase().replace('.', "__")),
            value.to_owned(),
        ));
        self
    }

    /// A path inside the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The data folder.
    pub fn data(&self) -> PathBuf {
        self.path("data")
    }

    /// Writes a file, with its folders.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// The binary, in this folder and with nothing of the caller's configuration.
    pub fn command(&self) -> Command {
        self.prepare(Command::new(env!("CARGO_BIN_EXE_tributary")))
    }

    /// Another program that starts the binary, such as a shell in a namespace of its own.
    pub fn prepare(&self, mut command: Command) -> Command {
        let inherited = std::env::vars_os()
            .map(|(name, _)| name)
            .filter(|name| name.to_string_lossy().starts_with("TRIBUTARY"));
        for name in inherited {
            command.env_remove(name);
        }
        command
            .env("TRIBUTARY_DATA_DIR", self.data())
            .env_remove("NO_COLOR")
            .current_dir(self.folder.path());
        command.envs(self.settings.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs a verb to its end.
    pub fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Run {
        let mut command = self.command();
        command.args(arguments);
        finish(command, RUN_DEADLINE)
    }

    /// Runs a verb that must succeed, and reads its one JSON object.
    pub fn json<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Value {
        let run = self.run(arguments);
        assert_eq!(run.code, 0, "{run:?}");
        run.json()
    }

    /// Documents that a search finds, best first.
    pub fn found(&self, query: &str) -> Vec<String> {
        hit_texts(&self.json(["search", query, "--format", "json"]), query)
    }

    /// Starts `run` on a free port and waits until it listens.
    pub fn start(&self) -> Server {
        self.start_with(&[])
    }

    /// The same with more arguments.
    pub fn start_with(&self, arguments: &[&str]) -> Server {
        let mut command = self.command();
        command
            .args(["run", "--listen", "127.0.0.1:0"])
            .args(arguments);
        Server::spawn(command, self.path("run.log"))
    }
}

impl Run {
    /// stdout as the one JSON object that it must be.
    pub fn json(&self) -> Value {
        let value: Value = serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("stdout is not one JSON value: {error}: {self:?}"));
        assert!(value.is_object(), "{self:?}");
        value
    }

    /// Fails unless the run ended with `code` and said all of `texts` on stderr.
    #[track_caller]
    pub fn refused(&self, code: i32, texts: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        for text in texts {
            assert!(
                self.stderr.contains(text),
                "`{text}` is not in: {}",
                self.stderr
            );
        }
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
    }
}

impl Server {
    /// Starts a command that becomes a server; its log lines go to a file.
    pub fn spawn(mut command: Command, log: PathBuf) -> Self {
        let file = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .unwrap();
        command
            .stdout(Stdio::piped())
            .stderr(file)
            .stdin(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let Some(url) = line
            .split_whitespace()
            .find(|word| word.starts_with("http://") || word.starts_with("https://"))
        else {
            let status = child.wait().unwrap();
            panic!(
                "no server: {line:?}, {status}, {}",
                fs::read_to_string(&log).unwrap()
            );
        };
        let url = url.to_owned();
        let reader = std::thread::spawn(move || {
            let mut rest = String::new();
            stdout
                .read_to_string(&mut rest)
                .map_or_else(|_| String::new(), |_| rest)
        });
        let settings = ureq::Agent::config_builder()
            .http_status_as_error(false)
            // Shorter than the server keeps a connection that says nothing.
            .max_idle_age(Duration::from_secs(2))
            .timeout_global(Some(RUN_DEADLINE));
        Self {
            child,
            url,
            reader: Some(reader),
            log,
            agent: settings.build().into(),
        }
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Log lines so far.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// POST with a JSON body: status and body.
    pub fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.try_post(path, body).unwrap()
    }

    /// The same, where the server may be gone.
    pub fn try_post(&self, path: &str, body: &Value) -> Result<(u16, Value), ureq::Error> {
        read(
            self.agent
                .post(format!("{}{path}", self.url))
                .send_json(body)?,
        )
    }

    /// GET: status and body.
    pub fn get(&self, path: &str) -> (u16, Value) {
        self.try_get(path).unwrap()
    }

    /// A file of the server.
    pub fn bytes(&self, path: &str) -> Vec<u8> {
        self.agent
            .get(format!("{}{path}", self.url))
            .call()
            .unwrap()
            .body_mut()
            .read_to_vec()
            .unwrap()
    }

    /// POST with a JSON body for a file.
    pub fn post_for_bytes(&self, path: &str, body: &Value) -> Vec<u8> {
        let sent = self.agent.post(format!("{}{path}", self.url));
        let mut answer = sent.send_json(body).unwrap();
        assert!(answer.status().is_success(), "{answer:?}");
        answer.body_mut().read_to_vec().unwrap()
    }

    /// The same, where the server may be gone.
    pub fn try_get(&self, path: &str) -> Result<(u16, Value), ureq::Error> {
        read(self.agent.get(format!("{}{path}", self.url)).call()?)
    }

    /// DELETE, where the server may be gone.
    pub fn try_delete(&self, path: &str) -> Result<(u16, Value), ureq::Error> {
        read(self.agent.delete(format!("{}{path}", self.url)).call()?)
    }

    /// Publishes one document and returns its id and version.
    pub fn publish(&self, event: &Value) -> (String, u64) {
        let (status, answer) = self.post("/v1/documents", event);
        assert_eq!(status, 202, "{answer}");
        (
            answer
                .get("document_id")
                .and_then(Value::as_str)
                .unwrap()
                .to_owned(),
            answer.get("version").and_then(Value::as_u64).unwrap(),
        )
    }

    /// The final state of a document's version (or a newer one).
    pub fn settled(&self, (document_id, version): &(String, u64)) -> Value {
        let body = serde_json::json!({"document_ids": [document_id]});
        wait_for(&format!("a final state of {document_id}"), || {
            let (_, answer) = self.post("/v1/documents/states", &body);
            let state = answer
                .pointer("/documents/0")
                .filter(|state| !state.is_null())?
                .clone();
            let is_final =
                ["indexed", "skipped", "deleted", "dead"].contains(&state.get("state")?.as_str()?);
            (is_final && state.get("version")?.as_u64()? >= *version).then_some(state)
        })
    }

    /// Sends a signal by name, such as `TERM`.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .arg(format!("-{name}"))
            .arg(self.pid().to_string())
            .status()
            .unwrap();
        assert!(sent.success());
    }

    /// Kills it as a power cut would.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end and returns the status and what else it printed.
    pub fn ended(&mut self) -> (ExitStatus, String) {
        let status = wait_for("the end of the server", || self.child.try_wait().unwrap());
        (
            status,
            self.reader
                .take()
                .map(|reader| reader.join().unwrap())
                .unwrap_or_default(),
        )
    }

    /// Stops it in order.
    pub fn stop(mut self) {
        self.signal("TERM");
        let (status, _) = self.ended();
        assert!(status.success(), "{status}: {}", self.log());
    }

    /// Largest resident memory so far, in bytes; `None` where the system does not tell.
    pub fn peak_memory_bytes(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.split_whitespace()
            .next()?
            .parse::<u64>()
            .ok()
            .map(|kib| kib * 1024)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            self.child
                .kill()
                .and_then(|()| self.child.wait().map(drop))
                .ok();
        }
    }
}

fn read(mut response: ureq::http::Response<ureq::Body>) -> Result<(u16, Value), ureq::Error> {
    let status = response.status().as_u16();
    let text = response
        .body_mut()
        .with_config()
        .limit(1 << 30)
        .read_to_string()?;
    Ok((
        status,
        serde_json::from_str(&text).unwrap_or(Value::String(text)),
    ))
}

/// Runs a command to its end; fails if it takes longer than `deadline`.
pub fn finish(command: Command, deadline: Duration) -> Run {
    finish_with(command, Stdio::null(), deadline)
}

/// The same with something on stdin.
pub fn finish_with(mut command: Command, stdin: impl Into<Stdio>, deadline: Duration) -> Run {
    command
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let stdout = in_background(child.stdout.take().unwrap());
    let stderr = in_background(child.stderr.take().unwrap());
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > deadline {
            child.kill().unwrap();
            panic!(
                "{command:?} did not end within {deadline:?}: {}",
                stderr.join().unwrap()
            );
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    Run {
        code: status.code().unwrap_or(-1),
        stdout: stdout.join().unwrap(),
        stderr: stderr.join().unwrap(),
    }
}

fn in_background(mut stream: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap_or_else(|error| panic!("the output is not UTF-8: {error}"))
    })
}

/// Asks until there is an answer; fails after the deadline, saying what was waited for.
pub fn wait_for<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + RUN_DEADLINE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(POLL);
    }
}

/// Texts of the hits that hold the word, in the order of rank.
pub fn hit_texts(answer: &Value, word: &str) -> Vec<String> {
    let hits = answer.get("hits").and_then(Value::as_array).unwrap();
    let texts = hits
        .iter()
        .map(|hit| hit.get("text").and_then(Value::as_str).unwrap().to_owned());
    texts.filter(|text| text.contains(word)).collect()
}

/// The string at a JSON pointer.
#[track_caller]
pub fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_else(|| panic!("no text at {pointer} in {value}"))
}

/// The whole number at a JSON pointer.
#[track_caller]
pub fn number(value: &Value, pointer: &str) -> u64 {
    value
        .pointer(pointer)
        .and_then(Value::as_u64)
        .unwrap_or_else(|| panic!("no number at {pointer} in {value}"))
}

/// The list at a JSON pointer.
#[track_caller]
pub fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .unwrap_or_else(|| panic!("no list at {pointer} in {value}"))
}

/// Fails unless the object has all the names.
#[track_caller]
pub fn has_fields(value: &Value, names: &[&str]) {
    let missing: Vec<_> = names
        .iter()
        .filter(|name| value.get(**name).is_none())
        .collect();
    assert!(missing.is_empty(), "{missing:?} missing in {value}");
}

/// Says loudly that something cannot be tested here.
pub fn skip(why: &str) {
    eprintln!("SKIPPED: {why}");
}
