//! The two stages as the worker loop calls them: order of outputs, tombstones, tags, ready tokens,
//! vectors and their reuse.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use support::{Counter, config, document};
use tokio_util::sync::CancellationToken;
use tributary_enrich::{
    ChunkParts, ChunkStage, ChunkStageConfig, Chunkers, Config, DescriptionsConfig, EmbedConfig,
    EmbedGeneration, EmbedGenerations, EmbedParts, EmbedStage, IsSuperseded, SummariesConfig,
    WrittenBy,
};
use tributary_models::embedders::hashing::HashingEmbedder;
use tributary_models::{DualEmbedder, Embedder, TextRole};
use tributary_schemas::search::ScoredChunk;
use tributary_schemas::{
    ChunkId, ChunkVectors, CleanDocument, DocumentHeader, DocumentState, EmbeddedDocument, Error,
    ErrorKind, Result, State, TaggedDocument, Topic, event,
};
use tributary_store::event_log::stage::{Output, Stage};
use tributary_store::event_log::{Position, StoredRecord, message};
use tributary_store::search_index::{
    Bm25, GenerationStatus, IndexSettings, IndexedDocument, KeywordQuery, Operation, Outcome,
    SearchIndex, SharedSearchIndex, StoredChunk, VectorQuery, WindowQuery,
};
use tributary_store::set_costs::SetCosts;
use tributary_store::work::Work;
use tributary_taxonomy::{
    Analyzer, AnalyzerConfig, KnowledgeSets, Lexicon, SharedKnowledgeSets, SourceProfiles,
};

const SETS: &str = r#"
[[knowledge_set]]
id = "common"
name = "Common"
view = "common"
[[knowledge_set.rules]]
source = "wiki"
tags = ["shared"]

[[knowledge_set]]
id = "ran"
name = "RAN"
view = "organization"
[[knowledge_set.rules]]
path = "a/*"
tags = ["5G"]
"#;

const PROFILES: &str = r#"
[[source_profile]]
name = "cases"
source = "cases"
chunker = "whole"
attributes = { product = "gNodeB" }
tag_rules = [{ path = "a/*", tags = ["case"] }]

[[source_profile]]
name = "closed"
source = "closed"
attributes = { section_levels = [{ heading = "internal*", security_level = 3 }] }
"#;

fn settings() -> Config {
    Config {
        bm25: Bm25::DEFAULT,
        chunker: config(),
        chunk: ChunkStageConfig {
            documents_in_flight: 2,
            documents_waiting: 8,
        },
        summaries: SummariesConfig {
            input_tokens: 6000,
            patience_seconds: 1,
        },
        descriptions: DescriptionsConfig {
            language: String::new(),
            shortest_lines: 4,
            input_tokens: 2000,
            limit_tokens: 128,
            file_limit_tokens: 256,
            patience_seconds: 1,
        },
        embed: EmbedConfig {
            window_tokens: 100,
            window_limit: 16,
            kept_windows: 16,
            fold_traditional: true,
            reuse_vectors: true,
            batch_bytes: 2000,
            batches_in_flight: 2,
            documents_in_flight: 2,
            in_flight_bytes: 1 << 26,
        },
    }
}

fn chunk_stage(knowledge_sets: SharedKnowledgeSets) -> ChunkStage {
    chunk_stage_of(knowledge_sets, true)
}

fn chunk_stage_of(knowledge_sets: SharedKnowledgeSets, is_serving: bool) -> ChunkStage {
    ChunkStage::new(chunk_parts(knowledge_sets, is_serving), 2)
}

