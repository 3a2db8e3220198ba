//! The old `EQ` field of Word: phonetic and enclosed text, fractions and roots that are written as
//! its instruction.

use crate::blanks::collapsed;
use crate::slices::text_part;

/// Deepest nesting of its switches that is read.
const MAXIMUM_DEPTH: usize = 16;

/// What a field shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Text, such as the base of phonetic text.
    Text(String),
    /// A formula as LaTeX.
    Formula(String),
}

/// What the instruction after `EQ` shows; `None` if it shows nothing.
pub(crate) fn shown(instruction: &str) -> Option<Shown> {
    let mut parser = Parser {
        rest: instruction.trim(),
        is_formula: false,
    };
    let text = parser.sequence(0, false);
    let text = collapsed(&text);
    if text.is_empty() {
        return None;
    }
    Some(if parser.is_formula {
        Shown::Formula(text)
    } else {
        Shown::Text(text)
    })
}

struct Parser<'i> {
    rest: &'i str,
    is_formula: bool,
}

impl Parser<'_> {
    /// Text and switches up to the end, or up to a comma or parenthesis that belongs to the switch
    /// around it.
    fn sequence(&mut self, depth: usize, is_argument: bool) -> String {
        let mut out = String::new();
        let mut open = 0_usize;
        while let Some(character) = self.rest.chars().next() {
            if is_argument && open == 0 && matches!(character, ',' | ';' | ')') {
                break;
            }
            if character == '\\' && depth < MAXIMUM_DEPTH {
                out.push_str(&self.switch(depth));
                continue;
            }
            match character {
                '(' => open += 1,
                ')' => open = open.saturating_sub(1),
                _ => {}
            }
            out.push(character);
            self.advance(character);
        }
        out
    }

    fn advance(&mut self, character: char) {
        self.rest = text_part(self.rest, character.len_utf8()..);
    }

    fn switch(&mut self, depth: usize) -> String {
        self.advance('\\');
        let length = self
            .rest
            .chars()
            .take_while(char::is_ascii_alphabetic)
            .count();
        if length == 0 {
            // An escaped character, or a format switch such as `\* jc2`.
            return self.escaped();
        }
        let (name, rest) = self.rest.split_at_checked(length).unwrap_or_default();
        let name = name.to_ascii_lowercase();
        self.rest = rest;
        // Options such as `\ad`, `\up 9` stand between the name and the arguments.
        let options = self.rest.find('(').unwrap_or(0);
        let is_plain = self
            .rest
            .get(..options)
            .is_some_and(|between| !between.contains([')', ',']));
        if !is_plain || !self.rest.contains('(') {
            return String::new();
        }
        self.rest = text_part(self.rest, options + 1..);
        let arguments = self.arguments(depth + 1);
        self.written(&name, &arguments)
    }

    fn escaped(&mut self) -> String {
        let Some(character) = self.rest.chars().next() else {
            return String::new();
        };
        self.advance(character);
        if matches!(character, '*' | '#' | '@') {
            let trimmed = self.rest.trim_start();
            let end = match trimmed.strip_prefix('"') {
                Some(quoted) => quoted.find('"').map_or(trimmed.len(), |end| end + 2),
                None => trimmed.find([' ', '\\']).unwrap_or(trimmed.len()),
            };
            let quote = trimmed.get(..end).filter(|value| value.ends_with(':'));
            let after = trimmed.get(end..).unwrap_or_default();
            self.rest = quote.and_then(|_| after.strip_prefix('"')).unwrap_or(after);
            return String::new();
        }
        character.to_string()
    }

    fn arguments(&mut self, depth: usize) -> Vec<String> {
        let mut arguments = Vec::new();
        loop {
            arguments.push(self.sequence(depth, true).trim().to_owned());
            match self.rest.chars().next() {
                Some(separator @ (',' | ';')) => self.advance(separator),
                Some(end) => {
                    self.advance(end);
                    return arguments;
                }
                None => return arguments,
            }
        }
    }

    fn written(&mut self, name: &str, arguments: &[String]) -> String {
        let first = arguments.first().map(String::as_str).unwrap_or_default();
        let second = arguments.get(1).map(String::as_str).unwrap_or_default();
        let last = arguments.last().map(String::as_str).unwrap_or_default();
        match name {
            // Raised phonetic text over its base: the base is the last of the overstruck elements.
            "o" => last.to_owned(),
            "f" => {
                self.is_formula = true;
                format!("\\frac{{{first}}}{{{second}}}")
            }
            "r" => {
                self.is_formula = true;
                if arguments.len() > 1 {
                    format!("\\sqrt[{first}]{{{last}}}")
                } else {
                    format!("\\sqrt{{{last}}}")
                }
            }
            "b" => format!("({last})"),
            "d" => String::new(),
            _ => arguments.join(" "),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use super::*;

    #[test]
    fn bases_fractions_and_roots_are_shown() {
        let text = |text: &str| Some(Shown::Text(text.into()));
        let formula = |text: &str| Some(Shown::Formula(text.into()));
        assert_eq!(
            shown("\\* jc2 \\* \"Font:MS Mincho\" \\* hps10 \\o\\ad(\\s\\up 9(とうきょう),東京)"),
            text("東京")
        );
        assert_eq!(shown("\\o\\ac(○,1)"), text("1"));
        assert_eq!(shown("\\f(a,b)"), formula("\\frac{a}{b}"));
        assert_eq!(shown("\\r(3,\\f(x,2))"), formula("\\sqrt[3]{\\frac{x}{2}}"));
        assert_eq!(shown(" "), None);
    }

    #[test]
    fn broken_instructions_end() {
        for text in ["\\o(", "\\", "\\f(a", "\\*", "((((", "\\o\\ad)"] {
            shown(text);
        }
        let deep = "\\f(".repeat(5000);
        let Some(Shown::Formula(latex)) = shown(&deep) else {
            panic!("no formula")
        };
        assert!(latex.len() < 2 * deep.len(), "{} bytes", latex.len());
    }
}
