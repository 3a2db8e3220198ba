//! The body of an answer on its way: its bytes are counted for the caller's budget and for the audit
//! record, and a stream gives its place back when it is over.

use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::HttpMessage;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::http::header::CONTENT_TYPE;
use bytes::Bytes;
use futures::StreamExt;

use crate::audit::Call;
use crate::limits::{Admission, StreamPlace, TooMuch};

/// Media types of answers that go on.
const STREAMS: [&str; 2] = ["text/event-stream", "application/x-ndjson"];

/// A body with whom it is for.
struct Watched {
    body: BoxBody,
    call: Call,
    admission: Admission,
    _stream: Option<StreamPlace>,
}

/// A stream that the caller has no place for: which limit says so, with the call and the answer that
/// is not given.
pub struct Crowded {
    pub too_much: TooMuch,
    pub call: Call,
    pub response: ServiceResponse<BoxBody>,
}

/// Counts what is answered, unless it is a stream too many.
pub fn answer(
    mut response: ServiceResponse<BoxBody>,
    mut call: Call,
    admission: Admission,
) -> Result<ServiceResponse<BoxBody>, Box<Crowded>> {
    let stream = match is_stream(&response) {
        true => match admission.stream() {
            Ok(place) => place,
            Err(too_much) => {
                return Err(Box::new(Crowded {
                    too_much,
                    call,
                    response,
                }));
            }
        },
        false => None,
    };
    call.answered(response.status());
    response = response.map_body(|_, body| {
        let watched = Watched {
            body,
            call,
            admission,
            _stream: stream,
        };
        BoxBody::new(watched)
    });
    Ok(response)
}

/// Counts what is sent with a request, as it is read.
pub fn request(request: &mut ServiceRequest, admission: &Admission) {
    let payload: Payload = match request.take_payload() {
        Payload::None => Payload::None,
        payload => {
            let admission = admission.clone();
            let counted = payload.inspect(move |part| {
                if let Ok(part) = part {
                    admission.spend(part.len());
                }
            });
            Payload::Stream {
                payload: Box::pin(counted),
            }
        }
    };
    request.set_payload(payload);
}

fn is_stream(response: &ServiceResponse<BoxBody>) -> bool {
    let media_type = response.headers().get(CONTENT_TYPE);
    media_type.is_some_and(|value| {
        let value = value.as_bytes();
        STREAMS
            .iter()
            .any(|stream| value.starts_with(stream.as_bytes()))
    })
}

impl MessageBody for Watched {
    type Error = Box<dyn std::error::Error>;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        let polled = self.body.as_pin_mut().poll_next(context);
        if let Poll::Ready(Some(Ok(part))) = &polled {
            let bytes = part.len();
            self.call.sent(bytes);
            self.admission.spend(bytes);
        }
        polled
    }
}