fn chunk_parts(knowledge_sets: SharedKnowledgeSets, is_serving: bool) -> ChunkParts {
    let analyzer = AnalyzerConfig {
        guess_words: true,
        sub_words: true,
        term_words: true,
        english_stems: true,
    };
    ChunkParts {
        analyzer: Arc::new(Analyzer::new(&analyzer, Lexicon::empty()).unwrap()),
        knowledge_sets,
        source_profiles: Arc::new(SourceProfiles::from_toml(PROFILES).unwrap()),
        tokens: Arc::new(Counter),
        summaries: WrittenBy::Rules,
        descriptions: WrittenBy::Rules,
        services: Arc::default(),
        costs: SetCosts::new(0),
        chunkers: Chunkers {
            summaries_by_set: BTreeMap::new(),
            prompts_by_set: BTreeMap::new(),
            default: config(),
            by_set: BTreeMap::new(),
        },
        generation: "g1".to_owned(),
        is_serving: Arc::new(move || is_serving),
        clock: Arc::new(|| 5),
        work: Work::default(),
        is_superseded: Arc::new(|_, _| false),
        stop: CancellationToken::new(),
    }
}

fn sets() -> SharedKnowledgeSets {
    SharedKnowledgeSets::new(KnowledgeSets::from_toml(SETS).unwrap())
}

fn stored(record: tributary_store::event_log::Record) -> StoredRecord {
    StoredRecord {
        position: Position {
            partition: 0,
            offset: 0,
        },
        record,
    }
}

fn clean_record(clean: &CleanDocument) -> StoredRecord {
    let header = &clean.document;
    let mut record = message::encode(
        event::TYPE_DOCUMENT_CLEANED,
        &header.document_id,
        header.version,
        clean,
        1,
    )
    .unwrap();
    record.headers.push((
        event::TRACEPARENT.to_owned(),
        Bytes::from_static(b"00-1-2-01"),
    ));
    stored(record)
}

async fn tagged(stage: &ChunkStage, clean: &CleanDocument) -> TaggedDocument {
    let outputs = stage.process(&clean_record(clean)).await.unwrap();
    message::decode(&outputs[1].record).unwrap().unwrap()
}

fn state(output: &Output) -> DocumentState {
    assert_eq!(output.topic, Topic::DocumentsStates);
    message::decode(&output.record).unwrap().unwrap()
}

#[tokio::test]
async fn a_clean_document_becomes_a_report_and_then_its_chunks() {
    let clean = document(
        "# 载波聚合\n\n把**多个**载波合起来 ![图](image:0) [详情](http://secret.example)。\n",
    );
    let outputs = chunk_stage(sets())
        .process(&clean_record(&clean))
        .await
        .unwrap();
    assert_eq!(outputs.len(), 2);
    assert_eq!(
        (state(&outputs[0]).state, outputs[1].topic),
        (State::Embedding, Topic::ChunksTagged)
    );
    assert_eq!(
        outputs[1].record.header(event::CE_TYPE),
        Some(event::TYPE_CHUNKS_TAGGED)
    );
    assert_eq!(
        outputs[1].record.header(event::TRACEPARENT),
        Some("00-1-2-01")
    );
    let tagged: TaggedDocument = message::decode(&outputs[1].record).unwrap().unwrap();
    assert_eq!(tagged.document.knowledge_sets, ["common", "ran"]);
    assert_eq!(tagged.document.tags, ["5G", "shared"]);
    assert_eq!(tagged.document.timeline.last().unwrap().stage, "chunk");
    assert!(
        tagged.document.lineage.degraded.is_empty()
            && !tagged.document.lineage.chunker.is_empty()
            && !tagged.document.lineage.analyzer.is_empty()
    );
    let tokens: Vec<&str> = tagged.chunks[0].analyzed.split(' ').collect();
    assert!(
        tokens.contains(&"载波") && tokens.contains(&"文档") && tokens.contains(&"详情"),
        "{tokens:?}"
    );
    assert!(
        !tagged.chunks[0].analyzed.contains("secret")
            && !tagged.chunks[0].analyzed.contains("image"),
        "{tokens:?}"
    );
}

