//! `tributary lexicon review --by-model`: the model of the role `judge` says of candidates whether
//! they are terms. It is one reviewer among others, and people go before it.

use std::sync::Arc;

use anyhow::Result;
use futures::StreamExt;
use tributary_eval::terms::{BATCH, TermJudge};
use tributary_models::chat::{ChatError, ChatModels, Reason, Role, SharedObserver, Unobserved};
use tributary_models::prompts::Prompts;
use tributary_models::tokens::estimate::EstimatedTokens;
use tributary_schemas::{Error, ErrorKind};
use tributary_taxonomy::discovery::{Candidate, Decision, Verdict};

use super::review::{Session, now_ms};
use crate::app::{self, PROMPT_SETS};
use crate::config::Config;
use crate::print;

/// The model that the configuration names.
pub fn judge(config: &Config) -> Result<TermJudge> {
    let observer: SharedObserver = Arc::new(Unobserved);
    let tokens = Arc::new(EstimatedTokens) as Arc<_>;
    let chat = ChatModels::open(&config.models.chat, &tokens, &observer)?;
    let model = chat.role(Role::Judge).ok_or_else(|| {
        Error::new(ErrorKind::Invalid, "no model has the role `judge`").with_hint(
            "set models.chat.endpoint.url and .model to any OpenAI-compatible server, or name another endpoint in \
             models.chat.roles.judge.endpoint; without --by-model you are asked",
        )
    })?;
    let prompts = Prompts::load(&PROMPT_SETS, config.models.chat.prompts_folder())?;
    Ok(TermJudge {
        model,
        prompts: Arc::new(prompts),
    })
}

/// Asks about all of a queue, as many at a time as the endpoint takes; what was said is on the disk
/// before it counts. Says how many candidates got no verdict.
pub fn ask(judge: &TermJudge, queue: &[&Candidate], session: &mut Session) -> Result<usize> {
    let bar = print::progress_bar(queue.len() as u64, "judging");
    let asking = async {
        let calls = queue
            .chunks(BATCH)
            .map(async |batch| (batch, judge.judge(batch).await));
        let parallel = judge.model.endpoint().parallel();
        let mut replies = futures::stream::iter(calls).buffer_unordered(parallel);
        let mut without = 0;
        while let Some((batch, reply)) = replies.next().await {
            match reply {
                Ok(said) => session.take(&verdicts(judge, batch, &said))?,
                Err(failed) if is_of_the_batch(&failed) => {
                    without += batch.len();
                    bar.suspend(|| {
                        print::note(&format!("no verdict on {}: {failed}", named(batch)))
                    });
                }
                Err(failed) => return Err(anyhow::Error::from(Error::from(failed))),
            }
            bar.inc(batch.len() as u64);
        }
        Ok(without)
    };
    let asked = app::block_on(asking);
    bar.finish_and_clear();
    asked
}

fn verdicts(judge: &TermJudge, batch: &[&Candidate], said: &[bool]) -> Vec<Verdict> {
    let verdict = |(candidate, is_term): (&&Candidate, &bool)| Verdict {
        term: candidate.term.clone(),
        decision: match is_term {
            true => Decision::Yes,
            false => Decision::No,
        },
        reviewer: judge.reviewer(),
        at_ms: now_ms(),
    };
    batch.iter().zip(said).map(verdict).collect()
}

/// Whether others may fare better.
fn is_of_the_batch(failed: &ChatError) -> bool {
    matches!(
        failed.reason,
        Reason::Empty | Reason::TooLong | Reason::CutOff | Reason::Malformed | Reason::TooLarge
    )
}

fn named(batch: &[&Candidate]) -> String {
    let terms: Vec<&str> = batch.iter().map(|one| one.term.as_str()).collect();
    terms.join(", ")
}
