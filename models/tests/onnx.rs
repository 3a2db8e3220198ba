//! ONNX models end to end: the shared e5 model, and small generated ones for the kinds that are not
//! there. The runtime comes from ORT_DYLIB_PATH or the default target of `deploy/models/fetch`;
//! without it the tests skip loudly.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod common;

use common::{dot, models_folder, runnable, tiny_models};
use std::sync::Arc;
use tributary_models::embedders::onnx::OnnxEmbedder;
use tributary_models::folder::ModelFolder;
use tributary_models::rerankers::onnx::OnnxReranker;
use tributary_models::{Embedder, RerankerKind, TextRole, load};
use tributary_schemas::ErrorKind;

const PAIRS: [(&str, &str); 10] = [
    (
        "如何配置邻区关系",
        "在基站管理界面添加相邻小区，填写频点和物理小区标识后保存。",
    ),
    (
        "长城有多长",
        "明长城总长度约八千八百五十公里，横跨十个省级行政区。",
    ),
    (
        "怎样预防感冒",
        "勤洗手、注意保暖、多喝水并保证睡眠，可以减少着凉生病的机会。",
    ),
    (
        "进程和线程的区别",
        "线程共享同一地址空间，是调度的单位；进程拥有独立的资源。",
    ),
    (
        "红烧肉的做法",
        "五花肉切块焯水，加冰糖炒出糖色，放酱油、料酒小火炖一小时。",
    ),
    (
        "比特币是谁发明的",
        "二〇〇八年，化名中本聪的人发表论文，提出了这种加密货币。",
    ),
    (
        "光合作用在哪里进行",
        "植物细胞的叶绿体把光能转成化学能，合成有机物并放出氧气。",
    ),
    (
        "如何训练神经网络",
        "先前向计算损失，再反向传播梯度，用优化器更新模型参数。",
    ),
    (
        "李白是哪个朝代的诗人",
        "诗仙太白生活在唐朝，代表作有《将进酒》《静夜思》。",
    ),
    (
        "公积金怎么提取",
        "职工购房、租房或退休时，可携带证明到住房资金管理中心办理支取。",
    ),
];

fn e5() -> Option<OnnxEmbedder> {
    let (config, folder) = (runnable("multilingual-e5-small")?, models_folder()?);
    let model = ModelFolder::find(&config.folder, &config.folders(&folder)).unwrap();
    Some(OnnxEmbedder::open(model, &config, &folder).unwrap())
}

#[test]
fn e5_ranks_ten_chinese_pairs() {
    let Some(e5) = e5() else { return };
    assert_eq!(e5.dimensions(), 384);
    assert!(e5.name().starts_with("multilingual-e5-small@"));
    let questions = e5
        .embed(&PAIRS.map(|pair| pair.0), TextRole::Query)
        .unwrap();
    let passages = e5
        .embed(&PAIRS.map(|pair| pair.1), TextRole::Passage)
        .unwrap();
    for (number, question) in questions.iter().enumerate() {
        let best = (0..passages.len()).max_by(|left, right| {
            dot(question, &passages[*left]).total_cmp(&dot(question, &passages[*right]))
        });
        assert_eq!(best, Some(number), "{}", PAIRS[number].0);
    }
}

/// `reference.json` holds vectors that Python's onnxruntime and tokenizers gave
/// (`make_reference.py`).
#[test]
fn e5_equals_the_python_runtime() {
    let Some(e5) = e5() else { return };
    let text = std::fs::read_to_string(tiny_models().join("reference.json")).unwrap();
    let reference: Vec<(String, String, Vec<f32>)> = serde_json::from_str(&text).unwrap();
    assert!(reference.len() >= 6);
    for (role, text, expected) in reference {
        let text = if text == "LONG" {
            "很长的文本 ".repeat(400)
        } else {
            text
        };
        let role = if role == "query" {
            TextRole::Query
        } else {
            TextRole::Passage
        };
        let found = e5.embed(&[&text], role).unwrap();
        let front: Vec<f32> = found[0].iter().take(expected.len()).copied().collect();
        let cosine =
            dot(&front, &expected) / (dot(&front, &front) * dot(&expected, &expected)).sqrt();
        // Quantised products are rounded otherwise on processors without the instructions for them.
        assert!(cosine > 0.99, "{cosine} for {text:.40}");
        let length = (dot(&front, &front) / dot(&expected, &expected)).sqrt();
        assert!(
            (length - 1.0).abs() < 0.1,
            "{length} times as long for {text:.40}"
        );
    }
}

#[test]
fn batches_threads_and_order_do_not_change_vectors() {
    let Some(e5) = e5() else { return };
    let long = "长文本 ".repeat(120);
    let texts = [
        "short",
        long.as_str(),
        "",
        "一个中等长度的句子，关于无线网络的干扰排查。",
        "another",
    ];
    let together = e5.embed(&texts, TextRole::Passage).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for (text, expected) in texts.iter().zip(&together) {
                    let alone = e5.embed(&[text], TextRole::Passage).unwrap();
                    assert!(dot(&alone[0], expected) > 0.9999, "{text:.20}");
                    assert!((dot(expected, expected) - 1.0).abs() < 1e-4);
                }
            });
        }
    });
    assert!(e5.embed(&[], TextRole::Query).unwrap().is_empty());
}

