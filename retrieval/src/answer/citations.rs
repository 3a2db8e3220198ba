//! Citations are checked while an answer comes in: `[2]` stays if there is a source 2, every other
//! number is taken out before anybody sees it. Other ways to write a citation (`[1, 2]`, `【1】`,
//! `[[1]]`, `[^1]`, `[1](…)`, `[来源1]`) become `[1]`. Brackets in code and those that hold anything
//! else, such as the interval `[0, 1]`, are text.

use super::code_spans::{CodeSpans, Part};

/// Longest text between brackets that may be a citation.
const MAXIMUM_MARKER_BYTES: usize = 80;
/// Longest target of a link behind a citation.
const MAXIMUM_TARGET_BYTES: usize = 300;
/// Longest range, `[1-4]`.
const MAXIMUM_RANGE: u32 = 20;
/// Numbers above it in a list are those of an interval.
const MAXIMUM_IN_LIST: u32 = 99;
/// Words that models put before the number.
const WORDS: [&str; 14] = [
    "source", "sources", "passage", "passages", "document", "doc", "ref", "citation", "来源",
    "资料", "文档", "段落", "片段", "引用",
];

/// What became of a piece.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// What may be shown now.
    pub text: String,
    /// Sources that it is the first to cite.
    pub cited: Vec<u32>,
}

enum State {
    Text,
    /// From an opening bracket on.
    Marker(String),
    /// A citation is over; a link target may follow it.
    Cited,
    /// From the parenthesis behind a citation on.
    Target(String),
}

/// Checks the citations of one answer.
pub struct CitationFilter {
    sources: u32,
    code: CodeSpans,
    state: State,
    /// Spaces that vanish with a citation behind them.
    blank: String,
    cited: Vec<u32>,
    removed: u32,
}

impl CitationFilter {
    /// For an answer that was given so many sources, from 1.
    pub fn new(sources: u32) -> Self {
        Self {
            sources,
            code: CodeSpans::default(),
            state: State::Text,
            blank: String::new(),
            cited: Vec::new(),
            removed: 0,
        }
    }

    /// Takes a piece of the answer, however it is cut.
    pub fn push(&mut self, piece: &str) -> Checked {
        let mut parts = Vec::new();
        for character in piece.chars() {
            self.code.push(character, &mut parts);
        }
        self.take(parts)
    }

    /// The answer is over.
    pub fn finish(&mut self) -> Checked {
        let mut parts = Vec::new();
        std::mem::take(&mut self.code).finish(&mut parts);
        let mut checked = self.take(parts);
        match std::mem::replace(&mut self.state, State::Text) {
            State::Text => {}
            // It was cut off.
            State::Marker(held) if may_be_marker(&held) && has_digit(&held) => self.removed += 1,
            State::Marker(held) => self.text(&held, &mut checked),
            State::Cited => {}
            State::Target(held) => self.text(&held, &mut checked),
        }
        checked.text.push_str(&std::mem::take(&mut self.blank));
        checked
    }

    /// Sources that the answer cites, in the order of their first citation.
    pub fn cited(&self) -> &[u32] {
        &self.cited
    }

    /// Numbers that were taken out.
    pub fn removed(&self) -> u32 {
        self.removed
    }

    fn take(&mut self, parts: Vec<Part>) -> Checked {
        let mut checked = Checked::default();
        for part in parts {
            match part {
                Part::Prose(character) => self.prose(character, &mut checked),
                Part::Code(code) => {
                    self.release(&mut checked);
                    self.text(&code, &mut checked);
                }
            }
        }
        checked
    }

    /// Code ends whatever was open.
    fn release(&mut self, checked: &mut Checked) {
        match std::mem::replace(&mut self.state, State::Text) {
            State::Text | State::Cited => {}
            State::Marker(held) | State::Target(held) => self.text(&held, checked),
        }
    }

    fn text(&mut self, text: &str, checked: &mut Checked) {
        checked.text.push_str(&std::mem::take(&mut self.blank));
        checked.text.push_str(text);
    }

    fn prose(&mut self, character: char, checked: &mut Checked) {
        match std::mem::replace(&mut self.state, State::Text) {
            State::Text => self.plain(character, checked),
            State::Marker(held) => self.marker(held, character, checked),
            State::Cited => self.after(character, checked),
            State::Target(held) => self.target(held, character, checked),
        }
    }

    fn plain(&mut self, character: char, checked: &mut Checked) {
        match character {
            ' ' => self.blank.push(' '),
            _ if is_opening(character) => self.state = State::Marker(character.to_string()),
            // `\[1\]` is read as `[1]`.
            '\\' => self.state = State::Marker(character.to_string()),
            _ => self.text(character.encode_utf8(&mut [0; 4]), checked),
        }
    }

