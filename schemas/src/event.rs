//! Header names of the CloudEvents 1.0 Kafka binding (binary mode), and our own beside them.

/// Identifier of the event, unique per source.
pub const CE_ID: &str = "ce_id";
/// Kind of the event, one of the `TYPE_` constants here.
pub const CE_TYPE: &str = "ce_type";
/// Who produced the event.
pub const CE_SOURCE: &str = "ce_source";
/// What the event is about: the document id.
pub const CE_SUBJECT: &str = "ce_subject";
/// When it happened, RFC 3339.
pub const CE_TIME: &str = "ce_time";
/// Which JSON Schema the value follows.
pub const CE_DATASCHEMA: &str = "ce_dataschema";
/// CloudEvents version.
pub const CE_SPECVERSION: &str = "ce_specversion";
/// Media type of the value.
pub const CONTENT_TYPE: &str = "content-type";
/// W3C trace context.
pub const TRACEPARENT: &str = "traceparent";
/// Version of the document that the record is about, decimal; needed on a null value, whose body
/// cannot say it.
pub const DOCUMENT_VERSION: &str = "tributary_document_version";
/// Present on a record whose value lies in the blob store: the blob's URL (claim check).
pub const CLAIM_CHECK: &str = "tributary_claim_check";

/// Generation of the index that a record after `documents.clean` is for.
pub const GENERATION: &str = "tributary_generation";

/// A document was published.
pub const TYPE_DOCUMENT_PUBLISHED: &str = "tributary.document.published.v1";
/// A document was converted and cleaned.
pub const TYPE_DOCUMENT_CLEANED: &str = "tributary.document.cleaned.v1";
/// A document's chunks were made.
pub const TYPE_CHUNKS_TAGGED: &str = "tributary.chunks.tagged.v1";
/// A document's chunks have vectors.
pub const TYPE_CHUNKS_EMBEDDED: &str = "tributary.chunks.embedded.v1";
/// A document changed its state.
pub const TYPE_DOCUMENT_STATE: &str = "tributary.document.state.v1";
/// Type of the values in `documents.states` that say what left ingest.
pub const TYPE_PASSED_INGEST: &str = "tributary.document.passed-ingest.v1";
/// A new generation of the index was asked for.
pub const TYPE_REINDEX_REQUESTED: &str = "tributary.reindex.requested.v1";
/// The build of a generation came to another state.
pub const TYPE_REINDEX_STATE: &str = "tributary.reindex.state.v1";
/// A record was given up.
pub const TYPE_DEAD_LETTER: &str = "tributary.dead-letter.v1";

/// Somebody called the server.
pub const TYPE_AUDIT_ENTRY: &str = "tributary.audit.entry.v1";

/// What [`CE_DATASCHEMA`] says of a record with this [`CE_TYPE`]: the `$id` of the schema in
/// `schemas/json/` that its value follows.
///
/// None for a type that is not ours, and for a dead letter, whose value is the failed record's,
/// whatever that was.
pub fn data_schema(event_type: &str) -> Option<&'static str> {
    match event_type {
        TYPE_DOCUMENT_PUBLISHED => Some("urn:tributary:schema:document-event.v1"),
        TYPE_DOCUMENT_CLEANED => Some("urn:tributary:schema:clean-document.v1"),
        TYPE_CHUNKS_TAGGED => Some("urn:tributary:schema:tagged-document.v1"),
        TYPE_CHUNKS_EMBEDDED => Some("urn:tributary:schema:embedded-document.v1"),
        TYPE_DOCUMENT_STATE => Some("urn:tributary:schema:document-state.v1"),
        TYPE_PASSED_INGEST => Some("urn:tributary:schema:passed-ingest.v1"),
        TYPE_REINDEX_REQUESTED => Some("urn:tributary:schema:reindex-request.v1"),
        TYPE_REINDEX_STATE => Some("urn:tributary:schema:reindex-report.v1"),
        TYPE_AUDIT_ENTRY => Some("urn:tributary:schema:audit-entry.v1"),
        _ => None,
    }
}

/// Headers of a dead letter beside those of the failed record. The value is the failed record's
/// own, unchanged; the key is the letter's id.
pub mod dead_letter {
    /// Key of the failed record, unchanged.
    pub const KEY: &str = "tributary_dead_key";
    /// Topic in which the failed record lies.
    pub const TOPIC: &str = "tributary_dead_topic";
    /// Its partition, decimal.
    pub const PARTITION: &str = "tributary_dead_partition";
    /// Its offset, decimal.
    pub const OFFSET: &str = "tributary_dead_offset";
    /// Stage that gave up.
    pub const STAGE: &str = "tributary_dead_stage";
    /// Attempts made, decimal.
    pub const ATTEMPTS: &str = "tributary_dead_attempts";
    /// Error kind, see [`crate::ErrorKind::as_str`].
    pub const KIND: &str = "tributary_dead_kind";
    /// Error message.
    pub const MESSAGE: &str = "tributary_dead_message";
    /// When it was given up, milliseconds since 1970, decimal.
    pub const AT_MS: &str = "tributary_dead_at_ms";
    /// Headers of the failed record that were too large to be kept, in words.
    pub const LEFT_OUT: &str = "tributary_dead_left_out";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_schema::MESSAGES;

    #[test]
    fn the_schema_named_for_an_event_is_one_that_is_published() {
        let types = [
            TYPE_DOCUMENT_PUBLISHED,
            TYPE_DOCUMENT_CLEANED,
            TYPE_CHUNKS_TAGGED,
            TYPE_CHUNKS_EMBEDDED,
            TYPE_DOCUMENT_STATE,
            TYPE_PASSED_INGEST,
            TYPE_REINDEX_REQUESTED,
            TYPE_REINDEX_STATE,
            TYPE_AUDIT_ENTRY,
        ];
        let mut named: Vec<&str> = types
            .iter()
            .filter_map(|event_type| data_schema(event_type))
            .collect();
        assert!(
            named
                .iter()
                .all(|id| MESSAGES.iter().any(|message| message.id() == *id)),
            "{named:?}"
        );
        named.sort_unstable();
        named.dedup();
        assert_eq!(named.len(), types.len());
        assert_eq!(data_schema("org.example.something.v1"), None);
    }
}
