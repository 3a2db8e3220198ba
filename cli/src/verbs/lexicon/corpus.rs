//! Reads the documents that can be found, one after the other, as the server lists them.

use anyhow::Result;
use tributary_query_api::http::document_list::DocumentPage;
use tributary_query_api::http::documents::DocumentDetail;
use tributary_schemas::search::Passage;

use crate::args::Discover;
use crate::client::{Client, segment};
use crate::print;

/// Documents asked for at once.
const PAGE: usize = 500;

/// What was read of a corpus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// Documents that meet the conditions.
    pub documents: usize,
    /// Documents that have more passages than the server gives of one: the rest was not read.
    pub partly: usize,
}

/// Gives the passages of one document after the other to `take`, by source and path. Source code
/// and copies of other documents are left out.
pub fn read(client: &Client, wanted: &Discover, mut take: impl FnMut(&[Passage])) -> Result<Read> {
    let conditions = conditions(wanted);
    let bar = print::progress_bar(0, "documents");
    let mut read = Read::default();
    let mut after = String::new();
    loop {
        let path = format!("/v1/documents?limit={PAGE}&searchable=true{conditions}{after}");
        let page: DocumentPage = client.get(&path)?;
        bar.set_length(page.total);
        for row in &page.documents {
            read.documents += 1;
            read_one(client, &row.last_attempt.document_id, &mut read, &mut take)?;
            bar.inc(1);
        }
        match page.next {
            Some(next) => after = format!("&after={}", segment(&next)),
            None => break,
        }
    }
    bar.finish_and_clear();
    Ok(read)
}

fn conditions(wanted: &Discover) -> String {
    let given = [("source", &wanted.source), ("knowledge_set", &wanted.set)];
    let parameters = given
        .into_iter()
        .filter_map(|(name, value)| Some(format!("&{name}={}", segment(value.as_deref()?))));
    parameters.collect()
}

/// One that was deleted in the meantime is none.
fn read_one(
    client: &Client,
    document_id: &str,
    read: &mut Read,
    take: &mut impl FnMut(&[Passage]),
) -> Result<()> {
    let path = format!("/v1/documents/{}?passages=true", segment(document_id));
    let Some(detail) = client.get_if_there::<DocumentDetail>(&path)? else {
        return Ok(());
    };
    let searchable = detail.summary.searchable.as_ref();
    let chunks = searchable.map_or(0, |searchable| searchable.chunks as usize);
    if detail.duplicate_of.is_some() {
        return Ok(());
    }
    let mut passages = detail.passages.unwrap_or_default();
    read.partly += usize::from(passages.len() < chunks);
    passages.retain(|passage| passage.language.is_none());
    take(&passages);
    Ok(())
}
