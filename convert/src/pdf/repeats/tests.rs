//! Tests of running heads.

use super::*;
use crate::pdf::page_text::Layer;

fn page(number: usize) -> PageText {
    let segment = |text: String, baseline: f32| {
        let area = Area {
            left: 50.0,
            right: 200.0,
            top: baseline - 8.0,
            bottom: baseline + 2.0,
        };
        Segment {
            characters: text.len(),
            text,
            area,
            baseline,
            size: 10.0,
            ..Segment::default()
        }
    };
    let segments = vec![
        segment("The Book".into(), 30.0),
        segment(format!("text {number}"), 400.0),
        segment("more".into(), 412.0),
        segment("and more".into(), 424.0),
        segment(format!("{number}"), 780.0),
    ];
    PageText {
        layers: vec![Layer {
            segments,
            height: 800.0,
            ..Layer::default()
        }],
        height: 800.0,
        characters: 20,
        has_text: true,
        ..PageText::default()
    }
}

fn texts(page: &PageText) -> Vec<&str> {
    page.layers
        .iter()
        .flat_map(|layer| &layer.segments)
        .map(|segment| segment.text.as_str())
        .collect()
}

#[test]
fn repeated_lines_go() {
    let mut pages: Vec<PageText> = (1..=4).map(page).collect();
    assert_eq!(remove(&mut pages), ["The Book"]);
    let left: Vec<_> = pages.iter().map(texts).collect();
    assert!(left.iter().all(|texts| texts.len() == 3), "{left:?}");
    let mut pair: Vec<PageText> = (1..=2).map(page).collect();
    remove(&mut pair);
    assert_eq!(pair.iter().flat_map(texts).count(), 6);
}

#[test]
fn a_single_page_has_a_head_where_its_foot_mirrors_it() {
    let kept = |change: fn(&mut Segment)| {
        let mut single = [page(1)];
        change(&mut single[0].layers[0].segments[0]);
        remove(&mut single);
        single
            .iter()
            .flat_map(texts)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let text = ["text 1", "more", "and more"];
    assert_eq!(kept(|_| {}), text);
    // What stands further from the edge or is larger than the number of the page is a title, and so
    // is what no number answers: that says nothing more either way.
    let titled = ["The Book", "text 1", "more", "and more"];
    assert_eq!(kept(|head| head.area.top += 20.0), titled);
    assert_eq!(kept(|head| head.size = 11.0), titled);
    let mut numbered_otherwise = [page(2)];
    remove(&mut numbered_otherwise);
    assert_eq!(texts(&numbered_otherwise[0]).len(), 5);
}

#[test]
fn a_last_page_with_little_text_has_a_head_too() {
    let mut pages: Vec<PageText> = (1..=3).map(page).collect();
    for (line, segment) in pages[2].layers[0].segments[1..4].iter_mut().enumerate() {
        segment.baseline = 70.0 + 12.0 * line as f32;
        (segment.area.top, segment.area.bottom) = (segment.baseline - 8.0, segment.baseline + 2.0);
    }
    remove(&mut pages);
    assert_eq!(texts(&pages[2]), ["text 3", "more", "and more"]);
}

/// Four pages, all but the first with one title, `size` large.
fn titled(size: f32, width: f32) -> Vec<PageText> {
    let with_title = |number| {
        let mut page = page(number);
        page.width = width;
        let layer = &mut page.layers[0];
        let mut title = layer.segments[0].clone();
        title.text = format!("Cost ({number})");
        (title.area.left, title.size) = (220.0, size);
        layer.segments.push(title);
        page
    };
    let mut pages = vec![page(1)];
    pages.extend((2..=4).map(with_title));
    pages.extend((5..=6).map(page));
    pages
}

#[test]
fn titles_stay() {
    for (size, width, removed) in [
        (14.0, 600.0, vec!["The Book"]),
        (11.5, 1000.0, vec!["The Book"]),
        (
            10.0,
            600.0,
            vec![
                "The Book",
                "The Book Cost (2)",
                "The Book Cost (3)",
                "The Book Cost (4)",
            ],
        ),
    ] {
        let mut pages = titled(size, width);
        assert_eq!(remove(&mut pages), removed, "{size} {width}");
        let kept = pages.iter().flat_map(texts);
        let titles = kept.filter(|text| text.starts_with("Cost")).count();
        assert_eq!(titles, 4 - removed.len(), "{size} {width}");
    }
    // What nearly all pages have in large letters is no title of one of them.
    let mut pages: Vec<PageText> = titled(14.0, 600.0).drain(1..4).collect();
    remove(&mut pages);
    let mut kept = pages.iter().flat_map(texts);
    assert!(!kept.any(|text| text.starts_with("Cost")));
}

#[test]
fn the_first_page_keeps_its_letterhead() {
    let with_head = |number| {
        let mut page = page(number);
        let first = page.layers[0].segments[0].clone();
        for line in 1..=2 {
            let mut next = first.clone();
            next.text = format!("street {}", ["a", "b"][line - 1]);
            next.baseline += 11.0 * line as f32;
            next.area.top += 11.0 * line as f32;
            next.area.bottom += 11.0 * line as f32;
            page.layers[0].segments.push(next);
        }
        page
    };
    let mut pages: Vec<PageText> = (1..=3).map(with_head).collect();
    remove(&mut pages);
    let counts: Vec<_> = pages.iter().map(|page| texts(page).len()).collect();
    assert_eq!(counts, [6, 3, 3]);
}
