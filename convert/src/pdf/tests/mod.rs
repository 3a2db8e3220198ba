//! Tests of the whole converter with documents made here. Those that need libpdfium run where it
//! can be loaded, the others everywhere.

mod maker;
mod notes;
mod tagged;
mod tagged_maker;

use std::time::{Duration, Instant};

use tributary_schemas::ErrorKind;

use super::*;
use crate::config::{Config, Engine, OcrConfig, PdfConfig};
use crate::picture::ocr;
use crate::picture::ocr::mirror::{Mirror, reading};
use maker::{Maker, text};

fn config(engine: Engine) -> Config {
    Config {
        pdf: PdfConfig {
            engine,
            ..PdfConfig::default()
        },
        ..Config::default()
    }
}

/// The engines that run here.
fn engines() -> Vec<Config> {
    let pdfium = config(Engine::Pdfium);
    let is_installed = library::lock(&pdfium.pdf).is_ok();
    [
        Some(config(Engine::Builtin)),
        is_installed.then_some(pdfium),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn pdfium() -> Option<Config> {
    engines()
        .into_iter()
        .find(|config| config.pdf.engine == Engine::Pdfium)
}

fn converted(bytes: &[u8], config: &Config) -> Result<Converted> {
    convert(bytes, &config.pdf, &Limits::starting_now(config))
}

fn markdown(bytes: &[u8], config: &Config) -> String {
    converted(bytes, config).map_or_else(
        |error| format!("failed: {error}"),
        |converted| converted.markdown,
    )
}

/// With what is found in pictures of pages.
fn read_by_mirror(bytes: &[u8], config: &Config) -> Converted {
    let engine = ocr::Engine::with(Box::new(Mirror::default()));
    reading(&engine, config, |limits| {
        convert(bytes, &config.pdf, limits)
    })
    .unwrap_or_else(|error| panic!("{error}"))
}

/// Lines of running text from `top` downwards.
fn prose(left: f32, top: f32, words: &str, lines: usize) -> String {
    (0..lines)
        .map(|line| text("F1", 10.0, left, top - 12.0 * line as f32, words))
        .collect()
}

#[test]
fn what_is_entered_in_a_form_is_text_of_the_page() {
    let Some(config) = pdfium() else { return };
    let bytes = Maker::new()
        .field("Guangzhou Tower Ltd")
        .page(&text("F1", 10.0, 72.0, 520.0, "Name of the lessee:"))
        .finish();
    assert_eq!(
        markdown(&bytes, &config),
        "Name of the lessee: Guangzhou Tower Ltd\n"
    );
}

#[test]
fn every_engine_reads_text_and_parts_pages() {
    for config in engines() {
        let bytes = Maker::new()
            .page(&prose(72.0, 700.0, "The first page has a line of text", 3))
            .page(&prose(72.0, 700.0, "And the second page too", 2))
            .finish();
        let found = markdown(&bytes, &config);
        let pages: Vec<&str> = found.split('\u{c}').collect();
        assert_eq!(pages.len(), 2, "{:?}: {found}", config.pdf.engine);
        assert!(
            pages[0].contains("The first page has") && pages[1].contains("And the second page"),
            "{found}"
        );
    }
}

#[test]
fn every_engine_refuses_what_is_no_pdf() {
    for config in engines() {
        for bytes in [&b""[..], b"no PDF at all", b"%PDF-1.7\n%%EOF", &[0; 4000]] {
            let kind = converted(bytes, &config)
                .map_err(|error| error.kind())
                .map(|found| found.markdown);
            assert_eq!(kind, Err(ErrorKind::Corrupt), "{:?}", config.pdf.engine);
        }
    }
}

#[test]
fn every_engine_refuses_what_needs_a_password() {
    for config in engines() {
        let error = converted(&maker::encrypted(), &config).err();
        assert_eq!(
            error.as_ref().map(tributary_schemas::Error::kind),
            Some(ErrorKind::Unsupported),
            "{:?}",
            config.pdf.engine
        );
        assert!(
            error.is_some_and(|error| error.to_string().starts_with("the document is encrypted"))
        );
    }
}

#[test]
fn a_missing_library_is_unavailable_or_replaced() {
    if library::lock(&PdfConfig::default()).is_ok() {
        return;
    }
    let bytes = Maker::new().page(&prose(72.0, 700.0, "text", 1)).finish();
    assert_eq!(
        converted(&bytes, &config(Engine::Pdfium))
            .map_err(|error| error.kind())
            .err(),
        Some(ErrorKind::Unavailable)
    );
    assert_eq!(
        converted(&bytes, &config(Engine::Auto)).map(|found| found.converter),
        Ok(BUILTIN_NAME.into())
    );
}

#[test]
fn structure_is_found() {
    let Some(config) = pdfium() else { return };
    let page = text("F2", 18.0, 72.0, 740.0, "A Title of the Text")
        + &text("F2", 10.0, 72.0, 710.0, "1.1 A bold heading")
        + &prose(
            72.0,
            690.0,
            "Running text that fills its line to the right edge and goes on in the conver-",
            1,
        )
        + &prose(72.0, 678.0, "sion of the next line.", 1)
        + &text("F1", 10.0, 72.0, 650.0, "\\225")
        + &text("F1", 10.0, 90.0, 650.0, "an item")
        + &text("F1", 10.0, 72.0, 638.0, "\\225")
        + &text("F1", 10.0, 90.0, 638.0, "another item")
        + &text("F3", 10.0, 72.0, 610.0, "let code = 1;")
        + &text("F3", 10.0, 84.0, 598.0, "code + 1");
    let expected = "# A Title of the Text\n\n## 1.1 A bold heading\n\nRunning text that fills its line to the right edge and goes on in the conversion of the next line.\n\n\
        - an item\n- another item\n\n```\nlet code = 1;\n  code + 1\n```\n";
    assert_eq!(
        markdown(&Maker::new().page(&page).finish(), &config),
        expected
    );
}

/// The last letters of a paragraph have room below the indent of its first line.
#[test]
fn a_paragraph_ends_below_its_indent() {
    let Some(config) = pdfium() else { return };
    let line = "a line of words that goes to the right edge of the text of this page";
    let indented = "a line of words that goes to the right edge of the text of it";
    let page = prose(72.0, 700.0, line, 4)
        + &text("F1", 10.0, 102.0, 640.0, indented)
        + &text("F1", 10.0, 72.0, 628.0, "end.")
        + &prose(72.0, 604.0, line, 2);
    let found = markdown(&Maker::new().page(&page).finish(), &config);
    let ends = found.lines().find(|line| line.contains("end."));
    assert!(
        ends.is_some_and(|line| line.starts_with("a line of words")),
        "{found}"
    );
}

#[test]
fn columns_and_tables_keep_their_order() {
    let Some(config) = pdfium() else { return };
    let mut page = String::new();
    for line in 0..8 {
        let y = 700.0 - 12.0 * line as f32;
        page += &text(
            "F1",
            10.0,
            72.0,
            y,
            &format!("left column with its line {line} of the text"),
        );
        page += &text(
            "F1",
            10.0,
            320.0,
            y,
            &format!("right column with its line {line} of the text"),
        );
    }
    let found = markdown(&Maker::new().page(&page).finish(), &config);
    assert!(
        found.find("left column with its line 7") < found.find("right column with its line 0"),
        "{found}"
    );

    let mut ruled = String::new();
    for row in 0..4 {
        ruled += &format!("72 {y} m 400 {y} l S\n", y = 700 - 20 * row);
    }
    for x in [72, 200, 400] {
        ruled += &format!("{x} 700 m {x} 640 l S\n");
    }
    for (row, (name, value)) in [("Name", "Value|s"), ("one", "1"), ("two", "2")]
        .into_iter()
        .enumerate()
    {
        let y = 686.0 - 20.0 * row as f32;
        ruled += &(text("F1", 10.0, 76.0, y, name) + &text("F1", 10.0, 204.0, y, value));
    }
    assert_eq!(
        markdown(&Maker::new().page(&ruled).finish(), &config),
        "| Name | Value\\|s |\n| --- | --- |\n| one | 1 |\n| two | 2 |\n"
    );

    let mut open = String::new();
    for (row, cells) in [
        ["Part", "Count", "Price"],
        ["Bolt", "12", "0.50"],
        ["Nut", "140", "0.25"],
        ["Washer", "8", "0.10"],
    ]
    .iter()
    .enumerate()
    {
        for (column, cell) in cells.iter().enumerate() {
            open += &text(
                "F1",
                10.0,
                72.0 + 120.0 * column as f32,
                700.0 - 14.0 * row as f32,
                cell,
            );
        }
    }
    let expected = "| Part | Count | Price |\n| --- | --- | --- |\n| Bolt | 12 | 0.50 |\n| Nut | 140 | 0.25 |\n| Washer | 8 | 0.10 |\n";
    assert_eq!(
        markdown(&Maker::new().page(&open).finish(), &config),
        expected
    );
}

#[test]
fn turned_pages_read_like_others() {
    let Some(config) = pdfium() else { return };
    let lines = prose(72.0, 500.0, "A line of text on a turned page", 2);
    let upright = markdown(&Maker::new().page(&lines).finish(), &config);
    assert_eq!(
        markdown(&Maker::new().turned(90).page(&lines).finish(), &config),
        upright
    );
    let standing = "q 0 1 -1 0 600 0 cm\n".to_owned() + &lines + "Q\n";
    assert_eq!(
        markdown(&Maker::new().page(&standing).finish(), &config),
        upright
    );
}

#[test]
fn pages_without_text_are_listed_and_drawn() {
    let Some(config) = pdfium() else { return };
    let bytes = Maker::new()
        .page(&prose(72.0, 700.0, "text", 1))
        .page("0 0 1 rg 0 0 300 792 re f\n")
        .page("")
        .finish();
    let found = converted(&bytes, &config).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        found.metadata.get("pages_without_text").map(String::as_str),
        Some("2-3")
    );
    assert_eq!(found.markdown, "text\n\u{c}\u{c}");
    let drawn = read_by_mirror(
        &bytes,
        &Config {
            ocr: OcrConfig {
                dots_per_inch: 72.0,
                ..OcrConfig::default()
            },
            ..config.clone()
        },
    );
    assert_eq!(
        drawn.markdown,
        "text\n\u{c}612x792 [0, 0, 255] [255, 255, 255]\n\u{c}612x792 [255, 255, 255] [255, 255, 255]\n"
    );
    assert_eq!(drawn.metadata.get("pages_without_text"), None);
    let limited = Config {
        ocr: OcrConfig {
            maximum_pages: 1,
            ..OcrConfig::default()
        },
        ..config.clone()
    };
    let limited = read_by_mirror(&bytes, &limited);
    assert_eq!(
        limited
            .metadata
            .get("pages_without_text")
            .map(String::as_str),
        Some("3")
    );
    assert_eq!(
        limited.metadata.get("ocr_left_out").map(String::as_str),
        Some("1")
    );
    let blank = converted(&Maker::new().page("").page("").finish(), &config)
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        (
            blank.markdown.as_str(),
            blank.metadata.get("pages_without_text").map(String::as_str)
        ),
        ("", Some("1-2"))
    );
}

