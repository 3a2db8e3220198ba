//! Reports as files of other programs.

use serde_json::json;

use crate::harness::Workspace;

/// A report with everything that its Markdown may have.
const REPORT: &str = "# 能效特性与取舍\n\nFirst *plain*, then **bold** and `code`, [1][2]. See \
    [the guide](https://kb.example/guide?a=1&b=2) and [this](javascript:alert(1)).\n\n\
    ## 1. Lists\n\n- 天线倾角\n  - inner\n- second\n\n\
    3. third\n4. fourth\n\nBetween.\n\n1. anew\n\n\
    ### Tables\n\n| Cell | 能耗 |\n|---|---|\n| A & <B> | 12 |\n| C\\|D | |\n\n\
    ```rust\nfn main() {\n    let x = \"a < b\";\n}\n```\n\n> quoted words\n\n\
    Bell \u{7} and \u{fffe} gone, <script>stays</script> as text.\n\n\
    ## Sources\n\n- \\[1\\] Handbook › 能效, `kb/energy.md`\n";

#[test]
fn a_word_document_has_the_headings_cells_items_and_text_of_the_report() {
    let workspace = Workspace::new();
    let server = workspace.start();
    let asked = json!({"markdown": REPORT, "title": "能效", "format": "docx"});
    let bytes = server.post_for_bytes("/v1/report/export", &asked);
    workspace.write("report.docx", bytes);
    let read = workspace.run(["convert", "report.docx"]);
    assert_eq!(read.code, 0, "{read:?}");
    let text = read.stdout;
    for part in [
        "# 能效特性与取舍\n",
        "*plain*, then **bold** and `code`, [1\\][2].",
        "[the guide](https://kb.example/guide?a=1&b=2)",
        "## 1. Lists\n",
        "- 天线倾角\n  - inner\n- second\n",
        "3. third\n4. fourth\n",
        "1. anew\n",
        "### Tables\n",
        "| **Cell** | **能耗** |\n",
        "| A & \\<B> | 12 |\n",
        "| C\\|D |",
        "fn main() {\n    let x = \"a < b\";\n}\n",
        "quoted words",
        "Bell and gone, \\<script>stays\\</script> as text.",
        "## Sources\n",
        "Handbook › 能效",
    ] {
        assert!(text.contains(part), "{part:?}: {text}");
    }
    assert!(!text.contains("javascript:"), "{text}");
}

#[test]
fn a_word_document_is_what_other_programs_expect() {
    let workspace = Workspace::new();
    let server = workspace.start();
    let asked = json!({"markdown": REPORT, "format": "docx"});
    let bytes = server.post_for_bytes("/v1/report/export", &asked);
    let mut package = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    let mut part = |name: &str| {
        let mut text = String::new();
        let mut file = package.by_name(name).unwrap();
        std::io::Read::read_to_string(&mut file, &mut text).unwrap();
        text
    };
    let styles = part("word/styles.xml");
    for wanted in [
        "w:val=\"heading 1\"",
        "w:val=\"heading 6\"",
        "w:eastAsia=\"Microsoft YaHei\"",
    ] {
        assert!(styles.contains(wanted), "{wanted}: {styles}");
    }
    let document = part("word/document.xml");
    assert!(document.contains("w:val=\"Heading1\""), "{document}");
    let is_forbidden = |character: char| matches!(character, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}');
    assert!(!document.contains(is_forbidden), "{document}");
    let links = part("word/_rels/document.xml.rels");
    assert!(
        links.contains("https://kb.example/guide?a=1&amp;b=2"),
        "{links}"
    );
}
