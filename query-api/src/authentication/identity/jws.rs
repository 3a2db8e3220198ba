//! Signed tokens in their compact form (RFC 7515, section 7.1) and the algorithms that may sign
//! them (RFC 7518, RFC 8037, RFC 9864): asymmetric ones only, so that whoever can check a token cannot make
//! one. Of the header, only `alg`, `kid`, `typ` and `crit` are looked at: keys and addresses of keys
//! that a token brings itself are nothing to go by.

use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};
use serde_json::{Map, Value};
use tributary_schemas::{Error, ErrorKind};

use super::refusal::TokenRefusal;
use super::strict_json;

/// More than any token that fits into a header.
const MAXIMUM_TOKEN_BYTES: usize = 64 << 10;
/// What `typ` may say (RFC 7519, section 5.1; RFC 9068, section 2.1): tokens for other uses are no
/// access.
const TYPES: [&str; 4] = ["jwt", "at+jwt", "application/jwt", "application/at+jwt"];

/// How a token is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// RSASSA-PKCS1-v1_5 with SHA-384.
    Rs384,
    /// RSASSA-PKCS1-v1_5 with SHA-512.
    Rs512,
    /// RSASSA-PSS with SHA-256.
    Ps256,
    /// RSASSA-PSS with SHA-384.
    Ps384,
    /// RSASSA-PSS with SHA-512.
    Ps512,
    /// ECDSA over P-256 with SHA-256.
    Es256,
    /// ECDSA over P-384 with SHA-384.
    Es384,
    /// Ed25519.
    EdDsa,
}

const NAMES: [(&str, Algorithm); 10] = [
    ("RS256", Algorithm::Rs256),
    ("RS384", Algorithm::Rs384),
    ("RS512", Algorithm::Rs512),
    ("PS256", Algorithm::Ps256),
    ("PS384", Algorithm::Ps384),
    ("PS512", Algorithm::Ps512),
    ("ES256", Algorithm::Es256),
    ("ES384", Algorithm::Es384),
    ("EdDSA", Algorithm::EdDsa),
    // Its newer name (RFC 9864).
    ("Ed25519", Algorithm::EdDsa),
];

impl FromStr for Algorithm {
    type Err = Error;

    /// `Invalid` for what is not asymmetric, and for what is not known.
    fn from_str(text: &str) -> Result<Self, Error> {
        let found = NAMES.iter().find(|(name, _)| *name == text);
        found.map(|(_, algorithm)| *algorithm).ok_or_else(|| {
            let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
            let what = match text {
                "none" => "`none` signs nothing",
                _ if text.starts_with("HS") => "whoever checks it could sign, too",
                _ => "it is not known",
            };
            let what = format!(
                "`{text}` is not accepted: {what}; there are {}",
                names.join(", ")
            );
            Error::new(ErrorKind::Invalid, what)
        })
    }
}

impl Algorithm {
    fn rsa(self) -> Option<&'static RsaParameters> {
        Some(match self {
            Self::Rs256 => &signature::RSA_PKCS1_2048_8192_SHA256,
            Self::Rs384 => &signature::RSA_PKCS1_2048_8192_SHA384,
            Self::Rs512 => &signature::RSA_PKCS1_2048_8192_SHA512,
            Self::Ps256 => &signature::RSA_PSS_2048_8192_SHA256,
            Self::Ps384 => &signature::RSA_PSS_2048_8192_SHA384,
            Self::Ps512 => &signature::RSA_PSS_2048_8192_SHA512,
            Self::Es256 | Self::Es384 | Self::EdDsa => return None,
        })
    }

    fn curve(self) -> Option<&'static dyn VerificationAlgorithm> {
        Some(match self {
            Self::Es256 => &signature::ECDSA_P256_SHA256_FIXED,
            Self::Es384 => &signature::ECDSA_P384_SHA384_FIXED,
            Self::EdDsa => &signature::ED25519,
            _ => return None,
        })
    }
}

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublicKey {
    /// Modulus and exponent, big-endian.
    Rsa {
        /// Modulus.
        n: Vec<u8>,
        /// Exponent.
        e: Vec<u8>,
    },
    /// A point of P-256, P-384 (both uncompressed) or Ed25519.
    Point {
        /// The algorithm of its curve.
        algorithm: Algorithm,
        /// As ring reads it.
        bytes: Vec<u8>,
    },
}

