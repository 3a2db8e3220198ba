//! Rights that are narrowed through one process and read through another, which shares nothing with
//! it but the broker, the index and the keys: what was withheld once is never shown again.

use serde_json::{Value, json};

use crate::harness::{Server, Workspace, text, wait_for};
use crate::separate::Worker;
use crate::servers::OwnServer;
use crate::stores::{Stores, kafka};

const STAGES: &str = "ingest,chunk,embed,index";
/// Publications that stand before the narrower rights.
const QUEUED: usize = 150;
/// Looks in a row that must all be refused.
const LOOKS: usize = 25;
const WORD: &str = "quokka";
/// Where what documents carry lies, for processes with folders of their own.
const BLOBS: &str = "TRIBUTARY__STORE__BLOBS__URL";

/// Processes that answer queries, on the same stores, and the keys that both accept.
struct World {
    workspace: Workspace,
    administrator: String,
    reader: String,
}

impl World {
    fn new(stores: &Stores) -> Self {
        let workspace = stores
            .workspace()
            .with("query_api.server.network_access", "authenticated")
            .with("query_api.server.limits.requests_per_minute", "0");
        std::fs::create_dir_all(workspace.path("blobs")).unwrap();
        let key = |rights: &str| {
            let create = format!("keys create --name k {rights} --format json");
            text(&workspace.json(create.split(' ')), "/secret").to_owned()
        };
        Self {
            administrator: key("--role administrator"),
            reader: key("--role reader --group radio"),
            workspace,
        }
    }

    /// A process with the query interface alone; another folder is another machine.
    fn queries(&self, folder: &str) -> Server {
        let folder = self.workspace.path(folder);
        std::fs::create_dir_all(&folder).unwrap();
        let keys = self.workspace.data().join("keys.json");
        std::fs::copy(keys, folder.join("keys.json")).unwrap();
        let mut command = self.workspace.command();
        command
            .env("TRIBUTARY_DATA_DIR", &folder)
            .env(BLOBS, self.blobs())
            .args(["run", "--services", "query", "--listen", "127.0.0.1:0"]);
        Server::spawn(command, folder.with_extension("log"))
    }

    fn blobs(&self) -> String {
        format!("file://{}", self.workspace.path("blobs").display())
    }

    /// The stages, on the same blobs.
    fn stages(&self, number: usize) -> Worker {
        let mut command = self.workspace.command();
        command.env(BLOBS, self.blobs());
        Worker::spawn(command, &self.workspace, STAGES, number)
    }

    /// Publishes the document of the test, which is given to this group.
    fn publish(&self, server: &Server, name: &str, group: &str) -> String {
        let event = json!({
            "source": "wiki", "source_path": format!("{name}.md"),
            "content": format!("# The {WORD} of {name}\n\nA {WORD} eats grass."),
            "attributes": {"access": {"groups": [group]}},
        });
        let sent = ureq::post(format!("{}/v1/documents", server.url))
            .header("authorization", format!("Bearer {}", self.administrator))
            .send_json(event);
        let mut answer = sent.unwrap();
        assert_eq!(answer.status(), 202);
        let answer: Value = answer.body_mut().read_json().unwrap();
        text(&answer, "/document_id").to_owned()
    }

    fn delete(&self, server: &Server, document: &str) {
        let deleted = ureq::delete(format!("{}/v1/documents/{document}", server.url))
            .header("authorization", format!("Bearer {}", self.administrator))
            .call();
        assert_eq!(deleted.unwrap().status(), 202);
    }

    /// Whether the reader is shown the document: by a search, a list, its page and its original.
    fn views(&self, server: &Server, document: &str) -> [bool; 4] {
        let path = |rest: &str| format!("/v1/documents/{document}{rest}");
        let question = json!({"query": WORD, "filter": {"document_ids": [document]}});
        [
            self.read(server, "/v1/search", Some(&question))
                .contains("eats grass"),
            self.read(server, "/v1/documents?source=wiki&limit=500", None)
                .contains(document),
            self.read(server, &path("?passages=true"), None)
                .contains(WORD),
            self.read(server, &path("/original"), None).contains(WORD),
        ]
    }

    /// What the reader gets.
    fn read(&self, server: &Server, path: &str, body: Option<&Value>) -> String {
        let (status, answer) = self.ask(&self.reader, server, path, body);
        assert!(status < 500, "{path}: {status} {answer}");
        answer
    }

    /// Status and body of what the holder of a key asks.
    fn ask(&self, key: &str, server: &Server, path: &str, body: Option<&Value>) -> (u16, String) {
        let (url, key) = (format!("{}{path}", server.url), format!("Bearer {key}"));
        let agent = ureq::Agent::config_builder().http_status_as_error(false);
        let agent: ureq::Agent = agent.build().into();
        let answer = match body {
            Some(body) => agent.post(url).header("authorization", key).send_json(body),
            None => agent.get(url).header("authorization", key).call(),
        };
        let mut answer = answer.unwrap();
        let body = answer.body_mut().read_to_string().unwrap();
        (answer.status().as_u16(), body)
    }

