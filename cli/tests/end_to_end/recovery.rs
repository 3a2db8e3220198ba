//! How long a server is away after a crash: a data folder is filled, the process is killed while it works, and the time from its start
//! until `/health/readyz` says ready is measured.
//!
//! `TRIBUTARY_RECOVERY_CHUNKS=200000 cargo test --release -p tributary-cli --test end_to_end -- recovery --nocapture` runs the full figure.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{Server, Workspace, number, wait_for};

const DEFAULT_CHUNKS: u64 = 2_000;
const CHUNKS_PER_DOCUMENT: u64 = 100;
const STARTS: usize = 5;
/// What is promised of a machine that does nothing else.
const LIMIT: Duration = Duration::from_secs(3);
/// Where the figure is not asked for, other tests run beside this one.
const BUSY_LIMIT: Duration = Duration::from_secs(60);

/// One section is one chunk.
fn content(document: u64) -> String {
    let sentence = |number: u64| {
        format!("Cell {number} of site {document} reports a carrier of {} megahertz and drops no call. ", number * 5 + document)
    };
    let section = |number: u64| format!("## Part {number}\n\n{}\n\n", (0..3).map(|line| sentence(number * 3 + line)).collect::<String>());
    format!("# Site {document}\n\n{}", (0..CHUNKS_PER_DOCUMENT).map(section).collect::<String>())
}

fn chunks(server: &Server) -> u64 {
    let (_, metrics) = server.get("/metrics");
    let sample = |line: &str| line.strip_prefix("tributary_index_chunks{")?.rsplit_once(' ')?.1.parse().ok();
    metrics.as_str().unwrap().lines().find_map(sample).unwrap_or(0)
}

/// From the start of the process until it is ready.
fn start(workspace: &Workspace) -> (Server, Duration) {
    let started = Instant::now();
    let server = workspace.start();
    loop {
        if server.try_get("/health/readyz").is_ok_and(|(status, _)| status == 200) {
            return (server, started.elapsed());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn recovery_after_a_kill_is_quick() {
    let asked = std::env::var("TRIBUTARY_RECOVERY_CHUNKS").ok();
    let limit = if asked.is_some() { LIMIT } else { BUSY_LIMIT };
    let wanted = asked.map_or(DEFAULT_CHUNKS, |chunks| chunks.parse().unwrap());
    let workspace = Workspace::new()
        .with("telemetry.filter", "warn")
        .with("enrich.chunker.section_limit_tokens", "100")
        .with("enrich.chunker.leaf_minimum_tokens", "30")
        .with("enrich.chunker.leaf_maximum_tokens", "100");
    let (mut server, _) = start(&workspace);
    let filling = Instant::now();
    let mut document = 0;
    while chunks(&server) < wanted {
        for _ in 0..20 {
            server.publish(&json!({"source": "recovery", "source_path": format!("{document}.md"), "content": content(document)}));
            document += 1;
        }
        // Not far ahead of the stages: the deadline of a request is for one that works.
        let many = Instant::now() + Duration::from_secs(600);
        while document * CHUNKS_PER_DOCUMENT > chunks(&server) + 20_000 && chunks(&server) < wanted {
            assert!(Instant::now() < many, "the stages do not keep up");
            std::thread::sleep(Duration::from_millis(100));
        }
        if document * CHUNKS_PER_DOCUMENT >= wanted * 2 {
            std::thread::sleep(Duration::from_millis(200));
        }
    }
    let (found, filled) = (chunks(&server), filling.elapsed());
    let mut times = Vec::new();
    for round in 0..STARTS as u64 {
        // Something is always in progress.
        (0..3).for_each(|number| {
            let path = format!("{round}-{number}.md");
            server.publish(&json!({"source": "late", "source_path": path, "content": content(1_000_000 + round * 10 + number)}));
        });
        server.kill();
        let (started, took) = start(&workspace);
        times.push(took);
        server = started;
    }
    times.sort_unstable();
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    eprintln!(
        "{found} chunks of {document} documents in {:.0} s; ready {:?} after a kill, median {:?}; load {}",
        filled.as_secs_f64(),
        times,
        times[STARTS / 2],
        load.trim()
    );
    assert!(found >= wanted);
    assert!(times[STARTS / 2] <= limit, "{times:?}");
    let proof = wait_for("the rest to be done", || {
        let (_, proof) = server.post("/v1/documents/reconcile", &json!({}));
        (number(&proof, "/in_flight") == 0 && number(&proof, "/waiting_records") == 0).then_some(proof)
    });
    assert_eq!(proof.get("ok"), Some(&json!(true)), "{proof}");
    if let Some(folder) = std::env::var_os("TRIBUTARY_RECOVERY_SIZES") {
        let listed = std::process::Command::new("du")
            .arg("-sb")
            .args(["log", "index", "blobs"].map(|part| workspace.data().join(part)))
            .output()
            .unwrap();
        let memory = server.peak_memory_bytes();
        std::fs::write(folder, format!("{}peak memory {memory:?}\n", String::from_utf8_lossy(&listed.stdout))).unwrap();
    }
}
