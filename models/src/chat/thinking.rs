//! Takes the reasoning out of a streamed reply: every `<think>…</think>` that begins the reply or a
//! line of it, wherever the pieces are cut. A tag within a line or in a fenced block is text, since
//! answers may quote it.
//!
//! Some chat templates write the opening tag themselves, so that the reply begins with reasoning and
//! has the closing tag alone. Nothing tells before that tag comes; so once a reply had one, the
//! others of its endpoint are held back until it does.

/// Opening and closing tags that models use.
const TAGS: [(&str, &str); 3] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing but blanks so far, or the beginning of a tag.
    Start,
    /// Before the tag with this end.
    Inside(&'static str),
    /// In reasoning that no tag opened, as other replies of the endpoint began so.
    Unopened,
    /// In a line of text.
    Text,
}

/// Marks of a fenced block.
const FENCES: [&str; 2] = ["```", "~~~"];

/// The filter of one reply.
#[derive(Debug)]
pub struct ThinkingFilter {
    state: State,
    held: String,
    has_removed: bool,
    /// Whether text was shown; what stands before it are blanks.
    has_shown: bool,
    /// Whether blanks that come are those behind reasoning.
    is_behind_reasoning: bool,
    /// The fence that a block began with.
    fence: Option<&'static str>,
    /// Whether what was shown before was reasoning.
    is_unopened: bool,
    /// Whether what this piece showed so far goes.
    takes_back: bool,
}

impl Default for ThinkingFilter {
    fn default() -> Self {
        Self {
            state: State::Start,
            held: String::new(),
            has_removed: false,
            has_shown: false,
            is_behind_reasoning: false,
            fence: None,
            is_unopened: false,
            takes_back: false,
        }
    }
}

impl ThinkingFilter {
    /// For a reply that may begin with reasoning that no tag opens: all of it is held back until the
    /// closing tag, or the end.
    pub fn unopened() -> Self {
        Self {
            state: State::Unopened,
            ..Self::default()
        }
    }

    /// Whether the last piece had a closing tag without an opening one: what earlier pieces showed is
    /// reasoning. Said once.
    pub fn take_unopened(&mut self) -> bool {
        std::mem::take(&mut self.is_unopened)
    }

    /// The reply is over: whether all of it is held back, as the closing tag never came.
    pub fn is_held(&self) -> bool {
        self.state == State::Unopened
    }

    /// What is held back is reasoning that was cut.
    pub fn drop_held(&mut self) {
        self.held.clear();
        self.has_removed = true;
    }

