//! What is never printed: values of settings whose names say that they are secrets, and credentials
//! within addresses.

/// Stands in for what is not shown.
pub const HIDDEN: &str = "(hidden)";

/// Parts of names of secrets.
const PARTS: [&str; 7] = [
    "password",
    "passphrase",
    "secret",
    "api_key",
    "oauthbearer.config",
    "jaas",
    "credential",
];
/// The same, as whole words: `tokenizer` and `limit_tokens` are none.
const WORDS: [&str; 3] = ["token", "pem", "authorization"];

/// Whether a setting of that name is a secret.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    let mut words = name.split(|letter: char| !letter.is_alphanumeric());
    PARTS.iter().any(|part| name.contains(part)) || words.any(|word| WORDS.contains(&word))
}

/// A text in which addresses have neither user nor password, nor secrets among their parameters.
pub fn without_credentials(text: &str) -> String {
    let mut pieces = text.split("://");
    let mut shown = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        shown.push_str("://");
        // The last one: a password may hold anything.
        match piece.rsplit_once('@') {
            Some((_, rest)) => shown.push_str(&format!("{HIDDEN}@{}", without_parameters(rest))),
            None => shown.push_str(&without_parameters(piece)),
        }
    }
    shown
}

fn without_parameters(address: &str) -> String {
    let Some((path, parameters)) = address.split_once('?') else {
        return address.to_owned();
    };
    let shown = parameters
        .split('&')
        .map(|parameter| match parameter.split_once('=') {
            Some((name, _)) if is_secret(name) => format!("{name}={HIDDEN}"),
            _ => parameter.to_owned(),
        });
    format!("{path}?{}", shown.collect::<Vec<_>>().join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known() {
        let secrets = [
            "password_file",
            "ssl.key.pem",
            "sasl.oauthbearer.config",
            "sasl.oauthbearer.client.secret",
            "Access-Token",
            "api_key_file",
        ];
        assert_eq!(secrets.iter().filter(|name| !is_secret(name)).count(), 0);
        let others = [
            "tokenizer_file",
            "leaf_maximum_tokens",
            "keyword",
            "temperature",
            "brokers",
            "ssl.key.location",
        ];
        assert_eq!(others.iter().filter(|name| is_secret(name)).count(), 0);
    }

    #[test]
    fn addresses_keep_everything_but_their_credentials() {
        let cases = [
            (
                "https://hub.example/models?revision=main",
                "https://hub.example/models?revision=main",
            ),
            (
                "https://elastic:s3cret@node:9200/x",
                "https://(hidden)@node:9200/x",
            ),
            ("https://t0ken@hub.example", "https://(hidden)@hub.example"),
            ("https://u:p@ss/w?rd@node", "https://(hidden)@node"),
            (
                "https://a:s@one,http://b:s@two",
                "https://(hidden)@one,http://(hidden)@two",
            ),
            (
                "https://hub.example?token=s&page=2",
                "https://hub.example?token=(hidden)&page=2",
            ),
            (
                "plain text, mail@example.org",
                "plain text, mail@example.org",
            ),
        ];
        for (text, shown) in cases {
            assert_eq!(without_credentials(text), shown);
        }
    }
}
