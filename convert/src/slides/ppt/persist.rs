//! Where the newest version of each object lies: the chain of edits and their directories ([MS-PPT]
//! 2.1.2).

use std::collections::HashMap;

use tributary_schemas::{Error, ErrorKind, Result};

use crate::office::bytes::{size_at, u32_at};
use crate::office::ole::encrypted;
use crate::office::records::{Record, kinds, record_at};

/// Token of a file that is encrypted.
const ENCRYPTED: u32 = 0xF3D1_C4DF;
/// Length of an edit with the place of an encryption session.
const ENCRYPTED_EDIT: usize = 0x20;
/// Most edits that are followed.
const MAXIMUM_EDITS: usize = 4096;

/// The objects of a presentation.
#[derive(Debug)]
pub(super) struct Objects<'a> {
    stream: &'a [u8],
    offsets: HashMap<u32, usize>,
    document: u32,
}

impl<'a> Objects<'a> {
    /// Follows the edits from the newest. Errors: `Unsupported` if encrypted, `Corrupt` if there is
    /// no edit.
    pub(super) fn read(current_user: &[u8], stream: &'a [u8]) -> Result<Self> {
        if u32_at(current_user, 12) == Some(ENCRYPTED) {
            return Err(encrypted());
        }
        let newest = newest_edit(current_user, stream)?;
        let mut objects = Self {
            stream,
            offsets: HashMap::new(),
            document: 0,
        };
        let mut at = newest;
        for number in 0..MAXIMUM_EDITS {
            let Some(edit) = edit_at(stream, at) else {
                break;
            };
            if edit.len() >= ENCRYPTED_EDIT {
                return Err(encrypted());
            }
            if number == 0 {
                objects.document = u32_at(edit, 16).unwrap_or(0);
            }
            objects.add_directory(size_at(edit, 12).unwrap_or(0));
            let before = size_at(edit, 8).unwrap_or(0);
            // Edits are appended, so an older one lies before.
            if before == 0 || before >= at {
                break;
            }
            at = before;
        }
        Ok(objects)
    }

    /// Objects of newer edits hide older ones.
    fn add_directory(&mut self, at: usize) {
        let Some(directory) =
            record_at(self.stream, at).filter(|record| record.kind == kinds::PERSIST_DIRECTORY)
        else {
            return;
        };
        let mut place = 0;
        while let Some(header) = u32_at(directory.content, place) {
            let (first, count) = (header & 0xF_FFFF, header >> 20);
            place += 4;
            for number in first..first + count {
                let Some(offset) = size_at(directory.content, place) else {
                    return;
                };
                self.offsets.entry(number).or_insert(offset);
                place += 4;
            }
        }
    }

    /// The object of that number.
    pub(super) fn get(&self, number: u32) -> Option<Record<'a>> {
        record_at(self.stream, *self.offsets.get(&number)?)
    }

    /// The object that holds the lists of slides; `Corrupt` if there is none.
    pub(super) fn document(&self) -> Result<Record<'a>> {
        self.get(self.document).filter(|record| record.kind == kinds::DOCUMENT).ok_or_else(|| {
            Error::new(ErrorKind::Corrupt, "the stream `PowerPoint Document` has no document record where its newest edit says")
                .with_hint("the file is damaged; open it in PowerPoint or LibreOffice and save it again")
        })
    }
}

fn edit_at(stream: &[u8], at: usize) -> Option<&[u8]> {
    record_at(stream, at)
        .filter(|record| record.kind == kinds::USER_EDIT && record.content.len() >= 20)
        .map(|record| record.content)
}

/// Where the newest edit stands: where `current_user` says, else the last one that is found.
fn newest_edit(current_user: &[u8], stream: &[u8]) -> Result<usize> {
    let stated = size_at(current_user, 16).filter(|at| edit_at(stream, *at).is_some());
    stated.or_else(|| last_edit(stream)).ok_or_else(|| {
        Error::new(
            ErrorKind::Corrupt,
            "the stream `PowerPoint Document` has no edit that can be found",
        )
        .with_hint("the file is damaged; open it in PowerPoint or LibreOffice and save it again")
    })
}

/// The last thing that looks like an edit, for files whose `Current User` is damaged.
fn last_edit(stream: &[u8]) -> Option<usize> {
    let header = [0, 0, 0xF5, 0x0F, 0x1C, 0, 0, 0];
    stream
        .windows(header.len())
        .rposition(|window| window == header)
}
