//! Folders of confined processes: the server makes one for each process, whose rules cover that one
//! alone, and reaches what lies in it by the folder's handle. Nothing in such a folder is believed:
//! no link is followed, a name is one file of this folder, and a file is looked at after it was
//! opened.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use tempfile::TempDir;

/// Others than this user have no business in it.
const PRIVATE: u32 = 0o700;

/// A folder that goes with this value.
#[derive(Debug)]
pub struct WorkFolder {
    handle: OwnedFd,
    folder: TempDir,
}

/// Makes a folder for folders of processes, or one below it, whose name begins so.
pub(super) fn private_folder(parent: &Path, prefix: &str) -> io::Result<TempDir> {
    tempfile::Builder::new()
        .prefix(prefix)
        .permissions(PermissionsExt::from_mode(PRIVATE))
        .tempdir_in(parent)
}

impl WorkFolder {
    /// Makes one in a folder that no confined process can write to.
    pub fn new_in(parent: &Path, prefix: &str) -> io::Result<Self> {
        let folder = private_folder(parent, prefix)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = rustix::fs::open(folder.path(), flags, Mode::empty())?;
        Ok(Self { handle, folder })
    }

    /// Its path, for the process that it is made for.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Makes a file of it. An error if something of that name is there.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(
            &self.handle,
            one_name(name)?,
            flags,
            Mode::RUSR | Mode::WUSR,
        )?;
        File::from(file).write_all(bytes)
    }

    /// A file of it, at most one byte more than `maximum` of it; `None` if there is none of that
    /// name, or something else than a file.
    pub fn read(&self, name: &str, maximum: u64) -> io::Result<Option<Vec<u8>>> {
        let file = match open_beneath(&self.handle, one_name(name)?) {
            Ok(file) => File::from(file),
            // Not there, a link, a socket, another disk.
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO | Errno::XDEV) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if !file.metadata()?.is_file() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        file.take(maximum.saturating_add(1))
            .read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }
}

/// Opens for reading without following anything and without waiting for the other end of a pipe.
fn open_beneath(folder: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::ResolveFlags;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        match rustix::fs::openat2(folder, name, flags, Mode::empty(), resolve) {
            // Older than Linux 5.6, or a container that does not know the call: one name without
            // links is the same.
            Err(Errno::NOSYS | Errno::PERM) => {}
            opened => return opened,
        }
    }
    rustix::fs::openat(folder, name, flags, Mode::empty())
}

fn one_name(name: &str) -> io::Result<&str> {
    let is_one = !name.is_empty() && !name.contains('/') && name != "." && name != "..";
    is_one
        .then_some(name)
        .ok_or_else(|| io::Error::other(format!("`{name}` is no name of a file")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn only_files_of_the_folder_itself_are_read() {
        let parent = tempfile::tempdir().unwrap();
        std::fs::write(parent.path().join("secret"), "outside").unwrap();
        let folder = WorkFolder::new_in(parent.path(), "work-").unwrap();
        folder.write("a", b"inside").unwrap();
        assert_eq!(folder.read("a", 100).unwrap(), Some(b"inside".to_vec()));
        assert_eq!(
            folder.read("a", 2).unwrap(),
            Some(b"ins".to_vec()),
            "one more than wanted shows that it is too long"
        );
        symlink("../secret", folder.path().join("link")).unwrap();
        symlink("a", folder.path().join("near")).unwrap();
        std::fs::create_dir(folder.path().join("folder")).unwrap();
        let _listening = UnixListener::bind(folder.path().join("socket")).unwrap();
        rustix::fs::mkfifoat(
            rustix::fs::CWD,
            folder.path().join("pipe"),
            Mode::RUSR | Mode::WUSR,
        )
        .unwrap();
        for other in ["link", "near", "folder", "socket", "pipe", "nothing"] {
            assert_eq!(folder.read(other, 100).unwrap(), None, "{other}");
        }
        for outside in ["../secret", "/etc/passwd", "..", ".", "", "folder/x"] {
            assert!(folder.read(outside, 100).is_err(), "{outside}");
        }
    }

    #[test]
    fn what_is_there_is_not_written_to() {
        let parent = tempfile::tempdir().unwrap();
        let folder = WorkFolder::new_in(parent.path(), "work-").unwrap();
        let secret = parent.path().join("secret");
        std::fs::write(&secret, "outside").unwrap();
        symlink(&secret, folder.path().join("link")).unwrap();
        symlink(parent.path().join("new"), folder.path().join("dangling")).unwrap();
        folder.write("a", b"first").unwrap();
        for name in ["link", "dangling", "a", "../b"] {
            assert!(folder.write(name, b"second").is_err(), "{name}");
        }
        assert_eq!(std::fs::read(&secret).unwrap(), b"outside");
        assert!(!parent.path().join("new").exists() && !parent.path().join("b").exists());
        assert_eq!(
            std::fs::metadata(folder.path())
                .unwrap()
                .permissions()
                .mode()
                & 0o777,
            PRIVATE
        );
    }
}
