//! The work of the processor on one document: conversion, the local steps of its source, fingerprint.

use std::sync::Arc;

use bytes::Bytes;
use tributary_convert::isolation::ConversionPool;
use tributary_convert::{ATTACHMENTS_READ, Converted, Job};
use tributary_schemas::{CleanDocument, DocumentEvent, Result, StageTime};
use tributary_taxonomy::source_profiles::SourceProfile;

use super::outcome::unread;
use super::published::{Body, Published, body_bytes};
use super::{LaterSettings, STAGE};
use crate::source_cleaning::SourceCleaning;
use crate::{fingerprint, similarity};

/// What conversions on blocking threads need.
pub(super) struct Conversion {
    pub(super) pool: Arc<ConversionPool>,
    pub(super) cleaning: SourceCleaning,
    pub(super) later_settings: LaterSettings,
    pub(super) keeps_originals: bool,
}

impl Conversion {
    /// Waits for the conversion: on a blocking thread.
    pub(super) fn convert(&self, event: &DocumentEvent, body: Body) -> Result<Converted> {
        let bytes = body_bytes(event, body, self.pool.config().maximum_body_bytes)?;
        self.pool.convert(Job {
            bytes: &bytes,
            name: event.source_path.as_deref(),
            media_type: event.media_type.as_deref(),
        })
    }

    /// Runs the local steps. CPU work: on a blocking thread.
    pub(super) fn begin(&self, published: Published, converted: Converted) -> Result<Begun> {
        let Published {
            event,
            document_id,
            version,
        } = published;
        let original = self.original(&event)?;
        let source = event.source.clone();
        let partial = unread(&converted.metadata);
        let mut clean = self.cleaning.begin(event, document_id, version, converted);
        clean.document.partial = partial;
        let is_complete = self.cleaning.external(&source).is_empty();
        if !is_complete {
            // What goes into the steps and their versions stand for what they answer, so that a
            // document that did not change costs no call.
            clean.document.fingerprint = self.fingerprint(&clean);
        }
        Ok(Begun {
            clean,
            original,
            is_complete,
        })
    }

    /// The published bytes, if they are to be kept.
    fn original(&self, event: &DocumentEvent) -> Result<Option<Original>> {
        if !self.keeps_originals {
            return Ok(None);
        }
        let maximum = self.pool.config().maximum_body_bytes;
        Ok(Some(match &event.content_url {
            Some(url) => Original::Kept(url.clone()),
            None => Original::Inline(body_bytes(event, Body::Inline, maximum)?),
        }))
    }

    /// What all steps left becomes the clean document, fingerprinted. CPU work, too.
    pub(super) fn finish(&self, begun: Begun, now_ms: i64) -> CleanDocument {
        let Begun {
            mut clean,
            is_complete,
            ..
        } = begun;
        self.cleaning.finish(&mut clean);
        clean.document.timeline.push(StageTime {
            stage: STAGE.to_owned(),
            at_ms: now_ms,
        });
        if is_complete {
            clean.document.fingerprint = self.fingerprint(&clean);
        }
        let profile = self.cleaning.profile(&clean.document.source);
        // Mails that share a file are not alike for that.
        let has_files = clean.metadata.contains_key(ATTACHMENTS_READ);
        if profile.near_duplicates && !has_files {
            clean.document.signature = similarity::signature(&clean.markdown);
        }
        clean.document.content_hash = content_hash(&clean, profile);
        clean
    }

    fn fingerprint(&self, clean: &CleanDocument) -> String {
        let settings = fingerprint::Settings {
            profile: self.cleaning.fingerprint(&clean.document.source),
            later_stages: &(self.later_settings)(),
            keeps_original: self.keeps_originals,
        };
        fingerprint::fingerprint(clean, settings)
    }
}

/// A document after the local steps.
pub(super) struct Begun {
    pub(super) clean: CleanDocument,
    /// What is kept of what was published.
    pub(super) original: Option<Original>,
    /// Whether there are no others.
    is_complete: bool,
}

/// The bytes that were published.
pub(super) enum Original {
    /// In this blob already.
    Kept(String),
    /// In the event.
    Inline(Bytes),
}

/// What exact duplicates share. An edition has none: whether it is found depends on the other
/// editions of its work, so it stands for no other document and no other one for it. Nor has a
/// document with sections that only some may see: that two are one would tell everybody else that
/// they have these in common.
fn content_hash(clean: &CleanDocument, profile: &SourceProfile) -> String {
    let document = &clean.document;
    if document.edition.is_some() || !document.attributes.section_rules().is_empty() {
        return String::new();
    }
    similarity::content_hash(clean, profile.chunker_of(document, &clean.markdown))
}
