//! Searches and look-ups. All of them read what the last flush showed, but for manifests asked for
//! by id, which are always the newest.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use elasticsearch::http::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tributary_schemas::search::ScoredChunk;
use tributary_schemas::{
    Chunk, ChunkId, ChunkVectors, Error, ErrorKind, Result, WindowVectors, window_vectors,
};

use super::client::{Body, Client, Request};
use super::errors::{Cause, Failure};
use super::generations::Generation;
use super::mapping::{Entry, LARGEST_WINDOW, manifest_id};
use super::query;
use crate::search_index::{
    IndexedDocument, KeywordQuery, StoredChunk, VectorField, VectorQuery, WindowQuery,
};

/// More hits than wanted that a vector query asks for at least, so that equal scores at the limit
/// are seen.
const SPARE_HITS: usize = 16;
/// How often a chunk is looked for whose document changes meanwhile.
const FETCH_ATTEMPTS: usize = 4;
/// How long the server keeps what a long list is read from.
const KEEP_ALIVE: &str = "2m";
/// Chunks per request that brings stored vectors.
const VECTORS_AT_ONCE: usize = 500;
/// Chunks per request that brings windows: some megabytes where all have many.
const WINDOWED_AT_ONCE: usize = 1000;

/// Reads one generation.
pub struct Reader<'a> {
    /// Way to the cluster.
    pub client: &'a Client,
    /// Where to read.
    pub generation: &'a Generation,
    /// Makes one process's searches go to the same copies of the shards.
    pub preference: &'a str,
    /// See `Config::oversample`.
    pub oversample: f32,
}

/// A manifest with what a later write must prove to have seen.
pub struct StoredEntry {
    /// What it says.
    pub entry: Entry,
    /// Sequence number.
    pub seq_no: i64,
    /// Term of the primary.
    pub primary_term: i64,
}

/// A chunk as it lies in the index.
pub struct ShownRecord {
    /// Id of the record.
    pub id: String,
    /// Document.
    pub document_id: String,
    /// Revision of the document.
    pub revision: String,
    /// Version of the document.
    pub version: u64,
}

#[derive(Deserialize)]
struct Found<S> {
    #[serde(default)]
    pit_id: Option<String>,
    #[serde(default = "Hits::none")]
    hits: Hits<S>,
}

#[derive(Deserialize)]
struct Hits<S> {
    #[serde(default = "Vec::new")]
    hits: Vec<Hit<S>>,
}

impl<S> Hits<S> {
    fn none() -> Self {
        Self { hits: Vec::new() }
    }
}

/// A list that is read page by page.
pub struct Pages {
    pit: String,
    body: Value,
    last: Option<Vec<Value>>,
    is_done: bool,
}

#[derive(Deserialize)]
struct Hit<S> {
    #[serde(default, rename = "_id")]
    id: String,
    #[serde(rename = "_source")]
    source: Option<S>,
    #[serde(default)]
    fields: BTreeMap<String, Vec<Value>>,
    #[serde(default)]
    sort: Vec<Value>,
}

#[derive(Deserialize)]
struct ChunkSource {
    document: String,
    revision: String,
    stored: Chunk,
}

#[derive(Deserialize)]
struct VectorSource {
    chunk: ChunkId,
    coarse: Vec<f32>,
    #[serde(default)]
    fine: Vec<f32>,
    #[serde(default)]
    windows: WindowVectors,
}

impl VectorSource {
    /// Fields that are asked for.
    const FIELDS: [&str; 4] = ["chunk", "coarse", "fine", "windows"];
}

impl From<VectorSource> for ChunkVectors {
    fn from(source: VectorSource) -> Self {
        Self {
            coarse: source.coarse,
            fine: source.fine,
            windows: source.windows,
        }
    }
}

#[derive(Deserialize)]
struct EntrySource {
    entry: Entry,
}

#[derive(Deserialize)]
struct Got<S> {
    docs: Vec<GotDocument<S>>,
}

#[derive(Deserialize)]
struct GotDocument<S> {
    #[serde(default)]
    found: bool,
    #[serde(rename = "_source")]
    source: Option<S>,
    #[serde(rename = "_seq_no")]
    seq_no: Option<i64>,
    #[serde(rename = "_primary_term")]
    primary_term: Option<i64>,
    error: Option<Cause>,
}

