//! Every step on its own, and all of them on code.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use tributary_convert::pages::{mark, take_out};

use super::*;
use crate::config::Config;
use crate::test_config::config;

fn cleaners(steps: &Value) -> Result<Cleaners> {
    let profile = serde_json::from_value(json!({ "name": "test", "cleaners": steps })).unwrap();
    Cleaners::new(&profile, &config::<Config>().cleaners)
}

fn clean(steps: Value, mut draft: Draft) -> Draft {
    cleaners(&steps).unwrap().clean(&mut draft);
    draft
}

fn text(step: &str, markdown: &str) -> String {
    clean(
        json!([{ "step": step }]),
        Draft {
            markdown: markdown.into(),
            ..Draft::default()
        },
    )
    .markdown
}

#[test]
fn unknown_steps_name_the_nearest_known_one() {
    let error = cleaners(&json!([{ "step": "normalise_whitespace" }])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(
        error
            .message_and_hint()
            .contains("did you mean `normalize_whitespace`"),
        "{}",
        error.message_and_hint()
    );
}

#[test]
fn settings_are_checked() {
    for (steps, part) in [
        (
            json!([{ "step": "drop_anchors", "pattern": "x" }]),
            "unknown setting `pattern`",
        ),
        (
            json!([{ "step": "strip_boilerplate" }]),
            "`patterns` is missing",
        ),
        (
            json!([{ "step": "strip_boilerplate", "patterns": ["("] }]),
            "does not compile",
        ),
        (
            json!([{ "step": "strip_boilerplate", "patterns": ["(a{1000}){1000}"] }]),
            "does not compile",
        ),
        (
            json!([{ "step": "strip_boilerplate", "patterns": "x" }]),
            "must be a list of texts",
        ),
        (
            json!([{ "step": "title_prefix" }]),
            "`attribute` is missing",
        ),
        (
            json!([{ "step": "title_prefix", "attribute": 3 }]),
            "must be a text",
        ),
        (
            json!([{ "step": "attributes_from_path", "pattern": "x" }]),
            "`attributes` must be a table",
        ),
        (
            json!([{ "step": "attributes_from_path", "pattern": "(?<a>x", "attributes": { "c": "{a}" } }]),
            "`pattern` does not compile",
        ),
        (
            json!([{ "step": "attributes_from_path", "pattern": "(?<a>x)", "attributes": { "c": "{b}" } }]),
            "names the group `b`; the pattern has a",
        ),
        (
            json!([{ "step": "attributes_from_path", "pattern": "x", "attributes": { "security_level": "1" } }]),
            "is a number",
        ),
        (
            json!([{ "step": "version_from_path", "pattern": "/v([0-9.]+)/" }]),
            "has no group `(?<version>…)`",
        ),
        (
            json!([{ "step": "version_from_path" }]),
            "`pattern` is missing",
        ),
        (
            json!([{ "step": "drop_sections" }]),
            "`headings` is missing",
        ),
        (
            json!([{ "step": "drop_sections", "headings": ["("] }]),
            "does not compile",
        ),
        (
            json!([{ "step": "replace_text", "replacements": {} }]),
            "`replacements` must be a table",
        ),
        (
            json!([{ "step": "replace_text", "replacements": { "a": 1 } }]),
            "`replacements.a` must be a text",
        ),
        (
            json!([{ "step": "drop_learned_boilerplate" }]),
            "`file` is missing",
        ),
        (
            json!([{ "step": "drop_learned_boilerplate", "file": "x.toml" }]),
            "was not read",
        ),
    ] {
        let error = cleaners(&steps).unwrap_err();
        assert!(error.to_string().contains(part), "{error} lacks {part}");
    }
}

trait MessageAndHint {
    fn message_and_hint(&self) -> String;
}

impl MessageAndHint for Error {
    fn message_and_hint(&self) -> String {
        self.full_message()
    }
}

#[test]
fn whitespace_is_normalized_outside_code() {
    assert_eq!(
        text(
            "normalize_whitespace",
            "a\u{A0}b\u{200B}\0c  \n\n\n\n\nd\u{3000}e\u{FEFF}\n\n\n"
        ),
        "a bc\n\n\nd e\n"
    );
    assert_eq!(text("normalize_whitespace", "\n\n"), "");
}

#[test]
fn boilerplate_lines_go() {
    let steps =
        json!([{ "step": "strip_boilerplate", "patterns": ["^Copyright ", "^第 \\d+ 页$"] }]);
    let draft = Draft {
        markdown: "text\nCopyright 2024\nmore Copyright\n第 3 页\n```\nCopyright x\n```\n".into(),
        ..Draft::default()
    };
    assert_eq!(
        clean(steps, draft).markdown,
        "text\n\nmore Copyright\n\n```\nCopyright x\n```\n"
    );
}

#[test]
fn anchors_go_and_links_stay() {
    assert_eq!(
        text(
            "drop_anchors",
            "<a name=\"x\"></a>Text <a id='y'/>more [link](#here) [Back to top](#top)\n"
        ),
        "Text more [link](#here) \n"
    );
    assert_eq!(text("drop_anchors", "## 标题 {#id-1}\n"), "## 标题\n");
}

#[test]
fn comments_go_over_lines_and_an_open_one_hides_nothing() {
    assert_eq!(
        text("strip_comments", "a<!-- x -->b\n<!--\nhidden\n-->c\n"),
        "ab\n\n\nc\n"
    );
    assert_eq!(
        text("strip_comments", "a <!-- x --> b\n<!-- open\ntext\n"),
        "a  b\n<!-- open\ntext\n"
    );
}

#[test]
fn indentation_is_repaired() {
    let source = "    Paragraph that an export indented.\n\n-\tone\n\t-\ttwo\n\t\t1)\tthree\n\tunder one\nafter\n";
    assert_eq!(
        text("repair_indentation", source),
        "Paragraph that an export indented.\n\n-\tone\n  -\ttwo\n    1)\tthree\n  under one\nafter\n"
    );
}

#[test]
fn titles_get_the_product_once() {
    let steps = || json!([{ "step": "title_prefix", "attribute": "product" }]);
    let attributes = Attributes {
        product: Some("gNodeB".into()),
        ..Attributes::default()
    };
    let draft = clean(
        steps(),
        Draft {
            title: "掉话".into(),
            attributes,
            ..Draft::default()
        },
    );
    assert_eq!(draft.title, "[gNodeB] 掉话");
    assert_eq!(clean(steps(), draft).title, "[gNodeB] 掉话");
    assert_eq!(
        clean(
            steps(),
            Draft {
                title: "t".into(),
                ..Draft::default()
            }
        )
        .title,
        "t"
    );
}

#[test]
fn paths_become_metadata_and_attributes() {
    let steps = json!([{ "step": "path_metadata", "levels": ["product", "", "chapter"] }]);
    let draft = clean(
        steps,
        Draft {
            source_path: "https://host/gNodeB/V1/安装/a.html?x".into(),
            ..Draft::default()
        },
    );
    assert_eq!(draft.metadata.get("path").unwrap(), "gNodeB / V1 / 安装");
    assert_eq!(draft.metadata.get("path_2").unwrap(), "V1");
    assert_eq!(draft.attributes.product.as_deref(), Some("gNodeB"));
    assert_eq!(draft.attributes.custom.get("chapter").unwrap(), "安装");
    let kept = Attributes {
        product: Some("own".into()),
        ..Attributes::default()
    };
    let steps = json!([{ "step": "path_metadata", "levels": ["product"] }]);
    let draft = clean(
        steps,
        Draft {
            source_path: "p\\a.md".into(),
            attributes: kept,
            ..Draft::default()
        },
    );
    assert_eq!(draft.attributes.product.as_deref(), Some("own"));
}

#[test]
fn specifications_and_versions_come_from_the_file_name() {
    let draft = clean(
        json!([{ "step": "spec_number_from_file_name" }]),
        Draft {
            source_path: "3gpp/38331-f40.md".into(),
            title: "RRC".into(),
            ..Draft::default()
        },
    );
    assert_eq!(draft.title, "38.331 RRC");
    assert_eq!(draft.metadata.get("release").unwrap(), "15");
    let draft = clean(
        json!([{ "step": "version_from_file_name" }]),
        Draft {
            source_path: "设计/载波聚合 设计_V2.1.md".into(),
            title: "载波聚合 设计_V2.1".into(),
            ..Draft::default()
        },
    );
    assert_eq!(
        (
            draft.title.as_str(),
            draft.attributes.product_version.as_deref()
        ),
        ("载波聚合 设计", Some("2.1"))
    );
}

#[test]
fn parts_of_the_path_become_attributes_unless_the_document_has_them() {
    let steps = json!([{
        "step": "attributes_from_path",
        "pattern": "^api/(?<module>[^/]+)/(?<page>[^/]+)\\.rst$|^(?<other>faq)/",
        "attributes": { "category": "API", "subcategory": "{module}", "link": "https://host/{module}/{page}.html" }
    }]);
    let draft = |path: &str| {
        clean(
            steps.clone(),
            Draft {
                source_path: path.into(),
                ..Draft::default()
            },
        )
    };
    let api = draft("api/nn/mindspore.nn.ELU.rst").attributes;
    assert_eq!(
        (api.text("category"), api.text("subcategory")),
        (Some("API"), Some("nn"))
    );
    assert_eq!(
        api.link.as_deref(),
        Some("https://host/nn/mindspore.nn.ELU.html")
    );
    let faq = draft("faq/a.md").attributes;
    assert_eq!(
        (
            faq.text("category"),
            faq.text("subcategory"),
            faq.text("link")
        ),
        (Some("API"), None, None),
        "groups without a match"
    );
    assert_eq!(draft("tutorials/a.md").attributes, Attributes::default());
    let own = Attributes {
        link: Some("own".into()),
        ..Attributes::default()
    };
    let kept = clean(
        steps.clone(),
        Draft {
            source_path: "api/nn/x.rst".into(),
            attributes: own,
            ..Draft::default()
        },
    );
    assert_eq!(kept.attributes.link.as_deref(), Some("own"));
}

#[test]
fn versions_in_paths_leave_what_they_share() {
    let at = |path: &str| {
        let steps =
            json!([{ "step": "version_from_path", "pattern": "(?:^|/)[vR](?<version>[0-9.]+)/" }]);
        let draft = clean(
            steps,
            Draft {
                source_path: path.into(),
                ..Draft::default()
            },
        );
        let metadata = |name: &str| draft.metadata.get(name).cloned();
        (metadata("document_version"), metadata("versionless_path"))
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        at("Guide/v1.2/Setup.md"),
        (some("1.2"), some("guide/v*/setup.md"))
    );
    assert_eq!(at("Guide/v1.10/Setup.md").1, at("guide/v1.2/setup.md").1);
    assert_eq!(at("guide/setup.md"), (None, None));
    let name = |path: &str| {
        let draft = clean(
            json!([{ "step": "version_from_file_name" }]),
            Draft {
                source_path: path.into(),
                ..Draft::default()
            },
        );
        draft.metadata.get("versionless_path").cloned()
    };
    assert_eq!(
        name("设计/载波聚合 设计_V2.1.docx"),
        some("设计/载波聚合 设计")
    );
    assert_eq!(
        name("设计/载波聚合_设计 v10.doc"),
        some("设计/载波聚合 设计")
    );
    assert_eq!(name("设计/载波聚合.docx"), None);
}

#[test]
fn sections_go_with_all_below_and_the_title_stays() {
    let steps = json!([{ "step": "drop_sections", "headings": ["^(References|参考文献)$"] }]);
    let text = "# References\n\na\n\n## 参考文献\n\n[1]\n\n### Books\n\n[2]\n\n```\n## not a heading\n```\n\n## More\n\nb\n\n# References #\nc\n";
    let draft = clean(
        steps,
        Draft {
            markdown: text.into(),
            ..Draft::default()
        },
    );
    assert_eq!(draft.markdown, "# References\n\na\n\n## More\n\nb\n\n");
}

#[test]
fn placeholders_are_replaced_in_text_and_title_but_not_in_code() {
    let steps = json!([{ "step": "replace_text", "replacements": { "|project_name|": "srsRAN" } }]);
    let draft = Draft {
        title: "|project_name| guide".into(),
        markdown: "The |project_name|.\n```\n|project_name|\n```\n".into(),
        ..Draft::default()
    };
    let draft = clean(steps, draft);
    assert_eq!(
        (draft.title.as_str(), draft.markdown.as_str()),
        ("srsRAN guide", "The srsRAN.\n```\n|project_name|\n```\n")
    );
}

#[test]
fn placeholders_with_bars_are_replaced_in_tables_too() {
    let steps = json!([{ "step": "replace_text", "replacements": { "|name|": "srsRAN" } }]);
    let draft = Draft {
        markdown: "| |name| | \\|name\\| 2 |\n".into(),
        ..Draft::default()
    };
    assert_eq!(
        clean(steps, draft).markdown,
        "| srsRAN | srsRAN 2 |\n",
        "a bar in a cell is written with a backslash"
    );
}

#[test]
fn placeholders_are_found_whichever_of_their_signs_are_escaped() {
    let steps = json!([{ "step": "replace_text", "replacements": { "|my_name|": "C$1" } }]);
    let draft = Draft {
        markdown: "\\|my_name| is |my\\_name\\|, not |myname|.\n".into(),
        ..Draft::default()
    };
    assert_eq!(clean(steps, draft).markdown, "C$1 is C$1, not |myname|.\n");
}

#[test]
fn organisations_stand_under_the_title() {
    let attributes = Attributes {
        organization: Some("无线".into()),
        department: Some("算法部".into()),
        ..Attributes::default()
    };
    let once = clean(
        json!([{ "step": "organization_note" }]),
        Draft {
            markdown: "# T\n\ntext\n".into(),
            attributes,
            ..Draft::default()
        },
    );
    assert_eq!(once.markdown, "# T\n\n**无线 / 算法部**\n\ntext\n");
    assert_eq!(
        clean(json!([{ "step": "organization_note" }]), once.clone()).markdown,
        once.markdown
    );
}

#[test]
fn no_step_alters_code() {
    let code = "```python\n\u{A0}x = 1  \n\n\n\n\n# {#id}\n<a name=\"x\"></a><!-- c -->\n\t\tCopyright\u{200B}\n```\n";
    let markdown = format!("# T\n\n{code}\n~~~\n    deep  \n~~~\n\nend\n");
    let attributes = Attributes {
        organization: Some("o".into()),
        product: Some("p".into()),
        ..Attributes::default()
    };
    let steps: Vec<Value> = names()
        .map(|name| match name {
            "strip_boilerplate" => json!({ "step": name, "patterns": ["Copyright", "deep", "x"] }),
            "title_prefix" => json!({ "step": name, "attribute": "product" }),
            "attributes_from_path" => {
                json!({ "step": name, "pattern": "(?<a>.)", "attributes": { "b": "{a}" } })
            }
            "drop_sections" => json!({ "step": name, "headings": ["id", "deep"] }),
            "replace_text" => json!({ "step": name, "replacements": { "x": "y", "deep": "flat" } }),
            "version_from_path" => json!({ "step": name, "pattern": "(?<version>[0-9]+)" }),
            "drop_learned_boilerplate" => json!({ "step": "drop_anchors" }),
            _ => json!({ "step": name }),
        })
        .collect();
    let draft = Draft {
        markdown,
        source_path: "38331-f40.md".into(),
        attributes,
        ..Draft::default()
    };
    let cleaned = clean(Value::Array(steps), draft).markdown;
    assert!(cleaned.contains(code), "{cleaned}");
    assert!(cleaned.contains("~~~\n    deep  \n~~~\n"));
}

#[test]
fn marks_of_pages_survive_normalisation() {
    let normal = normalize_text(&mark("a  \n\n\n\n\u{c}\n\n\nb\u{c}c"));
    let (text, starts) = take_out(&normal);
    assert_eq!((starts.len(), text.contains('\u{FDD0}')), (3, false));
    assert!(
        text.get(starts[1] as usize..)
            .unwrap_or_default()
            .trim_start()
            .starts_with('b'),
        "{text:?} {starts:?}"
    );
}
