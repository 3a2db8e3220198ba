//! What the pool and its workers say to each other over the worker's standard input and output.
//!
//! ```text
//! message  = length of the head (u32, little endian), head (JSON), parts as long as the head says
//! settings → worker   once: `Config` and what goes with it
//! confined ← worker   once: how it is confined; no request is sent before
//! request  → worker   head: name, media type, length of the body; part: body
//! working  ← worker   any number of times: time counts anew
//! draw     ← worker   at most once: a presentation wants to be drawn
//! drawn    → worker   head: length of the PDF, or why there is none; part: PDF
//! answer   ← worker   head: result without Markdown and files, or an error; parts: Markdown, files
//! ```
//! Both sides bound what they read: neither believes the other's lengths.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tributary_schemas::{Error, ErrorKind, ImageLink};

use crate::document::Converted;
use crate::document::{EmbeddedFile, PageWanted};
use crate::slides::SlideFormat;

/// Longest head in bytes: metadata and image links of a document lie in it.
pub(super) const MAXIMUM_HEAD: usize = 32 << 20;

/// Head of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RequestHead {
    /// File name, path or URL.
    pub name: Option<String>,
    /// What the producer believes.
    pub media_type: Option<String>,
    /// The page that is wanted as a picture; the document as Markdown where there is none.
    pub page: Option<PageWanted>,
    /// Whether files that are attached to it are read.
    pub attachments: bool,
    /// Numbers of attached files that are not.
    pub left_out: Vec<usize>,
    /// Bytes of the body.
    pub body_bytes: usize,
}

/// Head of an answer.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum AnswerHead {
    /// A page was read; the answer is still to come.
    Working,
    /// The document is a presentation of this format, and wants to be drawn; a [`DrawnHead`] is
    /// waited for.
    Draw(SlideFormat),
    /// The attached file of that number is read next.
    Attachment(usize),
    /// Converted.
    Done(DoneHead),
    /// Not converted.
    Failed {
        /// Kind.
        kind: ErrorKind,
        /// Message.
        message: String,
        /// Hint.
        hint: Option<String>,
    },
}

/// Head of what was drawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum DrawnHead {
    /// So many bytes of PDF follow.
    Pdf(usize),
    /// Why there is none.
    Failed(ErrorKind, String),
}

/// What a worker says before its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// It goes on.
    Working,
    /// See [`AnswerHead::Draw`].
    Draw(SlideFormat),
    /// See [`AnswerHead::Attachment`].
    Attachment(usize),
}

/// A [`Converted`] without its long parts.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DoneHead {
    title: Option<String>,
    media_type: String,
    converter: String,
    metadata: std::collections::BTreeMap<String, String>,
    images: Vec<ImageLink>,
    markdown_bytes: usize,
    /// Name, media type and length of each file.
    files: Vec<(String, String, usize)>,
}

/// Writes a head and its parts.
pub(super) fn write(to: &mut impl Write, head: &impl Serialize, parts: &[&[u8]]) -> io::Result<()> {
    let head = serde_json::to_vec(head)?;
    let length = u32::try_from(head.len()).map_err(|_| io::Error::other("head too long"))?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(&head)?;
    parts.iter().try_for_each(|part| to.write_all(part))?;
    to.flush()
}

/// Reads a head; `None` where the other side ended.
pub(super) fn read_head<H: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<H>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        result => result?,
    }
    let head = read_part(from, u32::from_le_bytes(length) as usize, MAXIMUM_HEAD)?;
    Ok(Some(serde_json::from_slice(&head)?))
}

/// Reads a part of at most `maximum` bytes; memory grows with what really comes.
pub(super) fn read_part(
    from: &mut impl Read,
    length: usize,
    maximum: usize,
) -> io::Result<Vec<u8>> {
    if length > maximum {
        return Err(io::Error::other(format!(
            "a part of {length} bytes is over the limit of {maximum} bytes"
        )));
    }
    let mut part = Vec::new();
    from.take(length as u64).read_to_end(&mut part)?;
    if part.len() < length {
        Err(io::ErrorKind::UnexpectedEof.into())
    } else {
        Ok(part)
    }
}

