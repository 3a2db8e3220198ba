//! What is wrong with a cluster, in words for a user: `tributary doctor` asks. Looks at all of it,
//! also after the first problem.

use std::collections::BTreeMap;
use std::time::Duration;

use elasticsearch::http::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use tributary_schemas::{Error, ErrorKind, Result};

use super::client::{Attempt, Body, Client, Request};
use super::config::Config;
use super::generations::Generations;
use super::mapping::{self, FORMAT, Meta};
use crate::conversations::elasticsearch as conversations;
use crate::generations::Origin;

/// Longest wait for one answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Oldest version, (major, minor): from here on candidates are scored by the vectors themselves.
const OLDEST: (u64, u64) = (8, 18);
/// Newest major version that this was tried with.
const NEWEST_MAJOR: u64 = 9;
/// What we may do with our indexes.
const PRIVILEGES: [&str; 5] = ["create_index", "delete_index", "manage", "read", "write"];

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// What.
    pub name: &'static str,
    /// Whether it is as it should be.
    pub ok: bool,
    /// How it is.
    pub detail: String,
    /// What the user can do.
    pub hint: Option<String>,
}

#[derive(Deserialize)]
struct Index {
    #[serde(default)]
    aliases: BTreeMap<String, Value>,
    #[serde(default)]
    mappings: Value,
    #[serde(default)]
    settings: BTreeMap<String, Value>,
}

