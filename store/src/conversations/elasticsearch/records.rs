//! What lies in the cluster.
//!
//! ```text
//! <prefix>-conversations=1          one document per conversation, its pending turn in it
//! <prefix>-turns=1                  one document per turn that has ended, under the turn's id
//! <prefix>-user-profiles=1          one document per profile of a user
//! <prefix>-reports=1                one document per report that can be gone on with
//! <prefix>-conversations=writes, <prefix>-turns=writes, <prefix>-user-profiles=writes, <prefix>-reports=writes
//!                                   aliases that writes go through: with `require_alias` nothing ever makes an index by itself
//! ```
//! Whatever must hold at once is one write to the conversation's document under its sequence
//! number. Its `epoch` grows with every `clear`: turns of an earlier one are gone for readers at
//! once. `state` is `cleared` or `deleted` for as long as their documents are yet to be removed.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tributary_schemas::conversation::{Conversation, ConversationSummary, Turn, TurnState};
use tributary_schemas::report::KeptReport;
use tributary_schemas::user_profile::StoredUserProfile;

use crate::conversations::{ReportBeginning, rules};

/// Version of what is described here; part of the names.
const FORMAT: u32 = 1;

/// The indices.
#[derive(Clone, Debug)]
pub struct Names {
    /// Of conversations.
    pub conversations: Name,
    /// Of turns.
    pub turns: Name,
    /// Of profiles of users.
    pub user_profiles: Name,
    /// Of reports.
    pub reports: Name,
}

/// An index.
#[derive(Clone, Debug)]
pub struct Name {
    /// Its own name.
    pub index: String,
    /// The alias that writes go through.
    pub writes: String,
}

impl Names {
    /// Those of an installation. No generation of the search index has such a name.
    pub fn new(prefix: &str) -> Self {
        let name = |what: &str| Name {
            index: format!("{prefix}-{what}={FORMAT}"),
            writes: format!("{prefix}-{what}=writes"),
        };
        Self {
            conversations: name("conversations"),
            turns: name("turns"),
            user_profiles: name("user-profiles"),
            reports: name("reports"),
        }
    }
}

/// Whether the turns of a conversation are complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Upkeep {
    /// Nothing is to be removed.
    Open,
    /// Turns of earlier epochs are.
    Cleared,
    /// All of it is.
    Deleted,
}

/// `_source` of a conversation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConversationRecord {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    pub title: String,
    pub title_folded: String,
    pub created_at_ms: u64,
    pub updated_at_ms: u64,
    pub turns: u64,
    pub epoch: u64,
    pub state: Upkeep,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<ConversationSummary>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<Pending>,
}

/// The turn that was begun last, until another one shows that it has ended or takes its place.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pending {
    pub turn: Turn,
    /// Of the call that wrote it: a write whose answer was lost knows itself again.
    pub nonce: String,
    /// What tells requests of one key apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

/// `_source` of a turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TurnRecord {
    pub id: String,
    pub conversation: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    pub epoch: u64,
    pub number: u64,
    pub state: TurnState,
    pub has_feedback: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    pub turn: Turn,
}

impl ConversationRecord {
    pub fn new(id: String, owner: Option<&str>, title: &str, now_ms: u64) -> Self {
        Self {
            id,
            owner: owner.map(str::to_owned),
            title: title.to_owned(),
            title_folded: rules::folded(title),
            created_at_ms: now_ms,
            updated_at_ms: now_ms,
            turns: 0,
            epoch: 0,
            state: Upkeep::Open,
            summary: None,
            pending: None,
        }
    }

    pub fn set_title(&mut self, title: &str) {
        self.title = title.to_owned();
        self.title_folded = rules::folded(title);
    }

    pub fn conversation(self) -> Conversation {
        Conversation {
            id: self.id,
            title: self.title,
            owner: self.owner,
            created_at_ms: self.created_at_ms,
            updated_at_ms: self.updated_at_ms,
            turns: self.turns,
        }
    }

    /// What tells the request of the pending turn from others of its key, if it is that one.
    pub fn pending_fingerprint(&self, turn_id: &str) -> Option<&str> {
        let pending = self.pending.as_ref()?;
        let fingerprint = pending.fingerprint.as_deref();
        fingerprint.filter(|_| pending.turn.id == turn_id)
    }

    /// The pending turn, if it is that one.
    pub fn pending_turn(&self, turn_id: &str) -> Option<&Turn> {
        let pending = self.pending.as_ref()?;
        (pending.turn.id == turn_id).then_some(&pending.turn)
    }

    /// Id of the turn of an idempotency key, after so many turns of it that failed.
    pub fn turn_id_of(&self, key: &str, failed: u64) -> String {
        let seed = match failed {
            0 => format!("{}/{}/{key}", self.id, self.epoch),
            _ => format!("{}/{}/{failed}\0{key}", self.id, self.epoch),
        };
        blake3::hash(seed.as_bytes())
            .to_hex()
            .chars()
            .take(32)
            .collect()
    }
}

impl TurnRecord {
    pub fn new(conversation: &ConversationRecord, turn: Turn) -> Self {
        Self {
            id: turn.id.clone(),
            conversation: conversation.id.clone(),
            owner: conversation.owner.clone(),
            epoch: conversation.epoch,
            number: turn.number,
            state: turn.state,
            has_feedback: turn.feedback.is_some(),
            fingerprint: conversation
                .pending_fingerprint(&turn.id)
                .map(str::to_owned),
            turn,
        }
    }