impl DoneHead {
    fn of(converted: &Converted) -> Self {
        Self {
            title: converted.title.clone(),
            media_type: converted.media_type.clone(),
            converter: converted.converter.to_string(),
            metadata: converted.metadata.clone(),
            images: converted.images.clone(),
            markdown_bytes: converted.markdown.len(),
            files: converted
                .blobs
                .iter()
                .map(|file| (file.name.clone(), file.media_type.clone(), file.bytes.len()))
                .collect(),
        }
    }
}

/// Writes what became of a document.
pub(super) fn write_answer(
    to: &mut impl Write,
    result: &Result<Converted, Error>,
) -> io::Result<()> {
    match result {
        Ok(converted) => {
            let head = DoneHead::of(converted);
            let files = converted.blobs.iter().map(|file| file.bytes.as_slice());
            let parts: Vec<&[u8]> = std::iter::once(converted.markdown.as_bytes())
                .chain(files)
                .collect();
            write(to, &AnswerHead::Done(head), &parts)
        }
        Err(error) => {
            let failed = AnswerHead::Failed {
                kind: error.kind(),
                message: error.to_string(),
                hint: error.hint().map(str::to_owned),
            };
            write(to, &failed, &[])
        }
    }
}

/// Writes what was drawn.
pub(super) fn write_drawn(to: &mut impl Write, drawn: &Result<Vec<u8>, Error>) -> io::Result<()> {
    match drawn {
        Ok(pdf) => write(to, &DrawnHead::Pdf(pdf.len()), &[pdf]),
        Err(error) => write(to, &DrawnHead::Failed(error.kind(), error.to_string()), &[]),
    }
}

/// Reads what was drawn, at most `maximum_bytes`; the outer error says that nobody is there who
/// draws.
pub(super) fn read_drawn(
    from: &mut impl Read,
    maximum_bytes: usize,
) -> io::Result<Result<Vec<u8>, Error>> {
    match read_head::<DrawnHead>(from)?.ok_or(io::ErrorKind::UnexpectedEof)? {
        DrawnHead::Pdf(length) => Ok(Ok(read_part(from, length, maximum_bytes)?)),
        DrawnHead::Failed(kind, message) => Ok(Err(Error::new(kind, message))),
    }
}

/// Reads what became of a document, telling `on_sign` what the worker says before; the outer error
/// says that the worker cannot be spoken to.
pub(super) fn read_answer(
    from: &mut impl Read,
    maximum_bytes: usize,
    mut on_sign: impl FnMut(Sign) -> io::Result<()>,
) -> io::Result<Result<Converted, Error>> {
    let mut was_drawn = false;
    loop {
        let head = read_head::<AnswerHead>(from)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        match head {
            AnswerHead::Working => on_sign(Sign::Working)?,
            AnswerHead::Attachment(number) => on_sign(Sign::Attachment(number))?,
            AnswerHead::Draw(_) if was_drawn => {
                return Err(io::Error::other("it wants to be drawn once more"));
            }
            AnswerHead::Draw(format) => {
                was_drawn = true;
                on_sign(Sign::Draw(format))?;
            }
            AnswerHead::Failed {
                kind,
                message,
                hint,
            } => {
                let error = Error::new(kind, message);
                return Ok(Err(match hint {
                    Some(hint) => error.with_hint(hint),
                    None => error,
                }));
            }
            AnswerHead::Done(done) => return Ok(Ok(read_document(from, done, maximum_bytes)?)),
        }
    }
}

