//! `POST /v1/backup`: the data folder as of this moment, streamed as a tar archive (see
//! [`tributary_store::backup`]). The caller writes it where it may write; the server writes nowhere
//! but into its own folder.

use actix_web::{HttpRequest, HttpResponse, web};
use futures::StreamExt;
use tributary_store::backup::Pipe;

use crate::operations::Operations;
use crate::problem::{Code, Problem};

/// Header with the bytes of all files, for a progress bar.
pub const BYTES_HEADER: &str = "x-tributary-backup-bytes";

/// Header with what the server wrote into its data folder: who shows it may read that folder, and
/// so all that a backup holds.
pub const TOKEN_HEADER: &str = "x-tributary-backup-token";

/// Holds the image and streams it. Whoever stops reading ends it.
pub async fn backup(
    operations: web::Data<Operations>,
    request: HttpRequest,
) -> Result<HttpResponse, Problem> {
    if !is_from_here(&request) || !shows_token(&operations, &request) {
        let what =
            "a backup holds everything and is given only to who may read the server's data folder";
        return Err(Problem::new(Code::Denied, what)
            .with_hint("run `tributary backup` as the user of the server, on its machine"));
    }
    let Some(source) = &operations.backup else {
        return Err(Problem::new(
            Code::Unsupported,
            "this process has nothing that can be backed up",
        ));
    };
    let image = source.take().await?;
    let bytes = image.bytes();
    let (pipe, receiver) = Pipe::new();
    tokio::task::spawn_blocking(move || {
        if let Err(error) = image.write(&pipe) {
            tracing::warn!(error = %error.full_message(), "a backup broke off");
            pipe.fail(&error);
        }
    });
    let chunks = futures::stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|chunk| (chunk, receiver))
    });
    Ok(HttpResponse::Ok()
        .content_type("application/x-tar")
        .insert_header((BYTES_HEADER, bytes.to_string()))
        .streaming(chunks.map(|chunk| chunk.map_err(actix_web::Error::from))))
}

/// Not enough by itself: behind a proxy on this machine everybody is from here.
fn is_from_here(request: &HttpRequest) -> bool {
    request
        .peer_addr()
        .is_some_and(|peer| peer.ip().to_canonical().is_loopback())
}

fn shows_token(operations: &Operations, request: &HttpRequest) -> bool {
    let shown = request.headers().get(TOKEN_HEADER);
    shown.is_some_and(|token| blake3::hash(token.as_bytes()) == operations.backup_token)
}