    fn marker(&mut self, mut held: String, character: char, checked: &mut Checked) {
        held.push(character);
        if is_closed(&held) {
            match numbers(&held, self.sources) {
                Some(numbers) => self.cite(&numbers, checked),
                None => self.text(&held, checked),
            }
            return;
        }
        if may_be_marker(&held) {
            self.state = State::Marker(held);
            return;
        }
        // No citation begins here, but one may begin at its last character.
        held.pop();
        self.text(&held, checked);
        self.plain(character, checked);
    }

    fn cite(&mut self, numbers: &[u32], checked: &mut Checked) {
        let valid = numbers
            .iter()
            .filter(|number| (1..=self.sources).contains(*number));
        let valid: Vec<u32> = valid.copied().collect();
        let left_out = numbers.len() - valid.len();
        self.removed += u32::try_from(left_out).unwrap_or(u32::MAX);
        if valid.is_empty() {
            self.blank.clear();
        }
        for number in &valid {
            self.text(&format!("[{number}]"), checked);
            if !self.cited.contains(number) {
                self.cited.push(*number);
                checked.cited.push(*number);
            }
        }
        self.state = State::Cited;
    }

    fn after(&mut self, character: char, checked: &mut Checked) {
        if character == '(' {
            self.state = State::Target("(".to_owned());
        } else {
            self.plain(character, checked);
        }
    }

    /// A link behind a citation leads where the model thinks; the source's own link is shown.
    fn target(&mut self, mut held: String, character: char, checked: &mut Checked) {
        held.push(character);
        let is_link = held.is_ascii() && held.len() > 2;
        if character == ')' && is_link {
            return;
        }
        if is_link && character == ' ' || !character.is_ascii() || character.is_control() {
            return self.release_target(&held, checked);
        }
        if held.len() > MAXIMUM_TARGET_BYTES || character == ')' {
            return self.release_target(&held, checked);
        }
        self.state = State::Target(held);
    }

    /// It was no link: what it holds may cite.
    fn release_target(&mut self, held: &str, checked: &mut Checked) {
        self.text("(", checked);
        for character in held.chars().skip(1) {
            self.prose(character, checked);
        }
    }
}

fn is_opening(character: char) -> bool {
    matches!(character, '[' | '【' | '［')
}

fn is_closing(character: char) -> bool {
    matches!(character, ']' | '】' | '］')
}

fn has_digit(held: &str) -> bool {
    held.chars().any(|character| digit(character).is_some())
}

/// Also of full width.
fn digit(character: char) -> Option<u32> {
    let narrow = match character {
        '０'..='９' => char::from_u32(u32::from(character) - 0xfee0)?,
        other => other,
    };
    narrow.to_digit(10)
}

fn is_closed(held: &str) -> bool {
    let opened = held
        .chars()
        .filter(|character| is_opening(*character))
        .count();
    let closed = held
        .chars()
        .filter(|character| is_closing(*character))
        .count();
    opened > 0 && closed == opened
}

/// Whether a citation may begin with this.
fn may_be_marker(held: &str) -> bool {
    if held.len() > MAXIMUM_MARKER_BYTES {
        return false;
    }
    if held == "\\" {
        return true;
    }
    let inner = held.trim_start_matches(|character| is_opening(character) || character == '\\');
    if inner.len() == held.trim_start_matches('\\').len() {
        return false;
    }
    let word: String = inner
        .chars()
        .take_while(|character| character.is_alphabetic())
        .collect::<String>()
        .to_lowercase();
    let rest: String = inner.chars().skip(word.chars().count()).collect();
    let is_word = word.is_empty() || WORDS.contains(&word.as_str());
    let begins_word = rest.is_empty() && WORDS.iter().any(|known| known.starts_with(&word));
    (is_word && rest.chars().all(may_stand_in_marker)) || begins_word
}

fn may_stand_in_marker(character: char) -> bool {
    digit(character).is_some()
        || is_opening(character)
        || is_closing(character)
        || is_range(character)
        || matches!(
            character,
            ',' | '，' | '、' | ';' | '；' | ' ' | '^' | '\\' | ':' | '：' | '#'
        )
}

fn is_range(character: char) -> bool {
    matches!(character, '-' | '–' | '—' | '~' | '～')
}

