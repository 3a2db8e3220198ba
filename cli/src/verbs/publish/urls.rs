//! Documents that are fetched by their address, within limits of size, time and redirects.

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tributary_schemas::{Error, ErrorKind, files, limits};

/// How long an address may take from the first byte to the last.
const TIMEOUT: Duration = Duration::from_secs(120);
const MAXIMUM_REDIRECTS: usize = 5;

/// Fetches documents.
pub struct Fetcher {
    agent: ureq::Agent,
    maximum_bytes: u64,
}

/// What was at an address.
#[derive(Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The document.
    pub bytes: Vec<u8>,
    /// What the server says that it is.
    pub media_type: Option<String>,
}

type Response = ureq::http::Response<ureq::Body>;

impl Fetcher {
    /// Takes documents of at most so many bytes.
    pub fn new(maximum_bytes: u64) -> Self {
        let settings = ureq::Agent::config_builder()
            .http_status_as_error(false)
            // They are followed here, where each address is checked before it is called.
            .max_redirects(0)
            .timeout_global(Some(TIMEOUT))
            .user_agent(concat!("tributary/", env!("CARGO_PKG_VERSION")));
        Self {
            agent: settings.build().into(),
            maximum_bytes,
        }
    }

    /// The document at an address. Anything but a whole document is a failure: a page that says
    /// "not found" is none, nor is a part of one or an empty answer.
    pub fn fetch(&self, address: &str) -> Result<Fetched> {
        let mut response = self.follow(address)?;
        check_status(address, response.status().as_u16())?;
        let media_type = response
            .headers()
            .get("content-type")
            .and_then(|value| value.to_str().ok())
            .filter(|value| value.len() <= limits::MEDIA_TYPE_BYTES)
            .map(str::to_owned);
        let bytes = response
            .body_mut()
            .with_config()
            // A body is cut off when it reaches the limit.
            .limit(self.maximum_bytes.saturating_add(1))
            .read_to_vec()
            .with_context(|| {
                let limit = self.maximum_bytes;
                format!("cannot fetch {address} (at most {limit} bytes are taken)")
            })?;
        if bytes.is_empty() {
            let message = format!("{address} answered without a body");
            return Err(Error::new(ErrorKind::Invalid, message)
                .with_hint("delete the document if it is meant to be gone")
                .into());
        }
        Ok(Fetched { bytes, media_type })
    }

    /// The answer at the end of all redirects.
    fn follow(&self, address: &str) -> Result<Response> {
        let started = Instant::now();
        let mut at = address.to_owned();
        for _ in 0..=MAXIMUM_REDIRECTS {
            let left = TIMEOUT.saturating_sub(started.elapsed());
            let response = self
                .agent
                .get(&at)
                .config()
                .timeout_global(Some(left))
                .build()
                .call()
                .with_context(|| format!("cannot fetch {at}"))?;
            let Some(location) = redirect(&response) else {
                return Ok(response);
            };
            let next = joined(&at, location.trim());
            at = checked(&next)
                .map_err(|what| refused_redirect(address, &what))?
                .to_owned();
        }
        let message = format!("{address} redirects more than {MAXIMUM_REDIRECTS} times");
        Err(Error::new(ErrorKind::Invalid, message).into())
    }
}

/// Where an answer leads to, if it leads anywhere.
fn redirect(response: &Response) -> Option<String> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = response.headers().get("location")?;
    Some(String::from_utf8_lossy(location.as_bytes()).into_owned())
}

fn refused_redirect(address: &str, what: &str) -> Error {
    let message = format!("{address} redirects where it is not followed: {what}");
    Error::new(ErrorKind::Denied, message)
        .with_hint("put the address of the document into the list")
}

