//! The same documents give the same hits on embedded stores and on Kafka with Elasticsearch, up to
//! ties and quantisation.
//!
//! How much may differ. Both sides use BM25 with the same k1 and b and the same vectors, so scores
//! differ only because (1) both keep the length of a text in one byte, rounded differently, (2)
//! vectors are compared in fewer bits, and (3) an updated document counts in the statistics until
//! segments merge. So of the best ten chunks of every question at least eight must be the same,
//! nine and a half on average, and the best must be the same, each time apart from chunks whose
//! scores are within `TIE` of what is compared with.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::{Server, list, text};
use crate::runner::quiet;
use crate::stores::Stores;

const TOP: usize = 10;
const TIE: f64 = 0.02;
const LEAST_SHARED: f64 = 0.8;
const LEAST_SHARED_ON_AVERAGE: f64 = 0.95;
const QUESTIONS: usize = 60;

/// One hit as far as it is compared.
#[derive(Clone, Debug)]
struct Hit {
    chunk_id: String,
    score: f64,
}

fn markdown_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            markdown_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// This project's own documentation, in both languages, and a page for each of its sections.
fn corpus() -> (Vec<Value>, Vec<String>) {
    let mut files = Vec::new();
    markdown_files(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs"),
        &mut files,
    );
    let (mut events, mut questions) = (Vec::new(), Vec::new());
    for (number, file) in files.iter().enumerate() {
        let content = std::fs::read_to_string(file).unwrap();
        questions.extend(
            content
                .lines()
                .filter_map(|line| line.strip_prefix("## "))
                .map(str::to_owned),
        );
        for (part, section) in content.split("\n## ").enumerate() {
            let path = format!("{number}/{part}.md");
            events.push(json!({"source": "parity", "source_path": path, "version": 1, "content": format!("## {section}\n")}));
        }
        events.push(json!({"source": "parity", "source_path": format!("{number}.md"), "version": 1, "content": content}));
    }
    let step = questions.len().div_ceil(QUESTIONS);
    (events, questions.into_iter().step_by(step).collect())
}

fn hits(server: &Server, question: &str, strategy: &str) -> Vec<Hit> {
    // More than are compared, so that ties at the end are seen.
    let (status, answer) = server.post(
        "/v1/search",
        &json!({"query": question, "strategy": strategy, "top_k": 2 * TOP}),
    );
    assert_eq!(status, 200, "{answer}");
    let hit = |hit: &Value| Hit {
        chunk_id: text(hit, "/chunk_id").to_owned(),
        score: hit["score"].as_f64().unwrap(),
    };
    list(&answer, "/hits").iter().map(hit).collect()
}

/// Share of the best of `one` that the other finds among its best, where a chunk that ties with the
/// other's last counts as found.
fn shared(one: &[Hit], other: &[Hit]) -> f64 {
    let best: Vec<&Hit> = one.iter().take(TOP).collect();
    let last = other
        .iter()
        .take(TOP)
        .next_back()
        .map_or(0.0, |hit| hit.score);
    let is_shared = |hit: &&&Hit| {
        other.iter().enumerate().any(|(rank, found)| {
            found.chunk_id == hit.chunk_id && (rank < TOP || last - found.score <= TIE)
        })
    };
    if best.is_empty() {
        f64::from(u8::from(other.is_empty()))
    } else {
        best.iter().filter(is_shared).count() as f64 / best.len() as f64
    }
}

fn has_same_best(one: &[Hit], other: &[Hit]) -> bool {
    match (one.first(), other.first()) {
        (Some(best), Some(first)) => other
            .iter()
            .any(|hit| hit.chunk_id == best.chunk_id && first.score - hit.score <= TIE),
        (None, None) => true,
        _ => false,
    }
}

#[test]
fn the_same_documents_give_the_same_hits_on_all_stores() {
    let Some(real) = Stores::real() else { return };
    let embedded = Stores::embedded();
    let (events, questions) = corpus();
    let folders = [embedded.workspace(), real.workspace()];
    let servers = folders.each_ref().map(crate::harness::Workspace::start);
    for server in &servers {
        events.iter().for_each(|event| drop(server.publish(event)));
    }
    servers
        .iter()
        .for_each(|server| assert_eq!(quiet(server).get("ok"), Some(&json!(true))));
    for strategy in ["full_text", "semantic", "hybrid"] {
        let (mut all, mut wrong) = (Vec::new(), Vec::new());
        for question in &questions {
            let [one, other] = servers
                .each_ref()
                .map(|server| hits(server, question, strategy));
            let share = shared(&one, &other).min(shared(&other, &one));
            if share < LEAST_SHARED || !has_same_best(&one, &other) {
                wrong.push(format!(
                    "`{question}` shares {share}: {:?} and {:?}",
                    &one[..one.len().min(TOP)],
                    &other[..other.len().min(TOP)]
                ));
            }
            all.push(share);
        }
        let average = all.iter().sum::<f64>() / all.len() as f64;
        eprintln!(
            "{strategy}: {} questions on {} documents share {average:.4} of the best {TOP}",
            questions.len(),
            events.len()
        );
        assert!(
            wrong.is_empty(),
            "{strategy}: {} questions: {:#?}",
            wrong.len(),
            wrong.iter().take(3).collect::<Vec<_>>()
        );
        assert!(average >= LEAST_SHARED_ON_AVERAGE, "{strategy}: {average}");
    }
    servers.into_iter().for_each(Server::stop);
}
