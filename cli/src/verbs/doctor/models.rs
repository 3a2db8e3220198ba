//! What `doctor` says of models: those of vectors, the one of tier 3, and language models.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use tributary_models::chat::{ChatModel, ChatModels, Role, RoleModel, SharedObserver, Unobserved};
use tributary_models::folder::ModelFolder;
use tributary_models::{EmbedderKind, RerankerKind, TextRole, token_counter};
use tributary_schemas::Error;

use super::{Check, failed, passed};
use crate::app;
use crate::config::Config;
use crate::verbs::{chat_probe, reranker};

/// Files whole, runtime there, and one real embedding.
pub(super) fn models(config: &Config) -> Vec<Check> {
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
pub(super) fn chat(config: &Config) -> Result<Vec<Check>> {
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
        checks.extend(short_context(&model));
    }
    checks.extend(without_model(&models));
    Ok(checks)
}

/// A server with less context than it is believed to have refuses long prompts, or cuts them.
fn short_context(model: &RoleModel) -> Option<Check> {
    let described = model.describe();
    let has = chat_probe::context(&described.address)?;
    (has < described.context_tokens).then(|| Check {
        name: "chat context",
        ok: false,
        detail: format!(
            "{} has {has} tokens of context for a request, context_tokens says {}: longer prompts fail",
            described.endpoint, described.context_tokens
        ),
        hint: Some(format!(
            "set its `context_tokens` to {has} in [models.chat], or give its server more"
        )),
    })
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

pub(in crate::verbs) fn open_chat(config: &Config) -> tributary_schemas::Result<ChatModels> {
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
