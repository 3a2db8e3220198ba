//! What a user prefers (画像) becomes weights of a plan: tags, knowledge sets, a language, and a
//! shift of the vector side. Preferences move what is found up or down; they open nothing that the
//! filter closes, and leave nothing out.

use std::collections::BTreeMap;

use tributary_schemas::search::{Preferences, SearchRequest};
use tributary_taxonomy::KnowledgeSets;
use tributary_taxonomy::language::is_chinese;

use crate::config::UserProfileConfig;
use crate::error::SearchError;

/// Characters of a text that tell its language.
const TELLING_CHARACTERS: usize = 400;

/// Refuses a profile that breaks a rule. A knowledge set that does not exist is refused where the
/// request itself prefers it; one of a stored profile may have been removed since.
pub fn check(request: &SearchRequest, known: &KnowledgeSets) -> Result<(), SearchError> {
    let Some(profile) = &request.user_profile else {
        return match &request.user {
            None => Ok(()),
            Some(user) => Err(SearchError::Invalid(format!(
                "the profile of user `{user:.100}` is not at hand"
            ))),
        };
    };
    let problems = profile.problems();
    if !problems.is_empty() {
        let problems = problems.join("; ");
        return Err(SearchError::Invalid(format!("user_profile: {problems}")));
    }
    match request.user {
        Some(_) => Ok(()),
        None => known
            .check(&profile.preferred_sets)
            .map_err(SearchError::UnknownKnowledgeSet),
    }
}

/// Weights of tags: those of the request count before those of the user.
pub fn tag_weights(request: &SearchRequest) -> BTreeMap<String, f32> {
    let mut weights = match &request.user_profile {
        Some(profile) => profile.tag_weights.clone(),
        None => BTreeMap::new(),
    };
    weights.extend(request.profile.clone());
    weights
}

/// What is added to the weight of the vector side.
pub fn shift(request: &SearchRequest) -> f32 {
    let profile = request.user_profile.as_ref();
    profile.map_or(0.0, |profile| profile.vector_weight_shift)
}

/// What the plan says of a profile.
pub fn of(
    request: &SearchRequest,
    known: &KnowledgeSets,
    config: &UserProfileConfig,
) -> Option<Preferences> {
    let profile = request.user_profile.as_ref()?;
    let is_known = |set: &&String| known.check(std::slice::from_ref(*set)).is_ok();
    let (sets, unknown_sets): (Vec<&String>, Vec<&String>) =
        profile.preferred_sets.iter().partition(is_known);
    Some(Preferences {
        vector_weight_shift: profile.vector_weight_shift,
        sets: sets.into_iter().cloned().collect(),
        unknown_sets: unknown_sets.into_iter().cloned().collect(),
        set_weight: config.preferred_set,
        language: profile.preferred_language.clone(),
        language_weight: config.preferred_language,
    })
}

/// What the fine score of a chunk is multiplied with.
pub fn weight(preferences: &Preferences, sets: &[String], text: &str) -> f32 {
    let mut weight = 1.0;
    if sets.iter().any(|set| preferences.sets.contains(set)) {
        weight *= preferences.set_weight;
    }
    if let Some(language) = &preferences.language {
        let beginning: String = text.chars().take(TELLING_CHARACTERS).collect();
        if is_chinese(&beginning) == (language == "zh") {
            weight *= preferences.language_weight;
        }
    }
    weight
}

#[cfg(test)]
mod tests {
    use tributary_schemas::user_profile::UserProfile;

    use super::*;

    fn preferences(sets: &[&str], language: Option<&str>) -> Preferences {
        Preferences {
            vector_weight_shift: 0.0,
            sets: sets.iter().map(|set| (*set).to_owned()).collect(),
            unknown_sets: Vec::new(),
            set_weight: 1.2,
            language: language.map(str::to_owned),
            language_weight: 1.5,
        }
    }

    #[test]
    fn what_is_preferred_weighs_more_and_nothing_less() {
        let radio = ["radio".to_owned()];
        let table = [
            (preferences(&[], None), 1.0),
            (preferences(&["radio"], None), 1.2),
            (preferences(&["core"], None), 1.0),
            (preferences(&["radio"], Some("zh")), 1.2 * 1.5),
            (preferences(&["radio"], Some("en")), 1.2),
        ];
        for (preferences, expected) in table {
            let weight = weight(&preferences, &radio, "主小区负责随机接入");
            assert!(
                (weight - expected).abs() < 1e-6,
                "{preferences:?}: {weight}"
            );
        }
    }

    #[test]
    fn weights_of_the_request_count_before_those_of_the_user() {
        let weights = |pairs: &[(&str, f32)]| -> BTreeMap<String, f32> {
            let owned = pairs
                .iter()
                .map(|(tag, weight)| ((*tag).to_owned(), *weight));
            owned.collect()
        };
        let request = SearchRequest {
            profile: weights(&[("5G", 2.0)]),
            user_profile: Some(UserProfile {
                tag_weights: weights(&[("5G", 0.5), ("LTE", 3.0)]),
                ..UserProfile::default()
            }),
            ..SearchRequest::default()
        };
        let expected = weights(&[("5G", 2.0), ("LTE", 3.0)]);
        assert_eq!(tag_weights(&request), expected);
    }
}
