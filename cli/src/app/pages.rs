//! The drawing side of the HTTP server, on top of the confined processes that convert documents.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use tributary_convert::isolation::ConversionPool;
use tributary_query_api::page_drawing::PageDrawing;
use tributary_schemas::{Error, ErrorKind, Result};

/// Pages for HTTP.
pub struct PageSide(Arc<ConversionPool>);

impl PageSide {
    /// Drawn by this pool.
    pub fn new(pool: &Arc<ConversionPool>) -> Self {
        Self(Arc::clone(pool))
    }
}

#[async_trait]
impl PageDrawing for PageSide {
    async fn draw(&self, pdf: Bytes, page: u32) -> Result<Bytes> {
        let pool = Arc::clone(&self.0);
        let drawn = tokio::task::spawn_blocking(move || pool.draw_page(&pdf, page)).await;
        let drawn = drawn.map_err(|error| {
            Error::new(ErrorKind::Internal, format!("drawing stopped: {error}"))
        })?;
        drawn.map(Bytes::from)
    }
}
