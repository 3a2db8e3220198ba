//! Tags of what does not change (RFC 9110, `ETag`): who has it is told so instead of getting it again.

use actix_web::HttpRequest;
use actix_web::http::header::IF_NONE_MATCH;

/// Whether the caller has what is tagged so. `tag` with its quotes.
pub fn is_known(request: &HttpRequest, tag: &str) -> bool {
    let known = request.headers().get(IF_NONE_MATCH);
    let known = known.and_then(|known| known.to_str().ok()).unwrap_or("");
    let mut tags = known.split(',').map(str::trim);
    tags.any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn one_of_several_tags_is_known_and_a_part_of_one_is_not() {
        let table = [
            ("\"ab\"", true),
            ("\"x\", W/\"ab\"", true),
            ("*", true),
            ("\"abc\"", false),
            ("ab", false),
            ("", false),
        ];
        for (given, expected) in table {
            let request = TestRequest::default().insert_header((IF_NONE_MATCH, given));
            assert_eq!(
                is_known(&request.to_http_request(), "\"ab\""),
                expected,
                "{given}"
            );
        }
        assert!(!is_known(
            &TestRequest::default().to_http_request(),
            "\"ab\""
        ));
    }
}