#[test]
fn running_lines_go() {
    let Some(config) = pdfium() else { return };
    let page = |number: usize| {
        text("F1", 8.0, 72.0, 770.0, "The Book of Examples")
            + &prose(
                72.0,
                600.0,
                &format!("Text of chapter {number} stands here"),
                2,
            )
            + &text("F1", 8.0, 300.0, 30.0, &number.to_string())
    };
    let bytes = (1..=5)
        .fold(Maker::new(), |maker, number| maker.page(&page(number)))
        .finish();
    let found = markdown(&bytes, &config);
    assert_eq!(found.matches("The Book of Examples").count(), 0, "{found}");
    assert!(
        !found.contains("\n3\n") && found.contains("chapter 5"),
        "{found}"
    );
}

#[test]
fn limits_are_named() {
    for mut config in engines() {
        config.pdf.maximum_pages = 1;
        let bytes = Maker::new()
            .page(&prose(72.0, 700.0, "text", 1))
            .page("")
            .finish();
        let error = converted(&bytes, &config).err();
        assert_eq!(
            error.as_ref().map(tributary_schemas::Error::kind),
            Some(ErrorKind::Invalid),
            "{error:?}"
        );
        assert!(
            error
                .and_then(|error| error.hint().map(str::to_owned))
                .is_some_and(|hint| hint.contains("convert.pdf.maximum_pages"))
        );
    }
    let Some(mut config) = pdfium() else { return };
    config.pdf.maximum_characters = 10;
    let bytes = Maker::new()
        .page(&prose(72.0, 700.0, "more than ten characters", 1))
        .finish();
    assert_eq!(
        converted(&bytes, &config)
            .map_err(|error| error.kind())
            .err(),
        Some(ErrorKind::Invalid)
    );
}

