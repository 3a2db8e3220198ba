//! Prints what is known of the paragraphs of PDFs that may be headings, a JSON object each, for
//! `eval/workloads/conversion/render/fit.py`: `headings LIST`, a file with a path a line.
#![allow(clippy::print_stdout, clippy::print_stderr)]

#[path = "../src/test_config.rs"]
mod test_config;

use std::process::ExitCode;

use tributary_convert::heading_examples;
use tributary_convert::limits::Limits;

fn main() -> ExitCode {
    let list = std::env::args().nth(1).unwrap_or_default();
    let Ok(paths) = std::fs::read_to_string(&list) else {
        eprintln!("usage: headings LIST (a file with the path of a PDF a line)");
        return ExitCode::from(2);
    };
    let config: tributary_convert::Config = test_config::config();
    for path in paths.lines() {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                eprintln!("{path}: {error}");
                continue;
            }
        };
        match heading_examples(&bytes, &config.pdf, &Limits::starting_now(&config)) {
            Ok(examples) => {
                for example in examples {
                    let line = serde_json::json!({"file": path, "text": example.text,
                        "outline": example.is_in_outline, "features": example.features});
                    println!("{line}");
                }
            }
            Err(error) => eprintln!("{path}: {}", error.full_message()),
        }
    }
    ExitCode::SUCCESS
}
