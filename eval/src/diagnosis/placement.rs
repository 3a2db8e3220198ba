//! What became of everything that answers a question before any question is asked: which chunks
//! carry it, or which step of the way in lost it.

use std::collections::{BTreeMap, HashMap, HashSet};

use anyhow::Result;
use tributary_schemas::{ChunkId, ChunkKind, CleanDocument, DocumentHeader, Topic};
use tributary_store::event_log::topics::Topics;
use tributary_store::event_log::{StoredRecord, message};
use tributary_store::manifest::table::DocumentRow;
use tributary_store::search_index::{IndexedDocument, SearchIndex};

use super::Step;
use crate::evidence::{holds, normalised};
use crate::runner::Pipeline;
use crate::set::Question;

/// Documents, or chunks, that are read at once.
const AT_ONCE: usize = 500;

/// Something that a question needs: a span, or a whole document where the set names no spans.
#[derive(Clone, Debug)]
pub struct Target {
    /// Document of the set.
    pub document: String,
    /// As the set has it.
    pub quote: Option<String>,
    /// The quote as texts are searched for it.
    pub normalised: Option<String>,
    /// Where it is.
    pub placement: Placement,
}

/// Where a target is.
#[derive(Clone, Debug)]
pub enum Placement {
    /// Chunks of an indexed document carry it.
    Carried {
        /// Its document.
        header: Box<DocumentHeader>,
        /// At least one.
        carriers: Vec<Carrier>,
    },
    /// It is in no chunk.
    Lost {
        /// What lost it.
        step: Step,
        /// How, in words.
        why: String,
    },
}

/// A chunk that carries a target.
#[derive(Clone, Copy, Debug)]
pub struct Carrier {
    /// Chunk.
    pub chunk_id: ChunkId,
    /// What it is made of.
    pub kind: ChunkKind,
}

/// A chunk with its text, normalised.
type Text = (Carrier, String);

/// Of each question its targets: its spans, or its relevant documents by id where it has none.
pub async fn place(questions: &[Question], pipeline: &Pipeline<'_>) -> Result<Vec<Vec<Target>>> {
    let mut targets: Vec<Vec<Target>> = questions.iter().map(targets_of).collect();
    let mut by_document: BTreeMap<String, Vec<&mut Target>> = BTreeMap::new();
    for target in targets.iter_mut().flatten() {
        let document = target.document.clone();
        by_document.entry(document).or_default().push(target);
    }
    let mut not_in_a_chunk = Vec::new();
    for (document, targets) in by_document {
        let found = Indexed::read(&document, pipeline).await?;
        for target in targets {
            target.placement = found.placement(target);
            if found.is_there && matches!(target.placement, Placement::Lost { .. }) {
                not_in_a_chunk.push((target, found.header.partial.clone()));
            }
        }
    }
    blame_conversion_or_chunking(not_in_a_chunk, &pipeline.topics).await?;
    Ok(targets)
}

fn targets_of(question: &Question) -> Vec<Target> {
    let target = |document: &String, quote: Option<&String>| Target {
        document: document.clone(),
        quote: quote.cloned(),
        normalised: quote.map(|quote| normalised(quote)),
        placement: Placement::Lost {
            step: Step::NotIndexed,
            why: String::new(),
        },
    };
    let spans = question.case.evidence.iter();
    let spans: Vec<Target> = spans
        .map(|span| target(&span.document, Some(&span.quote)))
        .collect();
    if !spans.is_empty() {
        return spans;
    }
    let mut documents: Vec<&String> = question.relevant.iter().collect();
    documents.sort();
    documents.into_iter().map(|id| target(id, None)).collect()
}

/// What the index has of a document.
struct Indexed {
    header: DocumentHeader,
    /// Whether it is indexed, perhaps with no chunk.
    is_there: bool,
    /// Why it carries nothing.
    why: String,
    texts: Vec<Text>,
}

impl Indexed {
    async fn read(document_id: &str, pipeline: &Pipeline<'_>) -> Result<Self> {
        let ids = [document_id.to_owned()];
        let stored = pipeline.index.documents(None, &ids).await?.pop().flatten();
        let row = pipeline.documents.get_many(&ids).pop().flatten();
        let Some(own) = stored.filter(|own| !own.deleted) else {
            return Ok(Self {
                header: DocumentHeader::default(),
                is_there: false,
                why: row.map_or("it was never published".to_owned(), |row| state(&row)),
                texts: Vec::new(),
            });
        };
        let aside = own.document.superseded_by.as_ref();
        let chunk_ids = chunks_of(&own, pipeline.index).await?;
        Ok(Self {
            is_there: aside.is_none(),
            why: match aside {
                Some(newer) => format!("it steps aside for its newer edition `{newer}`"),
                None => "it is indexed without text".to_owned(),
            },
            header: own.document,
            texts: texts(&chunk_ids, pipeline.index).await?,
        })
    }

