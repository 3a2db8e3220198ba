//! The journal of what a process did to its files, and what a disk may hold of it after the power
//! was cut: everything that was durable by then, and of the rest any part that the rules of files
//! allow.
//!
//! Rules: what was written before a sync of the file began, and the sync has ended, is there. A
//! later write may be there, not at all, in part (by sectors), or as zeros, and later ones without
//! earlier ones. A name is durable once its folder was synced after it was given, moved or
//! taken; of later changes of names some may be there, those of one folder in any order. A rename
//! is there as a whole.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::random::Random;

const SECTOR: usize = 512;
const PAGE: usize = 4096;
const NUMBERS: usize = 6;

type Inode = usize;
const ROOT: Inode = 0;

/// One entry.
enum Entry {
    Create {
        path: String,
        number: u64,
    },
    Folder {
        path: String,
        number: u64,
    },
    Write {
        number: u64,
        offset: usize,
        bytes: Vec<u8>,
    },
    Size {
        number: u64,
        size: usize,
    },
    Rename {
        from: String,
        to: String,
    },
    Link {
        from: String,
        to: String,
    },
    Remove {
        path: String,
    },
    Sync {
        number: u64,
        until: usize,
    },
}

/// What was done, in order, and where in the file each entry ends.
pub struct Journal {
    root: String,
    root_number: u64,
    entries: Vec<Entry>,
    ends: Vec<u64>,
}

impl Journal {
    /// Reads what `journal.c` wrote; a last entry that is not whole does not count.
    pub fn read(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap();
        let mut journal = Self {
            root: String::new(),
            root_number: 0,
            entries: Vec::new(),
            ends: Vec::new(),
        };
        let mut at = 0;
        while let Some(head) = bytes.get(at..at + 8 * NUMBERS) {
            let numbers: Vec<u64> = head
                .chunks(8)
                .map(|number| u64::from_le_bytes(number.try_into().unwrap()))
                .collect();
            let (start, length) = (at + head.len(), numbers[4] as usize);
            let end = start + length + numbers[5] as usize;
            let Some(content) = bytes.get(start..end) else {
                break;
            };
            journal.add(&numbers, &content[..length], &content[length..]);
            journal.ends.push(end as u64);
            at = end;
        }
        journal
    }

    fn add(&mut self, numbers: &[u64], content: &[u8], other: &[u8]) {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let (number, first, path) = (numbers[1], numbers[2] as usize, || text(content));
        let entry = match numbers[0] as u8 {
            b'R' => {
                (self.root, self.root_number) = (path(), number);
                // Keeps entries and numbers of entries in step.
                Entry::Folder {
                    path: path(),
                    number,
                }
            }
            b'C' => Entry::Create {
                path: path(),
                number,
            },
            b'D' => Entry::Folder {
                path: path(),
                number,
            },
            b'W' => Entry::Write {
                number,
                offset: first,
                bytes: content.to_vec(),
            },
            b'T' => Entry::Size {
                number,
                size: first,
            },
            b'N' => Entry::Rename {
                from: path(),
                to: text(other),
            },
            b'L' => Entry::Link {
                from: path(),
                to: text(other),
            },
            b'U' => Entry::Remove { path: path() },
            b'S' => Entry::Sync {
                number,
                until: first,
            },
            kind => panic!(
                "a file is written in a way that the journal does not follow: {} {} {}",
                char::from(kind),
                path(),
                text(other)
            ),
        };
        self.entries.push(entry);
    }

    /// Entries that are whole in the first `bytes` of the file.
    pub fn entries_within(&self, bytes: u64) -> usize {
        self.ends.partition_point(|end| *end <= bytes)
    }

    /// All of them.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// How many entries are syncs.
    pub fn syncs(&self) -> usize {
        self.entries
            .iter()
            .filter(|entry| matches!(entry, Entry::Sync { .. }))
            .count()
    }

    /// The length of the file when the entry was whole.
    pub fn end_of(&self, entry: usize) -> u64 {
        self.ends[entry]
    }

    /// The disk after its first `cut` entries, with nothing decided yet.
    pub fn disk_after(&self, cut: usize) -> Disk {
        let mut disk = Disk::new(self.root_number);
        for (number, entry) in self.entries.iter().take(cut).enumerate().skip(1) {
            disk.apply(number, entry, &self.root);
        }
        disk
    }
}

/// A change of a file's content.
#[derive(Clone)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Size(usize),
}

/// Changes of names that happen together; none takes a name.
type Naming = Vec<(Inode, String, Option<Inode>)>;

