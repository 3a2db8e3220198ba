//! Titles: on one line, not too long, or from the file's name.

use tributary_schemas::names::without_query;

use crate::escape::is_invisible;

/// The found title on one line and not too long, else the file name without extension.
pub(crate) fn finish_title(
    found: Option<String>,
    name: Option<&str>,
    maximum_characters: usize,
) -> Option<String> {
    let found = found
        .map(|title| one_line(&title, maximum_characters))
        .filter(|title| !title.is_empty());
    found.or_else(|| {
        name.and_then(file_stem)
            .map(|stem| one_line(&stem, maximum_characters))
            .filter(|title| !title.is_empty())
    })
}

/// White space to single spaces, without characters that nobody sees or that turn the direction of
/// what stands behind them, cut after `maximum_characters`.
pub fn one_line(text: &str, maximum_characters: usize) -> String {
    // White space is at most as long as the text that is kept, so a huge title costs no more than a
    // bounded one.
    let words = text.split_whitespace().take(maximum_characters);
    let joined = words.collect::<Vec<_>>().join(" ");
    joined
        .chars()
        .filter(|character| !is_invisible(*character))
        .take(maximum_characters)
        .collect::<String>()
        .trim_end()
        .to_owned()
}

/// File name without folders, query and extension.
pub fn file_stem(name: &str) -> Option<String> {
    let path = without_query(name).trim_end_matches(['/', '\\']);
    let file = path.rsplit(['/', '\\']).next()?;
    let stem = match file.rsplit_once('.') {
        Some((stem, extension))
            if !stem.is_empty() && extension.len() <= 8 && !extension.contains(' ') =>
        {
            stem
        }
        _ => file,
    };
    (!stem.is_empty()).then(|| stem.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_fall_back_to_the_file_name() {
        assert_eq!(
            finish_title(Some(" a \n b ".into()), Some("x.md"), 80).as_deref(),
            Some("a b")
        );
        assert_eq!(one_line("a\u{202e}b\u{200b} \u{feff}c", 80), "ab c");
        assert_eq!(
            finish_title(Some(" \n".into()), Some("dir/载波 聚合.v2.md?x=1"), 80).as_deref(),
            Some("载波 聚合.v2")
        );
        assert_eq!(
            finish_title(None, Some("C# guide, part 2.md"), 80).as_deref(),
            Some("C# guide, part 2")
        );
        assert_eq!(
            finish_title(None, Some("C:\\docs\\.profile"), 80).as_deref(),
            Some(".profile")
        );
        assert_eq!(
            finish_title(Some("四个汉字".into()), None, 2).as_deref(),
            Some("四个")
        );
        assert_eq!(
            finish_title(None, Some("https://host/path/"), 80).as_deref(),
            Some("path")
        );
        assert_eq!(finish_title(None, None, 80), None);
    }
}
