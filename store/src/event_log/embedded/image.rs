//! The log as of one moment, for a backup: between two rounds of the writer all durable bytes are
//! known, and hard links hold them.

use std::sync::mpsc;

use tributary_schemas::Result;

use super::folder::lock;
use super::writer::Command;
use super::{EmbeddedEventLog, closed};
use crate::backup::draft::Draft;

impl EmbeddedEventLog {
    /// Keeps all topics in the draft, below `path`. Appends and commits wait meanwhile. Not for
    /// async threads.
    pub(crate) fn image(&self, draft: &mut Draft, path: &str) -> Result<()> {
        let _creation = lock(&self.shared.creation);
        let (held_sender, held) = mpsc::channel();
        let (release, released) = mpsc::channel();
        self.commands.send(Command::Hold {
            held: held_sender,
            released,
        })?;
        held.recv().map_err(|_| closed())?;
        draft.add_folder(&format!("{path}/topics"));
        let mut topics = self.shared.topics();
        topics.sort_by(|left, right| left.name.cmp(&right.name));
        let kept = topics
            .iter()
            .try_for_each(|topic| topic.image(draft, &format!("{path}/topics/{}", topic.name)));
        drop(release);
        kept
    }
}
