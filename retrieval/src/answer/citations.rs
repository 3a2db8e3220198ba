//! Citations are checked while an answer comes in: `[2]` stays if there is a source 2, every other
//! number is taken out before anybody sees it. Other ways to write a citation (`[1, 2]`, `【1】`,
//! `[[1]]`, `[^1]`, `[1](…)`, `[来源1]`, `(source 1)`, `[No. 1]`) become `[1]`, and so does a number above
//! the line behind a sentence. Brackets in code and those that hold anything
//! else, such as the interval `[0, 1]`, are text. Nothing makes a link of a citation: what could is
//! kept from it by a space. Lines of fences that a model copied from its prompt go first, and so do
//! control characters.

use std::borrow::Cow;

use tributary_models::prompts::fence::FenceFilter;

use super::code_spans::{CodeSpans, Part};
use super::markers;

/// Longest target of a link behind a citation.
const MAXIMUM_TARGET_BYTES: usize = 300;
/// Letters of a word that is no unit and no variable.
const LONG_WORD: usize = 6;
/// Stands for a citation that was taken out of the beginning of another one.
const TAKEN_OUT: &str = "…";

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
    /// Digits above the line, and the number that they are.
    Raised(String, u32),
    /// A citation is over; a link target may follow it.
    Cited,
    /// From the parenthesis behind a citation on.
    Target(String),
}

/// Checks the citations of one answer.
pub struct CitationFilter {
    first: u32,
    last: u32,
    /// The only numbers that were given, where not all between these were.
    given: Option<Vec<u32>>,
    fences: FenceFilter,
    code: CodeSpans,
    state: State,
    /// Spaces that vanish with a citation behind them.
    blank: String,
    /// The answer as it was shown so far.
    shown: String,
    /// Where the last citation in it ends.
    cited_until: usize,
    cited: Vec<u32>,
    removed: u32,
    /// Whether a citation was taken out right behind a backtick.
    is_behind_backtick: bool,
}

impl CitationFilter {
    /// For an answer that was given so many sources, from 1.
    pub fn new(sources: u32) -> Self {
        Self::between(1, sources)
    }

    /// For an answer that was given the sources of these numbers.
    pub fn between(first: u32, last: u32) -> Self {
        Self {
            first,
            last,
            given: None,
            fences: FenceFilter::default(),
            code: CodeSpans::default(),
            state: State::Text,
            blank: String::new(),
            shown: String::new(),
            cited_until: 0,
            cited: Vec::new(),
            removed: 0,
            is_behind_backtick: false,
        }
    }

    /// For an answer that was given the sources of these numbers.
    pub fn of(numbers: &[u32]) -> Self {
        Self {
            given: Some(numbers.to_vec()),
            ..Self::new(numbers.iter().copied().max().unwrap_or(0))
        }
    }

    /// Takes a piece of the answer, however it is cut.
    pub fn push(&mut self, piece: &str) -> Checked {
        let mut checked = Checked::default();
        let readable: String = piece.chars().filter(|one| !is_unreadable(*one)).collect();
        self.code.push(&self.fences.push(&readable));
        loop {
            let before = before(&self.shown, &self.blank, &self.state);
            let Some(part) = self.code.next(&before) else {
                return checked;
            };
            self.take(part, &mut checked);
        }
    }

