//! `--profile os-course` on the real textbook, and on a source file of our own.

use super::tool::{attribute, field, has_tag, preview, preview_texts, shared};

#[test]
fn chapters_are_described_by_their_folder() {
    let Some(folder) = shared("os-textbook/docs") else {
        return;
    };
    let book = preview("os-course", "textbook", &[folder]);
    assert_eq!(book.len(), 62);
    let subjects = book.count_by("category");
    assert_eq!(
        (
            subjects["memory"],
            subjects["processes"],
            subjects["concurrency"],
            subjects["appendix"],
            subjects[""]
        ),
        (8, 5, 7, 2, 2)
    );
    let page = book.at("chapter4/0intro.rst");
    assert_eq!(
        (attribute(page, "chapter"), attribute(page, "data_type")),
        ("4", "textbook")
    );
    assert_eq!(
        attribute(page, "link"),
        "https://rcore-os.cn/rCore-Tutorial-Book-v3/chapter4/0intro.html"
    );
    assert!(
        has_tag(page, "introduction") && has_tag(page, "memory"),
        "{}",
        page["tags"]
    );
    assert!(
        book.tagged("RISC-V") > 10 && book.tagged("Rust") > 20,
        "{} {}",
        book.tagged("RISC-V"),
        book.tagged("Rust")
    );
    let exercises = book
        .iter()
        .filter(|(_, page)| {
            field(page, "markdown")
                .lines()
                .any(|line| line.starts_with("## 练习"))
        })
        .count();
    assert_eq!(exercises, 0);
}

#[test]
fn exercises_are_left_out_and_source_files_know_their_part() {
    let book = preview_texts(
        "os-course",
        "textbook",
        &[(
            "chapter2/9.md",
            "# 批处理系统\n\n正文\n\n## 课后练习\n\n1. 问题\n\n### 编程题\n\n写程序\n\n## 小结\n\n完\n",
        )],
    );
    let page = book.at("chapter2/9.md");
    assert_eq!(
        field(page, "markdown"),
        "# 批处理系统\n\n正文\n\n## 小结\n\n完\n"
    );
    let code = preview_texts(
        "os-course",
        "kernel-code",
        &[
            (
                "kernel/sched/core.c",
                "int schedule(void)\n{\n\treturn 0;\n}\n",
            ),
            ("mm/slub.c", "int x;\n"),
        ],
    );
    let scheduler = code.at("kernel/sched/core.c");
    assert_eq!(
        (
            attribute(scheduler, "category"),
            attribute(scheduler, "subcategory")
        ),
        ("kernel", "sched")
    );
    assert!(has_tag(scheduler, "scheduling") && has_tag(code.at("mm/slub.c"), "memory"));
    assert_eq!(
        attribute(code.at("mm/slub.c"), "subcategory"),
        "",
        "a file without a folder below"
    );
}
