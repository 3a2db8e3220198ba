//! Paragraphs as Markdown.

use super::*;

const BOLD: Look = Look {
    bold: true,
    italic: false,
    strike: false,
    code: false,
    position: Position::Normal,
};
const PLAIN: Look = Look {
    bold: false,
    italic: false,
    strike: false,
    code: false,
    position: Position::Normal,
};

fn written(pieces: &[(&str, Look)]) -> String {
    let mut inline = Inline::default();
    for (text, look) in pieces {
        inline.text(text, *look);
    }
    inline.markdown()
}

#[test]
fn marks_hug_their_text_and_runs_join() {
    assert_eq!(
        written(&[
            ("a ", PLAIN),
            (" b", BOLD),
            (" ", PLAIN),
            ("c ", BOLD),
            ("d", PLAIN)
        ]),
        "a **b c** d"
    );
    let italic = Look {
        italic: true,
        ..BOLD
    };
    assert_eq!(
        written(&[
            ("x", italic),
            (
                "y",
                Look {
                    strike: true,
                    ..BOLD
                }
            )
        ]),
        "***x***y"
    );
}

#[test]
fn marks_that_would_not_be_read_are_left_out() {
    assert_eq!(written(&[("注意：", BOLD), ("后面", PLAIN)]), "注意：后面");
    assert_eq!(
        written(&[("注意", BOLD), ("：后面", PLAIN)]),
        "**注意**：后面"
    );
}

#[test]
fn raised_and_lowered_digits_are_characters() {
    let lowered = Look {
        position: Position::Lowered,
        ..PLAIN
    };
    let raised = Look {
        position: Position::Raised,
        ..PLAIN
    };
    assert_eq!(
        written(&[
            ("H", PLAIN),
            ("2", lowered),
            ("O 10", PLAIN),
            ("-3", raised),
            (" 4", PLAIN),
            ("th", raised),
            (" x", PLAIN),
            ("i", lowered),
            ("TM", raised)
        ]),
        "H₂O 10⁻³ 4th xᵢTM"
    );
}

#[test]
fn text_does_not_turn_into_markup() {
    assert_eq!(
        written(&[("a*b* snake_case _x_ `c` <b> [^1] ____ 2 < 3", PLAIN)]),
        "a\\*b\\* snake_case \\_x\\_ \\`c\\` \\<b> \\[^1] ____ 2 < 3"
    );
    assert_eq!(
        written(&[(
            "a`b",
            Look {
                code: true,
                ..PLAIN
            }
        )]),
        "``a`b``"
    );
}

#[test]
fn links_pages_and_formulas() {
    let mut inline = Inline::default();
    inline.page();
    inline.open_link("http://h/a b");
    inline.text("li nk", PLAIN);
    inline.close_link();
    inline.open_link("http://empty");
    inline.close_link();
    inline.raw("$a$".into());
    inline.raw("$b$".into());
    inline.text(" x ", PLAIN);
    inline.page();
    inline.text("y", PLAIN);
    inline.page();
    assert_eq!(inline.take_outer_pages(), (1, 1));
    assert_eq!(inline.markdown(), "[li nk](<http://h/a b>)$a$ $b$ x \u{C}y");
    assert_eq!(inline.take_pages(), 1);
    assert_eq!(inline.heading(), "li nk$a$ $b$ x y");
}
