//! `tributary mcp`: the running server's tools over standard input and output.

use std::fs::File;
use std::os::fd::AsFd;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tokio::io::BufReader;
use tributary_query_api::mcp::stdio;

use crate::app;
use crate::args::{Global, Key};
use crate::client::Client;
use crate::config::Config;
use crate::print::Outcome;

/// Passes messages on until the program that started it closes its side.
pub fn run(global: &Global, config: &Config) -> Result<Outcome> {
    let Some(client) = Client::of_running_server(global, config) else {
        bail!(
            "no server runs on the data folder {}\nhint: start one with `tributary run`, or name one with --server",
            config.store.data_folder
        );
    };
    // Better now than as the answer to the first message, which few programs show.
    client
        .get::<Value>("/version")
        .context("the tools need a running server")?;
    let input = duplicate(&std::io::stdin()).context("cannot read standard input")?;
    let output = duplicate(&std::io::stdout()).context("cannot write to standard output")?;
    let server = stdio::Server {
        base: client.base(),
        authorization: client.key().map(Key::bearer),
        certificates: client.trust().certificates(),
    };
    app::block_on(stdio::bridge(server, BufReader::new(input), output))?;
    Ok(Outcome::Done)
}

/// The stream without the buffer and the lock of the standard library.
fn duplicate(stream: &impl AsFd) -> std::io::Result<tokio::fs::File> {
    let descriptor = stream.as_fd().try_clone_to_owned()?;
    Ok(tokio::fs::File::from_std(File::from(descriptor)))
}
