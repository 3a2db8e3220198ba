//! Embedding texts longer than a model's window: cut into windows at sentence ends, each under the
//! heading, and their vectors averaged, the first ones counting most: a section says first what it
//! is about. What it says further down is found by the vectors of the windows, which are kept beside
//! the mean.

use tributary_models::TokenCounter;
use tributary_schemas::{ChunkVectors, WindowVectors};
use tributary_taxonomy::sentences::{run_ends, sentence_ends};

use crate::chunkers::count;
use crate::search_text::SearchText;

/// One window of an embedding text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Heading and a part of the body.
    pub text: String,
    /// Tokens of that part, at least 1: its weight.
    pub weight: usize,
}

/// The windows of a text: one if it fits, else as many as are needed, of about equal length, at
/// most `limit`.
pub fn windows(
    text: &SearchText,
    window_tokens: usize,
    limit: usize,
    tokens: &dyn TokenCounter,
) -> Vec<Window> {
    let heading = bounded_heading(&text.heading, window_tokens / 4, tokens);
    let budget = window_tokens
        .saturating_sub(count(tokens, &heading))
        .max(window_tokens / 2)
        .max(8);
    let body_tokens = count(tokens, &text.body);
    if body_tokens <= budget {
        return vec![window(&heading, &text.body, body_tokens)];
    }
    let target = body_tokens.div_ceil(body_tokens.div_ceil(budget));
    let mut windows = Vec::new();
    let (mut start, mut end, mut sum) = (0, 0, 0);
    for (next, part_tokens) in parts(&text.body, body_tokens, budget, tokens) {
        if sum > 0 && (sum + part_tokens > budget || sum >= target) {
            windows.push(window(
                &heading,
                text.body.get(start..end).unwrap_or_default(),
                sum,
            ));
            (start, sum) = (end, 0);
            if windows.len() >= limit.max(1) {
                return windows;
            }
        }
        end = next;
        sum += part_tokens;
    }
    windows.push(window(
        &heading,
        text.body.get(start..).unwrap_or_default(),
        sum,
    ));
    windows
}

/// Ends of sentences and their tokens; a sentence over a quarter of the budget in runs of words, so
/// that windows fill evenly.
fn parts(
    body: &str,
    body_tokens: usize,
    budget: usize,
    tokens: &dyn TokenCounter,
) -> Vec<(usize, usize)> {
    let maximum_tokens = (budget / 4).max(4);
    let run_bytes =
        (body.len() as f64 / body_tokens.max(1) as f64 * maximum_tokens as f64) as usize;
    let mut parts = Vec::new();
    let mut start = 0;
    for end in sentence_ends(body, &[]) {
        let sentence = body.get(start..end).unwrap_or_default();
        let sentence_tokens = count(tokens, sentence);
        if sentence_tokens <= maximum_tokens {
            parts.push((end, sentence_tokens));
        } else {
            let mut run_start = 0;
            for (run_end, _) in run_ends(sentence, run_bytes.max(4), &[]) {
                parts.push((
                    start + run_end,
                    count(tokens, sentence.get(run_start..run_end).unwrap_or_default()),
                ));
                run_start = run_end;
            }
        }
        start = end;
    }
    parts
}

fn window(heading: &str, body: &str, tokens: usize) -> Window {
    let text = SearchText {
        heading: heading.to_owned(),
        body: body.trim().to_owned(),
    }
    .joined();
    Window {
        text,
        weight: tokens.max(1),
    }
}

/// The end of the heading (the nearest titles) if all of it is too long.
fn bounded_heading(heading: &str, limit: usize, tokens: &dyn TokenCounter) -> String {
    let mut rest = heading;
    while count(tokens, rest) > limit && !rest.is_empty() {
        let cut = rest.ceil_char_boundary((rest.len() / 4).max(1));
        rest = rest.get(cut..).unwrap_or_default();
    }
    rest.trim().to_owned()
}

/// The vectors of a chunk: the mean of those of its windows, and where there are several, those of
/// the first `kept` beside it.
pub fn together(vectors: &[(ChunkVectors, usize)], kept: usize) -> ChunkVectors {
    let mut chunk = mean(vectors);
    if vectors.len() > 1 {
        let kept = vectors.iter().take(kept);
        chunk.windows = WindowVectors::of(kept.map(|(window, _)| of_tier_2(window)));
    }
    chunk
}

fn of_tier_2(vectors: &ChunkVectors) -> &[f32] {
    if vectors.fine.is_empty() {
        &vectors.coarse
    } else {
        &vectors.fine
    }
}

/// The mean of the windows' vectors, made unit length again. The n-th window weighs its length
/// divided by n²: pages are asked for by what they say first, and with the first window alone
/// nothing of the rest would be found. One window is returned as it is.
fn mean(vectors: &[(ChunkVectors, usize)]) -> ChunkVectors {
    match vectors {
        [] => ChunkVectors::default(),
        [(only, _)] => only.clone(),
        [(first, _), ..] => ChunkVectors {
            coarse: weighted(
                &first.coarse,
                vectors
                    .iter()
                    .map(|(vectors, weight)| (&vectors.coarse, *weight)),
            ),
            fine: weighted(
                &first.fine,
                vectors
                    .iter()
                    .map(|(vectors, weight)| (&vectors.fine, *weight)),
            ),
            windows: WindowVectors::default(),
        },
    }
}

