//! Prints a file as Markdown, for scoring the converters: `convert FILE`.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::expect_used)]

#[path = "../src/test_config.rs"]
mod test_config;

use std::process::ExitCode;

use tributary_convert::Job;
use tributary_convert::limits::Limits;
use tributary_convert::pages;

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: convert FILE");
        return ExitCode::from(2);
    };
    let config: tributary_convert::Config = test_config::config();
    let converted = std::fs::read(&path)
        .map_err(|error| error.to_string())
        .and_then(|bytes| {
            let job = Job::named(&bytes, &path);
            tributary_convert::convert(job, &config, &Limits::starting_now(&config))
                .map_err(|error| format!("{}: {}", error.kind(), error.full_message()))
        });
    match converted {
        Ok(converted) => {
            print!("{}", pages::take_out(&pages::mark(&converted.markdown)).0);
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
