//! Search over source code: which files and definitions are found, and what is never.

use std::sync::Arc;

use serde_json::{Value, json};
use tributary_models::{DualEmbedder, Embedder, TextRole};
use tributary_retrieval::{Models, Principal, Retriever, SearchError};
use tributary_schemas::code_search::CodeSearchResponse;
use tributary_schemas::{Chunk, ChunkId, DocumentHeader, Error, ErrorKind, Result};
use tributary_store::search_index::{Operation, SearchIndex};

use crate::common;
use crate::common::memory_index::MemoryIndex;

/// A file with its summary and its functions, each with its description.
struct Source {
    path: &'static str,
    part: &'static str,
    set: &'static str,
    summary: &'static str,
    functions: &'static [(&'static str, &'static str)],
}

const SOURCES: &[Source] = &[
    Source {
        path: "mm/reclaim.c",
        part: "mm",
        set: "kernel",
        summary: "Takes pages back when memory runs low.",
        functions: &[
            (
                "wake_reclaimer",
                "Wakes the thread that reclaims pages in the background.",
            ),
            ("shrink_list", "Frees pages of one list."),
            ("age_pages", ""),
            (
                "count_reclaimable",
                "[ERROR 429] reclaims pages in the background",
            ),
        ],
    },
    Source {
        path: "mm/slab.c",
        part: "mm",
        set: "kernel",
        summary: "Hands out small objects.",
        functions: &[("alloc_object", "Takes an object from a slab.")],
    },
    Source {
        path: "mm/map.c",
        part: "mm",
        set: "kernel",
        summary: "Maps files into memory.",
        functions: &[("map_file", "Maps pages of a file into memory.")],
    },
    Source {
        path: "kernel/tasks.c",
        part: "kernel",
        set: "kernel",
        summary: "Life and death of tasks.",
        functions: &[
            (
                "reap_orphans",
                "Gives children of a dead task to another parent.",
            ),
            ("wake_task", "Makes a task runnable."),
        ],
    },
    Source {
        path: "radio/reclaim.c",
        part: "radio",
        set: "radio",
        summary: "Takes pages back when memory runs low, secretly.",
        functions: &[(
            "wake_secret",
            "Wakes the thread that reclaims pages in the background.",
        )],
    },
];

fn chunk(source: &Source, ordinal: usize, name: &str, description: &str) -> Chunk {
    let is_file = ordinal == 0;
    let kind = if is_file {
        "code_file"
    } else {
        "code_function"
    };
    let definition = if is_file { "file" } else { "function" };
    let id = ChunkId::derive(source.path, kind, &[], name, ordinal as u32);
    let text = format!("void {name}(void) {{ int *p; }}");
    let analyzed = common::analyzer()
        .analyze(&format!("{description} {name}"))
        .join(" ");
    let chunk = json!({"chunk_id": id, "kind": kind, "ordinal": ordinal, "section_path": [],
        "text": text, "tokens": 9, "analyzed": analyzed,
        "code": {"language": "c", "definition": definition, "name": name,
            "signature": format!("void {name}(void)"), "start_line": 10 * ordinal + 1,
            "end_line": 10 * ordinal + 5, "description": description,
            "described_by": "comment"}});
    serde_json::from_value(chunk).unwrap()
}

fn replace(source: &Source) -> Operation {
    replace_with(source, 1)
}

fn replace_with(source: &Source, version: u64) -> Operation {
    let mut document = DocumentHeader {
        document_id: source.path.into(),
        version,
        source: "code".into(),
        source_path: source.path.into(),
        title: source.path.into(),
        knowledge_sets: vec![source.set.into()],
        ..DocumentHeader::default()
    };
    let custom = &mut document.attributes.custom;
    custom.insert("category".into(), source.part.into());
    let functions = source.functions.iter().enumerate();
    let functions = functions.map(|(at, (name, said))| chunk(source, at + 1, name, said));
    let file = chunk(source, 0, source.path, source.summary);
    let chunks: Vec<Chunk> = std::iter::once(file).chain(functions).collect();
    let texts: Vec<String> = chunks
        .iter()
        .map(|chunk| {
            format!(
                "{} {}",
                chunk.code.as_ref().unwrap().description,
                chunk.text
            )
        })
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = common::embedder().embed(&texts, TextRole::Passage).unwrap();
    Operation::Replace {
        document: Box::new(document),
        chunks,
        vectors,
    }
}

