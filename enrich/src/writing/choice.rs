//! Which model writes, as a generation of the index remembers it.

use serde::{Deserialize, Serialize};
use tributary_models::chat::ChatConfig;
use tributary_models::prompts::Prompts;
use tributary_schemas::Result;

use super::WrittenKind;
use crate::prompts::{PROMPTS, prompt_ids};

/// Who writes summaries or descriptions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriterChoice {
    /// The model as its server names it.
    pub model: String,
    /// What it is asked with, see [`tributary_models::prompts::Prompt::id`].
    pub prompts: Vec<String>,
}

impl WriterChoice {
    /// The model of a kind of text with its prompts, if it has one.
    pub(crate) fn of_today(chat: &ChatConfig, kind: WrittenKind) -> Result<Option<Self>> {
        let Some(role) = chat.roles.get(&kind.role()) else {
            return Ok(None);
        };
        let endpoint = match role.endpoint.as_str() {
            "" => None,
            name => chat.endpoint(name)?,
        };
        let Some(endpoint) = endpoint else {
            return Ok(None);
        };
        let all = Prompts::load_own(&[&PROMPTS], chat.prompts_folder())?;
        Ok(Some(Self {
            model: endpoint.model,
            prompts: prompt_ids(&all, kind.prompts()),
        }))
    }
}
