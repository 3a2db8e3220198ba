//! The passages that questions are made from, as the server has them.

use std::collections::BTreeMap;

use anyhow::Result;
use tributary_eval::training::{TrainingPassage, readable_characters};
use tributary_query_api::http::document_list::DocumentPage;
use tributary_query_api::http::document_summary::DocumentSummary;
use tributary_query_api::http::documents::DocumentDetail;
use tributary_schemas::search::Passage;

use crate::args::GenerateTraining;
use crate::client::{Client, segment};
use crate::print;

/// Documents asked for at once.
const PAGE: usize = 500;

/// What was read.
#[derive(Default)]
pub struct Read {
    /// In the order of documents and chunks; a chunk that several documents share once.
    pub passages: Vec<TrainingPassage>,
    /// Documents that they are of.
    pub documents: usize,
    /// Why others were left out → how many.
    pub left_out: BTreeMap<&'static str, usize>,
}

/// Reads all passages of the documents that are wanted.
pub fn read(client: &Client, wanted: &GenerateTraining) -> Result<Read> {
    let mut read = Read::default();
    let documents = documents(client, wanted)?;
    let bar = print::progress_bar(documents.len() as u64, "reading");
    for document in &documents {
        read.add(client, document, wanted.shortest)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(read)
}

/// All documents that a search can find.
fn documents(client: &Client, wanted: &GenerateTraining) -> Result<Vec<DocumentSummary>> {
    let conditions: String = [
        ("source", &wanted.source),
        ("knowledge_set", &wanted.set),
        ("tag", &wanted.tag),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some(format!("&{name}={}", segment(value.as_deref()?))))
    .collect();
    let mut documents = Vec::new();
    let mut after = String::new();
    loop {
        let path = format!("/v1/documents?limit={PAGE}&searchable=true&sort=id{conditions}{after}");
        let page: DocumentPage = client.get(&path)?;
        documents.extend(page.documents);
        match page.next {
            Some(next) => after = format!("&after={}", segment(&next)),
            None => return Ok(documents),
        }
    }
}

impl Read {
    fn add(&mut self, client: &Client, summary: &DocumentSummary, shortest: usize) -> Result<()> {
        let id = &summary.last_attempt.document_id;
        let path = format!("/v1/documents/{}?passages=true", segment(id));
        let Some(detail) = client.get_if_there::<DocumentDetail>(&path)? else {
            self.leave_out("documents that went while they were read", 1);
            return Ok(());
        };
        if detail.duplicate_of.is_some() {
            self.leave_out("exact duplicates of other documents", 1);
            return Ok(());
        }
        let family: Vec<String> = detail
            .family
            .into_iter()
            .map(|one| one.document_id)
            .collect();
        let passages = detail.passages.unwrap_or_default();
        let all = summary
            .searchable
            .as_ref()
            .map_or(0, |found| found.chunks as usize);
        self.leave_out(
            "passages behind the server's page (query_api.maximum_page)",
            all.saturating_sub(passages.len()),
        );
        self.documents += 1;
        for passage in passages {
            let is_code = passage.language.is_some();
            let is_short = readable_characters(&passage.text) < shortest;
            match (is_code, is_short) {
                (true, _) => self.leave_out("passages of source code", 1),
                (_, true) => self.leave_out("short passages", 1),
                _ => self
                    .passages
                    .push(training_passage(passage, id, &family, summary)),
            }
        }
        Ok(())
    }

    fn leave_out(&mut self, why: &'static str, count: usize) {
        if count > 0 {
            *self.left_out.entry(why).or_default() += count;
        }
    }
}

fn training_passage(
    passage: Passage,
    document_id: &str,
    family: &[String],
    summary: &DocumentSummary,
) -> TrainingPassage {
    TrainingPassage {
        chunk_id: passage.chunk_id,
        document_id: document_id.to_owned(),
        family: family.to_vec(),
        title: summary.last_attempt.title.clone(),
        section_path: passage.section_path,
        text: passage.text,
    }
}
