//! `tributary knowledge-sets reindex`: a new generation of the index, while queries go on.

use std::thread::sleep;
use std::time::Duration;

use anyhow::{Result, bail};
use indicatif::ProgressBar;
use serde_json::json;
use tributary_schemas::reindex::{
    ReindexOverview, ReindexProgress, ReindexReport, ReindexRequest, ReindexState,
};

use crate::args::{Global, Output, Reindex, Service};
use crate::client::Client;
use crate::config::Config;
use crate::print::{self, Outcome};

const LOOK_PAUSE: Duration = Duration::from_millis(300);
/// A build needs them all but `ingest`; without a running server they run in this process.
const SERVICES: [Service; 5] = [
    Service::Ingest,
    Service::Chunk,
    Service::Embed,
    Service::Index,
    Service::Query,
];

/// Asks for a build, waits for it, shows builds, cancels or goes back.
pub fn run(global: &Global, config: &Config, arguments: &Reindex) -> Result<Outcome> {
    let client = Client::connect(global, config, &SERVICES)?;
    let outcome = if arguments.status {
        let overview: ReindexOverview = client.get("/v1/reindex")?;
        print::result(arguments.output, &overview, || describe(&overview))?;
        Outcome::Done
    } else if arguments.cancel {
        give_up(&client, arguments.output)?
    } else if arguments.rollback {
        roll_back(&client, arguments.output)?
    } else {
        build(&client, arguments)?
    };
    client.close()?;
    Ok(outcome)
}

fn give_up(client: &Client, output: Output) -> Result<Outcome> {
    let report: ReindexReport = client.delete("/v1/reindex")?;
    print::result(output, &report, || {
        format!("build of {} given up", named(&report))
    })?;
    Ok(Outcome::Done)
}

fn roll_back(client: &Client, output: Output) -> Result<Outcome> {
    let report: ReindexReport = client.post("/v1/reindex/rollback", &json!({}))?;
    print::result(output, &report, || {
        format!(
            "queries go to {} again, no longer to {}",
            report.previous, report.generation
        )
    })?;
    Ok(Outcome::Done)
}

fn build(client: &Client, arguments: &Reindex) -> Result<Outcome> {
    let request: ReindexRequest =
        client.post("/v1/reindex", &json!({"knowledge_sets": arguments.sets}))?;
    if !arguments.wait && !client.is_local() {
        let text = "a new generation is asked for; `tributary knowledge-sets reindex --status` shows when it is built and how far it is";
        print::result(arguments.output, &request, || text.to_owned())?;
        return Ok(Outcome::Done);
    }
    let build = wait(client, &request)?;
    print::result(arguments.output, &build, || ended(&build))?;
    Ok(if build.report.state == ReindexState::Promoted {
        Outcome::Done
    } else {
        Outcome::Failed
    })
}

/// Until the build has ended. One that is blocked waits for its user: that is told at once, and the
/// wait goes on.
fn wait(client: &Client, request: &ReindexRequest) -> Result<ReindexProgress> {
    let bar = print::progress_bar(0, "reindex");
    let mut told = false;
    loop {
        let overview: ReindexOverview = client.get("/v1/reindex")?;
        let Some(build) = overview
            .builds
            .into_iter()
            .find(|build| build.request.request_id == request.request_id)
        else {
            bail!(
                "the build {} is not known to the server",
                request.request_id
            );
        };
        advance(&bar, &build);
        if build.report.state.is_final() {
            bar.finish_and_clear();
            return Ok(build);
        }
        if build.report.state == ReindexState::Blocked && !told {
            bar.suspend(|| {
                print::note(&format!(
                    "blocked: {}",
                    build.report.reason.clone().unwrap_or_default()
                ))
            });
            told = true;
        }
        sleep(LOOK_PAUSE);
    }
}

fn advance(bar: &ProgressBar, build: &ReindexProgress) {
    bar.set_length(build.documents_total);
    bar.set_position(build.documents_done);
}

