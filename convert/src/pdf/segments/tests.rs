//! Tests of runs of text.

use super::*;
use crate::pdf::characters::Style;
use crate::pdf::structure::Content;

fn glyphs(text: &str, advance: f32) -> Vec<Glyph> {
    let style = Style {
        size: 10.0,
        quarters: Some(0),
        ..Style::default()
    };
    let place = |index: usize| Area {
        left: advance * index as f32,
        right: advance * index as f32 + 5.0,
        top: 92.0,
        bottom: 102.0,
    };
    let glyph = |(index, value)| match value {
        '_' => Glyph::Gap,
        ' ' => Glyph::Space,
        value => Glyph::Drawn(Character {
            value,
            area: place(index),
            baseline: 100.0,
            style,
            link: None,
            content: Content::default(),
            is_guessed: value == '\u{1}',
        }),
    };
    text.chars().enumerate().map(glyph).collect()
}

/// Glyphs of a line in logical order, each with where it stands, five points to a glyph.
fn placed(line: &[(char, f32)]) -> Vec<Glyph> {
    let text: String = line.iter().map(|(value, _)| value).collect();
    let places = line.iter().map(|(_, left)| *left);
    let mut glyphs = glyphs(&text, 5.0);
    for (glyph, left) in glyphs.iter_mut().zip(places) {
        if let Glyph::Drawn(character) = glyph {
            (character.area.left, character.area.right) = (left, left + 5.0);
        }
    }
    glyphs
}

#[test]
fn cells_with_numbers_are_parted_from_right_to_left() {
    // قيم | 11 | 9: the cells from right to left, the digits of each from left to right.
    let row = [
        ('ق', 110.0),
        ('ي', 105.0),
        ('م', 100.0),
        (' ', 0.0),
        ('1', 60.0),
        ('1', 65.0),
        (' ', 0.0),
        ('9', 30.0),
    ];
    assert_eq!(texts(&placed(&row)), ["قيم", "11", "9"]);
    // A number within a sentence stays there.
    let sentence = [
        ('ق', 80.0),
        ('م', 75.0),
        (' ', 0.0),
        ('4', 62.0),
        ('2', 67.0),
        (' ', 0.0),
        ('ق', 54.0),
    ];
    assert_eq!(texts(&placed(&sentence)), ["قم 42 ق"]);
}

#[test]
fn a_sign_behind_a_number_is_written_behind_it() {
    let item = [
        ('.', 95.0),
        ('3', 100.0),
        (' ', 0.0),
        ('ق', 88.0),
        ('م', 83.0),
    ];
    assert_eq!(texts(&placed(&item)), ["3. قم"]);
}

#[test]
fn names_stand_as_they_are_drawn_between_words_from_right_to_left() {
    let line = [
        ('ق', 100.0),
        (' ', 0.0),
        ('5', 85.0),
        ('9', 90.0),
        ('R', 75.0),
        ('U', 80.0),
        (' ', 0.0),
        ('ق', 65.0),
    ];
    assert_eq!(texts(&placed(&line)), ["ق RU59 ق"]);
}

#[test]
fn words_from_right_to_left_in_a_line_from_left_to_right_are_read() {
    let read = |drawn: &str| texts(&glyphs(drawn, 5.0));
    assert_eq!(
        read("Hebrew: םלעו םלוש is used"),
        ["Hebrew: שולם ועלם is used"]
    );
    // Numbers within keep their figures.
    assert_eq!(read("The word םלש 12 םלוש is"), ["The word שולם 12 שלם is"]);
    // In the order in which they are read, from right to left.
    let mut turned = glyphs("A word שלום is", 5.0);
    for (at, place) in (7..11).rev().zip(7_u8..) {
        if let Some(Glyph::Drawn(character)) = turned.get_mut(at) {
            (character.area.left, character.area.right) =
                (f32::from(place) * 5.0, f32::from(place) * 5.0 + 5.0);
        }
    }
    assert_eq!(texts(&turned), ["A word שלום is"]);
    // Each word by itself, as Chromium does.
    let words = [
        (' ', 0.0),
        ('ע', 20.0),
        ('ו', 15.0),
        (' ', 0.0),
        ('ש', 35.0),
        ('ל', 30.0),
    ];
    let line = [
        &[('A', 0.0), ('s', 5.0)][..],
        &words,
        &[(' ', 0.0), ('b', 45.0), ('c', 50.0), ('d', 55.0)],
    ]
    .concat();
    assert_eq!(texts(&placed(&line)), ["As של עו bcd"]);
}

#[test]
fn arabic_figures_are_written_from_left_to_right() {
    // Drawn from left to right: the number before the word, its comma left of it, and brackets.
    let drawn = |signs: &str| texts(&glyphs(signs, 5.0));
    assert_eq!(drawn("١١٠"), ["١١٠"]);
    let line = |number: &str| -> Vec<Glyph> {
        let word = placed(&[('ق', 90.0), ('ي', 85.0), ('م', 80.0), (' ', 0.0)]);
        let number = glyphs(number, 5.0).into_iter();
        word.into_iter().chain(number).collect()
    };
    for (number, read) in [("٤٥", "قيم ٤٥"), ("،٢٫٥٣", "قيم ٢٫٥٣،"), ("،٤", "قيم ٤،")]
    {
        let line = line(number);
        let texts: Vec<String> = texts(&line);
        assert_eq!(texts.join(" "), read);
    }
}