/// Files and folders as the process sees them, and the changes since each was durable.
pub struct Disk {
    /// By the system's number, which is given again after a removal: the newest.
    numbers: HashMap<u64, Inode>,
    folders: HashMap<Inode, BTreeMap<String, Inode>>,
    durable_folders: HashMap<Inode, BTreeMap<String, Inode>>,
    durable: HashMap<Inode, Vec<u8>>,
    pending: HashMap<Inode, Vec<(usize, Change)>>,
    namings: Vec<(usize, Naming)>,
    next: Inode,
}

/// How the part of the disk that was not durable is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Luck {
    /// Nothing of it is there.
    Nothing,
    /// All names and sizes are there, and none of the contents.
    NamesOnly,
    /// Names up to some moment, contents by chance: as a journal of metadata keeps them.
    Ordered,
    /// Everything by chance.
    Chance,
}

impl Disk {
    fn new(root_number: u64) -> Self {
        let empty = || HashMap::from([(ROOT, BTreeMap::new())]);
        Self {
            numbers: HashMap::from([(root_number, ROOT)]),
            folders: empty(),
            durable_folders: empty(),
            durable: HashMap::new(),
            pending: HashMap::new(),
            namings: Vec::new(),
            next: ROOT + 1,
        }
    }

    /// The folder that holds a path and the name in it; none where that folder is not known.
    fn place(&self, path: &str, root: &str) -> Option<(Inode, String)> {
        let relative = path.strip_prefix(root)?.trim_matches('/');
        let (parents, name) = relative.rsplit_once('/').unwrap_or(("", relative));
        let mut folder = ROOT;
        for part in parents
            .split('/')
            .filter(|part| !part.is_empty() && *part != ".")
        {
            folder = *self.folders.get(&folder)?.get(part)?;
        }
        Some((folder, name.to_owned()))
    }

    fn named(&self, (folder, name): &(Inode, String)) -> Option<Inode> {
        self.folders.get(folder)?.get(name).copied()
    }

    fn apply(&mut self, number: usize, entry: &Entry, root: &str) {
        let place = |path: &str| {
            self.place(path, root)
                .unwrap_or_else(|| panic!("no such folder: {path}"))
        };
        match entry {
            Entry::Create {
                path,
                number: inode,
            }
            | Entry::Folder {
                path,
                number: inode,
            } => {
                let ((folder, name), new) = (place(path), self.next);
                self.next += 1;
                self.numbers.insert(*inode, new);
                if matches!(entry, Entry::Folder { .. }) {
                    self.folders.insert(new, BTreeMap::new());
                    self.durable_folders.insert(new, BTreeMap::new());
                } else {
                    self.durable.insert(new, Vec::new());
                }
                self.rename(number, vec![(folder, name, Some(new))]);
            }
            Entry::Write {
                number: inode,
                offset,
                bytes,
            } => {
                self.change(
                    number,
                    *inode,
                    Change::Write {
                        offset: *offset,
                        bytes: bytes.clone(),
                    },
                );
            }
            Entry::Size {
                number: inode,
                size,
            } => self.change(number, *inode, Change::Size(*size)),
            Entry::Rename { from, to } => {
                let (from, to) = (place(from), place(to));
                let inode = self.named(&from);
                self.rename(number, vec![(to.0, to.1, inode), (from.0, from.1, None)]);
            }
            Entry::Link { from, to } => {
                let (from, to) = (place(from), place(to));
                let inode = self.named(&from);
                self.rename(number, vec![(to.0, to.1, inode)]);
            }
            Entry::Remove { path } => {
                let (folder, name) = place(path);
                self.rename(number, vec![(folder, name, None)]);
            }
            Entry::Sync {
                number: inode,
                until,
            } => self.sync(*inode, *until),
        }
    }

    fn rename(&mut self, number: usize, naming: Naming) {
        give_names(&mut self.folders, &naming);
        self.namings.push((number, naming));
    }

    /// Files outside of the folder are not known.
    fn change(&mut self, number: usize, inode: u64, change: Change) {
        if let Some(inode) = self
            .numbers
            .get(&inode)
            .filter(|inode| self.durable.contains_key(inode))
        {
            self.pending
                .entry(*inode)
                .or_default()
                .push((number, change));
        }
    }

    fn sync(&mut self, inode: u64, until: usize) {
        let Some(inode) = self.numbers.get(&inode).copied() else {
            return;
        };
        if let Some(content) = self.durable.get_mut(&inode) {
            let pending = self.pending.remove(&inode).unwrap_or_default();
            let (done, open): (Vec<_>, Vec<_>) =
                pending.into_iter().partition(|(number, _)| *number < until);
            done.iter()
                .for_each(|(_, change)| apply_whole(content, change));
            self.pending.insert(inode, open);
        } else {
            let concerns = |naming: &Naming| naming.iter().any(|(folder, ..)| *folder == inode);
            let (done, open): (Vec<_>, Vec<_>) = std::mem::take(&mut self.namings)
                .into_iter()
                .partition(|(number, naming)| *number < until && concerns(naming));
            self.namings = open;
            done.iter()
                .for_each(|(_, naming)| give_names(&mut self.durable_folders, naming));
        }
    }

