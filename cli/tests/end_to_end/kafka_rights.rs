//! A broker that asks who calls and allows what its ACLs say, which are those of `docs/rights.md`:
//! the program as its user, a producer beside it, and strangers. Starts a broker of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::harness::{Server, Workspace, skip, wait_for};

const ENGINE: &str = "engine-secret";
/// Of the configuration, and of the guide.
const RAW: &str = "tributary.documents.raw.v1";

struct Broker {
    name: String,
    address: String,
}

impl Broker {
    /// With four users, of whom the first may do everything.
    fn start(workspace: &Workspace) -> Self {
        let users = format!(
            "admin:a-secret\ntributary:{ENGINE}\nwiki-import:w-secret\nstranger:s-secret\n"
        );
        let users = workspace.write("users", users);
        let name = format!("rights-{}", std::process::id());
        let users = users.to_str().unwrap();
        let arguments = [
            "start", "--name", &name, "--port", "free", "--heap", "256m", "--users", users,
        ];
        let address = services(&arguments)
            .lines()
            .last()
            .unwrap()
            .trim()
            .to_owned();
        Self { name, address }
    }

    /// The lines of the guide that make or take rights, as an administrator of Kafka runs them.
    fn run_lines_of_the_guide(&self) {
        let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/rights.md");
        let guide = std::fs::read_to_string(guide).unwrap();
        let lines: Vec<&str> = guide
            .lines()
            .filter_map(|line| line.strip_prefix("$acls "))
            .collect();
        assert_eq!(lines.len(), 3, "{lines:?}");
        lines.iter().for_each(|line| self.acls(line));
    }

    fn acls(&self, line: &str) {
        let mut arguments = vec!["acls"];
        arguments.extend(line.split_whitespace());
        services_of(&self.name, &arguments);
    }

    /// What a client of Kafka's own, as this user, writes to a topic: whether it was taken.
    fn write(&self, user: &str, password: &str, topic: &str, line: &str) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let settings = folder.path().join("client.properties");
        let module = "org.apache.kafka.common.security.plain.PlainLoginModule";
        let text = format!(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={module} required username=\"{user}\" password=\"{password}\";\n"
        );
        std::fs::write(&settings, text).unwrap();
        let producer = "org.apache.kafka.tools.ConsoleProducer";
        let settings = settings.to_str().unwrap();
        let mut command = kafka(&[
            "tool",
            producer,
            "--bootstrap-server",
            &self.address,
            "--producer.config",
            settings,
            "--topic",
            topic,
            "--sync",
            "--property",
            "parse.key=true",
            "--producer-property",
            "max.block.ms=20000",
        ]);
        command
            .env("TRIBUTARY_KAFKA_NAME", &self.name)
            .stdin(Stdio::piped());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), line.as_bytes()).unwrap();
        let ended = child.wait_with_output().unwrap();
        let said = [ended.stdout, ended.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        ended.status.success() && !said.contains("Exception") && !said.contains("ERROR")
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        services(&["clean", "--name", &self.name]);
    }
}

fn kafka(arguments: &[&str]) -> Command {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../deploy/services/kafka");
    let mut command = Command::new(script);
    command.args(arguments);
    command
}

fn services(arguments: &[&str]) -> String {
    ran(kafka(arguments))
}

fn services_of(name: &str, arguments: &[&str]) -> String {
    let mut command = kafka(arguments);
    command.env("TRIBUTARY_KAFKA_NAME", name);
    ran(command)
}

