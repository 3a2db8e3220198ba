//! Raised figures and footnotes through the whole converter.

use super::maker::{Maker, text};
use super::*;

/// Lines of text in which `^1` is a raised number.
fn lines(size: f32, top: f32, lines: &[&str]) -> String {
    let place = |(at, line): (u8, &&str)| {
        let raised = |(nth, part): (usize, &str)| match part.split_at_checked(1) {
            Some((number, rest)) if nth > 0 => format!(
                "/F1 {} Tf {} Ts ({number}) Tj /F1 {size} Tf 0 Ts ({rest}) Tj ",
                0.65 * size,
                0.4 * size
            ),
            _ => format!("/F1 {size} Tf ({part}) Tj "),
        };
        let shown: String = line.split('^').enumerate().map(raised).collect();
        let y = top - 1.2 * size * f32::from(at);
        format!("BT 1 0 0 1 72 {y} Tm {shown} ET\n")
    };
    (0..).zip(lines).map(place).collect()
}

#[test]
fn footnotes_stand_behind_what_refers_to_them() {
    let Some(config) = pdfium() else { return };
    let page = lines(
        10.0,
        700.0,
        &[
            "Ten stations^1 were measured at a height of 10^5 millimetres above the sea, and each",
            "of them slept while nobody called.^2",
        ],
    ) + &lines(
        10.0,
        660.0,
        &["The next paragraph has 3 m^2 of text and no note."],
    ) + &lines(
        8.0,
        120.0,
        &[
            "^1 Or beacons, as they are called in the older of the papers that are named at the",
            "end of this text.",
            "^2 By night.",
        ],
    );
    let expected = "Ten stations[^1] were measured at a height of 10⁵ millimetres above the sea, and each of them slept while nobody called.[^2]\n\n\
        [^1]: Or beacons, as they are called in the older of the papers that are named at the end of this text.\n\n\
        [^2]: By night.\n\n\
        The next paragraph has 3 m² of text and no note.\n";
    assert_eq!(
        markdown(&Maker::new().page(&page).finish(), &config),
        expected
    );
}

#[test]
fn lowered_figures_and_those_of_other_lines_stay() {
    let Some(config) = pdfium() else { return };
    let page = text("F1", 10.0, 72.0, 700.0, "Water is H")
        + &text("F1", 7.0, 120.0, 698.5, "2")
        + &text("F1", 10.0, 126.0, 700.0, "O");
    let found = markdown(&Maker::new().page(&page).finish(), &config);
    assert!(found.contains('2') && !found.contains('²'), "{found}");
}
