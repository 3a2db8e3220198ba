//! Texts that many rows have in common, kept once.

use std::collections::HashSet;
use std::sync::Arc;

/// Texts that are kept at least before any is let go.
pub(super) const SWEEP_AT_LEAST: usize = 1000;

/// The texts.
#[derive(Debug, Default)]
pub(super) struct Texts {
    known: HashSet<Arc<str>>,
    /// How many there may be before those are let go that nobody has any more.
    sweep_at: usize,
}

impl Texts {
    /// The one copy of a text.
    pub fn share(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.known.get(text) {
            return Arc::clone(known);
        }
        if self.known.len() >= self.sweep_at.max(SWEEP_AT_LEAST) {
            self.known.retain(|text| Arc::strong_count(text) > 1);
            self.sweep_at = 2 * self.known.len();
        }
        let new: Arc<str> = text.into();
        self.known.insert(Arc::clone(&new));
        new
    }

    /// Takes over copies that somebody has already.
    pub fn take_over(&mut self, texts: Vec<Arc<str>>) {
        self.known.extend(texts);
    }

    /// How many there are.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.known.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_kept_once_and_only_while_somebody_has_them() {
        let mut texts = Texts::default();
        let kept = texts.share("kept");
        for number in 0..10 * SWEEP_AT_LEAST {
            texts.share(&format!("text {number}"));
        }
        assert!(texts.len() <= SWEEP_AT_LEAST);
        assert!(Arc::ptr_eq(&kept, &texts.share("kept")));
    }
}