/// What the generation that serves says of its origin; nothing where none serves yet.
pub async fn serving_origin(config: &Config) -> Result<Option<Origin>> {
    let client = Client::new(config)?.impatient(TIMEOUT);
    match Generations::new(client, config.clone()).find(None).await {
        Ok(serving) => Origin::decode(&serving.settings.origin),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Looks at the cluster; only the first entry where it cannot be reached.
pub async fn diagnose(config: &Config) -> Vec<Diagnosis> {
    let client = match config.check().and_then(|()| Client::new(config)) {
        Ok(client) => client.impatient(TIMEOUT),
        Err(error) => return vec![failed("elasticsearch", &error)],
    };
    let cluster = Cluster { client, config };
    let (reachable, is_there) = cluster.reachable().await;
    if !is_there {
        return vec![reachable];
    }
    vec![
        reachable,
        cluster.version().await,
        cluster.rights().await,
        cluster.disk().await,
        cluster.indexes().await,
        cluster.template().await,
    ]
}

struct Cluster<'a> {
    client: Client,
    config: &'a Config,
}

/// Whether a template says something about fields, stored documents or analysis.
fn changes_indexes(template: &Value) -> bool {
    let part = |path: &str| {
        template
            .pointer(path)
            .and_then(Value::as_object)
            .is_some_and(|part| !part.is_empty())
    };
    part("/template/mappings/properties")
        || part("/template/mappings/_source")
        || part("/template/settings/index/analysis")
}

impl Cluster<'_> {
    async fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Value> {
        self.client
            .call(Request {
                what: "cannot ask the cluster",
                method: Method::Get,
                path,
                query,
                body: Body::Empty,
            })
            .await
    }

    async fn reachable(&self) -> (Diagnosis, bool) {
        let name = "elasticsearch";
        let health = match self.get("/_cluster/health", &[]).await {
            Ok(health) => health,
            Err(error) => {
                let is_there = error.kind() == tributary_schemas::ErrorKind::Denied;
                return (failed(name, &error), is_there);
            }
        };
        let text = |key: &str| {
            health
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or("?")
                .to_owned()
        };
        let (status, nodes) = (
            text("status"),
            health
                .get("number_of_nodes")
                .and_then(Value::as_u64)
                .unwrap_or(0),
        );
        let detail = format!(
            "cluster `{}`, {nodes} nodes, {status}",
            text("cluster_name")
        );
        let found = if status == "red" {
            problem(
                name,
                detail,
                "shards are missing: look at GET _cluster/allocation/explain",
            )
        } else {
            passed(name, detail)
        };
        (found, true)
    }

    async fn version(&self) -> Diagnosis {
        let name = "elasticsearch version";
        let nodes = match self
            .get("/_nodes", &[("filter_path", "nodes.*.version")])
            .await
        {
            Ok(nodes) => nodes,
            Err(error) => return failed(name, &error),
        };
        let nodes = nodes
            .get("nodes")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        let mut versions: Vec<String> = nodes
            .values()
            .filter_map(|node| Some(node.get("version")?.as_str()?.to_owned()))
            .collect();
        versions.sort_unstable();
        versions.dedup();
        let detail = versions.join(", ");
        let is_known = |version: &String| {
            let mut numbers = version
                .split(['.', '-'])
                .map_while(|part| part.parse::<u64>().ok());
            let (major, minor) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
            (major, minor) >= OLDEST && major <= NEWEST_MAJOR
        };
        if !versions.is_empty() && versions.iter().all(is_known) {
            return passed(name, detail);
        }
        problem(
            name,
            detail,
            format!(
                "{}.{} or later, up to {NEWEST_MAJOR}.x, is needed on every node",
                OLDEST.0, OLDEST.1
            ),
        )
    }

    async fn rights(&self) -> Diagnosis {
        let name = "elasticsearch rights";
        let prefix = &self.config.index_prefix;
        let wanted = json!({"cluster": ["monitor"], "index": [{"names": [prefix, format!("{prefix}-*")], "privileges": PRIVILEGES}]});
        let body = match Body::json(&wanted) {
            Ok(body) => body,
            Err(error) => return failed(name, &error),
        };
        let what = "cannot ask for rights";
        let request = Request {
            what,
            method: Method::Post,
            path: "/_security/user/_has_privileges",
            query: &[],
            body,
        };
        let answer: Value = match self.client.send(request).await {
            Ok(bytes) => serde_json::from_slice(&bytes).ok().unwrap_or_default(),
            Err(Attempt::Refused(failure)) if !matches!(failure.status, 401 | 403) => {
                return passed(
                    name,
                    "security is off: whoever reaches the cluster may do everything",
                );
            }
            Err(attempt) => return failed(name, &attempt.error(what)),
        };
        if answer.get("has_all_requested") == Some(&Value::Bool(true)) {
            return passed(name, "all that are needed");
        }
        let missing = missing_rights(&answer);
        problem(
            name,
            format!("missing: {}", missing.join(", ")),
            format!(
                "grant the user {} on `{prefix}` and `{prefix}-*`, and monitor on the cluster",
                PRIVILEGES.join(", ")
            ),
        )
    }

    async fn disk(&self) -> Diagnosis {
        let name = "elasticsearch disk";
        let (nodes, settings) = match (
            self.get(
                "/_nodes/stats/fs",
                &[("filter_path", "nodes.*.name,nodes.*.fs.total")],
            )
            .await,
            self.get(
                "/_cluster/settings",
                &[("include_defaults", "true"), ("flat_settings", "true")],
            )
            .await,
        ) {
            (Ok(nodes), Ok(settings)) => (nodes, settings),
            (Err(error), _) | (_, Err(error)) => return failed(name, &error),
        };
        let limits = Watermarks::read(&settings);
        let mut details = Vec::new();
        let mut is_full = false;
        for node in nodes
            .get("nodes")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(|nodes| nodes.values())
        {
            let number = |key: &str| {
                node.pointer(&format!("/fs/total/{key}"))
                    .and_then(Value::as_u64)
                    .unwrap_or(0)
            };
            let (total, free) = (number("total_in_bytes"), number("available_in_bytes"));
            let used = 100.0 - 100.0 * free as f64 / total.max(1) as f64;
            is_full |= limits.are_reached(used, free);
            let name = node.get("name").and_then(Value::as_str).unwrap_or("?");
            details.push(format!("{name}: {used:.0} % used, {} GiB free", free >> 30));
        }
        let detail = details.join("; ");
        if is_full {
            return problem(
                name,
                detail,
                "free disk space: over the high watermark shards are moved away, over the flood stage writes are refused",
            );
        }
        passed(name, detail)
    }

    /// The alias, blocks, and mappings that are not ours.
    async fn indexes(&self) -> Diagnosis {
        let name = "elasticsearch index";
        let prefix = &self.config.index_prefix;
        let path = format!("/{prefix},{prefix}-*");
        let query = &[("ignore_unavailable", "true"), ("flat_settings", "true")];
        let request = Request {
            what: "cannot look at the indexes",
            method: Method::Get,
            path: &path,
            query,
            body: Body::Empty,
        };
        let indexes: BTreeMap<String, Index> = match self.client.find(request).await {
            Ok(indexes) => indexes.unwrap_or_default(),
            Err(error) => return failed(name, &error),
        };
        let mut problems = Vec::new();
        let mut serving = Vec::new();
        for (index, found) in &indexes {
            if found.aliases.contains_key(prefix) {
                serving.push(index.as_str());
            }
            problems.extend(self.problem_of(index, found));
        }
        if serving.len() > 1 {
            problems.push(format!(
                "the alias `{prefix}` stands for {}: promote one of them",
                serving.join(" and ")
            ));
        }
        match (problems.is_empty(), serving.first()) {
            (true, Some(serving)) => passed(
                name,
                format!("{} indexes, `{serving}` serves", indexes.len()),
            ),
            (true, None) => passed(
                name,
                format!("{} indexes of `{prefix}-*`, none serves yet", indexes.len()),
            ),
            _ => problem(
                name,
                problems.join("; "),
                "see docs/operations.md; an index of somebody else needs another index_prefix",
            ),
        }
    }

    fn problem_of(&self, index: &str, found: &Index) -> Option<String> {
        let block = found.settings.iter().find(|(key, value)| {
            key.starts_with("index.blocks.") && value.as_str() == Some("true")
        });
        if let Some((key, _)) = block {
            return Some(format!("`{index}` refuses writes: {key} is set"));
        }
        if found.mappings.pointer(conversations::META).is_some() {
            return None;
        }
        let Some(meta) = found.mappings.pointer("/_meta/tributary") else {
            return Some(format!("`{index}` is not ours: its name is in our way"));
        };
        // Those of another installation whose prefix begins with ours are none of our business.
        let meta = serde_json::from_value::<Meta>(meta.clone())
            .ok()
            .filter(|meta| meta.format == FORMAT);
        let Some(meta) = meta else {
            return Some(format!(
                "`{index}` was made by another version of Tributary: reindex"
            ));
        };
        if meta.prefix != self.config.index_prefix {
            return None;
        }
        let wanted = mapping::index_body(self.config, &meta.generation, index, &meta.settings);
        let fields = wanted
            .pointer("/mappings/properties")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        let stored = |name: &String| found.mappings.pointer(&format!("/properties/{name}"));
        let differing: Vec<String> = fields
            .iter()
            .filter(|(name, field)| !is_as_wanted(field, stored(name)))
            .map(|(name, _)| name.clone())
            .collect();
        (!differing.is_empty()).then(|| {
            format!(
                "the mapping of `{index}` differs in {}: reindex",
                differing.join(", ")
            )
        })
    }

    /// Templates of the cluster that would change what we create.
    async fn template(&self) -> Diagnosis {
        let name = "elasticsearch template";
        let path = format!(
            "/_index_template/_simulate_index/{}-doctor",
            self.config.index_prefix
        );
        let request = Request {
            what: "cannot ask for templates",
            method: Method::Post,
            path: &path,
            query: &[],
            body: Body::Empty,
        };
        let found = match self.client.send(request).await {
            Ok(bytes) => serde_json::from_slice::<Value>(&bytes)
                .ok()
                .unwrap_or_default(),
            Err(Attempt::Refused(failure)) if failure.status == 403 => {
                return passed(name, "may not be asked for");
            }
            Err(attempt) => return failed(name, &attempt.error("cannot ask for templates")),
        };
        if changes_indexes(&found) {
            return problem(
                name,
                "a template of the cluster adds fields to our indexes",
                "exclude them from its index_patterns, or choose another index_prefix",
            );
        }
        passed(name, "none changes our indexes")
    }
}