    /// Takes a piece, gives the text in it that may be shown; empty if there is none yet.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let mut shown = String::new();
        loop {
            let goes_on = match self.state {
                State::Text => self.line(&mut shown),
                State::Start => self.start(&mut shown),
                State::Inside(closing) => self.end(closing),
                State::Unopened => self.end_unopened(),
            };
            if std::mem::take(&mut self.takes_back) {
                shown.clear();
            }
            if !goes_on {
                return shown;
            }
        }
    }

    /// Shows the line up to its end. `false` if that is yet to come.
    fn line(&mut self, shown: &mut String) -> bool {
        match self.held.split_once('\n') {
            None => {
                shown.push_str(&std::mem::take(&mut self.held));
                false
            }
            Some((line, rest)) => {
                shown.push_str(line);
                shown.push('\n');
                self.held = rest.to_owned();
                self.state = State::Start;
                true
            }
        }
    }

    /// The beginning of a line. `false` if more of it must come.
    fn start(&mut self, shown: &mut String) -> bool {
        let begun = self.held.trim_start();
        let may_be_fence = FENCES.iter().any(|fence| fence.starts_with(begun));
        let tags = || {
            TAGS.iter()
                .flat_map(|(opening, closing)| [*opening, *closing])
        };
        let may_begin = self.fence.is_none() && tags().any(|tag| tag.starts_with(begun));
        let is_blank_line = self
            .held
            .trim_start_matches([' ', '\t', '\r'])
            .starts_with('\n');
        if is_blank_line && self.has_shown && !self.is_behind_reasoning {
            return self.line(shown);
        }
        let is_tag = tags().any(|tag| tag == begun);
        if may_be_fence && !FENCES.contains(&begun) || may_begin && !is_tag {
            return false;
        }
        if self.fence.is_none() && self.begin() {
            return true;
        }
        self.fence = self.fence_behind();
        shown.push_str(&self.release());
        true
    }

    /// The fence that is open behind the line that is held: what opened a block closes it.
    fn fence_behind(&self) -> Option<&'static str> {
        let fence = FENCES
            .into_iter()
            .find(|fence| self.held.trim_start().starts_with(fence));
        match (self.fence, fence) {
            (open, None) => open,
            (None, begun) => begun,
            (Some(open), Some(closing)) if open == closing => None,
            (open, _) => open,
        }
    }

    /// The reply is over: gives what was held back and is text after all.
    pub fn finish(&mut self) -> String {
        match self.state {
            State::Inside(_) => String::new(),
            State::Unopened => {
                self.state = State::Text;
                std::mem::take(&mut self.held)
            }
            State::Start | State::Text => {
                let rest = self.release();
                rest + &std::mem::take(&mut self.held)
            }
        }
    }

    /// Whether there was reasoning.
    pub fn has_removed(&self) -> bool {
        self.has_removed
    }

    /// `false` if what is held is text.
    fn begin(&mut self) -> bool {
        let begun = self.held.trim_start();
        let opened = TAGS.iter().find_map(|(opening, closing)| {
            let rest = begun.strip_prefix(opening)?;
            Some((State::Inside(closing), rest.to_owned()))
        });
        let closed = || {
            let rest = TAGS
                .iter()
                .find_map(|(_, closing)| begun.strip_prefix(closing));
            Some((State::Start, rest?.trim_start().to_owned()))
        };
        // Behind reasoning that a tag opened it is a second end of that.
        let is_unopened = opened.is_none() && !self.has_removed;
        let Some((state, rest)) = opened.or_else(closed) else {
            return false;
        };
        self.is_behind_reasoning |= state == State::Start;
        (self.state, self.held) = (state, rest);
        self.has_removed = true;
        self.is_unopened |= is_unopened;
        self.takes_back = is_unopened;
        true
    }

    /// The end of reasoning that no tag opened; whether it is there.
    fn end_unopened(&mut self) -> bool {
        let behind = TAGS.iter().filter_map(|(_, closing)| {
            let (_, rest) = self.held.split_once(closing)?;
            Some(rest.trim_start())
        });
        // The first tag leaves the most.
        let Some(rest) = behind.max_by_key(|rest| rest.len()) else {
            return false;
        };
        self.held = rest.to_owned();
        self.state = State::Start;
        self.has_removed = true;
        self.is_behind_reasoning = true;
        true
    }

    /// Looks for the end of the reasoning, and keeps no more of it than the end may begin in.
    fn end(&mut self, closing: &str) -> bool {
        if let Some((_, rest)) = self.held.split_once(closing) {
            self.held = rest.trim_start().to_owned();
            self.state = State::Start;
            self.is_behind_reasoning = true;
            return true;
        }
        let kept = self.held.len().saturating_sub(closing.len());
        let boundary = self.held.floor_char_boundary(kept);
        self.held.drain(..boundary);
        false
    }

    /// What stands before the text of a line; the text itself is left.
    fn release(&mut self) -> String {
        self.state = State::Text;
        let rest = self.held.trim_start().to_owned();
        let mut blanks = std::mem::replace(&mut self.held, rest);
        blanks.truncate(blanks.len() - self.held.len());
        self.has_shown |= !self.held.is_empty();
        match std::mem::take(&mut self.is_behind_reasoning) {
            true => String::new(),
            false => blanks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pieces: &[&str]) -> String {
        let mut filter = ThinkingFilter::default();
        let mut text: String = pieces.iter().map(|piece| filter.push(piece)).collect();
        text.push_str(&filter.finish());
        text
    }

    #[test]
    fn reasoning_is_taken_out_however_the_pieces_are_cut() {
        let reply = "\n<think>先想一想 < / 思考</think>\n\n答案是 <think> 标签。";
        let expected = "答案是 <think> 标签。";
        assert_eq!(shown(&[reply]), expected);
        let cuts = reply.char_indices().map(|(at, _)| at);
        for (first, second) in cuts.filter_map(|at| reply.split_at_checked(at)) {
            assert_eq!(shown(&[first, second]), expected, "{first}|{second}");
        }
        let characters: Vec<String> = reply.chars().map(String::from).collect();
        let pieces: Vec<&str> = characters.iter().map(String::as_str).collect();
        assert_eq!(shown(&pieces), expected);
    }

    #[test]
    fn reasoning_in_the_middle_is_taken_out_and_quotes_are_not() {
        let reply =
            "<think>a</think>One [1].\n\n<think>wait\n\nno</think>\nTwo.\n  <think>x</think>Three.";
        let expected = "One [1].\n\nTwo.\nThree.";
        let quoted =
            "Write\n```\n<think>\na</think>\n```\nso, or <think> so.\n~~~\n<think>b\n~~~\n";
        for (text, expected) in [(reply, expected), (quoted, quoted)] {
            let characters: Vec<char> = text.chars().collect();
            for size in 1..=characters.len() {
                let pieces: Vec<String> = characters
                    .chunks(size)
                    .map(|piece| piece.iter().collect())
                    .collect();
                let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
                assert_eq!(shown(&pieces), expected, "in pieces of {size}");
            }
        }
        assert_eq!(shown(&["One.\n<think>on and on"]), "One.\n");
    }

    #[test]
    fn other_text_is_left_as_it_is() {
        for text in ["  <thin", "<b>bold</b>", "a <think>b</think>", "", "  x"] {
            assert_eq!(shown(&[text]), text);
        }
    }

    #[test]
    fn a_reply_that_ends_reasoning_which_it_did_not_begin_says_so() {
        let reply = "First the tilt,\nthen <b>.\n</think>\n\nSix degrees.";
        let cuts = reply.char_indices().map(|(at, _)| at);
        for (first, second) in cuts.filter_map(|at| reply.split_at_checked(at)) {
            let mut filter = ThinkingFilter::default();
            let shown = filter.push(first) + &filter.push(second) + &filter.finish();
            assert!(filter.take_unopened(), "{first}|{second}");
            assert!(shown.ends_with("Six degrees.") && !shown.contains("think"));
            let mut held = ThinkingFilter::unopened();
            let shown = held.push(first) + &held.push(second) + &held.finish();
            assert_eq!(shown, "Six degrees.", "{first}|{second}");
        }
        for text in ["Six degrees.", "a </think> b", "</b>", "```\n</think>\n```"] {
            let mut filter = ThinkingFilter::default();
            assert_eq!(filter.push(text) + &filter.finish(), text);
            assert!(!filter.take_unopened(), "{text}");
        }
        let mut nested = ThinkingFilter::default();
        let reply = "<think>a\n<think>b</think>\n</think>\nSix degrees.";
        assert_eq!(nested.push(reply) + &nested.finish(), "Six degrees.");
        assert!(!nested.take_unopened());
        let mut held = ThinkingFilter::unopened();
        assert_eq!(held.push("Six degrees."), "");
        assert!(held.is_held());
        assert_eq!(held.finish(), "Six degrees.");
        let mut cut = ThinkingFilter::unopened();
        assert_eq!(cut.push("First the"), "");
        cut.drop_held();
        assert_eq!(cut.finish(), "");
        assert_eq!(shown(&["<reasoning>a</reasoning>b"]), "b");
    }

    #[test]
    fn reasoning_without_an_end_is_no_text() {
        assert_eq!(shown(&["<think>on and", " on"]), "");
        assert_eq!(shown(&["<think>a</think><think>b</think>", "c"]), "c");
    }
}
