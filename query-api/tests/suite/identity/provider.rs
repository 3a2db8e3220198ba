//! An identity provider that people sign in with, which looks at what it is sent.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest;
use serde_json::{Value, json};
use tributary_query_api::config::ServerConfig;

use super::accepting_tokens;
use super::issuer::{SigningKey, claims, encoded};

pub const CLIENT: &str = "tributary page";
pub const PAGE: &str = "http://127.0.0.1:1/kb/";
const SECRET: &str = "s3cr:t/密";

/// What the provider gives for a code.
struct Code {
    challenge: String,
    id_token: Option<String>,
}

/// A provider with one key, and the codes that it gave.
pub struct Provider {
    address: SocketAddr,
    pub key: SigningKey,
    codes: Arc<Mutex<BTreeMap<String, Code>>>,
}

impl Provider {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let key = SigningKey::p256("page");
        let keys = json!({"keys": [key.jwk]}).to_string();
        let codes = Arc::<Mutex<BTreeMap<String, Code>>>::default();
        let kept = Arc::clone(&codes);
        // Ends with the program of the tests.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let (status, body) = replied(&read(&mut stream), address, &keys, &kept);
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {status} X\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
                );
                // Whoever asked may be gone.
                stream.write_all((head + &body).as_bytes()).ok();
            }
        });
        Self {
            address,
            key,
            codes,
        }
    }

    pub fn issuer(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn config(&self, folder: &tempfile::TempDir) -> ServerConfig {
        let secret = folder.path().join("secret");
        std::fs::write(&secret, format!("{SECRET}\n")).unwrap();
        let mut config = accepting_tokens(format!("{}/keys", self.issuer()));
        config.identity.tokens.issuer = self.issuer();
        config.identity.login.client_id = CLIENT.to_owned();
        config.identity.login.client_secret_file = secret.display().to_string();
        config.identity.login.page_url = PAGE.trim_end_matches('/').to_owned();
        config
    }

    /// Somebody signs in: the code, for a token with these changes.
    pub fn sign_in(&self, asked: &BTreeMap<String, String>, edits: Value) -> String {
        let mut claims = claims("alice");
        claims["iss"] = json!(self.issuer());
        claims["aud"] = json!(CLIENT);
        claims["nonce"] = json!(asked["nonce"]);
        for (name, edit) in edits.as_object().unwrap() {
            claims[name] = edit.clone();
        }
        self.give(asked, Some(self.key.token(&claims)))
    }

    pub fn give(&self, asked: &BTreeMap<String, String>, id_token: Option<String>) -> String {
        let mut codes = self.codes.lock().unwrap();
        let code = format!("code-{}", codes.len());
        let challenge = asked["code_challenge"].clone();
        codes.insert(
            code.clone(),
            Code {
                challenge,
                id_token,
            },
        );
        code
    }
}

/// Head and body of a request.
fn read(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let mut byte = [0];
    let mut wanted = None;
    while wanted.is_none_or(|wanted| text.len() < wanted)
        && stream.read(&mut byte).is_ok_and(|read| read == 1)
    {
        text.push(byte[0]);
        if wanted.is_none() && text.ends_with(b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&text).to_lowercase();
            let length = head.split("content-length: ").nth(1);
            let length = length.and_then(|rest| rest.split("\r\n").next()?.parse().ok());
            wanted = Some(text.len() + length.unwrap_or(0));
        }
    }
    String::from_utf8(text).unwrap()
}

fn replied(
    request: &str,
    address: SocketAddr,
    keys: &str,
    codes: &Mutex<BTreeMap<String, Code>>,
) -> (u16, String) {
    let issuer = format!("http://{address}");
    match request.split(' ').nth(1).unwrap_or_default() {
        "/.well-known/openid-configuration" => {
            let document = json!({
                "issuer": issuer, "authorization_endpoint": format!("{issuer}/authorize?tenant=1"),
                "token_endpoint": format!("{issuer}/token"), "jwks_uri": format!("{issuer}/keys"),
            });
            (200, document.to_string())
        }
        "/keys" => (200, keys.to_owned()),
        "/token" => token(request, codes),
        _ => (404, String::new()),
    }
}

/// Each code once, to who proves to be the client that asked.
fn token(request: &str, codes: &Mutex<BTreeMap<String, Code>>) -> (u16, String) {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let form = pairs(body);
    let id = "tributary%20page:s3cr%3At%2F%E5%AF%86";
    let authorization = format!("authorization: basic {}", STANDARD.encode(id)).to_lowercase();
    if !head.to_lowercase().contains(&authorization) {
        return (401, json!({"error": "invalid_client"}).to_string());
    }
    let code = codes.lock().unwrap().remove(&form["code"]);
    let verifier = digest::digest(&digest::SHA256, form["code_verifier"].as_bytes());
    let is_whole = form["grant_type"] == "authorization_code"
        && form["redirect_uri"] == format!("{PAGE}sign-in/callback");
    match code {
        Some(code) if is_whole && code.challenge == encoded(verifier) => (
            200,
            json!({"token_type": "Bearer", "id_token": code.id_token}).to_string(),
        ),
        _ => (400, json!({"error": "invalid_grant"}).to_string()),
    }
}

/// Names and values of a query or a form.
pub fn pairs(query: &str) -> BTreeMap<String, String> {
    let url = reqwest::Url::parse(&format!("http://h/?{query}")).unwrap();
    url.query_pairs().into_owned().collect()
}