fn ran(mut command: Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A program on this broker.
fn on(workspace: Workspace, address: &str) -> Workspace {
    workspace
        .with("store.event_log.kind", "kafka")
        .with("store.event_log.kafka.brokers", address)
        .with("store.event_log.kafka.connect_timeout_ms", "4000")
        .with("store.partitions", "1")
        .with("query_api.server.audit.enabled", "true")
}

/// The same as a user of it; a later password counts.
fn as_user(workspace: Workspace, password: &str) -> Workspace {
    workspace
        .with("store.event_log.kafka.security_protocol", "sasl_plaintext")
        .with("store.event_log.kafka.sasl_mechanism", "PLAIN")
        .with("store.event_log.kafka.username", "tributary")
        .with("store.event_log.kafka.password", password)
}

/// Runs `run` and `doctor`, which must both end with these words, and never with a password.
fn both_say(workspace: &Workspace, words: &[&str]) {
    let run = workspace.run(["run", "--listen", "127.0.0.1:0"]);
    run.refused(1, words);
    let doctor = workspace.run(["doctor"]);
    for word in words {
        assert!(doctor.stdout.contains(word), "{word}: {doctor:?}");
    }
    for said in [&run.stdout, &run.stderr, &doctor.stdout, &doctor.stderr] {
        assert!(
            !said.contains(ENGINE) && !said.contains("not-the-password"),
            "{said}"
        );
    }
}

fn event(word: &str) -> serde_json::Value {
    json!({"source": "wiki", "source_path": format!("{word}.md"), "content": format!("# {word}\n\n{word} crosses")})
}

/// The line of a producer: the key of a record is the id of the document.
fn line(id: &str, word: &str) -> String {
    let mut event = event(word);
    event["document_id"] = json!(id);
    format!("{id}\t{event}\n")
}

fn is_found(server: &Server, word: &str) -> bool {
    let (status, answer) = server.post("/v1/search", &json!({"query": word}));
    assert_eq!(status, 200, "{answer}");
    answer.to_string().contains(&format!("{word} crosses"))
}

#[test]
fn with_the_acls_of_the_guide_everything_works_and_without_them_nothing_is_lost() {
    if std::env::var("TRIBUTARY_TEST_KAFKA").is_ok_and(|brokers| !brokers.is_empty()) {
        kafka_asks_who_calls();
    } else {
        skip("TRIBUTARY_TEST_KAFKA does not say that a broker can be started here");
    }
}

fn kafka_asks_who_calls() {
    let broker = Broker::start(&Workspace::new());
    // Not as anybody, with a wrong password, and before there are rights.
    let plain = on(Workspace::new(), &broker.address);
    both_say(&plain, &["hangs up", "security_protocol"]);
    let workspace = as_user(plain, "not-the-password");
    both_say(
        &workspace,
        &["Invalid username or password", "password_file"],
    );
    let workspace = as_user(workspace, ENGINE);
    both_say(&workspace, &["TopicAuthorizationFailed", "docs/rights.md"]);

    broker.run_lines_of_the_guide();
    let server = workspace.start();
    server.settled(&server.publish(&event("zebra")));
    assert!(is_found(&server, "zebra"));

    // A producer writes documents and nothing else; others write nothing.
    let from_producer = line("from-kafka", "okapi");
    assert!(broker.write("wiki-import", "w-secret", RAW, &from_producer));
    wait_for("the producer's document", || {
        is_found(&server, "okapi").then_some(())
    });
    let states = "tributary.documents.states.v1";
    assert!(!broker.write("wiki-import", "w-secret", states, "a\tb\n"));
    assert!(!broker.write("stranger", "s-secret", RAW, &from_producer));
    assert!(!broker.write("wiki-import", "not-the-password", RAW, &from_producer));

    // A right that is taken away holds work up, and it goes on when the right is back.
    let denied =
        "--deny-principal User:tributary --operation Write --topic tributary.chunks.tagged.v1";
    broker.acls(&format!("--add {denied}"));
    let (held, version) = server.publish(&event("gnu"));
    wait_for("the stage to say that it is held", || {
        let (_, ready) = server.get("/health/readyz");
        ready
            .to_string()
            .contains("TopicAuthorizationFailed")
            .then_some(())
    });
    assert!(!is_found(&server, "gnu"));
    let doctor = workspace.run(["doctor"]);
    let told = "does not let this user write `tributary.chunks.tagged.v1`";
    assert!(doctor.stdout.contains(told), "{doctor:?}");
    broker.acls(&format!("--remove --force {denied}"));
    server.settled(&(held, version));
    assert!(is_found(&server, "gnu"));

    // What is published while nobody may come in waits in Kafka.
    server.stop();
    let late = line("late", "ibex");
    assert!(broker.write("wiki-import", "w-secret", RAW, &late));
    let workspace = as_user(workspace, "not-the-password");
    workspace
        .run(["run", "--listen", "127.0.0.1:0"])
        .refused(1, &["Invalid username or password"]);
    let workspace = as_user(workspace, ENGINE);
    let server = workspace.start();
    wait_for("what waited", || is_found(&server, "ibex").then_some(()));
    assert!(is_found(&server, "zebra") && is_found(&server, "gnu"));
    let doctor = workspace.run(["doctor"]);
    assert!(
        doctor
            .stdout
            .contains("every topic may be read and written"),
        "{doctor:?}"
    );
    server.stop();
}
