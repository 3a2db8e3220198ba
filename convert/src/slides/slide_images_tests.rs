//! Pictures of slides beside their text.

use std::cell::RefCell;

use super::*;
use crate::picture::ocr::mirror::Mirror;
use crate::picture::ocr::{Engine, PictureReader};

fn deck(markdown: &str) -> Converted {
    Converted {
        markdown: markdown.into(),
        ..Converted::default()
    }
}

fn drawn(text: &str) -> Option<Drawn> {
    Some(Drawn {
        jpeg: vec![1; 10],
        text: text.into(),
    })
}

fn drawing<'a>(config: &'a crate::Config, limits: &'a Limits<'a>) -> Drawing<'a> {
    Drawing {
        slides: &config.slides,
        pdf: &config.pdf,
        limits,
    }
}

#[test]
fn pictures_stand_below_titles_and_what_they_show_below_the_text() {
    let mut converted =
        deck("# 部分\n\n## Title\n\nText\n\u{c}Text only\n\u{c}\n\u{c}\n\u{c}hidden\n");
    let config = crate::Config::default();
    note_hidden(&mut converted.metadata, &[5]);
    show(
        &mut converted,
        vec![
            drawn("read"),
            drawn(""),
            drawn("only pictured"),
            drawn(""),
            None,
        ],
        &Limits::starting_now(&config),
    );
    let expected = "# 部分\n\n## Title\n\n![](image:0)\n\nText\n\nread\n\u{c}![](image:1)\n\nText only\n\u{c}\
        ![](image:2)\n\nonly pictured\n\u{c}\n\u{c}hidden\n";
    assert_eq!(converted.markdown, expected);
    let links: Vec<&str> = converted
        .images
        .iter()
        .map(|image| image.link.as_str())
        .collect();
    assert_eq!(links, ["embedded:0", "embedded:1", "embedded:2"]);
    assert_eq!(converted.blobs[2].name, "slide-3.jpg");
    assert!(!converted.metadata.contains_key(MISSING_KEY));
}

#[test]
fn slides_without_a_picture_are_counted() {
    let config = crate::Config {
        maximum_embedded_bytes: 15,
        ..crate::Config::default()
    };
    let mut converted = deck("a\n\u{c}b\n\u{c}c\n\u{c}");
    note_hidden(&mut converted.metadata, &[4]);
    show(
        &mut converted,
        vec![drawn(""), drawn(""), None, None],
        &Limits::starting_now(&config),
    );
    assert_eq!(
        converted.markdown,
        "![](image:0)\n\na\n\u{c}b\n\u{c}c\n\u{c}"
    );
    assert!(
        converted.metadata[MISSING_KEY].starts_with("2 slides"),
        "one over the limit, one not drawn, and one is hidden"
    );
}

#[test]
fn a_presentation_that_cannot_be_drawn_stays_as_it_is() {
    let config = crate::Config::default();
    let draw = |format: SlideFormat| {
        Err(Error::new(
            ErrorKind::Timeout,
            format!("{} takes too long", format.extension()),
        ))
    };
    let slides = SlideDrawing::new(&draw, &|| Ok(()));
    let mut converted = deck("a\n");
    let limits = Limits::starting_now(&config).with_slides(&slides);
    drawing(&config, &limits)
        .add_pictures(&mut converted, SlideFormat::Pptx)
        .unwrap();
    assert_eq!(
        (
            converted.markdown.as_str(),
            converted.metadata[MISSING_KEY].as_str()
        ),
        ("a\n", "pptx takes too long")
    );
}

#[test]
fn what_the_slide_says_already_is_not_said_again() {
    let known = "## 载波聚合\n\nThroughput grows with the number of carriers\n";
    let read = "载波聚合\n\nThroughput qrows with the number of carriers\n\n下行峰值速率\n\n---";
    assert_eq!(unknown_text(known, read), "下行峰值速率");
}

#[test]
fn a_slide_is_read_where_nobody_else_reads() {
    let area = Area {
        left: 0.5,
        top: 0.25,
        width: 0.75,
        height: 0.25,
    };
    assert_eq!(areas_to_read("Text", vec![area]), [area]);
    assert_eq!(areas_to_read("Text", Vec::new()), []);
    assert_eq!(
        areas_to_read("\n", Vec::new()),
        [Area::WHOLE],
        "shapes alone"
    );

    let picture = RgbImage::new(4, 4, (0..48).collect()).unwrap();
    let part = cut_out(&picture, area).unwrap();
    assert_eq!(
        (part.width(), part.height(), part.pixels()),
        (2, 1, [18, 19, 20, 21, 22, 23].as_slice()),
        "its right end lies outside"
    );
    assert!(cut_out(&picture, Area { left: 1.5, ..area }).is_none());
    assert_eq!(cut_out(&picture, Area::WHOLE), Some(picture));
}

#[test]
fn only_slides_that_are_read_are_drawn_large() {
    let config = crate::Config::default();
    let widths = RefCell::new(Vec::new());
    let draw = |index: usize, width: u16| {
        let times = width / config.slides.image_width;
        widths.borrow_mut().push((index, times));
        let side = u32::from(times) * 50;
        Ok(RgbImage::new(side, side, vec![0; (side * side * 3) as usize]).unwrap())
    };
    let never = |format: SlideFormat| panic!("{format:?}");
    let slides = SlideDrawing::new(&never, &|| Ok(()));
    slides.note_unread(
        1,
        Area {
            width: 0.5,
            ..Area::WHOLE
        },
    );
    slides.note_unread(
        1,
        Area {
            width: 0.1,
            ..Area::WHOLE
        },
    );
    slides.note_unread(3, Area::WHOLE);
    let mut converted = deck("a\n\u{c}b\n\u{c}c\n\u{c}");
    note_hidden(&mut converted.metadata, &[4]);
    let engine = Engine::with(Box::new(Mirror::default()));
    let pictures = PictureReader::new(&config.ocr, &engine, &|| Ok(()));
    let limits = Limits::starting_now(&config);
    let reading = limits.with_pictures(&pictures);
    let drawn = drawing(&config, &reading)
        .draw_slides(&converted, &draw, &slides)
        .unwrap();
    let texts: Vec<Option<&str>> = drawn
        .iter()
        .map(|drawn| Some(drawn.as_ref()?.text.as_str()))
        .collect();
    assert_eq!(
        texts,
        [Some(""), Some("50x100 [0, 0, 0] [0, 0, 0]"), Some(""), None],
        "what is too small shows no text"
    );
    assert_eq!(widths.take(), [(0, 1), (1, 1), (1, READING_SCALE), (2, 1)]);
    assert_eq!(
        drawing(&config, &limits)
            .draw_slides(&converted, &draw, &slides)
            .unwrap()
            .len(),
        4
    );
    assert_eq!(widths.take(), [(0, 1), (1, 1), (2, 1)], "nobody reads");
}
