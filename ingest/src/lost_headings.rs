//! Headings that a step takes away: the text below them would lose the security level that a rule
//! gives it by its heading, so the document as a whole gets that level.

use tributary_convert::lines::{LineKind, classified, heading_text};
use tributary_schemas::{Attributes, SectionLevel, section_level};

/// Levels of the headings of a text, as it was before some steps.
pub(crate) struct Before {
    rules: Vec<SectionLevel>,
    levels: [usize; LEVELS],
}

/// How many levels there are.
const LEVELS: usize = 256;

impl Before {
    /// For rules that give sections levels; costs nothing without any.
    pub(crate) fn new(rules: Vec<SectionLevel>, markdown: &str) -> Self {
        Self {
            levels: levels(&rules, markdown),
            rules,
        }
    }

    /// Raises the document's level to that of the strictest heading that is not there any more.
    pub(crate) fn guard(&self, markdown: &str, attributes: &mut Attributes) {
        let after = levels(&self.rules, markdown);
        let counts = self.levels.iter().zip(after);
        let lost = counts.enumerate().rev();
        let lost = lost.filter(|(_, (before, after))| after < before);
        let highest = lost.map(|(level, _)| level).next();
        if let Some(level) = highest.and_then(|level| u8::try_from(level).ok()) {
            attributes.raise_security_level(level);
        }
    }
}

/// Headings by level.
fn levels(rules: &[SectionLevel], markdown: &str) -> [usize; LEVELS] {
    let mut counts = [0; LEVELS];
    if rules.is_empty() {
        return counts;
    }
    for (line, kind) in classified(markdown) {
        let is_heading = matches!(kind, LineKind::Heading(_));
        let level = is_heading.then(|| level_of(rules, heading_text(line)));
        let count = level
            .flatten()
            .and_then(|level| counts.get_mut(usize::from(level)));
        if let Some(count) = count {
            *count += 1;
        }
    }
    counts
}

/// By a heading as it is written, and without marks of emphasis and code.
fn level_of(rules: &[SectionLevel], heading: &str) -> Option<u8> {
    let plain = heading.replace(['*', '_', '`'], "");
    let by = |title: &str| section_level::level_of(rules, title);
    by(heading).max(by(&plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_that_goes_raises_the_level_of_the_whole() {
        let rule = |heading: &str, security_level| SectionLevel {
            heading: heading.to_owned(),
            security_level,
        };
        let rules = vec![rule("Internal*", 3), rule("*Secret*", 7)];
        let text = "# T\n\n## **Internal**\n\na\n\nSecret\n------\n\nb\n\n## Internal\n\nc\n";
        let table = [
            (text.to_owned(), None),
            (text.replace("# T", "# U"), None),
            (text.replacen("## Internal\n", "", 1), Some(3)),
            (text.replace("------", ""), Some(7)),
            ("nothing".to_owned(), Some(7)),
        ];
        for (after, expected) in table {
            let mut attributes = Attributes::default();
            Before::new(rules.clone(), text).guard(&after, &mut attributes);
            assert_eq!(attributes.security_level, expected, "{after}");
        }
        let mut higher = Attributes::default();
        higher.raise_security_level(9);
        Before::new(rules, text).guard("nothing", &mut higher);
        assert_eq!(higher.security_level, Some(9));
    }
}
