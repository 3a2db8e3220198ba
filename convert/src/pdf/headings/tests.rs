//! Tests of headings.

use super::*;

fn paragraph(text: &str, size: f32) -> Block {
    Block::Paragraph(Paragraph {
        text: text.to_owned(),
        lines: 1,
        size,
        ..Paragraph::default()
    })
}

#[test]
fn levels_come_from_outline_number_and_size() {
    let mut pages = vec![vec![
        paragraph("The Title", 20.0),
        paragraph("1 One", 14.0),
        paragraph("1.1 Inner", 14.0),
        paragraph("Plain", 10.0),
    ]];
    let bookmarks = [Bookmark {
        title: "Plain".into(),
        level: 4,
        page: Some(0),
    }];
    mark(
        &mut pages,
        &[Statistics {
            body_size: 10.0,
            ..Statistics::default()
        }],
        &bookmarks,
    );
    let levels: Vec<u8> = pages
        .concat()
        .iter()
        .filter_map(|block| {
            if let Block::Heading(level, _) = block {
                Some(*level)
            } else {
                None
            }
        })
        .collect();
    assert_eq!(levels, [1, 2, 3, 4]);
    assert_eq!(title(&pages).as_deref(), Some("The Title"));
}
