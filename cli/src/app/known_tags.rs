//! Tags that documents can have, for what the configuration says of them.

use std::collections::BTreeSet;

use tributary_ingest::external;
use tributary_taxonomy::{KnowledgeSets, SourceProfiles};

/// Tags that rules of source profiles and knowledge sets give. None where a service takes part in
/// cleaning, which may give any.
pub fn known_tags(profiles: &SourceProfiles, sets: &KnowledgeSets) -> Option<BTreeSet<String>> {
    let mut steps = profiles.iter().flat_map(|profile| &profile.cleaners);
    if steps.any(|step| step.step == external::NAME) {
        return None;
    }
    let of_profiles = profiles.iter().flat_map(|profile| &profile.tag_rules);
    let of_profiles = of_profiles.flat_map(|rule| &rule.tags);
    let of_sets = sets.iter().flat_map(|set| &set.rules);
    let of_sets = of_sets.flat_map(|rule| &rule.tags);
    Some(of_profiles.chain(of_sets).cloned().collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const SETS: &str = "[[knowledge_set]]\nid = \"radio\"\nname = \"Radio\"\nview = \"common\"\n\
        rules = [{ source = [\"wiki\"], tags = [\"5G\"] }]\n";

    fn known(profile: &str) -> Option<BTreeSet<String>> {
        let profiles = format!("[[source_profile]]\nname = \"default\"\n{profile}\n");
        let profiles = SourceProfiles::from_toml(&profiles).unwrap();
        known_tags(&profiles, &KnowledgeSets::from_toml(SETS).unwrap())
    }

    #[test]
    fn tags_are_those_of_all_rules_unless_a_service_gives_them() {
        let tags = known("tag_rules = [{ text = [\"eNodeB\"], tags = [\"LTE\"] }]");
        let expected = BTreeSet::from(["5G".to_owned(), "LTE".to_owned()]);
        assert_eq!(tags, Some(expected));
        let service = "cleaners = [{ step = \"external\", url = \"http://127.0.0.1:1/clean\" }]";
        assert_eq!(known(service), None);
    }
}
