//! The ingest stage: one record of `documents.raw` in, a clean document (or a tombstone, or a
//! report of a skip) out.

mod conversion;
mod outcome;
mod published;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tributary_convert::Converted;
use tributary_convert::isolation::ConversionPool;
use tributary_models::service::SharedServiceObserver;
use tributary_schemas::document::TABLES_DATABASE;
use tributary_schemas::{
    CleanDocument, DocumentEvent, DocumentHeader, DocumentState, Error, ErrorKind, Result, State,
    Topic, event, id, picture,
};
use tributary_store::blobs::Blobs;
use tributary_store::event_log::stage::{Next, Output, Outputs, Stage};
use tributary_store::event_log::{Record, StoredRecord, message};
use tributary_store::manifest::unchanged::SkipGate;
use tributary_store::manifest::versions::VersionRule;
use tributary_store::work::Work;
use tributary_store::{Clock, manifest};
use tributary_taxonomy::source_profiles::SourceProfiles;

use self::conversion::{Begun, Conversion, Original};
use self::outcome::{reason_of_emptiness, unchanged};
use self::published::{Body, Published, check_type, describe_body, published, shown};
use crate::blocking;
use crate::config::Config;
use crate::external::room::Room;
use crate::source_cleaning::SourceCleaning;

/// Name of the stage in logs, metrics, dead letters and timelines.
pub const STAGE: &str = "ingest";

const NEXT: Next = Next {
    topic: Topic::DocumentsClean,
    event_type: event::TYPE_DOCUMENT_CLEANED,
};

/// Pause between two looks whether a newer version waits.
const LOOK_PAUSE: Duration = Duration::from_millis(500);

/// Media type of the database that spreadsheets and delimited text become beside their text.
const DATABASE: &str = "application/vnd.sqlite3";

/// A hash of every setting of later stages that shapes the index. Asked for each document: some
/// settings change while the stage runs.
pub type LaterSettings = Arc<dyn Fn() -> String + Send + Sync>;

/// What the stage needs of the rest of the product.
pub struct IngestParts {
    /// Where documents are converted.
    pub pool: Arc<ConversionPool>,
    /// How each source is treated.
    pub profiles: Arc<SourceProfiles>,
    /// When what it gives changes, nothing counts as unchanged.
    pub later_settings: LaterSettings,
    /// Bodies that are not in the event, and files that documents carry.
    pub blobs: Blobs,
    /// What is searchable now.
    pub gate: SkipGate,
    /// Which versions are taken.
    pub version_rule: VersionRule,
    /// Time.
    pub clock: Clock,
    /// Where the stage says what it is at.
    pub work: Work,
    /// Counts calls of external steps.
    pub observer: SharedServiceObserver,
    /// Ends waiting for external steps: the record comes again after the next start.
    pub stop: CancellationToken,
}

/// The stage.
pub struct IngestStage {
    shared: Arc<Conversion>,
    blobs: Blobs,
    gate: SkipGate,
    version_rule: VersionRule,
    clock: Clock,
    work: Work,
    stop: CancellationToken,
    permits: Arc<Semaphore>,
    /// Room for texts that wait for external steps.
    room: Room,
}

/// What became of a published document.
enum Cleaned {
    Whole(Box<CleanDocument>),
    /// It waited for an external step, and this newer version of it, or its deletion, came.
    Superseded(Box<DocumentHeader>, u64),
}

impl IngestStage {
    /// A stage over the given profiles. `Invalid` if a profile names an unknown cleaning step or
    /// sets one wrongly.
    pub fn new(config: &Config, parts: IngestParts) -> Result<Self> {
        let IngestParts {
            pool,
            profiles,
            later_settings,
            blobs,
            gate,
            version_rule,
            clock,
            work,
            observer,
            stop,
        } = parts;
        let conversion = pool.config();
        let cleaning = SourceCleaning::observed(
            profiles,
            config,
            conversion.maximum_title_characters,
            &observer,
        )?;
        let permits = Arc::new(Semaphore::new(conversion.conversion_workers.max(1)));
        let shared = Arc::new(Conversion {
            pool,
            cleaning,
            later_settings,
            keeps_originals: config.keep_originals,
        });
        Ok(Self {
            shared,
            blobs,
            gate,
            version_rule,
            clock,
            work,
            stop,
            permits,
            room: Room::new(config.external.waiting_bytes),
        })
    }

    /// Whether any source has steps that documents wait for.
    pub fn has_external_steps(&self) -> bool {
        self.shared.cleaning.has_external()
    }

    /// `Invalid` for a version that is not taken, `Conflict` for one that comes after a newer one.
    fn check_version(&self, document_id: &str, version: u64) -> Result<()> {
        self.version_rule.check(version, (self.clock)())?;
        match self.gate.superseded_by(document_id, version) {
            None => Ok(()),
            Some(newer) => {
                let what = format!(
                    "version {version} of `{}` comes after version {newer}",
                    shown(document_id)
                );
                Err(Error::new(ErrorKind::Conflict, what))
            }
        }
    }