/// The address that a reference means in an answer from another one (RFC 3986, 5.2; servers
/// resolve dots in paths themselves).
fn joined(base: &str, reference: &str) -> String {
    let has_scheme = reference
        .split_once(':')
        .is_some_and(|(scheme, _)| !scheme.contains(['/', '?', '#']));
    if has_scheme {
        return reference.to_owned();
    }
    let (scheme, rest) = base.split_once("://").unwrap_or(("http", base));
    if reference.starts_with("//") {
        return format!("{scheme}:{reference}");
    }
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    if reference.starts_with('/') {
        return format!("{scheme}://{authority}{reference}");
    }
    let path = rest.split('?').next().unwrap_or_default();
    if reference.is_empty() || reference.starts_with(['?', '#']) {
        return format!("{scheme}://{path}{reference}");
    }
    let folder = path.rsplit_once('/').map_or(path, |(folder, _)| folder);
    format!("{scheme}://{folder}/{reference}")
}

fn check_status(address: &str, status: u16) -> Result<(), Error> {
    let (kind, what) = match status {
        200 | 203 => return Ok(()),
        204 | 205 => (ErrorKind::Invalid, ", which is no document"),
        206 => (ErrorKind::Corrupt, ", which is a part of a document"),
        300..400 => (
            ErrorKind::Invalid,
            " and does not say where the document is",
        ),
        _ => (ErrorKind::NotFound, ""),
    };
    Err(Error::new(
        kind,
        format!("{address} answered {status}{what}"),
    ))
}

/// What a list of addresses has.
#[derive(Debug, Default)]
pub struct List {
    /// Addresses, each once.
    pub addresses: Vec<String>,
    /// Numbers of lines that have none, and what is wrong with each.
    pub wrong: Vec<(usize, String)>,
}

/// The addresses in a file, one a line; blank lines and those that begin with `#` do not count, nor
/// does what follows a `#` in an address. `-` reads stdin.
pub fn read_list(file: &Path) -> Result<List> {
    let bytes = if file == Path::new("-") {
        files::read_stream(std::io::stdin(), files::MAXIMUM_BYTES)
    } else {
        files::read(file)
    };
    let bytes = bytes.with_context(|| format!("cannot read {}", file.display()))?;
    // One line of other bytes spoils no other: `checked` refuses what stands in for them.
    let text = String::from_utf8_lossy(&bytes);
    Ok(parse_list(&text))
}

fn parse_list(text: &str) -> List {
    let mut seen = HashSet::new();
    let mut list = List::default();
    let text = text.trim_start_matches('\u{feff}');
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match checked(line) {
            Ok(address) if seen.insert(address) => list.addresses.push(address.to_owned()),
            Ok(_) => {}
            Err(what) => list.wrong.push((number + 1, what)),
        }
    }
    list
}