#[test]
fn spread_chinese_has_no_spaces() {
    assert_eq!(texts(&glyphs("包_含_以_下", 7.4)), ["包含以下"]);
    assert_eq!(texts(&glyphs("包 含", 7.4)), ["包 含"]);
    assert_eq!(texts(&glyphs("包 含 以 下", 3.6)), ["包含以下"]);
}

fn texts(glyphs: &[Glyph]) -> Vec<String> {
    build(glyphs, Some(0), &Rules::default())
        .into_iter()
        .map(|segment| segment.text)
        .collect()
}

#[test]
fn typed_spaces_and_wide_gaps_part_chinese_words() {
    // Letters without room between them; typed spaces of a quarter.
    let words = "姓名 张三 性别 男 民族";
    let mut glyphs = glyphs(words, 5.0);
    let mut left = 0.0;
    for glyph in &mut glyphs {
        match glyph {
            Glyph::Drawn(character) => {
                (character.area.left, character.area.right) = (left, left + 10.0);
                left += 10.0;
            }
            _ => left += 2.5,
        }
    }
    assert_eq!(texts(&glyphs), [words]);
    // Ten points of room, which nobody typed.
    let gaps = |advance: f32| {
        let mut glyphs = self::glyphs("张三_李四", 5.0);
        for glyph in glyphs.iter_mut().skip(3) {
            if let Glyph::Drawn(character) = glyph {
                character.area.left += advance;
                character.area.right += advance;
            }
        }
        texts(&glyphs)
    };
    assert_eq!(
        (gaps(4.0), gaps(1.0)),
        (vec!["张三 李四".into()], vec!["张三李四".to_owned()])
    );
}

#[test]
fn wide_gaps_part_segments() {
    assert_eq!(texts(&glyphs("ab cd", 5.0)), ["ab cd"]);
    let mut far = glyphs("ab", 5.0);
    far.extend(glyphs("xxxxxxxcd", 5.0).into_iter().skip(7));
    assert_eq!(texts(&far), ["ab", "cd"]);
}

#[test]
fn spaced_words_are_closed() {
    assert_eq!(texts(&glyphs("T_I_T_L_E", 4.0)), ["TITLE"]);
    assert_eq!(texts(&glyphs("a b c d e", 4.0)), ["a b c d e"]);
}

#[test]
fn unknown_signs_before_text_are_bullets() {
    assert_eq!(texts(&glyphs("\u{1} text", 5.0)), ["• text"]);
}

#[test]
fn words_drawn_backwards_are_turned() {
    assert_eq!(
        texts(&glyphs("\u{62A}\u{628} \u{62C}", 5.0)),
        ["\u{628}\u{62A} \u{62C}"]
    );
}

#[test]
fn ligatures_keep_their_order() {
    let mut line = glyphs("\u{627}\u{644}\u{62D}", -5.0);
    if let [Glyph::Drawn(one), Glyph::Drawn(other), _] = line.as_mut_slice() {
        other.area = one.area;
    }
    assert_eq!(texts(&line), ["\u{644}\u{627}\u{62D}"]);
}

#[test]
fn small_capitals_are_as_large_as_their_capitals() {
    // Programs draw small letters as capitals of a smaller size; a small sign beside text is no such.
    let size_of = |text: &str, small: fn(char) -> bool| {
        let mut glyphs = glyphs(text, 5.0);
        for glyph in &mut glyphs {
            if let Glyph::Drawn(character) = glyph
                && small(character.value)
            {
                character.style.size = 7.0;
            }
        }
        let found = build(&glyphs, Some(0), &Rules::default());
        found.first().map(|segment| segment.size)
    };
    assert_eq!(size_of("First", char::is_lowercase), Some(10.0));
    assert_eq!(size_of("FIRST", |letter| letter != 'F'), Some(10.0));
    assert_eq!(size_of("ab123456", |sign| sign.is_ascii_digit()), Some(7.0));
}

#[test]
fn chinese_fonts_of_one_width_are_parted_and_leaders_are_not() {
    let cuts = |text: &str, is_fixed: bool| {
        let mut glyphs = glyphs(text, 13.0);
        for glyph in &mut glyphs {
            if let Glyph::Drawn(character) = glyph {
                character.style.is_fixed = is_fixed;
            }
        }
        let segments = build(&glyphs, Some(0), &Rules::default());
        let cuts = segments.iter().map(|segment| segment.cuts.len());
        (segments.len(), cuts.sum::<usize>())
    };
    assert_eq!(cuts("参数", true), (1, 1));
    assert_eq!(cuts("ab", true), (1, 0));
    assert_eq!(cuts("ab....", false), (1, 5));
    assert_eq!(cuts("ab.....", false), (1, 0));
}
