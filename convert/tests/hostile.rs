//! Input made to break converters: each must end in seconds, without a panic or a stack overflow,
//! on a thread with a small stack.
#![allow(clippy::unwrap_used)]

#[path = "../src/test_config.rs"]
mod test_config;

use std::time::{Duration, Instant};

use tributary_convert::Config;
use tributary_convert::limits::Limits;
use tributary_convert::{Converted, Job, convert};
use tributary_schemas::{ErrorKind, Result};

/// Stack of tokio's blocking threads.
const STACK_BYTES: usize = 2 << 20;

/// Far above what each case takes (well under a second), far below what quadratic time would take.
const LIMIT: Duration = Duration::from_secs(10);

fn config() -> Config {
    let mut config: Config = test_config::config();
    config.maximum_body_bytes = 256 << 20;
    config.maximum_markdown_bytes = 512 << 20;
    config
}

fn convert_with(config: &Config, job: Job<'_>) -> Result<Converted> {
    convert(job, config, &Limits::starting_now(config))
}

fn unnamed(bytes: &[u8]) -> Job<'_> {
    Job {
        bytes,
        name: None,
        media_type: None,
    }
}

fn run(name: &str, body: impl Into<Vec<u8>>) -> Result<Converted> {
    let (name, body) = (name.to_owned(), body.into());
    let started = Instant::now();
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn({
        let name = name.clone();
        move || convert_with(&config(), Job::named(&body, &name))
    });
    let result = thread.unwrap().join().unwrap();
    assert!(
        started.elapsed() < LIMIT,
        "{name} took {:?}",
        started.elapsed()
    );
    result
}

#[test]
fn empty_bodies_become_empty_documents() {
    for name in ["a.md", "a.txt", "a.html", "a.csv", "a.rst", "a"] {
        for body in ["", " ", "\n\n \t\n", "\u{FEFF}"] {
            assert_eq!(
                run(name, body).unwrap().markdown.trim(),
                "",
                "{name} {body:?}"
            );
        }
    }
    assert_eq!(
        run("a.html", "<html><body><script>x</script></body></html>")
            .unwrap()
            .markdown,
        ""
    );
}

#[test]
fn bodies_over_the_limit_are_refused() {
    let mut small = config();
    small.maximum_body_bytes = 1000;
    let error = convert_with(&small, unnamed(&[b'x'; 1001])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.hint().unwrap().contains("maximum_body_bytes"));
    let mut small = config();
    small.maximum_markdown_bytes = 10;
    assert_eq!(
        convert_with(&small, unnamed(b"more than ten bytes"))
            .unwrap_err()
            .kind(),
        ErrorKind::Invalid
    );
}

#[test]
fn binary_formats_are_unsupported_and_say_what_is() {
    for body in [
        &b"%!PS-Adobe-3.0"[..],
        b"PK\x03\x04xxxx",
        b"\0\x01\x02\x03\0\0\0\x05zzz",
    ] {
        let error = run("a.md", body).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.hint().unwrap().contains("HTML, Markdown"));
    }
}

#[test]
fn long_lines_and_many_headings_take_linear_time() {
    let line = "载波聚合 word [x] *y* `z` <a> ".repeat(1_200_000);
    assert!(line.len() > 40_000_000);
    assert_eq!(
        run("line.txt", line.clone()).unwrap().markdown.len(),
        line.len()
    );
    let headings = "# T\n".repeat(100_000);
    let converted = run("headings.md", headings.clone()).unwrap();
    assert_eq!(
        (converted.markdown.len(), converted.title.as_deref()),
        (headings.len(), Some("T"))
    );
    assert_eq!(
        run("headings.html", "<h1>T</h1>".repeat(100_000))
            .unwrap()
            .markdown
            .matches("# T")
            .count(),
        100_000
    );
    assert_eq!(
        run("headings.rst", "T\n====\n\n".repeat(100_000))
            .unwrap()
            .markdown
            .matches("# T")
            .count(),
        100_000
    );
    assert!(run("line.md", "word *y* `z` [l](u) ".repeat(500_000)).is_ok());
}

#[test]
fn deeply_nested_markdown_is_read() {
    for (what, body) in [
        ("quotes", ">".repeat(10_000) + " text"),
        ("quote lines", (">".repeat(300) + " text\n").repeat(300)),
        ("lists", "- ".repeat(10_000) + "text"),
        (
            "brackets",
            "[".repeat(10_000) + "text" + &"]".repeat(10_000),
        ),
        (
            "links",
            "[".repeat(10_000) + "text" + &"](u)".repeat(10_000),
        ),
        (
            "images",
            "![".repeat(10_000) + "text" + &"](u)".repeat(10_000),
        ),
        ("emphasis", "*a **b ".repeat(10_000)),
        ("stars", "*".repeat(100_000) + "x" + &"*".repeat(100_000)),
        (
            "backticks",
            (1..1000).map(|count| "`".repeat(count) + " ").collect(),
        ),
        ("anchors", "<a href=x>".repeat(50_000)),
        ("comments", "x <!-- ".repeat(50_000)),
        ("tables", "\n<table>\n".repeat(20_000)),
        ("declarations", "<!x ".repeat(50_000)),
        (
            "definitions",
            (0..20_000)
                .map(|index| format!("[r{index}]: /u\n"))
                .collect::<String>()
                + &"[r1] ".repeat(20_000),
        ),
        (
            "table rows",
            "|a".repeat(500).add_line() + &"|-".repeat(500).add_line() + &"|\n".repeat(2_000),
        ),
    ] {
        assert!(run(&format!("{what}.md"), body).is_ok(), "{what}");
    }
}

