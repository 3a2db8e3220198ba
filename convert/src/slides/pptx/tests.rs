//! Presentations of our own making, and hostile ones.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::io::{Cursor, Write};

use tributary_schemas::ErrorKind;
use zip::write::SimpleFileOptions;

use crate::config::Config;
use crate::document::Converted;
use crate::limits::Limits;
use crate::slides::{Area, SlideDrawing, SlideFormat};

const NAMESPACES: &str = r#"xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006""#;

/// A package in the making.
#[derive(Default)]
struct Deck {
    parts: Vec<(String, String)>,
    slides: Vec<String>,
    extensions: String,
}

impl Deck {
    /// Adds a slide of these shapes with these relationships; `attributes` are those of the slide.
    fn slide(mut self, attributes: &str, shapes: &str, relationships: &str) -> Self {
        // Names run against the order, which the presentation part alone says.
        let name = format!("slide{}.xml", 90 - self.slides.len());
        let text = format!(
            "<p:sld {NAMESPACES} {attributes}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"
        );
        self.parts.push((format!("ppt/slides/{name}"), text));
        let relationships = format!(
            "<Relationships><Relationship Id='rL' Type='x/slideLayout' Target='../slideLayouts/l.xml'/>{relationships}</Relationships>"
        );
        self.parts
            .push((format!("ppt/slides/_rels/{name}.rels"), relationships));
        self.slides.push(name);
        self
    }

    fn part(mut self, name: &str, text: impl Into<String>) -> Self {
        self.parts.push((name.to_owned(), text.into()));
        self
    }

    fn build(self) -> Vec<u8> {
        let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
        let mut put = |name: &str, text: &str| {
            archive
                .start_file(
                    name,
                    SimpleFileOptions::default()
                        .compression_method(zip::CompressionMethod::Deflated),
                )
                .unwrap();
            archive.write_all(text.as_bytes()).unwrap();
        };
        put(
            "_rels/.rels",
            "<Relationships><Relationship Id='r1' Type='x/officeDocument' Target='ppt/presentation.xml'/></Relationships>",
        );
        let (mut list, mut relationships) = (String::new(), String::new());
        for (index, name) in self.slides.iter().enumerate() {
            list.push_str(&format!("<p:sldId r:id='r{index}' id='{}'/>", 256 + index));
            relationships.push_str(&format!(
                "<Relationship Id='r{index}' Type='x/slide' Target='slides/{name}'/>"
            ));
        }
        put(
            "ppt/presentation.xml",
            &format!(
                "<p:presentation {NAMESPACES}><p:sldIdLst>{list}</p:sldIdLst><p:sldSz cx='9144000' cy='6858000'/>{}</p:presentation>",
                self.extensions
            ),
        );
        put(
            "ppt/_rels/presentation.xml.rels",
            &format!("<Relationships>{relationships}</Relationships>"),
        );
        put(
            "ppt/slideLayouts/l.xml",
            &format!(
                "<p:sldLayout {NAMESPACES}><p:cSld><p:spTree>{}</p:spTree></p:cSld></p:sldLayout>",
                placeholder("type='body' idx='1'", "<a:p/>")
            ),
        );
        put(
            "ppt/slideLayouts/_rels/l.xml.rels",
            "<Relationships><Relationship Id='m' Type='x/slideMaster' Target='../slideMasters/m.xml'/></Relationships>",
        );
        put(
            "ppt/slideMasters/m.xml",
            &format!(
                "<p:sldMaster {NAMESPACES}><p:cSld><p:spTree/></p:cSld><p:txStyles><p:bodyStyle><a:lvl1pPr><a:buChar char='x'/></a:lvl1pPr><a:lvl2pPr><a:buChar char='y'/></a:lvl2pPr></p:bodyStyle></p:txStyles></p:sldMaster>"
            ),
        );
        for (name, text) in &self.parts {
            put(name, text);
        }
        archive.finish().unwrap().into_inner()
    }
}

fn placeholder(attributes: &str, paragraphs: &str) -> String {
    format!(
        "<p:sp><p:nvSpPr><p:cNvPr id='1' name=''/><p:nvPr><p:ph {attributes}/></p:nvPr></p:nvSpPr><p:spPr/><p:txBody>{paragraphs}</p:txBody></p:sp>"
    )
}