    async fn clean(&self, published: Published) -> Result<Cleaned> {
        let mut permit = self.permit().await?;
        // Only now: what waits for its turn holds no body.
        let body = self.body(&published.event).await?;
        let _working = self.work.begin(STAGE, &published.document_id);
        let shared = Arc::clone(&self.shared);
        let (published, mut converted) = blocking(move || {
            let converted = shared.convert(&published.event, body);
            Ok((published, converted?))
        })
        .await?;
        self.keep_files(&mut converted).await?;
        let shared = Arc::clone(&self.shared);
        let mut begun = blocking(move || shared.begin(published, converted)).await?;
        if self.is_for_external_steps(&begun) {
            // With the permit: while there is no room, nothing more is converted.
            let room = self.room.take(begun.clean.markdown.len()).await?;
            drop(permit);
            begun.clean = match self.run_external_steps(begun.clean).await? {
                Cleaned::Whole(clean) => *clean,
                superseded @ Cleaned::Superseded(..) => return Ok(superseded),
            };
            // Before the permit, which others may hold that wait for room.
            drop(room);
            permit = self.permit().await?;
        }
        let original = begun.original.take();
        let (shared, now_ms) = (Arc::clone(&self.shared), (self.clock)());
        let finished = blocking(move || Ok(shared.finish(begun, now_ms))).await;
        drop(permit);
        let clean = self.keep_original(finished?, original).await?;
        Ok(Cleaned::Whole(Box::new(clean)))
    }

    /// Keeps the bytes that were published and names their blob. Nothing is kept of a document of
    /// which nothing is left. One that is searchable as it is has its original, unless that was lost:
    /// then it is there again.
    async fn keep_original(
        &self,
        mut clean: CleanDocument,
        original: Option<Original>,
    ) -> Result<CleanDocument> {
        let Some(original) = original.filter(|_| !is_empty(&clean)) else {
            return Ok(clean);
        };
        let url = match original {
            Original::Kept(url) => url,
            Original::Inline(bytes) => self.blobs.put(bytes).await?,
        };
        if self.is_news(&clean) {
            clean.document.original = Some(url);
        }
        Ok(clean)
    }

    /// Whether something is left of it that is not searchable as it is.
    fn is_news(&self, clean: &CleanDocument) -> bool {
        let document = &clean.document;
        let (id, version) = (&document.document_id, document.version);
        !is_empty(clean)
            && self
                .gate
                .unchanged(id, version, &document.fingerprint)
                .is_none()
    }

    /// The right to take a processor.
    async fn permit(&self) -> Result<OwnedSemaphorePermit> {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        permit.map_err(|_| stopping())
    }

    /// Nothing is asked about a document of which nothing is left, nor about one that is searchable
    /// as it is: a step's version stands for what it answers.
    fn is_for_external_steps(&self, begun: &Begun) -> bool {
        let source = &begun.clean.document.source;
        !self.shared.cleaning.external(source).is_empty() && self.is_news(&begun.clean)
    }

    /// A service that hangs holds up neither a newer version of the document nor its deletion: the
    /// older one is not worth waiting for then.
    async fn run_external_steps(&self, clean: CleanDocument) -> Result<Cleaned> {
        let steps = self.shared.cleaning.external(&clean.document.source);
        let document = clean.document.clone();
        tokio::select! {
            done = steps.run(clean) => done.map(|(clean, _)| Cleaned::Whole(Box::new(clean))),
            () = self.stop.cancelled() => Err(stopping()),
            newer = self.newer_version(&document) => {
                Ok(Cleaned::Superseded(Box::new(document), newer))
            }
        }
    }

    /// Ends when a newer version that will be taken waits behind this one.
    async fn newer_version(&self, document: &DocumentHeader) -> u64 {
        loop {
            let newer = self
                .gate
                .waiting_behind(&document.document_id, document.version);
            let is_taken = |newer: &u64| self.version_rule.check(*newer, (self.clock)()).is_ok();
            if let Some(newer) = newer.filter(is_taken) {
                return newer;
            }
            tokio::time::sleep(LOOK_PAUSE).await;
        }
    }

    /// The end of a version that was not waited for. What was found of the document before stays
    /// found until the newer one has come.
    fn superseded(
        &self,
        document: &DocumentHeader,
        newer: u64,
        cause: &Record,
    ) -> Result<Vec<Output>> {
        let now_ms = (self.clock)();
        let reason = format!(
            "version {newer} of the document, or its deletion, came while an external step had not answered"
        );
        let state = DocumentState {
            reason: Some(reason),
            ..manifest::report(document, State::Skipped, now_ms)
        };
        Ok(Outputs::of(cause, NEXT, now_ms).report(&state)?.done())
    }

