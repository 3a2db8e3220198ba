//! `--profile wireless`: support pages, cases, design documents, specifications (small texts of our
//! own), and the real pages of driver and srsRAN documentation.

use super::tool::{attribute, chunks, field, has_tag, preview, preview_texts, shared};

#[test]
fn a_support_page_gets_its_product_and_tags_by_what_it_speaks_of() {
    let about = "The gNodeB serves cells. A gNodeB has sectors. Restart the gNodeB.";
    let support = preview_texts(
        "wireless",
        "support",
        &[
            (
                "BTS5900/安装/a.md",
                &format!("# 安装 {{#id}}\n\n{about}\n\n上一篇：概述\n版权所有 © 公司\n"),
            ),
            ("BTS5900/eNodeB/b.md", "# B\n\nThe eNodeB and a gNodeB.\n"),
        ],
    );
    let page = support.at("BTS5900/安装/a.md");
    assert_eq!(
        (attribute(page, "product"), attribute(page, "data_type")),
        ("BTS5900", "product_documentation")
    );
    assert!(has_tag(page, "5G") && !has_tag(page, "4G"), "{page}");
    assert!(
        !field(page, "markdown").contains("版权所有")
            && !field(page, "markdown").contains("上一篇")
            && !field(page, "markdown").contains("{#id}")
    );
    let other = support.at("BTS5900/eNodeB/b.md");
    assert!(
        has_tag(other, "4G") && !has_tag(other, "5G"),
        "once in passing is no tag: {other}"
    );
}

#[test]
fn a_case_is_never_cut_and_its_title_names_the_product() {
    let long = "掉话率升高，检查切换参数后恢复。".repeat(400);
    let cases = preview_texts(
        "wireless",
        "icase",
        &[(
            "gNodeB/掉话.md",
            &format!("# 掉话率升高\n\n## 现象\n\n{long}\n\n## 处理\n\n{long}\n"),
        )],
    );
    let case = cases.at("gNodeB/掉话.md");
    assert_eq!(
        (field(case, "title"), field(case, "chunker"), chunks(case)),
        ("[gNodeB] 掉话率升高", "whole", 1)
    );
    assert!(has_tag(case, "5G"), "{case}");
}

#[test]
fn design_documents_know_their_owner_and_which_document_they_are_a_version_of() {
    let design = preview_texts(
        "wireless",
        "design",
        &[
            ("基带/载波聚合设计 V1.2.md", "# 载波聚合设计\n\n一\n"),
            ("基带/载波聚合设计_V2.0.md", "# 载波聚合设计\n\n二\n"),
            ("5G/概要.md", "# 概要\n\n三\n"),
        ],
    );
    let (old, new, plain) = (
        design.at("基带/载波聚合设计 V1.2.md"),
        design.at("基带/载波聚合设计_V2.0.md"),
        design.at("5G/概要.md"),
    );
    assert_eq!(
        (attribute(old, "department"), attribute(plain, "department")),
        ("基带开发部", "5G 无线产品部")
    );
    assert!(
        field(old, "markdown").starts_with("# 载波聚合设计\n\n**基带开发部**\n"),
        "{old}"
    );
    assert_eq!(old["edition"]["work"], new["edition"]["work"]);
    assert_eq!(
        (
            old["edition"]["version"].as_str(),
            new["edition"]["version"].as_str()
        ),
        (Some("1.2"), Some("2.0"))
    );
    assert!(
        plain["edition"].is_null(),
        "a document without a version stands for itself"
    );
    let sets = |document: &serde_json::Value| document["knowledge_sets"].to_string();
    assert!(
        sets(old).contains("baseband") && sets(plain).contains("radio-products"),
        "{} {}",
        sets(old),
        sets(plain)
    );
}

