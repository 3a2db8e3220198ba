//! A new generation of the index: built while queries go on, promoted at once, gone back from,
//! given up, resumed after a kill. Only what changed is computed again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use serde_json::{Value, json};

use crate::harness::{Server, Workspace, hit_texts, list, number, text, wait_for};

const DOCUMENTS: usize = 40;

/// A workspace with documents that a lexicon, a chunker and a rule can change; the configuration is
/// a file, so that it can change while the server runs.
fn workspace(settings: &str) -> Workspace {
    workspace_of(DOCUMENTS, settings)
}

fn workspace_of(documents: usize, settings: &str) -> Workspace {
    let workspace = Workspace::new()
        .with("telemetry.filter", "info,tributary_enrich=debug")
        .with("telemetry.format", "json");
    workspace.write("tributary.toml", settings);
    workspace.write("terms.txt", "# no terms yet\n");
    for document in 0..documents {
        let section = |number: usize| {
            format!(
                "## Part {number}\n\n{}\n",
                format!("The quoll {document} counts to {number}. ").repeat(40)
            )
        };
        let sections: String = (0..6).map(section).collect();
        workspace.write(
            &format!("docs/page{document}.md"),
            format!("# Quoll {document}\n\n载波聚合 with 5G NR Uplink qw{document}.\n\n{sections}"),
        );
    }
    workspace
}

const LEXICON: &str = "[taxonomy]\nlexicon_files = [\"terms.txt\"]\n";

fn reindex(workspace: &Workspace, arguments: &[&str]) -> Value {
    workspace.json(
        [
            &["knowledge-sets", "reindex"],
            arguments,
            &["--format", "json"],
        ]
        .concat(),
    )
}

fn serving(workspace: &Workspace) -> String {
    let overview = reindex(workspace, &["--status"]);
    let serving = list(&overview, "/generations")
        .iter()
        .find(|one| one["serving"] == true)
        .unwrap_or_else(|| panic!("{overview}"));
    text(serving, "/name").to_owned()
}

/// What one document was made with, as it is found.
fn made_with(workspace: &Workspace) -> Value {
    let shown = ["documents", "show", "files/page1.md", "--format", "json"];
    workspace.json(shown)["made_with"].clone()
}

/// How many chunks were embedded and how many kept their vectors, by what the log says after
/// `from`.
fn embedded(log: &str, from: usize) -> (u64, u64) {
    let lines = log
        .lines()
        .skip(from)
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let documents = lines.filter(|line| {
        line.pointer("/fields/message")
            .is_some_and(|message| message == "document embedded")
    });
    documents.fold((0, 0), |(fresh, reused), line| {
        let kept = number(&line, "/fields/reused");
        (
            fresh + number(&line, "/fields/chunks") - kept,
            reused + kept,
        )
    })
}

/// Asks one question after the other until it is told to stop; counts answers, and fails at one
/// that is none.
fn asking(server: &Server) -> (Arc<AtomicBool>, JoinHandle<usize>) {
    let (stop, url) = (Arc::new(AtomicBool::new(false)), server.url.clone());
    let stopped = Arc::clone(&stop);
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .into();
    let thread = std::thread::spawn(move || {
        let asked = AtomicUsize::new(0);
        while !stopped.load(Ordering::Acquire) {
            let document = asked.fetch_add(1, Ordering::AcqRel) % DOCUMENTS;
            let word = format!("qw{document}");
            let mut response = agent
                .post(format!("{url}/v1/search"))
                .send_json(json!({"query": word}))
                .unwrap();
            let answer: Value = response.body_mut().read_json().unwrap();
            assert_eq!(response.status().as_u16(), 200, "{answer}");
            assert!(
                !hit_texts(&answer, &word).is_empty(),
                "`{word}` was not found: {answer}"
            );
        }
        asked.into_inner()
    });
    (stop, thread)
}