impl Reader<'_> {
    /// See `SearchIndex::keyword`.
    pub async fn keyword(&self, query: &KeywordQuery<'_>) -> Result<Vec<ScoredChunk>> {
        if query.limit == 0 || query.tokens.is_empty() {
            return Ok(Vec::new());
        }
        let Some(candidates) = query.candidates else {
            return self
                .best_by_keyword(
                    query::keyword(query.tokens, query::filter(query.filter)),
                    query.limit,
                )
                .await;
        };
        let mut found = Vec::new();
        for part in distinct(candidates).chunks(LARGEST_WINDOW) {
            let body = query::keyword(query.tokens, vec![query::chunks(part)]);
            found.extend(self.best_by_keyword(body, query.limit).await?);
        }
        Ok(merged(found, query.limit))
    }

    /// Scores in pages; further than the server's window only as far as asked for.
    async fn best_by_keyword(&self, query: Value, limit: usize) -> Result<Vec<ScoredChunk>> {
        let what = "cannot search by keyword";
        let body = json!({"query": query, "_source": false, "track_total_hits": false, "sort": [{"_score": "desc"}, {"chunk": "asc"}]});
        if limit <= LARGEST_WINDOW {
            let mut body = body;
            body["size"] = limit.into();
            let found: Found<()> = self.search(what, body, &["hits.hits.sort"]).await?;
            return found
                .hits
                .hits
                .iter()
                .map(|hit| scored(hit, |score| score))
                .collect();
        }
        let hits: Vec<Hit<()>> = self.pages(what, body, limit).await?;
        let mut hits: Vec<ScoredChunk> = hits
            .iter()
            .map(|hit| scored(hit, |score| score))
            .collect::<Result<_>>()?;
        hits.truncate(limit);
        Ok(hits)
    }

    /// See `SearchIndex::vector`.
    pub async fn vector(&self, query: &VectorQuery<'_>) -> Result<Vec<ScoredChunk>> {
        let settings = &self.generation.settings;
        let (field, dimensions) = match query.field {
            VectorField::Fine if !settings.shared_vectors => ("fine", settings.fine_dimensions),
            _ => ("coarse", settings.coarse_dimensions),
        };
        check_dimensions(query.vector, dimensions)?;
        if query.limit == 0 {
            return Ok(Vec::new());
        }
        if let Some(candidates) = query.candidates {
            return self
                .score_by_vector(field, query.vector, distinct(candidates), query.limit)
                .await;
        }
        let mut conditions = query::filter(query.filter);
        let is_distant = query.limit > LARGEST_WINDOW;
        if is_distant || !conditions.is_empty() {
            // What a filter negates lets manifests through, which have no vector; Elasticsearch 9.2
            // finds them in a flat index all the same.
            conditions.push(json!({"exists": {"field": "chunk"}}));
        }
        if is_distant {
            // No server looks so far: all that pass are scored, part by part.
            let passing = self.ids(json!({"bool": {"filter": conditions}})).await?;
            let ids = passing
                .into_iter()
                .map(|(chunk, _)| chunk)
                .collect::<Vec<_>>();
            return self
                .score_by_vector(field, query.vector, distinct(&ids), query.limit)
                .await;
        }
        self.best_by_vector(field, query.vector, query.limit, conditions)
            .await
    }

    /// Looks further while the scores at the limit are equal: which of those come first is decided
    /// by chunk id.
    async fn best_by_vector(
        &self,
        field: &str,
        vector: &[f32],
        limit: usize,
        conditions: Vec<Value>,
    ) -> Result<Vec<ScoredChunk>> {
        let mut wanted = (limit + SPARE_HITS).min(LARGEST_WINDOW);
        loop {
            let oversample = self.generation.vector_index.is_quantised().then(|| {
                self.oversample
                    .min(LARGEST_WINDOW as f32 / wanted as f32)
                    .max(1.0)
            });
            let hits = self
                .nearest(
                    query::nearest(field, vector, wanted, oversample, conditions.clone()),
                    wanted,
                )
                .await?;
            let is_cut_in_a_tie = hits.len() >= wanted
                && hits.get(limit - 1).map(|hit| hit.score) == hits.last().map(|hit| hit.score);
            if !is_cut_in_a_tie || wanted == LARGEST_WINDOW {
                return Ok(merged(hits, limit));
            }
            wanted = (wanted * 4).min(LARGEST_WINDOW);
        }
    }

    async fn score_by_vector(
        &self,
        field: &str,
        vector: &[f32],
        candidates: Vec<ChunkId>,
        limit: usize,
    ) -> Result<Vec<ScoredChunk>> {
        let mut found = Vec::new();
        for part in candidates.chunks(LARGEST_WINDOW) {
            let oversample = self.generation.vector_index.is_quantised().then_some(1.0);
            let query = query::nearest(
                field,
                vector,
                part.len(),
                oversample,
                vec![query::chunks(part)],
            );
            found.extend(self.nearest(query, part.len()).await?);
        }
        Ok(merged(found, limit))
    }

    /// See `SearchIndex::nearest_windows`.
    pub async fn nearest_windows(&self, query: &WindowQuery<'_>) -> Result<Vec<ScoredChunk>> {
        let settings = &self.generation.settings;
        if !settings.windows {
            return Ok(Vec::new());
        }
        check_dimensions(query.vector, settings.window_dimensions())?;
        let mut found = Vec::new();
        for part in distinct(query.candidates).chunks(WINDOWED_AT_ONCE) {
            // Read from columns: no script has to be allowed, and the sources stay where they are.
            let body = json!({"query": query::with_windows(part), "size": part.len(), "_source": false,
                "track_total_hits": false, "docvalue_fields": ["chunk", "windows"], "sort": ["_doc"]});
            let hits: Found<()> = self
                .search("cannot read windows", body, &["hits.hits.fields"])
                .await?;
            let nearest = |hit: &Hit<()>| nearest_window(hit, query.vector).transpose();
            let scored = hits.hits.hits.iter().filter_map(nearest);
            found.extend(scored.collect::<Result<Vec<_>>>()?);
        }
        Ok(found)
    }

    async fn nearest(&self, query: Value, size: usize) -> Result<Vec<ScoredChunk>> {
        let body = json!({"query": query, "size": size, "_source": false, "track_total_hits": false,
            "sort": [{"_score": "desc"}, {"chunk": "asc"}]});
        let found: Found<()> = self
            .search("cannot search by vector", body, &["hits.hits.sort"])
            .await?;
        found
            .hits
            .hits
            .iter()
            .map(|hit| scored(hit, query::dot_product))
            .collect()
    }

    /// See `SearchIndex::fetch`. A chunk counts only if it carries the revision that its document's
    /// manifest names: so one of a version that another process has half written, or is about
    /// to remove, is never given out.
    pub async fn fetch(&self, chunks: &[ChunkId]) -> Result<Vec<Option<StoredChunk>>> {
        let mut found: HashMap<ChunkId, StoredChunk> = HashMap::new();
        let mut wanted = distinct(chunks);
        for attempt in 1..=FETCH_ATTEMPTS {
            let sources = self.chunk_sources(&wanted).await?;
            let ids: Vec<String> = sources
                .iter()
                .map(|source| source.document.clone())
                .collect();
            let valid = self.valid(&ids).await?;
            let is_valid = |source: &ChunkSource| {
                valid
                    .get(&source.document)
                    .is_some_and(|(revision, _)| *revision == source.revision)
            };
            // Its document may have been shown in another version between the two requests: then
            // all that is asked for of it is read again, so that whatever is given out
            // of a document is of one version.
            let outdated: HashSet<String> = sources
                .iter()
                .filter(|source| !is_valid(source))
                .map(|source| source.document.clone())
                .collect();
            let mut again = Vec::new();
            for source in sources {
                if attempt < FETCH_ATTEMPTS && outdated.contains(&source.document) {
                    again.push(source.stored.chunk_id);
                } else if is_valid(&source)
                    && let Some((_, document)) = valid.get(&source.document)
                {
                    let chunk = StoredChunk {
                        document: Arc::clone(document),
                        chunk: source.stored,
                    };
                    found.insert(chunk.chunk.chunk_id, chunk);
                }
            }
            wanted = distinct(&again);
            if wanted.is_empty() {
                break;
            }
        }
        Ok(chunks
            .iter()
            .map(|chunk| found.get(chunk).cloned())
            .collect())
    }

    async fn chunk_sources(&self, chunks: &[ChunkId]) -> Result<Vec<ChunkSource>> {
        let mut sources = Vec::new();
        for part in chunks.chunks(LARGEST_WINDOW) {
            let query = json!({"query": {"bool": {"filter": [query::chunks(part)]}}, "_source": ["document", "revision", "stored"]});
            sources.extend(
                self.sources::<ChunkSource>("cannot fetch chunks", query, part.len())
                    .await?,
            );
        }
        Ok(sources)
    }

    /// Revision and header of the documents that are shown and not deleted.
    async fn valid(
        &self,
        document_ids: &[String],
    ) -> Result<HashMap<String, (String, Arc<tributary_schemas::DocumentHeader>)>> {
        let entries = self.entries(document_ids, false).await?;
        let valid = document_ids.iter().zip(entries).filter_map(|(id, stored)| {
            let entry = stored.filter(|stored| !stored.entry.indexed.deleted)?.entry;
            Some((
                id.clone(),
                (entry.revision, Arc::new(entry.indexed.document)),
            ))
        });
        Ok(valid.collect())
    }

    /// See `SearchIndex::vectors`.
    pub async fn vectors(&self, chunks: &[ChunkId]) -> Result<Vec<Option<ChunkVectors>>> {
        let mut found = HashMap::new();
        for part in distinct(chunks).chunks(VECTORS_AT_ONCE) {
            let query = json!({"query": {"bool": {"filter": [query::chunks(part)]}}, "_source": VectorSource::FIELDS});
            for source in self
                .sources::<VectorSource>("cannot fetch vectors", query, part.len())
                .await?
            {
                found.insert(source.chunk, ChunkVectors::from(source));
            }
        }
        Ok(chunks
            .iter()
            .map(|chunk| found.get(chunk).cloned())
            .collect())
    }

    /// Sources of all hits; `expected` many unless an id is there twice.
    async fn sources<S: DeserializeOwned + Send + 'static>(
        &self,
        what: &str,
        mut body: Value,
        expected: usize,
    ) -> Result<Vec<S>> {
        let size = (expected * 2).clamp(16, LARGEST_WINDOW);
        body["track_total_hits"] = false.into();
        if expected * 2 > LARGEST_WINDOW {
            let hits: Vec<Hit<S>> = self.pages(what, with_order(body), usize::MAX).await?;
            return Ok(hits.into_iter().filter_map(|hit| hit.source).collect());
        }
        body["size"] = size.into();
        let found: Found<S> = self.search(what, body, &["hits.hits._source"]).await?;
        Ok(found
            .hits
            .hits
            .into_iter()
            .filter_map(|hit| hit.source)
            .collect())
    }

    /// Manifests by document id, in the order of the ids; the newest, or what the last flush
    /// showed.
    pub async fn entries(
        &self,
        document_ids: &[String],
        newest: bool,
    ) -> Result<Vec<Option<StoredEntry>>> {
        let mut entries = Vec::with_capacity(document_ids.len());
        for part in document_ids.chunks(LARGEST_WINDOW / 10) {
            let documents: Vec<(String, String)> = part
                .iter()
                .map(|id| (manifest_id(id), manifest_id(id)))
                .collect();
            for document in self
                .get::<EntrySource>("cannot read manifests", &documents, &["entry"], newest)
                .await?
            {
                entries.push(match document {
                    GotDocument {
                        source: Some(source),
                        seq_no: Some(seq_no),
                        primary_term: Some(primary_term),
                        ..
                    } => Some(StoredEntry {
                        entry: source.entry,
                        seq_no,
                        primary_term,
                    }),
                    _ => None,
                });
            }
        }
        Ok(entries)
    }

    /// Vectors of records that may not be shown yet, by (id, routing).
    pub async fn record_vectors(
        &self,
        records: &[(String, String)],
    ) -> Result<Vec<Option<ChunkVectors>>> {
        let mut vectors = Vec::with_capacity(records.len());
        for part in records.chunks(VECTORS_AT_ONCE) {
            let documents = self
                .get::<VectorSource>("cannot read vectors", part, &VectorSource::FIELDS, true)
                .await?;
            let sources = documents.into_iter().map(|document| document.source);
            vectors.extend(sources.map(|source| source.map(ChunkVectors::from)));
        }
        Ok(vectors)
    }

    /// Which of the records, by (id, routing), exist.
    pub async fn existing(&self, records: &[(String, String)]) -> Result<Vec<bool>> {
        let mut existing = Vec::with_capacity(records.len());
        for part in records.chunks(LARGEST_WINDOW) {
            let documents = self
                .get::<Value>("cannot look for chunks", part, &[], true)
                .await?;
            existing.extend(documents.iter().map(|document| document.found));
        }
        Ok(existing)
    }

    async fn get<S: DeserializeOwned + Send + 'static>(
        &self,
        what: &str,
        records: &[(String, String)],
        fields: &[&str],
        newest: bool,
    ) -> Result<Vec<GotDocument<S>>> {
        if records.is_empty() {
            return Ok(Vec::new());
        }
        let documents: Vec<Value> = records
            .iter()
            .map(|(id, routing)| json!({"_id": id, "routing": routing}))
            .collect();
        let path = format!("/{}/_mget", self.generation.index);
        let source = if fields.is_empty() {
            "false".to_owned()
        } else {
            fields.join(",")
        };
        let realtime = if newest { "true" } else { "false" };
        let query: &[(&str, &str)] = &[
            ("realtime", realtime),
            ("preference", self.preference),
            if fields.is_empty() {
                ("_source", "false")
            } else {
                ("_source_includes", &source)
            },
            (
                "filter_path",
                "docs.found,docs._source,docs._seq_no,docs._primary_term,docs.error",
            ),
        ];
        let body = Body::json(&json!({"docs": documents}))?;
        let got: Got<S> = self
            .client
            .call(Request {
                what,
                method: Method::Post,
                path: &path,
                query,
                body,
            })
            .await?;
        match got.docs.iter().find_map(|document| document.error.clone()) {
            Some(cause) => Err(item_failure(cause).error(what)),
            None => Ok(got.docs),
        }
    }

    /// See `SearchIndex::list_documents`.
    pub async fn list_documents(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<IndexedDocument>> {
        let query = json!({"exists": {"field": "manifest"}});
        self.manifests("cannot list documents", query, after, limit)
            .await
    }

    /// See `SearchIndex::documents_with`.
    pub async fn documents_with(
        &self,
        terms: &[String],
        limit: usize,
    ) -> Result<Vec<IndexedDocument>> {
        let query = query::any_of(
            "terms",
            terms
                .iter()
                .cloned()
                .map(super::mapping::indexed_term)
                .collect(),
        );
        self.manifests("cannot look for documents", query, None, limit)
            .await
    }

    async fn manifests(
        &self,
        what: &str,
        query: Value,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<IndexedDocument>> {
        // Manifests are large: pages well below the server's window.
        let page = LARGEST_WINDOW / 10;
        let (mut listed, mut last) = (Vec::new(), after.map(str::to_owned));
        while listed.len() < limit {
            let size = page.min(limit - listed.len());
            let mut body = json!({"query": {"bool": {"filter": [query]}}, "size": size, "_source": ["entry"],
                "track_total_hits": false, "sort": [{"manifest": "asc"}]});
            if let Some(last) = &last {
                body["search_after"] = json!([last]);
            }
            let found: Found<EntrySource> = self
                .search(what, body, &["hits.hits._source", "hits.hits.sort"])
                .await?;
            let count = found.hits.hits.len();
            listed.extend(
                found
                    .hits
                    .hits
                    .into_iter()
                    .filter_map(|hit| hit.source)
                    .map(|source| source.entry.indexed),
            );
            last = listed
                .last()
                .map(|document: &IndexedDocument| document.document.document_id.clone());
            if count < size {
                break;
            }
        }
        Ok(listed)
    }

    /// See `SearchIndex::list_chunks`.
    pub async fn list_chunks(&self) -> Result<Vec<(ChunkId, String)>> {
        let mut found = self.ids(json!({"exists": {"field": "chunk"}})).await?;
        found.sort_unstable_by(|left, right| (&left.1, left.0).cmp(&(&right.1, right.0)));
        Ok(found)
    }

    async fn ids(&self, query: Value) -> Result<Vec<(ChunkId, String)>> {
        let body = json!({"query": {"bool": {"filter": [query]}}, "_source": false, "track_total_hits": false,
            "docvalue_fields": ["chunk", "document"]});
        let hits: Vec<Hit<()>> = self
            .pages("cannot list chunks", with_order(body), usize::MAX)
            .await?;
        let read = |hit: &Hit<()>| {
            let chunk = text(hit, "chunk")
                .parse()
                .map_err(|error: String| Error::new(ErrorKind::Corrupt, error))?;
            Ok((chunk, text(hit, "document").to_owned()))
        };
        hits.iter().map(read).collect()
    }

    /// All hits, up to a limit, of one moment.
    async fn pages<S: DeserializeOwned + Send + 'static>(
        &self,
        what: &str,
        body: Value,
        limit: usize,
    ) -> Result<Vec<Hit<S>>> {
        let mut pages = self.open_pages(body).await?;
        let mut hits = Vec::new();
        let result = loop {
            match self.next_page(what, &mut pages).await {
                Ok(page) if page.is_empty() => break Ok(()),
                Ok(page) => hits.extend(page),
                Err(error) => break Err(error),
            }
            if hits.len() >= limit {
                break Ok(());
            }
        };
        self.close_pages(pages).await;
        result.map(|()| hits)
    }

    async fn open_pages(&self, body: Value) -> Result<Pages> {
        let path = format!("/{}/_pit", self.generation.index);
        let query: &[(&str, &str)] = &[("keep_alive", KEEP_ALIVE), ("preference", self.preference)];
        let what = "cannot begin a list";
        let opened: Value = self
            .client
            .call(Request {
                what,
                method: Method::Post,
                path: &path,
                query,
                body: Body::Empty,
            })
            .await?;
        let pit = opened
            .get("id")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        Ok(Pages {
            pit,
            body,
            last: None,
            is_done: false,
        })
    }

    /// The next hits; none at the end.
    async fn next_page<S: DeserializeOwned + Send + 'static>(
        &self,
        what: &str,
        pages: &mut Pages,
    ) -> Result<Vec<Hit<S>>> {
        if pages.is_done {
            return Ok(Vec::new());
        }
        pages.body["size"] = LARGEST_WINDOW.into();
        pages.body["pit"] = json!({"id": pages.pit, "keep_alive": KEEP_ALIVE});
        if let Some(last) = pages.last.take() {
            pages.body["search_after"] = last.into();
        }
        let parts = "pit_id,hits.hits._id,hits.hits._source,hits.hits.fields,hits.hits.sort";
        let query: &[(&str, &str)] = &[
            ("allow_partial_search_results", "false"),
            ("filter_path", parts),
        ];
        let request = Request {
            what,
            method: Method::Post,
            path: "/_search",
            query,
            body: Body::json(&pages.body)?,
        };
        let found: Found<S> = self.client.call(request).await?;
        if let Some(id) = found.pit_id {
            pages.pit = id;
        }
        pages.last = found.hits.hits.last().map(|hit| hit.sort.clone());
        pages.is_done = found.hits.hits.len() < LARGEST_WINDOW;
        Ok(found.hits.hits)
    }

    /// Ends a list.
    pub async fn close_pages(&self, pages: Pages) {
        let Ok(body) = Body::json(&json!({"id": pages.pit})) else {
            return;
        };
        let request = Request {
            what: "cannot close a list",
            method: Method::Delete,
            path: "/_pit",
            query: &[],
            body,
        };
        if let Err(error) = self.client.find::<Value>(request).await {
            tracing::debug!(%error, "the server closes the list by itself");
        }
    }

    /// Begins to go through all chunks that are shown.
    pub async fn open_records(&self) -> Result<Pages> {
        let body = json!({"query": {"exists": {"field": "chunk"}}, "_source": false, "track_total_hits": false,
            "docvalue_fields": ["document", "revision", "version"]});
        self.open_pages(with_order(body)).await
    }

    /// The next of them; none at the end.
    pub async fn next_records(&self, pages: &mut Pages) -> Result<Vec<ShownRecord>> {
        let hits: Vec<Hit<()>> = self.next_page("cannot look for leftovers", pages).await?;
        Ok(hits.iter().filter_map(shown_record).collect())
    }

    /// One search; a shard that does not answer makes it fail, never a shorter list.
    async fn search<S: DeserializeOwned + Send + 'static>(
        &self,
        what: &str,
        body: Value,
        parts: &[&str],
    ) -> Result<Found<S>> {
        let path = format!("/{}/_search", self.generation.index);
        let parts = format!("{},hits.max_score", parts.join(","));
        let mut query = vec![
            ("allow_partial_search_results", "false"),
            ("preference", self.preference),
            ("filter_path", parts.as_str()),
        ];
        if self.generation.shards > 1 {
            // Term statistics of all shards, as if there were one.
            query.push(("search_type", "dfs_query_then_fetch"));
        }
        let body = Body::json(&body)?;
        self.client
            .call(Request {
                what,
                method: Method::Post,
                path: &path,
                query: &query,
                body,
            })
            .await
    }
}

