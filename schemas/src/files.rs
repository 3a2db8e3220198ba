//! Reads files that somebody else may have put there, or named: settings, profiles, word lists,
//! keys, and what a verb of the command line is given.

use std::fs::{self, File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// What a shell or a service manager hands over is meant to be read to its end, pipe or not.
const HANDED_OVER: &str = "/dev";

/// How many bytes are taken where nothing else is said, 256 MiB: settings, lists and keys have less,
/// `/dev/zero` and other files without end have more.
pub const MAXIMUM_BYTES: u64 = 256 << 20;

/// The content of a file of at most [`MAXIMUM_BYTES`]; a longer one is `FileTooLarge`. Where a pipe, a socket, a device or a folder lies in its place the error,
/// `InvalidInput`, says so: opening a pipe would wait for a writer, for ever, and with it whoever
/// asked. Paths below `/dev`, such as `/dev/stdin`, may be anything.
pub fn read(path: impl AsRef<Path>) -> Result<Vec<u8>> {
    read_at_most(path, MAXIMUM_BYTES)
}

/// The same of a text; `InvalidData` where it is not UTF-8.
pub fn read_to_string(path: impl AsRef<Path>) -> Result<String> {
    text_of(read(path)?)
}

/// The content of a file of data, which may be of any size. What is handed over below `/dev` need not
/// have an end, and is taken as by [`read`].
pub fn read_data(path: impl AsRef<Path>) -> Result<Vec<u8>> {
    let path = path.as_ref();
    if fs::metadata(path)?.is_file() {
        return fs::read(path);
    }
    read(path)
}

/// The same of a text; `InvalidData` where it is not UTF-8.
pub fn read_data_to_string(path: impl AsRef<Path>) -> Result<String> {
    text_of(read_data(path)?)
}

/// The content of a file of at most so many bytes: `FileTooLarge` where it goes on after them.
pub fn read_at_most(path: impl AsRef<Path>, bytes: u64) -> Result<Vec<u8>> {
    read_stream(open(path)?, bytes)
}

/// What comes out of a stream, such as stdin, until its end; `FileTooLarge` where it goes on after so
/// many bytes.
pub fn read_stream(stream: impl Read, bytes: u64) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    let mut taken = stream.take(bytes.saturating_add(1));
    taken.read_to_end(&mut content)?;
    if content.len() as u64 > bytes {
        let why = format!("it has more than {bytes} bytes");
        return Err(Error::new(ErrorKind::FileTooLarge, why));
    }
    Ok(content)
}

/// The text of a stream, within the limits of [`read_to_string`].
pub fn read_stream_to_string(stream: impl Read) -> Result<String> {
    text_of(read_stream(stream, MAXIMUM_BYTES)?)
}

/// A file to read, whatever is in its place named as by [`read`].
pub fn open(path: impl AsRef<Path>) -> Result<File> {
    check(path.as_ref())?;
    File::open(path)
}

/// Opens a file as the options say, whatever is in its place named as by [`read`]; it may be one that
/// they create.
pub fn open_with(options: &OpenOptions, path: impl AsRef<Path>) -> Result<File> {
    match check(path.as_ref()) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => options.open(path),
    }
}

fn text_of(content: Vec<u8>) -> Result<String> {
    String::from_utf8(content).map_err(|error| Error::new(ErrorKind::InvalidData, error))
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

    #[test]
    fn what_has_no_end_is_given_up() {
        for endless in [
            read("/dev/zero").unwrap_err(),
            read_data("/dev/zero").unwrap_err(),
            read_stream(std::io::repeat(0), 1 << 20).unwrap_err(),
        ] {
            assert_eq!(endless.kind(), ErrorKind::FileTooLarge);
        }
        assert_eq!(read_stream(&b"abc"[..], 3).unwrap(), b"abc");
    }

    #[test]
    fn a_file_that_is_added_to_may_be_new_and_is_no_pipe() {
        let folder = std::env::temp_dir().join(format!("tributary-added-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        open_with(&options, folder.join("new")).unwrap();
        let made = Command::new("mkfifo").arg(folder.join("pipe")).status();
        assert!(made.unwrap().success());
        for error in [
            open_with(&options, folder.join("pipe")).unwrap_err(),
            read_data(folder.join("pipe")).unwrap_err(),
        ] {
            assert!(error.to_string().starts_with("a named pipe"), "{error}");
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
