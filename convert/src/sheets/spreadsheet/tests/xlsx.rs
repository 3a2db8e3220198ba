//! xlsx workbooks.

use super::*;
use crate::sheets::tables::test_support::query;

const STYLES: &str = r##"<styleSheet><numFmts><numFmt numFmtId="164" formatCode="#,##0.00&quot; kg&quot;"/></numFmts>
<cellStyleXfs><xf numFmtId="9"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="10"/><xf numFmtId="164"/><xf numFmtId="22"/></cellXfs></styleSheet>"##;

const TEXTS: &str = r#"<sst count="9" uniqueCount="4000000000"><si><t>item</t></si><si><r><t>w</t></r><r><rPr/><t xml:space="preserve">eight </t></r><rPh sb="0" eb="1"><t>phonetic</t></rPh></si><si/><si><t>a_x000D_&amp;&#x4E2D;</t></si></sst>"#;

#[test]
fn cells_are_shown_as_people_see_them_and_typed_in_the_database() {
    let content = r##"<sheetData>
<row r="3"><c r="B3" t="s"><v>0</v></c><c r="C3" t="s"><v>1</v></c><c r="D3" t="inlineStr"><is><t>day</t></is></c><c r="E3" t="str"><f>"sh"&amp;"are"</f><v>share</v></c><c r="F3" t="str"><v>ok</v></c><c r="G3" t="str"><v>at</v></c></row>
<row r="4"><c r="B4" t="s"><v>3</v></c><c r="C4" s="3"><v>1234.5</v></c><c r="D4" s="1"><v>45351</v></c><c r="E4" s="2"><f>1/4</f><v>0.25</v></c><c r="F4" t="b"><v>1</v></c><c r="G4" s="4"><v>45351.75</v></c></row>
<row><c t="inlineStr"><is><t>A</t></is></c><c t="s"><v>2</v></c><c s="3"><v>2</v></c><c t="d"><v>2024-03-01T00:00:00</v></c><c t="e"><v>#DIV/0!</v></c><c r="F5" t="b"><v>0</v></c><c r="XFE5"><v>9</v></c></row>
</sheetData>"##;
    let styles = [("xl/styles.xml", STYLES), ("xl/sharedStrings.xml", TEXTS)];
    let book = converted(&xlsx(
        &[("S 1", "", content)],
        &styles,
        CompressionMethod::Deflated,
    ));
    let expected = "\
## S 1

| | item | weight | day | share | ok | at |
| --- | --- | --- | --- | --- | --- | --- |
| | a<br>&中 | 1,234.50 kg | 2024-02-29 | 25.00% | TRUE | 2024-02-29 18:00:00 |
| A | | 2.00 kg | 2024-03-01 | #DIV/0! | FALSE | |
";
    assert_eq!(book.markdown, expected);
    assert_eq!(
        query(&book, "SELECT * FROM S_1"),
        [
            "NULL|'a\r&中'|1234.5|'2024-02-29'|0.25|1|'2024-02-29 18:00:00'",
            "'A'|NULL|2.0|'2024-03-01'|NULL|0|NULL"
        ]
    );
    assert_eq!(
        query(
            &book,
            "SELECT column_name, real_name, type FROM _columns WHERE position IN (1, 3)"
        ),
        ["'c1'|''|'TEXT'", "'weight'|'weight'|'REAL'"]
    );
}

#[test]
fn a_formula_without_a_value_is_shown_and_counts_as_none() {
    let content = r#"<sheetData><row r="1"><c r="A1" t="str"><v>item</v></c><c r="B1" t="str"><v>sum</v></c><c r="C1" t="str"><v>note</v></c></row>
<row r="2"><c r="A2" t="str"><v>x</v></c><c r="B2"><v>2</v></c><c r="C2" t="str"><f>IF(B2&gt;9,"many","")</f><v></v></c></row>
<row r="3"><c r="A3" t="str"><v>all</v></c><c r="B3"><f>SUM(B2:B2)</f><v></v></c><c r="C3"><f>B3*2</f></c></row></sheetData>"#;
    let book = converted(&sheet(content));
    assert_eq!(
        book.markdown,
        "## S\n\n| item | sum | note |\n| --- | --- | --- |\n| x | 2 | |\n| all | =SUM(B2:B2) | =B3\\*2 |\n"
    );
    assert_eq!(query(&book, "SELECT sum FROM S"), ["'2'", "'=SUM(B2:B2)'"]);
    let without = book.metadata.get("formulas_without_values");
    assert_eq!(without.map(String::as_str), Some("2"));
}

