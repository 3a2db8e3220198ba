//! Golden pairs, encodings, limits and hostile texts.
#![allow(clippy::unwrap_used)]

use encoding_rs::Encoding;
use tributary_schemas::ErrorKind;

use super::*;
use crate::config::Config;
use crate::sheets::tables::test_support::{damaged, query};

fn convert_with(bytes: &[u8], config: &Config) -> Result<Converted> {
    convert(
        bytes,
        &config.csv,
        &config.tables,
        &Limits::starting_now(config),
    )
}

fn converted(text: &str) -> Converted {
    convert_with(text.as_bytes(), &Config::default()).unwrap()
}

#[test]
fn a_table_is_written_twice() {
    let table = converted(
        "name;sum;rate;day;code;note\nAnn;1;0.5;2024-01-02;007;a|b\n\nBob;n/a;2;2024/2/9;008;\"two\nlines\"\n",
    );
    let expected = "\
| name | sum | rate | day | code | note |
| --- | --- | --- | --- | --- | --- |
| Ann | 1 | 0.5 | 2024-01-02 | 007 | a\\|b |
| Bob | n/a | 2 | 2024/2/9 | 008 | two<br>lines |
";
    assert_eq!(table.markdown, expected);
    assert_eq!(
        query(&table, "SELECT * FROM data"),
        [
            "'Ann'|1|0.5|'2024-01-02'|'007'|'a|b'",
            "'Bob'|NULL|2.0|'2024-02-09'|'008'|'two\nlines'"
        ]
    );
    let types = "SELECT group_concat(type) FROM (SELECT type FROM _columns ORDER BY position)";
    assert_eq!(query(&table, types), ["'TEXT,INTEGER,REAL,DATE,TEXT,TEXT'"]);
    assert_eq!(
        query(&table, "SELECT * FROM _tables"),
        ["'data'|'data'|''|'A1:F3'|1|2"]
    );
    assert_eq!(
        table.metadata.get("delimiter").map(String::as_str),
        Some(";")
    );
}

#[test]
fn quotes_behind_backslashes_are_read() {
    let table = converted(
        "\"Team\",\"Height\",\"Note\"\n\"Ann\",\"5'8\\\"\",\"says \\\"a, b\\\"\"\n\"Bob\",\"6'\",\"x\"\n",
    );
    let expected = "\
| Team | Height | Note |
| --- | --- | --- |
| Ann | 5'8\" | says \"a, b\" |
| Bob | 6' | x |
";
    assert_eq!(table.markdown, expected);
    assert_eq!(
        query(&table, "SELECT Note FROM data WHERE Team = 'Ann'"),
        ["'says \"a, b\"'"]
    );
}

#[test]
fn titles_and_missing_headers() {
    let table = converted("Stanley Cups,,\nTeam,Location,Stanley Cups\nBlues,STL,1\n");
    assert_eq!(
        query(&table, "SELECT real_title, header_rows, rows FROM _tables"),
        ["'Stanley Cups'|1|1"]
    );
    assert_eq!(query(&table, "SELECT Stanley_Cups FROM data"), ["1"]);
    let table = converted("1,2\n3,4\n");
    assert_eq!(query(&table, "SELECT c1, c2 FROM data"), ["1|2", "3|4"]);
    assert_eq!(converted("").markdown, "");
    assert!(converted(" \n\n").blobs.is_empty());
}

#[test]
fn what_an_export_says_of_itself_stands_above_its_table() {
    let exports = [
        "Report,Sales by region\nGenerated,2024-05-01 08:00\n\nregion,sum,share\nnorth,5,0.5\nsouth,5,0.5\n",
        "Report,Sales by region,\nGenerated,2024-05-01 08:00,\n,,\nregion,sum,share\nnorth,5,0.5\nsouth,5,0.5\n",
    ];
    for export in exports {
        let table = converted(export);
        let expected = "\
| Report | Sales by region |
| --- | --- |
| Generated | 2024-05-01 08:00 |

| region | sum | share |
| --- | --- | --- |
| north | 5 | 0.5 |
| south | 5 | 0.5 |
";
        assert_eq!(table.markdown, expected);
        assert_eq!(query(&table, "SELECT sum(sum) FROM data_2"), ["10"]);
    }
}

#[test]
fn what_decorates_a_title_is_no_part_of_it() {
    let table = converted("# ------\n# Pages and screens\n# ------\npage,views\n/a,5\n/b,6\n");
    let name = query(&table, "SELECT real_title FROM _tables");
    assert_eq!(name, ["'Pages and screens'"]);
}

