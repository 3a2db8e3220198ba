//! The folder of a generation: what was asked before is known, and what is asked now is kept at
//! once. A passage is done when it has questions by the same prompt and model, or when these could
//! not ask about it for a reason that stays.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Context, Result};
use tributary_schemas::ChunkId;

use super::files::{self, Appended};
use super::{Failure, Pair, TrainingPassage};

/// The files of a folder that is added to.
pub struct GenerationFolder {
    pairs: Appended<Pair>,
    failures: Appended<Failure>,
    done: HashSet<(ChunkId, String, String)>,
    /// Questions in the folder.
    pub questions: usize,
}

impl GenerationFolder {
    /// Makes the folder, or opens one to go on with. `asks_again` forgets what could not be asked.
    pub fn open(folder: &Path, asks_again: bool) -> Result<Self> {
        let failed = || format!("cannot make {}", folder.display());
        std::fs::create_dir_all(folder).with_context(failed)?;
        let (pairs, known) = Appended::<Pair>::open(&folder.join(files::PAIRS))?;
        let (failures, failed) = Appended::<Failure>::open(&folder.join(files::FAILURES))?;
        let questions = known.len();
        let asked = known.into_iter();
        let mut done: HashSet<_> = asked
            .map(|pair| (pair.chunk_id, pair.prompt, pair.model))
            .collect();
        let settled = failed
            .into_iter()
            .filter(|failure| failure.is_settled && !asks_again);
        done.extend(settled.map(|failure| (failure.chunk_id, failure.prompt, failure.model)));
        Ok(Self {
            pairs,
            failures,
            done,
            questions,
        })
    }

    /// Replaces the file of all passages.
    pub fn write_passages(folder: &Path, passages: &[TrainingPassage]) -> Result<()> {
        files::write(&folder.join(files::PASSAGES), passages)
    }

    /// Whether a passage need not be asked about by this prompt and model.
    pub fn is_done(&self, chunk: ChunkId, (prompt, model): &(String, String)) -> bool {
        self.done.contains(&(chunk, prompt.clone(), model.clone()))
    }

    /// Keeps what became of a passage.
    pub fn keep(&mut self, outcome: &Result<Vec<Pair>, Failure>) -> Result<()> {
        match outcome {
            Ok(pairs) => {
                self.questions += pairs.len();
                self.pairs.add(pairs)
            }
            Err(failure) => self.failures.add(std::slice::from_ref(failure)),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::samples::{chunk_id, pair};
    use super::*;

    #[test]
    fn what_is_done_is_not_asked_again_and_what_may_pass_is() {
        let folder = tempfile::tempdir().unwrap();
        let made_by = ("rules@2".to_owned(), "rules".to_owned());
        let failure = |chunk, is_settled| Failure {
            chunk_id: chunk_id(chunk),
            document_id: "d".to_owned(),
            prompt: made_by.0.clone(),
            model: made_by.1.clone(),
            reason: "?".to_owned(),
            is_settled,
        };
        let mut generation = GenerationFolder::open(folder.path(), false).unwrap();
        let two = vec![pair("a", 1, "d"), pair("b", 1, "d")];
        generation.keep(&Ok(two)).unwrap();
        generation.keep(&Err(failure(2, true))).unwrap();
        generation.keep(&Err(failure(3, false))).unwrap();
        assert!(
            GenerationFolder::open(folder.path(), false).is_err(),
            "two at once"
        );
        drop(generation);
        let done = |asks_again| {
            let generation = GenerationFolder::open(folder.path(), asks_again).unwrap();
            assert_eq!(generation.questions, 2);
            [1, 2, 3].map(|chunk| generation.is_done(chunk_id(chunk), &made_by))
        };
        assert_eq!(done(false), [true, true, false]);
        assert_eq!(done(true), [true, false, false]);
        let generation = GenerationFolder::open(folder.path(), false).unwrap();
        let other = ("rules@1".to_owned(), "rules".to_owned());
        assert!(!generation.is_done(chunk_id(1), &other));
    }
}
