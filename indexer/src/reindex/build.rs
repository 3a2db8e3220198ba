//! The stage `reindex`: makes the generation that a request asks for, waits until everything that
//! can be found today is in it, and promotes it. The documents themselves come through the
//! generation's own chunk reader; here is only the watching.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use tributary_schemas::reindex::{ReindexReport, ReindexRequest, ReindexState};
use tributary_schemas::{Error, ErrorKind, Result, Topic, event};
use tributary_store::Clock;
use tributary_store::event_log::stage::{Output, Stage};
use tributary_store::event_log::topics::Topics;
use tributary_store::event_log::{PartitionLag, StoredRecord, message};
use tributary_store::generations::{GenerationBuilder, Generations, Origin, chunk_group};
use tributary_store::manifest::table::DocumentTable;
use tributary_store::search_index::{GenerationStatus, IndexSettings, SharedSearchIndex};

use super::history::{self, Build};
use super::removals::{remember_removals, remember_versions};
use super::serving::restore_serving;
use super::unreported::report_found;
use crate::index_stage::again_if_gone;

/// Pause between two looks at how far the stages are.
const LOOK_PAUSE: Duration = Duration::from_millis(250);
/// A try that goes on for so long has got through to what the one before it waited for.
const AT_WORK_AFTER: Duration = Duration::from_secs(30);
/// Pause before a build that lacks documents is looked at again.
const BLOCKED_PAUSE: Duration = Duration::from_secs(5);
/// Rounds after which the documents that are published all the time no longer hold up the
/// promotion.
const ROUNDS: usize = 10;
/// Looks at the difference of the two generations before it is called missing rather than late.
const DIFFERENCE_LOOKS: usize = 3;
const PAGE: usize = 1000;
/// Ids that a reason names.
const NAMED: usize = 5;
/// How long the positions of a reader that is about to stop may take to be forgotten.
const FORGET_TRIES: usize = 40;

/// What the stage needs of the rest of the product.
pub struct ReindexParts {
    /// The log.
    pub topics: Topics,
    /// Which documents are gone.
    pub table: Arc<DocumentTable>,
    /// Where generations are built.
    pub index: SharedSearchIndex,
    /// Generations as last seen.
    pub generations: Arc<Generations>,
    /// Settings for new ones.
    pub builder: Arc<dyn GenerationBuilder>,
    /// Time.
    pub clock: Clock,
}

/// The stage.
pub struct ReindexStage {
    topics: Topics,
    table: Arc<DocumentTable>,
    index: SharedSearchIndex,
    generations: Arc<Generations>,
    builder: Arc<dyn GenerationBuilder>,
    /// Whether the generation before stays, fed and ready to go back to, until the next build.
    keeps_previous: bool,
    clock: Clock,
    shutdown: CancellationToken,
}

/// How far the replay of the log into a generation came.
enum Replay {
    /// All of it is there.
    Whole,
    /// The request has ended meanwhile.
    Ended,
    /// The generation is gone.
    Lost,
}

/// What a look at a build found.
enum Progress {
    /// All is there.
    Complete,
    /// Not in the new generation: how many documents, and some of them.
    Missing(usize, Vec<String>),
}

impl ReindexStage {
    /// Builds in `index` until `shutdown`; what is half done goes on at the next start.
    pub fn new(parts: ReindexParts, keeps_previous: bool, shutdown: CancellationToken) -> Self {
        let ReindexParts {
            topics,
            table,
            index,
            generations,
            builder,
            clock,
        } = parts;
        Self {
            topics,
            table,
            index,
            generations,
            builder,
            keeps_previous,
            clock,
            shutdown,
        }
    }

