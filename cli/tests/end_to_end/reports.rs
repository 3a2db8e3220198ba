//! Reports as files of other programs, and reports that are broken off and gone on with.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::chat_server;
use crate::harness::{Workspace, text, wait_for};

/// A report with everything that its Markdown may have.
const REPORT: &str = "# 能效特性与取舍\n\nFirst *plain*, then **bold** and `code`, [1][2]. See \
    [the guide](https://kb.example/guide?a=1&b=2) and [this](javascript:alert(1)).\n\n\
    ## 1. Lists\n\n- 天线倾角\n  - inner\n- second\n\n\
    3. third\n4. fourth\n\nBetween.\n\n1. anew\n\n\
    ### Tables\n\n| Cell | 能耗 |\n|---|---|\n| A & <B> | 12 |\n| C\\|D | |\n\n\
    ```rust\nfn main() {\n    let x = \"a < b\";\n}\n```\n\n> quoted words\n\n\
    Bell \u{7} and \u{fffe} gone, <script>stays</script> as text.\n\n\
    ## Sources\n\n- \\[1\\] Handbook › 能效, `kb/energy.md`\n";

#[test]
fn a_word_document_has_the_headings_cells_items_and_text_of_the_report() {
    let workspace = Workspace::new();
    let server = workspace.start();
    let asked = json!({"markdown": REPORT, "title": "能效", "format": "docx"});
    let bytes = server.post_for_bytes("/v1/report/export", &asked);
    workspace.write("report.docx", bytes);
    let read = workspace.run(["convert", "report.docx"]);
    assert_eq!(read.code, 0, "{read:?}");
    let text = read.stdout;
    for part in [
        "# 能效特性与取舍\n",
        "*plain*, then **bold** and `code`, [1\\][2].",
        "[the guide](https://kb.example/guide?a=1&b=2)",
        "## 1. Lists\n",
        "- 天线倾角\n  - inner\n- second\n",
        "3. third\n4. fourth\n",
        "1. anew\n",
        "### Tables\n",
        "| **Cell** | **能耗** |\n",
        "| A & \\<B> | 12 |\n",
        "| C\\|D |",
        "fn main() {\n    let x = \"a < b\";\n}\n",
        "quoted words",
        "Bell and gone, \\<script>stays\\</script> as text.",
        "## Sources\n",
        "Handbook › 能效",
    ] {
        assert!(text.contains(part), "{part:?}: {text}");
    }
    assert!(!text.contains("javascript:"), "{text}");
}

#[test]
fn a_word_document_is_what_other_programs_expect() {
    let workspace = Workspace::new();
    let server = workspace.start();
    let asked = json!({"markdown": REPORT, "format": "docx"});
    let bytes = server.post_for_bytes("/v1/report/export", &asked);
    let mut package = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    let mut part = |name: &str| {
        let mut text = String::new();
        let mut file = package.by_name(name).unwrap();
        std::io::Read::read_to_string(&mut file, &mut text).unwrap();
        text
    };
    let styles = part("word/styles.xml");
    for wanted in [
        "w:val=\"heading 1\"",
        "w:val=\"heading 6\"",
        "w:eastAsia=\"Microsoft YaHei\"",
    ] {
        assert!(styles.contains(wanted), "{wanted}: {styles}");
    }
    let document = part("word/document.xml");
    assert!(document.contains("w:val=\"Heading1\""), "{document}");
    let is_forbidden = |character: char| matches!(character, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}');
    assert!(!document.contains(is_forbidden), "{document}");
    let links = part("word/_rels/document.xml.rels");
    assert!(
        links.contains("https://kb.example/guide?a=1&amp;b=2"),
        "{links}"
    );
}

/// A model that plans three sections and writes them. It holds on before the one that it is told to.
#[derive(Clone, Default)]
struct ReportModel {
    url: String,
    held: Arc<Mutex<Option<&'static str>>>,
    calls: Arc<Mutex<Vec<String>>>,
}

const TITLES: [&str; 3] = ["Overview", "Steps", "Timers"];

impl ReportModel {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let model = Self {
            url: format!("http://{}/v1", listener.local_addr().unwrap()),
            ..Self::default()
        };
        let shared = model.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let model = shared.clone();
                std::thread::spawn(move || model.serve(stream));
            }
        });
        model
    }

    fn of(&self, workspace: Workspace) -> Workspace {
        workspace
            .with("models.chat.endpoint.url", &self.url)
            .with("models.chat.endpoint.model", "writer")
            .with("query_api.answer.report.sections_at_once", "1")
    }

    fn hold(&self, title: Option<&'static str>) {
        *self.held.lock().unwrap() = title;
    }

    /// How often it was asked for this.
    fn calls(&self, what: &str) -> usize {
        let calls = self.calls.lock().unwrap();
        calls.iter().filter(|call| *call == what).count()
    }

    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut writer = stream;
        while let Some(body) = chat_server::read(&mut reader) {
            let text = self.reply(&body);
            let piece = json!({"choices": [{"index": 0, "delta": {"content": text}}]});
            let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
                "model": "writer"});
            let events = format!("data: {piece}\n\ndata: {end}\n\ndata: [DONE]\n\n");
            let response = chat_server::response("200 OK", "text/event-stream", &events);
            if writer.write_all(response.as_bytes()).is_err() {
                return;
            }
        }
    }

    fn reply(&self, body: &str) -> String {
        if body.contains("sections: exactly 3") {
            self.calls.lock().unwrap().push("outline".to_owned());
            let section = |title: &&str| {
                json!({"title": title, "questions": [format!("What are {title}?"),
                    "What guards random access?"]})
            };
            let sections: Vec<Value> = TITLES.iter().map(section).collect();
            return json!({"title": "Random access", "sections": sections}).to_string();
        }
        let is_asked = |title: &&&str| body.contains(&format!("What are {title}?"));
        let Some(title) = TITLES.iter().find(is_asked) else {
            return "no".to_owned();
        };
        self.calls.lock().unwrap().push((*title).to_owned());
        while *self.held.lock().unwrap() == Some(*title) {
            std::thread::sleep(Duration::from_millis(20));
        }
        format!("{title} of random access are guarded by timer T300 [1].")
    }
}