#[test]
fn other_numbers_of_bm25_hold_from_a_reindex_on_that_embeds_nothing() {
    let workspace = workspace("");
    workspace.write("docs/short.md", "# Short\n\nThe quoll counts.");
    let server = workspace.start();
    workspace.json(["publish", "docs", "--wait", "--format", "json"]);
    let scores = || {
        let asked = [
            "search",
            "quoll counts qw7",
            "--top-k",
            "40",
            "--format",
            "json",
        ];
        let found = workspace.json(asked);
        let hits = list(&found, "/hits").iter();
        let score = |hit: &Value| {
            (
                text(hit, "/chunk_id").to_owned(),
                hit["scores"]["keyword"].clone(),
            )
        };
        hits.map(score).collect::<Vec<_>>()
    };
    let (before, lines) = (scores(), server.log().lines().count());
    workspace.write("tributary.toml", "[enrich.bm25]\nk1 = 3.0\nb = 0.0\n");
    assert_eq!(
        reindex(&workspace, &["--status"])["outdated"],
        json!(["bm25"])
    );
    assert_eq!(scores(), before, "a generation keeps its own");
    let build = reindex(&workspace, &["--all", "--wait"]);
    assert_eq!(text(&build, "/report/state"), "promoted");
    assert_eq!(reindex(&workspace, &["--status"])["outdated"], json!([]));
    assert_ne!(scores(), before);
    assert_eq!(embedded(&server.log(), lines).0, 0);
    reindex(&workspace, &["--rollback"]);
    assert_eq!(scores(), before);
    workspace.write("tributary.toml", "[enrich.bm25]\nb = 1.5\n");
    let refused = workspace.run(["config", "check"]);
    assert!(refused.code != 0, "{refused:?}");
    // Nothing is built by what the file said before.
    assert_eq!(server.post("/v1/reindex", &json!({})).0, 202);
    let failed = wait_for("the build to fail", || {
        let (_, overview) = server.get("/v1/reindex");
        let build = overview.pointer("/builds/0/report")?.clone();
        (build["state"] == "failed").then_some(build)
    });
    assert!(text(&failed, "/reason").contains("b 0 to 1"), "{failed}");
    workspace.write("tributary.toml", "");
    assert_eq!(scores(), before);
    server.stop();
}

#[test]
fn a_changed_lexicon_is_built_while_queries_go_on_and_embeds_nothing() {
    let workspace = workspace(LEXICON);
    let server = workspace.start();
    workspace.json(["publish", "docs", "--wait", "--format", "json"]);
    assert_eq!(reindex(&workspace, &["--status"])["outdated"], json!([]));
    let first = serving(&workspace);
    let before = made_with(&workspace);
    let lines = server.log().lines().count();

    workspace.write("terms.txt", "载波聚合\n5G NR Uplink\n");
    assert_eq!(
        reindex(&workspace, &["--status"])["outdated"],
        json!(["analyzer"]),
        "the file is read without a restart"
    );
    let (stop, asker) = asking(&server);
    let build = reindex(&workspace, &["--all", "--wait"]);
    // Live documents reach both generations.
    workspace.write(
        "late/late.md",
        "# Late\n\nThe potto came after the build began.",
    );
    workspace.json(["publish", "late", "--wait", "--format", "json"]);
    stop.store(true, Ordering::Release);
    assert!(asker.join().unwrap() > 5);

    assert_eq!(text(&build, "/report/state"), "promoted");
    let second = serving(&workspace);
    assert_ne!(second, first);
    assert_eq!(text(&build, "/report/previous"), first);
    let (fresh, reused) = embedded(&server.log(), lines);
    assert!(
        reused > 0 && fresh <= 2,
        "{fresh} chunks were embedded again (the late document has at most 2), {reused} were not"
    );
    assert_eq!(reindex(&workspace, &["--status"])["outdated"], json!([]));
    let explained = workspace.json(["search", "载波聚合", "--explain", "--format", "json"]);
    assert_eq!(
        explained["plan"]["tokens"],
        json!(["载波聚合", "载波", "聚合"]),
        "the lexicon holds for questions too"
    );
    assert_eq!(text(&explained, "/plan/generation"), second);
    wait_for("the late document in the new generation", || {
        (workspace.found("potto").len() == 1).then_some(())
    });

    let back = reindex(&workspace, &["--rollback"]);
    assert_eq!(text(&back, "/state"), "rolled_back");
    assert_eq!(serving(&workspace), first);
    wait_for("the late document in the old generation", || {
        (workspace.found("potto").len() == 1).then_some(())
    });
    assert_eq!(made_with(&workspace), before, "that of what serves");
    workspace
        .run(["knowledge-sets", "reindex", "--rollback"])
        .refused(1, &["no promotion to go back from"]);
    wait_for("a reconciled state", || {
        (workspace.run(["documents", "reconcile"]).code == 0).then_some(())
    });
    server.stop();
    assert_eq!(
        workspace.found("qw7").len(),
        1,
        "the serving generation outlives the server"
    );
}

