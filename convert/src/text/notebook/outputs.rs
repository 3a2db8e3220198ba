//! Outputs of code cells: text within a limit, tables from HTML, pictures as files.

use serde_json::Value;

use super::{Writer, text_of};
use crate::escape::fenced;
use crate::web::html;

/// Pictures by preference; the first that an output has is taken.
const PICTURES: [&str; 5] = [
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/bmp",
];

/// Keys of format 3 and the media types that they stand for.
const OLD_NAMES: [(&str, &str); 4] = [
    ("image/png", "png"),
    ("image/jpeg", "jpeg"),
    ("text/html", "html"),
    ("text/latex", "latex"),
];

impl Writer<'_> {
    /// Adds what a cell put out. Streams are joined, as the notebook shows them.
    pub(super) fn outputs(&mut self, cell: &Value) {
        let mut left = self.settings.maximum_output_characters;
        let mut text = String::new();
        for output in cell
            .get("outputs")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            match output.get("output_type").and_then(Value::as_str) {
                Some("stream") => text.push_str(&text_of(output.get("text"))),
                Some("error" | "pyerr") => text.push_str(&error_text(output)),
                _ => {
                    self.push_output(&std::mem::take(&mut text), &mut left);
                    self.rich_output(output, &mut left);
                }
            }
        }
        self.push_output(&text, &mut left);
    }

    /// The richest form of an output that text can carry.
    fn rich_output(&mut self, output: &Value, left: &mut usize) {
        let data = output.get("data").unwrap_or(output);
        let find = |media_type: &str| under_any_name(data, media_type);
        for media_type in PICTURES {
            if let Some(link) = find(media_type)
                .and_then(|picture| self.embed("", media_type, &text_of(Some(picture))))
            {
                self.push(&format!("![]({link})"));
                return;
            }
        }
        let plain = text_of(data.get("text/plain").or_else(|| data.get("text")));
        let page = find("text/html")
            .map(|page| text_of(Some(page)))
            .filter(|page| page.contains("<table"));
        let table = page.and_then(|page| html::convert_fragment(&page, self.limits).ok());
        let markdown = text_of(data.get("text/markdown"));
        let formula = text_of(find("text/latex"));
        let rich = [table.unwrap_or_default(), markdown, formula]
            .into_iter()
            .find(|text| !text.trim().is_empty());
        match rich.filter(|rich| rich.chars().count() <= *left) {
            Some(rich) => {
                *left -= rich.chars().count();
                self.push(&rich);
            }
            None => self.push_output(&plain, left),
        }
    }

    /// Text as a block without language, cut where the limit ends.
    fn push_output(&mut self, text: &str, left: &mut usize) {
        let text = without_colours(text);
        let text = text.trim_matches('\n').trim_end();
        if text.is_empty() || *left == 0 {
            return;
        }
        let kept: String = text.chars().take(*left).collect();
        *left = left.saturating_sub(kept.chars().count());
        let cut = if kept.len() < text.len() { "\n…" } else { "" };
        self.push(&fenced("", &format!("{kept}{cut}")));
    }
}

/// Data of a media type, which notebooks of before version 4 call otherwise.
fn under_any_name<'a>(data: &'a Value, media_type: &str) -> Option<&'a Value> {
    let old = OLD_NAMES
        .iter()
        .find(|(known, _)| *known == media_type)
        .map(|(_, old)| *old);
    data.get(media_type)
        .or_else(|| old.and_then(|old| data.get(old)))
}

fn error_text(output: &Value) -> String {
    let field = |name: &str| output.get(name).and_then(Value::as_str).unwrap_or_default();
    format!("{}: {}\n", field("ename"), field("evalue"))
}

/// Text without the escape sequences of terminals, and of lines that overwrite themselves only the
/// last state.
fn without_colours(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1B}' if characters.peek() == Some(&'[') => {
                characters.next();
                for inside in characters.by_ref() {
                    if inside.is_ascii_alphabetic() {
                        break;
                    }
                }
            }
            '\r' if characters.peek().is_some_and(|next| *next != '\n') => {
                let line = result.rfind('\n').map_or(0, |at| at + 1);
                result.truncate(line);
            }
            '\r' | '\u{8}' | '\u{C}' => {}
            other => result.push(other),
        }
    }
    result
}
