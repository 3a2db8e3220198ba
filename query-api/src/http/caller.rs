//! Who asks: what a request is allowed, as every handler gets it. Only [`super::rights`] makes one
//! of a request.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use tributary_retrieval::Principal;
use tributary_schemas::audit::AuditCaller;
use tributary_schemas::{SharedNewestRights, Viewer};
use tributary_store::keys::{Grant, Holder, Role};
use tributary_store::manifest::Standing;

use crate::problem::{Code, Problem};

/// Who asks, what they may see and what they may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// What they may see, and whose conversations are meant.
    pub principal: Principal,
    roles: Vec<Grant>,
    /// Id of the key, for the log; `None` without one.
    key: Option<String>,
    /// What people call the key or the user.
    name: Option<String>,
    /// What let them in.
    kind: AuditCaller,
}

/// What decides beside a caller's own rights which documents they see.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Whether readers see documents of which nobody said who may see them.
    pub sees_unstated: bool,
    /// Rights that are newer than those that the index has.
    pub newest: SharedNewestRights,
}

impl Caller {
    /// Whoever reaches a server that asks for no key: may do everything.
    pub fn local() -> Self {
        Self {
            principal: Principal::unrestricted(),
            roles: vec![Grant::Administrator],
            key: None,
            name: None,
            kind: AuditCaller::Anyone,
        }
    }

    /// Somebody without a key, on a path that is open to all: may do nothing.
    pub fn nobody() -> Self {
        Self {
            principal: Principal::nobody(),
            roles: Vec::new(),
            key: None,
            name: None,
            kind: AuditCaller::Nobody,
        }
    }

    /// Whoever holds a key. What administrators ask belongs to the owner of the data folder, as
    /// what was asked before there were keys, and they see every document.
    pub fn of(holder: Holder, reading: &Reading) -> Self {
        let is_administrator = holder.roles.contains(&Grant::Administrator);
        let principal = match (is_administrator, holder.id.clone()) {
            (true, _) => Principal::unrestricted(),
            // No roles and no key: nothing makes such a one.
            (false, None) => Principal::nobody(),
            (false, Some(id)) => {
                let viewer = Viewer {
                    groups: holder.groups,
                    user: Some(id.clone()),
                    clearance: holder.clearance,
                    sees_unstated: reading.sees_unstated,
                    newest: reading.newest.clone(),
                    ..Viewer::default()
                };
                Principal::of(id, viewer)
            }
        };
        Self {
            principal,
            roles: holder.roles,
            kind: match &holder.id {
                // Ids of keys are hexadecimal digits.
                Some(id) if id.contains(':') => AuditCaller::User,
                Some(_) => AuditCaller::Key,
                None => AuditCaller::DataFolder,
            },
            key: holder.id,
            name: holder.name,
        }
    }

    /// Whose conversations are meant; `None` for the owner of the data folder.
    pub fn owner(&self) -> Option<&str> {
        self.principal.owner.as_deref()
    }

    /// Id of the key that was shown.
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// What people call that key, or the user; more than one may be called so.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// What let them in.
    pub fn kind(&self) -> AuditCaller {
        self.kind
    }

    /// What they may do.
    pub fn roles(&self) -> &[Grant] {
        &self.roles
    }

    /// Whether they have one of these roles. Administrators have all.
    pub fn has_one_of(&self, roles: &[Role]) -> bool {
        let has = |role: Role| role == Role::Administrator || roles.contains(&role);
        self.roles.iter().any(|grant| has(grant.role()))
    }

    /// Whether they may read what documents hold.
    pub fn reads(&self) -> bool {
        self.has_one_of(&[Role::Reader])
    }

    /// Whose rights by document hold; `None` for who may see every document.
    pub fn viewer(&self) -> Option<&Viewer> {
        self.principal.viewer.as_ref()
    }

    /// Whether they may see what reports say of a document: readers as its rights allow,
    /// publishers what is theirs.
    pub fn sees(&self, standing: Standing<'_>) -> bool {
        let is_told = |viewer: &Viewer| standing.told(viewer).is_some();
        let reads = || self.viewer().is_none_or(is_told);
        self.publishes(standing.source) || (self.reads() && reads())
    }

    /// Whether they may do everything.
    pub fn is_administrator(&self) -> bool {
        self.has_one_of(&[])
    }

    /// Whether they may publish and delete under this source.
    pub fn publishes(&self, source: &str) -> bool {
        self.is_administrator()
            || self.roles.iter().any(|grant| match grant {
                Grant::Publisher { sources } => sources.iter().any(|own| own == source),
                _ => false,
            })
    }

    /// `denied` unless they may define these knowledge sets and build the index anew for them; an
    /// empty list stands for the index as a whole.
    pub fn require_building(&self, knowledge_sets: &[String]) -> Result<(), Problem> {
        let builds = |grant: &Grant| match grant {
            Grant::Administrator => true,
            Grant::Builder {
                knowledge_sets: None,
            } => true,
            Grant::Builder {
                knowledge_sets: Some(own),
            } => !knowledge_sets.is_empty() && knowledge_sets.iter().all(|set| own.contains(set)),
            Grant::Reader | Grant::Publisher { .. } => false,
        };
        if self.roles.iter().any(builds) {
            return Ok(());
        }
        let what = "this key may build other knowledge sets only";
        Err(Problem::new(Code::Denied, what)
            .with_hint("`tributary keys list` shows which; an administrator makes another key"))
    }
}

impl FromRequest for Caller {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    /// What the route's right let in. Fails where a route has none: nothing is open by mistake.
    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let caller = request.extensions().get::<Self>().cloned();
        ready(caller.ok_or_else(|| {
            let what = format!("{} is registered without a right", request.path());
            Problem::new(Code::Internal, what)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(roles: Vec<Grant>) -> Caller {
        Caller::of(
            Holder {
                id: Some("k".to_owned()),
                name: None,
                roles,
                groups: Vec::new(),
                clearance: 0,
                mark: [0; 32],
            },
            &Reading::default(),
        )
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn each_role_may_do_its_own_and_administrators_everything() {
        let publisher = caller(vec![Grant::Publisher {
            sources: names(&["wiki"]),
        }]);
        assert!(publisher.publishes("wiki") && !publisher.publishes("wiki2"));
        assert!(!publisher.publishes("") && !publisher.reads());
        let builder = caller(vec![Grant::Builder {
            knowledge_sets: Some(names(&["a", "b"])),
        }]);
        assert!(builder.require_building(&names(&["a", "b"])).is_ok());
        assert!(builder.require_building(&names(&["a", "c"])).is_err());
        assert!(builder.require_building(&[]).is_err());
        let administrator = caller(vec![Grant::Reader, Grant::Administrator]);
        assert!(administrator.publishes("any") && administrator.reads());
        assert!(administrator.require_building(&[]).is_ok());
        assert!(!caller(vec![Grant::Reader]).is_administrator());
        let nobody = Caller::nobody();
        assert!(!nobody.reads() && !nobody.publishes("wiki") && !nobody.is_administrator());
    }

    #[test]
    fn conversations_belong_to_the_key_and_those_of_administrators_to_the_folder() {
        assert_eq!(caller(vec![Grant::Reader]).owner(), Some("k"));
        assert_eq!(caller(vec![Grant::Administrator]).owner(), None);
        assert_eq!(Caller::local().owner(), None);
        assert_eq!(Caller::local().viewer(), None);
        assert_eq!(caller(vec![Grant::Administrator]).viewer(), None);
        assert!(caller(vec![Grant::Reader]).viewer().is_some());
        assert_ne!(Caller::nobody().owner(), None);
    }
}