/// Milliseconds of one question, which must be answered.
fn ask(agent: &ureq::Agent, url: &str, document: usize) -> f64 {
    let begun = Instant::now();
    let mut response = agent
        .post(format!("{url}/v1/search"))
        .send_json(json!({"query": format!("quoll counts qw{document}")}))
        .unwrap();
    let answer: Value = response.body_mut().read_json().unwrap();
    assert!(!list(&answer, "/hits").is_empty(), "{answer}");
    begun.elapsed().as_secs_f64() * 1e3
}

fn percentile(times: &mut [f64], share: f64) -> f64 {
    times.sort_by(f64::total_cmp);
    times[((times.len() - 1) as f64 * share) as usize]
}

/// How much slower questions are while a generation is built. `TRIBUTARY_REINDEX_DOCUMENTS=4000
/// cargo test --release -p tributary-cli --test end_to_end -- questions_go_on --nocapture` runs the
/// full figure; nothing here depends on the clock but what is printed.
#[test]
fn questions_go_on_through_a_build_and_its_promotion() {
    let documents = std::env::var("TRIBUTARY_REINDEX_DOCUMENTS")
        .map_or(DOCUMENTS, |documents| documents.parse().unwrap());
    let workspace = workspace_of(documents, LEXICON);
    let server = workspace.start();
    workspace.json(["publish", "docs", "--wait", "--format", "json"]);
    let first = serving(&workspace);
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(true)
        .build()
        .into();
    let mut at_rest: Vec<f64> = (0..documents.clamp(200, 1_000))
        .map(|number| ask(&agent, &server.url, number % documents))
        .collect();

    workspace.write("terms.txt", "载波聚合\nquoll counts\n");
    reindex(&workspace, &["--all"]);
    let (begun, mut during) = (Instant::now(), Vec::new());
    while during.len() < 50 || during.len() % 50 != 0 || serving(&workspace) == first {
        during.push(ask(&agent, &server.url, during.len() % documents));
    }
    let built = begun.elapsed();
    let mut after: Vec<f64> = (0..200)
        .map(|number| ask(&agent, &server.url, number % documents))
        .collect();
    let (rest, build) = (
        percentile(&mut at_rest, 0.95),
        percentile(&mut during, 0.95),
    );
    eprintln!(
        "{documents} documents; p95 (p50) of a question at rest {rest:.1} ({:.1}) ms, during a build of {:.0} s {build:.1} ({:.1}) ms: {:.2} x; \
         after the promotion {:.1} ms; {} questions in the build, none failed",
        percentile(&mut at_rest, 0.5),
        built.as_secs_f64(),
        percentile(&mut during, 0.5),
        build / rest,
        percentile(&mut after, 0.95),
        during.len()
    );
    server.stop();
}

#[test]
fn a_changed_model_embeds_everything_and_changed_rules_nothing() {
    let workspace = workspace("[models]\nhashing_dimensions = 128\n");
    let sets = workspace
        .write("sets.toml", "[[knowledge_set]]\nid = \"quolls\"\nname = \"Q\"\nview = \"common\"\nrules = [{ path = \"page1*\" }]\n");
    let server = workspace.start();
    let published = workspace.json(["publish", "docs", "--wait", "--format", "json"]);
    let lines = server.log().lines().count();

    workspace.json([
        "knowledge-sets",
        "apply",
        sets.to_str().unwrap(),
        "--format",
        "json",
    ]);
    assert_eq!(
        text(&reindex(&workspace, &["quolls", "--wait"]), "/report/state"),
        "promoted"
    );
    let (fresh, reused) = embedded(&server.log(), lines);
    assert!(
        fresh == 0 && reused > 0,
        "{fresh} chunks were embedded for a change of rules"
    );
    let in_set = workspace.json([
        "search",
        "quoll counts",
        "--set",
        "quolls",
        "--format",
        "json",
    ]);
    let places: Vec<&str> = list(&in_set, "/hits")
        .iter()
        .map(|hit| text(hit, "/source_path"))
        .collect();
    assert!(
        !places.is_empty() && places.iter().all(|place| place.starts_with("page1")),
        "{places:?}"
    );

    let lines = server.log().lines().count();
    workspace.write("tributary.toml", "[models]\nhashing_dimensions = 64\n");
    assert_eq!(
        text(&reindex(&workspace, &["--all", "--wait"]), "/report/state"),
        "promoted"
    );
    let (fresh, reused) = embedded(&server.log(), lines);
    assert!(
        reused == 0 && fresh as usize >= DOCUMENTS,
        "{reused} vectors of another model were kept"
    );
    assert_eq!(workspace.found("qw8").len(), 1);
    assert_eq!(number(&published, "/indexed") as usize, DOCUMENTS);
    let overview = reindex(&workspace, &["--status"]);
    assert_eq!(
        list(&overview, "/generations").len(),
        2,
        "the one before the last is gone: {overview}"
    );
    server.stop();
}

