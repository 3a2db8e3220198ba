//! Other ways to reach the engine, driven by the official clients in Python: the Model Context
//! Protocol over HTTP and over the verb `mcp`, and OpenAI's interface. Skipped aloud where they
//! cannot be installed.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::json;

use crate::harness::{RUN_DEADLINE, Server, Workspace, finish, skip, wait_for};

/// What the scripts are written for.
const LIBRARIES: [&str; 2] = ["mcp>=2.3,<3", "openai>=3,<4"];
const INSTALL_DEADLINE: Duration = Duration::from_secs(240);

const SETS: &str = r#"
[[knowledge_set]]
id = "radio"
name = "Radio"
view = "common"
rules = [{ source = "kb" }]
"#;

/// A Python that has the clients, in a virtual environment made once.
fn python() -> Option<&'static Path> {
    static PYTHON: OnceLock<Option<PathBuf>> = OnceLock::new();
    let made = PYTHON.get_or_init(|| match environment() {
        Ok(python) => Some(python),
        Err(why) => {
            skip(&format!("the official clients of MCP and OpenAI: {why}"));
            None
        }
    });
    made.as_deref()
}

fn environment() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("protocol-clients");
    let (python, stamp) = (folder.join("bin/python"), folder.join("installed"));
    let wanted = LIBRARIES.join("\n");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    let mut make = Command::new("python3");
    make.args(["-m", "venv", "--clear"]).arg(&folder);
    run(make)?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet"]);
    install.args(LIBRARIES);
    run(install)?;
    fs::write(&stamp, wanted).map_err(|error| error.to_string())?;
    Ok(python)
}

fn run(command: Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    if Command::new(&program).arg("--version").output().is_err() {
        return Err(format!("{program} is missing"));
    }
    let run = finish(command, INSTALL_DEADLINE);
    match run.code {
        0 => Ok(()),
        _ => Err(run.stderr),
    }
}

/// Two documents of one set, and a model that says what a script says.
fn knowledge() -> (Workspace, Server) {
    let workspace = Workspace::new();
    let slow = "A slow antenna tilts by one degree. ".repeat(40);
    let replies = json!([
        {"prompt": "answer", "contains": "slowly", "reply": slow, "piece_characters": 2, "piece_delay_ms": 100},
        {"prompt": "answer", "reply": "An antenna may tilt by at most eight degrees [1].", "piece_characters": 5},
    ]);
    let script = workspace.write("script.json", replies.to_string());
    let sets = workspace.write("sets.toml", SETS);
    let workspace = workspace
        .with("models.chat.endpoints.talker.kind", "scripted")
        .with("models.chat.endpoints.talker.model", "parrot")
        .with(
            "models.chat.endpoints.talker.script_file",
            script.to_str().unwrap(),
        )
        .with("models.chat.roles.answer.endpoint", "talker");
    workspace.write(
        "kb/tilt.md",
        "# Tilt\n\nHow antennas are mounted.\n\n## Limits\n\nAn antenna may tilt by at most eight degrees.\n",
    );
    workspace.write("kb/cells.csv", "site,power\nnorth,20\nsouth,25\nnorth,30\n");
    let server = workspace.start();
    let applied = workspace.run(["knowledge-sets", "apply", sets.to_str().unwrap()]);
    assert_eq!(applied.code, 0, "{applied:?}");
    let published = workspace.run(["publish", "kb", "--source", "kb", "--wait"]);
    assert_eq!(published.code, 0, "{published:?}");
    (workspace, server)
}

/// Runs a script of `clients`, which says `ok` at the end.
fn passes(workspace: &Workspace, script: &str, arguments: &[&str]) {
    let Some(python) = python() else { return };
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/end_to_end/clients")
        .join(script);
    let mut command = workspace.prepare(Command::new(python));
    command.arg(path).args(arguments);
    let run = finish(command, RUN_DEADLINE);
    assert_eq!((run.code, run.stdout.trim()), (0, "ok"), "{}", run.stderr);
}

/// Questions that were given up.
fn abandoned(server: &Server) -> u64 {
    let metrics = String::from_utf8(server.bytes("/metrics")).unwrap();
    let of_questions = |line: &&str| {
        line.starts_with("tributary_questions_total") && line.contains("\"unavailable\"")
    };
    let line = metrics.lines().find(of_questions);
    let count = line.and_then(|line| line.rsplit(' ').next()?.parse().ok());
    count.unwrap_or_default()
}

#[test]
fn tools_work_with_the_official_client_over_both_transports() {
    if python().is_none() {
        return;
    }
    let (workspace, server) = knowledge();
    let binary = env!("CARGO_BIN_EXE_tributary");
    for (expected, (transport, mode)) in [("http", "auto"), ("stdio", "auto"), ("stdio", "legacy")]
        .into_iter()
        .enumerate()
    {
        passes(
            &workspace,
            "mcp_client.py",
            &[transport, mode, &server.url, binary],
        );
        wait_for("the end of an answer that nobody reads", || {
            (abandoned(&server) > expected as u64).then_some(())
        });
    }
    passes(
        &workspace,
        "mcp_client.py",
        &["http", "legacy", &server.url, binary],
    );
}

#[test]
fn completions_work_with_the_official_client() {
    if python().is_none() {
        return;
    }
    let (workspace, server) = knowledge();
    passes(&workspace, "openai_client.py", &[&server.url]);
}

#[test]
fn the_bridge_says_only_messages_on_stdout_and_why_there_is_no_server() {
    let workspace = Workspace::new();
    workspace
        .run(["mcp"])
        .refused(1, &["no server runs on the data folder", "tributary run"]);
    workspace
        .run(["mcp", "--server", "http://127.0.0.1:1"])
        .refused(1, &["cannot reach the server"]);
    let server = workspace.start();
    let mut command = workspace.command();
    command.args(["mcp", "-v"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let messages = "no json\n{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/list\"}\n";
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(messages.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let lines: Vec<serde_json::Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(lines[0]["error"]["code"], -32700);
    assert_eq!(lines[1]["id"], "a");
    assert!(lines[1]["result"]["tools"].is_array());
    server.stop();
}
