//! Sixty error logs in the shapes of real ones: what of each must stay in what is searched for, and
//! what must not. The rules were made with the first half; the second one was held back.

#![allow(clippy::print_stdout)]

use serde::Deserialize;
use tributary_retrieval::understand::rules::error_query::error_query;

const LOGS: &str = include_str!("error_logs.jsonl");
/// As `query_api.answer.error_map.query_characters`.
const QUERY_CHARACTERS: usize = 600;

#[derive(Deserialize)]
struct Log {
    id: String,
    split: String,
    log: String,
    keep: Vec<String>,
    drop: Vec<String>,
}

/// Shares of what is kept and of what is dropped.
fn shares(split: &str) -> (f32, f32) {
    let (mut kept, mut to_keep, mut dropped, mut to_drop) = (0, 0, 0, 0);
    for line in LOGS.lines() {
        let log: Log = serde_json::from_str(line).unwrap();
        if log.split != split {
            continue;
        }
        let text = error_query(&log.log).text(QUERY_CHARACTERS);
        for part in &log.keep {
            to_keep += 1;
            kept += u32::from(text.contains(part));
            if !text.contains(part) {
                println!("{}: lost `{part}` in `{text}`", log.id);
            }
        }
        for part in &log.drop {
            to_drop += 1;
            dropped += u32::from(!text.contains(part));
            if text.contains(part) {
                println!("{}: kept `{part}` in `{text}`", log.id);
            }
        }
    }
    assert!(to_keep > 50 && to_drop > 30, "{to_keep} {to_drop}");
    let shares = (
        kept as f32 / to_keep as f32,
        dropped as f32 / to_drop as f32,
    );
    println!("{split}: kept {kept}/{to_keep}, dropped {dropped}/{to_drop}");
    shares
}

#[test]
fn error_text_and_names_stay_and_places_go() {
    let (kept, dropped) = shares("rules");
    assert!(kept >= 0.97 && dropped >= 0.99, "{kept} {dropped}");
    let (kept, dropped) = shares("held_out");
    assert!(kept >= 0.9 && dropped >= 0.95, "held out: {kept} {dropped}");
}
