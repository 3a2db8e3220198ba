//! A small index and a retriever over it. Shared with the tests of the server.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

pub mod memory_index;

use std::sync::Arc;

use tributary_models::embedders::hashing::HashingEmbedder;
use tributary_models::{DualEmbedder, Reranker, TextRole};
use tributary_retrieval::{Config, Models, Retriever, Serving, SharedServing};
use tributary_schemas::{Attributes, Chunk, ChunkId, ChunkKind, DocumentHeader};
use tributary_store::search_index::{
    Bm25, IndexSettings, Operation, SearchIndex, SharedSearchIndex,
};
use tributary_taxonomy::{Analyzer, AnalyzerConfig, KnowledgeSets, Lexicon, SharedKnowledgeSets};

pub const CONFIG: &str = include_str!("config.toml");
pub const DIMENSIONS: usize = 64;
pub const GENERATION: &str = "1";

pub const KNOWLEDGE_SETS: &str = r#"
[[knowledge_set]]
id = "common"
name = "Common"
name_zh = "通用"
view = "common"

[[knowledge_set]]
id = "radio"
name = "Radio"
name_zh = "无线"
view = "capability"

[[knowledge_set]]
id = "kernel"
name = "Kernel"
view = "organization"
"#;

pub fn config() -> Config {
    toml::from_str(CONFIG).unwrap()
}

pub fn analyzer() -> Arc<Analyzer> {
    let config = AnalyzerConfig {
        guess_words: false,
        sub_words: true,
        term_words: true,
        english_stems: true,
    };
    Arc::new(Analyzer::new(&config, Lexicon::empty()).unwrap())
}

pub fn embedder() -> Arc<DualEmbedder> {
    Arc::new(DualEmbedder::shared(Arc::new(
        HashingEmbedder::new(DIMENSIONS).unwrap(),
    )))
}

pub fn models(reranker: Option<Arc<dyn Reranker>>) -> Models {
    Models {
        embedder: embedder(),
        reranker,
        degraded: Vec::new(),
    }
}

pub fn retriever(index: SharedSearchIndex, models: Models) -> Retriever {
    Retriever::new(index, serving(models), knowledge_sets(), config()).unwrap()
}

pub fn retriever_with(index: SharedSearchIndex, config: Config) -> Retriever {
    Retriever::new(index, serving(models(None)), knowledge_sets(), config).unwrap()
}

/// [`KNOWLEDGE_SETS`].
pub fn knowledge_sets() -> SharedKnowledgeSets {
    SharedKnowledgeSets::new(KnowledgeSets::from_toml(KNOWLEDGE_SETS).unwrap())
}

/// The one generation of a test's index.
pub fn serving(models: Models) -> SharedServing {
    SharedServing::new(Serving {
        generation: None,
        analyzer: analyzer(),
        models,
    })
}

pub fn settings() -> IndexSettings {
    let embedder = embedder();
    IndexSettings {
        coarse_dimensions: embedder.coarse_dimensions(),
        fine_dimensions: embedder.fine_dimensions(),
        shared_vectors: embedder.is_shared(),
        windows: false,
        coarse_model: embedder.coarse_name().to_owned(),
        fine_model: embedder.fine_name().to_owned(),
        analyzer: analyzer().fingerprint(),
        bm25: Bm25::DEFAULT,
        origin: String::new(),
    }
}

/// A document as tests write it.
pub struct Text {
    pub id: &'static str,
    pub title: &'static str,
    pub source: &'static str,
    pub knowledge_sets: &'static [&'static str],
    pub tags: &'static [&'static str],
    pub security_level: Option<u8>,
    /// Chunk texts; all after the first are leaves below it.
    pub chunks: &'static [&'static str],
}

pub const TEXTS: &[Text] = &[
    Text {
        id: "wiki/载波聚合",
        title: "载波聚合",
        source: "wiki",
        knowledge_sets: &["common", "radio"],
        tags: &["5G"],
        security_level: Some(0),
        chunks: &[
            "载波聚合把多个载波合并使用，提高峰值速率。",
            "主小区负责随机接入，辅小区由 RRC 消息配置。",
            "激活辅小区的命令见 38.321，错误码 ERR-1024 表示配置失败。",
        ],
    },
    Text {
        id: "case/42",
        title: "辅小区激活失败案例",
        source: "case",
        knowledge_sets: &["common"],
        tags: &["LTE"],
        security_level: Some(3),
        chunks: &[
            "现象：辅小区激活失败，日志中有 ERR-1024。",
            "处理：检查载波聚合的许可，重新配置后恢复。",
        ],
    },
    Text {
        id: "manual/scheduler",
        title: "The scheduler",
        source: "manual",
        knowledge_sets: &["kernel"],
        tags: &["code"],
        security_level: None,
        chunks: &[
            "The scheduler picks the next task to run on each processor.",
            "Completely fair scheduling keeps tasks in a tree ordered by virtual run time.\n\n```c\nstruct rb_root tasks; /* <b>not</b> markup */\n```",
            "| class | policy |\n|---|---|\n| fair | SCHED_NORMAL |\n| real time | SCHED_FIFO |",
        ],
    },
];

/// The operation that makes `text` the document's content.
pub fn replace(text: &Text, version: u64) -> Operation {
    let owned = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>()
    };
    let document = DocumentHeader {
        document_id: text.id.to_owned(),
        version,
        source: text.source.to_owned(),
        source_path: format!("/{}", text.id),
        title: text.title.to_owned(),
        knowledge_sets: owned(text.knowledge_sets),
        tags: owned(text.tags),
        attributes: Attributes {
            link: Some(format!("https://example.org/{}", text.id)),
            security_level: text.security_level,
            ..Attributes::default()
        },
        ..DocumentHeader::default()
    };
    let analyzer = analyzer();
    let path = vec![text.title.to_owned(), "概述".to_owned()];
    let ids: Vec<ChunkId> = text
        .chunks
        .iter()
        .map(|chunk| ChunkId::derive(text.id, "leaf", &path, chunk, 0))
        .collect();
    let chunk = |(ordinal, content): (usize, &&str)| Chunk {
        chunk_id: ids[ordinal],
        kind: if ordinal == 0 {
            ChunkKind::Section
        } else {
            ChunkKind::Leaf
        },
        ordinal: u32::try_from(ordinal).unwrap(),
        section_path: path.clone(),
        text: (*content).to_owned(),
        tokens: 10,
        parent_id: (ordinal > 0).then(|| ids[0]),
        child_ids: if ordinal == 0 {
            ids[1..].to_vec()
        } else {
            Vec::new()
        },
        pages: vec![u32::try_from(ordinal + 1).unwrap()],
        is_continuation: false,
        api: None,
        code: None,
        language: None,
        parent_summary: None,
        images: Vec::new(),
        security_level: None,
        analyzed: analyzer
            .analyze(&format!("{} {}", text.title, content))
            .join(" "),
    };
    let chunks: Vec<Chunk> = text.chunks.iter().enumerate().map(chunk).collect();
    let vectors = embedder().embed(text.chunks, TextRole::Passage).unwrap();
    Operation::Replace {
        document: Box::new(document),
        chunks,
        vectors,
    }
}

/// Fills an index with [`TEXTS`].
pub async fn fill(index: &dyn SearchIndex) {
    index.create(GENERATION, &settings()).await.unwrap();
    index
        .write(
            GENERATION,
            TEXTS.iter().map(|text| replace(text, 1)).collect(),
        )
        .await
        .unwrap();
    index.flush(GENERATION).await.unwrap();
    index.promote(GENERATION).await.unwrap();
}