fn text_box(left: i64, top: i64, text: &str) -> String {
    format!(
        "<p:sp><p:nvSpPr><p:cNvPr id='1' name=''/><p:nvPr/></p:nvSpPr><p:spPr><a:xfrm><a:off x='{left}' y='{top}'/><a:ext cx='2000000' cy='400000'/></a:xfrm></p:spPr><p:txBody>{}</p:txBody></p:sp>",
        paragraph(text)
    )
}

fn paragraph(text: &str) -> String {
    format!("<a:p><a:r><a:t>{text}</a:t></a:r></a:p>")
}

fn title(text: &str) -> String {
    placeholder("type='title'", &paragraph(text))
}

fn convert_with(bytes: &[u8], config: &Config) -> tributary_schemas::Result<Converted> {
    super::convert(bytes, &config.slides, &Limits::starting_now(config))
}

fn markdown(deck: Deck) -> String {
    convert_with(&deck.build(), &Config::default())
        .unwrap()
        .markdown
}

#[test]
fn slides_in_the_order_of_the_presentation_with_titles_first() {
    let body = placeholder(
        "idx='1'",
        &format!(
            "{}<a:p><a:pPr lvl='1'/><a:r><a:t>b</a:t></a:r></a:p>{}",
            paragraph("a"),
            "<a:p><a:pPr><a:buNone/></a:pPr><a:r><a:t>c</a:t></a:r></a:p>"
        ),
    );
    let deck = Deck::default()
        .slide(
            "",
            &format!(
                "{body}{}{}",
                placeholder("type='ftr'", &paragraph("footer")),
                title("One|1 # x")
            ),
            "",
        )
        .slide(
            "",
            &format!(
                "{}{}",
                text_box(5_000_000, 100_000, "right"),
                text_box(0, 150_000, "left")
            ),
            "",
        )
        .slide("show='0'", &title("hidden"), "")
        .slide("", &title("last"), "");
    assert_eq!(
        markdown(deck),
        "## One|1 # x\n\n- a\n  - b\n\nc\n\n\u{C}left\n\nright\n\n\u{C}\n\u{C}## last\n"
    );
}

#[test]
fn settings_keep_hidden_slides_and_drop_notes() {
    let notes = format!(
        "<p:notes {NAMESPACES}><p:cSld><p:spTree>{}{}</p:spTree></p:cSld></p:notes>",
        placeholder("type='body' idx='1'", &paragraph("said")),
        placeholder("type='sldNum'", &paragraph("1"))
    );
    let deck = || {
        Deck::default()
            .slide(
                "show='0'",
                &title("h"),
                "<Relationship Id='n' Type='x/notesSlide' Target='../n.xml'/><Relationship Id='c' Type='x/comments' Target='../c.xml'/>",
            )
            .part("ppt/n.xml", notes.clone())
            .part("ppt/c.xml", "<p:cmLst><p:cm><p:text>why?</p:text></p:cm></p:cmLst>")
    };
    let mut config = Config::default();
    config.slides.include_hidden = true;
    assert_eq!(
        convert_with(&deck().build(), &config).unwrap().markdown,
        "## h\n\nNotes:\n\nsaid\n"
    );
    (config.slides.include_notes, config.slides.include_comments) = (false, true);
    assert_eq!(
        convert_with(&deck().build(), &config).unwrap().markdown,
        "## h\n\nComments:\n\n- why?\n"
    );
}

#[test]
fn runs_links_formulas_and_alternate_content() {
    let text = "<a:p><a:r><a:rPr b='1'/><a:t>bold</a:t></a:r><a:r><a:t> and </a:t></a:r><a:r><a:rPr><a:hlinkClick r:id='l'/></a:rPr><a:t>link</a:t></a:r><a:fld type='slidenum'><a:t>7</a:t></a:fld></a:p>";
    let choice = format!(
        "<mc:AlternateContent><mc:Choice Requires='a14'>{}</mc:Choice><mc:Fallback>{}</mc:Fallback></mc:AlternateContent>",
        placeholder(
            "",
            "<a:p><a14:m><m:oMath><m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath></a14:m></a:p>"
        ),
        text_box(0, 0, "fallback")
    );
    let deck = Deck::default().slide(
        "",
        &format!("{}{choice}", placeholder("type='subTitle'", text)),
        "<Relationship Id='l' Type='x/hyperlink' Target='https://a.b' TargetMode='External'/>",
    );
    let found = markdown(deck);
    assert!(
        found.contains("**bold** and [link](https://a.b)"),
        "{found}"
    );
    assert!(
        found.contains("$x^{2}$") && !found.contains("fallback") && !found.contains('7'),
        "{found}"
    );
}

