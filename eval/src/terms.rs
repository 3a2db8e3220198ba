//! Candidates for a lexicon, judged by the model of the role `judge`: several in one call, with the
//! sentences that have them.

use std::sync::Arc;

use tributary_models::chat::structured::ask_checked;
use tributary_models::chat::{ChatError, ChatModel, ChatResult, Reason, RoleModel};
use tributary_models::prompts::{Prompt, Prompts};
use tributary_taxonomy::discovery::Candidate;
use tributary_taxonomy::language::is_chinese;

use crate::prompts::{TERM_VERDICTS, TermVerdicts, TermsToJudge};

/// Candidates of one call: with more of them small models lose count.
pub const BATCH: usize = 10;
/// Sentences that are shown of each.
const SENTENCES: usize = 2;
/// Tokens of the reply for each candidate, JSON around it included.
const TOKENS_PER_TERM: usize = 12;

/// Asks a model.
pub struct TermJudge {
    /// Who judges.
    pub model: Arc<RoleModel>,
    /// Where the prompt is.
    pub prompts: Arc<Prompts>,
}

impl TermJudge {
    /// The name under which its verdicts are kept.
    pub fn reviewer(&self) -> String {
        format!("model:{}", self.model.describe().model)
    }

    /// Whether each candidate is a term of its field, in their order.
    pub async fn judge(&self, candidates: &[&Candidate]) -> ChatResult<Vec<bool>> {
        let terms: Vec<String> = candidates.iter().map(|one| shown(one)).collect();
        let prompt = self.prompt(candidates)?;
        let values = TermsToJudge { terms: &terms };
        let request = prompt.request(values, 20 + terms.len() * TOKENS_PER_TERM);
        let mut request = request.map_err(|error| unrendered(&error))?;
        request.temperature = Some(0.0);
        let check = |reply: &TermVerdicts| match reply.verdicts.len() == terms.len() {
            true => Ok(()),
            false => Err(format!(
                "it has {} verdicts, and there are {} candidates",
                reply.verdicts.len(),
                terms.len()
            )),
        };
        let reply = ask_checked::<TermVerdicts>(self.model.as_ref(), &request, check).await?;
        Ok(reply.value.verdicts)
    }

    /// In the language of most of them.
    fn prompt(&self, candidates: &[&Candidate]) -> ChatResult<Arc<Prompt>> {
        let chinese = candidates.iter().filter(|one| is_chinese(&one.term));
        let language = (chinese.count() * 2 > candidates.len()).then_some("zh");
        let prompt = self.prompts.get(TERM_VERDICTS, language);
        prompt.map_err(|error| unrendered(&error))
    }
}

fn shown(candidate: &Candidate) -> String {
    let sentences = candidate.contexts.iter().take(SENTENCES);
    let lines: Vec<&str> = std::iter::once(&candidate.term)
        .chain(sentences)
        .map(String::as_str)
        .collect();
    lines.join("\n")
}

fn unrendered(error: &tributary_schemas::Error) -> ChatError {
    ChatError::new(Reason::Refused, error.to_string())
}
