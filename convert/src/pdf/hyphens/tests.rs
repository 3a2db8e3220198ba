//! Parted words in small documents.

use super::*;
use crate::pdf::blocks::{Item, Paragraph};
use crate::pdf::tables::Table;

/// What stands in a document of a text that a line parts and of another text.
fn read(one: &str, next: &str, other: &str) -> String {
    let mut text = one.to_owned();
    lines::append(&mut text, next, false);
    read_all(&text, other)
}

fn read_all(text: &str, other: &str) -> String {
    let page = [text, other].map(|text| {
        Block::Paragraph(Paragraph {
            text: text.to_owned(),
            ..Paragraph::default()
        })
    });
    let mut blocks = vec![page.to_vec()];
    resolve(&mut blocks);
    match blocks.remove(0).remove(0) {
        Block::Paragraph(paragraph) => paragraph.text,
        other => format!("{other:?}"),
    }
}

#[test]
fn the_document_tells_whether_a_hyphen_is_part_of_a_word() {
    for (one, next, other, expected) in [
        ("a well-", "known fact", "", "a wellknown fact"),
        (
            "a well-",
            "known fact",
            "Well-known facts",
            "a well-known fact",
        ),
        ("the conver-", "sion of", "", "the conversion of"),
        ("of App-", "Size bytes", "", "of App-Size bytes"),
        (
            "of App-",
            "Size bytes",
            "the AppSize is",
            "of AppSize bytes",
        ),
        (
            "of App-",
            "Size bytes",
            "AppSize and App-Size",
            "of App-Size bytes",
        ),
        ("由 App-", "Size 指定", "其中AppSize的", "由 AppSize 指定"),
        ("pages 1-", "6 of it", "page 16", "pages 1-6 of it"),
        ("bei base-", "和", "base和", "bei base-和"),
    ] {
        assert_eq!(read(one, next, other), expected);
    }
}

#[test]
fn names_of_programs_are_one_word() {
    for (one, next, expected) in [
        (
            "call readNextFrame-",
            "OfStream here",
            "call readNextFrameOfStream here",
        ),
        (
            "die AtEndDocument-",
            "Anweisung",
            "die AtEndDocument-Anweisung",
        ),
        ("a Neo-", "London street", "a Neo-London street"),
        ("the DATA-", "BUFFER", "the DATA-BUFFER"),
    ] {
        assert_eq!(read(one, next, ""), expected);
    }
}

#[test]
fn words_over_three_lines_are_written_as_elsewhere() {
    for (lines, other, expected) in [
        (["Uicc-", "App-", "Type"], "UiccAppType", "UiccAppType"),
        (
            ["MBIMUicc-", "AppType-", "Unknown"],
            "",
            "MBIMUiccAppTypeUnknown",
        ),
        (
            ["--an eco-", "sys-", "tem"],
            "the Eco-system",
            "--an eco-system",
        ),
        (["--eco-", "sys-", "tem-"], "an ecosystem", "--ecosystem-"),
    ] {
        let mut text = String::new();
        lines
            .iter()
            .for_each(|line| lines::append(&mut text, line, false));
        assert_eq!(read_all(&text, other), expected);
    }
}

fn paragraph(text: &str) -> Block {
    Block::Paragraph(Paragraph {
        text: text.to_owned(),
        ..Paragraph::default()
    })
}

fn texts(mut pages: Vec<Vec<Block>>) -> Vec<Vec<String>> {
    join_over_ends(&mut pages);
    resolve(&mut pages);
    let text = |block: &Block| match block {
        Block::Paragraph(paragraph) => paragraph.text.clone(),
        Block::Item(item) => item.text.clone(),
        other => format!("{other:?}").chars().take(5).collect(),
    };
    let page = |page: &Vec<Block>| page.iter().map(text).collect();
    pages.iter().map(page).collect()
}

#[test]
fn words_that_a_column_or_a_page_parts_are_whole() {
    let item = Block::Item(Item {
        text: "it has a rele-".to_owned(),
        ..Item::default()
    });
    let pages = vec![
        vec![
            paragraph("What it is by mean-"),
            paragraph("ing of it."),
            item,
        ],
        vec![
            Block::Table(Table::default()),
            paragraph("vance below that."),
            paragraph("The other set-"),
            paragraph("4A note at the foot."),
        ],
        vec![paragraph("tings")],
    ];
    let expected = vec![
        vec!["What it is by meaning of it.", "it has a relevance"],
        vec![
            "Table",
            "below that.",
            "The other settings",
            "4A note at the foot.",
        ],
        vec![],
    ];
    assert_eq!(texts(pages), expected);
}

#[test]
fn what_does_not_go_on_stays() {
    let pages = vec![
        vec![
            paragraph("made of pre-"),
            paragraph("Another one"),
            paragraph("a 汉-"),
        ],
        vec![paragraph("begins here")],
    ];
    let expected = vec![
        vec!["made of pre-", "Another one", "a 汉-"],
        vec!["begins here"],
    ];
    assert_eq!(texts(pages), expected);
}