    /// The answer is over.
    pub fn finish(&mut self) -> Checked {
        let mut checked = Checked::default();
        self.code.push(&self.fences.finish());
        loop {
            let before = before(&self.shown, &self.blank, &self.state);
            let Some(part) = self.code.next_of_rest(&before) else {
                break;
            };
            self.take(part, &mut checked);
        }
        loop {
            match std::mem::replace(&mut self.state, State::Text) {
                State::Text | State::Cited => break,
                State::Marker(held) if markers::is_cut_off(&held) => self.removed += 1,
                State::Marker(held) => self.give_up(&held, &mut checked),
                State::Raised(held, number) => self.lower(&held, number, &mut checked),
                State::Target(held) => self.release_target(&held, &mut checked),
            }
        }
        self.text("", &mut checked);
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

    fn take(&mut self, part: Part, checked: &mut Checked) {
        match part {
            Part::Prose(text) => {
                for character in text.chars() {
                    self.prose(character, checked);
                }
            }
            Part::Code(code) => {
                self.release(checked);
                self.text(&code, checked);
            }
        }
    }

    /// Code ends whatever was open.
    fn release(&mut self, checked: &mut Checked) {
        loop {
            match std::mem::replace(&mut self.state, State::Text) {
                State::Text | State::Cited => break,
                State::Marker(held) => self.give_up(&held, checked),
                State::Raised(held, number) => self.lower(&held, number, checked),
                State::Target(held) => self.release_target(&held, checked),
            }
        }
        self.text("", checked);
    }

    fn text(&mut self, text: &str, checked: &mut Checked) {
        let blank = std::mem::take(&mut self.blank);
        let is_something = !blank.is_empty() || !text.is_empty();
        if is_something && std::mem::take(&mut self.is_behind_backtick) {
            // Two that come together would open and close other code than each by itself.
            if blank.is_empty() && text.starts_with('`') {
                checked.text.push_str(TAKEN_OUT);
                self.shown.push_str(TAKEN_OUT);
            }
        }
        for part in [blank.as_str(), text] {
            checked.text.push_str(part);
            self.shown.push_str(part);
        }
    }

    fn prose(&mut self, character: char, checked: &mut Checked) {
        match std::mem::replace(&mut self.state, State::Text) {
            State::Text => self.plain(character, checked),
            State::Marker(held) => self.marker(held, character, checked),
            State::Raised(held, number) => self.raised(held, number, character, checked),
            State::Cited => self.after(character, checked),
            State::Target(held) => self.target(held, character, checked),
        }
    }

    fn plain(&mut self, character: char, checked: &mut Checked) {
        match character {
            ' ' => self.blank.push(' '),
            _ if let Some(digit) = markers::raised(character)
                && self.blank.is_empty()
                && may_be_footnoted(&self.shown) =>
            {
                self.state = State::Raised(character.to_string(), digit);
            }
            _ if markers::may_begin(character) => self.state = State::Marker(character.to_string()),
            _ => self.text(character.encode_utf8(&mut [0; 4]), checked),
        }
    }

    fn marker(&mut self, mut held: String, character: char, checked: &mut Checked) {
        held.push(character);
        if !markers::may_be_marker(&held) {
            self.give_up(&held, checked);
        } else if !markers::is_closed(&held) {
            self.state = State::Marker(held);
        } else if markers::is_doubtful(&held) && self.is_behind_word() {
            self.give_up(&held, checked);
        } else if let Some(numbers) = markers::numbers(&held, self.last) {
            self.cite(&numbers, checked);
        } else {
            self.give_up(&held, checked);
        }
    }

    /// Whether what comes stands right behind a name, as an index does.
    fn is_behind_word(&self) -> bool {
        let is_part = |one: char| one.is_ascii_alphanumeric() || matches!(one, '_' | ')' | ']');
        self.blank.is_empty() && !self.ends_in_citation() && self.shown.ends_with(is_part)
    }

    fn raised(&mut self, mut held: String, number: u32, next: char, checked: &mut Checked) {
        match markers::raised(next) {
            Some(digit) => {
                held.push(next);
                let number = number.saturating_mul(10).saturating_add(digit);
                self.state = State::Raised(held, number);
            }
            None => {
                self.lower(&held, number, checked);
                self.prose(next, checked);
            }
        }
    }

    /// A number above the line is over: a citation, or a power or unit.
    fn lower(&mut self, held: &str, number: u32, checked: &mut Checked) {
        let is_power = matches!(number, 2 | 3) && self.shown.ends_with(char::is_alphabetic);
        match is_power {
            true => self.text(held, checked),
            false => self.cite(&[number], checked),
        }
    }

    /// No citation begins with it, but one may begin in it.
    fn give_up(&mut self, held: &str, checked: &mut Checked) {
        if held.starts_with('[') && self.ends_in_citation() {
            self.text(" ", checked);
        }
        let mut characters = held.chars();
        if let Some(first) = characters.next() {
            self.text(first.encode_utf8(&mut [0; 4]), checked);
        }
        for character in characters {
            self.prose(character, checked);
        }
    }

    /// Whether a citation stands right before.
    fn ends_in_citation(&self) -> bool {
        self.blank.is_empty() && self.cited_until == self.shown.len() && self.cited_until > 0
    }

    fn is_given(&self, number: u32) -> bool {
        let given = self.given.as_deref();
        (self.first..=self.last).contains(&number)
            && given.is_none_or(|given| given.contains(&number))
    }

    fn cite(&mut self, numbers: &[u32], checked: &mut Checked) {
        let valid = numbers.iter().filter(|number| self.is_given(**number));
        let valid: Vec<u32> = valid.copied().collect();
        let left_out = numbers.len() - valid.len();
        self.removed += u32::try_from(left_out).unwrap_or(u32::MAX);
        if valid.is_empty() {
            self.blank.clear();
            self.is_behind_backtick = self.shown.ends_with('`');
            // What stood before and behind it must not become a citation together.
            if is_open(&self.shown) {
                self.text(TAKEN_OUT, checked);
            }
        }
        for number in &valid {
            self.text(&format!("[{number}]"), checked);
            self.cited_until = self.shown.len();
            if !self.cited.contains(number) {
                self.cited.push(*number);
                checked.cited.push(*number);
            }
        }
        self.state = State::Cited;
    }

    fn after(&mut self, character: char, checked: &mut Checked) {
        match character {
            '(' => self.state = State::Target("(".to_owned()),
            // `[1]: …` at the beginning of a line would say where all citations lead.
            ':' if self.ends_in_citation() && begins_line(&self.shown) => self.text(" :", checked),
            _ => self.plain(character, checked),
        }
    }

    /// A link behind a citation leads where the model thinks; the source's own link is shown.
    fn target(&mut self, mut held: String, character: char, checked: &mut Checked) {
        held.push(character);
        let is_link = held.is_ascii() && held.len() > 2;
        if character == ')' && is_link {
            return;
        }
        let is_text = !character.is_ascii() || character.is_whitespace() || character.is_control();
        if is_text || held.len() > MAXIMUM_TARGET_BYTES || character == ')' {
            return self.release_target(&held, checked);
        }
        self.state = State::Target(held);
    }

    /// It was no link, and becomes none: what it holds may cite.
    fn release_target(&mut self, held: &str, checked: &mut Checked) {
        if self.ends_in_citation() {
            self.blank.push(' ');
        }
        for character in held.chars() {
            self.prose(character, checked);
        }
    }
}

/// Control characters, and those that turn the direction of what stands behind them.
fn is_unreadable(one: char) -> bool {
    let turns = matches!(one, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    turns || (one.is_control() && !matches!(one, '\n' | '\r' | '\t'))
}

/// What a reader of Markdown sees before the next part.
fn before<'a>(shown: &'a str, blank: &str, state: &State) -> Cow<'a, str> {
    let held = match state {
        State::Text | State::Cited => "",
        State::Marker(held) | State::Target(held) | State::Raised(held, _) => held,
    };
    match blank.is_empty() && held.is_empty() {
        true => Cow::Borrowed(shown),
        false => Cow::Owned(format!("{shown}{blank}{held}")),
    }
}

