//! The API key that a verb shows to a server.

use std::str::FromStr;

use anyhow::{Context, Result, bail};
use ureq::http::HeaderValue;

use super::Global;

/// What a server is shown; not printed anywhere.
#[derive(Clone)]
pub struct Key(HeaderValue);

impl Key {
    /// The value of `Authorization`.
    pub fn bearer(&self) -> HeaderValue {
        self.0.clone()
    }
}

impl FromStr for Key {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        // The text itself is not told: it may be a key with something around it.
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            bail!(
                "this is no key\nhint: keys look like trb_0a1b2c3d4e5f_…, see `tributary keys create`"
            );
        }
        let mut value = HeaderValue::from_str(&format!("Bearer {text}"))?;
        value.set_sensitive(true);
        Ok(Self(value))
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Key(…)")
    }
}

impl Global {
    /// Takes the key of `--key-file`.
    pub fn read_key_file(&mut self) -> Result<()> {
        let Some(file) = &self.key_file else {
            return Ok(());
        };
        let text = tributary_schemas::files::read_to_string(file)
            .with_context(|| format!("cannot read the key file {}", file.display()))?;
        let key = text.parse();
        self.key = Some(key.with_context(|| format!("the key file {}", file.display()))?);
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_shown_when_something_else_is() {
        let key: Key = " trb_secret\n".parse().unwrap();
        assert_eq!(key.bearer().to_str().ok(), Some("Bearer trb_secret"));
        assert!(!format!("{key:?} {:?}", key.bearer()).contains("secret"));
        for wrong in ["", "two words", "密钥", "a\nb"] {
            let error = wrong.parse::<Key>().map(|_| ()).unwrap_err();
            assert!(wrong.is_empty() || !error.to_string().contains(wrong));
        }
    }
}
