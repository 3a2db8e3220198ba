//! Security levels of sections: rules that a document carries in its attributes, each of which
//! gives the sections below some headings a level of their own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::width::to_half_width;
use crate::{Error, ErrorKind, Result, limits};

/// A rule: sections with such a heading, and all below them, have at least this level.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SectionLevel {
    /// The heading's text without marks; `*` stands for anything, case, full width and runs of blanks
    /// make no difference. At most 256 bytes.
    #[schemars(length(max = limits::SECTION_HEADING_BYTES))]
    pub heading: String,
    /// Security level (密级) of such sections, beside that of the document: the higher one counts.
    pub security_level: u8,
}

impl SectionLevel {
    /// `Invalid` for a heading that is empty or too long.
    pub fn check(&self) -> Result<()> {
        const FIELD: &str = "attributes.section_levels.heading";
        limits::bytes(FIELD, &self.heading, limits::SECTION_HEADING_BYTES)?;
        if self.heading.trim().is_empty() {
            let what = format!("`{FIELD}` is empty");
            return Err(Error::new(ErrorKind::Invalid, what)
                .with_hint("name a heading, such as `Internal*`; `*` stands for any"));
        }
        Ok(())
    }

    /// Whether sections with this heading are meant.
    pub fn matches(&self, heading: &str) -> bool {
        let (pattern, heading) = (folded(&self.heading), folded(heading));
        let mut pieces = pattern.split('*');
        let first = pieces.next().unwrap_or_default();
        let Some(mut rest) = heading.strip_prefix(first) else {
            return false;
        };
        let Some(last) = pieces.next_back() else {
            return rest.is_empty();
        };
        for piece in pieces {
            let Some((_, after)) = rest.split_once(piece) else {
                return false;
            };
            rest = after;
        }
        rest.ends_with(last)
    }
}

/// The highest level that rules give sections with this heading; `None` where none means it.
pub fn level_of(rules: &[SectionLevel], heading: &str) -> Option<u8> {
    let meant = rules.iter().filter(|rule| rule.matches(heading));
    meant.map(|rule| rule.security_level).max()
}

/// The highest level of all rules; `None` without any.
pub fn highest(rules: &[SectionLevel]) -> Option<u8> {
    rules.iter().map(|rule| rule.security_level).max()
}

/// `Invalid` for too many rules, and for one that is wrong.
pub fn check(rules: &[SectionLevel]) -> Result<()> {
    let field = "attributes.section_levels";
    limits::number(field, rules.len(), limits::SECTION_LEVELS)?;
    rules.iter().try_for_each(SectionLevel::check)
}

fn folded(text: &str) -> String {
    let narrow: String = text.chars().map(to_half_width).collect();
    let words: Vec<String> = narrow.split_whitespace().map(str::to_lowercase).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(heading: &str, security_level: u8) -> SectionLevel {
        SectionLevel {
            heading: heading.to_owned(),
            security_level,
        }
    }

    #[test]
    fn a_star_stands_for_anything_and_case_for_nothing() {
        let table = [
            ("Internal", "internal", true),
            ("Internal", "Internal notes", false),
            ("Internal*", "INTERNAL  notes", true),
            ("*internal*", "2.1 For internal use", true),
            ("*internal", "2.1 Internal", true),
            ("*internal", "2.1 Internally", false),
            ("a*b*a", "a b a", true),
            ("a*b*a", "ab", false),
            ("a*a", "a", false),
            ("*", "", true),
            ("内部*", "内部 说明", true),
            ("内部*", "说明", false),
            ("*.*", "1.2", true),
            ("ÄÖ*", "äö x", true),
            ("Internal*", "Ｉｎｔｅｒｎａｌ　notes", true),
            ("（内部）*", "(内部) 说明", true),
        ];
        for (pattern, heading, expected) in table {
            let matches = rule(pattern, 1).matches(heading);
            assert_eq!(matches, expected, "{pattern} {heading}");
        }
    }

    #[test]
    fn of_several_rules_the_highest_counts() {
        let rules = [rule("Internal*", 2), rule("*secret*", 9), rule("x", 200)];
        assert_eq!(level_of(&rules, "Internal secrets"), Some(9));
        assert_eq!(level_of(&rules, "Public"), None);
        assert_eq!((highest(&rules), highest(&[])), (Some(200), None));
    }

    #[test]
    fn rules_have_limits() {
        assert!(check(&[rule("a", 1)]).is_ok());
        assert!(check(&[rule(" ", 1)]).is_err());
        assert!(check(&[rule(&"x".repeat(257), 1)]).is_err());
        assert!(check(&vec![rule("a", 1); 65]).is_err());
    }
}
