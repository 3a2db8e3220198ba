//! The HTTP client for services that the configuration names: language models, steps of a team's
//! own, keys of an identity provider.

use std::time::Duration;

use reqwest::{Certificate, Client, Url};

/// Trusts what browsers trust and what this machine trusts, which may be a company's own. Proxies
/// of the environment hold for other machines only, and redirects are not followed. The error says
/// why there is no such client.
pub fn client(url: &Url, connect_timeout: Duration) -> std::result::Result<Client, String> {
    let mut builder = Client::builder()
        .connect_timeout(connect_timeout)
        .redirect(reqwest::redirect::Policy::none())
        .tcp_nodelay(true)
        .user_agent("tributary");
    if url.scheme() == "https" {
        for certificate in rustls_native_certs::load_native_certs().certs {
            if let Ok(certificate) = Certificate::from_der(&certificate) {
                builder = builder.add_root_certificate(certificate);
            }
        }
    }
    if is_this_machine(url) {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| innermost(&error))
}

/// Whether this machine itself is meant.
pub fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = |address: std::net::IpAddr| address.is_loopback();
    host == "localhost" || address.parse().is_ok_and(is_loopback)
}

/// The cause at the bottom: those above it repeat the address.
pub fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_needs_no_proxy() {
        let here = |url: &str| is_this_machine(&Url::parse(url).unwrap());
        assert!(here("http://127.0.0.1:1/") && here("http://[::1]/") && here("http://localhost/"));
        assert!(!here("https://api.example.com/"));
    }
}
