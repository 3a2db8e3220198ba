//! Tables of documents asked by SQL: with a statement of the caller's, with a model that mends its first
//! one, without a model, and only as far as the filter lets through.

use serde_json::{Value, json};

use crate::harness::{Server, Workspace, list, text};

const SALES: &str = "Region,Units sold,Revenue,Day\nNorth,120,\"$1,200\",2023-01-05\nSouth,80,$900 (est.),2023-02-07\nEast,200,$2.5 million,2024-03-09\n";
const STAFF: &str = "Name,Region\nO'Neil,North\nLi,East\n";
const SECRET: &str = "Name,Salary\nAnn,90000\nBo,70000\n";

fn with_tables(workspace: Workspace) -> (Workspace, Server) {
    workspace.write("sales/figures.csv", SALES);
    workspace.write("sales/staff.csv", STAFF);
    workspace.write("private/salaries.csv", SECRET);
    let server = workspace.start();
    for source in ["sales", "private"] {
        let published = workspace.run(["publish", source, "--source", source, "--wait"]);
        assert_eq!(published.code, 0, "{published:?}");
    }
    (workspace, server)
}

/// A model of the role `sql` that says what a script says.
fn scripted(replies: &Value) -> Workspace {
    let workspace = Workspace::new();
    let script = workspace.write("script.json", replies.to_string());
    workspace
        .with("models.chat.endpoints.talker.kind", "scripted")
        .with("models.chat.endpoints.talker.model", "parrot")
        .with(
            "models.chat.endpoints.talker.script_file",
            script.to_str().unwrap(),
        )
        .with("models.chat.roles.sql.endpoint", "talker")
}

fn reply(contains: &str, sql: &str) -> Value {
    let reply = json!({"sql": sql, "err_code": 0, "err_msg": ""});
    json!({"prompt": "table_sql", "contains": contains, "reply": reply.to_string()})
}

fn query(server: &Server, body: &Value) -> Value {
    let (status, answer) = server.post("/v1/tables/query", body);
    assert_eq!(status, 200, "{answer}");
    answer
}

#[test]
fn a_model_asks_tables_and_mends_its_statement() {
    let joined = "SELECT s.name, f.units_sold FROM staff s JOIN figures f ON s.region = f.region ORDER BY 2 DESC";
    // The examples of the prompt hold much of what a question may say: what is rare comes first.
    let replies = json!([
        reply("for each employee", joined),
        reply("delete all units", "DELETE FROM figures"),
        reply(
            "takings",
            "SELECT region FROM figures ORDER BY \"Revenue (number)\" DESC LIMIT 1"
        ),
        reply(
            "highest revenue",
            "SELECT region FROM figures ORDER BY takings DESC LIMIT 1"
        ),
    ]);
    let (workspace, server) = with_tables(scripted(&replies));
    let sales = json!({"sources": ["sales"]});
    let answer = query(
        &server,
        &json!({"question": "Which region has the highest revenue?", "filter": sales}),
    );
    assert_eq!(answer["rows"], json!([["East"]]), "{answer}");
    assert_eq!(answer["repaired"], true, "{answer}");
    assert_eq!(answer["origins"][0][0]["row"], 3, "{answer}");
    assert_eq!(answer["origins"][0][0]["sheet_row"], 4, "{answer}");
    assert_eq!(text(&answer, "/model"), "parrot");
    let answer = query(
        &server,
        &json!({"question": "How many units for each employee?", "filter": sales}),
    );
    assert_eq!(
        answer["rows"],
        json!([["Li", 200], ["O'Neil", 120]]),
        "{answer}"
    );
    assert_eq!(text(&answer, "/chart/kind"), "bar");
    let refused = query(
        &server,
        &json!({"question": "delete all units", "filter": sales}),
    );
    assert_eq!(refused["err_code"], 3005, "{refused}");
    assert_eq!(refused["rows"], json!([]), "{refused}");
    let asked = workspace.run([
        "ask",
        "--workflow",
        "table",
        "--source",
        "sales",
        "How many units for each employee?",
    ]);
    assert!(asked.stdout.contains("| Li | 200 |"), "{asked:?}");
    assert!(asked.stdout.contains("sales/staff.csv"), "{asked:?}");
    let (_, general) = server.post(
        "/v1/ask",
        &json!({"question": "How many units for each employee?", "nl2sql": true, "filter": sales}),
    );
    assert_eq!(general["table"]["err_code"], 0, "{general}");
    let sources = list(&general, "/sources");
    let has_rows = |source: &Value| text(source, "/text").contains("| Li | 200 |");
    assert!(sources.iter().any(has_rows), "{general}");
    let degraded = list(&general, "/degraded");
    assert!(!degraded.contains(&json!("nl2sql")), "{general}");
}

#[test]
fn a_statement_of_the_caller_reads_only_what_the_filter_lets_through() {
    let (workspace, server) = with_tables(Workspace::new());
    let sql = "SELECT count(*), sum(\"Units sold\") FROM figures";
    let asked = workspace.run(["tables", "query", "--sql", sql, "--source", "sales"]);
    assert!(asked.stdout.contains("3\t400"), "{asked:?}");
    let salaries = "SELECT * FROM salaries";
    let all = query(&server, &json!({"sql": salaries}));
    assert_eq!(list(&all, "/rows").len(), 2, "{all}");
    let mut filtered = query(
        &server,
        &json!({"sql": salaries, "filter": {"sources": ["sales"]}}),
    );
    // A time may have any digits.
    filtered["took_ms"].take();
    assert_eq!(filtered["err_code"], 3005, "{filtered}");
    assert!(!filtered.to_string().contains("90000"), "{filtered}");
    let nothing = query(
        &server,
        &json!({"sql": salaries, "filter": {"sources": ["none"]}}),
    );
    assert_eq!(nothing["err_code"], 3003, "{nothing}");
    // Without a model the tables that were found are the answer.
    let unasked = query(
        &server,
        &json!({"question": "Which region has the highest revenue?"}),
    );
    assert_eq!(unasked["degraded"], json!(["sql"]), "{unasked}");
    assert_eq!(text(&unasked, "/tables/0/name"), "figures", "{unasked}");
    let refused = workspace.run([
        "ask",
        "--workflow",
        "table",
        "Which region has the highest revenue?",
    ]);
    assert!(refused.stdout.contains("degraded: sql"), "{refused:?}");
    let listed = workspace.json(["tables", "list", "--format", "json"]);
    assert_eq!(list(&listed, "/tables").len(), 3, "{listed}");
    let shown = workspace.run(["tables", "show", "sales/figures.csv"]);
    assert!(
        shown.stdout.contains("Revenue (number)  number"),
        "{shown:?}"
    );
    workspace
        .run(["tables", "show", "sales/none.csv"])
        .refused(1, &["has no tables", "tables list"]);
    workspace
        .run(["documents", "delete", "private/salaries.csv", "--wait"])
        .refused(0, &[]);
    let gone = query(&server, &json!({"sql": salaries}));
    assert_eq!(gone["err_code"], 3005, "{gone}");
}