impl PublicKey {
    /// Whether it can have signed so.
    pub fn fits(&self, algorithm: Algorithm) -> bool {
        match self {
            Self::Rsa { .. } => algorithm.rsa().is_some(),
            Self::Point { algorithm: own, .. } => *own == algorithm,
        }
    }

    /// Whether it has signed this message so.
    pub fn has_signed(&self, token: &Token<'_>) -> bool {
        let (message, signature) = (token.signed.as_bytes(), &token.signature);
        match (self, token.algorithm.rsa(), token.algorithm.curve()) {
            (Self::Rsa { n, e }, Some(parameters), _) => {
                let key = RsaPublicKeyComponents { n, e };
                key.verify(parameters, message, signature).is_ok()
            }
            (Self::Point { bytes, .. }, _, Some(curve)) if self.fits(token.algorithm) => {
                let key = UnparsedPublicKey::new(curve, bytes);
                key.verify(message, signature).is_ok()
            }
            _ => false,
        }
    }
}

/// A token that can be read; nobody has looked yet who signed it.
#[derive(Debug)]
pub struct Token<'a> {
    /// How it says to be signed; one that is allowed.
    pub algorithm: Algorithm,
    /// Name of the key.
    pub key_id: Option<String>,
    /// Header and payload as they were signed.
    signed: &'a str,
    payload: &'a str,
    signature: Vec<u8>,
}

impl<'a> Token<'a> {
    /// Reads the header. Three parts, no more, each in base64url without padding or stray bits.
    pub fn parse(text: &'a str, allowed: &[Algorithm]) -> Result<Self, TokenRefusal> {
        if text.len() > MAXIMUM_TOKEN_BYTES {
            return Err(TokenRefusal::Malformed);
        }
        let parts = text.rsplit_once('.').and_then(|(signed, signature)| {
            let (header, payload) = signed.split_once('.')?;
            (!payload.contains('.')).then_some((signed, header, payload, signature))
        });
        let (signed, header, payload, signature) = parts.ok_or(TokenRefusal::Malformed)?;
        let header = decoded_object(header).ok_or(TokenRefusal::Malformed)?;
        let signature = decoded(signature).ok_or(TokenRefusal::Malformed)?;
        let text_of = |name: &str| header.get(name).and_then(Value::as_str);
        let algorithm = text_of("alg").ok_or(TokenRefusal::Malformed)?;
        let algorithm = algorithm.parse().map_err(|_| TokenRefusal::Algorithm)?;
        if !allowed.contains(&algorithm) {
            return Err(TokenRefusal::Algorithm);
        }
        let is_typed = |typ: &Value| {
            let typ = typ.as_str().map(str::to_ascii_lowercase);
            typ.is_some_and(|typ| TYPES.contains(&typ.as_str()))
        };
        // Extensions that must be understood: there are none here (RFC 7515, section 4.1.11).
        if header.contains_key("crit") || !header.get("typ").is_none_or(is_typed) {
            return Err(TokenRefusal::Malformed);
        }
        let key_id = match header.get("kid") {
            None => None,
            Some(Value::String(id)) => Some(id.clone()),
            Some(_) => return Err(TokenRefusal::Malformed),
        };
        Ok(Self {
            algorithm,
            key_id,
            signed,
            payload,
            signature,
        })
    }

    /// What it says; to be believed once a key has signed it.
    pub fn claims(&self) -> Result<Map<String, Value>, TokenRefusal> {
        decoded_object(self.payload).ok_or(TokenRefusal::Malformed)
    }
}

/// Bytes of base64url without padding.
pub fn decoded(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

fn decoded_object(text: &str) -> Option<Map<String, Value>> {
    strict_json::object(&decoded(text)?)
}
