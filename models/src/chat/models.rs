//! All chat models of a process: the endpoints that the configuration names, and which role uses
//! which.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use tributary_schemas::{Error, ErrorKind, Result};

use super::ChatModel;
use super::budget::Budget;
use super::config::{ChatConfig, EndpointConfig, EndpointKind, RoleConfig};
use super::observer::SharedObserver;
use super::openai::OpenAiModel;
use super::role::Role;
use super::role_model::{Endpoint, RoleModel};
use super::scripted::ScriptedModel;
use crate::TokenCounter;

/// The models of all roles.
#[derive(Default)]
pub struct ChatModels {
    roles: BTreeMap<Role, Arc<RoleModel>>,
}

impl ChatModels {
    /// Prepares what the configuration asks for; connects to nothing. `Invalid` with all problems
    /// of the values, a key that cannot be read, or a script that is none.
    pub fn open(
        config: &ChatConfig,
        tokens: &Arc<dyn TokenCounter>,
        observer: &SharedObserver,
    ) -> Result<Self> {
        let problems = config.problems();
        if !problems.is_empty() {
            return Err(Error::new(ErrorKind::Invalid, problems.join("; ")));
        }
        let mut endpoints: BTreeMap<&str, Arc<Endpoint>> = BTreeMap::new();
        let mut roles = BTreeMap::new();
        for (role, settings) in &config.roles {
            let name = settings.endpoint.as_str();
            let endpoint = match endpoints.get(name) {
                Some(endpoint) => Arc::clone(endpoint),
                None => match open_endpoint(config, name, observer)? {
                    Some(endpoint) => endpoint,
                    None => continue,
                },
            };
            endpoints.insert(name, Arc::clone(&endpoint));
            let model = role_model(*role, settings, endpoint, tokens);
            roles.insert(*role, Arc::new(model));
        }
        Ok(Self { roles })
    }

    /// The model of a role; `None` if it has no endpoint, upon which the caller takes its lesser
    /// way and names it in `degraded`.
    pub fn role(&self, role: Role) -> Option<Arc<RoleModel>> {
        self.roles.get(&role).map(Arc::clone)
    }

    /// One role of each endpoint that roles use, with all roles that use it.
    pub fn by_endpoint(&self) -> Vec<(Arc<RoleModel>, Vec<Role>)> {
        let mut found: Vec<(Arc<RoleModel>, Vec<Role>)> = Vec::new();
        for (role, model) in &self.roles {
            let name = model.endpoint().name();
            match found
                .iter_mut()
                .find(|(other, _)| other.endpoint().name() == name)
            {
                Some((_, roles)) => roles.push(*role),
                None => found.push((Arc::clone(model), vec![*role])),
            }
        }
        found
    }

    /// Endpoints that are left alone because they failed.
    pub fn away(&self) -> Vec<String> {
        let endpoints = self.by_endpoint().into_iter();
        let away = endpoints.filter(|(model, _)| model.endpoint().is_away());
        away.map(|(model, _)| model.endpoint().name().to_owned())
            .collect()
    }
}

fn role_model(
    role: Role,
    settings: &RoleConfig,
    endpoint: Arc<Endpoint>,
    tokens: &Arc<dyn TokenCounter>,
) -> RoleModel {
    let budget = Budget::new(settings.tokens_per_minute, settings.tokens_per_day);
    RoleModel::new(role, endpoint, budget, Arc::clone(tokens))
}

fn open_endpoint(
    config: &ChatConfig,
    name: &str,
    observer: &SharedObserver,
) -> Result<Option<Arc<Endpoint>>> {
    if name.is_empty() {
        return Ok(None);
    }
    let Some(endpoint) = config.endpoint(name)? else {
        return Ok(None);
    };
    let model = open_model(name, &endpoint)?;
    Ok(Some(Arc::new(Endpoint::new(
        name, model, endpoint, observer,
    ))))
}

fn open_model(name: &str, config: &EndpointConfig) -> Result<Arc<dyn ChatModel>> {
    Ok(match config.kind {
        EndpointKind::Openai => Arc::new(OpenAiModel::new(name, config.clone())?),
        EndpointKind::Scripted => Arc::new(ScriptedModel::open(
            name,
            &config.model,
            Path::new(&config.script_file),
            config.context_tokens,
        )?),
    })
}