#[test]
fn hidden_things_are_dropped_unless_they_are_wanted() {
    let content = r#"<cols><col min="2" max="2" hidden="1"/></cols><sheetData>
<row r="1"><c r="A1"><v>1</v></c><c r="B1"><v>2</v></c><c r="C1"><v>3</v></c></row>
<row r="2" hidden="1"><c r="A2"><v>4</v></c></row>
<row r="3"><c r="A3"><v>5</v></c><c r="B3"><v>6</v></c><c r="C3"><v>7</v></c></row></sheetData>"#;
    let sheets = [
        ("Shown", "", content),
        ("Secret", r#"state="hidden""#, content),
        ("Deep", r#"state="veryHidden""#, content),
    ];
    let bytes = xlsx(&sheets, &[], CompressionMethod::Deflated);
    let book = converted(&bytes);
    assert_eq!(
        book.markdown, "## Shown\n\n| 1 | 3 |\n| --- | --- |\n| 5 | 7 |\n",
        "a hidden row parts no table"
    );
    assert_eq!(
        book.metadata.get("hidden_sheets").map(String::as_str),
        Some("Secret, Deep")
    );
    let mut config = Config::default();
    config.spreadsheet.hidden_sheets = true;
    config.spreadsheet.hidden_rows_and_columns = true;
    let book = convert_with(&bytes, &config).unwrap();
    assert_eq!(
        book.markdown
            .matches("| 1 | 2 | 3 |\n| --- | --- | --- |\n| 4 | | |\n| 5 | 6 | 7 |\n")
            .count(),
        3,
        "{}",
        book.markdown
    );
    assert_eq!(book.markdown.matches("\n\u{C}## ").count(), 2);
    let filtered = content.replace("<cols>", r#"<sheetPr filterMode="1"/><cols>"#);
    assert!(converted(&sheet(&filtered)).markdown.contains("| 4 | |\n"));
}

#[test]
fn merged_cells_and_links_are_filled_in() {
    let cell = |name: &str, text: &str| format!(r#"<c r="{name}" t="str"><v>{text}</v></c>"#);
    let rows = [
        ("1", vec![cell("A1", "group"), cell("B1", "amounts")]),
        ("2", vec![cell("B2", "plan"), cell("C2", "real")]),
        (
            "3",
            vec![
                cell("A3", "north"),
                r#"<c r="B3"><v>1</v></c><c r="C3"><v>2</v></c>"#.to_owned(),
            ],
        ),
        (
            "4",
            vec![r#"<c r="B4"><v>3</v></c><c r="C4"><v>4</v></c>"#.to_owned()],
        ),
    ];
    let rows: String = rows
        .iter()
        .map(|(row, cells)| format!(r#"<row r="{row}">{}</row>"#, cells.concat()))
        .collect();
    let after = r#"<mergeCells><mergeCell ref="A1:A2"/><mergeCell ref="B1:C1"/><mergeCell ref="A3:A4"/><mergeCell ref="A1:XFD1048576"/></mergeCells>
<hyperlinks><hyperlink ref="A3" r:id="l1"/><hyperlink ref="B2" location="S!A1"/></hyperlinks>"#;
    let links = r#"<Relationships><Relationship Id="l1" Type="x/hyperlink" Target="https://host/a b" TargetMode="External"/></Relationships>"#;
    let content = format!("<sheetData>{rows}</sheetData>{after}");
    let bytes = xlsx(
        &[("S", "", &content)],
        &[("xl/worksheets/_rels/s0.xml.rels", links)],
        CompressionMethod::Deflated,
    );
    let book = converted(&bytes);
    let expected = "\
## S

| group | amounts | amounts |
| --- | --- | --- |
| group | plan | real |
| [north](<https://host/a b>) | 1 | 2 |
| [north](<https://host/a b>) | 3 | 4 |
";
    assert_eq!(book.markdown, expected);
    assert_eq!(
        query(&book, "SELECT * FROM S"),
        ["'north'|1|2", "'north'|3|4"]
    );
    assert_eq!(
        query(&book, "SELECT real_name FROM _columns ORDER BY position"),
        ["'group'", "'amounts / plan'", "'amounts / real'"]
    );
}

#[test]
fn tables_side_by_side_have_their_own_database_tables() {
    let cells = |row: u32, texts: &[(&str, &str)]| {
        let cells: String = texts
            .iter()
            .map(|(column, text)| format!(r#"<c r="{column}{row}" t="str"><v>{text}</v></c>"#))
            .collect();
        format!(r#"<row r="{row}">{cells}</row>"#)
    };
    let rows = [
        cells(1, &[("A", "People of 2024")]),
        cells(
            3,
            &[("A", "name"), ("B", "city"), ("D", "code"), ("E", "label")],
        ),
        cells(4, &[("A", "Ann"), ("B", "Rome"), ("D", "x"), ("E", "# y")]),
        cells(7, &[("A", "1. note")]),
    ];
    let book = converted(&sheet(&format!("<sheetData>{}</sheetData>", rows.concat())));
    let expected = "## S\n\nPeople of 2024\n\n| name | city |\n| --- | --- |\n| Ann | Rome |\n\n| code | label |\n| --- | --- |\n| x | # y |\n\n1\\. note\n";
    assert_eq!(book.markdown, expected);
    assert_eq!(
        query(
            &book,
            "SELECT table_name, sheet, real_title, range FROM _tables"
        ),
        ["'S_2'|'S'|'People of 2024'|'A3:B4'", "'S_3'|'S'|''|'D3:E4'"]
    );
    assert_eq!(
        query(&book, "SELECT * FROM _notes"),
        ["'S'|'A1'|'People of 2024'", "'S'|'A7'|'1. note'"]
    );
}

#[test]
fn charts_and_missing_parts_are_noted() {
    let content = r#"<sheetData><row r="1"><c r="A1"><v>1</v></c></row></sheetData>"#;
    let bytes = xlsx(
        &[("A", "", content), ("B", "", content)],
        &[(
            "docProps/core.xml",
            "<p><dc:title>Sales &amp; more</dc:title></p>",
        )],
        CompressionMethod::Stored,
    );
    assert_eq!(converted(&bytes).title.as_deref(), Some("Sales & more"));
    let relationships = r#"<Relationships><Relationship Id="s0" Type="x/chartsheet" Target="c.xml"/><Relationship Id="s1" Type="x/worksheet" Target="none.xml"/><Relationship Id="s2" Type="x/worksheet" Target="c.xml"/></Relationships>"#;
    let workbook = r#"<workbook><sheets><sheet name="A" r:id="s0"/><sheet name="B" r:id="s1"/><sheet name="C" r:id="s2"/></sheets></workbook>"#;
    let parts: [(&str, &[u8]); 4] = [
        ("xl/c.xml", b"<worksheet/>"),
        ("_rels/.rels", ROOT_RELATIONSHIPS.as_bytes()),
        ("xl\\workbook.xml", workbook.as_bytes()),
        ("xl\\_rels\\workbook.xml.rels", relationships.as_bytes()),
    ];
    let book = converted(&zipped_parts(&parts, CompressionMethod::Stored));
    assert_eq!(
        book.metadata.get("chart_sheets").map(String::as_str),
        Some("A")
    );
    assert!(
        book.metadata
            .get("damaged")
            .is_some_and(|text| text.contains("xl/none.xml is missing")),
        "{:?}",
        book.metadata
    );
}

#[test]
fn text_boxes_stand_after_the_tables() {
    let content =
        r#"<sheetData><row r="1"><c r="A1"><v>1</v></c></row></sheetData><drawing r:id="d"/>"#;
    let links = r#"<Relationships><Relationship Id="d" Type="x/drawing" Target="../drawings/d.xml"/></Relationships>"#;
    let drawing = "<xdr:wsDr><xdr:sp><xdr:txBody><a:p><a:r><a:t>Mind </a:t></a:r><a:r><a:t>the gap</a:t></a:r></a:p><a:p/></xdr:txBody></xdr:sp></xdr:wsDr>";
    let more = [
        ("xl/worksheets/_rels/s0.xml.rels", links),
        ("xl/drawings/d.xml", drawing),
    ];
    assert_eq!(
        converted(&xlsx(
            &[("S", "", content)],
            &more,
            CompressionMethod::Stored
        ))
        .markdown,
        "## S\n\n1\n\nMind the gap\n"
    );
}

#[test]
fn a_workbook_without_a_readable_sheet_is_corrupt() {
    let whole = r#"<sheetData><row r="1"><c r="A1"><v>1</v></c></row></sheetData>"#;
    let book = converted(&xlsx(
        &[("A", "", "<sheetData><row"), ("B", "", whole)],
        &[],
        CompressionMethod::Stored,
    ));
    assert!(
        book.markdown.ends_with("## B\n\n1\n") && book.metadata.contains_key("damaged"),
        "{}",
        book.markdown
    );
    assert_eq!(
        failure(&xlsx(
            &[("A", "", "<sheetData><row"), ("B", "", "<x")],
            &[],
            CompressionMethod::Stored
        ))
        .kind(),
        ErrorKind::Corrupt
    );
}
