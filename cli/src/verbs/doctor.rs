//! `tributary doctor`: everything that a run needs, with a hint for what is missing.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;
use serde_json::json;
use tributary_convert::config::Engine;
use tributary_convert::slides::office;
use tributary_convert::{is_library_named, probe_library};
use tributary_enrich::ChunkServices;
use tributary_ingest::SourceCleaning;
use tributary_models::chat::{ChatModel, ChatModels, Role, RoleModel, SharedObserver, Unobserved};
use tributary_models::folder::ModelFolder;
use tributary_models::ocr::OcrSetup;
use tributary_models::service::{SharedServiceObserver, Uncounted};
use tributary_models::{EmbedderKind, RerankerKind, TextRole, token_counter};
use tributary_schemas::Error;
use tributary_store::config::SearchIndexKind;
use tributary_store::damage::Part;
use tributary_store::data_folder::{DataFolder, is_open_to_others, running_server};
use tributary_store::parts;
use tributary_store::search_index::elasticsearch::{self, Diagnosis};
use tributary_taxonomy::KnowledgeSets;

use crate::app;
use crate::args::{Doctor, Global};
use crate::client::Client;
use crate::config::Config;
use crate::conversion;
use crate::print::{self, Outcome};
use crate::verbs::config::check_domain;
use crate::verbs::{
    callers, certificate, chat_probe, keys, knowledge_sets, machine, reranker, verify,
};

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
    let mut checks = vec![data_folder(config), taxonomy(global, config)];
    checks.extend(machine::checks(config).into_iter().map(|(name, looked)| {
        looked.map_or_else(|error| failed(name, &error), |detail| passed(name, detail))
    }));
    checks.extend(models(config));
    checks.extend(chat(config)?);
    checks.extend(external_steps(config));
    checks.extend(pictures(config));
    checks.push(confinement(config));
    checks.extend(search_index(config)?);
    checks.push(server(global, config));
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
        checks.extend(data_at_rest(config));
    }
    let ok = checks.iter().all(|check| check.ok);
    let told: Vec<Told<'_>> = checks.iter().map(Told::from).collect();
    print::result(output, &json!({"checks": told, "ok": ok}), || {
        checks.iter().map(describe).collect::<Vec<_>>().join("\n")
    })?;
    Ok(if ok { Outcome::Done } else { Outcome::Failed })
}