/// Whether a field is mapped as it would be today.
fn is_as_wanted(field: &Value, stored: Option<&Value>) -> bool {
    let same = |key: &str| {
        field
            .get(key)
            .is_none_or(|value| stored.and_then(|stored| stored.get(key)) == Some(value))
    };
    // An object is the one type that a server does not name.
    let has_type = same("type")
        || field.get("enabled").is_some()
            && stored.is_some_and(|stored| stored.get("enabled").is_some());
    has_type && same("dims") && same("similarity") && same("analyzer")
}

/// Names of privileges that were not granted.
fn missing_rights(answer: &Value) -> Vec<String> {
    let mut missing = Vec::new();
    let mut collect = |place: &str, rights: &Value| {
        for (right, granted) in rights.as_object().into_iter().flatten() {
            if granted == &Value::Bool(false) {
                missing.push(format!("{right} on {place}"));
            }
        }
    };
    collect("the cluster", answer.get("cluster").unwrap_or(&Value::Null));
    for (index, rights) in answer
        .get("index")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        collect(&format!("`{index}`"), rights);
    }
    missing
}

/// From when on a disk counts as too full; a percentage or a number of bytes, as configured.
struct Watermarks {
    enabled: bool,
    high_percent: Option<f64>,
}

impl Watermarks {
    fn read(settings: &Value) -> Self {
        let value = |key: &str| {
            let key = format!("cluster.routing.allocation.disk.{key}");
            ["transient", "persistent", "defaults"]
                .iter()
                .find_map(|part| settings.get(part)?.get(&key)?.as_str().map(str::to_owned))
        };
        let high = value("watermark.high").unwrap_or_else(|| "90%".to_owned());
        let high_percent = match high.strip_suffix('%') {
            Some(percent) => percent.trim().parse().ok(),
            None => high
                .parse::<f64>()
                .ok()
                .filter(|ratio| *ratio <= 1.0)
                .map(|ratio| ratio * 100.0),
        };
        Self {
            enabled: value("threshold_enabled").as_deref() != Some("false"),
            high_percent,
        }
    }