trait AddLine {
    fn add_line(self) -> String;
}

impl AddLine for String {
    fn add_line(mut self) -> String {
        self.push('\n');
        self
    }
}

#[test]
fn html_bombs_are_defused() {
    for (what, body) in [
        ("divs", "<div>".repeat(100_000) + "text"),
        (
            "spans",
            "<p>".to_owned() + &"<span>".repeat(100_000) + "text",
        ),
        ("bold", "<b>".repeat(100_000) + "text"),
        (
            "fonts",
            (0..100_000)
                .map(|index| format!("<font size={index}>"))
                .collect::<String>()
                + "text"
                + &"<p>x".repeat(20_000),
        ),
        ("lists", "<ul><li>".repeat(50_000) + "text"),
        ("quotes", "<blockquote>".repeat(50_000) + "text"),
        ("tables", "<table><tr><td>".repeat(30_000) + "text"),
        (
            "cells",
            "<table><tr>".to_owned() + &"<td>text".repeat(500_000),
        ),
        (
            "rows",
            "<table>".to_owned() + &"<tr><td>text<td>b".repeat(200_000),
        ),
        (
            "spans of cells",
            "<table>".to_owned() + &"<tr><td colspan=1000 rowspan=65534>text<td>b".repeat(20_000),
        ),
        (
            "attributes",
            "<p ".to_owned()
                + &(0..100_000)
                    .map(|index| format!("a{index}=x "))
                    .collect::<String>()
                + ">text",
        ),
        (
            "long attribute",
            format!("<p title=\"{}\">text", "x".repeat(20_000_000)),
        ),
        (
            "entities",
            "<p>text".to_owned() + &"&amp;&#x1F600;&notanentity&#99999999999;".repeat(200_000),
        ),
        (
            "svg",
            "<p>text</p><svg>".to_owned() + &"<td>".repeat(100_000),
        ),
        (
            "open comments",
            "<p>text".to_owned() + &"<!-- ".repeat(200_000),
        ),
        (
            "open tags",
            "<p>text</p>".to_owned() + &"<a ".repeat(500_000),
        ),
        (
            "end tags",
            "<p>text</p>".to_owned() + &"</p></b></div>".repeat(200_000),
        ),
        (
            "mis-nested",
            "<p>text".to_owned() + &"<b><i></b>".repeat(50_000),
        ),
        (
            "options",
            "<p>text</p><select>".to_owned() + &"<option>x".repeat(200_000),
        ),
        (
            "scripts",
            "<p>text</p>".to_owned() + &"<script></script".repeat(100_000),
        ),
        ("mains", "<main>text</main>".repeat(100_000)),
        (
            "headers",
            "<p>text</p>".to_owned() + &"<header>".repeat(100_000),
        ),
    ] {
        let html = format!("<!DOCTYPE html><html><body>{body}");
        let converted =
            run(&format!("{what}.html"), html).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(converted.markdown.contains("text"), "{what}");
        assert!(
            converted.markdown.len() < 64 << 20,
            "{what}: {} bytes",
            converted.markdown.len()
        );
    }
}

#[test]
fn a_conversion_that_takes_too_long_is_refused() {
    let mut impatient = config();
    impatient.conversion_timeout_ms = 0;
    for name in ["a.html", "a.md", "a.txt"] {
        let job = Job::named(b"<html><p>text</p></html> text", name);
        let error = convert_with(&impatient, job).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{name}");
        assert!(error.to_string().contains("longer than 0 ms"));
    }
}

#[test]
fn encodings_and_broken_bytes_are_read() {
    let chinese =
        "# 载波聚合\n\n多个载波合并起来使用，提高小区的峰值速率。配置以后检查邻区关系。\n";
    let utf_16: Vec<u8> = chinese.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(run("a.md", utf_16).unwrap().markdown, chinese);
    let marked = [b"\xEF\xBB\xBF", chinese.as_bytes()].concat();
    assert_eq!(run("a.md", marked).unwrap().markdown, chinese);
    let mut broken = chinese.as_bytes().to_vec();
    broken.push(0xC3);
    let converted = run("a.md", broken).unwrap();
    assert_eq!(
        converted
            .metadata
            .get("replaced_characters")
            .map(String::as_str),
        Some("1")
    );
    assert!(
        run(
            "a.txt",
            "text with one \0 in it, and otherwise quite ordinary words that go on for more than a hundred characters, as they do."
        )
        .is_ok()
    );
}
