//! Names of documents as they are printed: each can be copied back into a command line.

use tributary_schemas::DocumentState;

/// Characters beside letters and digits that a shell takes as they are.
const PLAIN: &str = "-_./:@%+=,";

/// `source/path`, quoted where a shell would take it apart.
pub fn of_document(source: &str, source_path: &str) -> String {
    quoted(&format!("{source}/{source_path}"))
}

/// The same of a document that is reported; its id where it has no path.
pub fn of_state(state: &DocumentState) -> String {
    of(&state.source, &state.source_path, &state.document_id)
}

/// `source/path`, or the id of a document without a path.
pub fn of(source: &str, source_path: &str, document_id: &str) -> String {
    match source_path.is_empty() {
        true => quoted(document_id),
        false => of_document(source, source_path),
    }
}

/// One word for a POSIX shell.
pub fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || PLAIN.contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_quoted_where_a_shell_would_take_it_apart() {
        let table = [
            (("hb", "radio/tilt.md"), "hb/radio/tilt.md"),
            (("手册", "天线/下倾角.md"), "手册/天线/下倾角.md"),
            (("hb", "my notes.md"), "'hb/my notes.md'"),
            (("hb", "it's.md"), r"'hb/it'\''s.md'"),
            (("hb", "a&b.md"), "'hb/a&b.md'"),
        ];
        for ((source, path), expected) in table {
            assert_eq!(of_document(source, path), expected);
        }
        assert_eq!(of("hb", "", "handbook:note"), "handbook:note");
    }
}
