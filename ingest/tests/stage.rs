//! The stage as the worker loop sees it: records in, outputs out.
#![allow(clippy::unwrap_used)]

#[path = "../../convert/src/test_config.rs"]
mod conversion_config;
#[path = "../src/test_config.rs"]
mod test_config;

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tributary_convert::isolation::ConversionPool;
use tributary_ingest::{IngestParts, IngestStage, LaterSettings};
use tributary_models::ocr::{OcrSetup, OcrUnavailable};
use tributary_models::service::Uncounted;
use tributary_schemas::{
    CleanDocument, DocumentHeader, DocumentState, ErrorKind, PassedIngest, Result, State, Topic,
    event, id,
};
use tributary_store::blobs::Blobs;
use tributary_store::event_log::embedded::{self, EmbeddedEventLog};
use tributary_store::event_log::stage::{Output, Stage};
use tributary_store::event_log::topics::Topics;
use tributary_store::event_log::{Position, Record, StoredRecord, message};
use tributary_store::manifest;
use tributary_store::manifest::table::DocumentTable;
use tributary_store::manifest::unchanged::SkipGate;
use tributary_store::manifest::versions::VersionRule;
use tributary_store::work::Work;
use tributary_taxonomy::source_profiles::SourceProfiles;

const NOW: i64 = 1_700_000_000_000;

const LOG: embedded::Config = embedded::Config {
    segment_bytes: 1 << 20,
    max_record_bytes: 4 << 20,
    linger_ms: 0,
    queue_bytes: 8 << 20,
    maintenance_interval_seconds: 0,
    compaction_dirty_ratio: 0.5,
    tombstone_retention_seconds: 0,
};

/// What the stage finds in the store.
struct Kept {
    table: Arc<DocumentTable>,
    blobs: Blobs,
    _folder: TempDir,
}

impl Kept {
    /// These reports, and no blobs.
    async fn with(reports: &[DocumentState]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::local(&folder.path().join("blobs")).unwrap();
        let log = Arc::new(EmbeddedEventLog::open(&folder.path().join("log"), LOG).unwrap());
        let topics = Topics::new(log, "tributary".into(), blobs.clone(), 1 << 20);
        topics.create(1, None, None).await.unwrap();
        for report in reports {
            let Output { topic, record } = Output::report(report).unwrap();
            topics.append(topic, vec![record]).await.unwrap();
        }
        Self {
            table: Arc::new(DocumentTable::open(&topics).await.unwrap()),
            blobs,
            _folder: folder,
        }
    }

    async fn nothing() -> Self {
        Self::with(&[]).await
    }

    /// A stage over these profiles, with settings of later stages.
    fn try_stage(&self, profiles: SourceProfiles, settings: &str) -> Result<IngestStage> {
        let parts = IngestParts {
            pool: Arc::new(ConversionPool::new(conversion(), no_ocr(), None)),
            profiles: Arc::new(profiles),
            later_settings: later(settings),
            blobs: self.blobs.clone(),
            gate: SkipGate::new(Arc::clone(&self.table)),
            version_rule: VersionRule::new(24),
            clock: Arc::new(|| NOW),
            work: Work::default(),
            observer: Arc::new(Uncounted),
            stop: CancellationToken::new(),
        };
        IngestStage::new(&test_config::config(), parts)
    }

    fn stage(&self, settings: &str) -> IngestStage {
        self.try_stage(SourceProfiles::from_toml(PROFILES).unwrap(), settings)
            .unwrap()
    }
}

/// A report about the one document.
fn reported(version: u64, state: State, fingerprint: &str) -> DocumentState {
    let document = DocumentHeader {
        document_id: "d".into(),
        version,
        fingerprint: fingerprint.into(),
        ..DocumentHeader::default()
    };
    DocumentState {
        chunks: 7,
        ..manifest::report(&document, state, NOW)
    }
}

fn no_ocr() -> std::result::Result<OcrSetup, OcrUnavailable> {
    Err(OcrUnavailable::new("no models are here"))
}

