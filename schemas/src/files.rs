//! Reads files that somebody else may have put there, or named: settings, profiles, word lists,
//! keys, and what a verb of the command line is given.

use std::fs::{self, File};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// What a shell or a service manager hands over is meant to be read to its end, pipe or not.
const HANDED_OVER: &str = "/dev";

/// The content of a file. Where a pipe, a socket, a device or a folder lies in its place the error,
/// `InvalidInput`, says so: opening a pipe would wait for a writer, for ever, and with it whoever
/// asked. Paths below `/dev`, such as `/dev/stdin`, may be anything.
pub fn read(path: impl AsRef<Path>) -> Result<Vec<u8>> {
    check(path.as_ref())?;
    fs::read(path)
}

/// The same of a text; `InvalidData` where it is not UTF-8.
pub fn read_to_string(path: impl AsRef<Path>) -> Result<String> {
    check(path.as_ref())?;
    fs::read_to_string(path)
}

/// The same of a file that may be of any size, of which up to so many bytes are taken: `FileTooLarge`
/// where it goes on after them, as `/dev/zero` does.
pub fn read_at_most(path: impl AsRef<Path>, bytes: u64) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    let mut taken = open(path)?.take(bytes.saturating_add(1));
    taken.read_to_end(&mut content)?;
    if content.len() as u64 > bytes {
        let why = format!("it has more than {bytes} bytes");
        return Err(Error::new(ErrorKind::FileTooLarge, why));
    }
    Ok(content)
}

/// A file to read, whatever is in its place named as by [`read`].
pub fn open(path: impl AsRef<Path>) -> Result<File> {
    check(path.as_ref())?;
    File::open(path)
}

fn check(path: &Path) -> Result<()> {
    let found = fs::metadata(path)?.file_type();
    if found.is_file() || path.starts_with(HANDED_OVER) {
        return Ok(());
    }
    let what = match () {
        () if found.is_dir() => "a folder",
        () if found.is_fifo() => "a named pipe",
        () if found.is_socket() => "a socket",
        () => "a device",
    };
    Err(Error::new(
        ErrorKind::InvalidInput,
        format!("{what} is in its place, and a file is wanted"),
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use super::*;

    #[test]
    fn what_is_no_file_is_named_and_not_waited_for() {
        let folder = std::env::temp_dir().join(format!("tributary-files-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let place = |name: &str| folder.join(name);
        fs::write(place("file"), "载波").unwrap();
        let made = Command::new("mkfifo").arg(place("pipe")).status().unwrap();
        assert!(made.success());
        let _socket = UnixListener::bind(place("socket")).unwrap();
        let told = |name: &str| match read_to_string(place(name)) {
            Ok(text) => text,
            Err(error) => error.to_string(),
        };
        assert_eq!(told("file"), "载波");
        assert!(told("pipe").starts_with("a named pipe"));
        assert!(told("socket").starts_with("a socket"));
        assert!(told(".").starts_with("a folder"));
        let missing = read(place("missing")).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        assert_eq!(read("/dev/null").unwrap(), b"");
        assert_eq!(read_at_most(place("file"), 6).unwrap().len(), 6);
        for (name, bytes) in [(place("file"), 5), ("/dev/zero".into(), 1 << 20)] {
            let endless = read_at_most(name, bytes).unwrap_err();
            assert_eq!(endless.kind(), ErrorKind::FileTooLarge);
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