#[test]
fn tables_with_merged_cells_charts_diagrams_and_sections() {
    let cell = |attributes: &str, text: &str| {
        format!(
            "<a:tc {attributes}><a:txBody>{}</a:txBody></a:tc>",
            paragraph(text)
        )
    };
    let table = format!(
        "<p:graphicFrame><a:graphic><a:graphicData><a:tbl><a:tr>{}{}{}</a:tr><a:tr>{}{}{}</a:tr></a:tbl></a:graphicData></a:graphic></p:graphicFrame>",
        cell("rowSpan='2'", "a|b"),
        cell("gridSpan='2'", "c"),
        cell("hMerge='1'", ""),
        cell("vMerge='1'", ""),
        cell("", "d"),
        cell("", "e")
    );
    let frame = |inner: &str| {
        format!(
            "<p:graphicFrame><a:graphic><a:graphicData>{inner}</a:graphicData></a:graphic></p:graphicFrame>"
        )
    };
    let diagram = "<dgm:dataModel><dgm:ptLst><dgm:pt modelId='0' type='doc'/><dgm:pt modelId='1'><dgm:t><a:p><a:r><a:t>top</a:t></a:r></a:p></dgm:t></dgm:pt><dgm:pt modelId='2'><dgm:t><a:p><a:r><a:t>below</a:t></a:r></a:p></dgm:t></dgm:pt><dgm:pt modelId='3' type='parTrans'><dgm:t><a:p><a:r><a:t>no</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst><dgm:cxnLst><dgm:cxn srcId='1' destId='2' srcOrd='0'/><dgm:cxn srcId='0' destId='1' srcOrd='0'/><dgm:cxn srcId='2' destId='1' srcOrd='0'/></dgm:cxnLst></dgm:dataModel>";
    let chart = "<c:chartSpace><c:chart><c:plotArea><c:pieChart><c:ser><c:cat><c:strRef><c:strCache><c:pt idx='0'><c:v>k</c:v></c:pt></c:strCache></c:strRef></c:cat><c:val><c:numRef><c:numCache><c:pt idx='0'><c:v>4</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser></c:pieChart></c:plotArea></c:chart></c:chartSpace>";
    let mut deck = Deck::default()
        .slide(
            "",
            &format!("{table}{}{}", frame("<c:chart r:id='c'/>"), frame("<dgm:relIds r:dm='d'/>")),
            "<Relationship Id='c' Type='x/chart' Target='../c.xml'/><Relationship Id='d' Type='x/diagramData' Target='../d.xml'/>",
        )
        .part("ppt/c.xml", chart)
        .part("ppt/d.xml", diagram);
    deck.extensions = "<p:extLst><p:ext><p14:sectionLst><p14:section name='Part 1'><p14:sldIdLst><p14:sldId id='256'/></p14:sldIdLst></p14:section></p14:sectionLst></p:ext></p:extLst>".into();
    let expected = "# Part 1\n\n| a\\|b | c |  |\n| --- | --- | --- |\n| a\\|b | d | e |\n\n|  |  |\n| --- | --- |\n| k | 4 |\n\n- top\n  - below\n";
    assert_eq!(markdown(deck), expected);
}

#[test]
fn pictures_are_handed_over_once() {
    let picture = "<p:pic><p:nvPicPr><p:cNvPr id='1' name='' descr='a [cat]'/><p:nvPr/></p:nvPicPr><p:blipFill><a:blip r:embed='i'/></p:blipFill></p:pic>";
    let link = "<Relationship Id='i' Type='x/image' Target='../media/i.png'/>";
    let deck = Deck::default()
        .slide("", picture, link)
        .slide("", picture, link)
        .part("ppt/media/i.png", "PNG");
    let converted = convert_with(&deck.build(), &Config::default()).unwrap();
    assert_eq!(
        converted.markdown,
        "![a cat](image:0)\n\n\u{C}![a cat](image:1)\n"
    );
    assert_eq!(
        (converted.images.len(), converted.images[1].link.as_str()),
        (2, "embedded:0")
    );
    assert_eq!(
        (
            converted.blobs.len(),
            converted.blobs[0].name.as_str(),
            converted.blobs[0].media_type.as_str()
        ),
        (1, "i.png", "image/png")
    );
}

