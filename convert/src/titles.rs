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

/// What programs call a document that nobody has named, in lower case, without numbers.
const PLACEHOLDERS: [&str; 17] = [
    "document",
    "untitled",
    "untitled document",
    "title",
    "document title",
    "word",
    "microsoft word",
    "new microsoft word document",
    "microsoft word document",
    "dokument",
    "文档",
    "文檔",
    "未命名",
    "无标题",
    "無標題",
    "标题",
    "新建 microsoft word 文档",
];
/// Ends of names of files that text is written in.
const EXTENSIONS: [&str; 15] = [
    ".doc", ".docx", ".dot", ".dotx", ".odt", ".ott", ".rtf", ".txt", ".wps", ".wpd", ".pdf",
    ".tex", ".htm", ".html", ".md",
];

/// The title of a document that states one and shows one: what a program or the name of a file left
/// in its properties names it only where it shows none.
pub(crate) fn stated_or_shown(stated: Option<String>, shown: Option<String>) -> Option<String> {
    match stated {
        Some(stated) if is_placeholder(&stated) => shown.or(Some(stated)),
        stated => stated.or(shown),
    }
}

/// Whether nobody gave this title.
fn is_placeholder(title: &str) -> bool {
    let title = title.trim().to_lowercase();
    let numbered = |character: char| {
        character.is_numeric() || matches!(character, ' ' | '(' | ')' | '（' | '）')
    };
    let name = title.trim_end_matches(numbered);
    PLACEHOLDERS.contains(&name) || EXTENSIONS.iter().any(|end| title.ends_with(end))
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
    fn what_nobody_named_is_named_by_what_it_shows() {
        let title = |stated: &str| stated_or_shown(Some(stated.into()), Some("Pumps".into()));
        for stated in [
            "Document1",
            "文档1",
            "未命名",
            "Untitled",
            "新建 Microsoft Word 文档 (2)",
            "template_old_v3.dot",
            "Microsoft Word",
            "标题",
        ] {
            assert_eq!(title(stated).as_deref(), Some("Pumps"), "{stated}");
        }
        for stated in ["Document control", "标题党", "Word embeddings", "IEC 61850"] {
            assert_eq!(title(stated).as_deref(), Some(stated));
        }
        assert_eq!(
            stated_or_shown(Some("plan.doc".into()), None).as_deref(),
            Some("plan.doc")
        );
        assert_eq!(
            stated_or_shown(None, Some("Pumps".into())).as_deref(),
            Some("Pumps")
        );
    }

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
