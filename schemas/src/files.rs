//! Reads files that somebody else may have put there: settings, profiles, word lists, keys.

use std::fs;
use std::io::{Error, ErrorKind, Result};
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
        fs::remove_dir_all(folder).unwrap();
    }
}
