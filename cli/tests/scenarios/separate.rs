//! Every kind of service as processes of their own, two of a kind sharing the partitions, and one
//! going on when the other leaves.

use std::fs::File;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::harness::{Server, Workspace, hit_texts, wait_for};
use crate::runner::quiet;
use crate::stores::Stores;

/// A process without a server.
pub struct Worker {
    child: Child,
}

impl Worker {
    fn start(workspace: &Workspace, services: &str, number: usize) -> Self {
        Self::spawn(workspace.command(), workspace, services, number)
    }

    /// The same with a command that has more in its environment.
    pub fn spawn(
        mut command: Command,
        workspace: &Workspace,
        services: &str,
        number: usize,
    ) -> Self {
        let log = workspace.path(&format!("{}-{number}.log", services.replace(',', "-")));
        command
            .args(["run", "--services", services])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log).unwrap());
        let worker = Self {
            child: command.spawn().unwrap(),
        };
        wait_for(&format!("{services} to run"), || {
            std::fs::read_to_string(&log)
                .unwrap()
                .contains("tributary runs ")
                .then_some(())
        });
        worker
    }

    /// Ends it in order.
    pub fn stop(mut self) {
        let sent = Command::new("kill")
            .arg(self.child.id().to_string())
            .status()
            .unwrap();
        assert!(sent.success());
        let status = wait_for("the end of a worker", || self.child.try_wait().unwrap());
        assert!(status.success(), "{status}");
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            self.child
                .kill()
                .and_then(|()| self.child.wait().map(drop))
                .ok();
        }
    }
}

fn publish(server: &Server, from: usize, to: usize) {
    for number in from..to {
        let content = format!(
            "# Page {number}\n\nThe wombat{number} digs its own burrow, number {number} of many, and {} more.",
            number * 7
        );
        server.publish(&json!({"source": "separate", "source_path": format!("{number}.md"), "content": content}));
    }
}

fn all_are_found(server: &Server, count: usize) {
    assert_eq!(quiet(server).get("ok"), Some(&json!(true)));
    for number in 0..count {
        let word = format!("wombat{number}");
        let (_, answer) = server.post(
            "/v1/search",
            &json!({"query": word, "strategy": "full_text"}),
        );
        assert_eq!(
            hit_texts(&answer, &format!("{word} ")).len(),
            1,
            "{word}: {answer}"
        );
    }
}

#[test]
fn services_run_as_processes_of_their_own_and_share_the_work() {
    let Some(stores) = Stores::real() else { return };
    let workspace = stores.workspace().with("store.inline_limit_bytes", "20000");
    let mut command = workspace.command();
    command.args([
        "run",
        "--services",
        "index,query",
        "--listen",
        "127.0.0.1:0",
    ]);
    let server = Server::spawn(command, workspace.path("run.log"));
    let kinds = ["ingest", "chunk,embed"];
    let first: Vec<Worker> = kinds
        .iter()
        .map(|services| Worker::start(&workspace, services, 1))
        .collect();
    let second: Vec<Worker> = kinds
        .iter()
        .map(|services| Worker::start(&workspace, services, 2))
        .collect();
    publish(&server, 0, 40);
    let large = format!(
        "# Large\n\n{}",
        "The wombat999 digs a very long tunnel. ".repeat(3000)
    );
    server.publish(&json!({"source": "separate", "source_path": "large.md", "content": large}));
    all_are_found(&server, 40);
    let (_, answer) = server.post(
        "/v1/search",
        &json!({"query": "wombat999", "strategy": "full_text"}),
    );
    assert!(
        !hit_texts(&answer, "wombat999").is_empty(),
        "what travels as a reference is reached by every process: {answer}"
    );

    first.into_iter().for_each(Worker::stop);
    publish(&server, 40, 60);
    all_are_found(&server, 60);
    second.into_iter().for_each(Worker::stop);
    server.stop();
}

#[test]
fn a_process_with_other_blobs_than_the_index_waits_and_loses_no_document() {
    let Some(stores) = Stores::real() else { return };
    let workspace = stores.workspace().with("store.inline_limit_bytes", "20000");
    let mut command = workspace.command();
    let services = ["run", "--services", "index,query,ingest"];
    command.args(services).args(["--listen", "127.0.0.1:0"]);
    let server = Server::spawn(command, workspace.path("run.log"));
    let other = stores.workspace().with("store.inline_limit_bytes", "20000");
    let wrong = Worker::start(&other, "chunk,embed", 1);
    let large = "The wombat999 digs a very long tunnel. ".repeat(3000);
    let document = server.publish(&json!({"source": "s", "document_id": "d", "content": large}));
    let log = other.path("chunk-embed-1.log");
    wait_for("the other blob store to be named", || {
        let said = std::fs::read_to_string(&log).unwrap();
        said.contains("not that of the index").then_some(())
    });
    let (_, letters) = server.get("/v1/dead-letters");
    assert_eq!(letters["dead_letters"], json!([]));

    wrong.stop();
    let right = Worker::start(&workspace, "chunk,embed", 2);
    let state = server.settled(&document);
    assert_eq!(state["state"], "indexed", "{state}");
    right.stop();
    server.stop();
}