#[tokio::test]
async fn profiles_choose_the_chunker_and_new_knowledge_sets_take_effect_at_once() {
    let shared = sets();
    let stage = chunk_stage(shared.clone());
    let mut clean = document(&"# 一\n\n很长的案例。\n\n## 二\n\n继续。\n".repeat(400));
    clean.document.source = "cases".into();
    let whole = tagged(&stage, &clean).await;
    assert_eq!(whole.chunks.len(), 1);
    assert_eq!(
        (
            whole.document.tags,
            whole.document.attributes.product.as_deref()
        ),
        (vec!["5G".into(), "case".into()], Some("gNodeB"))
    );
    shared.replace(KnowledgeSets::default());
    assert_eq!(tagged(&stage, &clean).await.document.tags, ["case"]);
    clean.document.knowledge_sets = vec!["nowhere".into()];
    let refused = stage.process(&clean_record(&clean)).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid);
    assert_eq!(
        state(&stage.abandoned(&clean_record(&clean), &refused)[0]).state,
        State::Dead
    );
}

#[tokio::test]
async fn rules_of_the_profile_give_chunks_and_header_their_levels() {
    let stage = chunk_stage(sets());
    let levels = async |markdown: &str| {
        let mut clean = document(markdown);
        clean.document.source = "closed".into();
        let tagged = tagged(&stage, &clean).await;
        let chunks = tagged.chunks.iter().map(|chunk| chunk.security_level);
        let highest = tagged.document.highest_level();
        (chunks.collect::<Vec<_>>(), highest)
    };
    let of_both = levels("# A\n\nopen\n\n## B\n\nopen\n\n## Internal\n\nclosed\n").await;
    assert_eq!(of_both, (vec![Some(3), None, None, Some(3)], 3));
    let of_none = levels("# A\n\nopen\n\n## B\n\nopen\n").await;
    assert_eq!(of_none, (vec![None], 0));
    let untold = levels("open\n").await;
    assert_eq!(untold, (vec![Some(3)], 3));
}

#[tokio::test]
async fn summaries_are_degraded_only_where_another_kind_is_configured() {
    let clean = document(&"# 标题\n\n一段话说明情况。\n\n## 小节\n\n内容很多很多。\n".repeat(300));
    let degraded = async |stage: ChunkStage| tagged(&stage, &clean).await.document.lineage.degraded;
    assert!(degraded(chunk_stage(sets())).await.is_empty());
    let without_its_model = ChunkParts {
        summaries: WrittenBy::NoModel,
        ..chunk_parts(sets(), true)
    };
    assert_eq!(
        degraded(ChunkStage::new(without_its_model, 2)).await,
        ["summary"]
    );
}

#[tokio::test]
async fn tombstones_and_broken_records() {
    let tombstone = stored(message::tombstone(event::TYPE_DOCUMENT_CLEANED, "d1", 9, 1));
    let chunk = chunk_stage(sets());
    let embed = embed_stage(Arc::new(Counting::default()), None);
    for (stage, topic) in [
        (&chunk as &dyn Stage, Topic::ChunksTagged),
        (&embed, Topic::ChunksEmbedded),
    ] {
        let outputs = stage.process(&tombstone).await.unwrap();
        assert_eq!(
            (outputs.len(), outputs[0].topic, &outputs[0].record.value),
            (1, topic, &None)
        );
        assert_eq!(message::version(&outputs[0].record).unwrap(), 9);
        let mut broken = tombstone.clone();
        broken.record.value = Some(Bytes::from_static(b"{"));
        assert_eq!(
            stage.process(&broken).await.unwrap_err().kind(),
            ErrorKind::Invalid
        );
        broken.record.key = Bytes::new();
        assert_eq!(
            stage.process(&broken).await.unwrap_err().kind(),
            ErrorKind::Invalid
        );
    }
}

/// The hashing embedder, remembering what it was asked.
#[derive(Default)]
struct Counting {
    texts: Mutex<Vec<String>>,
    fails: bool,
}

impl Counting {
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.texts.lock().unwrap())
    }
}

impl Embedder for Counting {
    fn name(&self) -> &str {
        "counting"
    }

    fn dimensions(&self) -> usize {
        64
    }

