//! `--profile tables` on real delimited files and workbooks.

use super::tool::{attribute, field, has_tag, preview, preview_texts, shared};

#[test]
fn delimited_files_are_tables_of_a_collection() {
    let Some(folder) = shared("tables-en") else {
        return;
    };
    let tables = preview("tables", "tables", &[folder.join("csv")]);
    assert_eq!(tables.len(), 60);
    assert_eq!(tables.count_by("category")["delimited text"], 60);
    let table = tables.at("203_654.csv");
    assert_eq!(
        (attribute(table, "table"), attribute(table, "data_type")),
        ("203_654", "table")
    );
    assert!(
        field(table, "markdown").contains("| Corinthians | 13 | 9 | 6 | 1 | 2 | 26 | 9 | 17 |"),
        "{}",
        field(table, "markdown")
    );
    assert_eq!(
        table["knowledge_sets"],
        serde_json::json!(["delimited", "tables"])
    );
    assert!(
        tables.tagged("time series") > 20,
        "{}",
        tables.tagged("time series")
    );
}

#[test]
fn workbooks_are_told_from_text() {
    let Some(folder) = shared("tables-xlsx") else {
        return;
    };
    let files: Vec<_> = ["inventory-table.xlsx", "date.xls", "merged_cells.ods"]
        .iter()
        .map(|name| folder.join(name))
        .collect();
    let workbooks = preview("tables", "tables", &files);
    for (path, workbook) in workbooks.iter() {
        assert_eq!(
            attribute(workbook, "category"),
            "workbook",
            "{path} is {}",
            workbook["media_type"]
        );
        assert!(has_tag(workbook, "workbook"));
    }
}

#[test]
fn exports_with_a_date_in_their_name_replace_each_other() {
    let csv = "region,sales\nnorth,3\n";
    let tables = preview_texts(
        "tables",
        "tables",
        &[
            ("sales/sales-2024-05.csv", csv),
            ("sales/sales-2024-06.csv", csv),
            ("sales/plan V2.csv", csv),
        ],
    );
    let edition = |path: &str| tables.at(path)["edition"].clone();
    assert_eq!(
        edition("sales/sales-2024-05.csv")["work"],
        edition("sales/sales-2024-06.csv")["work"]
    );
    assert_eq!(edition("sales/sales-2024-06.csv")["version"], "2024-06");
    assert_ne!(
        edition("sales/plan V2.csv")["work"],
        edition("sales/sales-2024-06.csv")["work"]
    );
    assert_eq!(
        attribute(tables.at("sales/plan V2.csv"), "collection"),
        "sales"
    );
}