    /// Waits until every view of the reader is as said.
    fn wait_until(&self, server: &Server, document: &str, is_shown: bool) {
        let what = format!("{document} to be shown: {is_shown}");
        wait_for(&what, || {
            (self.views(server, document) == [is_shown; 4]).then_some(())
        });
    }

    #[track_caller]
    fn stays_withheld(&self, server: &Server, document: &str) {
        for look in 0..LOOKS {
            let views = self.views(server, document);
            assert_eq!(views, [false; 4], "look {look} at {document}");
        }
    }

    /// Whether nothing of the text is shown; who could see it is told that it was deleted.
    fn is_gone(&self, server: &Server, document: &str) -> bool {
        let [found, _, _, original] = self.views(server, document);
        !found && !original
    }

    /// What an administrator is told of the newest attempt.
    fn state(&self, server: &Server, document: &str) -> String {
        let sent = ureq::post(format!("{}/v1/documents/states", server.url))
            .header("authorization", format!("Bearer {}", self.administrator))
            .send_json(json!({"document_ids": [document]}));
        let answer: Value = sent.unwrap().body_mut().read_json().unwrap();
        text(&answer, "/documents/0/state").to_owned()
    }

    /// Looks until the document has come to this state, and never sees it.
    fn is_withheld_until(&self, server: &Server, document: &str, state: &str) {
        wait_for(&format!("{document} to be {state}"), || {
            assert_eq!(self.views(server, document), [false; 4]);
            (self.state(server, document) == state).then_some(())
        });
        self.stays_withheld(server, document);
    }
}

#[test]
fn rights_that_one_process_narrows_hold_in_the_others() {
    let Some(stores) = Stores::real() else { return };
    let world = World::new(&stores);
    let stages = world.stages(1);
    let (first, second) = (world.queries("first"), world.queries("second"));
    let [kept, deleted] = ["kept", "deleted"].map(|name| world.publish(&first, name, "radio"));
    for document in [&kept, &deleted] {
        world.wait_until(&second, document, true);
    }

    // Without a stage the queue stands, as behind an import without end.
    stages.stop();
    for number in 0..QUEUED {
        world.publish(&first, &format!("queued{number}"), "others");
    }
    for name in ["kept", "deleted"] {
        world.publish(&first, name, "others");
    }
    for document in [&kept, &deleted] {
        world.wait_until(&second, document, false);
        world.stays_withheld(&second, document);
        assert_eq!(world.state(&second, document), "accepted");
    }
    world.delete(&first, &deleted);
    world.stays_withheld(&second, &deleted);

    second.stop();
    let second = world.queries("second");
    let third = world.queries("third");
    for server in [&second, &third] {
        world.stays_withheld(server, &kept);
        world.stays_withheld(server, &deleted);
    }
    let stages = world.stages(2);
    world.is_withheld_until(&second, &deleted, "deleted");
    world.is_withheld_until(&second, &kept, "indexed");

    // Given again, and taken away for good.
    world.publish(&first, "kept", "radio");
    world.wait_until(&second, &kept, true);
    world.delete(&first, &kept);
    wait_for("the deletion", || {
        world.is_gone(&third, &kept).then_some(())
    });
    for _ in 0..LOOKS {
        assert!(world.is_gone(&third, &kept));
    }
    stages.stop();
    for server in [first, second, third] {
        server.stop();
    }
}

/// A broker of its own is taken away, so that the process hears of nothing that others publish.
#[test]
fn readers_are_not_answered_for_long_by_rights_that_may_be_narrower_by_now() {
    if kafka().is_none() {
        return;
    }
    let broker = OwnServer::start("kafka", "rights", &["--heap", "256m"]).unwrap();
    let stores = Stores::on_broker(&format!("127.0.0.1:{}", broker.port));
    let mut world = World::new(&stores);
    world.workspace = world
        .workspace
        .with("query_api.server.rights_valid_seconds", "10");
    let server = world.workspace.start();
    let kept = world.publish(&server, "kept", "radio");
    world.wait_until(&server, &kept, true);
    let question = json!({"query": WORD});
    let search = |key: &str| world.ask(key, &server, "/v1/search", Some(&question));

    broker.command("kill");
    let refused = wait_for("a refusal", || {
        let (status, answer) = search(&world.reader);
        assert!(status == 503 || answer.contains("eats grass"), "{answer}");
        (status == 503).then_some(answer)
    });
    assert!(refused.contains("rights that were narrowed"), "{refused}");
    let (status, answer) = search(&world.administrator);
    assert!(status == 200 && answer.contains("eats grass"), "{answer}");

    broker.command("start");
    wait_for("the reader to be answered again", || {
        let (status, answer) = search(&world.reader);
        (status == 200 && answer.contains("eats grass")).then_some(())
    });
    server.stop();
}
