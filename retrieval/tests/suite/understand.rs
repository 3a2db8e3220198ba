//! Understanding with a scripted model, and everything that a model may do wrong.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tributary_models::chat::config::EndpointKind;
use tributary_models::chat::{ChatConfig, ChatModels, SharedObserver, Unobserved};
use tributary_models::prompts::Prompts;
use tributary_models::tokens::estimate::EstimatedTokens;
use tributary_retrieval::prompts::{HYPOTHETICAL_PASSAGE, PROMPTS, UNDERSTANDING};
use tributary_retrieval::{AnalyzerSource, Understander, UnderstanderParts, Understood};
use tributary_schemas::ask::Round;
use tributary_schemas::understanding::{Intent, UnderstoodBy};
use tributary_taxonomy::Lexicon;

use crate::common;

const LEXICON: &str = "载波聚合\t\tCA; Carrier Aggregation\n";

fn parts(chat: ChatModels) -> UnderstanderParts {
    let lexicon = Lexicon::from_text("t", LEXICON).unwrap();
    UnderstanderParts {
        analyzer: AnalyzerSource::Fixed(common::analyzer()),
        synonyms: Arc::new(lexicon.synonyms().clone()),
        chat: Arc::new(chat),
        prompts: Arc::new(Prompts::load(&[&PROMPTS], None).unwrap()),
        config: common::config().understanding,
    }
}

/// All roles at a script with these entries.
pub fn scripted(entries: &Value) -> (ChatModels, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("script.json");
    std::fs::write(&file, entries.to_string()).unwrap();
    let defaults: toml::Table = include_str!("../../../cli/default.toml").parse().unwrap();
    let mut config: ChatConfig = defaults["models"]["chat"].clone().try_into().unwrap();
    config.endpoint.kind = EndpointKind::Scripted;
    config.endpoint.script_file = file.display().to_string();
    config.endpoint.attempts = 1;
    let tokens = Arc::new(EstimatedTokens) as Arc<_>;
    let observer: SharedObserver = Arc::new(Unobserved);
    (
        ChatModels::open(&config, &tokens, &observer).unwrap(),
        folder,
    )
}

fn reply(standalone: &str) -> String {
    json!({
        "standalone_question": standalone,
        "variants": ["辅载波最多几个"],
        "intent": "fact",
        "entities": ["载波聚合"],
        "search_keywords": ["载波数"],
        "sub_queries": [],
    })
    .to_string()
}

fn history() -> Vec<Round> {
    vec![Round {
        question: "什么是载波聚合？".to_owned(),
        answer: "把多个载波合在一起。".to_owned(),
    }]
}

const FOLLOW_UP: &str = "它最多有几个载波？";
const COMPLETE: &str = "载波聚合最多有几个载波？";

async fn understood(entries: Value, question: &str, rewrite: bool) -> Understood {
    let (chat, _folder) = scripted(&entries);
    let understander = Understander::new(parts(chat));
    understander.understand(question, &history(), rewrite).await
}

#[tokio::test]
async fn without_a_model_the_rules_answer_and_nothing_is_degraded() {
    let understander = Understander::new(parts(ChatModels::default()));
    let understood = understander.understand(FOLLOW_UP, &history(), true).await;
    let understanding = understood.understanding;
    assert_eq!(understanding.standalone_question, COMPLETE);
    assert_eq!(understanding.made_by, UnderstoodBy::Rules);
    assert_eq!(
        understanding.variants,
        ["CA最多有几个载波？", "Carrier Aggregation最多有几个载波？"]
    );
    assert_eq!(understanding.entities, ["载波聚合"]);
    assert_eq!(understood.degraded, None);
}

#[tokio::test]
async fn a_question_is_rewritten_only_with_a_history_and_if_that_is_wanted() {
    let entries = json!([{"prompt": UNDERSTANDING, "reply": reply("别的问题？")}]);
    let kept = understood(entries.clone(), "CA最多几个载波？", false).await;
    let understanding = kept.understanding;
    assert_eq!(understanding.standalone_question, "CA最多几个载波？");
    assert!(
        understanding
            .variants
            .contains(&"载波聚合最多几个载波？".to_owned())
    );
    let (chat, _folder) = scripted(&entries);
    let understander = Understander::new(parts(chat));
    let alone = understander.understand(FOLLOW_UP, &[], true).await;
    assert_eq!(alone.understanding.standalone_question, FOLLOW_UP);
}

#[tokio::test]
async fn the_models_reply_joins_what_the_rules_say() {
    let entries = json!([{"prompt": UNDERSTANDING, "reply": reply(COMPLETE)}]);
    let understood = understood(entries, FOLLOW_UP, true).await;
    let understanding = understood.understanding;
    assert_eq!(understanding.made_by, UnderstoodBy::Model);
    assert_eq!(understanding.standalone_question, COMPLETE);
    let variants = &understanding.variants;
    assert_eq!(variants.len(), 3);
    assert!(
        variants.contains(&"辅载波最多几个".to_owned()),
        "{variants:?}"
    );
    assert_eq!(understood.degraded, None);
}

#[tokio::test]
async fn what_a_model_does_wrong_leaves_the_rules_and_is_named() {
    let wrong = [
        json!([{"reply": "no JSON"}]),
        json!([{"reply": reply("")}]),
        json!([{"reply": reply("How many carriers?")}]),
        json!([{"reply": reply(COMPLETE), "delay_ms": 5000}]),
        json!([{"failure": "overloaded"}]),
    ];
    for entries in wrong {
        let started = Instant::now();
        let understood = understood(entries.clone(), FOLLOW_UP, true).await;
        assert_eq!(
            understood.degraded.as_deref(),
            Some("understanding"),
            "{entries}"
        );
        let understanding = understood.understanding;
        assert_eq!(understanding.made_by, UnderstoodBy::Rules, "{entries}");
        assert_eq!(understanding.standalone_question, COMPLETE, "{entries}");
        assert!(started.elapsed() < Duration::from_secs(3), "{entries}");
    }
    let kept = understood(
        json!([{"reply": reply("错误码是什么意思？")}]),
        "0x80070005 是什么意思？",
        true,
    );
    assert_eq!(
        kept.await.understanding.standalone_question,
        "0x80070005 是什么意思？"
    );
}

#[tokio::test]
async fn a_passage_is_asked_for_only_where_that_is_set_and_of_use() {
    let entries = json!([
        {"prompt": UNDERSTANDING, "reply": reply("载波聚合怎么配置？")},
        {"prompt": HYPOTHETICAL_PASSAGE, "reply": "{\"passage\": \"在小区中添加辅载波。\"}"},
    ]);
    for (is_set, question, expected) in [
        (true, "载波聚合怎么配置？", Some("在小区中添加辅载波。")),
        (true, "载波聚合最多几个载波？", None),
        (false, "载波聚合怎么配置？", None),
    ] {
        let (chat, _folder) = scripted(&entries);
        let mut parts = parts(chat);
        parts.config.hypothetical_passage = is_set;
        let understood = Understander::new(parts)
            .understand(question, &[], true)
            .await;
        let passage = understood.understanding.hypothetical_passage;
        assert_eq!(passage.as_deref(), expected, "{question}");
    }
}

#[tokio::test]
async fn a_greeting_costs_no_call() {
    let understood = understood(json!([{"failure": "overloaded"}]), "你好！", true).await;
    assert_eq!(understood.understanding.intent, Intent::Smalltalk);
    assert_eq!(understood.degraded, None);
}
