//! Text within addresses and headers.

use std::fmt::Write;

/// Every byte but letters, digits and `-._~` as `%XX`.
pub(crate) fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing into a string does not fail.
            write!(encoded, "%{byte:02X}").ok();
        }
    }
    encoded
}
