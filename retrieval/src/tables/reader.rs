//! Chooses tables, keeps their databases, and runs statements on them where blocking is allowed, a
//! bounded number at a time.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;
use tributary_schemas::search::Hit;
use tributary_schemas::table_query::{DocumentTable, RowOrigin, TableList};
use tributary_schemas::{Error, ErrorKind, Filter};
use tributary_store::blobs::Blobs;

use super::choosing::{self, Candidate};
use super::database::{self, Cache, Database, StoredTable};
use super::documents::{TableDocument, TableSearch};
use super::run::{self, Attached, Rows};
use super::statement::{self, Readable};
use super::{Refused, TableConfig, words};
use crate::access::Principal;
use crate::error::SearchError;
use crate::retriever::Retriever;

/// Tables of a statement at most, those of the best table's document among them.
const MOST_TABLES: usize = 8;
/// Characters of a table's name.
const LONGEST_NAME: usize = 60;
/// What is named in `degraded` where tables that may be asked are not.
pub const LEFT_OUT: &str = "tables_left_out";

/// Reads tables of documents.
pub struct TableReader {
    retriever: Arc<Retriever>,
    blobs: Blobs,
    cache: Arc<Mutex<Cache>>,
    permits: Arc<Semaphore>,
    config: TableConfig,
}

/// The tables that a question is asked of.
#[derive(Default)]
pub struct Chosen {
    /// Best first.
    pub tables: Vec<DocumentTable>,
    /// What the search found of the document of each.
    pub hits: Vec<Option<Hit>>,
    /// What was done in a lesser way.
    pub degraded: Vec<String>,
    readable: Vec<Readable>,
    databases: Vec<Attached>,
    first_rows: Vec<Option<u64>>,
}

/// A statement that ran.
pub struct Ran {
    /// As it ran.
    pub sql: String,
    /// Positions of the tables that it read.
    pub reads: Vec<usize>,
    pub rows: Rows,
    /// Where each row comes from; empty where it cannot be told.
    pub origins: Vec<Vec<RowOrigin>>,
}

/// A document whose database is open.
struct Opened {
    document: TableDocument,
    database: Arc<Database>,
}

/// A table of one of them.
struct Place {
    document: usize,
    table: usize,
    name: String,
}

impl TableReader {
    /// Reads what is kept in `blobs` of the documents that the retriever finds.
    pub fn new(retriever: Arc<Retriever>, blobs: Blobs, config: TableConfig) -> Self {
        let permits = config.statements_at_once.min(Semaphore::MAX_PERMITS);
        Self {
            retriever,
            blobs,
            cache: Arc::default(),
            permits: Arc::new(Semaphore::new(permits)),
            config,
        }
    }

    /// The tables that fit a question best, of documents that pass the filter.
    pub async fn choose(
        &self,
        question: &str,
        wishes: &Filter,
        principal: &Principal,
    ) -> Result<Chosen, SearchError> {
        let found = self
            .retriever
            .table_documents(TableSearch {
                question,
                wishes,
                principal,
                limit: self.config.candidates,
                looked_through: self.config.looked_through,
            })
            .await?;
        let mut degraded = found.degraded;
        let (opened, left_out) = self.open_all(found.documents).await?;
        if !left_out.is_empty() {
            degraded.push(LEFT_OUT.to_owned());
        }
        let (question, most) = (question.to_owned(), self.config.tables);
        let choosing = move || Chosen {
            degraded,
            ..chosen(&question, &opened, most)
        };
        blocking(choosing).await
    }

    /// Tables of documents that pass the filter, by document id.
    pub async fn list(
        &self,
        wishes: &Filter,
        principal: &Principal,
        after: Option<&str>,
        limit: usize,
    ) -> Result<TableList, SearchError> {
        let filter = self.retriever.filter(wishes, principal)?;
        let through = self.config.looked_through.max(limit);
        let found = self
            .retriever
            .list_tables(&filter, after, limit, through)
            .await?;
        let next = found.next;
        let (opened, left_out) = self.open_all(found.documents).await?;
        let tables = blocking(move || {
            let places = places(&opened);
            places
                .iter()
                .filter_map(|place| described(place, &opened))
                .collect()
        });
        Ok(TableList {
            tables: tables.await?,
            left_out,
            next,
        })
    }

