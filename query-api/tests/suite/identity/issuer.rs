//! An identity provider: real keys, made for each test, and a server that publishes them.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{
    self, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair as _, RsaEncoding,
};
use serde_json::{Value, json};

use super::rsa;

pub const AUDIENCE: &str = "tributary";
pub const ISSUER: &str = "https://id.example.com/realms/kb";

/// A key that signs.
pub struct SigningKey {
    pub algorithm: &'static str,
    pub id: String,
    /// As it is published.
    pub jwk: Value,
    /// What somebody might take for a shared secret.
    pub public: Vec<Vec<u8>>,
    pair: Pair,
}

enum Pair {
    Rsa(Box<ring::rsa::KeyPair>, &'static dyn RsaEncoding),
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

pub fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl SigningKey {
    pub fn rsa(id: &str) -> Self {
        Self::rsa_with("RS256", id, &signature::RSA_PKCS1_SHA256)
    }

    pub fn rsa_with(algorithm: &'static str, id: &str, encoding: &'static dyn RsaEncoding) -> Self {
        let (pair, n, e) = rsa::generate();
        let der = pair.public().as_ref().to_vec();
        let jwk = json!({"kty": "RSA", "kid": id, "use": "sig", "alg": algorithm, "n": encoded(&n), "e": encoded(e)});
        let pair = Pair::Rsa(Box::new(pair), encoding);
        Self::new(algorithm, id, jwk, vec![n, der], pair)
    }

    pub fn p256(id: &str) -> Self {
        Self::ecdsa(
            ("ES256", "P-256"),
            id,
            &signature::ECDSA_P256_SHA256_FIXED_SIGNING,
        )
    }

    pub fn p384(id: &str) -> Self {
        Self::ecdsa(
            ("ES384", "P-384"),
            id,
            &signature::ECDSA_P384_SHA384_FIXED_SIGNING,
        )
    }

    fn ecdsa(
        (algorithm, curve): (&'static str, &str),
        id: &str,
        kind: &'static EcdsaSigningAlgorithm,
    ) -> Self {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).unwrap();
        let point = pair.public_key().as_ref().to_vec();
        let (x, y) = point[1..].split_at(point.len() / 2);
        let jwk = json!({"kty": "EC", "crv": curve, "kid": id, "x": encoded(x), "y": encoded(y)});
        Self::new(algorithm, id, jwk, vec![point], Pair::Ecdsa(pair))
    }

    pub fn ed25519(id: &str) -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
        let point = pair.public_key().as_ref().to_vec();
        let jwk = json!({"kty": "OKP", "crv": "Ed25519", "kid": id, "x": encoded(&point)});
        Self::new("EdDSA", id, jwk, vec![point], Pair::Ed25519(pair))
    }

    fn new(algorithm: &'static str, id: &str, jwk: Value, raw: Vec<Vec<u8>>, pair: Pair) -> Self {
        let text = jwk.to_string().into_bytes();
        let pem = |bytes: &Vec<u8>| {
            let lines = base64::engine::general_purpose::STANDARD.encode(bytes);
            format!("-----BEGIN PUBLIC KEY-----\n{lines}\n-----END PUBLIC KEY-----\n").into_bytes()
        };
        let pems: Vec<Vec<u8>> = raw.iter().map(pem).collect();
        Self {
            algorithm,
            id: id.to_owned(),
            jwk,
            public: [raw, pems, vec![text]].concat(),
            pair,
        }
    }

    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Rsa(pair, encoding) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(*encoding, &random, message, &mut signature)
                    .unwrap();
                signature
            }
            Pair::Ecdsa(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Pair::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
        }
    }

    pub fn header(&self) -> Value {
        json!({"alg": self.algorithm, "typ": "JWT", "kid": self.id})
    }

    /// A token of header and payload as they are written.
    pub fn token_of(&self, header: &str, payload: &str) -> String {
        let signed = format!("{}.{}", encoded(header), encoded(payload));
        format!("{signed}.{}", encoded(self.sign(signed.as_bytes())))
    }

    pub fn token(&self, claims: &Value) -> String {
        self.token_of(&self.header().to_string(), &claims.to_string())
    }
}

/// Seconds since 1970.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_secs()).unwrap()
}

/// Claims of somebody who may read.
pub fn claims(subject: &str) -> Value {
    json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": subject, "iat": now() - 5, "exp": now() + 300,
        "roles": ["kb-readers"], "groups": ["radio", "无线"], "clearance": "机密",
    })
}

/// Publishes keys.
pub struct KeyServer {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    body: Mutex<Option<String>>,
    fetches: AtomicUsize,
}

impl KeyServer {
    pub fn start(keys: &[&SigningKey]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            shared: Arc::new(Shared {
                body: Mutex::default(),
                fetches: AtomicUsize::new(0),
            }),
        };
        server.publish(keys);
        let shared = Arc::clone(&server.shared);
        // Ends with the program of the tests.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), &shared);
            }
        });
        server
    }

    pub fn url(&self) -> String {
        format!("http://{}/keys", self.address)
    }

    pub fn publish(&self, keys: &[&SigningKey]) {
        let keys: Vec<&Value> = keys.iter().map(|key| &key.jwk).collect();
        *self.shared.body.lock().unwrap() = Some(json!({"keys": keys}).to_string());
    }

    /// Answers with errors from now on.
    pub fn fail(&self) {
        *self.shared.body.lock().unwrap() = None;
    }

    pub fn fetches(&self) -> usize {
        self.shared.fetches.load(Ordering::SeqCst)
    }
}

fn answer(mut stream: std::net::TcpStream, shared: &Shared) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
        head.push(byte[0]);
    }
    shared.fetches.fetch_add(1, Ordering::SeqCst);
    let body = shared.body.lock().unwrap().clone();
    let (status, body) = match body {
        Some(body) => ("200 OK", body),
        None => ("500 Internal Server Error", String::new()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    // Whoever asked may be gone.
    stream.write_all((head + &body).as_bytes()).ok();
}