async fn filled() -> Arc<MemoryIndex> {
    filled_with(SOURCES).await
}

async fn filled_with(sources: &[Source]) -> Arc<MemoryIndex> {
    let index = Arc::new(MemoryIndex::default());
    common::fill(index.as_ref()).await;
    let operations = sources.iter().map(replace).collect();
    index.write(common::GENERATION, operations).await.unwrap();
    index
}

async fn retriever() -> Retriever {
    common::retriever(filled().await, common::models(None))
}

async fn found(retriever: &Retriever, request: Value) -> CodeSearchResponse {
    let request = serde_json::from_value(request).unwrap();
    let principal = Principal::unrestricted();
    retriever.search_code(&request, &principal).await.unwrap()
}

fn functions(response: &CodeSearchResponse) -> Vec<&str> {
    response
        .hits
        .iter()
        .map(|hit| hit.function.as_str())
        .collect()
}

fn files(response: &CodeSearchResponse) -> Vec<&str> {
    let files = response.files.iter();
    files.map(|file| file.source_path.as_str()).collect()
}

const QUESTION: &str = "which function wakes the thread that reclaims pages in the background";

#[tokio::test]
async fn a_question_finds_the_function_with_its_lines_and_its_file() {
    let request = json!({"query": QUESTION, "filter": {"knowledge_sets": ["kernel"]}});
    let response = found(&retriever().await, request).await;
    let hit = &response.hits[0];
    assert_eq!(
        (
            hit.function.as_str(),
            hit.source_path.as_str(),
            hit.start_line,
            hit.end_line
        ),
        ("wake_reclaimer", "mm/reclaim.c", 11, 15)
    );
    assert!(hit.text.starts_with("void wake_reclaimer"));
    let file = &response.files[0];
    assert_eq!(
        (
            file.source_path.as_str(),
            file.part.as_str(),
            file.language.as_str()
        ),
        ("mm/reclaim.c", "mm", "c")
    );
    assert_eq!(file.summary, "Takes pages back when memory runs low.");
    assert!(response.degraded.is_empty() && response.unmet_filter.is_none());
    let scores = response.hits.iter().map(|hit| hit.score);
    assert!(scores.clone().all(|score| (0.0..=1.0).contains(&score)));
    assert!(scores.is_sorted_by(|one, next| one >= next));
}

#[tokio::test]
async fn a_file_comes_in_by_one_function_that_its_summary_does_not_tell_of() {
    let request = json!({"query": "another parent for children of a dead task", "files": 2});
    let response = found(&retriever().await, request).await;
    assert!(files(&response).contains(&"kernel/tasks.c"), "{response:?}");
    assert_eq!(functions(&response)[0], "reap_orphans");
    assert!(response.files.iter().all(|file| !file.summary.is_empty()));
}

#[tokio::test]
async fn what_has_no_description_is_not_found() {
    let retriever = retriever().await;
    for query in [QUESTION, "age_pages", "count_reclaimable"] {
        let response = found(&retriever, json!({"query": query, "top_k": 80})).await;
        let functions = functions(&response);
        assert!(!functions.is_empty(), "{query}");
        assert!(!functions.contains(&"age_pages"), "{functions:?}");
        assert!(!functions.contains(&"count_reclaimable"), "{functions:?}");
    }
}

