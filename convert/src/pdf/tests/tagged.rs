//! Tagged PDF through the whole converter.

use super::maker::{self, text};
use super::tagged_maker::{
    Element, artifact, continued, document, group, head, leaf, marked, mixed, page_object,
};
use super::*;

/// Far above what each case takes.
const LIMIT: Duration = Duration::from_secs(10);

fn page(
    content: impl IntoIterator<Item = String>,
    elements: Vec<Element>,
) -> (String, Vec<Element>) {
    (content.into_iter().collect(), elements)
}

/// The Markdown of a document that is read by its tags.
fn told(bytes: &[u8], config: &Config) -> String {
    let found = converted(bytes, config).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(found.converter, TAGGED_NAME, "{}", found.markdown);
    found.markdown
}

/// Whether a document is read by geometry although it has tags.
fn is_untrusted(bytes: &[u8], config: &Config) -> bool {
    let found = converted(bytes, config).unwrap_or_else(|error| panic!("{error}"));
    found.converter == NAME && !found.metadata.contains_key(TAGGED_PAGES)
}

#[test]
fn tags_tell_what_letters_do_not() {
    let Some(config) = pdfium() else { return };
    let content = [
        artifact(72.0, 770.0, "The Book of Examples"),
        marked(0, 72.0, 700.0, "A plain title"),
        marked(1, 72.0, 680.0, "Some text that goes on in the"),
        marked(2, 72.0, 668.0, "next line of the page"),
        marked(3, 280.0, 668.0, "1"),
        marked(4, 72.0, 650.0, "-"),
        marked(5, 90.0, 650.0, "an item"),
        marked(6, 108.0, 638.0, "an inner one"),
        marked(7, 72.0, 620.0, "\\(b\\)"),
        marked(8, 90.0, 620.0, "a lettered one"),
        marked(9, 72.0, 600.0, "1"),
        marked(10, 80.0, 600.0, "A note at the foot"),
        artifact(300.0, 30.0, "7"),
    ];
    let elements = vec![
        leaf("H2", [0]),
        mixed("P", [1, 2, 3], leaf_note()),
        group(
            "L",
            [
                group(
                    "LI",
                    [
                        leaf("Lbl", [4]),
                        leaf("LBody", [5]),
                        group("L", [leaf("LI", [6])]),
                    ],
                ),
                group("LI", [leaf("Lbl", [7]), leaf("LBody", [8])]),
            ],
        ),
    ];
    let bytes = document(&[page(content, elements)]);
    let expected = "## A plain title\n\nSome text that goes on in the next line of the page 1\n\n\
        1 A note at the foot\n\n- an item\n  - an inner one\n- (b) a lettered one\n";
    assert_eq!(told(&bytes, &config), expected);
    let metadata = converted(&bytes, &config).map(|found| found.metadata);
    let metadata = metadata.ok().unwrap_or_default();
    let entry = |name: &str| metadata.get(name).map(String::as_str);
    assert_eq!(entry("running_lines"), Some("The Book of Examples"));
    assert_eq!(entry("tagged_pages"), Some("1"));
}

fn leaf_note() -> Element {
    group("Note", [leaf("Lbl", [9]), leaf("P", [10])])
}