/// The address without its fragment, or what is wrong with it.
fn checked(line: &str) -> Result<&str, String> {
    if line.contains(char::REPLACEMENT_CHARACTER) {
        return Err(format!("`{line}` is not UTF-8"));
    }
    let address = line.split('#').next().unwrap_or_default();
    let uri: ureq::http::Uri = address
        .parse()
        .map_err(|error| format!("`{line}` is no address: {error}"))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none() {
        return Err(format!(
            "`{line}` does not begin with http:// or https:// and a host"
        ));
    }
    let authority = uri.authority().map(|authority| authority.as_str());
    if authority.is_some_and(|authority| authority.contains('@')) {
        return Err(
            "an address with a user or a password in it is not taken: it would be kept as the \
             document's path, or sent to another host"
                .to_owned(),
        );
    }
    Ok(address)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    /// Gives each caller the same answer.
    fn serve(answer: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut head = [0; 1024];
                let read = stream.read(&mut head).unwrap();
                assert!(read > 0);
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        address
    }

    #[test]
    fn a_list_names_each_address_once() {
        let text = "\u{feff}https://x.y/a\n# ours\nhttps://x.y/a#part\n\n https://x.y/b?c=1 \nhttps://x.y/a\n";
        let list = parse_list(text);
        assert_eq!(list.addresses, ["https://x.y/a", "https://x.y/b?c=1"]);
        assert_eq!(list.wrong, []);
        for wrong in [
            "file:///etc/passwd",
            "x.y/a",
            "https://me:secret@x.y/",
            "http://",
            "ftp://x.y/a",
            "https://x.y/\u{fffd}.html",
        ] {
            let list = parse_list(&format!("\n{wrong}\nhttps://x.y/a\n"));
            assert_eq!(list.addresses, ["https://x.y/a"]);
            let [(2, what)] = &list.wrong[..] else {
                panic!("{list:?}");
            };
            assert!(!what.contains("secret"), "{what}");
        }
    }

    #[test]
    fn a_document_is_fetched_with_what_it_is() {
        let address = serve(
            "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=gbk\r\ncontent-length: 4\r\nconnection: close\r\n\r\n<p>x",
        );
        let fetched = Fetcher::new(4).fetch(&address).unwrap();
        assert_eq!(
            fetched,
            Fetched {
                bytes: b"<p>x".to_vec(),
                media_type: Some("text/html; charset=gbk".to_owned())
            }
        );
        let error = Fetcher::new(3).fetch(&address).unwrap_err();
        assert!(error.to_string().contains("at most 3 bytes"), "{error}");
    }

    #[test]
    fn a_page_that_says_not_found_is_no_document() {
        let address =
            serve("HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\nconnection: close\r\n\r\ngone");
        let error = Fetcher::new(100).fetch(&address).unwrap_err();
        assert!(error.to_string().ends_with("answered 404"), "{error}");
    }

    #[test]
    fn no_part_of_a_document_and_no_empty_answer_is_one() {
        let table = [
            (
                "206 Partial Content\r\ncontent-range: bytes 0-3/9\r\ncontent-length: 4\r\n\r\npart",
                "answered 206, which is a part",
            ),
            (
                "204 No Content\r\n\r\n",
                "answered 204, which is no document",
            ),
            (
                "200 OK\r\ncontent-length: 0\r\n\r\n",
                "answered without a body",
            ),
            (
                "304 Not Modified\r\n\r\n",
                "answered 304 and does not say where",
            ),
        ];
        for (answer, reason) in table {
            let address = serve(format!("HTTP/1.1 {answer}").leak());
            let error = Fetcher::new(100).fetch(&address).unwrap_err();
            assert!(error.to_string().contains(reason), "{error}");
        }
    }

    #[test]
    fn a_redirect_is_followed_to_where_it_leads() {
        let document =
            serve("HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nhere");
        let answer = format!(
            "HTTP/1.1 301 Moved\r\nlocation: {document}/x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        let address = serve(answer.leak());
        assert_eq!(Fetcher::new(100).fetch(&address).unwrap().bytes, b"here");
        let table = [
            ("https://c.d/e", "https://c.d/e"),
            ("//c.d/e", "http://c.d/e"),
            ("/e?f", "http://a.b/e?f"),
            ("e:f/g", "e:f/g"),
            ("e", "http://a.b/x/e"),
            ("?e", "http://a.b/x/y?e"),
        ];
        for (reference, expected) in table {
            assert_eq!(joined("http://a.b/x/y?z=/", reference), expected);
        }
        assert_eq!(joined("http://a.b", "e"), "http://a.b/e");
        assert_eq!(joined("http://a.b?x", "e"), "http://a.b/e");
    }

    #[test]
    fn a_redirect_with_a_password_is_not_followed() {
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        other.set_nonblocking(true).unwrap();
        let host = other.local_addr().unwrap();
        for location in [
            format!("http://me:secret@{host}/"),
            "file:///etc/passwd".into(),
        ] {
            let answer = format!(
                "HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
            let error = Fetcher::new(100).fetch(&serve(answer.leak())).unwrap_err();
            let text = error.to_string();
            assert!(
                text.contains("redirects where it is not followed"),
                "{text}"
            );
            assert!(!text.contains("secret"), "{text}");
        }
        assert!(other.accept().is_err(), "the other host was called");
    }

    #[test]
    fn redirects_end() {
        let address = serve(
            "HTTP/1.1 302 Found\r\nlocation: /again\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        );
        let error = Fetcher::new(100).fetch(&address).unwrap_err();
        assert!(error.to_string().contains("more than 5 times"), "{error}");
    }
}