fn check_dimensions(vector: &[f32], dimensions: usize) -> Result<()> {
    if vector.len() == dimensions {
        return Ok(());
    }
    let message = format!(
        "a query vector of {} dimensions for a field of {dimensions}",
        vector.len()
    );
    Err(Error::new(ErrorKind::Invalid, message))
}

/// One item of several was not answered: its index is gone, or a shard is away.
fn item_failure(cause: Cause) -> Failure {
    let failure = Failure::of_item(503, Some(cause));
    let status = if failure.is("index_not_found_exception") {
        404
    } else {
        503
    };
    failure.with_status(status)
}

/// A value of a hit's field.
fn text<'a>(hit: &'a Hit<()>, field: &str) -> &'a str {
    hit.fields
        .get(field)
        .and_then(|values| values.first())
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn nearest_window(hit: &Hit<()>, vector: &[f32]) -> Result<Option<ScoredChunk>> {
    let damaged = |error: String| Error::new(ErrorKind::Corrupt, format!("windows: {error}"));
    let chunk_id = text(hit, "chunk").parse().map_err(damaged)?;
    let windows = STANDARD
        .decode(text(hit, "windows"))
        .map_err(|error| damaged(error.to_string()))?;
    let score = window_vectors::nearest(&windows, vector);
    Ok(score.map(|score| ScoredChunk { chunk_id, score }))
}

