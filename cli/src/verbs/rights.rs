//! `tributary rights`: what is said of who may see which document.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;
use serde_json::json;
use tributary_query_api::http::document_list::DocumentPage;
use tributary_schemas::{DocumentRights, DocumentState, State};

use crate::args::{Global, Rights, Service};
use crate::client::{Client, segment};
use crate::config::Config;
use crate::print::{self, Outcome};

/// Documents asked for at once.
const PAGE: usize = 500;

/// Documents of a source, deleted ones aside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Counts {
    /// Named groups or users, or everybody, in the version that is on its way if there is one.
    stated: u64,
    /// Nobody said anything: `documents_without_access` decides.
    unstated: u64,
    /// On the way or given up without a word of who may see them, or reported before there were
    /// rights: readers are not shown them in lists until they are published or indexed again.
    undecided: u64,
}

/// Runs the verb.
pub fn run(global: &Global, config: &Config, verb: Rights) -> Result<Outcome> {
    let Rights::Status { output } = verb;
    let client = Client::connect(global, config, &[Service::Query])?;
    let sources = counted(&client)?;
    print::result(output, &json!({ "sources": sources }), || text(&sources))?;
    Ok(Outcome::Done)
}

fn counted(client: &Client) -> Result<BTreeMap<String, Counts>> {
    let mut sources = BTreeMap::<String, Counts>::new();
    let bar = print::spinner("looking at documents");
    let mut next: Option<String> = None;
    loop {
        let after = next.as_deref().map(segment);
        let after = after.map_or_else(String::new, |after| format!("&after={after}"));
        let page: DocumentPage = client.get(&format!("/v1/documents?limit={PAGE}{after}"))?;
        for document in page.documents {
            let state = document.last_attempt;
            if state.state != State::Deleted {
                let counts = sources.entry(state.source.clone()).or_default();
                count(counts, &state);
            }
        }
        next = page.next;
        if next.is_none() {
            break;
        }
    }
    bar.finish_and_clear();
    Ok(sources)
}

fn count(counts: &mut Counts, state: &DocumentState) {
    let counted = match (state.newest_rights(), &state.rights) {
        (
            Some(DocumentRights {
                access: Some(_), ..
            }),
            _,
        ) => &mut counts.stated,
        (_, Some(_)) => &mut counts.unstated,
        // The profile of its source may still say something.
        (_, None) => &mut counts.undecided,
    };
    *counted += 1;
}

fn text(sources: &BTreeMap<String, Counts>) -> String {
    if sources.is_empty() {
        return "no documents".to_owned();
    }
    let line = |(source, counts): (&String, &Counts)| {
        format!(
            "{source}: {} say who may see them, {} say nothing, {} undecided",
            counts.stated, counts.unstated, counts.undecided
        )
    };
    let lines: Vec<String> = sources.iter().map(line).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use tributary_schemas::{Access, DocumentHeader};
    use tributary_store::manifest::report;

    use super::*;

    #[test]
    fn documents_are_counted_by_what_is_said_of_them() {
        let mut counts = Counts::default();
        let stated = Some(DocumentRights {
            access: Some(Access::default()),
            ..DocumentRights::default()
        });
        let unstated = Some(DocumentRights::default());
        let reported = [
            (stated.clone(), None),
            (unstated.clone(), None),
            // On their way: what was published is all that is known.
            (None, stated),
            (None, unstated),
            (None, None),
        ];
        for (rights, published_rights) in reported {
            let state = DocumentState {
                rights,
                published_rights,
                ..report(&DocumentHeader::default(), State::Accepted, 0)
            };
            count(&mut counts, &state);
        }
        assert_eq!(
            (counts.stated, counts.unstated, counts.undecided),
            (2, 1, 2)
        );
        let sources = BTreeMap::from([("wiki".to_owned(), counts)]);
        assert_eq!(
            text(&sources),
            "wiki: 2 say who may see them, 1 say nothing, 2 undecided"
        );
    }
}