    async fn build(&self, request: &ReindexRequest) -> Result<()> {
        let builds = history::read(&self.topics).await?;
        if ended(&builds, request) {
            return Ok(());
        }
        let generations = self.generations.refresh().await?;
        let Some(serving) = generations.iter().find(|generation| generation.serving) else {
            return self.begin_anew(request, &generations).await;
        };
        if begun_anew(&builds, request, &serving.name) {
            return self.fill(request, &serving.name).await;
        }
        if serves(serving, request) {
            // A crash came between the promotion and its report.
            let previous = previous_of(&generations, &serving.name);
            return self.promoted(request, &serving.name, &previous).await;
        }
        let name = match generations
            .iter()
            .find(|generation| serves(generation, request))
        {
            Some(begun) => begun.name.clone(),
            None if self.is_built(&builds, request, &serving.name).await? => return Ok(()),
            None => match self.begin(request, serving).await {
                Ok(name) => name,
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::Unavailable | ErrorKind::Timeout | ErrorKind::Exhausted
                    ) =>
                {
                    return Err(error);
                }
                Err(error) => {
                    return self
                        .report(
                            request,
                            ReindexState::Failed,
                            "",
                            &serving.name,
                            Some(error.full_message()),
                        )
                        .await;
                }
            },
        };
        // Again after a crash: it may have come between the two.
        remember_removals(&self.table, &self.index, &name).await?;
        self.report(request, ReindexState::Building, &name, &serving.name, None)
            .await?;
        self.complete(request, &name, &serving.name).await
    }

    /// Whether the serving generation does already what is asked for, as it was begun when the
    /// request was there; its end is then that of the request.
    async fn is_built(
        &self,
        builds: &[Build],
        request: &ReindexRequest,
        serving: &str,
    ) -> Result<bool> {
        let Some(with) =
            history::built_with(builds, request).filter(|build| build.report.generation == serving)
        else {
            return Ok(false);
        };
        let reason = format!("built with request {}", with.request.request_id);
        tracing::info!(generation = serving, "{reason}");
        let previous = &with.report.previous;
        self.report(
            request,
            ReindexState::Promoted,
            serving,
            previous,
            Some(reason),
        )
        .await?;
        Ok(true)
    }

    /// Makes room and creates the generation.
    async fn begin(&self, request: &ReindexRequest, serving: &GenerationStatus) -> Result<String> {
        // Before the settings are read: they are today's for every request that is there by now.
        self.report(request, ReindexState::Building, "", &serving.name, None)
            .await?;
        let settings = self.builder.settings(request, Some(serving)).await?;
        let generations = self.still_serving(&serving.name).await?;
        for old in generations.iter().filter(|generation| !generation.serving) {
            drop_generation(&self.topics, &self.index, &self.generations, &old.name).await?;
        }
        // From here on there is none to go back to.
        self.still_serving(&serving.name).await?;
        let name = next_name(&serving.name, &request.request_id);
        self.create(&name, &settings).await?;
        tracing::info!(generation = %name, previous = %serving.name, "a new generation of the index is being built");
        Ok(name)
    }

    /// Queries go to no generation: the index was lost under a running process. If one is left that
    /// served before, it serves again, and the request comes again and is built beside it. Else a
    /// new one serves at once, and is filled from the log.
    async fn begin_anew(&self, request: &ReindexRequest, left: &[GenerationStatus]) -> Result<()> {
        let name = match left.iter().find(|one| serves(one, request)) {
            Some(begun) => begun.name.clone(),
            None if left.is_empty() => next_name("", &request.request_id),
            None => {
                restore_serving(&self.topics, &self.index).await?;
                self.generations.refresh().await?;
                let message = "queries go to a generation again that had served before";
                return Err(Error::new(ErrorKind::Unavailable, message));
            }
        };
        // Before it serves: it is not yet what was asked for.
        self.report(request, ReindexState::Building, &name, "", None)
            .await?;
        if left.is_empty() {
            // One that was begun and lost, too, has left positions behind.
            drop_generation(&self.topics, &self.index, &self.generations, &name).await?;
            let settings = self.builder.settings(request, None).await?;
            self.create(&name, &settings).await?;
        }
        remember_versions(&self.table, &self.index, &name).await?;
        self.index.promote(&name).await?;
        self.generations.refresh().await?;
        tracing::warn!(generation = %name, "the index was lost: queries go to a new generation, which is filled from the log");
        self.fill(request, &name).await
    }

    /// Waits until all that was in the log is in a generation that serves already.
    async fn fill(&self, request: &ReindexRequest, name: &str) -> Result<()> {
        match self.replayed(request, name).await? {
            Replay::Whole => self.promoted(request, name, "").await,
            Replay::Ended => Ok(()),
            Replay::Lost => Err(lost(name)),
        }
    }

    async fn create(&self, name: &str, settings: &IndexSettings) -> Result<()> {
        // Before its reader exists, so that no tombstone goes that it has yet to read.
        self.topics
            .hold_for(Topic::DocumentsClean, &chunk_group(name))
            .await?;
        self.index.create(name, settings).await?;
        self.generations.refresh().await.map(drop)
    }

    /// The generations, if queries still go to this one; `Unavailable` after a rollback: the request
    /// comes again and begins from what serves then.
    async fn still_serving(&self, name: &str) -> Result<Arc<Vec<GenerationStatus>>> {
        let generations = self.generations.refresh().await?;
        let mut all = generations.iter();
        if all.any(|generation| generation.serving && generation.name == name) {
            return Ok(generations);
        }
        let message = format!("generation `{name}` no longer serves queries");
        Err(Error::new(ErrorKind::Unavailable, message))
    }

    /// Watches until the generation can be promoted, or is given up.
    async fn complete(&self, request: &ReindexRequest, name: &str, previous: &str) -> Result<()> {
        let mut is_blocked = false;
        loop {
            match self.replayed(request, name).await? {
                Replay::Whole => {}
                Replay::Ended => {
                    return drop_generation(&self.topics, &self.index, &self.generations, name)
                        .await;
                }
                Replay::Lost => return self.give_up_lost(request, name, previous).await,
            }
            if self.has_ended(request).await? {
                return drop_generation(&self.topics, &self.index, &self.generations, name).await;
            }
            match self.difference(previous, name).await? {
                Progress::Complete => break,
                Progress::Missing(count, named) => {
                    let reason = format!(
                        "{count} documents of generation `{previous}` are missing, such as {}",
                        named.join(", ")
                    );
                    tracing::error!(
                        generation = name,
                        reason,
                        "the new generation is not promoted"
                    );
                    if !is_blocked {
                        let hint = "see `tributary dead-letters list` for why, replay or delete them, or cancel the reindex";
                        self.report(
                            request,
                            ReindexState::Blocked,
                            name,
                            previous,
                            Some(format!("{reason}; {hint}")),
                        )
                        .await?;
                    }
                    is_blocked = true;
                    self.pause(BLOCKED_PAUSE).await?;
                }
            }
        }
        self.index.promote(name).await?;
        self.generations.refresh().await?;
        self.promoted(request, name, previous).await?;
        tracing::info!(
            generation = name,
            previous,
            "queries go to the new generation"
        );
        if !self.keeps_previous {
            // Searches that began before the promotion still read it.
            self.pause(BLOCKED_PAUSE).await?;
            drop_generation(&self.topics, &self.index, &self.generations, previous).await?;
        }
        Ok(())
    }

    /// The new generation was deleted while it was filled: the request ends, and can be made again.
    /// Its name does not come again, as records for it are still on their way.
    async fn give_up_lost(
        &self,
        request: &ReindexRequest,
        name: &str,
        previous: &str,
    ) -> Result<()> {
        drop_generation(&self.topics, &self.index, &self.generations, name).await?;
        let reason = format!("{}; ask for it again", lost(name));
        self.report(request, ReindexState::Failed, name, previous, Some(reason))
            .await
    }

    /// Reports what is found since queries go to this generation, and then that they do.
    async fn promoted(&self, request: &ReindexRequest, name: &str, previous: &str) -> Result<()> {
        let now_ms = (self.clock)();
        report_found(&self.topics, &self.table, &self.index, name, now_ms).await?;
        self.report(request, ReindexState::Promoted, name, previous, None)
            .await
    }

    /// Waits until all that was in the log has gone through the generation's stages, and those
    /// published meanwhile are no longer many.
    async fn replayed(&self, request: &ReindexRequest, name: &str) -> Result<Replay> {
        let group = chunk_group(name);
        let steps = [
            (Topic::DocumentsClean, group.as_str()),
            (Topic::ChunksTagged, "embed"),
            (Topic::ChunksEmbedded, "index"),
        ];
        for _ in 0..ROUNDS {
            for (topic, group) in steps {
                let goal: BTreeMap<u32, u64> = self
                    .topics
                    .lag(topic, group)
                    .await?
                    .iter()
                    .map(|lag| (lag.partition, lag.end))
                    .collect();
                while !self.reached(topic, group, &goal).await? {
                    if self.has_ended(request).await? {
                        return Ok(Replay::Ended);
                    }
                    if self.is_lost(name).await? {
                        return Ok(Replay::Lost);
                    }
                    self.pause(LOOK_PAUSE).await?;
                }
            }
            if self
                .topics
                .lag(Topic::DocumentsClean, &group)
                .await?
                .iter()
                .all(|lag| lag.records() == 0)
            {
                break;
            }
        }
        match self.is_lost(name).await? {
            true => Ok(Replay::Lost),
            false => Ok(Replay::Whole),
        }
    }

    /// Whether the generation was deleted by somebody. `Unavailable` where none serves any more: the
    /// stage `index` waits for one, and the request comes again and makes this one serve.
    async fn is_lost(&self, name: &str) -> Result<bool> {
        if self.generations.serving().is_some() && self.is_known(name) {
            return Ok(false);
        }
        let generations = self.generations.refresh().await?;
        if !self.is_known(name) {
            return Ok(true);
        }
        match generations.iter().any(|generation| generation.serving) {
            true => Ok(false),
            false => Err(Error::new(
                ErrorKind::Unavailable,
                "the generation that serves queries is gone",
            )),
        }
    }

    fn is_known(&self, name: &str) -> bool {
        let known = self.generations.current();
        known.iter().any(|generation| generation.name == name)
    }

    async fn reached(&self, topic: Topic, group: &str, goal: &BTreeMap<u32, u64>) -> Result<bool> {
        let lag: Vec<PartitionLag> = self.topics.lag(topic, group).await?;
        Ok(lag.iter().all(|lag| {
            goal.get(&lag.partition)
                .is_none_or(|end| lag.committed >= *end || lag.records() == 0)
        }))
    }

    /// Documents that can be found in one generation and are not in the other: late ones come
    /// within a few looks.
    async fn difference(&self, previous: &str, name: &str) -> Result<Progress> {
        let mut missing = Vec::new();
        for _ in 0..DIFFERENCE_LOOKS {
            missing = self.missing(previous, name).await?;
            if missing.is_empty() {
                return Ok(Progress::Complete);
            }
            self.pause(LOOK_PAUSE * 4).await?;
        }
        Ok(Progress::Missing(
            missing.len(),
            missing.into_iter().take(NAMED).collect(),
        ))
    }

    async fn missing(&self, previous: &str, name: &str) -> Result<Vec<String>> {
        let mut missing = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let page = self
                .index
                .list_documents(Some(previous), after.as_deref(), PAGE)
                .await?;
            let Some(last) = page.last() else {
                return Ok(missing);
            };
            after = Some(last.document.document_id.clone());
            let ids: Vec<String> = page
                .iter()
                .map(|document| document.document.document_id.clone())
                .collect();
            let found = self.index.documents(Some(name), &ids).await?;
            for (old, new) in page.into_iter().zip(found) {
                let is_there = new.is_some_and(|new| new.document.version >= old.document.version);
                if !old.deleted && !is_there {
                    missing.push(old.document.document_id);
                }
            }
        }
    }

    async fn has_ended(&self, request: &ReindexRequest) -> Result<bool> {
        Ok(ended(&history::read(&self.topics).await?, request))
    }

    async fn report(
        &self,
        request: &ReindexRequest,
        state: ReindexState,
        generation: &str,
        previous: &str,
        reason: Option<String>,
    ) -> Result<()> {
        let report = ReindexReport {
            request_id: request.request_id.clone(),
            state,
            generation: generation.to_owned(),
            previous: previous.to_owned(),
            reason,
            at_ms: (self.clock)(),
        };
        history::report(&self.topics, &report).await
    }

    async fn pause(&self, pause: Duration) -> Result<()> {
        tokio::select! {
            () = self.shutdown.cancelled() => Err(Error::new(ErrorKind::Unavailable, "stopping; the build goes on at the next start")),
            () = tokio::time::sleep(pause) => Ok(()),
        }
    }
}