#[test]
fn a_set_with_a_chunker_of_its_own_is_cut_anew_alone() {
    let workspace = workspace("");
    let set = |pipeline: &str| {
        format!(
            "[[knowledge_set]]\nid = \"fine\"\nname = \"F\"\nview = \"common\"\nrules = [{{ path = \"page1.md\" }}]\n{pipeline}"
        )
    };
    let sets = workspace.write("sets.toml", set(""));
    let server = workspace.start();
    workspace.json([
        "knowledge-sets",
        "apply",
        sets.to_str().unwrap(),
        "--format",
        "json",
    ]);
    workspace.json(["publish", "docs", "--wait", "--format", "json"]);
    let chunks = |place: &str| {
        let listed = workspace.json(["documents", "list", "--format", "json"]);
        let document = list(&listed, "/documents")
            .iter()
            .find(|document| text(document, "/source_path") == place)
            .unwrap()
            .clone();
        number(&document, "/chunks")
    };
    let (of_set, of_others) = (chunks("page1.md"), chunks("page2.md"));

    workspace.write(
        "sets.toml",
        set("pipeline = { chunker = { leaf_maximum = 64 } }"),
    );
    workspace
        .run(["knowledge-sets", "apply", "sets.toml"])
        .refused(1, &["leaf_maximum", "fine"]);
    workspace.write(
        "sets.toml",
        set("pipeline = { chunker = { leaf_minimum_tokens = 32, leaf_maximum_tokens = 64, section_limit_tokens = 64 } }"),
    );
    workspace.json(["knowledge-sets", "apply", "sets.toml", "--format", "json"]);
    assert_eq!(
        reindex(&workspace, &["--status"])["outdated"],
        json!(["chunker of fine"])
    );
    assert_eq!(
        chunks("page1.md"),
        of_set,
        "nothing changes before the reindex"
    );
    assert_eq!(
        text(&reindex(&workspace, &["fine", "--wait"]), "/report/state"),
        "promoted"
    );
    assert!(
        chunks("page1.md") > of_set,
        "{} chunks, {of_set} before",
        chunks("page1.md")
    );
    assert_eq!(chunks("page2.md"), of_others);
    workspace
        .run(["knowledge-sets", "reindex", "fien"])
        .refused(1, &["no knowledge set `fien`", "did you mean `fine`"]);
    workspace
        .run(["knowledge-sets", "reindex"])
        .refused(2, &["--all"]);
    server.stop();
}

#[test]
fn a_build_that_is_killed_goes_on_and_one_that_is_given_up_leaves_nothing() {
    let workspace = workspace(LEXICON).with("indexer.replay_documents_ahead", "1");
    let mut server = workspace.start();
    workspace.json(["publish", "docs", "--wait", "--format", "json"]);
    let first = serving(&workspace);

    workspace.write("terms.txt", "载波聚合\n");
    reindex(&workspace, &["--all"]);
    wait_for("the beginning of the build", || {
        (list(&reindex(&workspace, &["--status"]), "/generations").len() == 2).then_some(())
    });
    server.kill();
    let server = workspace.start();
    wait_for("the promotion after the kill", || {
        (serving(&workspace) != first).then_some(())
    });
    let second = serving(&workspace);
    wait_for("a reconciled state", || {
        (workspace.run(["documents", "reconcile"]).code == 0).then_some(())
    });

    workspace.write("terms.txt", "载波聚合\nquoll counts\n");
    reindex(&workspace, &["--all"]);
    let cancelled = reindex(&workspace, &["--cancel"]);
    assert_eq!(text(&cancelled, "/state"), "cancelled");
    workspace
        .run(["knowledge-sets", "reindex", "--cancel"])
        .refused(1, &["no reindex is under way"]);
    wait_for("the end of the generation that was given up", || {
        let overview = reindex(&workspace, &["--status"]);
        let names: Vec<&str> = list(&overview, "/generations")
            .iter()
            .map(|one| text(one, "/name"))
            .collect();
        (names.iter().all(|name| *name == second || *name == first)).then_some(())
    });
    assert_eq!(serving(&workspace), second);
    assert_eq!(workspace.found("qw5").len(), 1);
    server.stop();
}

