//! Who may see a document, as far as that is known before it is read: what its event says, and what
//! the profile of its source adds. The server obeys it from the publication on.

use tributary_schemas::{Access, Attributes, DocumentHeader, DocumentRights};

use super::{Condition, FoldedText, SourceProfile, fill_attributes};

impl SourceProfile {
    /// The rights that a document with these attributes and this path will have at least. A rule
    /// that looks at more than the path may or may not hold once the document is read: what only
    /// such a rule decides is taken for open, so that this withholds nothing that will be shown.
    pub fn rights_before_reading(
        &self,
        attributes: &Attributes,
        source_path: &str,
    ) -> DocumentRights {
        let mut document = DocumentHeader {
            source_path: source_path.to_owned(),
            attributes: attributes.clone(),
            ..DocumentHeader::default()
        };
        let nothing = FoldedText::new("");
        for rule in &self.attribute_rules {
            if !rule.condition.is_about_the_path_alone() {
                fill_attributes(&mut document.attributes, &opened(&rule.attributes));
            } else if rule.condition.holds(&document, &nothing) {
                fill_attributes(&mut document.attributes, &rule.attributes);
            }
        }
        fill_attributes(&mut document.attributes, &self.attributes);
        DocumentRights::stated(&document.attributes)
    }
}

impl Condition {
    fn is_about_the_path_alone(&self) -> bool {
        let path_alone = Self {
            path: self.path.clone(),
            ..Self::default()
        };
        *self == path_alone
    }
}

/// The rights among these attributes, each as open as it can be.
fn opened(attributes: &Attributes) -> Attributes {
    Attributes {
        access: attributes.access.as_ref().map(|_| Access::default()),
        security_level: attributes.security_level.map(|_| 0),
        section_levels: attributes.section_levels.as_ref().map(|_| Vec::new()),
        ..Attributes::default()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::SourceProfiles;
    use super::*;

    const PROFILES: &str = r#"
[[source_profile]]
name = "wiki"
source = ["wiki"]
attributes = { security_level = 1, access = { groups = ["all"] } }
attribute_rules = [
  { path = ["secret/*"], attributes = { security_level = 3 } },
  { text = ["draft"], attributes = { access = { groups = ["editors"] } } },
]
"#;

    fn rights(profiles: &str, attributes: &Attributes, path: &str) -> DocumentRights {
        let profiles = SourceProfiles::from_toml(profiles).unwrap();
        profiles
            .profile("wiki")
            .rights_before_reading(attributes, path)
    }

    fn groups(groups: &[&str]) -> Option<Access> {
        Some(Access {
            groups: Some(groups.iter().map(|group| (*group).to_owned()).collect()),
            users: None,
        })
    }

    #[test]
    fn what_the_event_says_comes_before_what_the_profile_adds() {
        let said = Attributes {
            access: groups(&["radio"]),
            ..Attributes::default()
        };
        let known = rights(PROFILES, &said, "a.md");
        assert_eq!(
            (known.access, known.security_level),
            (groups(&["radio"]), 1)
        );
        let known = rights(PROFILES, &said, "secret/a.md");
        assert_eq!(
            (known.access, known.security_level),
            (groups(&["radio"]), 3)
        );
    }

    #[test]
    fn what_the_text_decides_is_taken_for_open() {
        let known = rights(PROFILES, &Attributes::default(), "a.md");
        assert_eq!(known.access, Some(Access::default()));
        let without_rule = PROFILES.replace("text = [\"draft\"]", "path = [\"draft/*\"]");
        let known = rights(&without_rule, &Attributes::default(), "a.md");
        assert_eq!(known.access, groups(&["all"]));
    }

    #[test]
    fn of_what_nobody_says_anything_nothing_is_said() {
        let known = rights("", &Attributes::default(), "a.md");
        assert_eq!(known, DocumentRights::default());
    }
}