fn describe(check: &Check) -> String {
    let mark = match check.status() {
        Status::Ok => "ok  ",
        Status::Warning => "warn",
        Status::Failed => "FAIL",
    };
    let hint = check
        .hint
        .as_ref()
        .map(|hint| format!("\n       hint: {hint}"))
        .unwrap_or_default();
    format!("{mark}   {:12} {}{hint}", check.name, check.detail)
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

/// A folder that a running server holds is fine; without one it must open for writing.
fn data_folder(config: &Config) -> Check {
    let path = Path::new(&config.store.data_folder);
    if let Some(server) = running_server(path) {
        let detail = format!(
            "{} is in use by the server at {}",
            path.display(),
            server.url
        );
        return Check {
            hint: open_to_others(path),
            ..passed("data folder", detail)
        };
    }
    match DataFolder::open(path, config.store.access()) {
        Ok(folder) => {
            if let Err(error) = parts::check(path, &config.store.embedded_parts()) {
                return failed("data folder", &error);
            }
            let detail = format!("{} (id {})", path.display(), folder.id());
            Check {
                hint: open_to_others(path),
                ..passed("data folder", detail)
            }
        }
        Err(error) => failed("data folder", &error),
    }
}

/// A warning: there may be a reason.
fn open_to_others(path: &Path) -> Option<String> {
    let hint = || {
        format!(
            "other users of this machine may look into it, where every document is; `chmod 700 {}` ends that",
            path.display()
        )
    };
    is_open_to_others(path).then(hint)
}

/// Warnings: each may be meant.
fn open_doors(config: &Config) -> impl Iterator<Item = Check> {
    let doors = callers::open_doors(&config.query_api.server).into_iter();
    doors.map(|door| Check {
        hint: Some(door.hint.to_owned()),
        ..passed("open door", door.what)
    })
}

/// Every byte of log, index and blobs against its checksum.
fn data_at_rest(config: &Config) -> Vec<Check> {
    let found = match verify::hold(config).and_then(|folder| verify::look(config, &folder)) {
        Ok(found) => found,
        Err(error) => return vec![failed("data at rest", &error)],
    };
    let check = |part: Part| {
        let lines = found.lines(Path::new(&config.store.data_folder), part);
        let name = match part {
            Part::Log => "log at rest",
            Part::Index => "index at rest",
            Part::Blobs => "blobs at rest",
        };
        match lines.is_empty() {
            true => passed(name, "every checksum is right"),
            false => Check {
                name,
                ok: false,
                detail: lines.join("\n       "),
                hint: Some(verify::HINT.to_owned()),
            },
        }
    };
    Part::ALL.into_iter().map(check).collect()
}

fn taxonomy(global: &Global, config: &Config) -> Check {
    match check_domain(config) {
        Ok(taxonomy) => {
            let (sets, profiles) = (
                taxonomy.knowledge_sets.len(),
                taxonomy.source_profiles.iter().count(),
            );
            let analyzer = taxonomy.analyzer.fingerprint();
            let applied = applied_sets(global, config, &taxonomy.knowledge_sets);
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

/// Files whole, runtime there, and one real embedding.
fn models(config: &Config) -> Vec<Check> {
    let folder = Path::new(&config.store.data_folder).join("models");
    let mut checks = Vec::new();
    if config.models.kind == EmbedderKind::Onnx {
        checks.push(model_files(config, &folder));
    }
    checks.push(embedder(config, &folder));
    checks.extend(reranker::check(config, &folder));
    checks
}

fn model_files(config: &Config, folder: &Path) -> Check {
    let found = ModelFolder::find(&config.models.folder, &config.models.folders(folder));
    match found.and_then(|model| model.verify().map(|()| model)) {
        Ok(model) => passed(
            "model files",
            format!("{} (checksums right)", model.path.display()),
        ),
        Err(error) => failed("model files", &error),
    }
}

/// Embeds one text as a question would be.
fn embedder(config: &Config, folder: &Path) -> Check {
    // What reads in tier 3 is a check of its own.
    let mut wanted = config.models.clone();
    wanted.reranker.kind = RerankerKind::None;
    let embedded = tributary_models::load(&wanted, folder).and_then(|models| {
        models
            .embedder
            .embed(&["信号强度"], TextRole::Query)
            .map(|_| models)
    });
    match embedded {
        Ok(models) if models.degraded.is_empty() => {
            passed("embedder", models.embedder.fine_name().to_owned())
        }
        Ok(models) => Check {
            name: "embedder",
            ok: false,
            detail: format!("degraded: {}", models.degraded.join(", ")),
            hint: Some("deploy/models/fetch gets the runtime and the default model".to_owned()),
        },
        Err(error) => failed("embedder", &error),
    }
}

/// The endpoint of each role: whether it answers, who does, in JSON, and how fast.
fn chat(config: &Config) -> Result<Vec<Check>> {
    let models = match open_chat(config) {
        Ok(models) => models,
        Err(error) => return Ok(vec![failed("chat", &error)]),
    };
    let runtime = app::runtime()?;
    let mut checks = Vec::new();
    for (model, roles) in models.by_endpoint() {
        let place = place(&model, &roles);
        checks.push(match chat_probe::answers(&model.describe().address) {
            Ok(()) => runtime.block_on(chat_endpoint(&model, &place)),
            Err(error) => chat_failed(&place, &error),
        });
    }
    checks.extend(without_model(&models));
    Ok(checks)
}

/// The roles that have no model; what they are for is done in lesser ways.
fn without_model(models: &ChatModels) -> Option<Check> {
    let without: Vec<&str> = Role::ALL
        .into_iter()
        .filter(|role| models.role(*role).is_none())
        .map(Role::as_str)
        .collect();
    if without.is_empty() {
        return None;
    }
    let detail = format!("no model for {}: the lesser ways", without.join(", "));
    Some(passed("chat", detail))
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
    let settings = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_global(Some(SERVICE_ANSWER));
    let agent: ureq::Agent = settings.build().into();
    match agent.get(address).call() {
        Ok(_) => Ok(()),
        Err(ureq::Error::Timeout(_)) => Err(format!(
            "does not answer within {} s",
            SERVICE_ANSWER.as_secs()
        )),
        Err(ureq::Error::Io(error)) => Err(format!("cannot be reached: {error}")),
        Err(_) => Err("cannot be reached".to_owned()),
    }
}

pub(super) fn open_chat(config: &Config) -> tributary_schemas::Result<ChatModels> {
    let folder = Path::new(&config.store.data_folder).join("models");
    let tokens = token_counter(&config.models, &folder);
    let observer: SharedObserver = Arc::new(Unobserved);
    ChatModels::open(&config.models.chat, &tokens, &observer)
}

fn place(model: &RoleModel, roles: &[Role]) -> String {
    let described = model.describe();
    let roles: Vec<&str> = roles.iter().map(|role| role.as_str()).collect();
    format!(
        "{} ({}) for {}",
        described.endpoint,
        described.address,
        roles.join(", ")
    )
}

async fn chat_endpoint(model: &Arc<RoleModel>, place: &str) -> Check {
    match chat_probe::probe(model).await {
        Ok(found) => {
            let speed = match found.tokens_per_second {
                Some(speed) => format!("{speed:.1} tokens/s"),
                None => "replies at once".to_owned(),
            };
            let detail = format!("{place}: {}, JSON is read, {speed}", found.model);
            passed("chat", detail)
        }
        Err(error) => chat_failed(place, &error),
    }
}

fn chat_failed(place: &str, error: &Error) -> Check {
    Check {
        detail: format!("{place}: {error}"),
        ..failed("chat", error)
    }
}

/// Who reads pages and pictures, and who draws slides. Without them nothing is wrong, but less is
/// found.
fn pictures(config: &Config) -> Vec<Check> {
    let folder = Path::new(&config.store.data_folder).join("models");
    let ocr = match OcrSetup::find(&config.models, &folder)
        .and_then(|setup| setup.open().map(|_| setup))
    {
        Ok(setup) => format!("read with the models in {}", setup.models.display()),
        Err(unavailable) => format!("not read: {unavailable}"),
    };
    vec![
        passed("pictures", ocr),
        pdf(config),
        passed("slides", slides(config)),
    ]
}

/// What reads PDFs. Where PDFium is wanted and missing they are read all the same, with less in
/// them, unless nothing else may read them.
fn pdf(config: &Config) -> Check {
    let library = conversion::pdfium(config).unwrap_or_default();
    let mut wanted = config.convert.pdf.clone();
    wanted.library.clone_from(&library);
    if wanted.engine == Engine::Builtin {
        return passed("PDF", "the built-in reader, by `convert.pdf.engine`");
    }
    match probe_library(&wanted) {
        Ok(()) if library.as_os_str().is_empty() => passed("PDF", "PDFium, of the system"),
        Ok(()) => passed("PDF", format!("PDFium, {}", library.display())),
        Err(error) if wanted.engine == Engine::Pdfium || is_library_named(&wanted) => {
            failed("PDF", &error)
        }
        Err(_) => Check {
            hint: Some("`deploy/models/fetch` gets PDFium".to_owned()),
            ..passed(
                "PDF",
                "the built-in reader, as PDFium is missing: fewer headings, no scanned pages, no pictures of pages",
            )
        },
    }
}

fn slides(config: &Config) -> String {
    match office::find(&config.convert.slides) {
        Some(program) => format!("drawn by LibreOffice, {}", program.display()),
        None if config.convert.slides.draw => "not drawn: LibreOffice is not installed".to_owned(),
        None => "not drawn: `convert.slides.draw` is off".to_owned(),
    }
}

/// Whether documents of strangers are converted in confinement, or wait.
fn confinement(config: &Config) -> Check {
    match app::look_at_confinement(&conversion::pool(config)) {
        Ok(detail) => passed("confinement", detail),
        Err(error) => failed("confinement", &error),
    }
}

/// The cluster, where the search index is one.
fn search_index(config: &Config) -> Result<Vec<Check>> {
    if config.store.search_index.kind != SearchIndexKind::Elasticsearch {
        return Ok(Vec::new());
    }
    let found = app::runtime()?.block_on(elasticsearch::diagnose(
        &config.store.search_index.elasticsearch,
    ));
    Ok(found
        .into_iter()
        .map(
            |Diagnosis {
                 name,
                 ok,
                 detail,
                 hint,
             }| Check {
                name,
                ok,
                detail,
                hint,
            },
        )
        .collect())
}

fn server(global: &Global, config: &Config) -> Check {
    let Some(client) = Client::of_running_server(global, config) else {
        return passed("server", "none runs; verbs work without one");
    };
    let url = client.base();
    match client.get::<serde_json::Value>("/health/readyz") {
        Ok(_) => passed("server", format!("{url} is ready")),
        Err(error) => Check {
            name: "server",
            ok: false,
            detail: format!("{url}: {error:#}"),
            hint: Some("look at its log".to_owned()),
        },
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
            describe(&door),
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
