//! `multipart/form-data` of `POST /v1/documents`: one file and the fields of a document event
//! beside it.

use std::collections::HashSet;

use actix_multipart::{Field, Multipart};
use actix_web::HttpRequest;
use actix_web::error::PayloadError;
use bytes::Bytes;
use futures::StreamExt;
use tributary_schemas::{DocumentEvent, limits};

use super::words::in_words;
use crate::problem::{Code, Problem};

/// Names of the form fields, for messages and the API description.
pub const FIELDS: &str = "`file`, `source`, `source_path`, `title`, `document_id`, `version`, `media_type`, `attributes` (JSON), `knowledge_sets` (repeated)";
/// Pieces in which the body is handed to the parser: it holds one at a time.
const PIECE_BYTES: usize = 32 * 1024;
/// Longest field beside the file: what an event takes of attributes, with every letter escaped.
const FIELD_BYTES: usize = 512 * 1024;
/// Most fields: each once, but for the knowledge sets.
const FIELD_COUNT: usize = limits::KNOWLEDGE_SETS + 8;

/// The event that a form describes, without content, and the file. Its name is the source path when
/// no field gives one.
pub async fn event(
    request: &HttpRequest,
    blocks: Vec<Bytes>,
) -> Result<(DocumentEvent, Bytes), Problem> {
    let body_bytes = blocks.iter().map(Bytes::len).sum();
    let pieces = blocks.into_iter().flat_map(pieces);
    // The parser never waits for what is in memory already: other requests of this thread would wait
    // for as long as it looks for the first field.
    let pieces = futures::stream::iter(pieces).then(async |piece| {
        tokio::task::yield_now().await;
        piece
    });
    let mut form = Multipart::new(request.headers(), Box::pin(pieces));
    let mut event = DocumentEvent::default();
    let mut file = None;
    let mut fields_left = FIELD_COUNT;
    let mut seen = HashSet::new();
    while let Some(field) = form.next().await {
        let mut field = field.map_err(malformed)?;
        fields_left = fields_left.checked_sub(1).ok_or_else(too_many_fields)?;
        let is_file = field.name() == Some("file");
        let limit_bytes = if is_file { body_bytes } else { FIELD_BYTES };
        let content = content(&mut field, limit_bytes).await?;
        match field.name().unwrap_or_default() {
            "file" if file.is_some() => {
                return Err(Problem::new(Code::Invalid, "form has more than one `file`")
                    .with_hint("publish one file per request"));
            }
            "file" => file = Some((file_name(&field), media_type(&field), content)),
            name => {
                let is_new = name == "knowledge_sets" || seen.insert(name.to_owned());
                if !is_new {
                    return Err(invalid(name, "is given more than once"));
                }
                set(&mut event, name, &text(name, &content)?)?;
            }
        }
    }
    let Some((name, media_type, content)) = file else {
        return Err(Problem::new(Code::Invalid, "form has no `file`")
            .with_hint(format!("its fields are {FIELDS}")));
    };
    event.source_path = event.source_path.or(name);
    event.media_type = event.media_type.or(media_type);
    Ok((event, content))
}

/// A block in the pieces that the parser gets.
fn pieces(mut block: Bytes) -> impl Iterator<Item = Result<Bytes, PayloadError>> {
    std::iter::from_fn(move || {
        (!block.is_empty()).then(|| Ok(block.split_to(block.len().min(PIECE_BYTES))))
    })
}

async fn content(field: &mut Field, limit_bytes: usize) -> Result<Bytes, Problem> {
    let content = field.bytes(limit_bytes).await.map_err(|_| {
        let name = field.name().unwrap_or_default();
        let what = format!("form field `{name:.100}` is larger than {limit_bytes} bytes");
        Problem::new(Code::BodyTooLarge, what)
    })?;
    content.map_err(malformed)
}