fn weighted<'a>(first: &[f32], vectors: impl Iterator<Item = (&'a Vec<f32>, usize)>) -> Vec<f32> {
    let mut sum = vec![0.0_f64; first.len()];
    for (index, (vector, length)) in vectors.enumerate() {
        let weight = length as f64 / ((index + 1) * (index + 1)) as f64;
        for (total, value) in sum.iter_mut().zip(vector) {
            *total += f64::from(*value) * weight;
        }
    }
    let length = sum.iter().map(|value| value * value).sum::<f64>().sqrt();
    if length > 1e-9 {
        sum.iter().map(|value| (value / length) as f32).collect()
    } else {
        first.to_vec()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    struct Characters;
    impl TokenCounter for Characters {
        fn count(&self, text: &str) -> usize {
            text.chars()
                .filter(|character| !character.is_whitespace())
                .count()
        }
    }

    fn text(body: &str) -> SearchText {
        SearchText {
            heading: "标题".into(),
            body: body.into(),
        }
    }

    #[test]
    fn a_short_text_is_one_window_and_a_long_one_is_several_that_hold_all_of_it() {
        assert_eq!(
            windows(&text("短。"), 64, 8, &Characters),
            [Window {
                text: "标题\n短。".into(),
                weight: 2
            }]
        );
        let body = "这句话有十个字在里面。".repeat(30) + &"无".repeat(200);
        let windows = windows(&text(&body), 64, 100, &Characters);
        let joined: String = windows
            .iter()
            .map(|window| window.text.strip_prefix("标题\n").unwrap())
            .collect();
        assert_eq!(joined, body);
        assert!(
            windows
                .iter()
                .all(|window| Characters.count(&window.text) <= 64),
            "{windows:?}"
        );
        assert_eq!(
            windows.iter().map(|window| window.weight).sum::<usize>(),
            530
        );
    }

    #[test]
    fn windows_are_limited_and_a_long_heading_is_cut_from_its_front() {
        let long = SearchText {
            heading: "远".repeat(100) + "近",
            body: "字".repeat(1000),
        };
        let windows = windows(&long, 64, 3, &Characters);
        assert_eq!(windows.len(), 3);
        assert!(
            windows
                .iter()
                .all(|window| Characters.count(&window.text) <= 64 && window.text.contains("近"))
        );
    }

    #[test]
    fn the_mean_is_weighted_and_of_unit_length() {
        let one = ChunkVectors {
            coarse: vec![1.0, 0.0],
            ..ChunkVectors::default()
        };
        let other = ChunkVectors {
            coarse: vec![0.0, 1.0],
            ..ChunkVectors::default()
        };
        let mean_of_two = mean(&[(one.clone(), 3), (other, 16)]);
        assert!(
            (mean_of_two.coarse[0] - 0.6).abs() < 1e-6
                && (mean_of_two.coarse[1] - 0.8).abs() < 1e-6
        );
        assert!(mean_of_two.fine.is_empty());
        let opposite = ChunkVectors {
            coarse: vec![-1.0, 0.0],
            ..ChunkVectors::default()
        };
        assert_eq!(mean(&[(one.clone(), 1), (opposite, 4)]).coarse, one.coarse);
    }

    #[test]
    fn several_windows_are_kept_beside_their_mean_and_a_single_one_is_the_vector() {
        let window = |coarse: [f32; 2], fine: &[f32]| {
            let vectors = ChunkVectors {
                coarse: coarse.to_vec(),
                fine: fine.to_vec(),
                ..ChunkVectors::default()
            };
            (vectors, 1)
        };
        let single = [window([1.0, 0.0], &[])];
        assert!(together(&single, 16).windows.is_empty());
        let shared = [window([1.0, 0.0], &[]), window([0.0, 1.0], &[])];
        let of_shared = WindowVectors::of([[1.0, 0.0].as_slice(), &[0.0, 1.0]]);
        let chunk = together(&shared, 16);
        assert_eq!(chunk.windows, of_shared);
        assert_eq!(chunk.coarse, mean(&shared).coarse);
        let first = WindowVectors::of([[1.0, 0.0].as_slice()]);
        assert_eq!(together(&shared, 1).windows, first);
        assert!(together(&shared, 0).windows.is_empty());
        let apart = [
            window([1.0, 0.0], &[0.0, 0.0, 1.0]),
            window([0.0, 1.0], &[0.0, 1.0, 0.0]),
        ];
        let of_fine = WindowVectors::of([[0.0, 0.0, 1.0].as_slice(), &[0.0, 1.0, 0.0]]);
        assert_eq!(together(&apart, 16).windows, of_fine);
    }
}