/// Reads the parts of a converted document.
fn read_document(
    from: &mut impl Read,
    done: DoneHead,
    maximum_bytes: usize,
) -> io::Result<Converted> {
    let mut left = maximum_bytes;
    let markdown = read_part(from, done.markdown_bytes, left)?;
    left -= markdown.len();
    let markdown =
        String::from_utf8(markdown).map_err(|_| io::Error::other("Markdown that is not UTF-8"))?;
    let mut files = Vec::new();
    for (name, media_type, length) in done.files {
        let bytes = read_part(from, length, left)?;
        left -= bytes.len();
        files.push(EmbeddedFile {
            name,
            media_type,
            bytes,
        });
    }
    Ok(Converted {
        markdown,
        title: done.title,
        media_type: done.media_type,
        converter: done.converter.into(),
        metadata: done.metadata,
        images: done.images,
        blobs: files,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_back_as_they_were() {
        let converted = Converted {
            markdown: "# 载波\n".into(),
            title: Some("载波".into()),
            media_type: "text/markdown".into(),
            converter: "markdown/1".into(),
            metadata: [("author".to_owned(), "A".to_owned())].into(),
            images: vec![ImageLink {
                link: "embedded:0".into(),
                alt: "a".into(),
            }],
            blobs: vec![EmbeddedFile {
                name: "a.png".into(),
                media_type: "image/png".into(),
                bytes: vec![1, 2, 3],
            }],
        };
        let mut pipe = Vec::new();
        write_answer(&mut pipe, &Ok(converted.clone())).unwrap();
        let refused = Error::new(ErrorKind::Corrupt, "no end").with_hint("save it again");
        write_answer(&mut pipe, &Err(refused.clone())).unwrap();
        let mut from = pipe.as_slice();
        assert_eq!(
            read_answer(&mut from, 1000, |_| Ok(())).unwrap().unwrap(),
            converted
        );
        assert_eq!(
            read_answer(&mut from, 1000, |_| Ok(()))
                .unwrap()
                .unwrap_err(),
            refused
        );
        assert!(
            read_answer(&mut from, 1000, |_| Ok(())).is_err(),
            "nothing comes any more"
        );
    }

    #[test]
    fn a_drawing_is_asked_for_and_comes_before_the_answer() {
        let mut pipe = Vec::new();
        write(&mut pipe, &AnswerHead::Draw(SlideFormat::Pptx), &[]).unwrap();
        write(&mut pipe, &AnswerHead::Working, &[]).unwrap();
        write_answer(&mut pipe, &Ok(Converted::default())).unwrap();
        let mut signs = Vec::new();
        let keep = |sign| {
            signs.push(sign);
            Ok(())
        };
        assert!(
            read_answer(&mut pipe.as_slice(), 1000, keep)
                .unwrap()
                .is_ok()
        );
        assert_eq!(signs, [Sign::Draw(SlideFormat::Pptx), Sign::Working]);

        let mut drawn = Vec::new();
        write_drawn(&mut drawn, &Ok(b"%PDF-".to_vec())).unwrap();
        write_drawn(&mut drawn, &Err(Error::new(ErrorKind::Timeout, "too long"))).unwrap();
        let mut from = drawn.as_slice();
        assert_eq!(read_drawn(&mut from, 5).unwrap().unwrap(), b"%PDF-");
        assert_eq!(
            read_drawn(&mut from, 5).unwrap().unwrap_err().kind(),
            ErrorKind::Timeout
        );
        assert!(
            read_drawn(&mut drawn.as_slice(), 4).is_err(),
            "over the limit"
        );
    }

    #[test]
    fn a_worker_is_drawn_for_once_and_only_in_formats_that_are_known() {
        let mut pipe = Vec::new();
        write(&mut pipe, &AnswerHead::Draw(SlideFormat::Ppt), &[]).unwrap();
        write(&mut pipe, &AnswerHead::Draw(SlideFormat::Ppt), &[]).unwrap();
        let mut asked = 0;
        let answer = read_answer(&mut pipe.as_slice(), 1000, |_| {
            asked += 1;
            Ok(())
        });
        assert!(answer.is_err() && asked == 1, "{asked}");

        let mut pipe = Vec::new();
        write(&mut pipe, &serde_json::json!({"Draw": "../../x"}), &[]).unwrap();
        assert!(read_answer(&mut pipe.as_slice(), 1000, |sign| panic!("{sign:?}")).is_err());
    }

    #[test]
    fn lengths_are_not_believed() {
        let mut huge = u32::MAX.to_le_bytes().to_vec();
        huge.extend(b"{}");
        assert!(read_head::<RequestHead>(&mut huge.as_slice()).is_err());
        assert!(
            read_part(&mut b"abc".as_slice(), 4, 10).is_err(),
            "ends early"
        );
        assert!(
            read_part(&mut b"abc".as_slice(), 3, 2).is_err(),
            "over the limit"
        );
        let mut pipe = Vec::new();
        write_answer(
            &mut pipe,
            &Ok(Converted {
                markdown: "x".repeat(100),
                ..Converted::default()
            }),
        )
        .unwrap();
        assert!(read_answer(&mut pipe.as_slice(), 99, |_| Ok(())).is_err());
        pipe.truncate(pipe.len() - 1);
        assert!(read_answer(&mut pipe.as_slice(), 1000, |_| Ok(())).is_err());
    }
}
