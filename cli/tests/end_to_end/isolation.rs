//! The real conversion process: what it does not survive costs one document.

use crate::harness::Workspace;

#[test]
fn a_document_that_needs_too_much_memory_is_refused_with_the_limit() {
    let workspace = Workspace::new().with("ingest.conversion_memory_bytes", "268435456");
    // Some hundreds of bytes of tree for each of these.
    let page = workspace.write("large.html", format!("<table>{}", "<tr><td>a<td>b".repeat(700_000)));
    workspace.run(["convert", &page.to_string_lossy()]).refused(1, &["268435456 bytes of memory", "ingest.conversion_memory_bytes"]);
}

#[test]
fn a_document_converts_the_same_with_and_without_a_process_of_its_own() {
    for isolate in ["true", "false"] {
        let workspace = Workspace::new().with("ingest.isolate_conversion", isolate);
        let file = workspace.write("a.md", "# 载波聚合\n\ntext\n");
        let converted = workspace.json(["convert", &file.to_string_lossy(), "--format", "json"]);
        assert_eq!(converted["markdown"].as_str().map(str::trim), Some("# 载波聚合\n\ntext"), "isolated: {isolate}");
        assert_eq!(converted["title"], "载波聚合");
    }
}

#[test]
fn tables_may_need_larger_temporary_files_than_pictures() {
    let workspace = Workspace::new().with("ingest.maximum_embedded_bytes", "100000").with("ingest.tables.memory_bytes", "65536");
    let rows: String = (0..100_000).map(|row| format!("{row},cell of row {row}\n")).collect();
    let file = workspace.write("large.csv", format!("number,text\n{rows}"));
    let converted = workspace.json(["convert", &file.to_string_lossy(), "--format", "json"]);
    assert_eq!(converted["metadata"]["rows"], "100000", "{}", converted["metadata"]);
}
