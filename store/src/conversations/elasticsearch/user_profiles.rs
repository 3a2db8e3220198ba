//! Profiles of users in the cluster.

use async_trait::async_trait;
use serde_json::json;
use tributary_schemas::Result;
use tributary_schemas::user_profile::{StoredUserProfile, UserProfile};

use super::cluster::{Guard, Search, Stored};
use super::records::{UserProfileRecord, owned_by};
use super::{ATTEMPTS, ElasticsearchConversations, page, too_busy};
use crate::conversations::{Page, UserProfileStore, rules};

impl ElasticsearchConversations {
    async fn stored_profile(
        &self,
        owner: Option<&str>,
        user: &str,
    ) -> Result<Option<Stored<UserProfileRecord>>> {
        let id = UserProfileRecord::id_of(owner, user);
        self.cluster
            .get(&self.cluster.names.user_profiles, &id)
            .await
    }
}

#[async_trait]
impl UserProfileStore for ElasticsearchConversations {
    async fn put_user_profile(
        &self,
        owner: Option<&str>,
        user: &str,
        profile: UserProfile,
    ) -> Result<StoredUserProfile> {
        rules::check_user(user)?;
        rules::check_profile(&profile)?;
        let stored = StoredUserProfile {
            user: user.to_owned(),
            profile,
            updated_at_ms: self.now_ms(),
        };
        let record = UserProfileRecord::new(owner, stored.clone());
        let name = &self.cluster.names.user_profiles;
        for _ in 0..ATTEMPTS {
            let before = self.stored_profile(owner, user).await?;
            let guard = before.map_or(Guard::Absent, |before| before.unchanged());
            if self.cluster.put(name, &record.id, guard, &record).await? {
                return Ok(stored);
            }
        }
        Err(too_busy())
    }

    async fn user_profile(&self, owner: Option<&str>, user: &str) -> Result<StoredUserProfile> {
        let found = self.stored_profile(owner, user).await?;
        let found = found.map(|found| found.source.stored);
        found.ok_or_else(|| rules::no_user_profile(user))
    }

    async fn delete_user_profile(&self, owner: Option<&str>, user: &str) -> Result<()> {
        self.user_profile(owner, user).await?;
        let id = UserProfileRecord::id_of(owner, user);
        let name = &self.cluster.names.user_profiles;
        self.cluster.remove(name, &id).await
    }

    async fn user_profiles(
        &self,
        owner: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page<StoredUserProfile>> {
        after.map(rules::check_user).transpose()?;
        let search = Search {
            filter: json!([owned_by(owner)]),
            sort: json!([{"user": "asc"}]),
            after: after.map(|user| json!([user])),
            limit: limit.saturating_add(1),
        };
        let name = &self.cluster.names.user_profiles;
        let found: Vec<UserProfileRecord> = self.cluster.search(name, search).await?;
        let found = found.into_iter().map(|record| record.stored);
        Ok(page(found.collect(), limit, |stored| stored.user.clone()))
    }
}