#[test]
fn tables_have_their_cells_where_tags_put_them() {
    let Some(config) = pdfium() else { return };
    let content = (0..8).map(|id| {
        let (row, column) = ([0, 0, 0, 1, 1, 2, 2, 3][id], [0, 1, 2, 0, 2, 1, 2, 2][id]);
        marked(
            id,
            72.0 + 150.0 * column as f32,
            700.0 - 20.0 * row as f32,
            ["Name", "Unit", "Value", "power", "1", "dBm", "2", "3"][id],
        )
    });
    let header = |id, entries| leaf("TH", [id]).with(entries);
    let row = |cells: Vec<Element>| group("TR", cells);
    let spans = "/A << /O /Table /RowSpan 2 /ColSpan 1 >>";
    let named = "/A << /O /Table /Headers [(value)] >>";
    let table = group(
        "Table",
        [
            row(vec![
                header(0, "/ID (name) /A << /O /Table /Scope /Column >>"),
                header(1, "/ID (unit) /A << /O /Table /Scope /Column >>"),
                header(2, "/ID (value) /A << /O /Table /Scope /Column >>"),
            ]),
            row(vec![
                leaf("TD", [3]).with(spans),
                leaf("TD", [4]).with(named),
            ]),
            row(vec![leaf("TD", [5]), leaf("TD", [6])]),
            row(vec![leaf("TD", [7])]),
        ],
    );
    let expected = "| Name | Unit | Value |\n| --- | --- | --- |\n| power |  | 1 |\n| power | dBm | 2 |\n|  |  | 3 |\n";
    let second = [marked(0, 72.0, 700.0, "dB"), marked(1, 222.0, 700.0, "4")];
    let goes_on = row(vec![
        leaf("TD", [0]).with("/A << /O /Table /Headers [(unit)] >>"),
        leaf("TD", [1]).with(named),
    ]);
    let bytes = document(&[
        page(content, vec![table]),
        page(second, vec![group("Table", [goes_on])]),
    ]);
    let expected = format!("{expected}\u{c}|  | dB | 4 |\n");
    assert_eq!(told(&bytes, &config), expected);
}

/// A head that is printed again has content on both pages, and so has a row that the page breaks.
/// A table whose second row goes on with a text on the next page, below the head that is printed
/// again; with another row below it or not.
fn broken_row(rest: &str, has_more: bool) -> Vec<u8> {
    let head = ["Part", "Torque of the part"];
    let first = [
        marked(0, 72.0, 700.0, head[0]),
        marked(1, 172.0, 700.0, head[1]),
        marked(2, 72.0, 680.0, "V-12"),
        marked(3, 172.0, 680.0, "Fifty-five newton"),
    ];
    let second = [
        marked(0, 72.0, 700.0, head[0]),
        marked(1, 172.0, 700.0, head[1]),
        marked(2, 172.0, 680.0, rest),
        marked(3, 72.0, 660.0, "V-13"),
        marked(4, 172.0, 660.0, "Sixty newton metres"),
    ];
    let row = |kind, ids: [usize; 2]| group("TR", ids.map(|id| leaf(kind, [id])));
    let again = [(0, 0), (1, 1)].map(|(before, id)| continued("TH", before, id));
    let above = vec![group("Table", [row("TH", [0, 1]), row("TD", [2, 3])])];
    let mut rows = vec![
        group("TR", again),
        group("TR", [group("TD", []), continued("TD", 3, 2)]),
    ];
    let second = match has_more {
        true => second.to_vec(),
        false => second[..3].to_vec(),
    };
    rows.extend(has_more.then(|| row("TD", [3, 4])));
    document(&[page(first, above), page(second, vec![group("Table", rows)])])
}

#[test]
fn a_row_that_a_page_breaks_is_one_row() {
    let Some(config) = pdfium() else { return };
    let expected = "| Part | Torque of the part |\n| --- | --- |\n\
        | V-12 | Fifty-five newton metres at most |\n\u{c}\
        | V-13 | Sixty newton metres |\n";
    assert_eq!(told(&broken_row("metres at most", true), &config), expected);
}

#[test]
fn a_row_goes_on_with_text_only() {
    let Some(config) = pdfium() else { return };
    let above = "| Part | Torque of the part |\n| --- | --- |\n| V-12 | Fifty-five newton |\n";
    let table = [
        (
            true,
            format!("{above}\u{c}| V-13 | Sixty newton metres |\n"),
        ),
        (false, format!("{above}\u{c}")),
    ];
    for (has_more, expected) in table {
        assert_eq!(told(&broken_row(" ", has_more), &config), expected);
    }
}

#[test]
fn the_order_of_the_tags_counts() {
    let Some(config) = pdfium() else { return };
    let content = [
        marked(0, 72.0, 700.0, "second paragraph of the page."),
        marked(1, 72.0, 600.0, "First paragraph of the page."),
    ];
    let bytes = document(&[page(content, vec![leaf("P", [1]), leaf("P", [0])])]);
    let expected = "First paragraph of the page.\n\nsecond paragraph of the page.\n";
    assert_eq!(told(&bytes, &config), expected);
}

