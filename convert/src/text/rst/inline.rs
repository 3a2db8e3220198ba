//! Inline markup: literals, roles, links, emphasis, substitutions, footnote references, escapes.
//! Recognition is more lenient than docutils': markup beside Chinese characters needs no space.
//! Cost is linear: a mark that was looked for in vain is not looked for again.

use super::parser::Parser;
use super::references::Substitution;
use super::scanner::{MAXIMUM_NAME, Scanner};
use crate::escape::code_span;
use crate::escape::destination;

/// Markup within markup that is read.
const MAXIMUM_DEPTH: usize = 4;

impl Parser<'_> {
    /// Text with markup as Markdown; line ends become spaces, or nothing between wide characters.
    pub(super) fn inline(&mut self, text: &str) -> String {
        self.inline_at(text, 0)
    }

    pub(super) fn inline_at(&mut self, text: &str, depth: usize) -> String {
        if depth >= MAXIMUM_DEPTH {
            return crate::escape::escaped(text);
        }
        let mut scanner = Scanner {
            characters: text.trim().chars().collect(),
            at: 0,
            out: String::with_capacity(text.len()),
            endless: Vec::new(),
        };
        while let Some(character) = scanner.peek(0) {
            let before = scanner.at;
            let taken = scanner.may_start() && self.markup(character, &mut scanner, depth);
            if !taken {
                scanner.at = before;
                scanner.plain(character);
            }
        }
        scanner.out.trim().to_owned()
    }

    fn markup(&mut self, character: char, scanner: &mut Scanner, depth: usize) -> bool {
        match character {
            '`' if scanner.starts_with("``") => scanner.literal(),
            '`' => self.phrase(None, scanner, depth),
            ':' => self.role_before(scanner, depth),
            '*' if scanner.starts_with("**") => self.emphasis("**", scanner, depth),
            '*' => self.emphasis("*", scanner, depth),
            '|' => self.substitution(scanner, depth),
            '[' => self.note_reference(scanner),
            '_' if scanner.peek(1) == Some('`') => self.inline_target(scanner, depth),
            letter if letter.is_alphanumeric() => self.word(scanner),
            _ => false,
        }
    }

    /// `:role:` before its text.
    fn role_before(&mut self, scanner: &mut Scanner, depth: usize) -> bool {
        let Some(role) = scanner.role_at(scanner.at) else {
            return false;
        };
        let text_at = scanner.at + role.chars().count() + 2;
        if scanner.characters.get(text_at) != Some(&'`') {
            return false;
        }
        scanner.at = text_at;
        self.phrase(Some(role), scanner, depth)
    }

    /// Text in single backquotes: a role's text, a link or, without either, code.
    fn phrase(&mut self, role: Option<String>, scanner: &mut Scanner, depth: usize) -> bool {
        let Some(raw) = scanner.take_until("`", 1) else {
            return false;
        };
        let role = role.or_else(|| scanner.take_role());
        if let Some(role) = role {
            let shown = self.role(&role, &raw, depth);
            scanner.push_ready(&shown);
            return true;
        }
        let underscores = scanner.underscores();
        if underscores == 0 {
            scanner.push_ready(&code_span(&unescaped(&raw)));
            return true;
        }
        scanner.at += underscores;
        let shown = self.link(&raw, underscores == 2, depth);
        scanner.push_ready(&shown);
        true
    }

    /// `text <target>`_, `name`_ and `text`__.
    fn link(&mut self, raw: &str, is_anonymous: bool, depth: usize) -> String {
        let (text, target) = with_target(raw);
        let embedded = target.is_some();
        let link = match target {
            Some(target) => self.embedded_target(&target),
            None if is_anonymous => self.references.anonymous.pop_front(),
            None => self.references.link(&unescaped(raw)).map(str::to_owned),
        };
        let text = if embedded && text.is_empty() {
            link.clone().unwrap_or_default()
        } else {
            text
        };
        let shown = self.inline_at(&text, depth + 1);
        match link {
            Some(link) if !link.is_empty() => {
                format!("[{}]({})", shown.replace("](", "] ("), destination(&link))
            }
            _ => shown,
        }
    }

    /// Where a target in angle brackets leads: `name_` refers to one that has that name.
    fn embedded_target(&self, target: &str) -> Option<String> {
        let name = target
            .strip_suffix('_')
            .filter(|name| !name.is_empty() && !target.contains("://"));
        match name {
            Some(name) => self
                .references
                .link(name.trim_matches('`'))
                .map(str::to_owned),
            None => Some(unescaped(target).split_whitespace().collect()),
        }
    }

    fn emphasis(&mut self, mark: &'static str, scanner: &mut Scanner, depth: usize) -> bool {
        let opens = scanner
            .peek(mark.len())
            .is_some_and(|next| !next.is_whitespace() && next != '*');
        if !opens {
            return false;
        }
        let Some(raw) = scanner.take_until(mark, mark.len()) else {
            return false;
        };
        let shown = self.inline_at(&raw, depth + 1);
        // Marks within marks of the same kind would cancel each other.
        let marked = if shown.is_empty() || shown.contains('*') {
            shown
        } else {
            format!("{mark}{shown}{mark}")
        };
        scanner.push_ready(&marked);
        true
    }

    /// `|name|`, also as a link.
    fn substitution(&mut self, scanner: &mut Scanner, depth: usize) -> bool {
        let Some(name) = scanner.take_until("|", 1) else {
            return false;
        };
        let shown = match self.references.substitutions.get(name.trim()).cloned() {
            Some(Substitution::Text(text)) => self.inline_at(&text, depth + 1),
            Some(Substitution::Image(link, alt)) => self.image_markdown(&link, &alt),
            // Defined in the settings of the tool that builds the pages, or in a file that this one
            // includes: kept as it is written, for the cleaning step that fills it in.
            None if is_name(&name) => format!("|{}|", crate::escape::escaped(&name)),
            None => return false,
        };
        let underscores = scanner.underscores();
        scanner.at += underscores;
        match self.references.link(&name).filter(|_| underscores > 0) {
            Some(link) => scanner.push_ready(&format!("[{shown}]({})", destination(link))),
            None => scanner.push_ready(&shown),
        }
        true
    }

    /// `[1]_`, `[#name]_`, `[*]_`, `[CIT2002]_`.
    fn note_reference(&mut self, scanner: &mut Scanner) -> bool {
        let label: String = scanner
            .rest()
            .skip(1)
            .take(MAXIMUM_NAME)
            .take_while(|character| *character != ']')
            .collect();
        let end = scanner.at + label.chars().count() + 1;
        let closes = scanner.characters.get(end) == Some(&']')
            && scanner.characters.get(end + 1) == Some(&'_');
        let ends = scanner
            .characters
            .get(end + 2)
            .is_none_or(|next| !next.is_ascii_alphanumeric() && *next != '_');
        if !is_label(&label) || !closes || !ends {
            return false;
        }
        scanner.at = end + 2;
        while scanner.out.ends_with(' ') {
            scanner.out.pop();
        }
        scanner.push_ready(&format!("[^{}]", footnote_label(&label)));
        true
    }

    fn inline_target(&mut self, scanner: &mut Scanner, depth: usize) -> bool {
        scanner.at += 1;
        let Some(raw) = scanner.take_until("`", 1) else {
            return false;
        };
        let shown = self.inline_at(&raw, depth + 1);
        scanner.push_ready(&shown);
        true
    }

    /// A bare address, or `name_` where such a target exists.
    fn word(&mut self, scanner: &mut Scanner) -> bool {
        if ["http://", "https://", "ftp://"]
            .iter()
            .any(|scheme| scanner.starts_with(scheme))
        {
            scanner.address();
            return true;
        }
        let is_name = |character: &char| {
            character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '+' | ':')
        };
        let word: String = scanner
            .rest()
            .take(MAXIMUM_NAME)
            .take_while(is_name)
            .collect();
        let trimmed = word.trim_end_matches(['.', ':', '-', '+']);
        let anonymous = trimmed.ends_with("__");
        let Some(name) = trimmed
            .strip_suffix(if anonymous { "__" } else { "_" })
            .filter(|name| !name.is_empty())
        else {
            scanner.letters(&word);
            return true;
        };
        let link = if anonymous {
            self.references.anonymous.front().cloned()
        } else {
            self.references.link(name).map(str::to_owned)
        };
        let Some(link) = link else { return false };
        if anonymous {
            self.references.anonymous.pop_front();
        }
        scanner.at += trimmed.chars().count();
        scanner.push_ready(&format!(
            "[{}]({})",
            crate::escape::escaped(name),
            destination(&link)
        ));
        true
    }
}