    fn embed(&self, texts: &[&str], role: TextRole) -> Result<Vec<Vec<f32>>> {
        assert_eq!(role, TextRole::Passage);
        if self.fails {
            return Err(Error::new(ErrorKind::Unavailable, "no model"));
        }
        self.texts
            .lock()
            .unwrap()
            .extend(texts.iter().map(|text| (*text).to_owned()));
        HashingEmbedder::new(64)?.embed(texts, role)
    }
}

/// `g1` serves, `g2` is being built, with the same model; others are gone.
struct Two {
    embedder: Arc<DualEmbedder>,
}

#[async_trait]
impl EmbedGenerations for Two {
    async fn find(&self, name: Option<&str>) -> Result<Option<EmbedGeneration>> {
        let name = name.unwrap_or("g1");
        let generation = EmbedGeneration {
            name: name.to_owned(),
            is_serving: name == "g1",
            embedder: Arc::clone(&self.embedder),
            tokens: Arc::new(Counter),
            config: settings().embed,
        };
        Ok(self
            .names()
            .iter()
            .any(|known| known == name)
            .then_some(generation))
    }

    fn names(&self) -> Vec<String> {
        vec!["g1".to_owned(), "g2".to_owned()]
    }
}

fn embed_stage(embedder: Arc<dyn Embedder>, index: Option<SharedSearchIndex>) -> EmbedStage {
    embed_stage_that_looks(embedder, index, Arc::new(|_, _| false))
}

fn embed_stage_that_looks(
    embedder: Arc<dyn Embedder>,
    index: Option<SharedSearchIndex>,
    is_deleted: IsSuperseded,
) -> EmbedStage {
    let embedder = Arc::new(DualEmbedder::shared(embedder));
    let parts = EmbedParts {
        generations: Arc::new(Two { embedder }),
        index,
        clock: Arc::new(|| 6),
        work: Work::default(),
        is_deleted,
    };
    EmbedStage::new(parts, settings().embed)
}

fn tagged_record(tagged: &TaggedDocument) -> StoredRecord {
    stored(
        message::encode(
            event::TYPE_CHUNKS_TAGGED,
            &tagged.document.document_id,
            tagged.document.version,
            tagged,
            1,
        )
        .unwrap(),
    )
}

async fn embedded(stage: &EmbedStage, tagged: &TaggedDocument) -> EmbeddedDocument {
    let outputs = stage.process(&tagged_record(tagged)).await.unwrap();
    assert_eq!(
        (state(&outputs[0]).state, outputs[1].topic),
        (State::Indexing, Topic::ChunksEmbedded)
    );
    message::decode(&outputs[1].record).unwrap().unwrap()
}

/// A document with one long section (windows) and a summary.
fn long_document(last: &str) -> CleanDocument {
    let body = "載波聚合把多個載波合起來。".repeat(150);
    document(&format!(
        "# 手册\n\n## 概念\n\n{body}\n\n## 限制\n\n{}\n\n## 结尾\n\n{last}\n",
        body.replace('載', "基")
    ))
}

#[tokio::test]
async fn a_version_is_given_up_between_batches_once_its_deletion_waits_behind_it() {
    let tagged = tagged(&chunk_stage(sets()), &long_document("Ende")).await;
    let looks = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&looks);
    let is_deleted: IsSuperseded =
        Arc::new(move |_, _| counted.fetch_add(1, Ordering::Relaxed) > 0);
    let embedder = Arc::new(Counting::default());
    let stage = embed_stage_that_looks(embedder.clone(), None, is_deleted);
    let outputs = stage.process(&tagged_record(&tagged)).await.unwrap();
    assert!(outputs.is_empty(), "{}", outputs.len());
    assert_eq!(looks.load(Ordering::Relaxed), 2);
    assert!(!embedder.asked().is_empty(), "the first batch was made");
}