fn code(id: usize, y: f32, words: &str) -> String {
    let shown = text("F3", 10.0, 72.0, y, words);
    format!("/Code <</MCID {id}>> BDC\n{shown}EMC\n")
}

#[test]
fn texts_and_descriptions_stand_for_what_is_drawn() {
    let Some(config) = pdfium() else { return };
    let content = [
        marked(0, 72.0, 700.0, "The o"),
        marked(1, 97.6, 700.0, "XX"),
        marked(2, 110.9, 700.0, "ce is closed."),
        code(3, 600.0, "let x   = 1;"),
        code(4, 588.0, "x + 1"),
        "/Figure <</MCID 5>> BDC\n72 500 20 20 re f\nEMC\n".to_owned(),
    ];
    let elements = vec![
        group(
            "P",
            [
                leaf("Span", [0]),
                leaf("Span", [1]).with("/ActualText (ffi)"),
                leaf("Span", [2]),
            ],
        ),
        leaf("Figure", [5]).with("/Alt (A mast beside a house)"),
        leaf("Code", [3, 4]).with("/A << /O /Layout /Placement /Block >>"),
    ];
    let bytes = document(&[page(content, elements)]);
    let expected =
        "The office is closed.\n\nA mast beside a house\n\n```\nlet x   = 1;\nx + 1\n```\n";
    assert_eq!(told(&bytes, &config), expected);
}

/// Sentences from the top of the page downwards, each marked with its number.
fn sentences(count: usize) -> Vec<String> {
    let sentence = |id: usize| {
        let words = format!("Sentence number {id} says that the station sends more than before.");
        marked(id, 72.0, 720.0 - 14.0 * id as f32, &words)
    };
    (0..count).map(sentence).collect()
}

#[test]
fn absurd_tags_are_not_believed() {
    let Some(config) = pdfium() else { return };
    let paragraphs = |ids: Vec<usize>| ids.into_iter().map(|id| leaf("P", [id])).collect();
    let up: Vec<usize> = (0..20).rev().collect();
    let cases = [
        ("half of it", paragraphs((0..10).collect())),
        ("one paragraph", vec![leaf("P", 0..40)]),
        ("headings", (0..20).map(|id| leaf("H1", [id])).collect()),
        ("upwards", paragraphs(up)),
        ("no kinds", vec![group("Document", [leaf("Span", 0..20)])]),
    ];
    for (name, elements) in cases {
        let count = if name == "one paragraph" { 40 } else { 20 };
        let bytes = document(&[page(sentences(count), elements)]);
        assert!(is_untrusted(&bytes, &config), "{name}");
        assert!(
            markdown(&bytes, &config).contains("Sentence number 19"),
            "{name}"
        );
    }
    let sound = document(&[page(sentences(20), paragraphs((0..20).collect()))]);
    assert!(!is_untrusted(&sound, &config));
}

#[test]
fn each_page_is_believed_or_not() {
    let Some(config) = pdfium() else { return };
    let sound = || (0..20).map(|id| leaf("P", [id])).collect();
    let bytes = document(&[
        page(sentences(20), sound()),
        page(sentences(20), (0..20).map(|id| leaf("H1", [id])).collect()),
        page(sentences(20), sound()),
    ]);
    let found = converted(&bytes, &config).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        found.metadata.get("tagged_pages").map(String::as_str),
        Some("1,3")
    );
    assert_eq!(found.markdown.matches("Sentence number 19").count(), 3);
}

#[test]
fn text_without_tags_is_kept() {
    let Some(config) = pdfium() else { return };
    let mut content = sentences(20);
    content.push(text("F1", 10.0, 72.0, 200.0, "A stamp beside the tags"));
    let elements = (0..20).map(|id| leaf("P", [id])).collect();
    let bytes = document(&[page(content, elements)]);
    assert!(told(&bytes, &config).ends_with("before.\n\nA stamp beside the tags\n"));
}

