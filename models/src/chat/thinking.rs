//! Takes the reasoning out of a streamed reply: a leading `<think>…</think>`, wherever the pieces
//! are cut. A tag further on is text, since answers may quote it.

const OPENING: &str = "<think>";
const CLOSING: &str = "</think>";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing but blanks so far, or the beginning of a tag.
    Start,
    /// Between the tags.
    Inside,
    /// Everything is text from here on.
    Text,
}

/// The filter of one reply.
#[derive(Debug)]
pub struct ThinkingFilter {
    state: State,
    held: String,
    has_removed: bool,
}

impl Default for ThinkingFilter {
    fn default() -> Self {
        Self {
            state: State::Start,
            held: String::new(),
            has_removed: false,
        }
    }
}

impl ThinkingFilter {
    /// Takes a piece, gives the text in it that may be shown; empty if there is none yet.
    pub fn push(&mut self, piece: &str) -> String {
        if self.state == State::Text {
            return piece.to_owned();
        }
        self.held.push_str(piece);
        if self.state == State::Start && !self.begin() {
            return self.release();
        }
        if self.state == State::Inside && self.end() {
            return self.push("");
        }
        String::new()
    }

    /// The reply is over: gives what was held back and is text after all.
    pub fn finish(&mut self) -> String {
        match self.state {
            State::Inside => String::new(),
            State::Start | State::Text => self.release(),
        }
    }

    /// Whether there was reasoning.
    pub fn has_removed(&self) -> bool {
        self.has_removed
    }

    /// `false` if what is held is text.
    fn begin(&mut self) -> bool {
        let begun = self.held.trim_start();
        if let Some(rest) = begun.strip_prefix(OPENING) {
            self.held = rest.to_owned();
            self.state = State::Inside;
            self.has_removed = true;
            return true;
        }
        OPENING.starts_with(begun)
    }

    /// Looks for the end of the reasoning, and keeps no more of it than the end may begin in.
    fn end(&mut self) -> bool {
        if let Some((_, rest)) = self.held.split_once(CLOSING) {
            self.held = rest.trim_start().to_owned();
            self.state = State::Start;
            return true;
        }
        let kept = self.held.len().saturating_sub(CLOSING.len());
        let boundary = self.held.floor_char_boundary(kept);
        self.held.drain(..boundary);
        false
    }

    fn release(&mut self) -> String {
        self.state = State::Text;
        let text = std::mem::take(&mut self.held);
        match self.has_removed {
            true => text.trim_start().to_owned(),
            false => text,
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