fn named(report: &ReindexReport) -> String {
    if report.generation.is_empty() {
        format!("request {}", report.request_id)
    } else {
        format!("generation {}", report.generation)
    }
}

fn ended(build: &ReindexProgress) -> String {
    let report = &build.report;
    let reason = report
        .reason
        .as_ref()
        .map(|reason| format!(": {reason}"))
        .unwrap_or_default();
    match report.state {
        ReindexState::Promoted if report.previous.is_empty() => format!(
            "queries go to {} ({} documents), which takes the place of an index that was gone",
            report.generation, build.documents_done
        ),
        ReindexState::Promoted => format!(
            "queries go to {} ({} documents); `tributary knowledge-sets reindex --rollback` goes back to {}",
            report.generation, build.documents_done, report.previous
        ),
        state => format!(
            "the build ended {}{reason}",
            state.as_str().replace('_', " ")
        ),
    }
}

fn describe(overview: &ReindexOverview) -> String {
    let mut lines = Vec::new();
    for generation in &overview.generations {
        let mark = if generation.serving { "serving" } else { "" };
        let megabytes = generation.bytes as f64 / 1e6;
        lines.push(format!(
            "{:16} {mark:8} {:>9} documents {:>9} chunks {megabytes:>9.1} MB  {}",
            generation.name, generation.documents, generation.chunks, generation.fine_model
        ));
    }
    lines.extend(overview.builds.iter().map(line));
    match overview.outdated.as_slice() {
        [] => lines.push("the serving generation was built with the settings of today".to_owned()),
        outdated => lines.push(format!(
            "changed since the serving generation was built: {}; a reindex makes it hold",
            outdated.join(", ")
        )),
    }
    lines.extend(old_rules(overview.documents_under_old_rules));
    lines.join("\n")
}

/// What is said of documents that were tagged before the rules were changed.
pub fn old_rules(documents: u64) -> Option<String> {
    let documents = usize::try_from(documents).unwrap_or(usize::MAX);
    (documents > 0).then(|| {
        format!(
            "{} tagged by the rules of before: `tributary knowledge-sets reindex --all` makes those of today hold",
            print::count(documents, "document")
        )
    })
}

fn line(build: &ReindexProgress) -> String {
    let sets = &build.request.knowledge_sets;
    let of = if sets.is_empty() {
        "all documents".to_owned()
    } else {
        sets.join(", ")
    };
    let report = &build.report;
    let progress = match (report.state, build.remaining_seconds) {
        (ReindexState::Building, Some(seconds)) => {
            format!(
                ", {} of {}, about {seconds:.0} s to go",
                build.documents_done, build.documents_total
            )
        }
        _ => String::new(),
    };
    let reason = report
        .reason
        .as_ref()
        .map(|reason| format!(" ({reason})"))
        .unwrap_or_default();
    format!(
        "{} of {of}: {}{progress}{reason}",
        named(report),
        report.state.as_str().replace('_', " ")
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_build_is_told_with_its_pace_and_its_reason() {
        let build = |report: Value, remaining: Value| -> ReindexProgress {
            serde_json::from_value(json!({
                "request": {"request_id": "r", "knowledge_sets": ["wireless"], "requested_at_ms": 1},
                "report": report,
                "documents_total": 10,
                "documents_done": 4,
                "remaining_seconds": remaining,
            }))
            .unwrap()
        };
        let building = json!({"request_id": "r", "state": "building", "generation": "g2-1", "previous": "g1", "at_ms": 1});
        assert_eq!(
            line(&build(building, json!(6.2))),
            "generation g2-1 of wireless: building, 4 of 10, about 6 s to go"
        );
        let failed =
            json!({"request_id": "r", "state": "failed", "reason": "no model", "at_ms": 1});
        assert_eq!(
            line(&build(failed.clone(), json!(null))),
            "request r of wireless: failed (no model)"
        );
        assert_eq!(
            ended(&build(failed, json!(null))),
            "the build ended failed: no model"
        );
    }
}
