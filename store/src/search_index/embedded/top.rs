//! Keeps the best of a stream of scored numbers: a buffer that is cut down to the limit whenever it
//! is twice as full, which for the limits of tier 1 (1500 and more) costs a fraction of a heap.

use std::cmp::Ordering;

/// A number (document or row) and its score.
pub type Scored = (f32, u32);

/// The best `limit` of everything pushed.
pub struct Top {
    limit: usize,
    threshold: f32,
    buffer: Vec<Scored>,
}

impl Top {
    /// Keeps `limit`; at least one.
    pub fn new(limit: usize, lowest: f32) -> Self {
        let limit = limit.max(1);
        Self {
            limit,
            threshold: lowest,
            buffer: Vec::with_capacity(limit.saturating_mul(2).min(1 << 16)),
        }
    }

    /// A score below this cannot get in; an equal one may.
    #[inline]
    pub fn threshold(&self) -> f32 {
        self.threshold
    }

    /// Offers one. `order` decides between equal scores; it is asked only when the buffer is cut.
    #[inline]
    pub fn push(&mut self, score: f32, number: u32, order: &impl Fn(u32, u32) -> Ordering) {
        if score >= self.threshold {
            self.buffer.push((score, number));
            if self.buffer.len() >= self.limit.saturating_mul(2) {
                self.cut(order);
            }
        }
    }

    #[cold]
    fn cut(&mut self, order: &impl Fn(u32, u32) -> Ordering) {
        if self.buffer.len() > self.limit {
            let (_, last, _) = self
                .buffer
                .select_nth_unstable_by(self.limit - 1, |left, right| better(left, right, order));
            self.threshold = self.threshold.max(last.0);
            self.buffer.truncate(self.limit);
        }
    }

    /// The best, in no order.
    pub fn into_unsorted(mut self, order: &impl Fn(u32, u32) -> Ordering) -> Vec<Scored> {
        self.cut(order);
        self.buffer
    }

    /// The best, best first.
    pub fn into_sorted(self, order: &impl Fn(u32, u32) -> Ordering) -> Vec<Scored> {
        let mut best = self.into_unsorted(order);
        best.sort_unstable_by(|left, right| better(left, right, order));
        best
    }
}

/// Higher score first; `order` between equal ones.
pub fn better(left: &Scored, right: &Scored, order: &impl Fn(u32, u32) -> Ordering) -> Ordering {
    right
        .0
        .total_cmp(&left.0)
        .then_with(|| order(left.1, right.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_are_kept_and_equal_scores_follow_the_order() {
        let order = |left: u32, right: u32| left.cmp(&right);
        let mut scores: Vec<Scored> = (0..1000_u32)
            .map(|number| ((number.wrapping_mul(2_654_435_761) >> 28) as f32, number))
            .collect();
        for limit in [1, 7, 100, 999, 1000, 5000] {
            let mut top = Top::new(limit, f32::NEG_INFINITY);
            scores
                .iter()
                .for_each(|(score, number)| top.push(*score, *number, &order));
            scores.sort_by(|left, right| better(left, right, &order));
            assert_eq!(
                top.into_sorted(&order),
                scores.iter().take(limit).copied().collect::<Vec<_>>()
            );
            scores.sort_by_key(|scored| scored.1.wrapping_mul(40_503));
        }
    }
}