#[tokio::test]
async fn files_of_other_sets_are_never_found() {
    let retriever = retriever().await;
    let is_secret = |response: &CodeSearchResponse| {
        functions(response).contains(&"wake_secret") || files(response).contains(&"radio/reclaim.c")
    };
    let all = found(&retriever, json!({"query": QUESTION})).await;
    assert!(is_secret(&all));
    let request = json!({"query": QUESTION, "filter": {"knowledge_sets": ["kernel"]}});
    assert!(!is_secret(&found(&retriever, request.clone()).await));
    let principal = Principal {
        knowledge_sets: Some(vec!["kernel".into()]),
        ..Principal::unrestricted()
    };
    for filter in [json!({}), json!({"document_ids": ["radio/reclaim.c"]})] {
        let request = json!({"query": QUESTION, "filter": filter});
        let request = serde_json::from_value(request).unwrap();
        let response = retriever.search_code(&request, &principal).await.unwrap();
        assert!(!is_secret(&response), "{response:?}");
    }
    let secret = json!({"query": QUESTION, "filter": {"knowledge_sets": ["radio"]}});
    let secret = serde_json::from_value(secret).unwrap();
    let response = retriever.search_code(&secret, &principal).await.unwrap();
    assert!(response.hits.is_empty() && response.files.is_empty());
}

#[tokio::test]
async fn filters_fail_closed_and_say_so() {
    let retriever = retriever().await;
    for filter in [
        json!({"sources": []}),
        json!({"kinds": []}),
        json!({"kinds": ["section"]}),
        json!({"document_ids": []}),
        json!({"sources": ["coed"]}),
    ] {
        let response = found(&retriever, json!({"query": QUESTION, "filter": filter})).await;
        assert!(
            response.files.is_empty() && response.hits.is_empty(),
            "{filter}"
        );
        let names_a_source = filter["sources"] == json!(["coed"]);
        assert!(!names_a_source || response.unmet_filter.is_some());
    }
    let unknown = json!({"query": QUESTION, "filter": {"knowledge_sets": ["kernal"]}});
    let unknown = serde_json::from_value(unknown).unwrap();
    let refused = retriever
        .search_code(&unknown, &Principal::unrestricted())
        .await;
    assert!(
        matches!(&refused, Err(SearchError::UnknownKnowledgeSet(error)) if error.to_string().contains("kernal")),
        "{refused:?}"
    );
    let only_files = json!({"query": QUESTION, "filter": {"kinds": ["code_file"]}});
    let response = found(&retriever, only_files).await;
    assert!(!response.files.is_empty() && response.hits.is_empty());
}

#[tokio::test]
async fn documents_that_are_no_code_are_never_found() {
    let request = json!({"query": "The scheduler picks the next task", "top_k": 80});
    let response = found(&retriever().await, request).await;
    let sources = response.files.iter().map(|file| file.source.as_str());
    let sources = sources.chain(response.hits.iter().map(|hit| hit.source.as_str()));
    assert!(sources.into_iter().all(|source| source == "code"));
}

#[tokio::test]
async fn limits_hold_and_top_k_never_changes_the_order() {
    let retriever = retriever().await;
    let all = found(&retriever, json!({"query": QUESTION, "top_k": 80})).await;
    for top_k in 1..4 {
        let some = found(&retriever, json!({"query": QUESTION, "top_k": top_k})).await;
        assert_eq!(functions(&some), functions(&all)[..top_k]);
    }
    let one = found(&retriever, json!({"query": QUESTION, "files": 1})).await;
    assert_eq!(one.files.len(), 1);
    let path = &one.files[0].source_path;
    assert!(one.hits.iter().all(|hit| hit.source_path == *path));
    for wrong in [
        json!({"files": 0}),
        json!({"files": 51}),
        json!({"top_k": 0}),
        json!({"query": " "}),
    ] {
        let mut request = json!({"query": QUESTION});
        request
            .as_object_mut()
            .unwrap()
            .extend(wrong.as_object().unwrap().clone());
        let request = serde_json::from_value(request).unwrap();
        let refused = retriever
            .search_code(&request, &Principal::unrestricted())
            .await;
        assert!(refused.is_err(), "{wrong}");
    }
}

