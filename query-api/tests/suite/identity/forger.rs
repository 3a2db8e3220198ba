//! Makes tokens that must not be accepted, each with the code of its refusal.

use ring::hmac;
use serde_json::{Value, json};

use super::issuer::{ISSUER, SigningKey, claims, encoded, now};

const MALFORMED: &str = "token_malformed";
const ALGORITHM: &str = "token_algorithm_not_allowed";
const UNKNOWN_KEY: &str = "token_key_unknown";
const SIGNATURE: &str = "token_signature_invalid";
const ISSUED: &str = "token_issuer_wrong";
const AUDIENCE: &str = "token_audience_wrong";
const EXPIRED: &str = "token_expired";
const EARLY: &str = "token_not_yet_valid";

/// What it is, the token, and the code that it must be refused with.
pub struct Case {
    pub what: String,
    pub token: String,
    pub code: &'static str,
}

/// Makes the cases of one key.
pub struct Forger<'a> {
    key: &'a SigningKey,
    /// That of somebody else.
    stranger: SigningKey,
    cases: Vec<Case>,
}

fn edited(value: &Value, edits: Value) -> Value {
    let mut value = value.clone();
    for (name, edit) in edits.as_object().unwrap() {
        value[name] = edit.clone();
    }
    value
}

fn without(value: &Value, name: &str) -> Value {
    let mut value = value.clone();
    value.as_object_mut().unwrap().remove(name);
    value
}

fn parts(token: &str) -> [&str; 3] {
    token.split('.').collect::<Vec<_>>().try_into().unwrap()
}

impl<'a> Forger<'a> {
    pub fn new(key: &'a SigningKey) -> Self {
        let stranger = match key.algorithm {
            "RS256" => SigningKey::rsa(&key.id),
            "ES256" => SigningKey::p256(&key.id),
            _ => SigningKey::ed25519(&key.id),
        };
        let cases = Vec::new();
        Self {
            key,
            stranger,
            cases,
        }
    }

    fn add(&mut self, what: &str, token: String, code: &'static str) {
        let what = format!("{} {what}", self.key.algorithm);
        self.cases.push(Case { what, token, code });
    }

    /// Signed by the right key.
    fn signed(&mut self, header: &Value, claims: &Value, code: &'static str) {
        let token = self.key.token_of(&header.to_string(), &claims.to_string());
        self.add(&format!("{header} {claims}"), token, code);
    }

    pub fn all(mut self) -> Vec<Case> {
        self.algorithms();
        self.shared_secrets();
        self.changed_after_signing();
        self.keys_of_strangers();
        self.names_of_keys();
        self.times();
        self.audiences_and_issuers();
        self.claims_and_headers();
        self.shapes();
        self.cases
    }

    fn algorithms(&mut self) {
        let names = [
            "none", "None", "NONE", "nOnE", "", "HS256", "HS384", "HS512", "rs256", "RS1", "RS384",
            "PS256", "ES384", "ES256K", "ES512", "A128KW", "dir",
        ];
        for name in names {
            let header = edited(&self.key.header(), json!({"alg": name}));
            let token = self
                .key
                .token_of(&header.to_string(), &claims("alice").to_string());
            let [head, payload, _] = parts(&token);
            let unsigned = format!("{head}.{payload}.");
            self.add(
                &format!("alg {name:?} without a signature"),
                unsigned,
                ALGORITHM,
            );
            self.add(&format!("alg {name:?}"), token.clone(), ALGORITHM);
        }
        for other in ["RS256", "ES256", "EdDSA"] {
            if other != self.key.algorithm {
                let header = edited(&self.key.header(), json!({"alg": other}));
                self.signed(&header, &claims("alice"), ALGORITHM);
                self.signed(&without(&header, "kid"), &claims("alice"), SIGNATURE);
            }
        }
    }

    /// Signed with what everybody knows, as if it were a secret.
    fn shared_secrets(&mut self) {
        let kinds = [
            ("HS256", hmac::HMAC_SHA256),
            ("HS384", hmac::HMAC_SHA384),
            ("HS512", hmac::HMAC_SHA512),
        ];
        for (name, kind) in kinds {
            for public in &self.key.public {
                let header = edited(&self.key.header(), json!({"alg": name}));
                let (head, payload) = (
                    encoded(header.to_string()),
                    encoded(claims("alice").to_string()),
                );
                let signed = format!("{head}.{payload}");
                let tag = hmac::sign(&hmac::Key::new(kind, public), signed.as_bytes());
                let token = format!("{signed}.{}", encoded(tag));
                let what = format!("{name} with a public key of {} bytes", public.len());
                self.cases.push(Case {
                    what,
                    token,
                    code: ALGORITHM,
                });
            }
        }
    }