fn conversion() -> tributary_convert::Config {
    let mut config: tributary_convert::Config = conversion_config::config();
    config.maximum_body_bytes = 1 << 20;
    config.maximum_markdown_bytes = 2 << 20;
    config
}

const PROFILES: &str = r#"
[[source_profile]]
name = "cases"
source = "cases"
chunker = "whole"
cleaners = [{ step = "title_prefix", attribute = "product" }, { step = "path_metadata" }]
attributes = { product = "gNodeB" }
tag_rules = [{ title = "*gNodeB*", tags = ["5G"] }]
"#;

fn later(settings: &str) -> LaterSettings {
    let settings = settings.to_owned();
    Arc::new(move || settings.clone())
}

fn record(key: &str, value: Option<Vec<u8>>) -> StoredRecord {
    let headers = vec![(
        event::TRACEPARENT.to_owned(),
        Bytes::from_static(b"00-trace"),
    )];
    let record = Record {
        key: Bytes::copy_from_slice(key.as_bytes()),
        value: value.map(Bytes::from),
        headers,
        timestamp_ms: 42,
    };
    StoredRecord {
        position: Position {
            partition: 0,
            offset: 0,
        },
        record,
    }
}

fn published(value: &Value) -> StoredRecord {
    let key = value["document_id"].as_str().map(str::to_owned);
    let key = key.unwrap_or_else(|| {
        id::derive_document_id(
            value["source"].as_str().unwrap(),
            value["source_path"].as_str().unwrap(),
        )
    });
    record(&key, Some(serde_json::to_vec(value).unwrap()))
}

async fn run(input: &StoredRecord) -> Result<Vec<Output>> {
    Kept::nothing().await.stage("s").process(input).await
}

fn state(output: &Output) -> DocumentState {
    assert_eq!(output.topic, Topic::DocumentsStates);
    assert_eq!(output.record.header(event::TRACEPARENT), Some("00-trace"));
    message::decode(&output.record).unwrap().unwrap()
}

/// What a record says that passed ingest. No report of the document takes its place in the topic.
fn passed(output: &Output) -> (String, u64) {
    assert_eq!(output.topic, Topic::DocumentsStates);
    let passed: PassedIngest = message::decode(&output.record).unwrap().unwrap();
    assert_ne!(output.record.key, passed.document_id);
    (passed.document_id, passed.version)
}

fn clean(output: &Output) -> CleanDocument {
    assert_eq!(output.topic, Topic::DocumentsClean);
    assert_eq!(output.record.header(event::TRACEPARENT), Some("00-trace"));
    message::decode(&output.record).unwrap().unwrap()
}

#[tokio::test]
async fn a_document_is_reported_and_passed_on() {
    let content = "---\nauthor: A\nms.date: 05/06/2024\n---\n# 掉话\n\n![图](a.png)\n";
    let input = published(
        &json!({ "source": "cases", "source_path": "x/y/a.md", "content": content, "knowledge_sets": ["k"] }),
    );
    let outputs = run(&input).await.unwrap();
    assert_eq!(outputs.len(), 2);
    let (report, clean) = (state(&outputs[0]), clean(&outputs[1]));
    let document = &clean.document;
    assert_eq!(
        (report.state, report.version, &report.fingerprint),
        (State::Chunking, 42, &document.fingerprint)
    );
    assert_eq!(
        document.document_id,
        id::derive_document_id("cases", "x/y/a.md")
    );
    assert_eq!(
        (
            document.version,
            document.title.as_str(),
            document.media_type.as_str()
        ),
        (42, "[gNodeB] 掉话", "text/markdown")
    );
    assert_eq!(
        (
            document.lineage.converter.as_str(),
            document.lineage.source_profile.as_str()
        ),
        ("markdown/3", "cases")
    );
    assert_eq!(document.tags, vec!["5G"]);
    assert_eq!(
        (
            document.attributes.author.as_deref(),
            document.attributes.updated_at
        ),
        (Some("A"), Some(1_714_953_600_000))
    );
    assert_eq!(clean.markdown, "# 掉话\n\n![图](image:0)\n");
    assert_eq!(clean.images[0].link, "a.png");
    assert_eq!(
        clean.metadata.get("path").map(String::as_str),
        Some("x / y")
    );
    assert_eq!(message::version(&outputs[1].record).unwrap(), 42);
    let mut unreadable = outputs[1].record.clone();
    for (name, value) in &mut unreadable.headers {
        if name == event::DOCUMENT_VERSION {
            *value = "9x".into();
        }
    }
    let refused = message::version(&unreadable).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid, "{refused}");
    assert_eq!(
        run(&input).await.unwrap(),
        outputs,
        "the same record gives the same outputs"
    );
}

