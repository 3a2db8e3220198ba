//! What is said of a user becomes what they may do and see, by the table of the configuration.
//! Whatever the table does not name gives nothing.

use std::collections::BTreeMap;

use tributary_schemas::Result;
use tributary_store::keys::{Grant, Holder};

use super::config::IdentityConfig;

/// Longest name that is shown, in bytes.
const MAXIMUM_NAME_BYTES: usize = 255;
/// More groups than a search is asked to look for.
const MAXIMUM_GROUPS: usize = 1000;

/// Whether this can be the name of a user, at most so many bytes: nothing that a log, a list or
/// the page would show as another name, such as marks that turn the direction of text, and signs
/// that nobody sees (Unicode's `Default_Ignorable_Code_Point`; joiners and the variants of signs
/// belong to names).
pub fn is_name(text: &str, maximum_bytes: usize) -> bool {
    let hides = |sign: char| {
        sign.is_control()
            || matches!(
                sign,
                '\u{ad}'
                    | '\u{34f}'
                    | '\u{61c}'
                    | '\u{115f}'..='\u{1160}'
                    | '\u{17b4}'..='\u{17b5}'
                    | '\u{180e}'
                    | '\u{200b}'
                    | '\u{200e}'
                    | '\u{200f}'
                    | '\u{2028}'..='\u{202e}'
                    | '\u{2060}'..='\u{2069}'
                    | '\u{3164}'
                    | '\u{feff}'
                    | '\u{ffa0}'
                    | '\u{e0000}'..='\u{e00ff}'
            )
    };
    !text.trim().is_empty() && text.len() <= maximum_bytes && !text.contains(hides)
}

/// What somebody says of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Groups as documents name them.
    pub groups: Vec<String>,
    /// Values of which the table makes roles.
    pub roles: Vec<String>,
    /// Clearances: numbers or names of levels; the highest counts.
    pub clearances: Vec<String>,
    /// What people call the user, which may be anything.
    pub name: Option<String>,
}

/// The table.
pub struct Mapping {
    roles: BTreeMap<String, Vec<Grant>>,
    levels: Vec<String>,
}

impl Mapping {
    /// `Invalid` for a role that is none.
    pub fn new(config: &IdentityConfig) -> Result<Self> {
        Ok(Self {
            roles: config.grants()?,
            levels: config.clearances.clone(),
        })
    }

    /// Who that is. `mark` stands for what was shown.
    pub fn holder(&self, id: String, said: Said, mark: [u8; 32]) -> Holder {
        let mut roles = Vec::new();
        for grant in said
            .roles
            .iter()
            .filter_map(|value| self.roles.get(value))
            .flatten()
        {
            if !roles.contains(grant) {
                roles.push(grant.clone());
            }
        }
        let mut groups = said.groups;
        groups.retain(|group| !group.trim().is_empty());
        if groups.len() > MAXIMUM_GROUPS {
            tracing::warn!(
                user = id,
                groups = groups.len(),
                "only the first 1000 groups count"
            );
            groups.truncate(MAXIMUM_GROUPS);
        }
        let clearance = said
            .clearances
            .iter()
            .filter_map(|said| self.level(said))
            .max();
        Holder {
            id: Some(id),
            name: said.name.filter(|name| is_name(name, MAXIMUM_NAME_BYTES)),
            roles,
            groups,
            clearance: clearance.unwrap_or(0),
            mark,
        }
    }

    /// The security level of a number or a name; nothing for what is neither.
    fn level(&self, said: &str) -> Option<u8> {
        let named = self.levels.iter().position(|name| name == said);
        match named {
            Some(below) => u8::try_from(below + 1).ok(),
            None => said.parse().ok(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::tests::server;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn names_show_what_they_are() {
        for name in ["a", "张三", "a b", "ali\u{200c}reza", "é"] {
            assert!(is_name(name, 20), "{name:?}");
        }
        for name in [
            "",
            "a\n",
            "a\u{202e}b",
            "\u{2066}a",
            "a\u{200f}",
            "a\u{feff}",
            "\u{9b}",
            " ",
            "a\u{ad}b",
            "a\u{e0041}b",
            "a\u{3164}",
        ] {
            assert!(!is_name(name, 20), "{name:?}");
        }
        assert!(!is_name("abc", 2));
    }

    #[test]
    fn only_what_the_table_names_gives_a_right() {
        let mut config = server().identity;
        config.roles.insert("readers".into(), "reader".into());
        config
            .roles
            .insert("编辑".into(), "reader; publisher=wiki".into());
        config.clearances = names(&["秘密", "机密", "绝密"]);
        let mapping = Mapping::new(&config).unwrap();
        let wiki = Grant::Publisher {
            sources: names(&["wiki"]),
        };
        let table = [
            (names(&[]), names(&[]), vec![], 0),
            (
                names(&["administrator", "reader", "Readers"]),
                names(&["top", "256", "-1"]),
                vec![],
                0,
            ),
            (
                names(&["readers", "编辑"]),
                names(&["机密", "1"]),
                vec![Grant::Reader, wiki],
                2,
            ),
            (
                names(&["readers"]),
                names(&["7", "绝密"]),
                vec![Grant::Reader],
                7,
            ),
        ];
        for (roles, clearances, expected, level) in table {
            let said = Said {
                groups: names(&["radio", " "]),
                roles,
                clearances,
                name: None,
            };
            let holder = mapping.holder("u".to_owned(), said, [0; 32]);
            assert_eq!((holder.roles, holder.clearance), (expected, level));
            assert_eq!(holder.groups, names(&["radio"]));
        }
    }

    #[test]
    fn a_name_is_shown_unless_it_would_look_like_another() {
        let mapping = Mapping::new(&server().identity).unwrap();
        let shown = |name: &str| {
            let name = Some(name.to_owned());
            let said = Said {
                name,
                ..Said::default()
            };
            mapping.holder("u".to_owned(), said, [0; 32]).name
        };
        assert_eq!(shown("张三").as_deref(), Some("张三"));
        for hidden in ["", "ali\u{202e}ce", &"a".repeat(256)] {
            assert_eq!(shown(hidden), None, "{hidden:?}");
        }
    }
}