    /// The databases of the documents, and the ids of those that cannot be asked, which the log
    /// explains.
    async fn open_all(
        &self,
        documents: Vec<TableDocument>,
    ) -> Result<(Vec<Opened>, Vec<String>), SearchError> {
        let (mut opened, mut left_out) = (Vec::new(), Vec::new());
        for document in documents {
            match self.open(&document.blob).await? {
                Ok(database) => opened.push(Opened { document, database }),
                Err(why) => {
                    let id = document.header.document_id;
                    tracing::warn!(document = id, why, "tables are left out");
                    left_out.push(id);
                }
            }
        }
        Ok((opened, left_out))
    }

    async fn open(&self, blob: &str) -> Result<Result<Arc<Database>, String>, SearchError> {
        let kept = lock(&self.cache).get(blob);
        if let Some(database) = kept {
            return Ok(Ok(database));
        }
        let bytes = match self.blobs.get(blob).await {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::Unavailable => return Err(error.into()),
            Err(error) => return Ok(Err(error.to_string())),
        };
        let (most, size) = (self.config.maximum_database_bytes, bytes.len());
        if size > most {
            return Ok(Err(format!("{size} bytes, more than {most}")));
        }
        let (config, cache, blob) = (self.config, Arc::clone(&self.cache), blob.to_owned());
        let _permit = self.permit().await?;
        let opening = move || {
            let database = Arc::new(database::open(&bytes, &config)?);
            lock(&cache).put(&blob, &database, config.cache_bytes);
            Ok(database)
        };
        blocking(opening).await
    }

    async fn permit(&self) -> Result<tokio::sync::OwnedSemaphorePermit, SearchError> {
        let closed = |_| Error::new(ErrorKind::Internal, "the queue of statements is closed");
        let permit = Arc::clone(&self.permits).acquire_owned();
        Ok(permit.await.map_err(closed)?)
    }

    /// Runs a statement over the chosen tables. Dropping the future ends it.
    pub async fn run(
        &self,
        sql: &str,
        chosen: &Chosen,
        maximum_rows: usize,
    ) -> Result<Result<Ran, Refused>, SearchError> {
        let permit = self.permit().await?;
        let given_up = GivesUp(Arc::new(AtomicBool::new(false)));
        let ends = Arc::clone(&given_up.0);
        let (sql, readable) = (sql.to_owned(), chosen.readable.clone());
        let (databases, first_rows) = (chosen.databases.clone(), chosen.first_rows.clone());
        let config = TableConfig {
            maximum_rows: maximum_rows.min(self.config.maximum_rows),
            ..self.config
        };
        let running = move || {
            // It goes on until the statement has ended, also where nobody waits for it.
            let _permit = permit;
            let prepared = statement::prepare(&sql, &readable)?;
            let read = databases_read(&prepared.reads, &readable, databases);
            let rows = run::run(&prepared, &readable, &read, &config, &ends)?;
            let origins = origins(&prepared.origins, &rows, &first_rows);
            Ok(Ran {
                sql: prepared.sql,
                reads: prepared.reads,
                rows,
                origins,
            })
        };
        blocking(running).await
    }
}

/// Tells a statement that nobody waits for it any more.
struct GivesUp(Arc<AtomicBool>);

