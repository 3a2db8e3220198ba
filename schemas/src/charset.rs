//! The charset that a producer names.

use encoding_rs::Encoding;

use crate::{Error, ErrorKind, Result};

/// The charset that a media type names, as `text/plain; charset=gbk` does. `Invalid` for one that
/// does not exist.
pub fn charset_of(media_type: &str) -> Result<Option<&'static Encoding>> {
    let mut parameters = media_type.split(';').skip(1);
    let label = parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        is_charset.then(|| value.trim().trim_matches(['"', '\'']))
    });
    let Some(label) = label.filter(|label| !label.is_empty()) else {
        return Ok(None);
    };
    match Encoding::for_label(label.as_bytes()) {
        Some(encoding) => Ok(Some(encoding)),
        None => {
            let message = format!("the media type `{media_type}` names no charset that exists");
            Err(Error::new(ErrorKind::Invalid, message)
                .with_hint("name it as HTML does (gbk, big5, shift_jis), or leave it out: then it is found out"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_charset_is_named_as_in_html() {
        let named =
            |media_type: &str| charset_of(media_type).map(|found| found.map(Encoding::name));
        let table = [
            ("text/plain", Ok(None)),
            ("text/plain; charset=", Ok(None)),
            ("text/plain; charset=\"gb2312\"", Ok(Some("GBK"))),
            ("text/html;x=y; Charset=utf-8", Ok(Some("UTF-8"))),
            ("text/plain; charset=klingon", Err(ErrorKind::Invalid)),
        ];
        for (media_type, expected) in table {
            assert_eq!(
                named(media_type).map_err(|error| error.kind()),
                expected,
                "{media_type}"
            );
        }
    }
}
