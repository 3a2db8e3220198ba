//! What users do with builds: ask for one, look, cancel, go back.

use std::sync::Arc;

use tributary_schemas::reindex::{
    GenerationSummary, ReindexOverview, ReindexProgress, ReindexReport, ReindexRequest,
    ReindexState,
};
use tributary_schemas::{Error, ErrorKind, Result, Topic, event};
use tributary_store::Clock;
use tributary_store::event_log::message;
use tributary_store::event_log::topics::Topics;
use tributary_store::generations::{GenerationList, Generations};
use tributary_store::manifest::table::DocumentTable;
use tributary_store::search_index::{GenerationStatus, SharedSearchIndex};

use super::history::{self, Build};
use super::unreported::report_found;
use super::{KEY, build, rules};

/// Builds that an overview shows.
const SHOWN: usize = 20;
/// What waits for a reindex where documents were tagged by earlier rules.
const RULES: &str = "rules of knowledge sets";

/// Where builds are asked for.
pub struct ReindexRequests {
    /// The log, with requests and reports.
    pub topics: Topics,
    /// What became of documents.
    pub table: Arc<DocumentTable>,
    /// Where generations are.
    pub index: SharedSearchIndex,
    /// Generations as last seen.
    pub generations: Arc<Generations>,
    /// Time.
    pub clock: Clock,
}

impl ReindexRequests {
    /// Asks for a build of these knowledge sets (all documents if empty); on return the request is
    /// durable. Another build that is under way comes first.
    pub async fn request(&self, knowledge_sets: Vec<String>) -> Result<ReindexRequest> {
        let requested_at_ms = (self.clock)();
        let seed = format!(
            "{requested_at_ms} {knowledge_sets:?} {}",
            std::process::id()
        );
        let suffix: String = blake3::hash(seed.as_bytes())
            .to_hex()
            .chars()
            .take(8)
            .collect();
        let request = ReindexRequest {
            request_id: format!("{requested_at_ms}-{suffix}"),
            knowledge_sets,
            requested_at_ms,
        };
        let version = requested_at_ms.unsigned_abs();
        let record = message::encode(
            event::TYPE_REINDEX_REQUESTED,
            KEY,
            version,
            &request,
            requested_at_ms,
        )?;
        self.topics
            .append(Topic::ReindexRequests, vec![record])
            .await?;
        Ok(request)
    }

    /// Gives up the newest build that has not ended; its generation goes. `NotFound` if there is
    /// none.
    pub async fn cancel(&self) -> Result<ReindexReport> {
        let builds = history::read(&self.topics).await?;
        let Some(build) = builds
            .into_iter()
            .rev()
            .find(|build| !build.report.state.is_final())
        else {
            return Err(Error::new(ErrorKind::NotFound, "no reindex is under way"));
        };
        let cancelled = ReindexReport {
            state: ReindexState::Cancelled,
            reason: None,
            at_ms: (self.clock)(),
            ..build.report
        };
        // The report first: a builder that has not begun yet then does not begin.
        history::report(&self.topics, &cancelled).await?;
        if !cancelled.generation.is_empty() {
            build::drop_generation(
                &self.topics,
                &self.index,
                &self.generations,
                &cancelled.generation,
            )
            .await?;
        }
        Ok(cancelled)
    }

