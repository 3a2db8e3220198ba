//! `tributary run`: the services, until Ctrl-C.

use std::io::IsTerminal;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tributary_schemas::search::{SearchRequest, SearchResponse};
use tributary_store::data_folder::running_server;

use super::{callers, keys, publish, search};
use crate::app::{self, App};
use crate::args::{Global, Run, Service};
use crate::client::{Client, STARTING, STARTING_LOOK, folder_key, is_in_use};
use crate::config::Config;
use crate::memory;
use crate::print::{self, Outcome};
use crate::trust::Trust;

/// How long a server that is stopping is waited for.
const STOPPING: Duration = Duration::from_secs(60);
const SAMPLE_SOURCE: &str = "tributary-docs";
const SAMPLE_QUESTION: &str = "What happens to a document that can never be indexed?";

/// Starts, says where, and runs until Ctrl-C or SIGTERM; a second Ctrl-C does not wait for what is
/// in progress.
pub fn run(_: &Global, config: &Config, run: &Run) -> Result<Outcome> {
    let started = Instant::now();
    memory::give_large_pieces_back();
    app::block_on(async {
        let signals = StopSignals::listen()?;
        let app = start(config, run).await?;
        tokio::spawn(stop_on_signal(signals, app.shutdown()));
        let services: Vec<String> = run.services.iter().map(ToString::to_string).collect();
        print::note(&format!(
            "tributary runs {} on {}",
            services.join(", "),
            config.store.data_folder
        ));
        let left_out = app::left_out(config, &run.services);
        if !left_out.is_empty() {
            print::note(&format!("warning: {}", app::not_run(&left_out)));
        }
        if let Some(url) = app.url().map(str::to_owned) {
            say_who_may_call(config, run.services.contains(&Service::Query))?;
            warn_without_tls(config, run);
            look_at_provider(config);
            print::line(&format!(
                "listening on {url} (ready in {:.1} s)",
                started.elapsed().as_secs_f64()
            ))?;
            if !run.sample.is_empty() {
                let (config, paths) = (config.clone(), run.sample.clone());
                let shutdown = app.shutdown();
                tokio::task::spawn_blocking(move || {
                    report_sample(&url, &config, &paths, &shutdown);
                });
            }
        }
        app.run().await
    })?;
    print::note("stopped; nothing was lost");
    Ok(Outcome::Done)
}

/// Starts, once who has the folder is done: a verb, which has it for seconds, or a server that is
/// stopping.
async fn start(config: &Config, run: &Run) -> Result<App> {
    let began = Instant::now();
    let mut is_told = false;
    loop {
        match App::start(config, &run.services, run.listen).await {
            Err(error) if is_in_use(&error) && began.elapsed() < patience(config) => {
                if !is_told {
                    let seconds = patience(config).as_secs();
                    print::note(&format!("{error}; waiting for it, {seconds} s at most"));
                    is_told = true;
                }
                tokio::time::sleep(STARTING_LOOK).await;
            }
            started => return started,
        }
    }
}

/// How long the folder is waited for. A server that stops listens no more, and finishes what is in
/// progress.
fn patience(config: &Config) -> Duration {
    let server = running_server(Path::new(&config.store.data_folder));
    let address = server.and_then(|server| {
        let (_, address) = server.url.split_once("://")?;
        address.parse::<SocketAddr>().ok()
    });
    let listens = |address| TcpStream::connect_timeout(&address, STARTING_LOOK).is_ok();
    match address {
        Some(address) if !listens(address) => STOPPING,
        _ => STARTING,
    }
}

/// Who is let in, and the first key where there is none yet for a server of queries.
fn say_who_may_call(config: &Config, answers_queries: bool) -> Result<()> {
    // What is shown must not stay in a log.
    let is_seen = std::io::stderr().is_terminal();
    let first = match answers_queries && is_seen {
        true => keys::first_key(config)?,
        false => None,
    };
    print::note(&keys::who_may_call(config)?);
    if let Some(secret) = first {
        print::note(&format!(
            "the first administrator's key, shown this once; keep it safe:\n{}",
            secret.reveal()
        ));
    }
    Ok(())
}

/// Says so where keys are wanted and cross a network as they are.
fn warn_without_tls(config: &Config, run: &Run) {
    let configured = match run.services.contains(&Service::Query) {
        true => &config.query_api.server.listen,
        false => &config.telemetry.listen,
    };
    let address = run.listen.map(|address| address.to_string());
    let address = address.as_ref().unwrap_or(configured);
    if let Some(warning) = callers::warning_at_start(&config.query_api.server, address) {
        print::note(&warning);
    }
}

/// Says so where the keys of the identity provider cannot be fetched; nobody waits for it, and they
/// are fetched again when a token comes.
fn look_at_provider(config: &Config) {
    let config = config.clone();
    // A thread that nothing waits for: a stop does not, either.
    std::thread::spawn(move || {
        if let Some(Err(error)) = callers::look_at_provider(&config) {
            print::note(&format!(
                "warning: tokens are refused for now: {}",
                error.full_message()
            ));
        }
    });
}

/// The signals that stop a run. Caught from the moment of listening for them, before anybody is
/// told that the server is there.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    fn listen() -> Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
        })
    }
}

async fn stop_on_signal(mut signals: StopSignals, shutdown: CancellationToken) {
    for again in [false, true] {
        tokio::select! {
            _ = signals.interrupt.recv() => {}
            _ = signals.terminate.recv() => {}
        }
        if again {
            print::note("stopping at once; what was in progress comes again at the next start");
            std::process::exit(130);
        }
        print::note("finishing what is in progress (Ctrl-C again stops at once)");
        shutdown.cancel();
    }
}

fn report_sample(url: &str, config: &Config, paths: &[PathBuf], shutdown: &CancellationToken) {
    if let Err(error) = show_sample(url, config, paths)
        && !shutdown.is_cancelled()
    {
        print::failure(&error.context("the sample could not be shown"));
    }
}

fn show_sample(url: &str, config: &Config, paths: &[PathBuf]) -> Result<()> {
    let client = Client::to(url.to_owned(), folder_key(config), Trust::OwnServer);
    let report = publish::publish_and_wait(&client, config, paths, SAMPLE_SOURCE)?;
    print::note(&format!("sample: {}", report.summary()));
    let request: SearchRequest =
        serde_json::from_value(serde_json::json!({"query": SAMPLE_QUESTION, "top_k": 3}))?;
    let response: SearchResponse = client
        .post("/v1/search", &request)
        .context("the sample question was not answered")?;
    print::line(&format!(
        "\n“{SAMPLE_QUESTION}”\n{}",
        search::describe(&response, false)
    ))?;
    print::line(&format!("web page: {url}    (Ctrl-C stops)"))
}
