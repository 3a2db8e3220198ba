//! Which folders are places of other file systems: one that is not mounted any more looks like a
//! folder that was emptied, but its files are not gone.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Where the system lists what is mounted.
const MOUNTED: &str = "/proc/self/mountinfo";
/// The field of a line of it that is the place, counted from 0.
const PLACE: usize = 4;

/// Folders below this one where something is mounted now, as paths from it. None where the system
/// does not tell.
pub fn below(folder: &Path) -> BTreeSet<String> {
    let listed = std::fs::read(MOUNTED).unwrap_or_else(|error| {
        tracing::debug!(%error, "{MOUNTED} cannot be read: mounted folders are not told from others");
        Vec::new()
    });
    below_of(&listed, folder)
}

fn below_of(listed: &[u8], folder: &Path) -> BTreeSet<String> {
    let inside = |place: PathBuf| {
        let path = place.strip_prefix(folder).ok()?;
        let path = path.to_string_lossy().into_owned();
        (!path.is_empty()).then_some(path)
    };
    places(listed).filter_map(inside).collect()
}

fn places(listed: &[u8]) -> impl Iterator<Item = PathBuf> {
    let lines = listed.split(|byte| *byte == b'\n');
    lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(PLACE).map(plain))
}

/// Blanks and the like are written as `\040`, three octal digits.
fn plain(escaped: &[u8]) -> PathBuf {
    let mut path = Vec::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some((first, after)) = rest.split_first() {
        let code = (*first == b'\\')
            .then(|| after.get(..3))
            .flatten()
            .and_then(|digits| {
                u8::from_str_radix(OsString::from_vec(digits.to_vec()).to_str()?, 8).ok()
            });
        match code {
            Some(byte) => {
                path.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                path.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(std::ffi::OsStr::from_bytes(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTED: &[u8] = b"22 1 254:0 / / rw - ext4 /dev/vda rw\n\
        40 22 0:40 / /srv/hb rw - nfs host:/a rw\n\
        41 40 0:41 / /srv/hb/with\\040blank rw shared:1 - nfs host:/b rw\n\
        42 40 0:42 / /srv/hb/radio/deep rw - tmpfs tmpfs rw\n\
        43 22 0:43 / /srv/hbx rw - tmpfs tmpfs rw\n";

    #[test]
    fn places_below_a_folder_are_told_and_no_others() {
        let found: Vec<String> = below_of(LISTED, Path::new("/srv/hb")).into_iter().collect();
        assert_eq!(found, ["radio/deep", "with blank"]);
        assert!(below_of(LISTED, Path::new("/srv/hbx")).is_empty());
        assert!(below_of(b"", Path::new("/")).is_empty());
    }

    #[test]
    fn the_system_tells_what_is_mounted() {
        assert!(below(Path::new("/")).contains("proc"));
    }
}