#[test]
fn lines_about_an_export_need_no_blank_line_below() {
    let invoices = converted(
        "Report;Open invoices\nCreated;2024-05-01\nCurrency;EUR\nInvoice;Customer;Due;Amount\n1;A;2024-06-01;5\n2;B;2024-07-01;6\n",
    );
    assert_eq!(query(&invoices, "SELECT sum(Amount) FROM data_2"), ["11"]);
    assert_eq!(query(&invoices, "SELECT count(*) FROM data_1"), ["2"]);
    let pages = "# -----\n# Pages\n# All users\n# 20240501-20240531\n# -----\n# Property: shop\n# Source: web\nPage,Views,Users\n/a,5,2\n/b,6,3\n";
    let pages = converted(pages);
    assert_eq!(query(&pages, "SELECT sum(Views) FROM data_2"), ["11"]);
    assert!(pages.markdown.contains("| Page | Views | Users |"));
    // A table of two columns has no lines about it.
    let narrow = converted("a,b\n1,2\n3,4\n5,6,7\n8,9,10\n11,12,13\n");
    assert_eq!(query(&narrow, "SELECT count(*) FROM _tables"), ["1"]);
}

#[test]
fn decimal_commas_are_read_where_a_file_writes_them() {
    let table = converted(
        "Filiale;Umsatz;Anteil;Preis;Menge\nKöln;1.234;12,5 %;3,50 EUR;1,5\nBonn;12.500;7,5 %;1.250,00 EUR;-89,00\nAachen;850;80 %;2,00 EUR;1.000,25\n",
    );
    assert_eq!(
        query(&table, "SELECT sum(Umsatz), sum(Menge) FROM data"),
        ["14584|912.75"]
    );
    assert!(
        table
            .markdown
            .contains("| Köln | 1.234 | 12,5 % | 3,50 EUR | 1,5 |")
    );
    // Decimal points elsewhere in the file, or no decimals at all, and a point is a point.
    for text in ["a;b\n1.234;2,5\n3.5;4\n", "a;b\n1.234;2\n5.678;3\n"] {
        assert_eq!(
            query(&converted(text), "SELECT a FROM data LIMIT 1"),
            ["1.234"],
            "{text}"
        );
    }
}

#[test]
fn tables_below_each_other_are_told_apart() {
    let table = converted(
        "city,people\nOslo,7\nLima,10\n\nriver,length\nNile,6650\nElbe,1094\n\nTotal,7744\n",
    );
    let expected = "\
| city | people |
| --- | --- |
| Oslo | 7 |
| Lima | 10 |

| river | length |
| --- | --- |
| Nile | 6650 |
| Elbe | 1094 |
| Total | 7744 |
";
    assert_eq!(table.markdown, expected);
}

#[test]
fn blank_lines_within_a_table_part_nothing() {
    let one_table = [
        "name,city,note\nAnn,Oslo,\n\nBob,Lima,x\nCid,Rome,\n",
        "name,age\n\nAnn,20\n\nBob,30\n\n",
        "name,age\nAnn,20\nBob,30\n\nCid,40\nDan,50\n",
        "1,2\n3,4\n\n5,6\n7,8\n",
        "Sales\n\nregion,sum\nnorth,5\nsouth,6\n",
    ];
    for text in one_table {
        let table = converted(text);
        assert_eq!(
            query(&table, "SELECT count(*) FROM _tables"),
            ["1"],
            "{text}"
        );
    }
    let many = "a,b\n1,2\n3,4\n\n".repeat(65);
    let table = converted(&many);
    assert_eq!(query(&table, "SELECT count(*) FROM _tables"), ["1"]);
}

#[test]
fn long_tables_repeat_their_header_and_end_with_a_note() {
    let text = "T,\na,b\n".to_owned() + &(0..7).map(|row| format!("{row},x\n")).collect::<String>();
    let mut config = Config::default();
    config.tables.rows_per_group = 2;
    config.tables.maximum_markdown_rows = 5;
    let table = convert_with(text.as_bytes(), &config).unwrap();
    let expected = "\
T

| a | b |
| --- | --- |
| 0 | x |
| 1 | x |

| a | b |
| --- | --- |
| 2 | x |
| 3 | x |

| a | b |
| --- | --- |
| 4 | x |

*2 more rows of this table are only in the database tables.sqlite, table data.*
";
    assert_eq!(table.markdown, expected);
    assert_eq!(query(&table, "SELECT count(*) FROM data"), ["7"]);
    config.tables.write_database = false;
    let table = convert_with(text.as_bytes(), &config).unwrap();
    assert!(
        table
            .markdown
            .ends_with("*2 more rows of this table are not shown.*\n")
            && table.blobs.is_empty(),
        "{}",
        table.markdown
    );
}