fn set(event: &mut DocumentEvent, name: &str, value: &str) -> Result<(), Problem> {
    let text = || Some(value.to_owned());
    match name {
        "source" => value.clone_into(&mut event.source),
        "source_path" => event.source_path = text(),
        "title" => event.title = text(),
        "document_id" => event.document_id = text(),
        "media_type" => event.media_type = text(),
        "version" => {
            event.version = Some(
                value
                    .trim()
                    .parse()
                    .map_err(|_| invalid(name, "is no whole number"))?,
            )
        }
        "attributes" => {
            event.attributes = serde_json::from_str(value)
                .map_err(|error| invalid(name, &in_words(&error.to_string())))?
        }
        "knowledge_sets" => event.knowledge_sets.push(value.to_owned()),
        other => {
            return Err(
                Problem::new(Code::UnknownField, format!("unknown form field `{other}`"))
                    .with_hint(format!("its fields are {FIELDS}")),
            );
        }
    }
    Ok(())
}

fn text(name: &str, content: &Bytes) -> Result<String, Problem> {
    String::from_utf8(content.to_vec()).map_err(|_| invalid(name, "is not UTF-8"))
}

fn file_name(field: &Field) -> Option<String> {
    let name = field.content_disposition()?.get_filename()?;
    Some(name.to_owned()).filter(|name| !name.is_empty())
}

fn media_type(field: &Field) -> Option<String> {
    let media_type = field.content_type()?.essence_str().to_owned();
    Some(media_type).filter(|media_type| media_type != "application/octet-stream")
}

fn too_many_fields() -> Problem {
    let what = format!("form has more than {FIELD_COUNT} fields");
    Problem::new(Code::Invalid, what).with_hint(format!("its fields are {FIELDS}"))
}

fn invalid(name: &str, what: &str) -> Problem {
    Problem::new(Code::Invalid, format!("form field `{name}` {what}"))
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "used as a function in map_err"
)]
fn malformed(error: actix_multipart::MultipartError) -> Problem {
    Problem::new(Code::MalformedBody, format!("form cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    const BEGIN: &str = "--b\r\ncontent-disposition: form-data; name=";

    fn request() -> HttpRequest {
        let header = ("content-type", "multipart/form-data; boundary=b");
        TestRequest::post().insert_header(header).to_http_request()
    }

    fn field(name: &str, value: &str) -> String {
        format!("{BEGIN}\"{name}\"\r\n\r\n{value}\r\n")
    }

    #[tokio::test(flavor = "current_thread")]
    async fn others_have_their_turn_while_a_long_form_is_read() {
        let form = "none\r\n".repeat(500_000) + &field("file", "y") + "--b--\r\n";
        let pieces = form.len() / PIECE_BYTES;
        let others = async {
            for turn in 0_usize.. {
                tokio::task::yield_now().await;
                if turn > pieces / 2 {
                    return;
                }
            }
        };
        let request = request();
        let reading = event(&request, vec![form.into()]);
        tokio::select! {
            biased;
            read = reading => panic!("it was read at once: {:?}", read.map(|_| ())),
            () = others => {}
        }
    }

    #[tokio::test]
    async fn a_field_of_a_form_is_given_once() {
        for (name, is_taken) in [("knowledge_sets", true), ("title", false)] {
            let form = field(name, "a") + &field(name, "b") + &field("file", "y") + "--b--\r\n";
            let read = event(&request(), vec![form.into()]).await;
            assert_eq!(read.is_ok(), is_taken, "{name}: {:?}", read.map(|_| ()));
        }
    }

    #[tokio::test]
    async fn a_form_has_so_many_fields_and_no_more() {
        for (sets, is_taken) in [(FIELD_COUNT - 1, true), (FIELD_COUNT, false)] {
            let form =
                field("knowledge_sets", "x").repeat(sets) + &field("file", "y") + "--b--\r\n";
            let read = event(&request(), vec![form.into()]).await;
            assert_eq!(read.is_ok(), is_taken, "{sets}: {:?}", read.map(|_| ()));
        }
    }

    #[tokio::test]
    async fn a_field_beside_the_file_is_not_as_long_as_a_file() {
        let long = "x".repeat(FIELD_BYTES + 1);
        for (name, is_taken) in [("file", true), ("attributes", false)] {
            let form = field(name, &long) + "--b--\r\n";
            let read = event(&request(), vec![form.into()]).await;
            let refused = read.err().map(|problem| problem.code());
            let expected = (!is_taken).then_some(Code::BodyTooLarge);
            assert_eq!(refused, expected, "{name}");
        }
    }
}