#[tokio::test]
async fn a_large_part_does_not_take_all_places() {
    let mut config = common::config();
    config.code.files_per_part = 1;
    let serving = common::serving(common::models(None));
    let index = filled().await;
    let retriever = Retriever::new(index, serving, common::knowledge_sets(), config).unwrap();
    let request = json!({"query": "pages of memory", "filter": {"knowledge_sets": ["kernel"]}});
    let response = found(&retriever, request).await;
    let mut parts: Vec<&str> = response
        .files
        .iter()
        .map(|file| file.part.as_str())
        .collect();
    parts.sort_unstable();
    assert_eq!(parts, ["kernel", "mm"]);
}

#[tokio::test]
async fn a_function_that_is_named_stands_first() {
    let retriever = retriever().await;
    for query in [
        "shrink_list",
        "where is `shrink_list` called to map pages of a file into memory",
    ] {
        let response = found(&retriever, json!({"query": query})).await;
        assert_eq!(functions(&response)[0], "shrink_list", "{query}");
        assert_eq!(files(&response)[0], "mm/reclaim.c", "{query}");
        assert!(response.hits[0].scores["exact_name"] >= 1.0);
    }
}

#[tokio::test]
async fn a_question_in_another_language_is_searched_for_by_what_its_terms_are_called() {
    let question = json!({"query": "后台回收页面的线程由谁唤醒"});
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("glossary.txt");
    let terms = "后台\t-\tbackground\n回收\t-\treclaims\n页面\t-\tpage; pages\n唤醒\t-\twakes; wake_reclaimer\n";
    std::fs::write(&file, terms).unwrap();
    let mut config = common::config();
    config.code.glossary_files = vec![file];
    let with_glossary = common::retriever_with(filled().await, config);
    let response = found(&with_glossary, question.clone()).await;
    assert_eq!(functions(&response)[0], "wake_reclaimer");
    let terms = response.glossary.iter().map(|term| term.term.as_str());
    assert_eq!(terms.collect::<Vec<_>>(), ["后台", "回收", "页面", "唤醒"]);
    // A name that the glossary alone has is not named by the question.
    let mut hits = response.hits.iter();
    assert!(hits.all(|hit| !hit.scores.contains_key("exact_name")));
    let without = found(&retriever().await, question).await;
    assert!(without.glossary.is_empty());
    assert!(without.hits.iter().all(|hit| hit.scores["keyword"] == 0.0));
}

