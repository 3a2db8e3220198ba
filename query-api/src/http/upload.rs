//! `multipart/form-data` of `POST /v1/documents`: one file and the fields of a document event
//! beside it.

use actix_multipart::{Field, Multipart};
use actix_web::HttpRequest;
use actix_web::error::PayloadError;
use bytes::Bytes;
use futures::StreamExt;
use tributary_schemas::DocumentEvent;

use super::words::in_words;
use crate::problem::{Code, Problem};

/// Names of the form fields, for messages and the API description.
pub const FIELDS: &str = "`file`, `source`, `source_path`, `title`, `document_id`, `version`, `media_type`, `attributes` (JSON), `knowledge_sets` (repeated)";
/// Pieces in which the body is handed to the parser: it holds one at a time.
const PIECE_BYTES: usize = 32 * 1024;

/// The event that a form describes, without content, and the file. Its name is the source path when
/// no field gives one.
pub async fn event(
    request: &HttpRequest,
    blocks: Vec<Bytes>,
) -> Result<(DocumentEvent, Bytes), Problem> {
    let body_bytes = blocks.iter().map(Bytes::len).sum();
    let mut form = Multipart::new(
        request.headers(),
        futures::stream::iter(blocks.into_iter().flat_map(pieces)),
    );
    let mut event = DocumentEvent::default();
    let mut file = None;
    while let Some(field) = form.next().await {
        let mut field = field.map_err(malformed)?;
        let content = content(&mut field, body_bytes).await?;
        match field.name().unwrap_or_default() {
            "file" if file.is_some() => {
                return Err(Problem::new(Code::Invalid, "form has more than one `file`")
                    .with_hint("publish one file per request"));
            }
            "file" => file = Some((file_name(&field), media_type(&field), content)),
            name => set(&mut event, name, &text(name, &content)?)?,
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
    let content = field
        .bytes(limit_bytes)
        .await
        .map_err(|_| Problem::new(Code::BodyTooLarge, "form field is larger than the body"))?;
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
