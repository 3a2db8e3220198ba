//! Requests about single documents and lists of them, for both indices.

use elasticsearch::http::Method;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tributary_schemas::{Error, ErrorKind, Result};

use super::records::{
    ConversationRecord, Name, Names, conversations_body, reports_body, turns_body,
    user_profiles_body,
};
use crate::search_index::elasticsearch::client::{Attempt, Body, Client, Request};
use crate::search_index::elasticsearch::errors::{Cause, Failure};
use crate::search_index::elasticsearch_config::Config;

const WHAT: &str = "conversations";
/// Most hits of one search.
const LARGEST_WINDOW: usize = 10_000;
/// Turns that are removed by one request.
const PURGED_AT_ONCE: usize = 200;

/// The way to both indices.
pub struct Cluster {
    client: Client,
    pub names: Names,
}

/// A document with what a write to it must name.
#[derive(Clone, Debug)]
pub struct Stored<T> {
    pub source: T,
    seq_no: u64,
    primary_term: u64,
}

/// How a document is written.
#[derive(Clone, Copy)]
pub enum Guard {
    /// Only where none is there.
    Absent,
    /// Only where it is as it was read.
    Unchanged {
        /// Sequence number.
        seq_no: u64,
        /// Primary term.
        primary_term: u64,
    },
}

impl<T> Stored<T> {
    /// Guards a write of what was made of it.
    pub fn unchanged(&self) -> Guard {
        Guard::Unchanged {
            seq_no: self.seq_no,
            primary_term: self.primary_term,
        }
    }
}

#[derive(Deserialize)]
struct Got<T> {
    #[serde(rename = "_source")]
    source: Option<T>,
    #[serde(rename = "_seq_no", default)]
    seq_no: u64,
    #[serde(rename = "_primary_term", default)]
    primary_term: u64,
}

#[derive(Deserialize)]
struct Found<T> {
    hits: Hits<T>,
}

#[derive(Deserialize)]
struct Hits<T> {
    hits: Vec<Hit<T>>,
}

#[derive(Deserialize)]
struct Hit<T> {
    #[serde(rename = "_source")]
    source: T,
}

#[derive(Deserialize)]
struct Many<T> {
    docs: Vec<Got<T>>,
}

#[derive(Deserialize)]
struct Named {
    id: String,
}

#[derive(Deserialize)]
struct Bulk {
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    delete: Removed,
}

#[derive(Deserialize)]
struct Removed {
    status: u16,
    error: Option<Cause>,
}

/// Which documents are searched for.
pub struct Search {
    /// Conditions that all must hold.
    pub filter: Value,
    /// `sort` of the server.
    pub sort: Value,
    /// Values of the sort's fields after which the hits come.
    pub after: Option<Value>,
    /// Hits at most.
    pub limit: usize,
}

impl Cluster {
    /// Makes the indices that are not there.
    pub async fn open(config: &Config) -> Result<Self> {
        let (client, prefix) = (Client::new(config)?, &config.index_prefix);
        let names = Names::new(prefix);
        let cluster = Self { client, names };
        let names = &cluster.names;
        let body = conversations_body(names, prefix, config.replicas);
        cluster.create(&names.conversations, &body).await?;
        let body = turns_body(names, prefix, config.replicas);
        cluster.create(&names.turns, &body).await?;
        let body = user_profiles_body(names, prefix, config.replicas);
        cluster.create(&names.user_profiles, &body).await?;
        let body = reports_body(names, prefix, config.replicas);
        cluster.create(&names.reports, &body).await?;
        Ok(cluster)
    }

    async fn create(&self, name: &Name, body: &Value) -> Result<()> {
        let path = format!("/{}", name.index);
        match self.send(Method::Put, &path, &[], Body::json(body)?).await {
            Err(Attempt::Refused(failure)) if failure.is("resource_already_exists_exception") => {
                Ok(())
            }
            Ok(_) => Ok(()),
            Err(attempt) => Err(explained(attempt)),
        }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
        body: Body,
    ) -> std::result::Result<bytes::Bytes, Attempt> {
        let request = Request {
            what: WHAT,
            method,
            path,
            query,
            body,
        };
        self.client.send(request).await
    }

    /// A document as it is now.
    pub async fn get<T: DeserializeOwned>(
        &self,
        name: &Name,
        id: &str,
    ) -> Result<Option<Stored<T>>> {
        let path = format!("/{}/_doc/{id}", name.index);
        let got: Got<T> = match self.send(Method::Get, &path, &[], Body::Empty).await {
            Ok(bytes) => decode(&bytes)?,
            Err(Attempt::Refused(failure)) if is_absent(&failure) => return Ok(None),
            Err(attempt) => return Err(explained(attempt)),
        };
        Ok(got.source.map(|source| Stored {
            source,
            seq_no: got.seq_no,
            primary_term: got.primary_term,
        }))
    }

