//! Prints a file as Markdown, for scoring the converters: `convert FILE`.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use tributary_ingest::config::{CleanersConfig, Config, HtmlConfig};

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: convert FILE");
        return ExitCode::from(2);
    };
    let config = Config {
        maximum_body_bytes: 256 << 20,
        maximum_markdown_bytes: 512 << 20,
        conversion_timeout_ms: 60_000,
        conversion_workers: 1,
        maximum_front_matter_bytes: 64 << 10,
        maximum_title_characters: 300,
        html: HtmlConfig { maximum_depth: 256, main_content_only: true, minimum_main_share: 0.2 },
        cleaners: CleanersConfig { maximum_pattern_bytes: 1 << 20, maximum_pattern_line_bytes: 2000 },
    };
    let converted = std::fs::read(&path).map_err(|error| error.to_string()).and_then(|bytes| {
        tributary_ingest::convert(&bytes, Some(&path), None, &config).map_err(|error| format!("{}: {}", error.kind(), error.full_message()))
    });
    match converted {
        Ok(converted) => {
            print!("{}", converted.markdown);
            if std::env::args().any(|argument| argument == "--verbose") {
                eprintln!(
                    "{:?} {} {} {:?} {} images",
                    converted.title,
                    converted.media_type,
                    converted.converter,
                    converted.metadata,
                    converted.images.len()
                );
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{path}: {error}");
            ExitCode::FAILURE
        }
    }
}
