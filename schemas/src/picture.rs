//! Which pictures of documents are shown: those that are nothing but pixels. What a document brought
//! is not trusted, and other kinds (drawings such as WMF and SVG) no browser shows, or it runs them.

/// The media type of a picture of pixels, by its first bytes.
pub fn media_type(bytes: &[u8]) -> Option<&'static str> {
    const SIGNS: [(usize, &[u8], &str); 8] = [
        (0, b"\x89PNG\r\n\x1A\n", "image/png"),
        (0, b"\xFF\xD8\xFF", "image/jpeg"),
        (0, b"GIF87a", "image/gif"),
        (0, b"GIF89a", "image/gif"),
        (8, b"WEBP", "image/webp"),
        (0, b"BM", "image/bmp"),
        (0, b"II*\0", "image/tiff"),
        (0, b"MM\0*", "image/tiff"),
    ];
    let shows = |(offset, sign, _): &&(usize, &[u8], &str)| {
        bytes
            .get(*offset..)
            .is_some_and(|rest| rest.starts_with(sign))
    };
    SIGNS
        .iter()
        .find(shows)
        .map(|(_, _, media_type)| *media_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pixels_are_shown() {
        assert_eq!(media_type(b"\x89PNG\r\n\x1A\n...."), Some("image/png"));
        assert_eq!(media_type(b"RIFF\0\0\0\0WEBPVP8 "), Some("image/webp"));
        for other in [
            &b"<svg onload='alert(1)'/>"[..],
            b"<html>",
            b"{\"kind\": \"recipe\"}",
            b"SQLite format 3\0",
            b"",
        ] {
            assert_eq!(media_type(other), None);
        }
    }
}
