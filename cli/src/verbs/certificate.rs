//! What `doctor` says of the server's certificate.

use jiff::Timestamp;
use tributary_query_api::tls::{Certificate, Lifetime};

use super::doctor::{Check, failed};
use crate::config::Config;

const NAME: &str = "certificate";

/// Until when it holds, where there is one; a warning where it ends soon.
pub(super) fn check(config: &Config) -> Option<Check> {
    let files = config.query_api.server.tls.files()?;
    let certificate = match Certificate::load(&files) {
        Ok(certificate) => certificate,
        Err(error) => return Some(failed(NAME, &error)),
    };
    let renew = || Some("renew it: the server takes new files by itself".to_owned());
    let until = certificate.until();
    let lifetime = certificate.lifetime(Timestamp::now().as_millisecond());
    let (ok, detail, hint) = match lifetime {
        Lifetime::Days(days) => (true, format!("holds for {days} days, until {until}"), None),
        Lifetime::Soon(days) => (true, format!("ends in {days} days, {until}"), renew()),
        Lifetime::Over => (false, format!("ended {until}; callers refuse it"), renew()),
        Lifetime::Later => {
            let hint = "look at the clock of this machine".to_owned();
            (
                false,
                "does not hold yet; callers refuse it".to_owned(),
                Some(hint),
            )
        }
    };
    Some(Check {
        name: NAME,
        ok,
        detail,
        hint,
    })
}
