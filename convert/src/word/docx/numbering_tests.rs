//! Lists and their counters.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::config::Config;
use crate::limits::Limits;

fn numbering(inside: &str) -> Numbering {
    let config = Config::default();
    let text = format!("<w:numbering>{inside}</w:numbering>");
    Numbering::read(&mut XmlReader::new(
        &text,
        "numbering",
        Limits::starting_now(&config),
    ))
    .unwrap()
}

fn level(place: usize, format: &str, text: &str) -> String {
    format!(
        "<w:lvl w:ilvl='{place}'><w:start w:val='1'/><w:numFmt w:val='{format}'/><w:lvlText w:val='{text}'/></w:lvl>"
    )
}

fn labels(numbering: &mut Numbering, list: &str, levels: &[usize]) -> Vec<String> {
    let styles = Styles::default();
    let reference = |level: &usize| Reference {
        list: Some(list.to_owned()),
        level: Some(*level),
    };
    levels
        .iter()
        .map(|level| {
            numbering
                .advance(&reference(level), None, &styles)
                .unwrap()
                .label
        })
        .collect()
}

#[test]
fn levels_count_and_begin_anew() {
    let levels = level(0, "decimal", "%1.")
        + &level(1, "decimal", "%1.%2")
        + &level(2, "lowerLetter", "(%3)");
    let mut numbering = numbering(&format!(
        "<w:abstractNum w:abstractNumId='7'>{levels}</w:abstractNum><w:num w:numId='1'><w:abstractNumId w:val='7'/></w:num>
         <w:num w:numId='2'><w:abstractNumId w:val='7'/><w:lvlOverride w:ilvl='0'><w:startOverride w:val='5'/></w:lvlOverride></w:num>"
    ));
    assert_eq!(
        labels(&mut numbering, "1", &[0, 1, 1, 2, 0, 1, 2]),
        ["1.", "1.1", "1.2", "(a)", "2.", "2.1", "(a)"]
    );
    assert_eq!(labels(&mut numbering, "2", &[0, 0]), ["5.", "6."]);
}

#[test]
fn marks_that_texts_refer_to_are_text() {
    let levels = level(0, "decimal", "%1.")
        + &level(1, "decimal", "%1.%2")
        + &level(2, "lowerLetter", "(%3)");
    let mut numbering = numbering(&format!(
        "<w:abstractNum w:abstractNumId='7'>{levels}</w:abstractNum><w:num w:numId='1'><w:abstractNumId w:val='7'/></w:num>"
    ));
    let mut mark = |level| {
        let reference = Reference {
            list: Some("1".into()),
            level: Some(level),
        };
        let numbered = numbering
            .advance(&reference, None, &Styles::default())
            .unwrap();
        (numbered.mark, numbered.label)
    };
    assert_eq!(mark(0), (Some(Mark::Number(1)), "1.".into()));
    assert_eq!(mark(1), (None, "1.1".into()));
    assert_eq!(mark(2), (Some(Mark::Number(1)), "(a)".into()));
    assert_eq!(mark(1), (None, "1.2".into()));
}

#[test]
fn marks_with_words_are_text() {
    let levels = level(0, "chineseCounting", "第%1条")
        + &level(1, "bullet", "•")
        + &level(2, "chineseCounting", "（%3）");
    let mut numbering = numbering(&format!(
        "<w:abstractNum w:abstractNumId='0'>{levels}</w:abstractNum><w:num w:numId='3'><w:abstractNumId w:val='0'/></w:num>"
    ));
    let styles = Styles::default();
    let mut next = |level| {
        numbering
            .advance(
                &Reference {
                    list: Some("3".into()),
                    level: Some(level),
                },
                None,
                &styles,
            )
            .unwrap()
    };
    assert_eq!(
        next(0),
        Numbered {
            level: 0,
            mark: None,
            label: "第一条".into(),
            has_words: true
        }
    );
    assert_eq!(next(1).mark, Some(Mark::Bullet));
    assert_eq!(
        next(2),
        Numbered {
            level: 2,
            mark: Some(Mark::Number(1)),
            label: "（一）".into(),
            has_words: false
        }
    );
    assert!(
        numbering
            .advance(
                &Reference {
                    list: Some("0".into()),
                    level: None
                },
                None,
                &styles
            )
            .is_none()
    );
    assert!(
        numbering
            .advance(
                &Reference {
                    list: Some("99".into()),
                    level: None
                },
                None,
                &styles
            )
            .is_none()
    );
}