    fn placement(&self, target: &Target) -> Placement {
        let carries = |(_, text): &&Text| match &target.normalised {
            Some(quote) => holds(text, quote),
            None => true,
        };
        let carriers: Vec<Carrier> = self
            .texts
            .iter()
            .filter(carries)
            .map(|(carrier, _)| *carrier)
            .collect();
        if !carriers.is_empty() {
            return Placement::Carried {
                header: Box::new(self.header.clone()),
                carriers,
            };
        }
        Placement::Lost {
            step: Step::NotIndexed,
            why: self.why.clone(),
        }
    }
}

/// The last that is known of a document that is not indexed.
fn state(row: &DocumentRow) -> String {
    let state = row.latest.state.as_str();
    match &row.latest.reason {
        Some(reason) => format!("{state}: {reason}"),
        None => state.to_owned(),
    }
}

/// Its chunks, or those of the exact duplicate that stands for it.
async fn chunks_of(own: &IndexedDocument, index: &dyn SearchIndex) -> Result<Vec<ChunkId>> {
    let Some(canonical) = &own.document.duplicate_of else {
        return Ok(own.chunk_ids.clone());
    };
    let canonical = std::slice::from_ref(canonical);
    let stored = index.documents(None, canonical).await?.pop().flatten();
    Ok(stored.map(|stored| stored.chunk_ids).unwrap_or_default())
}

async fn texts(chunk_ids: &[ChunkId], index: &dyn SearchIndex) -> Result<Vec<Text>> {
    let mut texts = Vec::with_capacity(chunk_ids.len());
    for batch in chunk_ids.chunks(AT_ONCE) {
        let stored = index.fetch(None, batch).await?;
        texts.extend(stored.into_iter().flatten().map(|stored| {
            let carrier = Carrier {
                chunk_id: stored.chunk.chunk_id,
                kind: stored.chunk.kind,
            };
            (carrier, normalised(&stored.chunk.text))
        }));
    }
    Ok(texts)
}

/// A target that no chunk of an indexed document carries, and what could not be read of that.
type NotCarried<'a> = (&'a mut Target, Option<String>);

/// Says of quotes that no chunk carries whether the converted document has them.
async fn blame_conversion_or_chunking(lost: Vec<NotCarried<'_>>, topics: &Topics) -> Result<()> {
    let quoted: Vec<NotCarried> = lost
        .into_iter()
        .filter(|(target, _)| target.quote.is_some())
        .collect();
    let ids = quoted.iter().map(|(target, _)| target.document.clone());
    let converted = converted(&ids.collect(), topics).await?;
    for (target, partial) in quoted {
        let text = converted.get(&target.document);
        let quote = target.normalised.as_deref().unwrap_or_default();
        target.placement = if text.is_some_and(|text| holds(text, quote)) {
            Placement::Lost {
                step: Step::Chunking,
                why: "the converted document has it, no single chunk does".to_owned(),
            }
        } else {
            let partial = partial.map(|partial| format!(": {partial}"));
            let partial = partial.unwrap_or_default();
            Placement::Lost {
                step: Step::Conversion,
                why: format!("the converted document does not have it{partial}"),
            }
        };
    }
    Ok(())
}

/// Normalised texts of the newest versions of these documents, as conversion and cleaning left
/// them.
async fn converted(ids: &HashSet<String>, topics: &Topics) -> Result<HashMap<String, String>> {
    let mut newest: HashMap<String, StoredRecord> = HashMap::new();
    if !ids.is_empty() {
        topics
            .scan(Topic::DocumentsClean, |stored| {
                let id = message::document_id(&stored.record).ok();
                if let Some(id) = id.filter(|id| ids.contains(*id)) {
                    newest.insert(id.to_owned(), stored.clone());
                }
            })
            .await?;
    }
    let mut texts = HashMap::with_capacity(newest.len());
    for (id, stored) in newest {
        let record = topics.redeem(stored.record).await?;
        let clean: Option<CleanDocument> = message::decode(&record)?;
        texts.extend(clean.map(|clean| (id, normalised(&clean.markdown))));
    }
    Ok(texts)
}
