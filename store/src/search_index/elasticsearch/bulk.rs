//! Bulk requests: items are put together up to a number of bytes, sent, and sent again one by one
//! or in halves where the cluster had no room for them.

use bytes::Bytes;
use elasticsearch::http::Method;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tributary_schemas::{Error, ErrorKind, Result};

use super::client::{Attempt, Body, Client, Request};
use super::errors::{Cause, Failure};

/// What an item does.
pub enum Action {
    /// Writes a record, unless one of a higher version was there.
    Index {
        /// Version.
        version: i64,
    },
    /// Writes a record if the stored one is still this (sequence number, term), or if there is
    /// none.
    Guarded {
        /// What was read.
        seen: Option<(i64, i64)>,
    },
    /// Removes a record and remembers the version.
    Delete {
        /// Version.
        version: i64,
    },
}

/// What became of an item.
#[derive(Clone, Debug)]
pub enum ItemResult {
    /// Done; a removal of what was not there too.
    Done,
    /// Something newer is stored.
    Newer,
    /// Refused.
    Refused(Failure),
}

impl ItemResult {
    /// Whether another attempt may end otherwise.
    fn may_pass(&self) -> bool {
        matches!(self, Self::Refused(failure) if failure.may_pass())
    }
}

/// Items with a common destination.
#[derive(Default)]
pub struct Bulk {
    bytes: Vec<u8>,
    /// Where each item ends.
    ends: Vec<usize>,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    items: Vec<AnsweredItem>,
}

#[derive(Deserialize)]
struct AnsweredItem {
    #[serde(alias = "index", alias = "create", alias = "delete")]
    item: ItemStatus,
}

#[derive(Deserialize)]
struct ItemStatus {
    status: u16,
    error: Option<Cause>,
}

impl Bulk {
    /// Adds an item; `source` is ignored for a removal.
    pub fn push(
        &mut self,
        id: &str,
        routing: &str,
        action: &Action,
        source: &impl Serialize,
    ) -> Result<()> {
        let failed = |error: serde_json::Error| {
            Error::new(
                ErrorKind::Internal,
                format!("cannot encode a record of the index: {error}"),
            )
        };
        let head = match action {
            Action::Index { version } => {
                json!({"index": {"_id": id, "routing": routing, "version": version, "version_type": "external_gte"}})
            }
            Action::Guarded { seen: None } => json!({"create": {"_id": id, "routing": routing}}),
            Action::Guarded {
                seen: Some((seq_no, term)),
            } => {
                json!({"index": {"_id": id, "routing": routing, "if_seq_no": seq_no, "if_primary_term": term}})
            }
            Action::Delete { version } => {
                json!({"delete": {"_id": id, "routing": routing, "version": version, "version_type": "external_gte"}})
            }
        };
        serde_json::to_writer(&mut self.bytes, &head).map_err(failed)?;
        self.bytes.push(b'\n');
        if !matches!(action, Action::Delete { .. }) {
            serde_json::to_writer(&mut self.bytes, source).map_err(failed)?;
            self.bytes.push(b'\n');
        }
        self.ends.push(self.bytes.len());
        Ok(())
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Sends all items in requests of about `bulk_bytes`, in order; one result each. An error means
    /// that it is not known what was done.
    pub async fn send(
        self,
        client: &Client,
        alias: &str,
        bulk_bytes: usize,
    ) -> Result<Vec<ItemResult>> {
        let items = Items {
            bytes: self.bytes.into(),
            ends: self.ends,
        };
        let mut results = vec![ItemResult::Done; items.ends.len()];
        let mut patience = client.patience();
        let mut waiting: Vec<usize> = (0..items.ends.len()).collect();
        while !waiting.is_empty() {
            let mut again = Vec::new();
            for part in items.parts(&waiting, bulk_bytes) {
                send_part(client, alias, &items, &part, &mut results).await?;
                again.extend(part.into_iter().filter(|item| results[*item].may_pass()));
            }
            if again.is_empty() || !patience.pause().await {
                break;
            }
            waiting = again;
        }
        Ok(results)
    }
}

struct Items {
    bytes: Bytes,
    ends: Vec<usize>,
}

impl Items {
    fn range(&self, item: usize) -> std::ops::Range<usize> {
        let start = item
            .checked_sub(1)
            .and_then(|before| self.ends.get(before))
            .copied()
            .unwrap_or(0);
        start..self.ends.get(item).copied().unwrap_or(start)
    }