#[test]
fn loops_in_the_page_tree_end() {
    for config in engines() {
        let started = Instant::now();
        // Whatever comes out, it comes.
        let outcome = converted(&maker::page_tree_loop(), &config);
        assert!(
            started.elapsed() < Duration::from_secs(5),
            "{:?}",
            outcome.map(|found| found.markdown)
        );
    }
}

#[test]
fn damaged_documents_end_cleanly() {
    let page = prose(72.0, 700.0, "Some text of a page", 5) + "72 600 m 300 600 l S\n";
    let bytes = Maker::new().page(&page).page(&page).finish();
    for config in engines() {
        let (mut read, mut refused) = (0, 0);
        for length in (0..bytes.len()).step_by(97) {
            match converted(&bytes[..length], &config) {
                Ok(_) => read += 1,
                Err(error) => {
                    assert!(
                        matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported),
                        "{length}: {error}"
                    );
                    refused += 1;
                }
            }
        }
        assert!(
            refused > 0,
            "{:?} reads the first bytes alone ({read} read)",
            config.pdf.engine
        );
        let mut state = 0x2545_F491_4F6C_DD1D_u64;
        for _ in 0..150 {
            let mut damaged = bytes.clone();
            for _ in 0..8 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                let at = (state % damaged.len() as u64) as usize;
                damaged[at] ^= 1 << ((state >> 40) % 8);
            }
            // Every outcome is right that is neither a panic nor a hang.
            drop(converted(&damaged, &config));
        }
    }
}

#[test]
fn page_lists_are_short() {
    assert_eq!(
        page_list([3, 7, 8, 9, 12].into_iter()).as_deref(),
        Some("3,7-9,12")
    );
    assert_eq!(page_list(std::iter::empty()), None);
}

#[test]
fn names_of_files_are_no_titles() {
    assert!(is_title("Annual Report 2024") && is_title("年度报告"));
    assert!(!is_title("report.docx") && !is_title("Microsoft Word - report") && !is_title("12"));
    assert!(!is_title("(anonymous)") && is_title("Anonymous: a history"));
}