#[test]
fn matryoshka_models_give_coarse_prefixes() {
    let Some(mut config) = runnable("tiny-matryoshka") else {
        return;
    };
    config.coarse_dimensions = 256;
    let models = load(&config, &tiny_models()).unwrap();
    let embedder = Arc::clone(&models.embedder);
    assert_eq!(
        (
            embedder.coarse_dimensions(),
            embedder.fine_dimensions(),
            embedder.is_shared()
        ),
        (256, 768, false)
    );
    let vectors = embedder
        .embed(&["radio cell", "kernel memory page", ""], TextRole::Passage)
        .unwrap();
    for vectors in &vectors {
        assert_eq!((vectors.coarse.len(), vectors.fine.len()), (256, 768));
        assert!(
            (dot(&vectors.coarse, &vectors.coarse) - 1.0).abs() < 1e-4
                && (dot(&vectors.fine, &vectors.fine) - 1.0).abs() < 1e-4
        );
        assert!(dot(&vectors.coarse, &vectors.fine[..256]) > 0.3);
    }
    // The question's prefix is a word of the vocabulary: it must change the vector.
    let question = embedder.embed(&["radio cell"], TextRole::Query).unwrap();
    assert!(dot(&question[0].fine, &vectors[0].fine) < 0.999);
    // The tokenizer file bakes in a cut at 6 tokens; the model takes 16.
    let nine = embedder
        .embed(
            &[
                "a the of is a the of is radio",
                "a the of is a the of is kernel",
            ],
            TextRole::Passage,
        )
        .unwrap();
    assert!(dot(&nine[0].fine, &nine[1].fine) < 0.999);

    config.coarse_dimensions = 100;
    let error = load(&config, &tiny_models()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.full_message().contains("384"));
}

#[test]
fn two_models_serve_two_tiers() {
    let Some(mut config) = runnable("tiny-matryoshka") else {
        return;
    };
    config.coarse_folder = "tiny-cls".to_owned();
    let models = load(&config, &tiny_models()).unwrap();
    assert_eq!(
        (
            models.embedder.coarse_dimensions(),
            models.embedder.fine_dimensions()
        ),
        (16, 768)
    );
    assert!(models.embedder.coarse_name().starts_with("tiny-cls@"));
    assert!(models.degraded.is_empty());
    assert_eq!(models.tokens.count("radio cell unheard"), 3);
}

#[test]
fn cls_pooling_reads_the_first_token_and_padding_does_not_leak() {
    let Some(config) = runnable("tiny-cls") else {
        return;
    };
    let model = ModelFolder::find("tiny-cls", &[tiny_models()]).unwrap();
    let embedder = OnnxEmbedder::open(model, &config, &tiny_models()).unwrap();
    let texts = [
        "radio",
        "radio cell antenna power signal fault restart",
        "cell",
    ];
    let together = embedder.embed(&texts, TextRole::Passage).unwrap();
    for (text, vector) in texts.iter().zip(&together) {
        let alone = embedder.embed(&[text], TextRole::Passage).unwrap();
        assert!(dot(&alone[0], vector) > 0.99999);
    }
    // The first token sees the others through the mean that the model mixes in.
    assert!(dot(&together[0], &together[2]) < 0.999);
}

#[test]
fn cross_encoder_scores_are_the_sigmoid_of_its_logits() {
    let Some(mut config) = runnable("tiny-matryoshka") else {
        return;
    };
    config.reranker.kind = RerankerKind::Onnx;
    config.reranker.folder = "tiny-cross-encoder".to_owned();
    let models = load(&config, &tiny_models()).unwrap();
    let reranker = models.reranker.unwrap();
    let passages = [
        "radio cell antenna",
        "cell",
        "kernel memory",
        "",
        "a the of is a the of is a the of is radio cell antenna",
    ];
    let scores = reranker.score("radio cell antenna", &passages).unwrap();
    let sigmoid = |shared: f32| 1.0 / (1.0 + (3.0 - 2.0 * shared).exp());
    // The last passage loses its end: twelve tokens, three of them special, three of the question.
    for (score, shared) in scores.iter().zip([3.0, 1.0, 0.0, 0.0, 0.0]) {
        assert!((score - sigmoid(shared)).abs() < 1e-5, "{scores:?}");
    }
    assert!(reranker.score("radio", &[]).unwrap().is_empty());
    let wrong = ModelFolder::find("tiny-cls", &[tiny_models()]).unwrap();
    assert_eq!(
        OnnxReranker::open(wrong, &config, &tiny_models())
            .err()
            .unwrap()
            .kind(),
        ErrorKind::Invalid
    );
}

#[test]
fn models_that_cannot_work_are_refused_with_a_hint() {
    let Some(config) = runnable("tiny-broken") else {
        return;
    };
    for (folder, kind, says) in [
        ("tiny-broken", ErrorKind::Corrupt, "tiny-broken"),
        ("tiny-wrong-dimension", ErrorKind::Invalid, "hidden_size 32"),
        ("tiny-cross-encoder", ErrorKind::Invalid, "reranker"),
        ("absent", ErrorKind::NotFound, "absent"),
    ] {
        let mut config = config.clone();
        config.folder = folder.to_owned();
        let error = load(&config, &tiny_models()).err().unwrap();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(says), "{error}");
        assert!(error.hint().is_some(), "{error}");
        config.allow_hashing_fallback = true;
        let models = load(&config, &tiny_models()).unwrap();
        assert_eq!(models.degraded, ["embedder"]);
        assert_eq!(models.embedder.fine_name(), "hashing-384@1");
    }
}
