//! `--profile mindspore` on its 605 real pages.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use super::tool::{attribute, chunks, field, has_tag, json, preview, shared};

#[test]
fn the_documentation_is_described_and_cut_by_its_folders() {
    let Some(folder) = shared("mindspore/docs") else {
        return;
    };
    let pages = preview("mindspore", "mindspore", &[folder]);
    assert_eq!(pages.len(), 605);
    let categories = [
        ("api", 470),
        ("api_mapping", 70),
        ("design", 12),
        ("faq", 5),
        ("tutorial", 48),
    ];
    assert_eq!(
        pages.count_by("category"),
        BTreeMap::from(categories.map(|(name, count)| (name.to_owned(), count)))
    );
    assert_eq!(
        pages
            .iter()
            .filter(|(_, page)| attribute(page, "link").starts_with("https://www.mindspore.cn/"))
            .count(),
        605
    );

    let elu = pages.at("api/nn/mindspore.nn.ELU.rst");
    assert_eq!((field(elu, "chunker"), chunks(elu)), ("api", 1));
    assert_eq!(
        (
            attribute(elu, "subcategory"),
            attribute(elu, "api"),
            attribute(elu, "product_version")
        ),
        ("nn", "mindspore.nn.ELU", "master")
    );
    assert_eq!(
        attribute(elu, "link"),
        "https://www.mindspore.cn/docs/zh-CN/master/api_python/nn/mindspore.nn.ELU.html"
    );
    assert_eq!(elu["knowledge_sets"], serde_json::json!(["api", "common"]));
    assert!(
        pages
            .iter()
            .filter(|(_, page)| field(page, "chunker") == "api")
            .count()
            == 468
    );

    let faq = pages.at("faq/installation.md");
    assert_eq!(
        (attribute(faq, "subcategory"), field(faq, "chunker")),
        ("installation", "faq")
    );
    assert_eq!(
        attribute(faq, "link"),
        "https://www.mindspore.cn/docs/zh-CN/master/faq/installation.html"
    );
    assert!(
        has_tag(faq, "troubleshooting") && has_tag(faq, "Ascend"),
        "{}",
        faq["tags"]
    );
    let tutorial = pages.at("tutorials/parallel/overview.md");
    assert_eq!(
        attribute(tutorial, "link"),
        "https://www.mindspore.cn/tutorials/zh-CN/master/parallel/overview.html"
    );
    assert!(has_tag(tutorial, "parallel"));
    let feature = pages.at("design/features/compile/graph_optimization.md");
    assert_eq!(
        attribute(feature, "link"),
        "https://www.mindspore.cn/docs/zh-CN/master/features/compile/graph_optimization.html"
    );
}

#[test]
fn badges_and_hints_of_every_page_are_gone() {
    let Some(folder) = shared("mindspore/docs") else {
        return;
    };
    let pages = preview("mindspore", "mindspore", &[folder]);
    let holding = |text: &str| {
        pages
            .iter()
            .filter(|(_, page)| field(page, "markdown").contains(text))
            .count()
    };
    assert_eq!(
        holding("查看源文件"),
        0,
        "the badge that leads to the source stands on 136 pages"
    );
    assert!(
        field(pages.at("faq/installation.md"), "markdown").starts_with("# 安装\n\n\n## Pip安装")
    );
}

#[test]
fn a_file_is_cut_as_the_profile_says_of_its_path() {
    let Some(page) = shared("mindspore/docs/api/nn/mindspore.nn.Conv2d.rst") else {
        return;
    };
    let of_source = [
        "--profile",
        "mindspore",
        "chunk",
        "--source",
        "mindspore",
        "--path",
        "api/nn/mindspore.nn.Conv2d.rst",
        "--format",
        "json",
    ];
    let mut arguments: Vec<&OsStr> = of_source.map(OsStr::new).to_vec();
    arguments.push(page.as_os_str());
    let cut = json(arguments);
    let chunks = cut["chunks"].as_array().unwrap();
    assert_eq!(chunks.len(), 1);
    let api = &chunks[0]["api"];
    assert_eq!(
        (
            chunks[0]["kind"].as_str(),
            api["parameters"].as_array().unwrap().len()
        ),
        (Some("api"), 13)
    );
    assert_eq!(api["parameters"][4]["name"], "pad_mode");
    assert!(api["returns"].is_null() && api["outputs"].as_str().unwrap().starts_with("Tensor"));
}
