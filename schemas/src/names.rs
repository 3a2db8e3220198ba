//! Terms under which the chunks of a document are found by what a question may name it by: its
//! title, its file, its path. A term only says where to look; whoever asks compares the names.

use unicode_normalization::UnicodeNormalization;

use crate::DocumentHeader;

/// Longer titles and file names are not asked for as a whole.
const MAXIMUM_CHARACTERS: usize = 100;
/// A shorter last part says nothing: the `g` of `e.g`.
const MINIMUM_LAST_PART: usize = 2;

/// Terms of the title, of the file's name and the last part of either (`conv2d` for
/// `mindspore.nn.Conv2d`), and of the file with its folder, for the document and for its exact
/// duplicates; each once, none where there is no name.
pub(crate) fn terms(document: &DocumentHeader) -> Vec<String> {
    let mut terms = Vec::new();
    add(&mut terms, names(&key(&document.title)));
    add_path(&mut terms, &document.source, &document.source_path);
    for duplicate in &document.duplicates {
        add_path(&mut terms, &duplicate.source, &duplicate.source_path);
    }
    terms
}

fn add_path(terms: &mut Vec<String>, source: &str, source_path: &str) {
    if source_path.is_empty() {
        return;
    }
    let path = path_key(source_path);
    add(terms, names(&key(file_stem(&path))));
    add(terms, [folder_and_file(&format!("{}/{path}", key(source)))]);
}

/// Terms of the documents that somebody may mean who writes this: each document of that name has
/// at least one of them, and others may have them too.
pub fn terms_of_name(written: &str) -> Vec<String> {
    let name = key(written);
    let mut terms = Vec::new();
    if name.contains('/') {
        let path = folder_and_file(&path_key(written));
        add(&mut terms, [name_term(&name), path]);
    } else {
        add(&mut terms, names(&name));
        add(&mut terms, [name_term(&key(file_stem(&name)))]);
    }
    terms
}

/// A path without what follows it in an address: query and fragment. A file's own name may have `?`
/// and `#` in it (`C# guide.md`): of what is no URL only what follows an ending is taken off.
pub fn without_query(path: &str) -> &str {
    let Some(place) = path.find(['?', '#']) else {
        return path;
    };
    let (before, behind) = path.split_at(place);
    let is_address = before.contains("://") || (has_ending(before) && !has_ending(behind));
    if is_address { before } else { path }
}