    fn changed_after_signing(&mut self) {
        let honest = self.key.token(&claims("alice"));
        let [head, payload, signature] = parts(&honest);
        let edits = [
            json!({"sub": "chief"}),
            json!({"roles": ["kb-admins"]}),
            json!({"groups": ["board"]}),
            json!({"clearance": 255}),
            json!({"exp": now() + 1_000_000}),
            json!({"aud": "other"}),
            json!({"iss": "https://evil.example.com"}),
        ];
        for edit in edits {
            let payload = encoded(edited(&claims("alice"), edit.clone()).to_string());
            self.add(
                &format!("payload {edit}"),
                format!("{head}.{payload}.{signature}"),
                SIGNATURE,
            );
        }
        for edit in [
            json!({"typ": "at+jwt"}),
            json!({"x": 1}),
            json!({"jku": "https://evil.example.com"}),
        ] {
            let head = encoded(edited(&self.key.header(), edit.clone()).to_string());
            self.add(
                &format!("header {edit}"),
                format!("{head}.{payload}.{signature}"),
                SIGNATURE,
            );
        }
        let bytes = self.key.sign(format!("{head}.{payload}").as_bytes());
        let mut broken: Vec<Vec<u8>> = [0, 7, 31, 32, bytes.len() - 1]
            .into_iter()
            .map(|place| {
                let mut bytes = bytes.clone();
                bytes[place] ^= 1;
                bytes
            })
            .collect();
        broken.push(vec![0; bytes.len()]);
        broken.push(vec![0xff; bytes.len()]);
        broken.push(bytes[1..].to_vec());
        broken.push([bytes.as_slice(), &[0]].concat());
        broken.push(Vec::new());
        for signature in broken {
            let token = format!("{head}.{payload}.{}", encoded(&signature));
            self.add(
                &format!("signature of {} bytes", signature.len()),
                token,
                SIGNATURE,
            );
        }
    }

    /// Keys that the token brings itself, or says where to find.
    fn keys_of_strangers(&mut self) {
        let own = self.stranger.jwk.clone();
        let brought = [
            json!({}),
            json!({"jwk": own}),
            json!({"jku": "https://evil.example.com/keys"}),
            json!({"x5u": "https://evil.example.com/chain.pem"}),
            json!({"x5c": [encoded(&self.stranger.public[0])]}),
        ];
        for edit in brought {
            let header = edited(&self.key.header(), edit);
            let foreign = edited(&header, json!({"kid": "stranger"}));
            for (header, code) in [(header, SIGNATURE), (foreign, UNKNOWN_KEY)] {
                let token = self
                    .stranger
                    .token_of(&header.to_string(), &claims("alice").to_string());
                self.add(&format!("of a stranger, {header}"), token, code);
            }
        }
        let header = without(&self.key.header(), "kid");
        let token = self
            .stranger
            .token_of(&header.to_string(), &claims("alice").to_string());
        self.add("of a stranger, without a key's name", token, SIGNATURE);
    }

    fn names_of_keys(&mut self) {
        let long = "k".repeat(8000);
        let upper = self.key.id.to_uppercase();
        let names = [
            "../../../../dev/null",
            "' OR '1'='1",
            "a\u{0}",
            "",
            " ",
            "file:///etc/passwd",
            "https://evil.example.com/keys",
            "${jndi:ldap://evil}",
            "; sleep 9",
            "*",
            &long,
            &upper,
        ];
        for name in names {
            self.signed(
                &edited(&self.key.header(), json!({"kid": name})),
                &claims("alice"),
                UNKNOWN_KEY,
            );
        }
        for name in [
            json!(7),
            json!(null),
            json!([self.key.id]),
            json!({"id": self.key.id}),
        ] {
            self.signed(
                &edited(&self.key.header(), json!({"kid": name})),
                &claims("alice"),
                MALFORMED,
            );
        }
    }

    fn times(&mut self) {
        let header = self.key.header();
        for over in [now() - 61, now() - 3600, now() - 100_000_000, 0, -5] {
            self.signed(
                &header,
                &edited(&claims("alice"), json!({"exp": over})),
                EXPIRED,
            );
        }
        for name in ["nbf", "iat"] {
            for begin in [now() + 120, now() + 3600, i64::MAX] {
                self.signed(
                    &header,
                    &edited(&claims("alice"), json!({name: begin})),
                    EARLY,
                );
            }
        }
        for odd in [
            json!("9999999999"),
            json!(null),
            json!([9_999_999_999_i64]),
            json!(true),
        ] {
            for name in ["exp", "nbf", "iat"] {
                self.signed(
                    &header,
                    &edited(&claims("alice"), json!({name: odd})),
                    MALFORMED,
                );
            }
        }
        self.signed(&header, &without(&claims("alice"), "exp"), MALFORMED);
    }

