//! `tributary doctor`: everything that a run needs, with a hint for what is missing.

mod conversion;
mod models;
mod stores;

pub(super) use self::models::open_chat;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;
use serde_json::json;
use tributary_enrich::ChunkServices;
use tributary_ingest::SourceCleaning;
use tributary_models::service::{SharedServiceObserver, Uncounted};
use tributary_schemas::Error;
use tributary_taxonomy::KnowledgeSets;

use crate::args::{Doctor, Global};
use crate::client::Client;
use crate::config::Config;
use crate::print::{self, Outcome};
use crate::verbs::config::check_domain;
use crate::verbs::{callers, certificate, keys, knowledge_sets, machine};

/// How long a service has to answer.
const SERVICE_ANSWER: Duration = Duration::from_secs(3);

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Ok,
    /// It works, and somebody should know.
    Warning,
    Failed,
}

/// One thing that was looked at; one that is fine and has a hint is a warning.
#[derive(Serialize)]
pub(super) struct Check {
    pub name: &'static str,
    pub ok: bool,
    pub detail: String,
    pub hint: Option<String>,
}

impl Check {
    fn status(&self) -> Status {
        match (self.ok, &self.hint) {
            (true, None) => Status::Ok,
            (true, Some(_)) => Status::Warning,
            (false, _) => Status::Failed,
        }
    }
}

/// A check with how it ended, for scripts.
#[derive(Serialize)]
struct Told<'a> {
    status: Status,
    #[serde(flatten)]
    check: &'a Check,
}

impl<'a> From<&'a Check> for Told<'a> {
    fn from(check: &'a Check) -> Self {
        Self {
            status: check.status(),
            check,
        }
    }
}

/// Looks at all of it, also after the first problem.
pub fn run(global: &Global, config: &Config, doctor: Doctor) -> Result<Outcome> {
    let output = doctor.output;
    let server = Server::find(global, config);
    let mut checks = vec![
        stores::data_folder(config),
        taxonomy(global, config, &server),
    ];
    checks.extend(machine::checks(config).into_iter().map(|(name, looked)| {
        looked.map_or_else(|error| failed(name, &error), |detail| passed(name, detail))
    }));
    checks.extend(models::models(config));
    checks.extend(models::chat(config)?);
    checks.extend(external_steps(config));
    checks.extend(conversion::pictures(config));
    checks.push(conversion::confinement(config));
    checks.extend(stores::search_index(config)?);
    checks.push(server.check());
    checks.extend(
        server
            .answering()
            .map(stores::generations)
            .unwrap_or_default(),
    );
    checks.push(match keys::who_may_call(config) {
        Ok(callers) => passed("callers", callers),
        Err(error) => failed("callers", &error),
    });
    checks.extend(
        callers::look_at_provider(config).map(|looked| match looked {
            Ok(keys) => passed("identity", keys),
            Err(error) => failed("identity", &error),
        }),
    );
    checks.extend(callers::look_at_sign_in(config).map(|looked| match looked {
        Ok(place) => passed("sign-in", place),
        Err(error) => failed("sign-in", &error),
    }));
    checks.extend(open_doors(config));
    checks.extend(certificate::check(config));
    if doctor.verify {
        checks.extend(stores::data_at_rest(config));
    }
    let ok = checks.iter().all(|check| check.ok);
    let told: Vec<Told<'_>> = checks.iter().map(Told::from).collect();
    print::result(output, &json!({"checks": told, "ok": ok}), || {
        let longest = checks.iter().map(|check| check.name.len()).max();
        let line = |check: &Check| describe(check, longest.unwrap_or_default());
        checks.iter().map(line).collect::<Vec<_>>().join("\n")
    })?;
    Ok(if ok { Outcome::Done } else { Outcome::Failed })
}

/// A line with the name in a column of this width, and what belongs to it below.
fn describe(check: &Check, width: usize) -> String {
    let mark = match check.status() {
        Status::Ok => "ok  ",
        Status::Warning => "warn",
        Status::Failed => "FAIL",
    };
    let below = |text: &str| text.replace('\n', "\n       ");
    let hint = check.hint.as_ref();
    let hint = hint.map(|hint| format!("\n       hint: {}", below(hint)));
    format!(
        "{mark}   {:width$} {}{}",
        check.name,
        below(&check.detail),
        hint.unwrap_or_default()
    )
}

pub(super) fn passed(name: &'static str, detail: impl Into<String>) -> Check {
    Check {
        name,
        ok: true,
        detail: detail.into(),
        hint: None,
    }
}

pub(super) fn failed(name: &'static str, error: &Error) -> Check {
    Check {
        name,
        ok: false,
        detail: error.to_string(),
        hint: error.hint().map(str::to_owned),
    }
}

/// Warnings: each may be meant.
fn open_doors(config: &Config) -> impl Iterator<Item = Check> {
    let doors = callers::open_doors(&config.query_api.server).into_iter();
    doors.map(|door| Check {
        hint: Some(door.hint.to_owned()),
        ..passed("open door", door.what)
    })
}