    /// Conversations as they are now, in the order of the ids.
    pub async fn conversations(&self, ids: &[&str]) -> Result<Vec<Option<ConversationRecord>>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let path = format!("/{}/_mget", self.names.conversations.index);
        let body = Body::json(&json!({"ids": ids}))?;
        let bytes = self
            .send(Method::Post, &path, &[], body)
            .await
            .map_err(explained)?;
        let many: Many<ConversationRecord> = decode(&bytes)?;
        Ok(many.docs.into_iter().map(|got| got.source).collect())
    }

    /// Writes a document. `false` where the guard does not hold.
    pub async fn put(
        &self,
        name: &Name,
        id: &str,
        guard: Guard,
        source: &impl Serialize,
    ) -> Result<bool> {
        let path = format!("/{}/_doc/{id}", name.writes);
        let conditions = guard.conditions();
        let mut query = vec![("require_alias", "true")];
        query.extend(
            conditions
                .iter()
                .map(|(name, value)| (*name, value.as_str())),
        );
        match self
            .send(Method::Put, &path, &query, Body::json(source)?)
            .await
        {
            Ok(_) => Ok(true),
            Err(Attempt::Refused(failure)) if failure.status == 409 => Ok(false),
            Err(attempt) => Err(explained(attempt)),
        }
    }

    /// Removes a document, if it is there.
    pub async fn remove(&self, name: &Name, id: &str) -> Result<()> {
        let path = format!("/{}/_doc/{id}", name.index);
        match self.send(Method::Delete, &path, &[], Body::Empty).await {
            Ok(_) => Ok(()),
            Err(Attempt::Refused(failure)) if is_absent(&failure) => Ok(()),
            Err(attempt) => Err(explained(attempt)),
        }
    }

    /// Documents that match, everything that was written before included.
    pub async fn search<T: DeserializeOwned>(&self, name: &Name, search: Search) -> Result<Vec<T>> {
        self.refresh(name).await?;
        let mut body = json!({
            "size": search.limit.min(LARGEST_WINDOW),
            "query": {"bool": {"filter": search.filter}},
            "sort": search.sort,
            "track_total_hits": false,
        });
        if let Some(after) = search.after {
            body["search_after"] = after;
        }
        let path = format!("/{}/_search", name.index);
        let bytes = self
            .send(Method::Post, &path, &[], Body::json(&body)?)
            .await
            .map_err(explained)?;
        let found: Found<T> = decode(&bytes)?;
        Ok(found.hits.hits.into_iter().map(|hit| hit.source).collect())
    }

    async fn refresh(&self, name: &Name) -> Result<()> {
        let path = format!("/{}/_refresh", name.index);
        self.send(Method::Post, &path, &[], Body::Empty)
            .await
            .map(drop)
            .map_err(explained)
    }

    /// Removes turns of a conversation: those of epochs before, or all of them. Found and removed
    /// by their ids: not every node can delete by query.
    pub async fn purge(&self, conversation_id: &str, before_epoch: Option<u64>) -> Result<()> {
        let name = &self.names.turns;
        let mut filter = vec![json!({"term": {"conversation": conversation_id}})];
        filter.extend(before_epoch.map(|epoch| json!({"range": {"epoch": {"lt": epoch}}})));
        loop {
            let search = Search {
                filter: json!(filter),
                sort: json!([{"id": "asc"}]),
                after: None,
                limit: PURGED_AT_ONCE,
            };
            let found: Vec<Named> = self.search(name, search).await?;
            if found.is_empty() {
                return Ok(());
            }
            self.remove_all(name, &found).await?;
        }
    }

    async fn remove_all(&self, name: &Name, found: &[Named]) -> Result<()> {
        let mut lines = String::new();
        for named in found {
            lines.push_str(&json!({"delete": {"_id": named.id}}).to_string());
            lines.push('\n');
        }
        let path = format!("/{}/_bulk", name.index);
        let bytes = self
            .send(Method::Post, &path, &[], Body::Lines(lines.into()))
            .await
            .map_err(explained)?;
        let done: Bulk = decode(&bytes)?;
        let failed = done
            .items
            .into_iter()
            .find_map(|item| item.delete.failure());
        failed.map_or(Ok(()), |failure| Err(failure.error(WHAT)))
    }
}

impl Removed {
    fn failure(self) -> Option<Failure> {
        (self.status >= 300 && self.status != 404)
            .then(|| Failure::of_item(self.status, self.error))
    }
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| {
        let message = format!("{WHAT}: the answer of Elasticsearch cannot be read: {error}");
        Error::new(ErrorKind::Corrupt, message).of_environment()
    })
}

/// The index is there, the document is not.
fn is_absent(failure: &Failure) -> bool {
    failure.status == 404 && !failure.is("index_not_found_exception")
}

impl Guard {
    /// The parameters of a write that say it.
    fn conditions(self) -> Vec<(&'static str, String)> {
        match self {
            Self::Absent => vec![("op_type", "create".to_owned())],
            Self::Unchanged {
                seq_no,
                primary_term,
            } => vec![
                ("if_seq_no", seq_no.to_string()),
                ("if_primary_term", primary_term.to_string()),
            ],
        }
    }
}

/// In our words; an index that is gone is no conversation that does not exist.
fn explained(attempt: Attempt) -> Error {
    match attempt {
        Attempt::Refused(failure) if failure.status == 404 => {
            let message = "the index of the conversations is gone from the cluster";
            Error::new(ErrorKind::Unavailable, message)
                .with_hint("bring it back from a snapshot, or start the server again to begin anew")
        }
        attempt => attempt.error("conversations"),
    }
}