fn shown_record(hit: &Hit<()>) -> Option<ShownRecord> {
    let version = hit
        .fields
        .get("version")
        .and_then(|values| values.first())
        .and_then(Value::as_u64)?;
    Some(ShownRecord {
        id: hit.id.clone(),
        document_id: text(hit, "document").to_owned(),
        revision: text(hit, "revision").to_owned(),
        version,
    })
}

fn with_order(mut body: Value) -> Value {
    body["sort"] = json!(["_shard_doc"]);
    body
}

fn scored(hit: &Hit<()>, convert: impl Fn(f32) -> f32) -> Result<ScoredChunk> {
    let damaged = || Error::new(ErrorKind::Corrupt, "a hit without score or chunk id");
    let score = hit
        .sort
        .first()
        .and_then(Value::as_f64)
        .ok_or_else(damaged)?;
    let chunk_id = hit
        .sort
        .get(1)
        .and_then(Value::as_str)
        .and_then(|id| id.parse().ok())
        .ok_or_else(damaged)?;
    Ok(ScoredChunk {
        chunk_id,
        score: convert(score as f32),
    })
}

/// Best first, equal scores by chunk id.
fn merged(mut hits: Vec<ScoredChunk>, limit: usize) -> Vec<ScoredChunk> {
    hits.sort_by(|left, right| {
        right
            .score
            .total_cmp(&left.score)
            .then(left.chunk_id.cmp(&right.chunk_id))
    });
    hits.truncate(limit);
    hits
}

fn distinct(ids: &[ChunkId]) -> Vec<ChunkId> {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids.dedup();
    ids
}