/// Whether bars around a text can only be those of a substitution.
pub(super) fn is_name(name: &str) -> bool {
    name.len() >= 2
        && name
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || matches!(character, '_' | '-'))
}

fn is_label(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|character| {
            character.is_alphanumeric()
                || matches!(character, '#' | '*' | '_' | '-' | '.' | ':' | '+')
        })
}

/// Text and target of `text <target>`.
pub(super) fn with_target(raw: &str) -> (String, Option<String>) {
    let trimmed = raw.trim();
    let Some(inside) = trimmed
        .strip_suffix('>')
        .filter(|inside| !inside.ends_with('\\'))
    else {
        return (trimmed.to_owned(), None);
    };
    match inside.rfind('<').and_then(|at| inside.split_at_checked(at)) {
        Some((text, target)) => (
            text.trim().to_owned(),
            Some(target.trim_start_matches('<').trim().to_owned()),
        ),
        None => (trimmed.to_owned(), None),
    }
}

/// Text without backslashes.
pub(super) fn unescaped(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => result.extend(characters.next().filter(|next| !next.is_whitespace())),
            other => result.push(other),
        }
    }
    result
}

/// Markdown without its marks, for titles.
pub(super) fn plain(markdown: &str) -> String {
    let mut result = String::with_capacity(markdown.len());
    let mut characters = markdown.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' if characters.peek().is_some_and(char::is_ascii_punctuation) => {
                result.extend(characters.next())
            }
            '`' | '*' => {}
            other => result.push(other),
        }
    }
    result
}

/// A label that Markdown's footnotes can carry.
pub(super) fn footnote_label(label: &str) -> String {
    let name = label.strip_prefix('#').unwrap_or(label);
    let clean: String = name
        .chars()
        .filter(|character| character.is_alphanumeric() || matches!(character, '_' | '-' | '.'))
        .collect();
    match (clean.is_empty(), label) {
        (true, "#") => "auto".to_owned(),
        (true, _) => "note".to_owned(),
        (false, _) => clean,
    }
}