fn taxonomy(global: &Global, config: &Config, server: &Server) -> Check {
    match check_domain(config) {
        Ok(taxonomy) => {
            let (sets, profiles) = (
                taxonomy.knowledge_sets.len(),
                taxonomy.source_profiles.iter().count(),
            );
            let analyzer = taxonomy.analyzer.fingerprint();
            let applied = server.answering().map_or_else(String::new, |_| {
                applied_sets(global, config, &taxonomy.knowledge_sets)
            });
            passed(
                "taxonomy",
                format!(
                    "{sets} knowledge sets{applied}, {profiles} source profiles, analyzer {analyzer}"
                ),
            )
        }
        Err(error) => failed("taxonomy", &error),
    }
}

/// Says so where the running server has other knowledge sets than the configuration. One that does
/// not answer is told by a check of its own.
fn applied_sets(global: &Global, config: &Config, configured: &KnowledgeSets) -> String {
    let running = knowledge_sets::of_running_server(global, config);
    match running.ok().flatten() {
        Some(applied) if applied != *configured => {
            format!(
                " configured (the server has {} that were applied)",
                applied.len()
            )
        }
        _ => String::new(),
    }
}

/// Steps that are services of the team's own, on documents and on chunks: whether each answers at
/// all. What is wrong with the settings of one is told with the taxonomy.
fn external_steps(config: &Config) -> Vec<Check> {
    let found = external_addresses(config).ok().unwrap_or_default();
    let look = |(name, address): (String, String)| {
        match answers(&address) {
        Ok(()) => passed("external", format!("step {name} answers")),
        Err(what) => Check {
            name: "external",
            ok: false,
            detail: format!("step {name} {what}"),
            hint: Some(
                "start the service, or take the step out of the source profile: its documents go to the dead letters"
                    .to_owned(),
            ),
        },
    }
    };
    found.into_iter().map(look).collect()
}

fn external_addresses(config: &Config) -> tributary_schemas::Result<Vec<(String, String)>> {
    let profiles = tributary_taxonomy::load_source_profiles(&config.taxonomy, Path::new(""))?;
    let observer: SharedServiceObserver = Arc::new(Uncounted);
    let defaults = config.ingest.external.defaults();
    let on_chunks = ChunkServices::new(&profiles, &defaults, &observer, None)?.addresses();
    let title_characters = config.convert.maximum_title_characters;
    let cleaning = SourceCleaning::new(Arc::new(profiles), &config.ingest, title_characters)?;
    let mut all = cleaning.external_addresses();
    all.extend(on_chunks);
    Ok(all)
}

/// Any answer to a `GET` will do, as documents are sent by `POST`. The address is not told: it may
/// hold what is secret.
fn answers(address: &str) -> std::result::Result<(), String> {
    match get(address) {
        Ok(()) => Ok(()),
        Err(ureq::Error::Timeout(_)) => Err(unanswered()),
        Err(ureq::Error::Io(error)) => Err(format!("cannot be reached: {error}")),
        Err(_) => Err("cannot be reached".to_owned()),
    }
}

/// Whether there is an answer in time, whatever it says.
fn get(address: &str) -> std::result::Result<(), ureq::Error> {
    let settings = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_global(Some(SERVICE_ANSWER));
    let agent: ureq::Agent = settings.build().into();
    agent.get(address).call().map(drop)
}

fn unanswered() -> String {
    format!("does not answer within {} s", SERVICE_ANSWER.as_secs())
}

/// The server of the data folder, or the one that is named.
enum Server {
    None,
    /// It says nothing at all.
    Silent(Client),
    Answers(Client),
}

impl Server {
    fn find(global: &Global, config: &Config) -> Self {
        let Some(client) = Client::of_running_server(global, config) else {
            return Self::None;
        };
        let address = format!("{}/health/livez", client.base().trim_end_matches('/'));
        match get(&address) {
            Err(ureq::Error::Timeout(_)) => Self::Silent(client),
            _ => Self::Answers(client),
        }
    }

    fn answering(&self) -> Option<&Client> {
        match self {
            Self::Answers(client) => Some(client),
            Self::None | Self::Silent(_) => None,
        }
    }

    fn check(&self) -> Check {
        let failed = |detail: String, hint: &str| Check {
            name: "server",
            ok: false,
            detail,
            hint: Some(hint.to_owned()),
        };
        match self {
            Self::None => passed("server", "none runs; verbs work without one"),
            Self::Silent(client) => failed(
                format!("{} {}", client.base(), unanswered()),
                "it hangs or is stopped: look at its process and its log",
            ),
            Self::Answers(client) => match client.get::<serde_json::Value>("/health/readyz") {
                Ok(_) => passed("server", format!("{} is ready", client.base())),
                Err(error) => failed(format!("{}: {error:#}", client.base()), "look at its log"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_fine_and_has_a_hint_is_a_warning() {
        let door = Check {
            hint: Some("close it".to_owned()),
            ..passed("open door", "it is open")
        };
        assert_eq!(
            describe(&door, 12),
            "warn   open door    it is open\n       hint: close it"
        );
        assert_eq!(json!(Told::from(&door))["status"], "warning");
        assert_eq!(passed("disk", "large").status(), Status::Ok);
        let error = Error::new(tributary_schemas::ErrorKind::Invalid, "no");
        assert_eq!(
            failed("disk", &error.with_hint("h")).status(),
            Status::Failed
        );
    }
}
