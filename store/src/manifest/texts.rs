//! Values that many rows have in common, kept once.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

/// Values that are kept at least before any is let go.
pub(super) const SWEEP_AT_LEAST: usize = 1000;

/// The values.
#[derive(Debug)]
pub(super) struct Common<T: ?Sized> {
    known: HashSet<Arc<T>>,
    /// How many there may be before those are let go that nobody has any more.
    sweep_at: usize,
}

/// Texts that many rows have in common.
pub(super) type Texts = Common<str>;

impl<T: ?Sized> Default for Common<T> {
    fn default() -> Self {
        Self {
            known: HashSet::new(),
            sweep_at: 0,
        }
    }
}

impl<T: ?Sized + Eq + Hash + 'static> Common<T> {
    /// The one copy of a value; `keep` makes it.
    pub fn share_with(&mut self, value: &T, keep: impl FnOnce(&T) -> Arc<T>) -> Arc<T> {
        if let Some(known) = self.known.get(value) {
            return Arc::clone(known);
        }
        if self.known.len() >= self.sweep_at.max(SWEEP_AT_LEAST) {
            self.known.retain(|value| Arc::strong_count(value) > 1);
            self.sweep_at = 2 * self.known.len();
        }
        let new = keep(value);
        self.known.insert(Arc::clone(&new));
        new
    }

    /// The one copy of a text or a list.
    pub fn share(&mut self, value: &T) -> Arc<T>
    where
        Arc<T>: for<'a> From<&'a T>,
    {
        self.share_with(value, |value| Arc::from(value))
    }

    /// Takes over copies that somebody has already.
    pub fn take_over(&mut self, values: impl IntoIterator<Item = Arc<T>>) {
        self.known.extend(values);
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