    fn are_reached(&self, used_percent: f64, free_bytes: u64) -> bool {
        free_bytes == 0
            || self.enabled && self.high_percent.is_some_and(|high| used_percent >= high)
    }
}

fn passed(name: &'static str, detail: impl Into<String>) -> Diagnosis {
    Diagnosis {
        name,
        ok: true,
        detail: detail.into(),
        hint: None,
    }
}

fn problem(name: &'static str, detail: impl Into<String>, hint: impl Into<String>) -> Diagnosis {
    Diagnosis {
        name,
        ok: false,
        detail: detail.into(),
        hint: Some(hint.into()),
    }
}

fn failed(name: &'static str, error: &Error) -> Diagnosis {
    Diagnosis {
        name,
        ok: false,
        detail: error.to_string(),
        hint: error.hint().map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watermarks_are_read_in_every_form() {
        let read = |settings: Value| Watermarks::read(&settings);
        assert!(read(json!({})).are_reached(91.0, 1));
        assert!(!read(json!({})).are_reached(89.0, 1));
        let key = "cluster.routing.allocation.disk.watermark.high";
        assert!(read(json!({"persistent": {key: "0.5"}})).are_reached(51.0, 1));
        assert!(!read(json!({"defaults": {key: "50gb"}})).are_reached(99.0, 1));
        assert!(
            !read(
                json!({"defaults": {"cluster.routing.allocation.disk.threshold_enabled": "false"}})
            )
            .are_reached(99.0, 1)
        );
    }

    #[test]
    fn rights_that_are_missing_are_named() {
        let answer =
            json!({"cluster": {"monitor": true}, "index": {"t-*": {"read": true, "write": false}}});
        assert_eq!(missing_rights(&answer), ["write on `t-*`"]);
    }
}
