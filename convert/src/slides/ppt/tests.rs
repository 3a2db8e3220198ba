//! Presentations of our own making, and hostile ones.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use tributary_schemas::ErrorKind;

use crate::config::Config;
use crate::document::Converted;
use crate::limits::Limits;
use crate::office::ole::tests::build as compound;
use crate::office::records::kinds;

fn record(kind: u16, instance: u16, content: &[u8]) -> Vec<u8> {
    let version = if content.len() >= 8
        && !matches!(
            kind,
            kinds::SLIDE_PERSIST | kinds::SLIDE_ATOM | kinds::USER_EDIT | kinds::TEXT_UTF_16
        ) {
        0xF
    } else {
        0
    };
    [
        &(instance << 4 | version).to_le_bytes()[..],
        &kind.to_le_bytes(),
        &(content.len() as u32).to_le_bytes(),
        content,
    ]
    .concat()
}

fn numbers(numbers: &[u32]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect()
}

fn text(kind: u32, text: &str) -> Vec<u8> {
    let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    [
        record(kinds::TEXT_HEADER, 0, &numbers(&[kind])),
        record(kinds::TEXT_UTF_16, 0, &units),
    ]
    .concat()
}

/// A shape at a place with text records.
fn shape(top: i16, left: i16, text: &[u8]) -> Vec<u8> {
    let anchor: Vec<u8> = [top, left, left + 500, top + 200]
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect();
    record(
        kinds::SHAPE,
        0,
        &[
            record(kinds::ANCHOR, 0, &anchor),
            record(kinds::TEXT_BOX, 0, text),
        ]
        .concat(),
    )
}

/// A container of a slide (or of notes) with these shapes; `notes` is the number of its notes.
fn slide(kind: u16, notes: u32, is_hidden: bool, shapes: &[Vec<u8>]) -> Vec<u8> {
    let own = record(kinds::SHAPE, 0, &[]);
    let group = record(
        kinds::SHAPE_GROUP,
        0,
        &[vec![own], shapes.to_vec()].concat().concat(),
    );
    let drawing = record(kinds::DRAWING, 0, &record(0xF002, 0, &group));
    let atom = record(kinds::SLIDE_ATOM, 0, &numbers(&[0, 0, 0, 0, notes, 0]));
    let info = record(
        kinds::SLIDE_SHOW_INFO,
        0,
        &[
            numbers(&[0, 0]),
            vec![0, 0, u8::from(is_hidden) * 4, 0, 0, 0, 0, 0],
        ]
        .concat(),
    );
    record(kind, 0, &[atom, info, drawing].concat())
}

/// A file of slides (objects 2, 3, …, their outline texts) and notes (the objects behind them,
/// numbered from 900).
fn file(slides: &[(Vec<u8>, Vec<u8>)], notes: &[Vec<u8>]) -> Vec<u8> {
    let entry = |object: usize, identifier: usize| {
        record(
            kinds::SLIDE_PERSIST,
            0,
            &numbers(&[object as u32, 0, 0, identifier as u32, 0]),
        )
    };
    let listed: Vec<u8> = slides
        .iter()
        .enumerate()
        .flat_map(|(index, (_, outline))| [entry(2 + index, 256 + index), outline.clone()].concat())
        .collect();
    let noted: Vec<u8> = (0..notes.len())
        .flat_map(|index| entry(2 + slides.len() + index, 900 + index))
        .collect();
    let document = record(
        kinds::DOCUMENT,
        0,
        &[
            record(kinds::SLIDE_LIST, 0, &listed),
            record(kinds::SLIDE_LIST, 2, &noted),
        ]
        .concat(),
    );
    let mut stream = Vec::new();
    let mut offsets = vec![1 | ((1 + slides.len() + notes.len()) as u32) << 20];
    for object in std::iter::once(&document)
        .chain(slides.iter().map(|(slide, _)| slide))
        .chain(notes)
    {
        offsets.push(stream.len() as u32);
        stream.extend(object);
    }
    let directory = stream.len() as u32;
    stream.extend(record(kinds::PERSIST_DIRECTORY, 0, &numbers(&offsets)));
    let edit = stream.len() as u32;
    stream.extend(record(
        kinds::USER_EDIT,
        0,
        &numbers(&[0, 0, 0, directory, 1, 0, 0]),
    ));
    let user = [vec![0; 8], numbers(&[0x14, 0xE391_C05F, edit])].concat();
    compound(&[("PowerPoint Document", &stream), ("Current User", &user)])
}

