//! Plain text of any encoding: prose stays as it is, code and data go into a code block.

use std::collections::BTreeMap;

use crate::document::Converted;
use crate::escape::fenced;
use crate::text_encoding::decode;
use crate::text_encoding::note_encoding;
use crate::text_encoding::unix_line_ends;

/// Name and version; the version grows with every change of the output.
pub(crate) const NAME: &str = "text/2";

/// Longest first line that is taken for a title, in characters.
const MAXIMUM_TITLE_LINE: usize = 100;

/// Converts text; `language` names the code block that it goes into, empty for prose.
pub(crate) fn convert(bytes: &[u8], language: &str) -> Converted {
    let decoded = decode(bytes, None);
    let mut metadata = BTreeMap::new();
    note_encoding(&mut metadata, decoded.encoding, decoded.replaced_characters);
    let text = unix_line_ends(decoded.text);
    if text.trim().is_empty() {
        return Converted {
            converter: NAME.into(),
            metadata,
            ..Converted::default()
        };
    }
    let title = if language.is_empty() {
        title_line(&text)
    } else {
        None
    };
    let markdown = if language.is_empty() {
        text
    } else {
        // A form feed is a page break in Markdown, and here a blank: lines stay those of the file.
        fenced(language, &text.replace('\u{c}', " "))
    };
    Converted {
        markdown,
        title,
        converter: NAME.into(),
        metadata,
        ..Converted::default()
    }
}

/// The first line, if it stands alone and is short: text below follows after a blank line or an
/// underline.
fn title_line(text: &str) -> Option<String> {
    let mut lines = text.trim_start().lines();
    let first = lines.next()?.trim().trim_start_matches('#').trim();
    let after = lines.next().unwrap_or_default().trim();
    let stands_alone = after.is_empty()
        || after
            .chars()
            .all(|character| matches!(character, '=' | '-' | '*' | '~'));
    let ends_a_sentence = first.ends_with(['.', '。', ',', '，', ';', '；']);
    let fits =
        first.chars().count() <= MAXIMUM_TITLE_LINE && first.chars().any(char::is_alphanumeric);
    (stands_alone && fits && !ends_a_sentence).then(|| first.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_stays_and_data_is_fenced() {
        let prose = convert("载波聚合\r\n\r\n正文。\r\n".as_bytes(), "");
        assert_eq!(prose.markdown, "载波聚合\n\n正文。\n");
        assert_eq!(prose.title.as_deref(), Some("载波聚合"));
        assert_eq!(
            convert(b"a,b\n1,2\n", "csv").markdown,
            "```csv\na,b\n1,2\n```\n"
        );
        assert_eq!(convert(b" \n\t ", "csv").markdown, "");
        let with_form_feeds = convert(b"int a;\x0c\n\x0c\nint b;\n", "c");
        assert_eq!(with_form_feeds.markdown, "```c\nint a; \n \nint b;\n```\n");
    }

    #[test]
    fn a_paragraph_is_no_title() {
        assert_eq!(
            convert(b"This is the first sentence of a text.\n\nMore.", "").title,
            None
        );
        assert_eq!(convert(b"first line\nsecond line\n", "").title, None);
        assert_eq!(convert(b"-----\n\ntext\n", "").title, None);
    }

    #[test]
    fn unreadable_bytes_are_counted() {
        let mut bytes = "配置完成以后，需要检查邻区关系，并确认参数正确。"
            .as_bytes()
            .to_vec();
        bytes.push(0xFF);
        assert_eq!(
            convert(&bytes, "")
                .metadata
                .get("replaced_characters")
                .map(String::as_str),
            Some("1")
        );
    }
}
