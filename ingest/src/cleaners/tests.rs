//! Every step on its own, and all of them on code.
#![allow(clippy::unwrap_used)]

use serde_json::json;

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
    clean(json!([{ "step": step }]), Draft { markdown: markdown.into(), ..Draft::default() }).markdown
}

#[test]
fn unknown_steps_name_the_nearest_known_one() {
    let error = cleaners(&json!([{ "step": "normalise_whitespace" }])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.message_and_hint().contains("did you mean `normalize_whitespace`"), "{}", error.message_and_hint());
}

#[test]
fn settings_are_checked() {
    for (steps, part) in [
        (json!([{ "step": "drop_anchors", "pattern": "x" }]), "unknown setting `pattern`"),
        (json!([{ "step": "strip_boilerplate" }]), "`patterns` is missing"),
        (json!([{ "step": "strip_boilerplate", "patterns": ["("] }]), "does not compile"),
        (json!([{ "step": "strip_boilerplate", "patterns": ["(a{1000}){1000}"] }]), "does not compile"),
        (json!([{ "step": "strip_boilerplate", "patterns": "x" }]), "must be a list of texts"),
        (json!([{ "step": "title_prefix" }]), "`attribute` is missing"),
        (json!([{ "step": "title_prefix", "attribute": 3 }]), "must be a text"),
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
    assert_eq!(text("normalize_whitespace", "a\u{A0}b\u{200B}\0c  \n\n\n\n\nd\u{3000}e\u{FEFF}\n\n\n"), "a bc\n\n\nd e\n");
    assert_eq!(text("normalize_whitespace", "\n\n"), "");
}

#[test]
fn boilerplate_lines_go() {
    let steps = json!([{ "step": "strip_boilerplate", "patterns": ["^Copyright ", "^第 \\d+ 页$"] }]);
    let draft = Draft { markdown: "text\nCopyright 2024\nmore Copyright\n第 3 页\n```\nCopyright x\n```\n".into(), ..Draft::default() };
    assert_eq!(clean(steps, draft).markdown, "text\n\nmore Copyright\n\n```\nCopyright x\n```\n");
}

#[test]
fn anchors_go_and_links_stay() {
    assert_eq!(
        text("drop_anchors", "<a name=\"x\"></a>Text <a id='y'/>more [link](#here) [Back to top](#top)\n"),
        "Text more [link](#here) \n"
    );
    assert_eq!(text("drop_anchors", "## 标题 {#id-1}\n"), "## 标题\n");
}

#[test]
fn comments_go_over_lines_and_an_open_one_hides_nothing() {
    assert_eq!(text("strip_comments", "a<!-- x -->b\n<!--\nhidden\n-->c\n"), "ab\n\n\nc\n");
    assert_eq!(text("strip_comments", "a <!-- x --> b\n<!-- open\ntext\n"), "a  b\n<!-- open\ntext\n");
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
    let attributes = Attributes { product: Some("gNodeB".into()), ..Attributes::default() };
    let draft = clean(steps(), Draft { title: "掉话".into(), attributes, ..Draft::default() });
    assert_eq!(draft.title, "[gNodeB] 掉话");
    assert_eq!(clean(steps(), draft).title, "[gNodeB] 掉话");
    assert_eq!(clean(steps(), Draft { title: "t".into(), ..Draft::default() }).title, "t");
}

#[test]
fn paths_become_metadata_and_attributes() {
    let steps = json!([{ "step": "path_metadata", "levels": ["product", "", "chapter"] }]);
    let draft = clean(steps, Draft { source_path: "https://host/gNodeB/V1/安装/a.html?x".into(), ..Draft::default() });
    assert_eq!(draft.metadata.get("path").unwrap(), "gNodeB / V1 / 安装");
    assert_eq!(draft.metadata.get("path_2").unwrap(), "V1");
    assert_eq!(draft.attributes.product.as_deref(), Some("gNodeB"));
    assert_eq!(draft.attributes.custom.get("chapter").unwrap(), "安装");
    let kept = Attributes { product: Some("own".into()), ..Attributes::default() };
    let steps = json!([{ "step": "path_metadata", "levels": ["product"] }]);
    let draft = clean(steps, Draft { source_path: "p\\a.md".into(), attributes: kept, ..Draft::default() });
    assert_eq!(draft.attributes.product.as_deref(), Some("own"));
}

#[test]
fn specifications_and_versions_come_from_the_file_name() {
    let draft = clean(
        json!([{ "step": "spec_number_from_file_name" }]),
        Draft { source_path: "3gpp/38331-f40.md".into(), title: "RRC".into(), ..Draft::default() },
    );
    assert_eq!(draft.title, "38.331 RRC");
    assert_eq!(draft.metadata.get("release").unwrap(), "15");
    let draft = clean(
        json!([{ "step": "version_from_file_name" }]),
        Draft { source_path: "设计/载波聚合 设计_V2.1.md".into(), title: "载波聚合 设计_V2.1".into(), ..Draft::default() },
    );
    assert_eq!((draft.title.as_str(), draft.attributes.product_version.as_deref()), ("载波聚合 设计", Some("2.1")));
}

#[test]
fn organisations_stand_under_the_title() {
    let attributes = Attributes { organization: Some("无线".into()), department: Some("算法部".into()), ..Attributes::default() };
    let once = clean(json!([{ "step": "organization_note" }]), Draft { markdown: "# T\n\ntext\n".into(), attributes, ..Draft::default() });
    assert_eq!(once.markdown, "# T\n\n**无线 / 算法部**\n\ntext\n");
    assert_eq!(clean(json!([{ "step": "organization_note" }]), once.clone()).markdown, once.markdown);
}

#[test]
fn no_step_alters_code() {
    let code = "```python\n\u{A0}x = 1  \n\n\n\n\n# {#id}\n<a name=\"x\"></a><!-- c -->\n\t\tCopyright\u{200B}\n```\n";
    let markdown = format!("# T\n\n{code}\n~~~\n    deep  \n~~~\n\nend\n");
    let attributes = Attributes { organization: Some("o".into()), product: Some("p".into()), ..Attributes::default() };
    let steps: Vec<Value> = names()
        .map(|name| match name {
            "strip_boilerplate" => json!({ "step": name, "patterns": ["Copyright", "deep", "x"] }),
            "title_prefix" => json!({ "step": name, "attribute": "product" }),
            _ => json!({ "step": name }),
        })
        .collect();
    let draft = Draft { markdown, source_path: "38331-f40.md".into(), attributes, ..Draft::default() };
    let cleaned = clean(Value::Array(steps), draft).markdown;
    assert!(cleaned.contains(code), "{cleaned}");
    assert!(cleaned.contains("~~~\n    deep  \n~~~\n"));
}