#[test]
fn specifications_get_their_number_from_the_file_name_and_lose_indentation() {
    let text =
        "# NR; RRC\n\n    The UE shall apply the default configuration.\n\n-\tone\n\t-\ttwo\n";
    let specifications = preview_texts(
        "wireless",
        "3gpp",
        &[
            ("38_series/38331-f40.md", text),
            ("38_series/38331-fa0.md", text),
            ("38_series/38331-g10.md", text),
            ("36_series/36331-f40.md", text),
        ],
    );
    let at = |path: &str| specifications.at(path);
    let first = at("38_series/38331-f40.md");
    assert_eq!(
        (
            field(first, "title"),
            attribute(first, "specification"),
            attribute(first, "product_version")
        ),
        ("38.331 NR; RRC", "38.331", "15.4.0")
    );
    assert!(
        has_tag(first, "5G") && has_tag(at("36_series/36331-f40.md"), "4G"),
        "{first}"
    );
    assert!(
        field(first, "markdown").contains("\nThe UE shall apply")
            && field(first, "markdown").contains("\n  -\ttwo"),
        "{first}"
    );
    let work = |path: &str| at(path)["edition"]["work"].clone();
    assert_eq!(
        work("38_series/38331-f40.md"),
        work("38_series/38331-fa0.md"),
        "two versions of release 15"
    );
    assert_ne!(
        work("38_series/38331-f40.md"),
        work("38_series/38331-g10.md"),
        "releases stand for themselves"
    );
    assert_eq!(
        at("38_series/38331-fa0.md")["edition"]["version"],
        "15.10.0"
    );
}

#[test]
fn driver_pages_lose_the_requirements_that_half_of_them_share() {
    let Some(folder) = shared("wireless-docs/zh") else {
        return;
    };
    let pages = preview("wireless", "windows-drivers", &[folder]);
    assert_eq!(pages.len(), 160);
    let holding = |text: &str| {
        pages
            .iter()
            .filter(|(_, page)| field(page, "markdown").contains(text))
            .count()
    };
    assert_eq!(
        holding("最低受支持的客户端"),
        1,
        "78 of 79; one names another header file, and a block is dropped whole or not"
    );
    let emptied = |page: &serde_json::Value| {
        field(page, "markdown")
            .trim_end()
            .ends_with("要求\n------------")
    };
    assert!(
        !pages.iter().any(|(_, page)| emptied(page)),
        "the heading above it goes too"
    );
    assert_eq!(holding("<a name"), 0);
    let categories = pages.count_by("category");
    assert!(
        categories["WLAN"] > 80 && categories["mobile broadband"] > 40,
        "{categories:?}"
    );
    let page = pages.at("mb-5g-operations-overview.md");
    assert_eq!(
        (field(page, "title"), attribute(page, "category")),
        ("MB 5G 操作概述", "mobile broadband")
    );
    assert!(has_tag(page, "5G"), "{}", page["tags"]);
    assert!(
        pages.tagged("WLAN") == categories["WLAN"] && pages.tagged("5G") < 40,
        "{}",
        pages.tagged("5G")
    );
}

#[test]
fn srsran_pages_have_their_placeholder_filled_in_and_folders_as_categories() {
    let Some(folder) = shared("wireless-docs/en") else {
        return;
    };
    let pages = preview("wireless", "srsran", &[folder]);
    assert_eq!(pages.len(), 54);
    let open = |page: &serde_json::Value| {
        field(page, "title").contains("project_name")
            || field(page, "markdown").contains("project_name")
    };
    assert_eq!(pages.iter().filter(|(_, page)| open(page)).count(), 0);
    let start = pages.at("index.rst");
    assert_eq!(field(start, "title"), "srsRAN Project Documentation");
    assert!(
        field(start, "markdown").starts_with("# srsRAN Project Documentation"),
        "a title that begins with the placeholder is a heading"
    );
    let page = pages.at("user_manuals/running_gnb.rst");
    assert_eq!(
        (attribute(page, "category"), attribute(page, "product")),
        ("user_manuals", "srsRAN Project")
    );
    assert_eq!(
        attribute(page, "link"),
        "https://docs.srsran.com/projects/project/en/latest/user_manuals/running_gnb/"
    );
    assert!(has_tag(page, "5G"), "{}", page["tags"]);
}
