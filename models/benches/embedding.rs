//! CPU time of loading and of embedding with the shared multilingual-e5-small, and the share of it
//! that the model itself takes.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/common/mod.rs"]
mod common;

use common::{cpu_seconds, models_folder, paragraphs, runnable};
use std::time::Instant;
use tributary_models::embedders::onnx::OnnxEmbedder;
use tributary_models::folder::ModelFolder;
use tributary_models::{TextRole, runtime};

/// CPU seconds of all threads (in ticks of 10 ms) and resident memory of this process.
fn process_figures() -> (f64, String) {
    let stat = std::fs::read_to_string("/proc/self/stat")
        .ok()
        .unwrap_or_default();
    let ticks: f64 = stat
        .split(' ')
        .skip(13)
        .take(2)
        .filter_map(|field| field.parse::<f64>().ok())
        .sum();
    let status = std::fs::read_to_string("/proc/self/status")
        .ok()
        .unwrap_or_default();
    let memory = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap_or_default()
        .trim()
        .to_owned();
    (ticks / 100.0, memory)
}

fn main() {
    let (Some(folder), Some(config), Some(paragraphs)) = (
        models_folder(),
        runnable("multilingual-e5-small"),
        paragraphs(),
    ) else {
        return;
    };
    let (cpu_before, _) = process_figures();
    let started = Instant::now();
    runtime::initialize(&config, &folder).unwrap();
    println!("runtime library: {:.3} s", started.elapsed().as_secs_f64());
    let started = Instant::now();
    let model = ModelFolder::find("multilingual-e5-small", &config.folders(&folder)).unwrap();
    let embedder = OnnxEmbedder::open(model.clone(), &config, &folder).unwrap();
    let (process_cpu, memory) = process_figures();
    println!(
        "open embedder: {:.3} s wall; {:.2} CPU s, {memory} in memory",
        started.elapsed().as_secs_f64(),
        process_cpu - cpu_before
    );
    let started = Instant::now();
    model.verify().unwrap();
    println!(
        "verify checksums: {:.3} s wall",
        started.elapsed().as_secs_f64()
    );

    let texts: Vec<&str> = paragraphs
        .iter()
        .map(String::as_str)
        .filter(|text| text.len() > 300)
        .step_by(211)
        .take(96)
        .collect();
    embedder
        .embed_timed(&texts[..2], TextRole::Passage)
        .unwrap();
    println!("with a second session: {} in memory", process_figures().1);
    for _ in 0..3 {
        let (wall, cpu) = (Instant::now(), cpu_seconds());
        let (_, in_model) = embedder.embed_timed(&texts, TextRole::Passage).unwrap();
        let (wall, cpu) = (wall.elapsed().as_secs_f64(), cpu_seconds() - cpu);
        let share = in_model.as_secs_f64() / wall;
        println!(
            "{} passages: {:.1} ms CPU each, {:.2} % of the wall time inside the model",
            texts.len(),
            cpu * 1e3 / texts.len() as f64,
            share * 100.0
        );
    }
    for tokens in [12, 128, 256, 512] {
        let text = "网络".repeat(tokens);
        let text: String = text.chars().take(tokens * 2).collect();
        let mut times: Vec<f64> = (0..7)
            .map(|_| {
                let cpu = cpu_seconds();
                embedder
                    .embed_timed(
                        &[&text],
                        if tokens == 12 {
                            TextRole::Query
                        } else {
                            TextRole::Passage
                        },
                    )
                    .unwrap();
                (cpu_seconds() - cpu) * 1e3
            })
            .collect();
        times.sort_by(f64::total_cmp);
        println!(
            "one text of about {tokens} tokens: {:.1} ms CPU (median of 7)",
            times[3]
        );
    }
}
