//! Tells the fixed sentence of a refusal from an answer while it comes in: nothing is shown as long
//! as the reply may be the sentence.

/// Holds back what may be the beginning of the sentence.
pub struct RefusalGate {
    sentence: String,
    state: State,
}

enum State {
    /// What came so far is the beginning of the sentence.
    Held(String),
    /// It is an answer.
    Open,
    /// It is the sentence.
    Refused,
}

impl RefusalGate {
    /// For a sentence.
    pub fn new(sentence: &str) -> Self {
        Self {
            sentence: normal(sentence),
            state: State::Held(String::new()),
        }
    }

    /// Takes a piece of the reply; gives what may be shown.
    pub fn push(&mut self, piece: &str) -> String {
        match &mut self.state {
            State::Open => piece.to_owned(),
            State::Refused => String::new(),
            State::Held(held) => {
                held.push_str(piece);
                let so_far = normal(held);
                if so_far.starts_with(&self.sentence) {
                    self.state = State::Refused;
                    return String::new();
                }
                if self.sentence.starts_with(&so_far) {
                    return String::new();
                }
                let shown = std::mem::take(held).trim_start().to_owned();
                self.state = State::Open;
                shown
            }
        }
    }

    /// The reply is over: what was held is shown, as it is not the whole sentence.
    pub fn finish(&mut self) -> String {
        match std::mem::replace(&mut self.state, State::Open) {
            State::Held(held) => held.trim().to_owned(),
            State::Open => String::new(),
            State::Refused => {
                self.state = State::Refused;
                String::new()
            }
        }
    }

    /// Whether the reply is the sentence; what comes behind it is nothing.
    pub fn is_refusal(&self) -> bool {
        matches!(self.state, State::Refused)
    }
}

/// Letters and digits alone, from the first letter on: models change marks and spaces, and number
/// the sentence as if it were a step.
fn normal(text: &str) -> String {
    let text = text.trim_start_matches(|character: char| !character.is_alphabetic());
    let letters = text.chars().filter(|character| character.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(pieces: &[&str]) -> (String, bool) {
        let mut gate = RefusalGate::new("The passages do not answer this.");
        let mut shown: String = pieces.iter().map(|piece| gate.push(piece)).collect();
        shown.push_str(&gate.finish());
        (shown, gate.is_refusal())
    }

    #[test]
    fn the_sentence_is_told_from_an_answer() {
        let refused = (String::new(), true);
        assert_eq!(told(&["The passages do not answer this."]), refused);
        assert_eq!(
            told(&["the pass", "ages do not", " answer this", " at all"]),
            refused
        );
        assert_eq!(
            told(&["1", ". **The pass", "ages do not", " answer this**."]),
            refused
        );
        assert_eq!(told(&["1", "2 V"]), ("12 V".to_owned(), false));
        assert_eq!(
            told(&["The pass", "age says six [1]."]),
            ("The passage says six [1].".to_owned(), false)
        );
        assert_eq!(told(&["Six", " [1]."]), ("Six [1].".to_owned(), false));
        assert_eq!(told(&["The pass"]), ("The pass".to_owned(), false));
        assert_eq!(told(&[]), (String::new(), false));
    }
}