#[test]
fn where_pictures_lie_that_no_decoder_reads_is_noted() {
    let picture = |id: &str, [left, top, width, height]: [i64; 4]| {
        format!(
            "<p:pic><p:blipFill><a:blip r:embed='{id}'/></p:blipFill><p:spPr><a:xfrm><a:off x='{left}' y='{top}'/><a:ext cx='{width}' cy='{height}'/></a:xfrm></p:spPr></p:pic>"
        )
    };
    let links = "<Relationship Id='e' Type='x/image' Target='../media/e.emf'/><Relationship Id='i' Type='x/image' Target='../media/i.gif'/>";
    // The group shows its children at half their size.
    let group = format!(
        "<p:grpSp><p:grpSpPr><a:xfrm><a:off x='4572000' y='0'/><a:ext cx='4572000' cy='3429000'/><a:chOff x='0' y='0'/><a:chExt cx='9144000' cy='6858000'/></a:xfrm></p:grpSpPr>{}</p:grpSp>",
        picture("e", [4_572_000, 3_429_000, 4_572_000, 3_429_000])
    );
    let readable = picture("i", [0, 0, 100, 100]);
    let deck =
        Deck::default()
            .slide("", &readable, links)
            .slide("", &format!("{readable}{group}"), links);
    let bytes = deck
        .part("ppt/media/e.emf", "EMF")
        .part("ppt/media/i.gif", "GIF89a")
        .build();
    let config = Config::default();
    let never = |format: SlideFormat| panic!("{format:?}");
    let drawing = SlideDrawing::new(&never, &|| Ok(()));
    super::convert(
        &bytes,
        &config.slides,
        &Limits::starting_now(&config).with_slides(&drawing),
    )
    .unwrap();
    assert_eq!(
        drawing.unread(1),
        [Area {
            left: 0.75,
            top: 0.25,
            width: 0.25,
            height: 0.25
        }]
    );
}

#[test]
fn groups_of_a_date_with_words_and_a_title_without_text() {
    let group = format!(
        "<p:grpSp><p:nvGrpSpPr><p:cNvPr id='1' name=''/></p:nvGrpSpPr><p:grpSpPr/>{}</p:grpSp>",
        text_box(0, 0, "inside")
    );
    let date = |text: &str| placeholder("type='dt'", &paragraph(text));
    let deck = Deck::default().slide(
        "",
        &format!(
            "{}{group}{}{}",
            title(""),
            date("2020-01-02"),
            date("words")
        ),
        "",
    );
    assert_eq!(markdown(deck), "inside\n\nwords\n");
}

fn good() -> Vec<u8> {
    let mut deck = Deck::default();
    for number in 0..6 {
        deck = deck.slide(
            "",
            &format!(
                "{}{}",
                title(&format!("t{number}")),
                text_box(0, 1_000_000, "some text of a slide")
            ),
            "",
        );
    }
    deck.build()
}