fn ended(builds: &[Build], request: &ReindexRequest) -> bool {
    builds.iter().any(|build| {
        build.request.request_id == request.request_id && build.report.state.is_final()
    })
}

fn lost(name: &str) -> Error {
    let what = format!("generation `{name}` was deleted while it was built");
    Error::new(ErrorKind::Unavailable, what)
}

/// Whether the generation serves while it is filled for this request, as there was none before it.
fn begun_anew(builds: &[Build], request: &ReindexRequest, serving: &str) -> bool {
    builds.iter().any(|build| {
        build.request.request_id == request.request_id
            && build.report.state == ReindexState::Building
            && build.report.generation == serving
            && build.report.previous.is_empty()
    })
}

/// Whether the generation was made for this request.
fn serves(generation: &GenerationStatus, request: &ReindexRequest) -> bool {
    Origin::decode(&generation.settings.origin)
        .ok()
        .flatten()
        .is_some_and(|origin| origin.request_id == request.request_id)
}

fn previous_of(generations: &[GenerationStatus], serving: &str) -> String {
    generations
        .iter()
        .find(|generation| generation.name != serving)
        .map(|generation| generation.name.clone())
        .unwrap_or_default()
}

/// `g1` is followed by `g2-<8 digits of the request>`: a name never comes twice, so that records
/// left of a build that was given up never get into another one.
fn next_name(serving: &str, request_id: &str) -> String {
    let number: String = serving
        .chars()
        .skip(1)
        .take_while(char::is_ascii_digit)
        .collect();
    let suffix: String = blake3::hash(request_id.as_bytes())
        .to_hex()
        .chars()
        .take(8)
        .collect();
    format!(
        "g{}-{suffix}",
        number.parse::<u64>().unwrap_or(0).saturating_add(1)
    )
}