fn has_ending(path: &str) -> bool {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
    !ending.is_empty() && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The same for all spellings: case, width and composition make no difference, nor do spaces and
/// punctuation around it.
fn key(text: &str) -> String {
    let normal: String = text.nfkc().flat_map(char::to_lowercase).collect();
    let trimmed = normal.trim_matches(|character: char| !character.is_alphanumeric());
    trimmed.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A path whose parts are keys, without empty ones.
fn path_key(path: &str) -> String {
    let parts = path.split('/').map(key);
    parts
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("/")
}

/// A name and its last part.
fn names(name: &str) -> impl Iterator<Item = Option<String>> {
    let last_part = Some(last_part(name)).filter(|part| {
        let says_something = part.chars().any(|character| !character.is_ascii_digit());
        says_something && part.chars().count() >= MINIMUM_LAST_PART
    });
    [Some(name), last_part.map(str::trim)]
        .map(|name| name.and_then(name_term))
        .into_iter()
}

fn name_term(name: &str) -> Option<String> {
    let is_name = !name.is_empty() && name.chars().count() <= MAXIMUM_CHARACTERS;
    is_name.then(|| format!("name={name}"))
}

/// Of a path of at least two parts.
fn folder_and_file(path: &str) -> Option<String> {
    let (folders, file) = path.rsplit_once('/')?;
    let folder = folders.rsplit('/').next().unwrap_or(folders);
    Some(format!("path={folder}/{file}"))
}

/// What stands behind the last joiner.
pub fn last_part(name: &str) -> &str {
    name.rsplit(['.', ':']).next().unwrap_or(name)
}

/// The file's name without the last ending; dots inside belong to the name.
pub fn file_stem(path: &str) -> &str {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.rsplit_once('.').map_or(file, |(stem, _)| stem)
}

fn add(terms: &mut Vec<String>, more: impl IntoIterator<Item = Option<String>>) {
    for term in more.into_iter().flatten() {
        if !terms.contains(&term) {
            terms.push(term);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(source: &str, path: &str, title: &str) -> DocumentHeader {
        DocumentHeader {
            source: source.into(),
            source_path: path.into(),
            title: title.into(),
            ..DocumentHeader::default()
        }
    }

    #[test]
    fn a_document_has_a_term_of_whatever_names_it() {
        let conv2d = header(
            "docs",
            "api/nn/mindspore.nn.Conv2d.rst",
            "mindspore.nn.Conv2d",
        );
        let tilt = header("文档", "无线/Cafe\u{301} 倾角.md", "Ａntenna  tilt?");
        let init = header("code", "pkg/__init__.py", "");
        let hidden = header("code", ".gitlab-ci.yml", "");
        let page = header("web", "https://kb.example/docs/", "");
        let table = [
            (&conv2d, "mindspore.nn.Conv2d", true),
            (&conv2d, "nn.conv2d", true),
            (&conv2d, "Conv2d", true),
            (&conv2d, "mindspore.nn.Conv2d.rst", true),
            (&conv2d, "nn/mindspore.nn.Conv2d.rst", true),
            (&conv2d, "docs/api/nn/mindspore.nn.Conv2d.rst", true),
            (&conv2d, "other/mindspore.nn.Conv2d.rst", false),
            (&conv2d, "mindspore.nn", false),
            (&conv2d, "v2d", false),
            (&tilt, "Antenna Tilt", true),
            (&tilt, "《Antenna tilt》", true),
            (&tilt, "CAF\u{c9} 倾角.md", true),
            (&tilt, "无线/Caf\u{e9} 倾角.md", true),
            (&init, "__init__.py", true),
            (&init, "`pkg/__init__.py`", true),
            (&init, "__init__", true),
            (&hidden, ".gitlab-ci.yml", true),
            (&page, "https://kb.example/docs/", true),
            (&page, "kb.example/docs", true),
            (&page, "docs", true),
            (&tilt, "tilt", false),
            (&tilt, "", false),
        ];
        for (document, name, expected) in table {
            let (own, asked) = (terms(document), terms_of_name(name));
            let shared = asked.iter().any(|term| own.contains(term));
            assert_eq!(shared, expected, "{name}: {asked:?} of {own:?}");
        }
    }

    #[test]
    fn a_query_ends_an_address_and_no_file_name() {
        let table = [
            (
                "https://kb.example/a/b.html?x=1.2#top",
                "https://kb.example/a/b.html",
            ),
            ("https://kb.example/a?file=b.pdf", "https://kb.example/a"),
            ("dir/载波.v2.md?x=1", "dir/载波.v2.md"),
            ("dir/a.md#top", "dir/a.md"),
            ("dir/C# guide.md", "dir/C# guide.md"),
            ("what is 5G?.md", "what is 5G?.md"),
            ("v1.2#3.md", "v1.2#3.md"),
            ("#1 (draft).docx", "#1 (draft).docx"),
            ("plain.md", "plain.md"),
            ("", ""),
        ];
        for (path, expected) in table {
            assert_eq!(without_query(path), expected, "{path}");
        }
    }

    #[test]
    fn a_file_at_the_top_is_found_with_the_name_of_its_source() {
        let own = terms(&header("docs", "guide.md", ""));
        assert_eq!(own, ["name=guide", "path=docs/guide.md"]);
        assert!(terms(&header("docs", "", "")).is_empty());
        assert_eq!(terms(&header("docs", "", &"x".repeat(101))), [""; 0]);
        // Numbers and single letters end too many names.
        assert_eq!(
            terms(&header("docs", "", "release 2.1")),
            ["name=release 2.1"]
        );
    }
}