/// The numbers of a citation; `None` if it is none: no number, an interval, a negative number.
fn numbers(marker: &str, sources: u32) -> Option<Vec<u32>> {
    let mut numbers: Vec<u32> = Vec::new();
    let mut current: Option<u32> = None;
    let mut range_from: Option<u32> = None;
    let mut separators = 0;
    for character in marker.chars().chain([',']) {
        if let Some(digit) = digit(character) {
            let value = current.unwrap_or(0);
            current = Some(value.saturating_mul(10).saturating_add(digit));
            continue;
        }
        let ended = current.take();
        if let Some(value) = ended {
            match range_from.take() {
                Some(from) => numbers.extend(range(from, value)),
                None => numbers.push(value),
            }
        }
        if is_range(character) {
            range_from = Some(numbers.pop()?);
        } else if matches!(character, ',' | '，') {
            separators += 1;
        }
    }
    let is_interval = separators == 2
        && numbers
            .iter()
            .any(|number| *number == 0 || *number > MAXIMUM_IN_LIST.max(sources));
    (!numbers.is_empty() && !is_interval && range_from.is_none()).then_some(numbers)
}

fn range(from: u32, to: u32) -> Vec<u32> {
    match to.checked_sub(from) {
        Some(length) if length <= MAXIMUM_RANGE => (from..=to).collect(),
        _ => vec![from, to],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer as shown, with three sources, whole and in pieces of every size.
    fn shown(text: &str) -> (String, Vec<u32>, u32) {
        let in_pieces = |size: usize| {
            let mut filter = CitationFilter::new(3);
            let mut shown = Checked::default();
            let characters: Vec<char> = text.chars().collect();
            for piece in characters.chunks(size) {
                let checked = filter.push(&piece.iter().collect::<String>());
                shown.text.push_str(&checked.text);
                shown.cited.extend(checked.cited);
            }
            shown.text.push_str(&filter.finish().text);
            assert_eq!(shown.cited, filter.cited());
            (shown.text, shown.cited, filter.removed())
        };
        let whole = in_pieces(text.len().max(1));
        for size in 1..8 {
            assert_eq!(in_pieces(size), whole, "{text} in pieces of {size}");
        }
        whole
    }

    #[test]
    fn citations_that_were_given_stay_and_others_go() {
        let table: &[(&str, &str, &[u32], u32)] = &[
            ("六度 [1]。", "六度 [1]。", &[1], 0),
            ("六度 [9]。", "六度。", &[], 1),
            ("a [9] b", "a b", &[], 1),
            ("a[1][2][7]", "a[1][2]", &[1, 2], 1),
            ("a [1, 2]", "a [1][2]", &[1, 2], 0),
            ("a [2，9]", "a [2]", &[2], 1),
            ("a [1-3]", "a [1][2][3]", &[1, 2, 3], 0),
            ("a [2-5]", "a [2][3]", &[2, 3], 2),
            ("甲【1】乙［２］", "甲[1]乙[2]", &[1, 2], 0),
            ("a [[3]] b", "a [3] b", &[3], 0),
            ("a [[3][9]] b", "a [3] b", &[3], 1),
            ("a [^1]", "a [1]", &[1], 0),
            ("a \\[9\\] b", "a b", &[], 1),
            ("甲[来源1]", "甲[1]", &[1], 0),
            ("a [Source 2]", "a [2]", &[2], 0),
            ("a [sourdough]", "a [sourdough]", &[], 0),
            ("a [1](http://x/y_(z)", "a [1]", &[1], 0),
            ("a [1](第二节[2])", "a [1](第二节[2])", &[1, 2], 0),
            ("a [0] [00]", "a", &[], 2),
            (
                "x in [0, 1], y in [-1, 1]",
                "x in [0, 1], y in [-1, 1]",
                &[],
                0,
            ),
            ("[1, 256]", "[1, 256]", &[], 0),
            ("[text](url) [ ] []", "[text](url) [ ] []", &[], 0),
            ("`a[9]` [9]", "`a[9]`", &[], 1),
            ("```\na[9]\n```\n[9]", "```\na[9]\n```\n", &[], 1),
            ("a [99999999999999999999]", "a", &[], 1),
            ("cut [1", "cut", &[], 1),
            ("open [", "open [", &[], 0),
            ("[a[9]", "[a", &[], 1),
            ("\\alpha \\[x\\]", "\\alpha \\[x\\]", &[], 0),
            ("a  b", "a  b", &[], 0),
        ];
        for (text, expected, cited, removed) in table {
            let found = shown(text);
            assert_eq!(
                (found.0.trim_end_matches(' '), found.1.as_slice(), found.2),
                (*expected, *cited, *removed),
                "{text}"
            );
        }
    }
}
