//! A proxy that says who calls, in headers. It is believed by the address that it calls from, and
//! nobody else is: whatever others send in these headers is not looked at.

use std::net::IpAddr;
use std::sync::Arc;

use actix_web::http::header::{HeaderMap, HeaderName};
use ipnet::IpNet;
use tributary_schemas::{Error, ErrorKind, Result};
use tributary_store::keys::Holder;

use super::config::ProxyConfig;
use super::mapping::{Mapping, Said, is_name};
use crate::problem::{Code, Problem};

/// Longest name of a user.
const MAXIMUM_USER_BYTES: usize = 255;

/// The proxy.
pub struct Proxy {
    addresses: Vec<IpNet>,
    user: HeaderName,
    groups: Option<HeaderName>,
    roles: Option<HeaderName>,
    clearance: Option<HeaderName>,
    mapping: Arc<Mapping>,
}

impl Proxy {
    /// As the configuration says. `Invalid` for addresses and headers that are none, and where no
    /// address or header is named.
    pub fn new(config: &ProxyConfig, mapping: Arc<Mapping>) -> Result<Self> {
        let addresses = config.blocks()?;
        let missing = || {
            let what = "a trusted proxy needs its addresses and the header with the user";
            Error::new(ErrorKind::Invalid, what)
                .with_hint("see query_api.server.identity.proxy in `tributary config show`")
        };
        if addresses.is_empty() {
            return Err(missing());
        }
        Ok(Self {
            addresses,
            user: header(&config.user_header)?.ok_or_else(missing)?,
            groups: header(&config.groups_header)?,
            roles: header(&config.roles_header)?,
            clearance: header(&config.clearance_header)?,
            mapping,
        })
    }

    /// Whom the proxy names; nothing where the request is not the proxy's, or it names nobody.
    /// `unauthenticated` for headers that are there twice: one of them may be the caller's own.
    pub fn holder(
        &self,
        headers: &HeaderMap,
        peer: Option<IpAddr>,
    ) -> std::result::Result<Option<Holder>, Problem> {
        let is_proxy = |address: IpAddr| {
            let address = address.to_canonical();
            self.addresses.iter().any(|block| block.contains(&address))
        };
        if !peer.is_some_and(is_proxy) {
            return Ok(None);
        }
        let user = text(headers, Some(&self.user))?;
        if user.is_empty() {
            return Ok(None);
        }
        if !is_name(user, MAXIMUM_USER_BYTES) {
            return Err(unreadable(&self.user));
        }
        let said = Said {
            groups: list(headers, self.groups.as_ref())?,
            roles: list(headers, self.roles.as_ref())?,
            clearances: list(headers, self.clearance.as_ref())?,
            name: None,
        };
        let id = format!("proxy:{user}");
        let mark = *blake3::hash(id.as_bytes()).as_bytes();
        Ok(Some(self.mapping.holder(id, said, mark)))
    }
}

fn header(name: &str) -> Result<Option<HeaderName>> {
    if name.is_empty() {
        return Ok(None);
    }
    let parsed = HeaderName::try_from(name).map(Some);
    parsed.map_err(|_| {
        Error::new(
            ErrorKind::Invalid,
            format!("`{name}` is no name of a header"),
        )
    })
}

/// The value of a header, in UTF-8; empty where it is not there.
fn text<'a>(
    headers: &'a HeaderMap,
    name: Option<&HeaderName>,
) -> std::result::Result<&'a str, Problem> {
    let Some(name) = name else { return Ok("") };
    let mut found = headers.get_all(name);
    match (found.next(), found.next()) {
        (None, _) => Ok(""),
        (Some(value), None) => std::str::from_utf8(value.as_bytes())
            .map(str::trim)
            .map_err(|_| unreadable(name)),
        _ => Err(unreadable(name)),
    }
}

fn list(
    headers: &HeaderMap,
    name: Option<&HeaderName>,
) -> std::result::Result<Vec<String>, Problem> {
    let values = text(headers, name)?.split(',').map(str::trim);
    let values = values.filter(|value| !value.is_empty());
    Ok(values.map(str::to_owned).collect())
}

fn unreadable(name: &HeaderName) -> Problem {
    let what = format!("the proxy's header {name} is there twice, or cannot be read");
    Problem::new(Code::Unauthenticated, what)
        .with_hint("the proxy must replace what its callers send in this header")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;
    use crate::config::tests::server;

    fn proxy() -> Proxy {
        let mut config = server().identity;
        config.roles.insert("kb".into(), "reader".into());
        config.proxy.addresses = vec!["10.1.0.0/16".into(), "fd00::8".into()];
        config.proxy.user_header = "X-Forwarded-User".into();
        config.proxy.groups_header = "X-Forwarded-Groups".into();
        config.proxy.roles_header = "X-Forwarded-Groups".into();
        let mapping = Arc::new(Mapping::new(&config).unwrap());
        Proxy::new(&config.proxy, mapping).unwrap()
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
            headers.append(HeaderName::from_static(name), value);
        }
        headers
    }

    #[test]
    fn only_the_named_addresses_are_believed() {
        let said = headers(&[("x-forwarded-user", "alice"), ("x-forwarded-groups", "kb")]);
        let table = [
            ("10.1.2.3", true),
            ("::ffff:10.1.2.3", true),
            ("fd00::8", true),
            ("10.2.0.1", false),
            ("127.0.0.1", false),
            ("fd00::9", false),
        ];
        for (peer, is_believed) in table {
            let holder = proxy().holder(&said, peer.parse().ok()).unwrap();
            assert_eq!(holder.is_some(), is_believed, "{peer}");
        }
        assert_eq!(proxy().holder(&said, None).unwrap(), None);
    }

    #[test]
    fn users_and_groups_are_taken_and_what_is_doubtful_is_refused() {
        let peer = "10.1.2.3".parse().ok();
        let said = headers(&[
            ("x-forwarded-user", "张三"),
            ("x-forwarded-groups", "kb, 无线,"),
        ]);
        let holder = proxy().holder(&said, peer).unwrap().unwrap();
        assert_eq!(holder.id.as_deref(), Some("proxy:张三"));
        assert_eq!(holder.groups, ["kb", "无线"]);
        assert_eq!(holder.roles.len(), 1);
        for nobody in [headers(&[]), headers(&[("x-forwarded-user", " ")])] {
            assert_eq!(proxy().holder(&nobody, peer).unwrap(), None);
        }
        let twice = [("x-forwarded-user", "a"), ("x-forwarded-user", "b")];
        let groups = [
            ("x-forwarded-user", "a"),
            ("x-forwarded-groups", "kb"),
            ("x-forwarded-groups", "other"),
        ];
        for doubtful in [headers(&twice), headers(&groups)] {
            let problem = proxy().holder(&doubtful, peer).unwrap_err();
            assert_eq!(problem.code(), Code::Unauthenticated);
        }
    }
}