#[test]
fn damaged_and_encrypted_files_are_refused_with_the_right_kind() {
    let kind = |bytes: &[u8]| {
        convert_with(bytes, &Config::default())
            .err()
            .map(|error| error.kind())
    };
    assert_eq!(kind(b"no zip"), Some(ErrorKind::Corrupt));
    assert_eq!(kind(&[]), Some(ErrorKind::Corrupt));
    let mut encrypted = crate::office::ole::SIGNATURE.to_vec();
    encrypted.resize(512, 0);
    encrypted.extend("EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes));
    let error = convert_with(&encrypted, &Config::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(
        error.to_string().starts_with("the document is encrypted"),
        "{error}"
    );
    let mut missing = Deck::default()
        .slide("", &title("a"), "")
        .slide("", &title("b"), "");
    missing
        .parts
        .retain(|(name, _)| !name.contains("slides/slide90"));
    let converted = convert_with(&missing.build(), &Config::default()).unwrap();
    assert!(
        converted.markdown.contains("## b") && converted.metadata["damaged"].contains("slide90"),
        "{converted:?}"
    );
    let mut all_missing = Deck::default().slide("", &title("a"), "");
    all_missing.parts.clear();
    assert_eq!(kind(&all_missing.build()), Some(ErrorKind::Corrupt));
}

#[test]
fn links_and_merged_cells_do_not_multiply_a_document() {
    let link =
        |id: &str| format!("<a:r><a:rPr><a:hlinkClick r:id='{id}'/></a:rPr><a:t>x</a:t></a:r>");
    let paragraph = format!(
        "<a:p>{}</a:p>",
        format!("{}{}", link("a"), link("b")).repeat(2000)
    );
    let relationship = |id: &str| {
        format!(
            "<Relationship Id='{id}' Type='x/hyperlink' Target='http://{id}/{}' TargetMode='External'/>",
            "y".repeat(2000)
        )
    };
    let found = markdown(Deck::default().slide(
        "",
        &placeholder("", &paragraph),
        &format!("{}{}", relationship("a"), relationship("b")),
    ));
    assert!(found.len() < 2 << 20, "{} bytes", found.len());
    let row = |merge: &str, text: &str| {
        format!(
            "<a:tr><a:tc {merge}><a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody></a:tc></a:tr>"
        )
    };
    let table = format!(
        "<p:graphicFrame><a:graphic><a:graphicData><a:tbl>{}{}</a:tbl></a:graphicData></a:graphic></p:graphicFrame>",
        row("", &"z".repeat(5000)),
        row("vMerge='1'", "").repeat(500)
    );
    assert!(markdown(Deck::default().slide("", &table, "")).len() < 20_000);
}

#[test]
fn hidden_shapes_are_dropped_unless_the_settings_keep_them() {
    let hidden = text_box(0, 0, "secret").replace("name=''", "name='' hidden='1'");
    let deck =
        || Deck::default().slide("", &format!("{hidden}{}", text_box(0, 900_000, "seen")), "");
    assert_eq!(markdown(deck()), "seen\n");
    let mut config = Config::default();
    config.slides.include_hidden = true;
    assert_eq!(
        convert_with(&deck().build(), &config).unwrap().markdown,
        "secret\n\nseen\n"
    );
}

#[test]
fn truncated_and_flipped_files_end_cleanly() {
    let bytes = good();
    for length in (0..bytes.len()).step_by(97) {
        let error = convert_with(&bytes[..length], &Config::default());
        assert!(error.is_err(), "cut after {length} bytes");
    }
    let mut state = 0x2545_F491_u32;
    for _ in 0..400 {
        let mut flipped = bytes.clone();
        for _ in 0..3 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = state as usize % flipped.len();
            flipped[at] ^= 1 << (state >> 29);
        }
        if let Err(error) = convert_with(&flipped, &Config::default()) {
            assert!(
                matches!(
                    error.kind(),
                    ErrorKind::Corrupt | ErrorKind::Invalid | ErrorKind::Unsupported
                ),
                "{error}"
            );
        }
    }
}

#[test]
fn bombs_meet_their_limits() {
    let kind = |deck: Deck, config: &Config| {
        convert_with(&deck.build(), config)
            .err()
            .map(|error| (error.kind(), error.full_message()))
    };
    let deep = format!("{}{}", "<p:grpSp>".repeat(5000), "</p:grpSp>".repeat(5000));
    let (deep_kind, message) =
        kind(Deck::default().slide("", &deep, ""), &Config::default()).unwrap();
    assert_eq!(deep_kind, ErrorKind::Invalid);
    assert!(
        message.contains("convert.office.maximum_xml_depth"),
        "{message}"
    );
    let nested_tables = format!("<p:graphicFrame>{}", "<graphicData>".repeat(200));
    assert!(
        kind(
            Deck::default().slide("", &nested_tables, ""),
            &Config::default()
        )
        .is_none_or(|(kind, _)| kind == ErrorKind::Corrupt)
    );
    let blank = " ".repeat(17 << 20);
    assert_eq!(
        kind(Deck::default().slide("", &blank, ""), &Config::default()).map(|(kind, _)| kind),
        Some(ErrorKind::Invalid)
    );
    let mut small = Config {
        maximum_markdown_bytes: 100,
        ..Config::default()
    };
    assert_eq!(
        kind(
            Deck::default().slide("", &title(&"x".repeat(200)), ""),
            &small
        )
        .map(|(kind, _)| kind),
        Some(ErrorKind::Invalid)
    );
    small = Config {
        conversion_timeout_ms: 0,
        ..Config::default()
    };
    assert_eq!(
        kind(Deck::default().slide("", &title("x"), ""), &small).map(|(kind, _)| kind),
        Some(ErrorKind::Invalid)
    );
}
