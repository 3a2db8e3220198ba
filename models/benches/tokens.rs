//! Speed and loading time of our unigram tokenizer beside the `tokenizers` crate, in CPU time of
//! one thread, over the shared corpora.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/common/mod.rs"]
mod common;

use common::{cpu_seconds, models_folder, paragraphs};
use tributary_models::TokenCounter;
use tributary_models::tokens::estimate::EstimatedTokens;
use tributary_models::tokens::library::LibraryTokenizer;
use tributary_models::tokens::unigram::UnigramTokenizer;

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> (T, f64) {
    let started = cpu_seconds();
    let result = work();
    let seconds = cpu_seconds() - started;
    println!("{what}: {seconds:.3} CPU s");
    (result, seconds)
}

fn main() {
    let (Some(folder), Some(paragraphs)) = (models_folder(), paragraphs()) else {
        return;
    };
    let file = folder.join("multilingual-e5-small/tokenizer.json");
    let json = std::fs::read(&file).unwrap();
    let (own, _) = timed("load own", || {
        UnigramTokenizer::parse(&json, &file).unwrap()
    });
    let (library, _) = timed("load tokenizers", || {
        LibraryTokenizer::parse(&json).unwrap()
    });
    let chinese: Vec<&String> = paragraphs
        .iter()
        .filter(|text| text.chars().next().is_some_and(|first| first > '\u{3000}'))
        .collect();
    let english: Vec<&String> = paragraphs.iter().filter(|text| text.is_ascii()).collect();
    for (name, texts) in [
        ("all", paragraphs.iter().collect()),
        ("chinese", chinese),
        ("ascii", english),
    ] {
        let bytes: usize = texts.iter().map(|text| text.len()).sum();
        let speed = |seconds: f64, bytes: usize| bytes as f64 / 1e6 / seconds;
        for _ in 0..3 {
            let (count, seconds) = timed("own", || {
                texts
                    .iter()
                    .map(|text| own.count(text).unwrap())
                    .sum::<usize>()
            });
            println!(
                "{name}: own {:.1} MB/s ({count} tokens, {bytes} bytes)",
                speed(seconds, bytes)
            );
        }
        let sample: Vec<&&String> = texts.iter().step_by(20).collect();
        let sample_bytes: usize = sample.iter().map(|text| text.len()).sum();
        let (_, seconds) = timed("tokenizers", || {
            sample
                .iter()
                .map(|text| library.count(text).unwrap())
                .sum::<usize>()
        });
        println!(
            "{name}: tokenizers {:.1} MB/s",
            speed(seconds, sample_bytes)
        );
        let (_, seconds) = timed("estimate", || {
            texts
                .iter()
                .map(|text| EstimatedTokens.count(text))
                .sum::<usize>()
        });
        println!("{name}: estimate {:.0} MB/s", speed(seconds, bytes));
    }
}
