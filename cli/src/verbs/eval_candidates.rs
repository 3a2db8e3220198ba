//! `tributary eval candidates --out DIR`: questions of conversations, and of searches that were not
//! answered, as candidates for cases.

use anyhow::Result;
use tributary_eval::candidates::{self, Candidate, MissedQuestion, Written};
use tributary_query_api::http::conversations::ConversationPage;
use tributary_query_api::http::missed_searches::MissedSearchPage;

use super::conversations::{last_turns, path_of};
use crate::args::{EvalCandidates, Global, Service};
use crate::client::{Client, segment};
use crate::config::Config;
use crate::print::{self, Outcome};

/// Reads all conversations that the caller has, and writes what may become a case.
pub fn run(global: &Global, config: &Config, wanted: &EvalCandidates) -> Result<Outcome> {
    let client = Client::connect(global, config, &[Service::Query])?;
    let reading = print::spinner("conversations and searches");
    let mut found = asked(&client)?;
    found.extend(searched(&client, &found)?);
    reading.finish_and_clear();
    client.close()?;
    let written = candidates::write(&found, &wanted.out)?;
    print::result(wanted.output, &written, || describe(&written, found.len()))?;
    Ok(Outcome::Done)
}

/// Candidates among all conversations.
fn asked(client: &Client) -> Result<Vec<Candidate>> {
    let mut found = Vec::new();
    let mut after = String::new();
    loop {
        let page: ConversationPage = client.get(&format!("/v1/conversations?{after}"))?;
        for conversation in page.conversations {
            let turns = last_turns(client, &path_of(&conversation.id)?, usize::MAX)?;
            found.extend(candidates::of_conversation(&turns));
        }
        let Some(next) = page.next else { break };
        after = format!("after={}", segment(&next));
    }
    Ok(found)
}

/// Candidates among the searches that were not answered, beside those that are `known`.
fn searched(client: &Client, known: &[Candidate]) -> Result<Vec<Candidate>> {
    let mut missed = Vec::new();
    let mut after = String::new();
    loop {
        let page: MissedSearchPage = client.get(&format!("/v1/missed-searches?{after}"))?;
        missed.extend(page.missed_searches);
        let Some(next) = page.next else { break };
        after = format!("after={}", segment(&next));
    }
    let questions = missed.iter().map(|one| MissedQuestion {
        id: &one.id,
        query: &one.query,
    });
    Ok(candidates::of_searches(questions, known))
}

fn describe(written: &Written, count: usize) -> String {
    let origins = written.candidates.iter();
    let origins: Vec<String> = origins
        .map(|(origin, count)| format!("{origin:?} {count}").to_lowercase())
        .collect();
    format!(
        "{}: {}; {} of them new\n{}\n{}\nJudge those that are not in the second file, and look through the rest, before you trust them",
        print::count(count, "candidate"),
        origins.join(", "),
        written.added,
        written.queries.display(),
        written.qrels.display()
    )
}