fn convert(bytes: &[u8]) -> tributary_schemas::Result<Converted> {
    let config = Config::default();
    super::convert(bytes, &config.slides, &Limits::starting_now(&config))
}

fn sample() -> Vec<u8> {
    let reference = record(kinds::OUTLINE_REFERENCE, 0, &numbers(&[1]));
    let first = slide(
        kinds::SLIDE,
        900,
        false,
        &[
            shape(3000, 0, &text(4, "low")),
            shape(1000, 0, &reference),
            shape(0, 0, &text(6, "标题")),
        ],
    );
    let outline = [text(0, "not shown"), text(1, "a\rb")].concat();
    let hidden = slide(kinds::SLIDE, 0, true, &[shape(0, 0, &text(0, "hidden"))]);
    let last = slide(kinds::SLIDE, 0, false, &[shape(0, 0, &text(0, "end"))]);
    let notes = slide(kinds::NOTES, 0, false, &[shape(0, 0, &text(2, "said"))]);
    file(
        &[(first, outline), (hidden, Vec::new()), (last, Vec::new())],
        &[notes],
    )
}

#[test]
fn slides_in_order_with_outline_texts_and_notes() {
    let expected = "## 标题\n\n- a\n- b\n\nlow\n\nNotes:\n\nsaid\n\n\u{C}\n\u{C}## end\n";
    let converted = convert(&sample()).unwrap();
    assert_eq!(
        (converted.markdown.as_str(), converted.title.as_deref()),
        (expected, Some("标题"))
    );
}

#[test]
fn files_that_cannot_be_read_are_refused_with_the_right_kind() {
    let kind = |streams: &[(&str, &[u8])]| convert(&compound(streams)).unwrap_err();
    let user = [vec![0; 8], numbers(&[0x14, 0xF3D1_C4DF, 0])].concat();
    let encrypted = kind(&[("PowerPoint Document", &[0; 40]), ("Current User", &user)]);
    assert_eq!(encrypted.kind(), ErrorKind::Unsupported);
    assert!(
        encrypted
            .to_string()
            .starts_with("the document is encrypted"),
        "{encrypted}"
    );
    assert_eq!(kind(&[("PP40", &[0; 40])]).kind(), ErrorKind::Unsupported);
    assert_eq!(
        kind(&[("PowerPoint Document", &[0; 40])]).kind(),
        ErrorKind::Corrupt
    );
    assert_eq!(kind(&[("Other", &[0; 40])]).kind(), ErrorKind::Corrupt);
    assert_eq!(
        convert(b"no compound file").unwrap_err().kind(),
        ErrorKind::Corrupt
    );
}

#[test]
fn deep_groups_truncated_and_flipped_files_end_cleanly() {
    let mut group = shape(0, 0, &text(0, "deep"));
    for _ in 0..3000 {
        group = record(
            kinds::SHAPE_GROUP,
            0,
            &[record(kinds::SHAPE, 0, &[]), group].concat(),
        );
    }
    let deep = file(
        &[(
            slide(
                kinds::SLIDE,
                0,
                false,
                &[group, shape(0, 0, &text(0, "flat"))],
            ),
            Vec::new(),
        )],
        &[],
    );
    assert_eq!(convert(&deep).unwrap().markdown, "## flat\n");
    let bytes = sample();
    let run = |bytes: &[u8]| {
        if let Err(error) = convert(bytes) {
            assert!(
                matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported),
                "{error}"
            );
        }
    };
    (0..bytes.len())
        .step_by(97)
        .for_each(|length| run(&bytes[..length]));
    let mut state = 0x2545_F491_u32;
    for _ in 0..3000 {
        let mut flipped = bytes.clone();
        for _ in 0..4 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = (state >> 8) as usize % flipped.len();
            flipped[at] ^= 1 << (state >> 29);
        }
        run(&flipped);
    }
}