    /// How much is not durable: changes of names, and of contents.
    pub fn open_changes(&self) -> (usize, usize) {
        (
            self.namings.len(),
            self.pending.values().map(Vec::len).sum(),
        )
    }

    /// Writes a state that may be found after the cut into an empty folder.
    pub fn write(mut self, target: &Path, luck: Luck, random: &mut Random) {
        let until = random.below(self.namings.len() as u64 + 1) as usize;
        for (place, (_, naming)) in self.namings.iter().enumerate() {
            let is_there = match luck {
                Luck::Nothing => false,
                Luck::NamesOnly => true,
                Luck::Ordered => place < until,
                Luck::Chance => random.below(2) == 0,
            };
            if is_there {
                give_names(&mut self.durable_folders, naming);
            }
        }
        let mut inodes: Vec<Inode> = self.pending.keys().copied().collect();
        inodes.sort_unstable();
        for inode in inodes {
            let content = self.durable.get_mut(&inode).unwrap();
            for (_, change) in &self.pending[&inode] {
                apply_in_part(content, change, luck, random);
            }
        }
        self.write_folder(ROOT, target, &mut HashSet::new(), &mut HashMap::new());
    }

    fn write_folder(
        &self,
        folder: Inode,
        target: &Path,
        seen: &mut HashSet<Inode>,
        files: &mut HashMap<Inode, PathBuf>,
    ) {
        assert!(seen.insert(folder), "a folder has two names");
        for (name, inode) in &self.durable_folders[&folder] {
            let path = target.join(name);
            if self.durable_folders.contains_key(inode) {
                // A folder that was moved may have both names for a moment; a check of the disk
                // leaves it one.
                if !seen.contains(inode) {
                    fs::create_dir(&path).unwrap();
                    self.write_folder(*inode, &path, seen, files);
                }
            } else if let Some(first) = files.get(inode) {
                fs::hard_link(first, &path).unwrap();
            } else {
                fs::write(&path, &self.durable[inode]).unwrap();
                files.insert(*inode, path);
            }
        }
    }
}

fn give_names(folders: &mut HashMap<Inode, BTreeMap<String, Inode>>, naming: &Naming) {
    for (folder, name, inode) in naming {
        let Some(names) = folders.get_mut(folder) else {
            continue;
        };
        match inode {
            Some(inode) => names.insert(name.clone(), *inode),
            None => names.remove(name),
        };
    }
}

fn apply_whole(content: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Size(size) => content.resize(*size, 0),
        Change::Write { offset, bytes } => {
            let end = offset + bytes.len();
            content.resize(content.len().max(end), 0);
            content[*offset..end].copy_from_slice(bytes);
        }
    }
}

fn apply_in_part(content: &mut Vec<u8>, change: &Change, luck: Luck, random: &mut Random) {
    match (luck, change) {
        (Luck::Nothing, _) => {}
        (Luck::NamesOnly, Change::Write { offset, bytes }) => {
            content.resize(content.len().max(offset + bytes.len()), 0)
        }
        (Luck::NamesOnly, Change::Size(_)) => apply_whole(content, change),
        (_, Change::Size(_)) if random.below(2) == 0 => {}
        (_, Change::Size(_)) => apply_whole(content, change),
        (_, Change::Write { offset, bytes }) => match random.below(5) {
            0 => {}
            1 => apply_whole(content, change),
            2 => content.resize(content.len().max(offset + bytes.len()), 0),
            3 => apply_some(content, *offset, bytes, SECTOR, random),
            _ => apply_some(content, *offset, bytes, PAGE, random),
        },
    }
}

/// Each block of the disk that a write touches is the old or the new one.
fn apply_some(
    content: &mut Vec<u8>,
    offset: usize,
    bytes: &[u8],
    block: usize,
    random: &mut Random,
) {
    let end = offset + bytes.len();
    let mut from = offset;
    while from < end {
        let to = (from / block + 1) * block;
        let to = to.min(end);
        if random.below(2) == 0 {
            apply_whole(
                content,
                &Change::Write {
                    offset: from,
                    bytes: bytes[from - offset..to - offset].to_vec(),
                },
            );
        }
        from = to;
    }
}