#[test]
fn tags_without_headings_leave_them_to_geometry() {
    let Some(config) = pdfium() else { return };
    let mut content = vec![format!(
        "/P <</MCID 0>> BDC\n{}EMC\n",
        text("F2", 18.0, 72.0, 750.0, "A large title")
    )];
    content.extend(sentences(20).into_iter().skip(1));
    let elements = (0..20).map(|id| leaf("P", [id])).collect();
    let bytes = document(&[page(content, elements)]);
    assert!(told(&bytes, &config).starts_with("# A large title\n"));
}

/// A document of one page whose structure is made of these objects, from number 10 on.
fn with_objects(root: &str, parents: &str, elements: Vec<String>) -> Vec<u8> {
    let root = format!("<< /Type /StructTreeRoot /K {root} /ParentTree 7 0 R >>");
    let mut objects = head(1, root, &format!("<< /Nums [0 [{parents}]] >>"));
    let content: String = sentences(20).concat();
    objects.push(page_object(0, 8));
    objects.push(format!(
        "<< /Length {} >>\nstream\n{content}\nendstream",
        content.len() + 1
    ));
    objects.extend(elements);
    maker::file(&objects, "")
}

fn element(kind: &str, parent: usize, kids: &str) -> String {
    format!("<< /Type /StructElem /S /{kind} /P {parent} 0 R /Pg 8 0 R /K [{kids}] >>")
}

#[test]
fn hostile_trees_end() {
    let Some(config) = pdfium() else { return };
    let parents = |name: usize| format!("{name} 0 R ").repeat(20);
    let ids = (0..20).map(|id| format!("{id} ")).collect::<String>();
    let chain = |length: usize| -> Vec<String> {
        let link = |index: usize| match index + 1 {
            next if next == length => element("P", 9 + index, &ids),
            next => element("Sect", 9 + index, &format!("{} 0 R", 10 + next)),
        };
        (0..length).map(link).collect()
    };
    let many = 200_000;
    let wide: Vec<String> = (0..many).map(|_| element("P", 10, "")).collect();
    let kids: String = (0..many)
        .map(|index| format!("{} 0 R ", 11 + index))
        .collect();
    let mut flat = vec![element("Document", 6, &format!("{ids} {kids}"))];
    flat.extend(wide);
    let cases = [
        (
            "itself",
            with_objects(
                "10 0 R",
                &parents(10),
                vec![element("P", 10, &format!("10 0 R {ids}"))],
            ),
        ),
        (
            "each other",
            with_objects(
                "10 0 R",
                &parents(11),
                vec![
                    element("Sect", 11, "11 0 R 11 0 R"),
                    element("Sect", 10, &format!("10 0 R 10 0 R {ids}")),
                ],
            ),
        ),
        (
            "deep",
            with_objects("10 0 R", &parents(10 + 4999), chain(5000)),
        ),
        ("many", with_objects("10 0 R", &parents(10), flat)),
        (
            "missing",
            with_objects(
                "10 0 R",
                &parents(99),
                vec![element("P", 6, "7000 -3 99 0 R")],
            ),
        ),
        (
            "wrong",
            with_objects("(text)", "true 1 (x) << >>", vec![element("P", 6, &ids)]),
        ),
        (
            "spans",
            with_objects(
                "10 0 R",
                &parents(12),
                vec![
                    element("Table", 6, "11 0 R"),
                    element("TR", 10, "12 0 R"),
                    format!(
                        "<< /Type /StructElem /S /TD /P 11 0 R /Pg 8 0 R /K [{ids}] /A << /O /Table /ColSpan 2000000000 /RowSpan -7 >> >>"
                    ),
                ],
            ),
        ),
    ];
    for (name, bytes) in cases {
        let started = Instant::now();
        let found = markdown(&bytes, &config);
        assert!(found.contains("Sentence number 19"), "{name}: {found}");
        assert!(
            started.elapsed() < LIMIT,
            "{name} took {:?}",
            started.elapsed()
        );
    }
}