#[tokio::test]
async fn a_term_counts_by_its_best_name_however_many_it_has() {
    // Each word stands in two of them.
    let functions: &[(&str, &str)] = &[
        ("three_terms", "thread wakes page"),
        ("four_names", "page list frees inactive"),
        ("first_filler", "thread list"),
        ("second_filler", "wakes frees"),
        ("third_filler", "inactive"),
    ];
    let source = Source {
        path: "mm/vmscan.c",
        part: "mm",
        set: "kernel",
        summary: "Reclaim.",
        functions,
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("glossary.txt");
    let terms = "线程\t-\tthread\n页面\t-\tpage; list; frees; inactive\n唤醒\t-\twakes\n";
    std::fs::write(&file, terms).unwrap();
    let mut config = common::config();
    config.code.glossary_files = vec![file];
    let retriever = common::retriever_with(filled_with(&[source]).await, config);
    let response = found(&retriever, json!({"query": "谁唤醒处理页面的线程"})).await;
    let keyword = |function: &str| {
        let mut hits = response.hits.iter();
        hits.find(|hit| hit.function == function).unwrap().scores["keyword"]
    };
    assert_eq!(keyword("three_terms"), 1.0);
    assert!(keyword("four_names") < 0.5, "{}", keyword("four_names"));
    assert_eq!(self::functions(&response)[0], "three_terms");
}

#[tokio::test]
async fn a_word_counts_by_its_other_names_in_the_order_and_in_the_relevance() {
    let functions: &[(&str, &str)] = &[
        ("free_slots", "slots drained again"),
        ("tally_slots", "slots tally again"),
        ("first_filler", "beans and peas again"),
        ("second_filler", "tally of nothing again"),
        ("third_filler", "nothing at all again"),
    ];
    let source = || Source {
        path: "mm/slots.c",
        part: "mm",
        set: "kernel",
        summary: "Slots.",
        functions,
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("glossary.txt");
    std::fs::write(&file, "统计\t-\tcount; tally\n").unwrap();
    let mut config = common::config();
    config.code.glossary_files = vec![file];
    let question = json!({"query": "Where are slots counted?"});
    let with_glossary = common::retriever_with(filled_with(&[source()]).await, config);
    let response = found(&with_glossary, question.clone()).await;
    let (term, names) = (&response.glossary[0].term, &response.glossary[0].names);
    assert_eq!(
        (term.as_str(), names.as_slice()),
        ("counted", &["tally".to_owned()][..])
    );
    assert_eq!(self::functions(&response)[0], "tally_slots");
    let without = common::retriever_with(filled_with(&[source()]).await, common::config());
    let without = found(&without, question).await;
    assert!(without.glossary.is_empty());
    let hit = |response: &CodeSearchResponse, function: &str| {
        let mut hits = response.hits.iter();
        hits.find(|hit| hit.function == function).unwrap().clone()
    };
    let keyword = |response, function| hit(response, function).scores["keyword"];
    assert_eq!(keyword(&response, "tally_slots"), 1.0);
    assert!(keyword(&response, "free_slots") < 0.9);
    assert_eq!(
        keyword(&without, "free_slots"),
        keyword(&without, "tally_slots")
    );
    let relevance = |response, function| hit(response, function).relevance.unwrap();
    assert!(relevance(&response, "tally_slots") > 1.5 * relevance(&without, "tally_slots"));
    // What has the word's other names alone gains nothing where it has none of them.
    let other = relevance(&response, "free_slots") / relevance(&without, "free_slots");
    assert!(other < 1.1, "{other}");
}

/// Cannot embed.
struct Away;

impl Embedder for Away {
    fn name(&self) -> &str {
        "away"
    }

    fn dimensions(&self) -> usize {
        common::DIMENSIONS
    }

    fn embed(&self, _: &[&str], _: TextRole) -> Result<Vec<Vec<f32>>> {
        Err(Error::new(ErrorKind::Unavailable, "the model is gone"))
    }
}

#[tokio::test]
async fn without_an_embedder_keywords_answer_and_the_answer_says_so() {
    let models = Models {
        embedder: Arc::new(DualEmbedder::shared(Arc::new(Away))),
        ..common::models(None)
    };
    let retriever = common::retriever(filled().await, models);
    let request = json!({"query": QUESTION, "filter": {"knowledge_sets": ["kernel"]}});
    let response = found(&retriever, request).await;
    assert_eq!(response.degraded, ["embedder"]);
    assert_eq!(functions(&response)[0], "wake_reclaimer");
}

/// The first file as its next version, with a function of another name.
fn replaced(version: u64) -> Vec<Operation> {
    let name: &'static str = String::leak(format!("wake_reclaimer_{version}"));
    let said = "Wakes the thread that reclaims pages in the background.";
    let functions: &'static [_] = Vec::leak(vec![(name, said)]);
    let source = Source {
        functions,
        ..SOURCES[0]
    };
    vec![replace_with(&source, version)]
}

#[tokio::test]
async fn a_search_that_a_new_version_of_a_file_overtakes_finds_that_one() {
    let memory = filled_with(&SOURCES[..1]).await;
    let retriever = common::retriever(memory.clone(), common::models(None));
    let asked = json!({"query": QUESTION});
    assert!(!found(&retriever, asked.clone()).await.hits.is_empty());

    memory.change_before_fetch(vec![replaced(100)]);
    let response = found(&retriever, asked.clone()).await;
    assert_eq!(functions(&response), ["wake_reclaimer_100"], "{response:?}");
    assert!(response.degraded.is_empty(), "{response:?}");

    memory.change_before_fetch((101..160).map(replaced).collect());
    let response = found(&retriever, asked).await;
    assert_eq!(response.degraded, ["overtaken"], "{response:?}");
}
