//! What becomes of documents that end here, without chunks.

use tributary_schemas::{DocumentHeader, DocumentState, Result, State};
use tributary_store::event_log::stage::{Output, Outputs};
use tributary_store::event_log::{StoredRecord, message};
use tributary_store::manifest;

use super::{ChunkWork, NEXT};

impl ChunkWork {
    /// The end of a version that waited for a service while a newer one, or the deletion, came. It
    /// is not indexed as it is: a step may take out what nobody is to find.
    pub(super) fn superseded(
        &self,
        input: &StoredRecord,
        document: &DocumentHeader,
    ) -> Result<Vec<Output>> {
        let what = "a newer version of the document, or its deletion, came while a step on chunks had not answered";
        Ok(self.skipped(input, document, what)?.done())
    }

    /// The end of a version of which steps on chunks left nothing: the chunks of an older one go.
    pub(super) fn without_chunks(
        &self,
        input: &StoredRecord,
        document: &DocumentHeader,
    ) -> Result<Vec<Output>> {
        let what = "empty: the steps on chunks of its source profile left none of its chunks";
        let outputs = self.skipped(input, document, what)?;
        let document_id = message::document_id(&input.record)?;
        Ok(outputs.remove(document_id, document.version).done())
    }

    /// Takes the chunks of a deleted document away.
    pub(super) fn removed(&self, input: &StoredRecord) -> Result<Vec<Output>> {
        let document_id = message::document_id(&input.record)?;
        let version = message::version(&input.record)?;
        let outputs = self.begun(input);
        Ok(outputs.remove(document_id, version).done())
    }

    fn skipped<'a>(
        &'a self,
        input: &'a StoredRecord,
        document: &DocumentHeader,
        what: &str,
    ) -> Result<Outputs<'a>> {
        let outputs = self.begun(input);
        if !(self.parts.is_serving)() {
            return Ok(outputs);
        }
        let state = DocumentState {
            reason: Some(what.to_owned()),
            ..manifest::report(document, State::Skipped, (self.parts.clock)())
        };
        outputs.report(&state)
    }

    fn begun<'a>(&'a self, input: &'a StoredRecord) -> Outputs<'a> {
        Outputs::of(&input.record, NEXT, (self.parts.clock)())
            .for_generation(&self.parts.generation)
    }
}