    /// Keeps pictures that the text shows and the database of its tables; their links are those of
    /// the blobs from then on. A picture of a kind that is not shown (a drawing such as WMF) has no
    /// link. Other files are only named in the text.
    async fn keep_files(&self, converted: &mut Converted) -> Result<()> {
        for (number, file) in std::mem::take(&mut converted.blobs).into_iter().enumerate() {
            let link = format!("embedded:{number}");
            let is_database = file.media_type == DATABASE;
            if !is_database && !converted.images.iter().any(|image| image.link == link) {
                continue;
            }
            let is_shown = is_database || picture::media_type(&file.bytes).is_some();
            if !is_shown {
                set_link(converted, &link, "");
                continue;
            }
            let url = self.blobs.put(file.bytes.into()).await?;
            if is_database {
                converted
                    .metadata
                    .insert(TABLES_DATABASE.to_owned(), url.clone());
            }
            set_link(converted, &link, &url);
        }
        Ok(())
    }

    /// The body where it was left, or from the blob store.
    async fn body(&self, event: &DocumentEvent) -> Result<Body> {
        match &event.content_url {
            Some(url) => Ok(Body::Fetched(self.blobs.get(url).await?)),
            None => Ok(Body::Inline),
        }
    }

    /// The outputs for a clean document: skipped as empty or unchanged, or passed on.
    fn outputs(&self, clean: &CleanDocument, body_is: &str, cause: &Record) -> Result<Vec<Output>> {
        let (document, now_ms) = (&clean.document, (self.clock)());
        let outputs = Outputs::of(cause, NEXT, now_ms);
        if is_empty(clean) {
            self.gate.pass(&document.document_id, document.version);
            let reason = reason_of_emptiness(&clean.metadata, body_is);
            let state = DocumentState {
                reason: Some(reason),
                ..manifest::report(document, State::Skipped, now_ms)
            };
            // The newer version has no content, so the chunks of an older one must go.
            return Ok(outputs
                .report(&state)?
                .passed(&document.document_id, document.version)?
                .remove(&document.document_id, document.version)
                .done());
        }
        let is_known = self.gate.is_known(&document.document_id);
        if let Some(indexed) = self.gate.unchanged_since(
            &document.document_id,
            document.version,
            &document.fingerprint,
        ) {
            let state = unchanged(document, indexed, now_ms);
            return Ok(outputs.report(&state)?.done());
        }
        let mut outputs = outputs.report(&manifest::report(document, State::Chunking, now_ms))?;
        if is_known {
            outputs = outputs.passed(&document.document_id, document.version)?;
        }
        Ok(outputs
            .pass_on(&document.document_id, document.version, clean)?
            .done())
    }
}

#[async_trait]
impl Stage for IngestStage {
    fn name(&self) -> &'static str {
        STAGE
    }

    async fn process(&self, input: &StoredRecord) -> Result<Vec<Output>> {
        let record = &input.record;
        check_type(record)?;
        let key = message::document_id(record)?;
        id::check_document_id(key)?;
        if record.value.is_none() {
            let version = message::version(record)?;
            self.check_version(key, version)?;
            self.gate.pass(key, version);
            let now_ms = (self.clock)();
            // Reported, so that after a restart the gate still knows that the stored content is on
            // its way out.
            let document = DocumentHeader {
                document_id: key.to_owned(),
                version,
                ..DocumentHeader::default()
            };
            let report = manifest::report(&document, State::Chunking, now_ms);
            return Ok(Outputs::of(record, NEXT, now_ms)
                .report(&report)?
                .passed(key, version)?
                .remove(key, version)
                .done());
        }
        let published = published(record, key)?;
        self.check_version(key, published.version)?;
        let body_is = describe_body(&published.event);
        match self.clean(published).await? {
            Cleaned::Whole(clean) => self.outputs(&clean, &body_is, record),
            Cleaned::Superseded(document, newer) => self.superseded(&document, newer, record),
        }
    }

    fn abandoned(&self, input: &StoredRecord, error: &Error) -> Vec<Output> {
        manifest::abandoned(input, error, (self.clock)())
    }
}

/// Replaces the link of a picture; an empty one is none.
fn set_link(converted: &mut Converted, from: &str, to: &str) {
    let pictures = converted.images.iter_mut();
    pictures
        .filter(|image| image.link == from)
        .for_each(|image| to.clone_into(&mut image.link));
}

/// Whether nothing is left of a document that could be found.
fn is_empty(clean: &CleanDocument) -> bool {
    clean.markdown.trim().is_empty()
}

fn stopping() -> Error {
    Error::new(ErrorKind::Unavailable, "ingest is shutting down")
}