#[test]
fn requests_that_wait_are_built_at_once_and_gone_back_from_together() {
    let workspace = workspace("");
    let server = workspace.start();
    workspace.json(["publish", "docs", "--wait", "--format", "json"]);
    let first = serving(&workspace);
    server.stop();

    // Nobody builds: the requests wait, and those after the first ask for no more than it.
    let server = workspace.start_with(&["--services", "ingest,query"]);
    for _ in 0..4 {
        reindex(&workspace, &["--all"]);
    }
    server.stop();
    let server = workspace.start();
    let states = |wanted: &str| {
        let overview = reindex(&workspace, &["--status"]);
        let builds = list(&overview, "/builds").to_vec();
        let are_all = builds
            .iter()
            .all(|build| text(build, "/report/state") == wanted);
        (builds.len() == 4 && are_all).then_some(builds)
    };
    let builds = wait_for("the end of all requests", || states("promoted"));
    let second = serving(&workspace);
    assert_ne!(second, first);
    for build in &builds {
        assert_eq!(text(build, "/report/generation"), second, "{build}");
        assert_eq!(text(build, "/report/previous"), first, "{build}");
    }
    let [others @ .., oldest] = builds.as_slice() else {
        panic!("no builds")
    };
    assert!(oldest["report"]["reason"].is_null(), "{oldest}");
    let with = format!("built with request {}", text(oldest, "/request/request_id"));
    for build in others {
        assert_eq!(text(build, "/report/reason"), with);
    }

    let back = reindex(&workspace, &["--rollback"]);
    assert_eq!(text(&back, "/previous"), first);
    wait_for("the way back of all", || states("rolled_back"));
    assert_eq!(serving(&workspace), first);
    server.stop();
}

/// When each document changed, and since when it is searchable, by path.
fn times(workspace: &Workspace) -> Vec<(String, u64, u64)> {
    let page = workspace.json(["documents", "list", "--format", "json"]);
    let mut times: Vec<(String, u64, u64)> = list(&page, "/documents")
        .iter()
        .map(|row| {
            let path = text(row, "/source_path").to_owned();
            let since_ms = number(row, "/searchable/since_ms");
            (path, number(row, "/at_ms"), since_ms)
        })
        .collect();
    times.sort();
    times
}

#[test]
fn a_build_moves_documents_to_other_sets_and_not_the_times_since_when_they_are_found() {
    let workspace = workspace_of(4, "");
    workspace.write(
        "sets.toml",
        "[[knowledge_set]]\nid = \"quolls\"\nname = \"Q\"\nview = \"common\"\nrules = [{ path = \"page1*\" }]\n",
    );
    let server = workspace.start();
    workspace.json(["publish", "docs", "--wait", "--format", "json"]);
    let before = times(&workspace);
    assert_eq!(before.len(), 4);

    workspace.json(["knowledge-sets", "apply", "sets.toml", "--format", "json"]);
    let held = || {
        let set = workspace.json(["knowledge-sets", "show", "quolls", "--format", "json"]);
        number(&set, "/contents/documents")
    };
    assert_eq!(held(), 0);
    for _ in 0..2 {
        reindex(&workspace, &["--all", "--wait"]);
        assert_eq!(held(), 1);
        let status = workspace.json(["knowledge-sets", "status", "quolls", "--format", "json"]);
        assert_eq!(number(&status, "/documents/searchable"), 1, "{status}");
        assert_eq!(times(&workspace), before);
    }
    server.stop();
    let server = workspace.start();
    assert_eq!(times(&workspace), before, "after a start");
    server.stop();
}

/// Another generation may be older: which one serves is not guessed.
#[test]
fn the_promoted_generation_serves_also_where_the_index_has_lost_which_one_it_is() {
    let workspace = workspace_of(4, LEXICON);
    workspace.json(["publish", "docs", "--wait", "--format", "json"]);
    workspace.write("terms.txt", "载波聚合\n");
    reindex(&workspace, &["--all", "--wait"]);
    let promoted = serving(&workspace);
    assert!(promoted.starts_with("g2"), "{promoted}");
    let file = workspace.data().join("index/serving");
    for damaged in [None, Some([0xff, 0xfe])] {
        match damaged {
            None => std::fs::remove_file(&file).unwrap(),
            Some(bytes) => std::fs::write(&file, bytes).unwrap(),
        }
        let verified = workspace.run(["doctor", "--verify", "--format", "json"]);
        assert_eq!(verified.code, 1, "{verified:?}");
        assert!(verified.stdout.contains("index/serving"), "{verified:?}");
        workspace.json(["repair", "--apply", "--format", "json"]);
        assert_eq!(serving(&workspace), promoted);
        let verified = workspace.run(["doctor", "--verify", "--format", "json"]);
        assert!(!verified.stdout.contains("index/serving"), "{verified:?}");
    }
}