/// Whether what comes next may make a citation of the end of the text.
fn is_open(shown: &str) -> bool {
    let ends = shown.char_indices().rev();
    let ends = ends.take_while(|(at, _)| shown.len() - at <= markers::MAXIMUM_BYTES);
    let mut begun = ends.filter(|(_, character)| markers::may_begin(*character));
    let is_open = |end: &str| markers::may_be_marker(end) && !markers::is_closed(end);
    begun.any(|(at, _)| shown.get(at..).is_some_and(is_open))
}

/// Whether a number above the line may cite here: behind the end of a sentence or of a clause, a
/// long word, or Chinese. Behind a digit, a short word or a parenthesis it is a power or a unit.
fn may_be_footnoted(shown: &str) -> bool {
    let Some(last) = shown.chars().next_back() else {
        return false;
    };
    let letters = shown.chars().rev().take_while(char::is_ascii_alphabetic);
    ".,;:!?。，；：！？、”’\"」』》".contains(last)
        || letters.count() >= LONG_WORD
        || (!last.is_ascii() && last.is_alphabetic())
}

/// Whether nothing but quotes and marks of lists stand before the citation that the text ends with.
fn begins_line(shown: &str) -> bool {
    let line = shown.rsplit('\n').next().unwrap_or_default();
    let (before, _) = line.rsplit_once('[').unwrap_or_default();
    let is_mark = |one: char| one.is_ascii_digit() || " \t>-*+.)".contains(one);
    before.chars().all(is_mark)
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
            ("a [1](第二节[2])", "a [1] (第二节[2])", &[1, 2], 0),
            ("a [1](b \"c\")", "a [1] (b \"c\")", &[1], 0),
            ("[1]: http://x", "[1] : http://x", &[1], 0),
            ("so [1]: x", "so [1]: x", &[1], 0),
            ("a [1][b](c)", "a [1] [b](c)", &[1], 0),
            ("a [ [9] b", "a [… b", &[], 1),
            ("a [ [1] b", "a [ [1] b", &[1], 0),
            ("[-1, [9]]", "[-1,…]", &[], 1),
            ("a &#91;9] &#91;2&#93;", "a [2]", &[2], 1),
            ("a [**9**] [*1*]", "a [1]", &[1], 1),
            ("&#9[7]1;9]", "&#9…1;9]", &[], 1),
            ("\\`[9]\\` AT&T", "\\`\\` AT&T", &[], 1),
            ("- [2]\n    - [9] a\n", "- [2]\n    - a\n", &[2], 1),
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
            ("`a`[9]`b` `a` [9]`b`", "`a`…`b` `a`…`b`", &[], 2),
            ("甲〔9〕乙〔2〕", "甲乙[2]", &[2], 1),
            ("a [9 and 1] b", "a [1] b", &[1], 1),
            ("a [9.] b [1.] c", "a b [1] c", &[1], 1),
            ("a [No. 9], [No. 2]", "a, [2]", &[2], 1),
            ("a [٩] [٢]", "a [2]", &[2], 1),
            (
                "It does so.⁹ And 定时器¹。",
                "It does so. And 定时器[1]。",
                &[1],
                1,
            ),
            ("the scheduler⁹ tasks¹²", "the scheduler tasks¹²", &[], 1),
            ("a (source 12) b (source 1).", "a b [1].", &[1], 1),
            ("甲（来源9）乙（来源 1、2）", "甲乙[1][2]", &[1, 2], 1),
            ("a [1](source 9) b", "a [1] b", &[1], 1),
            ("cut (source 1", "cut", &[], 1),
            (
                "arr[9.] x[1 and 2] f(x)[9.]",
                "arr[9.] x[1 and 2] f(x)[9.]",
                &[],
                0,
            ),
            ("`[9.]` `(source 9)`", "`[9.]` `(source 9)`", &[], 0),
            (
                "[No. 9 of the list] (see source code) (source 3 of 5)",
                "[No. 9 of the list] (see source code) (source 3 of 5)",
                &[],
                0,
            ),
            (
                "10⁹ m² 5 km³ x⁹ (a+b)² 平方米² 版本 [1.5] (9) (a)",
                "10⁹ m² 5 km³ x⁹ (a+b)² 平方米² 版本 [1.5] (9) (a)",
                &[],
                0,
            ),
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
