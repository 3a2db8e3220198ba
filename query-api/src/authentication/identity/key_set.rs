//! A JSON Web Key Set (RFC 7517): the public keys of an issuer. Keys that cannot check a signature
//! here are left out, as the standard wants it.

use serde_json::{Map, Value};
use tributary_schemas::{Error, ErrorKind, Result};

use super::jws::{Algorithm, PublicKey, decoded};
use super::strict_json;

/// More than an issuer has.
const MAXIMUM_KEYS: usize = 256;
/// Shorter ones can be broken.
const MINIMUM_RSA_BYTES: usize = 256;

/// One key of the set.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NamedKey {
    id: Option<String>,
    /// The only way in which it signs, where it says so.
    algorithm: Option<Algorithm>,
    key: PublicKey,
}

impl NamedKey {
    fn fits(&self, algorithm: Algorithm) -> bool {
        self.key.fits(algorithm) && self.algorithm.is_none_or(|own| own == algorithm)
    }
}

/// All keys of an issuer at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeySet(Vec<NamedKey>);

/// What a set has of the key that a token names.
#[derive(Debug, PartialEq, Eq)]
pub enum Lookup<'a> {
    /// The keys of that name; more than one where the issuer was careless.
    Found(Vec<&'a PublicKey>),
    /// There is one, which does not sign so.
    Unfit,
    /// There is none.
    Unknown,
}

impl KeySet {
    /// Reads a set. `Corrupt` for what is none, and for one without any key that can be used.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let corrupt = |what: &str| Error::new(ErrorKind::Corrupt, what);
        let set = strict_json::object(bytes).ok_or_else(|| corrupt("is no JSON object"))?;
        let keys = set.get("keys").and_then(Value::as_array);
        let keys = keys.ok_or_else(|| corrupt("has no list `keys`"))?;
        if keys.len() > MAXIMUM_KEYS {
            return Err(corrupt("has more than 256 keys"));
        }
        let keys: Vec<NamedKey> = keys.iter().filter_map(named_key).collect();
        match keys.is_empty() {
            true => Err(corrupt(
                "has no key that signs (RSA from 2048 bits, P-256, P-384 or Ed25519)",
            )),
            false => Ok(Self(keys)),
        }
    }

    /// How many keys can be used.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The keys with which a token may be signed. One that names none means the only one that fits
    /// (OpenID Connect Core, section 10.1).
    pub fn look_up(&self, id: Option<&str>, algorithm: Algorithm) -> Lookup<'_> {
        let fitting = |key: &&NamedKey| key.fits(algorithm);
        let named: Vec<&NamedKey> = match id {
            Some(id) => self
                .0
                .iter()
                .filter(|key| key.id.as_deref() == Some(id))
                .collect(),
            None => match self.0.iter().filter(fitting).collect::<Vec<_>>().as_slice() {
                [only] => vec![only],
                _ => Vec::new(),
            },
        };
        if named.is_empty() {
            return Lookup::Unknown;
        }
        let keys: Vec<&PublicKey> = named
            .into_iter()
            .filter(fitting)
            .map(|key| &key.key)
            .collect();
        match keys.is_empty() {
            true => Lookup::Unfit,
            false => Lookup::Found(keys),
        }
    }
}

/// A key that can be used, or nothing.
fn named_key(value: &Value) -> Option<NamedKey> {
    let object = value.as_object()?;
    let text = |name: &str| object.get(name).and_then(Value::as_str);
    if text("use").is_some_and(|used| used != "sig") {
        return None;
    }
    let operations = object.get("key_ops").and_then(Value::as_array);
    if operations.is_some_and(|all| !all.iter().any(|one| one == "verify")) {
        return None;
    }
    // One that signs in a way that is not known here.
    let algorithm = match text("alg") {
        Some(name) => Some(name.parse().ok()?),
        None => None,
    };
    Some(NamedKey {
        id: text("kid").map(str::to_owned),
        algorithm,
        key: public_key(object)?,
    })
}

