//! Documents that are fetched by their address, within limits of size, time and redirects.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use tributary_schemas::{Error, ErrorKind, limits};

/// How long an address may take from the first byte to the last.
const TIMEOUT: Duration = Duration::from_secs(120);
const MAXIMUM_REDIRECTS: u32 = 5;

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

impl Fetcher {
    /// Takes documents of at most so many bytes.
    pub fn new(maximum_bytes: u64) -> Self {
        let settings = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(MAXIMUM_REDIRECTS)
            .timeout_global(Some(TIMEOUT))
            .user_agent(concat!("tributary/", env!("CARGO_PKG_VERSION")));
        Self {
            agent: settings.build().into(),
            maximum_bytes,
        }
    }

    /// The document at an address. Anything but a success is a failure: a page that says "not
    /// found" is no document.
    pub fn fetch(&self, address: &str) -> Result<Fetched> {
        let mut response = self
            .agent
            .get(address)
            .call()
            .with_context(|| format!("cannot fetch {address}"))?;
        let status = response.status();
        if !status.is_success() {
            let message = format!("{address} answered {}", status.as_u16());
            return Err(Error::new(ErrorKind::NotFound, message).into());
        }
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
        Ok(Fetched { bytes, media_type })
    }
}

/// The addresses in a file, one a line, each once; blank lines and those that begin with `#` do not
/// count, nor does what follows a `#` in an address. `-` reads stdin.
pub fn read_list(file: &Path) -> Result<Vec<String>> {
    let text = if file == Path::new("-") {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(file)
    };
    let text = text.with_context(|| format!("cannot read {}", file.display()))?;
    parse_list(&text).with_context(|| format!("cannot use {}", file.display()))
}

fn parse_list(text: &str) -> Result<Vec<String>> {
    let mut seen = HashSet::new();
    let mut addresses = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let address = checked(line).map_err(|what| {
            let message = format!("line {}: {what}", number + 1);
            Error::new(ErrorKind::Invalid, message)
        })?;
        if seen.insert(address) {
            addresses.push(address.to_owned());
        }
    }
    Ok(addresses)
}

/// The address without its fragment, or what is wrong with it.
fn checked(line: &str) -> Result<&str, String> {
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
            "an address with a user or a password in it would be kept as the document's path"
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
        let text = "# ours\nhttps://x.y/a#part\n\n https://x.y/b?c=1 \nhttps://x.y/a\n";
        assert_eq!(
            parse_list(text).unwrap(),
            ["https://x.y/a", "https://x.y/b?c=1"]
        );
        for wrong in [
            "file:///etc/passwd",
            "x.y/a",
            "https://me:secret@x.y/",
            "http://",
            "ftp://x.y/a",
        ] {
            let error = parse_list(&format!("\n{wrong}\n")).unwrap_err();
            assert!(error.to_string().starts_with("line 2: "), "{error}");
            assert!(!error.to_string().contains("secret"), "{error}");
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
    fn redirects_end() {
        let address = serve(
            "HTTP/1.1 302 Found\r\nlocation: /again\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        );
        assert!(Fetcher::new(100).fetch(&address).is_err());
    }
}