    /// Makes queries go to the generation before the last promotion. `NotFound` if there is none,
    /// or if it is gone.
    pub async fn rollback(&self) -> Result<ReindexReport> {
        let builds = history::read(&self.topics).await?;
        let serving = self
            .generations
            .refresh()
            .await?
            .iter()
            .find(|generation| generation.serving)
            .map(|generation| generation.name.clone());
        // Several, where one build did what several requests asked for.
        let promoted: Vec<Build> = builds
            .into_iter()
            .filter(|build| {
                build.report.state == ReindexState::Promoted
                    && serving
                        .as_ref()
                        .is_some_and(|serving| *serving == build.report.generation)
            })
            .collect();
        // What took the place of an index that was gone took over from none.
        let taken_over = promoted
            .iter()
            .find(|build| !build.report.previous.is_empty());
        let Some(build) = taken_over else {
            return Err(Error::new(
                ErrorKind::NotFound,
                "there is no promotion to go back from",
            ));
        };
        let previous = build.report.previous.clone();
        if self.generations.find(&previous).await?.is_none() {
            return Err(Error::new(ErrorKind::NotFound, format!("generation `{previous}` is gone"))
                .with_hint("a generation is kept until the next reindex begins; set its settings back and reindex"));
        }
        self.index.promote(&previous).await?;
        self.generations.refresh().await?;
        let now_ms = (self.clock)();
        report_found(&self.topics, &self.table, &self.index, &previous, now_ms).await?;
        let rolled_back = |report: &ReindexReport| ReindexReport {
            state: ReindexState::RolledBack,
            reason: None,
            at_ms: now_ms,
            ..report.clone()
        };
        for build in &promoted {
            history::report(&self.topics, &rolled_back(&build.report)).await?;
        }
        Ok(rolled_back(&build.report))
    }

    /// Builds and generations. `outdated` is what the caller knows of settings that wait for a
    /// reindex; whether rules of knowledge sets do is known here.
    pub async fn overview(&self, mut outdated: Vec<String>) -> Result<ReindexOverview> {
        let builds = history::read(&self.topics).await?;
        let generations = self.generations.refresh().await?;
        let documents_under_old_rules = self.under_old_rules(&builds, &generations).await?;
        if documents_under_old_rules > 0 {
            outdated.push(RULES.to_owned());
        }
        let now_ms = (self.clock)();
        let builds = builds
            .into_iter()
            .rev()
            .take(SHOWN)
            .map(|build| progress(build, &generations, now_ms))
            .collect();
        Ok(ReindexOverview {
            builds,
            generations: generations.iter().map(summary).collect(),
            outdated,
            documents_under_old_rules,
        })
    }

    /// Documents that can be found and were tagged before the rules of knowledge sets were changed
    /// last. The build of a generation tags all of its documents.
    async fn under_old_rules(&self, builds: &[Build], generations: &GenerationList) -> Result<u64> {
        let Some(changed_at_ms) = rules::changed_at_ms(&self.topics).await? else {
            return Ok(0);
        };
        let serving = generations.iter().find(|generation| generation.serving);
        let is_of_serving =
            |build: &&Build| serving.is_some_and(|serving| serving.name == build.report.generation);
        if builds
            .iter()
            .filter(is_of_serving)
            .any(|build| build.request.requested_at_ms >= changed_at_ms)
        {
            return Ok(0);
        }
        self.table.catch_up(&self.topics).await?;
        Ok(self.table.indexed_before(changed_at_ms))
    }
}

fn progress(build: Build, generations: &GenerationList, now_ms: i64) -> ReindexProgress {
    let Build {
        request,
        report,
        building_since_ms,
        ..
    } = build;
    let documents = |name: &str| {
        generations
            .iter()
            .find(|generation| generation.name == name)
            .map_or(0, |found| found.documents)
    };
    let documents_done = documents(&report.generation);
    // The serving generation is the measure for as long as the build runs.
    let documents_total = documents(&report.previous).max(documents_done);
    let elapsed = building_since_ms.map(|since| (now_ms - since).max(0) as f64 / 1000.0);
    let remaining_seconds = elapsed
        .filter(|_| report.state == ReindexState::Building && documents_done > 0)
        .map(|seconds| {
            let pace = documents_done as f64 / seconds.max(0.001);
            (documents_total - documents_done) as f64 / pace
        });
    ReindexProgress {
        request,
        report,
        documents_total,
        documents_done,
        remaining_seconds,
    }
}

fn summary(generation: &GenerationStatus) -> GenerationSummary {
    GenerationSummary {
        name: generation.name.clone(),
        serving: generation.serving,
        documents: generation.documents,
        chunks: generation.chunks,
        bytes: generation.bytes,
        coarse_model: generation.settings.coarse_model.clone(),
        fine_model: generation.settings.fine_model.clone(),
        analyzer: generation.settings.analyzer.clone(),
    }
}