fn public_key(object: &Map<String, Value>) -> Option<PublicKey> {
    let bytes = |name: &str| object.get(name).and_then(Value::as_str).and_then(decoded);
    let kind = object.get("kty")?.as_str()?;
    let curve = object.get("crv").and_then(Value::as_str);
    let point = |algorithm: Algorithm, length: usize| {
        let (x, y) = (bytes("x")?, bytes("y")?);
        let bytes = [&[4], x.as_slice(), y.as_slice()].concat();
        (x.len() == length && y.len() == length).then_some(PublicKey::Point { algorithm, bytes })
    };
    match (kind, curve) {
        ("RSA", _) => {
            let (n, e) = (without_zeros(bytes("n")?), without_zeros(bytes("e")?));
            (n.len() >= MINIMUM_RSA_BYTES).then_some(PublicKey::Rsa { n, e })
        }
        ("EC", Some("P-256")) => point(Algorithm::Es256, 32),
        ("EC", Some("P-384")) => point(Algorithm::Es384, 48),
        ("OKP", Some("Ed25519")) => {
            let bytes = bytes("x")?;
            let algorithm = Algorithm::EdDsa;
            (bytes.len() == 32).then_some(PublicKey::Point { algorithm, bytes })
        }
        _ => None,
    }
}

/// Some issuers write a sign byte, which is no part of the number.
fn without_zeros(bytes: Vec<u8>) -> Vec<u8> {
    bytes.into_iter().skip_while(|byte| *byte == 0).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn okp(id: &str) -> Value {
        json!({"kty": "OKP", "crv": "Ed25519", "kid": id, "x": "A".repeat(43)})
    }

    fn parse(keys: &[Value]) -> Result<KeySet> {
        KeySet::parse(json!({"keys": keys}).to_string().as_bytes())
    }

    #[test]
    fn what_cannot_check_a_signature_is_left_out() {
        let with = |name: &str, value: Value| {
            let mut key = okp("x");
            key[name] = value;
            key
        };
        let useless = [
            with("use", json!("enc")),
            with("key_ops", json!(["sign"])),
            with("alg", json!("HS256")),
            with("alg", json!("ECDH-ES")),
            with("kty", json!("oct")),
            with("crv", json!("X25519")),
            with("x", json!("AAAA")),
            with("x", json!(7)),
            json!({"kty": "oct", "k": "AAAA", "kid": "x"}),
            json!({"kty": "RSA", "n": "A".repeat(170), "e": "AQAB"}),
            json!({"kty": "EC", "crv": "P-256", "x": "A".repeat(43)}),
            json!("key"),
        ];
        for key in &useless {
            assert_eq!(parse(&[okp("a"), key.clone()]).unwrap().count(), 1, "{key}");
        }
        for bytes in [
            "",
            "[]",
            "{}",
            r#"{"keys": {}}"#,
            r#"{"keys": []}"#,
            r#"{"keys": [], "keys": []}"#,
        ] {
            assert!(KeySet::parse(bytes.as_bytes()).is_err(), "{bytes}");
        }
        assert!(parse(&vec![okp("a"); 257]).is_err());
    }

    #[test]
    fn a_token_without_a_name_of_its_key_means_the_only_one() {
        let one = parse(&[okp("a")]).unwrap();
        assert!(
            matches!(one.look_up(None, Algorithm::EdDsa), Lookup::Found(keys) if keys.len() == 1)
        );
        assert_eq!(one.look_up(None, Algorithm::Rs256), Lookup::Unknown);
        assert_eq!(one.look_up(Some("a"), Algorithm::Rs256), Lookup::Unfit);
        assert_eq!(one.look_up(Some("A"), Algorithm::EdDsa), Lookup::Unknown);
        let two = parse(&[okp("a"), okp("b")]).unwrap();
        assert_eq!(two.look_up(None, Algorithm::EdDsa), Lookup::Unknown);
    }
}
