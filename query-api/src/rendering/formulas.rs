//! Formulas in LaTeX as MathML, which browsers show without any script.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pulldown_latex::config::DisplayMode;
use pulldown_latex::{Event, Parser, RenderConfig, Storage, push_mathml};

/// Longest formula that is tried; a longer one is most likely none.
const MAXIMUM_FORMULA_BYTES: usize = 4096;
/// Most groups within each other: the parser reads each from its beginning.
const MAXIMUM_GROUPS: usize = 50;

/// How a formula stands in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Within a line.
    Inline,
    /// On lines of its own.
    Block,
}

/// The formula as a `<math>` element; `None` where it is no LaTeX that can be shown.
pub fn mathml(latex: &str, place: Place) -> Option<String> {
    if latex.len() > MAXIMUM_FORMULA_BYTES || groups(latex) > MAXIMUM_GROUPS {
        return None;
    }
    // The parser meets what documents hold; a bug in it costs the formula and not the answer.
    catch_unwind(AssertUnwindSafe(|| rendered(latex, place)))
        .ok()
        .flatten()
}

/// How many groups are within each other at most.
fn groups(latex: &str) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    for character in latex.chars() {
        match character {
            '{' => open += 1,
            '}' => open = open.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(open);
    }
    deepest
}

fn rendered(latex: &str, place: Place) -> Option<String> {
    let storage = Storage::new();
    let events: Vec<Event<'_>> = Parser::new(latex, &storage)
        .collect::<Result<_, _>>()
        .ok()?;
    let display_mode = match place {
        Place::Inline => DisplayMode::Inline,
        Place::Block => DisplayMode::Block,
    };
    let config = RenderConfig {
        display_mode,
        ..RenderConfig::default()
    };
    let mut mathml = String::new();
    let events = events.into_iter().map(Ok::<_, std::convert::Infallible>);
    push_mathml(&mut mathml, events, config).ok()?;
    Some(mathml)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_become_mathml_and_others_nothing() {
        let root = mathml(r"\frac{a}{b} + \sqrt{x_1^2}", Place::Block).unwrap_or_default();
        assert!(
            root.contains("<mfrac>") && root.contains("msubsup"),
            "{root}"
        );
        assert!(root.contains("display=\"block\""), "{root}");
        for other in [r"\nosuchcommand{x}", "{", r"\frac{a}"] {
            assert_eq!(mathml(other, Place::Inline), None, "{other}");
        }
        let nested = |groups| "{".repeat(groups) + "x" + &"}".repeat(groups);
        assert!(mathml(&nested(MAXIMUM_GROUPS), Place::Inline).is_some());
        assert_eq!(mathml(&nested(MAXIMUM_GROUPS + 1), Place::Inline), None);
        assert_eq!(
            mathml(&"x".repeat(MAXIMUM_FORMULA_BYTES + 1), Place::Inline),
            None
        );
    }
}
