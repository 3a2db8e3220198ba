//! Takes the reasoning out of a streamed reply: every `<think>…</think>` that begins the reply or a
//! line of it, wherever the pieces are cut. A tag within a line or in a fenced block is text, since
//! answers may quote it.

const OPENING: &str = "<think>";
const CLOSING: &str = "</think>";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing but blanks so far, or the beginning of a tag.
    Start,
    /// Between the tags.
    Inside,
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
        }
    }
}

impl ThinkingFilter {
    /// Takes a piece, gives the text in it that may be shown; empty if there is none yet.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let mut shown = String::new();
        loop {
            let goes_on = match self.state {
                State::Text => self.line(&mut shown),
                State::Start => self.start(&mut shown),
                State::Inside => self.end(),
            };
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
        let may_begin = self.fence.is_none() && OPENING.starts_with(begun);
        let is_blank_line = self
            .held
            .trim_start_matches([' ', '\t', '\r'])
            .starts_with('\n');
        if is_blank_line && self.has_shown && !self.is_behind_reasoning {
            return self.line(shown);
        }
        if may_be_fence && !FENCES.contains(&begun) || may_begin && begun != OPENING {
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
            State::Inside => String::new(),
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
        let Some(rest) = self.held.trim_start().strip_prefix(OPENING) else {
            return false;
        };
        self.held = rest.to_owned();
        self.state = State::Inside;
        self.has_removed = true;
        true
    }

    /// Looks for the end of the reasoning, and keeps no more of it than the end may begin in.
    fn end(&mut self) -> bool {
        if let Some((_, rest)) = self.held.split_once(CLOSING) {
            self.held = rest.trim_start().to_owned();
            self.state = State::Start;
            self.is_behind_reasoning = true;
            return true;
        }
        let kept = self.held.len().saturating_sub(CLOSING.len());
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
    fn reasoning_without_an_end_is_no_text() {
        assert_eq!(shown(&["<think>on and", " on"]), "");
        assert_eq!(shown(&["<think>a</think><think>b</think>", "c"]), "c");
    }
}
