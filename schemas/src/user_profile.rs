//! What is known of a user (画像): it re-weighs what is found, and never leaves anything out.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::strict;

/// Most weights of tags, and most preferred knowledge sets.
pub const MAXIMUM_PREFERENCES: usize = 100;
/// Most characters of a tag, a knowledge set or a user's name.
pub const MAXIMUM_NAME_CHARACTERS: usize = 100;
/// Lowest and highest weight of a tag: nothing is weighed away.
pub const TAG_WEIGHTS: std::ops::RangeInclusive<f32> = 0.1..=10.0;
/// How far the weight of the vector side may be shifted, either way.
pub const MAXIMUM_SHIFT: f32 = 0.3;
/// Languages that can be preferred.
pub const LANGUAGES: [&str; 2] = ["en", "zh"];

/// What a user prefers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserProfile {
    /// Tag → weight that fine scores are multiplied with, 0.1 to 10; 1 is neutral.
    #[serde(default, deserialize_with = "strict::distinct")]
    pub tag_weights: BTreeMap<String, f32>,
    /// Added to the weight of the vector side of a hybrid search, -0.3 to 0.3: less finds the words
    /// of the question, more what it means.
    #[serde(default)]
    pub vector_weight_shift: f32,
    /// Knowledge sets whose documents come before others that are as good.
    #[serde(default)]
    pub preferred_sets: Vec<String>,
    /// `zh` or `en`: texts in it come before others that are as good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preferred_language: Option<String>,
}

/// A profile that is kept for a user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StoredUserProfile {
    /// The user's name.
    pub user: String,
    /// What they prefer.
    pub profile: UserProfile,
    /// Milliseconds since 1970 of its last change.
    pub updated_at_ms: u64,
}

impl UserProfile {
    /// Everything that is wrong with it, one line each.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = self.problems_of_lists();
        for (tag, weight) in &self.tag_weights {
            if !TAG_WEIGHTS.contains(weight) {
                let (low, high) = (TAG_WEIGHTS.start(), TAG_WEIGHTS.end());
                problems.push(format!(
                    "the weight of tag `{tag:.100}` is {weight}, it must be between {low} and {high}"
                ));
            }
        }
        let shift = self.vector_weight_shift;
        if !(-MAXIMUM_SHIFT..=MAXIMUM_SHIFT).contains(&shift) {
            problems.push(format!(
                "vector_weight_shift is {shift}, it must be between -{MAXIMUM_SHIFT} and {MAXIMUM_SHIFT}"
            ));
        }
        if let Some(language) = &self.preferred_language
            && !LANGUAGES.contains(&language.as_str())
        {
            let known = LANGUAGES.join(", ");
            problems.push(format!(
                "preferred_language is `{language:.20}`, it must be one of {known}"
            ));
        }
        problems
    }

    fn problems_of_lists(&self) -> Vec<String> {
        let counts = [
            ("tag_weights", self.tag_weights.len()),
            ("preferred_sets", self.preferred_sets.len()),
        ];
        let too_many = counts
            .iter()
            .filter(|(_, count)| *count > MAXIMUM_PREFERENCES);
        let too_many = too_many.map(|(name, count)| {
            format!("{name} has {count} values, at most {MAXIMUM_PREFERENCES} are accepted")
        });
        let is_no_name = |name: &&String| {
            name.trim().is_empty() || name.chars().count() > MAXIMUM_NAME_CHARACTERS
        };
        let names = self.tag_weights.keys().chain(&self.preferred_sets);
        let no_names = names.filter(is_no_name).map(|name| {
            format!(
                "`{name:.100}` is no name: a name has 1 to {MAXIMUM_NAME_CHARACTERS} characters"
            )
        });
        too_many.chain(no_names).collect()
    }
}

/// Whether a user can have this name: letters, digits and `.`, `_`, `@`, `-`, at most 100.
pub fn is_user_name(name: &str) -> bool {
    let is_allowed = |sign: char| sign.is_alphanumeric() || ".-_@".contains(sign);
    let has_letter = name.chars().any(char::is_alphanumeric);
    has_letter && name.chars().count() <= MAXIMUM_NAME_CHARACTERS && name.chars().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(json: serde_json::Value) -> UserProfile {
        serde_json::from_value(json).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn what_is_out_of_bounds_is_named() {
        let good = serde_json::json!({"tag_weights": {"5G": 2.0}, "vector_weight_shift": -0.3,
            "preferred_sets": ["radio"], "preferred_language": "zh"});
        assert_eq!(profile(good).problems(), Vec::<String>::new());
        let many: Vec<String> = (0..101).map(|at| format!("set{at}")).collect();
        let table = [
            (serde_json::json!({"tag_weights": {"5G": 0.0}}), "`5G`"),
            (serde_json::json!({"tag_weights": {"": 1.0}}), "no name"),
            (serde_json::json!({"vector_weight_shift": 0.31}), "0.31"),
            (serde_json::json!({"preferred_language": "fr"}), "`fr`"),
            (serde_json::json!({"preferred_sets": many}), "101 values"),
        ];
        for (json, part) in table {
            let problems = profile(json).problems().join("; ");
            assert!(problems.contains(part), "{part}: {problems}");
        }
        let not_a_number = UserProfile {
            vector_weight_shift: f32::NAN,
            ..UserProfile::default()
        };
        assert_eq!(not_a_number.problems().len(), 1);
    }

    #[test]
    fn a_tag_has_one_weight() {
        let twice = r#"{"tag_weights": {"5G": 2.0, "4G": 1.0, "5G": 0.5}}"#;
        let refused = serde_json::from_str::<UserProfile>(twice).map_err(|error| error.to_string());
        let message = refused.err().unwrap_or_default();
        assert!(message.contains("`5G` is given twice"), "{message}");
    }

    #[test]
    fn names_of_users_are_short_and_plain() {
        for name in ["anna", "李雷", "a.b-c_d@example.org"] {
            assert!(is_user_name(name), "{name}");
        }
        for name in ["", ".", "a b", "a/b", "a\n", &"a".repeat(101)] {
            assert!(!is_user_name(name), "{name}");
        }
    }
}