    /// Whether it is a turn of the conversation as it is now.
    pub fn is_of(&self, conversation: &ConversationRecord) -> bool {
        self.conversation == conversation.id && self.epoch == conversation.epoch
    }
}

/// `_source` of a profile.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UserProfileRecord {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    pub user: String,
    pub stored: StoredUserProfile,
}

impl UserProfileRecord {
    pub fn new(owner: Option<&str>, stored: StoredUserProfile) -> Self {
        Self {
            id: Self::id_of(owner, &stored.user),
            owner: owner.map(str::to_owned),
            user: stored.user.clone(),
            stored,
        }
    }

    /// A name may hold what a path may not.
    pub fn id_of(owner: Option<&str>, user: &str) -> String {
        let seed = serde_json::json!([owner, user]).to_string();
        blake3::hash(seed.as_bytes()).to_hex().to_string()
    }
}

/// `_source` of a report.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReportRecord {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    pub updated_at_ms: u64,
    pub fingerprint: String,
    pub kept: KeptReport,
}

impl ReportRecord {
    pub fn new(owner: Option<&str>, beginning: &ReportBeginning, now_ms: u64) -> Self {
        Self {
            id: Self::id_of(owner, &beginning.id),
            owner: owner.map(str::to_owned),
            conversation: beginning.request.conversation_id.clone(),
            updated_at_ms: now_ms,
            fingerprint: beginning.fingerprint.clone(),
            kept: KeptReport {
                id: beginning.id.clone(),
                request: beginning.request.clone(),
                updated_at_ms: now_ms,
                ..KeptReport::default()
            },
        }
    }

    /// Ids of two owners may be alike.
    pub fn id_of(owner: Option<&str>, id: &str) -> String {
        let seed = json!([owner, id]).to_string();
        blake3::hash(seed.as_bytes()).to_hex().to_string()
    }

    pub fn touch(&mut self, now_ms: u64) {
        self.updated_at_ms = now_ms;
        self.kept.updated_at_ms = now_ms;
    }
}

fn body(name: &Name, prefix: &str, replicas: u32, properties: &Value) -> Value {
    json!({
        "settings": {"index": {"number_of_shards": 1, "number_of_replicas": replicas}},
        "aliases": {name.writes.clone(): {"is_hidden": true}},
        "mappings": {
            "dynamic": false,
            "_meta": {"tributary_conversations": {"format": FORMAT, "prefix": prefix}},
            "properties": properties,
        },
    })
}

/// What the index of conversations is created with.
pub fn conversations_body(names: &Names, prefix: &str, replicas: u32) -> Value {
    let properties = json!({
        "id": {"type": "keyword"},
        "owner": {"type": "keyword"},
        "title": {"type": "keyword", "index": false, "doc_values": false},
        "title_folded": {"type": "keyword"},
        "created_at_ms": {"type": "long"},
        "updated_at_ms": {"type": "long"},
        "turns": {"type": "long"},
        "epoch": {"type": "long"},
        "state": {"type": "keyword"},
        "pending": {"type": "object", "enabled": false},
    });
    body(&names.conversations, prefix, replicas, &properties)
}

/// What the index of turns is created with.
pub fn turns_body(names: &Names, prefix: &str, replicas: u32) -> Value {
    let properties = json!({
        "id": {"type": "keyword"},
        "conversation": {"type": "keyword"},
        "owner": {"type": "keyword"},
        "epoch": {"type": "long"},
        "number": {"type": "long"},
        "state": {"type": "keyword"},
        "has_feedback": {"type": "boolean"},
        "turn": {"type": "object", "enabled": false},
    });
    body(&names.turns, prefix, replicas, &properties)
}

/// What the index of profiles is created with.
pub fn user_profiles_body(names: &Names, prefix: &str, replicas: u32) -> Value {
    let properties = json!({
        "owner": {"type": "keyword"},
        "user": {"type": "keyword"},
        "stored": {"type": "object", "enabled": false},
    });
    body(&names.user_profiles, prefix, replicas, &properties)
}

/// What the index of reports is created with.
pub fn reports_body(names: &Names, prefix: &str, replicas: u32) -> Value {
    let properties = json!({
        "id": {"type": "keyword"},
        "conversation": {"type": "keyword"},
        "updated_at_ms": {"type": "long"},
        "kept": {"type": "object", "enabled": false},
    });
    body(&names.reports, prefix, replicas, &properties)
}

/// A condition on the owner; none has documents without one.
pub fn owned_by(owner: Option<&str>) -> Value {
    match owner {
        Some(owner) => json!({"term": {"owner": owner}}),
        None => json!({"bool": {"must_not": {"exists": {"field": "owner"}}}}),
    }
}

/// A condition on a part of a title.
pub fn title_holds(folded: &str) -> Value {
    let mut pattern = String::from("*");
    for sign in folded.chars() {
        if matches!(sign, '*' | '?' | '\\') {
            pattern.push('\\');
        }
        pattern.push(sign);
    }
    pattern.push('*');
    json!({"wildcard": {"title_folded": {"value": pattern}}})
}

/// A condition that matches the turns of the conversation as it is now.
pub fn turns_of(conversation: &ConversationRecord) -> Value {
    json!([
        {"term": {"conversation": conversation.id}},
        {"term": {"epoch": conversation.epoch}},
    ])
}