impl Drop for GivesUp {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Only what is read is copied.
fn databases_read(
    reads: &[usize],
    readable: &[Readable],
    databases: Vec<Attached>,
) -> Vec<Attached> {
    let names: HashSet<&str> = reads
        .iter()
        .filter_map(|at| Some(readable.get(*at)?.database.as_str()))
        .collect();
    let mut databases = databases;
    databases.retain(|(name, _)| names.contains(name.as_str()));
    databases
}

fn origins(tables: &[usize], rows: &Rows, first_rows: &[Option<u64>]) -> Vec<Vec<RowOrigin>> {
    let origin = |(table, row): (&usize, &Option<i64>)| {
        let row = u64::try_from((*row)?).ok()?;
        let first = first_rows.get(*table).copied().flatten();
        Some(RowOrigin {
            table: *table,
            row,
            sheet_row: first.map(|first| first + row.saturating_sub(1)),
        })
    };
    let of_row =
        |numbers: &Vec<Option<i64>>| tables.iter().zip(numbers).filter_map(origin).collect();
    rows.origins.iter().map(of_row).collect()
}

fn chosen(question: &str, opened: &[Opened], most: usize) -> Chosen {
    let places = places(opened);
    let candidates: Vec<Candidate<'_>> = places
        .iter()
        .filter_map(|place| {
            let opened = opened.get(place.document)?;
            let table = opened.database.tables.get(place.table)?;
            Some(Candidate {
                name: words::words(&place.name),
                headings: &table.headings,
                words: &table.words,
                nearness: opened.document.nearness(),
            })
        })
        .collect();
    let order = choosing::order(question, &candidates);
    let mut picked: Vec<&Place> = Vec::new();
    let ordered: Vec<&Place> = order.iter().filter_map(|at| places.get(*at)).collect();
    picked.extend(ordered.iter().take(most));
    // The other sheets of the best table's document, so that they can be joined.
    let best = ordered.first().map(|place| place.document);
    let others = ordered.iter().skip(most);
    let siblings = others.filter(|place| Some(place.document) == best);
    picked.extend(siblings.take(MOST_TABLES.saturating_sub(picked.len())));
    let mut chosen = Chosen::default();
    for place in picked {
        add(&mut chosen, place, opened);
    }
    chosen
}

fn add(chosen: &mut Chosen, place: &Place, opened: &[Opened]) {
    let Some(described) = described(place, opened) else {
        return;
    };
    let (Some(from), database) = (opened.get(place.document), format!("d{}", place.document))
    else {
        return;
    };
    let Some(table) = from.database.tables.get(place.table) else {
        return;
    };
    let readable = Readable::new(&place.name, &database, table);
    chosen.readable.push(readable);
    if !chosen.databases.iter().any(|(name, _)| *name == database) {
        let kept = Arc::clone(&from.database);
        chosen.databases.push((database, kept));
    }
    chosen.first_rows.push(table.first_row);
    chosen.hits.push(from.document.hit.clone());
    chosen.tables.push(described);
}

/// All tables with names that are unique among them.
fn places(opened: &[Opened]) -> Vec<Place> {
    let mut taken: HashSet<String> = HashSet::new();
    let mut places = Vec::new();
    for (document, one) in opened.iter().enumerate() {
        let tables = &one.database.tables;
        for (table, stored) in tables.iter().enumerate() {
            let wanted = wanted_name(stored, &one.document, tables.len() == 1);
            let mut name = wanted.clone();
            let mut number = 2;
            while !taken.insert(name.to_lowercase()) {
                name = format!("{wanted} ({number})");
                number += 1;
            }
            places.push(Place {
                document,
                table,
                name,
            });
        }
    }
    places
}

/// The title above it; else the name of its file, and of its sheet where the file has more.
fn wanted_name(table: &StoredTable, document: &TableDocument, is_alone: bool) -> String {
    let header = &document.header;
    let file = header.source_path.rsplit('/').next().unwrap_or("");
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let stem = if stem.is_empty() { &header.title } else { stem };
    let name = if !table.title.is_empty() {
        table.title.clone()
    } else if is_alone {
        stem.to_owned()
    } else {
        format!("{stem} {}", table.stored)
    };
    let shown = name.chars().filter(|one| !one.is_control() && *one != '"');
    let name: String = shown.take(LONGEST_NAME).collect();
    match name.trim() {
        "" => "table".to_owned(),
        name => name.to_owned(),
    }
}

fn described(place: &Place, opened: &[Opened]) -> Option<DocumentTable> {
    let from = opened.get(place.document)?;
    let table = from.database.tables.get(place.table)?;
    let header = &from.document.header;
    Some(DocumentTable {
        name: place.name.clone(),
        name_in_document: table.stored.clone(),
        document_id: header.document_id.clone(),
        version: header.version,
        source: header.source.clone(),
        source_path: header.source_path.clone(),
        document_title: header.title.clone(),
        title: table.title.clone(),
        sheet: table.sheet.clone(),
        range: table.range.clone(),
        rows: table.rows,
        columns: table.columns.clone(),
        used: false,
    })
}

fn lock(cache: &Mutex<Cache>) -> std::sync::MutexGuard<'_, Cache> {
    cache.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, SearchError> {
    let failed = |error| {
        Error::new(
            ErrorKind::Internal,
            format!("asking tables failed: {error}"),
        )
    };
    Ok(tokio::task::spawn_blocking(work).await.map_err(failed)?)
}