#[test]
fn every_encoding_reads_the_same() {
    let chinese = "姓名,城市,说明\n张三,北京,配置完成以后需要检查\n李四,上海,提高小区的峰值速率\n";
    let traditional = "姓名,城市,說明\n張三,臺北,設定完成以後需要檢查鄰區關係\n李四,高雄,並且確認參數是否正確無誤\n";
    let japanese = "名前,都市,説明\nたなか,とうきょう,ピークレートを向上させることができます\nさとう,おおさか,設定を確認してください\n";
    let western = "Name,Stadt,Straße\nMüller,Köln,Große Straße\nJäger,Düren,Über den Höfen\n";
    for (text, labels) in [
        (chinese, vec!["utf-8", "gbk", "gb18030"]),
        (traditional, vec!["big5"]),
        (japanese, vec!["shift_jis", "euc-jp"]),
        (western, vec!["windows-1252", "utf-8"]),
    ] {
        let expected = converted(text).markdown;
        for label in labels {
            let bytes = Encoding::for_label(label.as_bytes())
                .unwrap()
                .encode(text)
                .0
                .into_owned();
            assert_eq!(
                convert_with(&bytes, &Config::default()).unwrap().markdown,
                expected,
                "{label}"
            );
        }
        let utf_16: Vec<u8> = [0xFEFF]
            .into_iter()
            .chain(text.encode_utf16())
            .flat_map(u16::to_le_bytes)
            .collect();
        assert_eq!(
            convert_with(&utf_16, &Config::default()).unwrap().markdown,
            expected
        );
    }
}

#[test]
fn limits_are_named() {
    let mut config = Config::default();
    config.csv.maximum_columns = 5;
    let error = convert_with(b"a,b\n1,2,3,4,5,6,7\n", &config).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.full_message().contains("convert.csv.maximum_columns"));
    let mut config = Config::default();
    config.tables.maximum_database_bytes = 64 << 10;
    let text = "a,b\n".to_owned()
        + &(0..20_000)
            .map(|row| format!("text {row},{row}\n"))
            .collect::<String>();
    let error = convert_with(text.as_bytes(), &config).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(
        error
            .full_message()
            .contains("convert.tables.maximum_database_bytes")
    );
    config.conversion_timeout_ms = 0;
    assert_eq!(
        convert_with(text.as_bytes(), &config).unwrap_err().kind(),
        ErrorKind::Invalid
    );
    assert_eq!(
        convert_with(b"\0\x01\x02\x03\0\0\x05", &Config::default())
            .unwrap_err()
            .kind(),
        ErrorKind::Unsupported
    );
}

#[test]
fn wide_tables_say_what_is_not_in_the_database() {
    let mut config = Config::default();
    config.tables.maximum_database_columns = 2;
    let table = convert_with(b"a,b,c\n1,2,3\n", &config).unwrap();
    assert_eq!(query(&table, "SELECT * FROM data"), ["1|2"]);
    assert!(
        table
            .markdown
            .contains("The last 1 columns of this table are not in the database"),
        "{}",
        table.markdown
    );
}

#[test]
fn a_large_text_goes_through_a_file_and_gives_the_same_bytes() {
    let text = "id,name\n".to_owned()
        + &(0..5000)
            .map(|row| format!("{row},name {row}\n"))
            .collect::<String>();
    let mut config = Config::default();
    config.tables.memory_bytes = 1000;
    let first = convert_with(text.as_bytes(), &config).unwrap();
    assert_eq!(first, convert_with(text.as_bytes(), &config).unwrap());
    assert_eq!(
        query(&first, "SELECT count(*), sum(id) FROM data"),
        ["5000|12497500"]
    );
    assert_eq!(first.markdown, converted(&text).markdown);
}

#[test]
fn damaged_texts_end() {
    let text = "name;sum\n\"a;\"\"b\"\"\n\";1\n'c';2\r\n\u{C}页;\"3\n".repeat(30);
    for bytes in damaged(text.as_bytes(), 300) {
        match convert_with(&bytes, &Config::default()) {
            Ok(table) => assert!(!table.markdown.contains('\u{C}')),
            Err(error) => assert!(
                matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Invalid),
                "{error}"
            ),
        }
    }
}