#[tokio::test]
async fn every_chunk_gets_a_unit_vector_of_its_folded_text_in_windows() {
    let tagged = tagged(&chunk_stage(sets()), &long_document("完。")).await;
    let embedder = Arc::new(Counting::default());
    let embedded = embedded(&embed_stage(embedder.clone(), None), &tagged).await;
    assert_eq!(embedded.vectors.len(), tagged.chunks.len());
    for vectors in &embedded.vectors {
        assert!(
            (vectors
                .coarse
                .iter()
                .map(|value| value * value)
                .sum::<f32>()
                - 1.0)
                .abs()
                < 1e-4
        );
        assert!(vectors.fine.is_empty());
    }
    assert_eq!(embedded.document.lineage.coarse_model, "counting");
    let asked = embedder.asked();
    assert!(
        asked.len() > tagged.chunks.len(),
        "long chunks take several windows: {} of {}",
        asked.len(),
        tagged.chunks.len()
    );
    assert!(
        asked
            .iter()
            .all(|text| text.starts_with("文档") && !text.contains('載')),
        "{asked:?}"
    );
}

#[tokio::test]
async fn chunks_for_a_generation_under_construction_leave_the_documents_state_alone() {
    let building = chunk_stage_of(sets(), false);
    let outputs = building
        .process(&clean_record(&document("x")))
        .await
        .unwrap();
    assert_eq!(
        outputs
            .iter()
            .map(|output| output.topic)
            .collect::<Vec<_>>(),
        [Topic::ChunksTagged]
    );
    assert_eq!(outputs[0].record.header(event::GENERATION), Some("g1"));
    let invalid = Error::new(ErrorKind::Invalid, "bad");
    assert!(
        building
            .abandoned(&clean_record(&document("x")), &invalid)
            .is_empty()
    );

    let embedder = Arc::new(Counting::default());
    let stage = embed_stage(embedder.clone(), None);
    let for_generation = |name| stored(message::for_generation(outputs[0].record.clone(), name));
    let embedded = stage.process(&for_generation("g2")).await.unwrap();
    assert_eq!(
        embedded
            .iter()
            .map(|output| output.topic)
            .collect::<Vec<_>>(),
        [Topic::ChunksEmbedded]
    );
    assert_eq!(embedded[0].record.header(event::GENERATION), Some("g2"));
    assert!(stage.abandoned(&for_generation("g2"), &invalid).is_empty());
    assert!(!stage.abandoned(&for_generation("g1"), &invalid).is_empty());
    embedder.asked();
    assert!(
        stage
            .process(&for_generation("g0"))
            .await
            .unwrap()
            .is_empty(),
        "a generation that is gone"
    );
    assert!(embedder.asked().is_empty());
}

#[tokio::test]
async fn a_failing_embedder_is_an_error_of_its_kind() {
    let tagged = tagged(&chunk_stage(sets()), &document("x")).await;
    let stage = embed_stage(
        Arc::new(Counting {
            fails: true,
            ..Counting::default()
        }),
        None,
    );
    assert_eq!(
        stage
            .process(&tagged_record(&tagged))
            .await
            .unwrap_err()
            .kind(),
        ErrorKind::Unavailable
    );
}

/// An index that holds one embedded document; only what the stage asks works.
struct Holding {
    document: DocumentHeader,
    vectors: Vec<(ChunkId, ChunkVectors)>,
}

fn unused<T>() -> Result<T> {
    Err(Error::new(ErrorKind::Unsupported, "not part of this test"))
}