    /// Cuts a list of items into requests.
    fn parts(&self, items: &[usize], bulk_bytes: usize) -> Vec<Vec<usize>> {
        let (mut parts, mut part, mut bytes) = (Vec::new(), Vec::new(), 0);
        for item in items {
            let length = self.range(*item).len();
            if !part.is_empty() && bytes + length > bulk_bytes {
                parts.push(std::mem::take(&mut part));
                bytes = 0;
            }
            part.push(*item);
            bytes += length;
        }
        if !part.is_empty() {
            parts.push(part);
        }
        parts
    }

    /// The bytes of some items; without a copy where they stand side by side.
    fn body(&self, items: &[usize]) -> Bytes {
        let (Some(first), Some(last)) = (items.first(), items.last()) else {
            return Bytes::new();
        };
        if last - first + 1 == items.len() {
            return self
                .bytes
                .slice(self.range(*first).start..self.range(*last).end);
        }
        items
            .iter()
            .flat_map(|item| {
                self.bytes
                    .get(self.range(*item))
                    .unwrap_or_default()
                    .iter()
                    .copied()
            })
            .collect()
    }
}

/// What failed, where a request of writes did.
const WRITING: &str = "cannot write to the index";

/// Sends one request; one that is too large for the server in halves.
async fn send_part(
    client: &Client,
    alias: &str,
    items: &Items,
    part: &[usize],
    results: &mut [ItemResult],
) -> Result<()> {
    let what = WRITING;
    let mut waiting = vec![part];
    while let Some(part) = waiting.pop() {
        let request = Request {
            what,
            method: Method::Post,
            path: &format!("/{alias}/_bulk"),
            query: &[
                ("require_alias", "true"),
                ("filter_path", "items.*.status,items.*.error"),
            ],
            body: Body::Lines(items.body(part)),
        };
        let answer: Answer = match client.send(request).await {
            Ok(bytes) => read_answer(&bytes, part.len())?,
            Err(Attempt::Refused(failure)) if failure.status == 413 => {
                if let [only] = part {
                    results[*only] = ItemResult::Refused(failure);
                } else {
                    let (first, second) = part.split_at(part.len() / 2);
                    waiting.extend([second, first]);
                }
                continue;
            }
            Err(attempt) => return Err(attempt.error(what)),
        };
        for (item, answered) in part.iter().zip(answer.items) {
            results[*item] = result(answered.item);
        }
    }
    Ok(())
}

/// What the server says of each of the items that it was sent.
fn read_answer(bytes: &[u8], sent: usize) -> Result<Answer> {
    let answer: Answer = serde_json::from_slice(bytes).map_err(|error| {
        Error::new(
            ErrorKind::Corrupt,
            format!("{WRITING}: the answer of Elasticsearch cannot be read: {error}"),
        )
        .of_environment()
    })?;
    if answer.items.len() == sent {
        return Ok(answer);
    }
    let message = format!(
        "{WRITING}: {} items were answered for {sent} sent",
        answer.items.len()
    );
    Err(Error::new(ErrorKind::Internal, message).of_environment())
}

fn result(item: ItemStatus) -> ItemResult {
    match (item.status, &item.error) {
        (200..=299, _) | (404, None) => ItemResult::Done,
        (409, _) => ItemResult::Newer,
        _ => ItemResult::Refused(Failure::of_item(item.status, item.error)),
    }
}
