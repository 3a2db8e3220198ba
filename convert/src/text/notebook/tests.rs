//! Notebooks and their Markdown.
#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;
use crate::config::{Config, NotebookConfig};
use crate::hostile::withstands;

const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn notebook() -> Value {
    json!({
        "metadata": {"kernelspec": {"language": "julia"}},
        "nbformat": 4,
        "cells": [
            {"cell_type": "markdown", "source": ["# 标题\n", "\n", "![a](attachment:p.png)"], "attachments": {"p.png": {"image/png": PIXEL}}},
            {"cell_type": "code", "source": "print(1)", "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["\u{1b}[31mred\u{1b}[0m\n"]},
                {"output_type": "stream", "text": "10%\r100%\n"},
                {"output_type": "display_data", "data": {"image/png": PIXEL, "text/plain": "<Figure>"}},
                {"output_type": "execute_result", "data": {"text/html": "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>", "text/plain": "a b"}},
                {"output_type": "error", "ename": "ValueError", "evalue": "bad", "traceback": ["…"]}
            ]},
            {"cell_type": "code", "source": "%%bash\nls", "outputs": []},
            {"cell_type": "raw", "source": "raw"}
        ]
    })
}

fn convert_with(notebook: &Value, config: &Config) -> Converted {
    convert(
        notebook.to_string().as_bytes(),
        &config.notebook,
        &Limits::starting_now(config),
    )
    .unwrap()
}

#[test]
fn cells_outputs_and_pictures_come_in_order() {
    let converted = convert_with(&notebook(), &Config::default());
    assert_eq!(
        converted.markdown,
        "# 标题\n\n![a](image:0)\n\n```julia\nprint(1)\n```\n\n```\nred\n100%\n```\n\n![](image:1)\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n```\nValueError: bad\n```\n\n```bash\n%%bash\nls\n```\n\nraw\n\n"
    );
    assert_eq!(converted.title.as_deref(), Some("标题"));
    let links: Vec<&str> = converted
        .images
        .iter()
        .map(|image| image.link.as_str())
        .collect();
    assert_eq!(links, ["embedded:0", "embedded:1"]);
    assert_eq!(
        converted
            .blobs
            .first()
            .map(|file| (file.name.as_str(), file.media_type.as_str())),
        Some(("p.png", "image/png"))
    );
}

#[test]
fn outputs_have_a_limit_and_a_switch() {
    let long = json!({"cells": [{"cell_type": "code", "source": "x", "outputs": [{"output_type": "stream", "text": "一二三四五"}]}]});
    let short = Config {
        notebook: NotebookConfig {
            maximum_output_characters: 2,
            outputs: true,
        },
        ..Config::default()
    };
    assert_eq!(
        convert_with(&long, &short).markdown,
        "```python\nx\n```\n\n```\n一二\n…\n```\n\n"
    );
    let off = Config {
        notebook: NotebookConfig {
            outputs: false,
            ..NotebookConfig::default()
        },
        ..Config::default()
    };
    assert_eq!(convert_with(&long, &off).markdown, "```python\nx\n```\n\n");
}

#[test]
fn format_3_is_read() {
    let old = json!({"worksheets": [{"cells": [
        {"cell_type": "heading", "level": 2, "source": "Old"},
        {"cell_type": "code", "language": "python", "input": "1", "outputs": [{"output_type": "pyout", "text": ["2"]}]}
    ]}]});
    assert_eq!(
        convert_with(&old, &Config::default()).markdown,
        "## Old\n\n```python\n1\n```\n\n```\n2\n```\n\n"
    );
}

#[test]
fn what_is_no_notebook_is_refused_and_damage_does_no_harm() {
    let config = Config::default();
    let kind = |bytes: &[u8]| {
        convert(bytes, &config.notebook, &Limits::starting_now(&config))
            .unwrap_err()
            .kind()
    };
    assert_eq!(kind(b"{\"cells\": ["), ErrorKind::Corrupt);
    assert_eq!(kind(b"{}"), ErrorKind::Invalid);
    let settings = NotebookConfig::default();
    withstands(notebook().to_string().as_bytes(), |bytes, limits| {
        convert(bytes, &settings, limits)
    });
}