/// `tributary report`, on its way; its id stands in the first line of stderr.
fn begin(workspace: &Workspace, arguments: &[&str]) -> (Child, String, BufReader<ChildStderr>) {
    let mut command = workspace.command();
    command.arg("report").args(arguments);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    let id = line.trim().strip_prefix("report ").map(str::to_owned);
    (child, id.unwrap_or_else(|| panic!("{line}")), stderr)
}

/// Its end, and what it said.
fn end(mut child: Child, mut stderr: BufReader<ChildStderr>) -> (Option<i32>, String) {
    let mut said = String::new();
    stderr.read_to_string(&mut said).unwrap();
    (child.wait().unwrap().code(), said)
}

#[test]
fn a_report_that_was_broken_off_goes_on_and_no_section_is_written_twice() {
    let model = ReportModel::start();
    let workspace = model.of(Workspace::new());
    workspace.write(
        "kb/access.md",
        "# Random access\n\n## Steps\n\nRandom access has four steps.\n\n## Timers\n\n\
         Random access is guarded by timer T300.\n",
    );
    let mut server = workspace.start();
    let published = workspace.run(["publish", "kb", "--source", "kb", "--wait"]);
    assert_eq!(published.code, 0, "{published:?}");

    model.hold(Some("Timers"));
    let question = "What guards random access?";
    let (child, id, stderr) = begin(&workspace, &[question, "--depth", "deep"]);
    let address = format!("/v1/report/{id}");
    wait_for("two sections that are kept", || {
        let (_, kept) = server.get(&address);
        (kept["sections"].as_array()?.len() == 2 && model.calls("Timers") == 1).then_some(())
    });
    let how = format!("tributary report --resume {id}");
    let process = child.id().to_string();
    let mut signal = Command::new("kill");
    signal.args(["-INT", &process]);
    assert!(signal.status().unwrap().success());
    let (code, said) = end(child, stderr);
    assert!(code == Some(130) && said.contains(&how), "{code:?} {said}");

    let (child, again, stderr) = begin(&workspace, &["--resume", &id]);
    assert_eq!(again, id);
    let mut stderr = stderr;
    let mut line = String::new();
    while !line.contains("2/3 Steps") {
        line.clear();
        assert!(
            stderr.read_line(&mut line).unwrap() > 0,
            "the second section is told"
        );
    }
    server.kill();
    let (code, said) = end(child, stderr);
    assert!(code == Some(1) && said.contains(&how), "{code:?} {said}");

    let server = workspace.start();
    let (_, kept) = server.get(&address);
    let mut other = kept["request"].clone();
    other["question"] = "Something else?".into();
    let (status, problem) = server.post("/v1/report", &other);
    assert_eq!(
        (status, text(&problem, "/code")),
        (409, "conflict"),
        "{problem}"
    );
    assert!(
        text(&problem, "/hint").contains("an id of its own"),
        "{problem}"
    );

    model.hold(None);
    let written = workspace.run(["report", "--resume", &id, "-o", "report.md"]);
    assert_eq!(written.code, 0, "{written:?}");
    let report = std::fs::read_to_string(workspace.path("report.md")).unwrap();
    for (number, title) in (1..).zip(TITLES) {
        let section = format!("## {number}. {title}\n\n{title} of random access are guarded");
        assert!(report.contains(&section), "{section}: {report}");
    }
    assert!(report.contains("## Sources"), "{report}");
    for what in ["outline", "Overview", "Steps"] {
        assert_eq!(model.calls(what), 1, "{what} is paid for once");
    }
    let paid = model.calls("Timers");
    let (status, answer) = server.post("/v1/report", &kept["request"]);
    assert_eq!(
        (status, text(&answer, "/report/id")),
        (200, id.as_str()),
        "{answer}"
    );
    assert_eq!(model.calls("Timers"), paid, "a whole report costs no call");

    let deleted = workspace.run(["documents", "delete", "kb/access.md", "--wait"]);
    assert_eq!(deleted.code, 0, "{deleted:?}");
    let (status, problem) = server.get(&address);
    assert_eq!(
        (status, text(&problem, "/code")),
        (409, "conflict"),
        "{problem}"
    );
    assert_eq!(server.post("/v1/report", &kept["request"]).0, 409);

    let nobody = workspace.run(["report", "--resume", "nobody-began-it"]);
    nobody.refused(1, &["no report is kept", "ask for it again"]);
}

#[test]
fn the_key_of_a_live_search_is_never_shown_and_private_addresses_need_a_word() {
    let with = |url: &str| {
        Workspace::new()
            .with("query_api.answer.live.kind", "tavily")
            .with("query_api.answer.live.url", url)
            .with("query_api.answer.live.api_key", "s3cret")
    };
    let shown = with("https://api.example.org").run(["config", "show"]);
    assert_eq!(shown.code, 0, "{shown:?}");
    assert!(
        shown.stdout.contains("[query_api.answer.live]"),
        "{shown:?}"
    );
    assert!(!shown.stdout.contains("s3cret"), "{shown:?}");
    let refused = with("http://10.0.0.1").run(["search", "q"]);
    refused.refused(1, &["is a private address", "allow_private_addresses"]);
}