#[tokio::test]
async fn bodies_come_from_base64_and_from_the_blob_store() {
    let outputs = run(&published(
        &json!({ "document_id": "d", "version": 3, "source": "s", "content_base64": "IyBUCg==" }),
    ))
    .await
    .unwrap();
    assert_eq!(
        (
            clean(&outputs[1]).markdown.as_str(),
            clean(&outputs[1]).document.version
        ),
        ("# T\n", 3)
    );
    let kept = Kept::nothing().await;
    let url = kept
        .blobs
        .put(Bytes::from_static(b"# From the blob\n\ntext\n"))
        .await
        .unwrap();
    let of =
        |url: &str| published(&json!({ "document_id": "d", "source": "s", "content_url": url }));
    let outputs = kept.stage("s").process(&of(&url)).await.unwrap();
    let document = clean(&outputs[1]).document;
    assert_eq!(document.title, "From the blob");
    assert_eq!(document.original, Some(url.clone()), "it is kept already");
    let error = run(&of(&url)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn the_bytes_that_were_published_are_kept_beside_the_document() {
    let kept = Kept::nothing().await;
    let input =
        published(&json!({ "document_id": "d", "source": "s", "content_base64": "77u/IyBUDQo=" }));
    let outputs = kept.stage("s").process(&input).await.unwrap();
    let document = clean(&outputs[1]);
    let original = document.document.original.unwrap();
    let bytes = kept.blobs.get(&original).await.unwrap();
    assert_eq!(bytes, b"\xEF\xBB\xBF# T\r\n".as_slice());
    assert_eq!(document.markdown, "# T\n");
}

#[tokio::test]
async fn what_breaks_the_rules_is_refused_with_a_reason() {
    let long = "x".repeat(id::MAXIMUM_DOCUMENT_ID_BYTES + 1);
    for (value, kind, part) in [
        (
            json!({ "document_id": "d", "source": "s", "content": "x", "colour": 1 }),
            ErrorKind::Invalid,
            "unknown field `colour`",
        ),
        (
            json!({ "document_id": "d", "source": "s" }),
            ErrorKind::Invalid,
            "0 of `content`",
        ),
        (
            json!({ "document_id": "d", "source": "s", "content": "x", "content_base64": "eA==" }),
            ErrorKind::Invalid,
            "2 of `content`",
        ),
        (
            json!({ "document_id": "d", "source": "s", "content_base64": "?" }),
            ErrorKind::Corrupt,
            "does not decode",
        ),
        (
            json!({ "document_id": "d", "source": " ", "content": "x" }),
            ErrorKind::Invalid,
            "`source` is missing or empty",
        ),
        (
            json!({ "document_id": "d", "source": "s".repeat(1025), "content": "x" }),
            ErrorKind::Invalid,
            "`source` has 1025 bytes",
        ),
        (
            json!({ "document_id": "d", "source": "s", "content": "x", "attributes": { "custom": { "k": "x".repeat(4097) } } }),
            ErrorKind::Invalid,
            "`attributes.custom.k` has 4097 bytes, at most 4096",
        ),
        (
            json!({ "document_id": long, "source": "s", "content": "x" }),
            ErrorKind::Invalid,
            "has 1025 bytes",
        ),
        (
            json!({ "document_id": "d", "source": "s", "content": "%!PS-Adobe-3.0" }),
            ErrorKind::Unsupported,
            "no converter for PostScript",
        ),
        (
            json!({ "document_id": "d", "source": "s", "content_base64": "A".repeat(2 << 20) }),
            ErrorKind::Invalid,
            "over the limit",
        ),
    ] {
        let error = run(&published(&value)).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(part), "{error} lacks {part}");
    }
    let mismatch = record(
        "other",
        Some(br#"{"document_id": "d", "source": "s", "content": "x"}"#.to_vec()),
    );
    assert!(
        run(&mismatch)
            .await
            .unwrap_err()
            .to_string()
            .contains("is not its document_id")
    );
    let derived = record(
        "other",
        Some(br#"{"source": "s", "source_path": "p", "content": "x"}"#.to_vec()),
    );
    assert!(
        run(&derived)
            .await
            .unwrap_err()
            .to_string()
            .contains("derived from its source")
    );
    assert!(
        run(&record("d", Some(b"{".to_vec())))
            .await
            .unwrap_err()
            .to_string()
            .contains("is not JSON")
    );
    assert_eq!(
        run(&record("", None)).await.unwrap_err().kind(),
        ErrorKind::Invalid
    );
}

#[tokio::test]
async fn a_record_of_an_unknown_type_is_refused_by_that_name_and_one_without_a_type_is_read() {
    let mut input = published(&json!({ "document_id": "d", "source": "s", "content": "x" }));
    input
        .record
        .headers
        .retain(|(name, _)| name != event::CE_TYPE);
    run(&input).await.unwrap();
    for unknown in [
        "com.example.order.v1",
        "tributary.document.published.v2",
        event::TYPE_DOCUMENT_CLEANED,
    ] {
        let mut input = input.clone();
        input
            .record
            .headers
            .push((event::CE_TYPE.to_owned(), Bytes::from(unknown)));
        let error = run(&input).await.unwrap_err();
        assert!(
            error.kind() == ErrorKind::Invalid && error.to_string().contains(unknown),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_tombstone_passes_on_with_its_version() {
    let kept = Kept::nothing().await;
    let stage = kept.stage("s");
    let mut input = record("d", None);
    input
        .record
        .headers
        .push((event::DOCUMENT_VERSION.to_owned(), Bytes::from_static(b"9")));
    let outputs = stage.process(&input).await.unwrap();
    assert_eq!(
        (outputs.len(), outputs[0].topic),
        (3, Topic::DocumentsStates),
        "the table learns that the deletion passed"
    );
    assert_eq!(passed(&outputs[1]), ("d".to_owned(), 9));
    assert_eq!(
        (outputs[2].topic, outputs[2].record.value.as_ref()),
        (Topic::DocumentsClean, None)
    );
    assert_eq!(
        (
            message::version(&outputs[2].record).unwrap(),
            message::document_id(&outputs[2].record).unwrap()
        ),
        (9, "d")
    );
    let older =
        published(&json!({ "document_id": "d", "version": 8, "source": "s", "content": "x" }));
    assert_eq!(
        stage.process(&older).await.unwrap_err().kind(),
        ErrorKind::Conflict,
        "that it passed is remembered"
    );
}

#[tokio::test]
async fn an_empty_document_is_skipped_and_its_older_version_removed() {
    let outputs = run(&published(
        &json!({ "document_id": "d", "version": 5, "source": "s", "content": " \n\u{200B}" }),
    ))
    .await
    .unwrap();
    let report = state(&outputs[0]);
    assert_eq!(
        (report.state, report.version, report.indexed_version),
        (State::Skipped, 5, None)
    );
    assert!(report.reason.unwrap().starts_with("empty: "));
    assert_eq!(passed(&outputs[1]), ("d".to_owned(), 5));
    assert_eq!(
        (
            outputs[2].topic,
            outputs[2].record.value.as_ref(),
            message::version(&outputs[2].record).unwrap()
        ),
        (Topic::DocumentsClean, None, 5)
    );
}

#[tokio::test]
async fn an_unchanged_document_is_skipped_until_a_setting_changes() {
    let version = |version: u64| {
        published(
            &json!({ "document_id": "d", "version": version, "source": "s", "content": "text" }),
        )
    };
    let first = run(&version(1)).await.unwrap();
    let kept = Kept::with(&[reported(
        1,
        State::Indexed,
        &clean(&first[1]).document.fingerprint,
    )])
    .await;
    let second = kept.stage("s").process(&version(2)).await.unwrap();
    let report = state(&second[0]);
    assert_eq!(
        (
            second.len(),
            report.state,
            report.indexed_version,
            report.chunks
        ),
        (1, State::Skipped, Some(1), 7)
    );
    assert_eq!(
        report.reason.as_deref(),
        Some("content and settings unchanged since version 1")
    );
    let changed = kept.stage("other settings").process(&version(2)).await;
    let changed = changed.unwrap();
    assert_eq!((first.len(), changed.len()), (2, 3));
    assert_eq!(
        passed(&changed[1]),
        ("d".to_owned(), 2),
        "version 1 is about to be taken away"
    );
}

/// A white pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg==";

#[tokio::test]
async fn a_picture_that_nobody_reads_is_skipped_and_says_why() {
    let outputs = run(&published(
        &json!({ "document_id": "d", "source": "s", "content_base64": PNG }),
    ))
    .await
    .unwrap();
    let skipped = state(&outputs[0]);
    assert_eq!(skipped.state, State::Skipped);
    assert_eq!(
        skipped.reason.as_deref(),
        Some("no text: its pictures were not read: no models are here")
    );
    assert_eq!(outputs.len(), 3, "the chunks of an older version go");
}

#[tokio::test]
async fn a_picture_that_is_not_shown_has_no_link() {
    let rest = "AAAA".repeat(100);
    let page = format!(
        "<h1>Drawings</h1><p>Text.</p><img src='data:image/png;base64,iVBORw0KGgoA{rest}'>\
         <img src='data:image/x-wmf;base64,183GmgAA{rest}'>"
    );
    let outputs = run(&published(
        &json!({ "document_id": "d", "source": "s", "content": page }),
    ))
    .await
    .unwrap();
    let clean: CleanDocument = message::decode(&outputs[1].record).unwrap().unwrap();
    let links: Vec<&str> = clean
        .images
        .iter()
        .map(|image| image.link.split(':').next().unwrap())
        .collect();
    assert_eq!(links, ["blob", ""], "the server shows pixels only");
}

#[tokio::test]
async fn a_dead_record_is_reported() {
    let input = published(
        &json!({ "document_id": "d", "version": 8, "source": "s", "content": "%!PS-Adobe-3.0" }),
    );
    let kept = Kept::nothing().await;
    let stage = kept.stage("s");
    let error = stage.process(&input).await.unwrap_err();
    let report: DocumentState = message::decode(&stage.abandoned(&input, &error)[0].record)
        .unwrap()
        .unwrap();
    assert_eq!((report.state, report.version), (State::Dead, 8));
    assert!(
        report
            .reason
            .unwrap()
            .contains("unsupported: no converter for PostScript")
    );
}

#[tokio::test]
async fn what_comes_after_something_newer_is_dropped_and_strange_versions_are_dead() {
    let kept = Kept::with(&[reported(5, State::Dead, "")]).await;
    let document = |version: u64| {
        published(
            &json!({ "document_id": "d", "version": version, "source": "s", "content": "text" }),
        )
    };
    let mut kinds = Vec::new();
    for version in [4, 5, NOW as u64 + 48 * 3_600_000, 1 << 63] {
        kinds.push(
            kept.stage("s")
                .process(&document(version))
                .await
                .map(drop)
                .map_err(|error| error.kind()),
        );
    }
    assert_eq!(
        kinds,
        [
            Err(ErrorKind::Conflict),
            Ok(()),
            Err(ErrorKind::Invalid),
            Err(ErrorKind::Invalid)
        ]
    );
    let mut deletion = record("d", None);
    deletion
        .record
        .headers
        .push((event::DOCUMENT_VERSION.to_owned(), Bytes::from_static(b"4")));
    assert_eq!(
        kept.stage("s").process(&deletion).await.unwrap_err().kind(),
        ErrorKind::Conflict
    );
}

#[tokio::test]
async fn a_report_of_a_refused_record_is_small_whatever_the_record_says() {
    let long = "表".repeat(1_000_000);
    let input = published(
        &json!({ "document_id": "d", "source": long, "source_path": long, "title": long, "content": "x" }),
    );
    let kept = Kept::nothing().await;
    let stage = kept.stage("s");
    let error = stage.process(&input).await.unwrap_err();
    let report = stage.abandoned(&input, &error).remove(0).record;
    let bytes = report.value.as_ref().unwrap().len();
    assert!(bytes < 16_384, "{bytes} bytes");
    let report: DocumentState = message::decode(&report).unwrap().unwrap();
    assert!(
        report.state == State::Dead
            && report
                .reason
                .unwrap()
                .contains("`source` has 3000000 bytes")
    );
    let no_id = record(&"k".repeat(100_000), None);
    let error = stage.process(&no_id).await.unwrap_err();
    assert!(
        stage.abandoned(&no_id, &error).is_empty(),
        "no document can have such a key"
    );
}

#[tokio::test]
async fn a_profile_with_an_unknown_step_is_refused() {
    let profiles =
        SourceProfiles::from_toml("[[source_profile]]\nname = \"p\"\nsource = \"s\"\ncleaners = [{ step = \"drop_ancors\" }]\n").unwrap();
    let made = Kept::nothing().await.try_stage(profiles, "");
    let error = made.err().unwrap();
    assert!(error.hint().unwrap().contains("`drop_anchors`"));
}

/// What becomes of a document by a profile for the source `s`, whose step reads `learned.toml` with
/// this text.
async fn with_learned(learned: &str, input: &StoredRecord) -> CleanDocument {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("learned.toml"), learned).unwrap();
    let mut profiles = SourceProfiles::from_toml(
        "[[source_profile]]\nname = \"s\"\nsource = \"s\"\ncleaners = [{ step = \"drop_learned_boilerplate\", file = \"learned.toml\" }]\n",
    )
    .unwrap();
    profiles.read_files(folder.path()).unwrap();
    let kept = Kept::nothing().await;
    let stage = kept.try_stage(profiles, "").unwrap();
    clean(&stage.process(input).await.unwrap()[1])
}

#[tokio::test]
async fn learned_boilerplate_goes_and_a_changed_file_counts_as_a_change() {
    use tributary_ingest::boilerplate::{LearnLimits, learn};
    let limits = LearnLimits {
        minimum_documents: 2,
        minimum_share: 1.0,
        minimum_characters: 5,
    };
    let learned = learn(
        "s",
        ["a\n\nCopyright 2023\n", "b\n\nCopyright 2024\n"],
        limits,
    );
    let empty = learn("s", [], limits);
    let input = published(
        &json!({ "document_id": "d", "version": 1, "source": "s", "content": "# T\n\ntext\n\nCopyright 2025\n" }),
    );
    let with = with_learned(&learned.to_toml().unwrap(), &input).await;
    let without = with_learned(&empty.to_toml().unwrap(), &input).await;
    assert_eq!(
        (with.markdown.trim_end(), without.markdown.trim_end()),
        ("# T\n\ntext", "# T\n\ntext\n\nCopyright 2025")
    );
    // A file with other blocks, none of which this document has, is another setting all the same.
    let text =
        published(&json!({ "document_id": "d", "version": 1, "source": "s", "content": "text" }));
    let fingerprint = |learned: String, text: StoredRecord| async move {
        with_learned(&learned, &text).await.document.fingerprint
    };
    assert_ne!(
        fingerprint(learned.to_toml().unwrap(), text.clone()).await,
        fingerprint(empty.to_toml().unwrap(), text).await
    );
}

#[tokio::test]
async fn an_edition_names_its_work_and_is_no_exact_duplicate() {
    let profiles = "[[source_profile]]\nname = \"s\"\nsource = \"s\"\ncleaners = [{ step = \"version_from_file_name\" }]\n\
        newest_only = { same = [\"versionless_path\"], version = \"document_version\" }\n\
        chunker_rules = [{ path = \"faq/**\", chunker = \"whole\" }]\n\
        attribute_rules = [{ path = \"faq/**\", attributes = { custom = { category = \"faq\" } } }]\n\
        attributes = { custom = { category = \"other\" } }\n";
    let profiles = SourceProfiles::from_toml(profiles).unwrap();
    let kept = Kept::nothing().await;
    let stage = kept.try_stage(profiles, "").unwrap();
    let document = |path: &str| {
        published(&json!({ "source": "s", "source_path": path, "content": "same text" }))
    };
    let mut cleaned = Vec::new();
    for path in [
        "a/Design V1.md",
        "a/Design V2.md",
        "faq/plain.md",
        "b/plain.md",
    ] {
        cleaned.push(clean(&stage.process(&document(path)).await.unwrap()[1]).document);
    }
    let [first, second, faq, plain] = cleaned.try_into().unwrap();
    let (old, new) = (first.edition.unwrap(), second.edition.unwrap());
    assert_eq!(
        (old.work == new.work, old.order(&new)),
        (true, std::cmp::Ordering::Less)
    );
    assert!(first.content_hash.is_empty() && second.content_hash.is_empty());
    assert_eq!((faq.edition, faq.content_hash.len()), (None, 64));
    assert_ne!(
        faq.content_hash, plain.content_hash,
        "they are cut in different ways"
    );
    assert_eq!(
        (
            faq.attributes.text("category"),
            plain.attributes.text("category")
        ),
        (Some("faq"), Some("other"))
    );
}

#[tokio::test]
async fn a_profile_can_keep_its_documents_out_of_families() {
    let profiles =
        "[[source_profile]]\nname = \"p\"\nsource = \"apart\"\nnear_duplicates = false\n";
    let profiles = SourceProfiles::from_toml(profiles).unwrap();
    let kept = Kept::nothing().await;
    let stage = kept.try_stage(profiles, "").unwrap();
    let words: Vec<String> = (0..60).map(|number| format!("word{number}")).collect();
    let mut has_signature = Vec::new();
    for source in ["apart", "elsewhere"] {
        let event = json!({"source": source, "source_path": "a.md", "content": words.join(" ")});
        let outputs = stage.process(&published(&event)).await.unwrap();
        has_signature.push(!clean(&outputs[1]).document.signature.is_empty());
    }
    assert_eq!(has_signature, [false, true]);
}

#[tokio::test]
async fn a_message_with_files_is_in_no_family() {
    let kept = Kept::nothing().await;
    let stage = kept.try_stage(SourceProfiles::default(), "").unwrap();
    let words: Vec<String> = (0..60).map(|number| format!("word{number}")).collect();
    let words = words.join(" ");
    let body = |head: &str| format!("--x\nContent-Type: text/plain{head}\n\n{words}\n");
    let mut has_signature = Vec::new();
    for file in ["", "; name=a.txt\nContent-Disposition: attachment"] {
        let parts = format!("{}{}", body(""), body(file));
        let message =
            format!("Subject: s\nContent-Type: multipart/mixed; boundary=x\n\n{parts}--x--\n");
        let event = json!({"source": "mail", "source_path": "a.eml", "content": message});
        let outputs = stage.process(&published(&event)).await.unwrap();
        let is_clean = |output: &&Output| output.topic == Topic::DocumentsClean;
        let cleaned = clean(outputs.iter().find(is_clean).unwrap());
        has_signature.push(!cleaned.document.signature.is_empty());
    }
    assert_eq!(has_signature, [true, false]);
}
