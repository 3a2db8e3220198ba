//! Our unigram tokenizer against the `tokenizers` crate: the same ids on real paragraphs and on
//! text made to break it.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod common;

use common::{models_folder, paragraphs};
use tributary_models::tokens::TextEncoder;
use tributary_models::tokens::estimate::EstimatedTokens;
use tributary_models::tokens::library::LibraryTokenizer;
use tributary_models::tokens::unigram::UnigramTokenizer;
use tributary_models::{TokenCounter, token_counter};

fn both() -> Option<(UnigramTokenizer, LibraryTokenizer)> {
    let file = models_folder()?.join("multilingual-e5-small/tokenizer.json");
    let json = std::fs::read(&file).unwrap();
    Some((
        UnigramTokenizer::parse(&json, &file).unwrap(),
        LibraryTokenizer::parse(&json).unwrap(),
    ))
}

/// Every paragraph with TRIBUTARY_ALL_PARAGRAPHS set (half a minute), else every 60th.
#[test]
fn ids_are_equal_on_real_paragraphs() {
    let (Some((own, library)), Some(paragraphs)) = (both(), paragraphs()) else {
        return;
    };
    let step = if std::env::var_os("TRIBUTARY_ALL_PARAGRAPHS").is_some() {
        1
    } else {
        60
    };
    let (mut compared, mut different) = (0, Vec::new());
    for paragraph in paragraphs.iter().step_by(step) {
        compared += 1;
        if own.plain_ids(paragraph).unwrap() != library.plain_ids(paragraph).unwrap() {
            different.push(paragraph);
        }
    }
    eprintln!("{compared} paragraphs compared, {} differ", different.len());
    assert!(compared > 500);
    assert!(
        different.is_empty(),
        "{} of {compared} differ, such as {:?}",
        different.len(),
        different.first()
    );
}

#[test]
fn ids_are_equal_on_hostile_text() {
    let Some((own, library)) = both() else { return };
    let parts = [
        "e\u{301}",
        "\u{301}",
        "\r\n",
        "\r",
        "\n",
        " ",
        "  ",
        "\t",
        "\u{3000}",
        "\u{a0}",
        "▁",
        "▁▁",
        "<s>",
        "</s>",
        "<mask>",
        "<pad>",
        "<unk>",
        "<",
        "＜s＞",
        "㈱",
        "ﬁ",
        "Ⅳ",
        "™",
        "ｶﾞ",
        "ガ",
        "カ\u{3099}",
        "각",
        "\u{1100}\u{1161}\u{11a8}",
        "👩‍👩‍👧",
        "🇨🇳",
        "é",
        "İ",
        "ß",
        "\u{200b}",
        "\u{200d}",
        "\u{feff}",
        "\u{ad}",
        "กำ",
        "क्षि",
        "ש\u{5b8}",
        "\u{0}",
        "\u{1}",
        "\u{7f}",
        "\u{fffd}",
        "\u{e000}",
        "𝔘𝔫𝔦",
        "𠮷",
        "北京",
        "的",
        "gNodeB",
        "38.331",
        "_",
        "``",
        "…",
        "①",
        "㎏",
        "Ａ\u{301}",
        "ａ\u{302}\u{303}",
        "\u{600}1",
        "\u{1f3fb}",
        "*\u{fe0f}\u{20e3}",
    ];
    let mut state = 42_u64;
    let mut next = |limit: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % limit
    };
    for round in 0..2000 {
        let mut text = String::new();
        for _ in 0..next(10) + 1 {
            match next(8) {
                0 => text.extend(char::from_u32(next(0x11_0000) as u32)),
                1 => text.extend(char::from_u32(next(0x3000) as u32)),
                _ => text.push_str(parts[next(parts.len())]),
            }
        }
        assert_eq!(
            own.plain_ids(&text).unwrap(),
            library.plain_ids(&text).unwrap(),
            "round {round}: {text:?}"
        );
        let limit = next(20) + 4;
        assert_eq!(
            own.encode(&text, limit).unwrap(),
            library.encode(&text, limit).unwrap(),
            "round {round}, {limit}: {text:?}"
        );
        let other: String = text.chars().rev().collect();
        assert_eq!(
            own.encode_pair(&text, &other, limit).unwrap(),
            library.encode_pair(&text, &other, limit).unwrap(),
            "{text:?}"
        );
    }
}

#[test]
fn word_pieces_go_through_the_library_without_its_baked_in_padding() {
    let Some(folder) = models_folder() else {
        return;
    };
    let file = folder.join("all-MiniLM-L6-v2/tokenizer.json");
    if !file.is_file() {
        eprintln!("SKIPPED: {} is not there", file.display());
        return;
    }
    let encoder = TextEncoder::open(&file).unwrap();
    assert!(matches!(encoder, TextEncoder::Library(_)));
    assert_eq!(encoder.count("hello world"), 2);
    assert_eq!(
        encoder.encode("hello world", 256).unwrap().ids,
        [101, 7592, 2088, 102]
    );
    let long = "word ".repeat(1000);
    assert_eq!(encoder.count(&long), 1000);
    let cut = encoder.encode(&long, 256).unwrap().ids;
    assert_eq!((cut.len(), cut.last()), (256, Some(&102)));
}

#[test]
fn without_a_model_counts_are_estimates() {
    let counter = token_counter(&common::config("absent"), std::path::Path::new("absent"));
    assert_eq!(
        counter.count("no model here"),
        EstimatedTokens.count("no model here")
    );
    let Some(folder) = models_folder() else {
        return;
    };
    let counter = token_counter(&common::config("multilingual-e5-small"), &folder);
    assert_eq!(
        counter.count("The quick brown fox jumps over the lazy dog"),
        12
    );
}

/// The estimate must stay near the model over whole corpora, or chunk sizes drift.
#[test]
fn estimates_are_fitted() {
    let (Some((own, _)), Some(paragraphs)) = (both(), paragraphs()) else {
        return;
    };
    let (mut exact, mut estimated, mut errors, mut number) = (0, 0, 0.0, 0);
    for paragraph in paragraphs
        .iter()
        .step_by(10)
        .filter(|paragraph| paragraph.len() > 200)
    {
        let (count, estimate) = (
            own.count(paragraph).unwrap(),
            EstimatedTokens.count(paragraph),
        );
        exact += count;
        estimated += estimate;
        errors += (estimate as f64 / count.max(1) as f64 - 1.0).abs();
        number += 1;
    }
    let (total, mean) = (estimated as f64 / exact as f64, errors / f64::from(number));
    eprintln!(
        "estimate / exact = {total:.3}, mean error per paragraph {:.1} %",
        mean * 100.0
    );
    assert!((0.9..1.1).contains(&total) && mean < 0.15);
}
