//! What goes out where only the head of an answer was asked for: what it says of the body's length,
//! and no body. That is not even read, and a stream without end ends.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::body::{BodySize, EitherBody, MessageBody};
use bytes::Bytes;

/// No body, of the length of one.
pub struct Head(BodySize);

/// The body of an answer, or its length alone.
pub type Sent<B> = EitherBody<B, Head>;

/// What goes out of a body.
pub fn sent<B: MessageBody>(body: B, is_head: bool) -> Sent<B> {
    match is_head {
        true => EitherBody::right(Head(body.size())),
        false => EitherBody::left(body),
    }
}

impl MessageBody for Head {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        self.0
    }

    fn poll_next(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Poll::Ready(None)
    }
}
