//! Names in a line of a log: dotted names, names with underscores or several capitals, error codes.

/// Longest name.
const MAXIMUM_CHARACTERS: usize = 80;
/// Words that look like names and name nothing of the domain.
const NOTHING: [&str; 10] = [
    "self",
    "__init__",
    "__call__",
    "__main__",
    "e.g",
    "i.e",
    "args",
    "kwargs",
    "most_recent",
    "__name__",
];

/// Names and codes of a line, in order, each once.
pub fn names(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let words = text.split(|one: char| !(one.is_ascii_alphanumeric() || "_.".contains(one)));
    for word in words {
        let word = word.trim_matches('.');
        let word = word.strip_prefix("self.").unwrap_or(word);
        let is_known = found.iter().any(|known| known == word);
        if is_name(word) && !is_known {
            found.push(word.to_owned());
        }
    }
    found
}

/// Whether one of its words is an error code, such as `E80000` or `EI0006`.
pub fn has_error_code(text: &str) -> bool {
    let mut words = text.split(|one: char| !one.is_ascii_alphanumeric());
    words.any(is_error_code)
}

fn is_name(word: &str) -> bool {
    if word.len() < 3 || word.len() > MAXIMUM_CHARACTERS || NOTHING.contains(&word) {
        return false;
    }
    if !word.starts_with(|one: char| one.is_ascii_alphabetic() || one == '_') {
        return false;
    }
    is_dotted(word) || has_underscore(word) || has_humps(word) || is_error_code(word)
}

fn is_dotted(word: &str) -> bool {
    let parts: Vec<&str> = word.split('.').collect();
    let is_part = |part: &&str| part.len() > 1 && part.chars().any(char::is_alphabetic);
    parts.len() > 1 && parts.iter().all(is_part)
}

fn has_underscore(word: &str) -> bool {
    let inner = word.trim_matches('_');
    inner.contains('_') && inner.chars().any(char::is_alphabetic)
}

/// `ReduceMean`, `Conv2D`, `conv2d`: capitals within, or letters around digits.
fn has_humps(word: &str) -> bool {
    let signs: Vec<char> = word.chars().collect();
    let rises = signs.windows(2).any(|pair| {
        matches!(pair, [one, other] if one.is_ascii_lowercase() && other.is_ascii_uppercase())
    });
    let goes_on = signs.windows(3).any(|three| {
        matches!(three, [one, two, other]
            if one.is_ascii_alphabetic() && two.is_ascii_digit() && other.is_ascii_alphabetic())
    });
    rises || goes_on
}

/// One to four capitals and at least four digits.
fn is_error_code(word: &str) -> bool {
    let letters = word.chars().take_while(char::is_ascii_uppercase).count();
    let digits = word.len() - letters;
    let rest = word.get(letters..).unwrap_or_default();
    let is_number = rest.chars().all(|one| one.is_ascii_digit());
    (1..=4).contains(&letters) && digits >= 4 && is_number
}