/// Drops a generation, if it is there, and forgets its reader's positions.
pub(super) async fn drop_generation(
    topics: &Topics,
    index: &SharedSearchIndex,
    generations: &Generations,
    name: &str,
) -> Result<()> {
    match index.drop_generation(name).await {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        other => other?,
    }
    generations.refresh().await?;
    for _ in 0..FORGET_TRIES {
        match topics
            .forget_group(Topic::DocumentsClean, &chunk_group(name))
            .await
        {
            // Its reader, in whichever process, has yet to see that the generation is gone.
            Err(error) if error.kind() == ErrorKind::Conflict => {
                tokio::time::sleep(LOOK_PAUSE).await
            }
            other => return other,
        }
    }
    tracing::warn!(
        generation = name,
        "the positions of the reader of a generation that is gone are kept: it still reads"
    );
    Ok(())
}

#[async_trait]
impl Stage for ReindexStage {
    fn name(&self) -> &'static str {
        "reindex"
    }

    /// A build takes hours.
    fn at_work_after(&self) -> Option<Duration> {
        Some(AT_WORK_AFTER)
    }

    async fn process(&self, input: &StoredRecord) -> Result<Vec<Output>> {
        match input.record.header(event::CE_TYPE) {
            Some(event::TYPE_REINDEX_STATE) => return Ok(Vec::new()),
            Some(event::TYPE_REINDEX_REQUESTED) => {}
            other => {
                let what = format!(
                    "`{}` is no type of record of this topic",
                    other.unwrap_or_default()
                );
                return Err(Error::new(ErrorKind::Invalid, what)
                    .with_hint(format!("ce_type is {}", event::TYPE_REINDEX_REQUESTED)));
            }
        }
        if let Some(request) = message::decode::<ReindexRequest>(&input.record)? {
            self.build(&request).await.map_err(again_if_gone)?;
        }
        Ok(Vec::new())
    }

    /// A request that is given up says so: nothing waits for its build.
    fn abandoned(&self, input: &StoredRecord, error: &Error) -> Vec<Output> {
        let request = message::decode::<ReindexRequest>(&input.record);
        let Ok(Some(request)) = request else {
            return Vec::new();
        };
        let report = ReindexReport {
            request_id: request.request_id,
            state: ReindexState::Failed,
            generation: String::new(),
            previous: self.generations.serving().unwrap_or_default(),
            reason: Some(format!("{}; ask for it again", error.full_message())),
            at_ms: (self.clock)(),
        };
        let record = history::record(&report);
        let output = record.map(|record| Output {
            topic: Topic::ReindexRequests,
            record,
        });
        output.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_count_on_and_never_come_twice() {
        assert!(next_name("", "a").starts_with("g1-"));
        let second = next_name("g1", "a");
        assert!(second.starts_with("g2-"), "{second}");
        assert!(next_name(&second, "b").starts_with("g3-"));
        assert_ne!(next_name("g1", "a"), next_name("g1", "b"));
        assert!(
            second.chars().all(|letter| letter.is_ascii_lowercase()
                || letter.is_ascii_digit()
                || letter == '-')
        );
    }
}