    fn audiences_and_issuers(&mut self) {
        let header = self.key.header();
        let audiences = [
            json!(""),
            json!([]),
            json!("other"),
            json!(["other", "more"]),
            json!("Tributary"),
            json!("tributary "),
            json!("tributary,other-name"),
            json!(7),
            json!(null),
            json!({"tributary": true}),
            json!([["tributary"]]),
            json!(true),
        ];
        for audience in audiences {
            self.signed(
                &header,
                &edited(&claims("alice"), json!({"aud": audience})),
                AUDIENCE,
            );
        }
        self.signed(&header, &without(&claims("alice"), "aud"), AUDIENCE);
        let issuers = [
            json!(""),
            json!("https://evil.example.com"),
            json!(format!("{ISSUER}/")),
            json!(ISSUER.to_uppercase()),
            json!([ISSUER]),
            json!(null),
            json!(ISSUER.replace("https", "http")),
            json!({"iss": ISSUER}),
        ];
        for issuer in issuers {
            self.signed(
                &header,
                &edited(&claims("alice"), json!({"iss": issuer})),
                ISSUED,
            );
        }
        self.signed(&header, &without(&claims("alice"), "iss"), ISSUED);
    }

    fn claims_and_headers(&mut self) {
        let header = self.key.header();
        let long = "s".repeat(256);
        for subject in [
            json!(""),
            json!(7),
            json!(null),
            json!(["alice"]),
            json!("a\nb"),
            json!(long),
        ] {
            self.signed(
                &header,
                &edited(&claims("alice"), json!({"sub": subject})),
                MALFORMED,
            );
        }
        self.signed(&header, &without(&claims("alice"), "sub"), MALFORMED);
        let extended = [
            json!({"crit": ["exp"]}),
            json!({"crit": []}),
            json!({"crit": ["b64"], "b64": false}),
            json!({"typ": "logout+jwt"}),
            json!({"typ": "dpop+jwt"}),
            json!({"typ": 7}),
            json!({"alg": null}),
            json!({"alg": ["none", self.key.algorithm]}),
        ];
        for edit in extended {
            self.signed(&edited(&header, edit), &claims("alice"), MALFORMED);
        }
        self.signed(&without(&header, "alg"), &claims("alice"), MALFORMED);
        let (header, claims) = (header.to_string(), claims("alice").to_string());
        let twice = |text: &str, more: &str| text.replacen('{', &format!("{{{more}, "), 1);
        let texts = [
            (twice(&header, "\"alg\": \"none\""), claims.clone()),
            (twice(&header, "\"kid\": \"other\""), claims.clone()),
            (header.clone(), twice(&claims, "\"sub\": \"chief\"")),
            (header.clone(), twice(&claims, "\"roles\": [\"kb-admins\"]")),
            (header.clone(), twice(&claims, "\"s\\u0075b\": \"chief\"")),
            (header.clone(), format!("{claims} {claims}")),
            (header.clone(), format!("[{claims}]")),
            (header.clone(), "alice".to_owned()),
            (header.clone(), String::new()),
            (format!("{header}{header}"), claims.clone()),
            (format!("[{header}]"), claims.clone()),
            (String::new(), claims),
        ];
        for (header, payload) in texts {
            let token = self.key.token_of(&header, &payload);
            self.add(&format!("{header} {payload}"), token, MALFORMED);
        }
    }

    fn shapes(&mut self) {
        let token = self.key.token(&claims("alice"));
        let [head, payload, signature] = parts(&token);
        let malformed = [
            format!("{token}.{signature}"),
            format!("{head}.{token}"),
            format!("{head}.{payload}.{payload}.{signature}"),
            format!("{token}.{token}"),
            format!("{token}."),
            format!(".{token}"),
            format!("{head}.{payload}"),
            format!("{head}.{signature}"),
            format!(".{payload}.{signature}"),
            format!("{token}="),
            format!("{head}=.{payload}.{signature}"),
            format!("{token}+/"),
            format!("{head}.{payload}.{signature} {signature}"),
            format!("{head}\t.{payload}.{signature}"),
            format!("{token},{token}"),
            "..".to_owned(),
            ".".to_owned(),
        ];
        for token in malformed {
            self.add("cut or doubled", token, MALFORMED);
        }
        self.add(
            "without a payload",
            format!("{head}..{signature}"),
            SIGNATURE,
        );
        self.add(
            "twice the header",
            format!("{head}.{head}.{signature}"),
            SIGNATURE,
        );
    }
}
