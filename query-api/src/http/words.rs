//! What is wrong with a body or a parameter, in words of JSON: the reader of a body names the types of
//! the program, which nobody outside knows.

use tributary_taxonomy::nearest;

/// Types as they are named, and what a caller knows them as.
const WORDS: [(&str, &str); 14] = [
    ("u8", "a whole number from 0 to 255"),
    ("u16", "a whole number from 0 to 65535"),
    ("u32", "a whole number from 0 to 4294967295"),
    ("u64", "a whole number, 0 or more"),
    ("usize", "a whole number, 0 or more"),
    ("i32", "a whole number"),
    ("i64", "a whole number"),
    ("f32", "a number"),
    ("f64", "a number"),
    ("a boolean", "true or false"),
    ("a sequence", "a list"),
    ("a map", "an object"),
    ("unit", "null"),
    ("an Option", "a value or null"),
];
const EXPECTED: &str = "expected ";
const PLACE: &str = " at line ";

/// The message without names of types.
pub fn in_words(message: &str) -> String {
    let Some((before, after)) = message.split_once(EXPECTED) else {
        return message.to_owned();
    };
    let (expected, place) = match after.split_once(PLACE) {
        Some((expected, place)) => (expected, format!("{PLACE}{place}")),
        None => (after, String::new()),
    };
    let is_object = ["struct ", "tuple struct ", "internally tagged enum "]
        .iter()
        .any(|kind| expected.starts_with(kind));
    let known = WORDS.iter().find(|(name, _)| *name == expected);
    let words = match known {
        Some((_, words)) => words,
        None if is_object => "an object",
        None => expected,
    };
    format!("{before}{EXPECTED}{words}{place}")
}

/// The name that an unknown one was probably meant to be, from a message that lists the known ones:
/// "unknown field `a`, expected one of `b`, `c`".
pub fn probably_meant(message: &str) -> Option<&str> {
    let mut names = message.split('`').skip(1).step_by(2);
    let unknown = names.next()?;
    nearest(unknown, names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_of_the_known_names_is_proposed() {
        let table = [
            (
                "unknown field `sourc`, expected one of `state`, `source`",
                Some("source"),
            ),
            (
                "unknown field `passage`, expected `passages`",
                Some("passages"),
            ),
            (
                "unknown field `colour`, expected one of `state`, `source`",
                None,
            ),
            ("unknown field `x`, there are no fields", None),
            ("missing field `query`", None),
        ];
        for (message, name) in table {
            assert_eq!(probably_meant(message), name, "{message}");
        }
    }

    #[test]
    fn types_of_the_program_are_not_named() {
        let table = [
            (
                "invalid value: integer `300`, expected u8 at line 1 column 9",
                "invalid value: integer `300`, expected a whole number from 0 to 255 at line 1 column 9",
            ),
            (
                "invalid length 0, expected struct DocumentEvent with 11 elements at line 1 column 2",
                "invalid length 0, expected an object at line 1 column 2",
            ),
            (
                "unknown variant `x`, expected `a` or `b`",
                "unknown variant `x`, expected `a` or `b`",
            ),
            ("missing field `query`", "missing field `query`"),
        ];
        for (message, words) in table {
            assert_eq!(in_words(message), words);
        }
    }
}