#[async_trait]
impl SearchIndex for Holding {
    async fn create(&self, _: &str, _: &IndexSettings) -> Result<()> {
        unused()
    }
    async fn promote(&self, _: &str) -> Result<()> {
        unused()
    }
    async fn drop_generation(&self, _: &str) -> Result<()> {
        unused()
    }
    async fn write(&self, _: &str, _: Vec<Operation>) -> Result<Vec<Outcome>> {
        unused()
    }
    async fn flush(&self, _: &str) -> Result<()> {
        unused()
    }
    async fn keyword(&self, _: KeywordQuery<'_>) -> Result<Vec<ScoredChunk>> {
        unused()
    }
    async fn vector(&self, _: VectorQuery<'_>) -> Result<Vec<ScoredChunk>> {
        unused()
    }
    async fn nearest_windows(&self, _: WindowQuery<'_>) -> Result<Vec<ScoredChunk>> {
        unused()
    }
    async fn fetch(&self, _: Option<&str>, _: &[ChunkId]) -> Result<Vec<Option<StoredChunk>>> {
        unused()
    }
    async fn vectors(
        &self,
        _: Option<&str>,
        chunks: &[ChunkId],
    ) -> Result<Vec<Option<ChunkVectors>>> {
        let found = |wanted: &ChunkId| {
            self.vectors
                .iter()
                .find(|(id, _)| id == wanted)
                .map(|(_, vectors)| vectors.clone())
        };
        Ok(chunks.iter().map(found).collect())
    }
    async fn documents(
        &self,
        _: Option<&str>,
        ids: &[String],
    ) -> Result<Vec<Option<IndexedDocument>>> {
        let chunk_ids: Vec<ChunkId> = self.vectors.iter().map(|(id, _)| *id).collect();
        let stored = IndexedDocument {
            document: self.document.clone(),
            chunk_ids,
            deleted: false,
        };
        Ok(ids
            .iter()
            .map(|id| (*id == self.document.document_id).then(|| stored.clone()))
            .collect())
    }
    async fn list_documents(
        &self,
        _: Option<&str>,
        _: Option<&str>,
        _: usize,
    ) -> Result<Vec<IndexedDocument>> {
        unused()
    }
    async fn documents_with(
        &self,
        _: Option<&str>,
        _: &[String],
        _: usize,
    ) -> Result<Vec<IndexedDocument>> {
        unused()
    }
    async fn list_chunks(&self, _: Option<&str>) -> Result<Vec<(ChunkId, String)>> {
        unused()
    }
    async fn status(&self) -> Result<Vec<GenerationStatus>> {
        unused()
    }
}

fn holding(embedded: &EmbeddedDocument) -> Holding {
    let ids = embedded.chunks.iter().map(|chunk| chunk.chunk_id);
    Holding {
        document: embedded.document.clone(),
        vectors: ids.zip(embedded.vectors.iter().cloned()).collect(),
    }
}

#[tokio::test]
async fn unchanged_chunks_keep_their_vectors_across_versions() {
    let chunk = chunk_stage(sets());
    let embedder = Arc::new(Counting::default());
    let first = embedded(
        &embed_stage(embedder.clone(), None),
        &tagged(&chunk, &long_document("完。")).await,
    )
    .await;
    let all = embedder.asked().len();
    let mut changed = tagged(&chunk, &long_document("新的结尾。")).await;
    changed.document.version = 2;
    let second = embedded(
        &embed_stage(embedder.clone(), Some(Arc::new(holding(&first)))),
        &changed,
    )
    .await;
    let asked = embedder.asked();
    // The last section and the summary that names it are new.
    assert!(
        !asked.is_empty() && asked.len() * 3 < all,
        "{} of {all}",
        asked.len()
    );
    let fresh = embedded(&embed_stage(embedder.clone(), None), &changed).await;
    assert_eq!(second.vectors, fresh.vectors);
    embedder.asked();

    for change in [
        |document: &mut DocumentHeader| document.title = "旧标题".into(),
        |document: &mut DocumentHeader| document.lineage.coarse_model = "other".into(),
        |document: &mut DocumentHeader| document.lineage.fine_model = "other".into(),
        |document: &mut DocumentHeader| document.lineage.embedding = "other".into(),
    ] {
        let mut stale = holding(&first);
        change(&mut stale.document);
        embedded(
            &embed_stage(embedder.clone(), Some(Arc::new(stale))),
            &changed,
        )
        .await;
        assert!(
            embedder.asked().len() >= all,
            "vectors made in another way are not kept"
        );
    }
}
