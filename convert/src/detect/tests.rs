//! What bytes and names are taken for.

use super::containers::ZIP_MEMBERS;
use super::*;

fn format(bytes: &[u8], name: Option<&str>) -> Format {
    detect(bytes, name, None).format
}

#[test]
fn text_that_begins_like_a_file_format_is_text() {
    let beginnings = [
        "ID3 is an algorithm for decision trees",
        "GSM和LTE的WAVE标准：车载",
        "the MP4 ftyp box",
        "BZhang wrote this",
        "fLaC 是一种格式",
    ];
    for text in beginnings {
        assert!(
            matches!(format(text.as_bytes(), Some("a.txt")), Format::Text { .. }),
            "{text}"
        );
    }
    assert_eq!(
        format(b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0", None),
        Format::Unsupported("WAV audio")
    );
    assert_eq!(
        format(b"ID3\x03\0\0\0\0\x0F\x76", None),
        Format::Unsupported("MP3 audio")
    );
    assert_eq!(format(b"{\\rtf1 text}", None), Format::Rtf);
}

#[test]
fn content_beats_name() {
    assert_eq!(format(b"%PDF-1.7\n...", Some("a.md")), Format::Pdf);
    assert_eq!(
        format(
            b"%%DEBUT_INSTRUCTION\r\n%PDF-1.4\n%\xE2\xE3\xCF\xD3\n",
            None
        ),
        Format::Pdf
    );
    assert_eq!(
        format(b"A PDF begins with %PDF- and its version.", Some("a.txt")),
        Format::Text { language: "" }
    );
    assert_eq!(format(b"<!DOCTYPE html><p>x", Some("a.txt")), Format::Html);
    assert_eq!(format(b"<!DOCTYPE html><p>x", Some("a.md")), Format::Html);
    let zip = b"PK\x03\x04\x14\0\0\0\0\0 word/document.xml";
    assert_eq!(
        detect(zip, Some("x.html"), None).media_type,
        ZIP_MEMBERS[0].2
    );
    let book = b"PK\x03\x04\x14\0\0\0\0\0mimetypeapplication/epub+zip";
    assert_eq!(format(book, Some("a.docx")), Format::Epub);
    assert_eq!(
        format(b"PK\x03\x04 nothing known", None),
        Format::Unsupported("a ZIP archive")
    );
    assert_eq!(
        format(b"PK\x03\x04 nothing known", Some("a/Cut.XLSX")),
        Format::Spreadsheet,
        "without a directory the name decides"
    );
}

#[test]
fn open_documents_say_what_they_are() {
    use open_document::Kind;

    let of = |kind: &str| {
        let bytes =
            format!("PK\x03\x04\x14 mimetypeapplication/vnd.oasis.opendocument.{kind}PK\x03\x04");
        format(bytes.as_bytes(), Some("a.bin"))
    };
    assert_eq!(of("text"), Format::OpenDocument(Kind::Text));
    assert_eq!(of("text-template"), Format::OpenDocument(Kind::Text));
    assert_eq!(of("presentation"), Format::OpenDocument(Kind::Presentation));
    assert_eq!(of("spreadsheet"), Format::Spreadsheet);
    assert_eq!(
        of("graphics"),
        Format::Unsupported("an OpenDocument drawing, chart or formula")
    );
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for name in ["META-INF/manifest.xml", "content.xml", "mimetype"] {
        zip.start_file(name, zip::write::SimpleFileOptions::default())
            .unwrap();
        std::io::Write::write_all(&mut zip, b"packed again").unwrap();
    }
    let packed_again = zip.finish().unwrap().into_inner();
    assert_eq!(
        format(&packed_again, Some("a.ODT")),
        Format::OpenDocument(Kind::Text)
    );
    assert_eq!(
        format(&packed_again, Some("a.docx")),
        Format::Unsupported("a ZIP archive")
    );
}

#[test]
fn a_package_in_a_package_does_not_name_the_outer_one() {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let stored =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, content) in [
        ("[Content_Types].xml", "x"),
        ("ppt/embeddings/a.xlsx", "PK\x03\x04 xl/workbook.xml word/"),
        ("ppt/presentation.xml", "x"),
    ] {
        zip.start_file(name, stored).unwrap();
        std::io::Write::write_all(&mut zip, content.as_bytes()).unwrap();
    }
    let bytes = zip.finish().unwrap().into_inner();
    assert_eq!(format(&bytes, None), Format::Pptx);
    assert_eq!(
        format(&bytes[..bytes.len() - 30], Some("a.pptx")),
        Format::Docx,
        "without its directory it is a guess"
    );
}

#[test]
fn html_is_seen_after_mark_declaration_and_comments() {
    for page in [
        &b"\xEF\xBB\xBF <!-- saved from url --> <!-- x -->\n<HTML><body>x</body></HTML>"[..],
        b"<?xml version=\"1.0\"?><!DOCTYPE html><html xmlns=\"http://www.w3.org/1999/xhtml\"/>",
        b"<head><title>t</title></head>",
        b"<div>fragment</div>",
    ] {
        assert_eq!(
            format(page, None),
            Format::Html,
            "{}",
            String::from_utf8_lossy(page)
        );
    }
    assert_eq!(
        detect(b"<?xml version='1.0'?><html/>", None, None).media_type,
        "application/xhtml+xml"
    );
    let utf_16: Vec<u8> = "<html><body>x</body></html>\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(format(&utf_16, None), Format::Html);
}

#[test]
fn tags_in_other_text_do_not_make_it_html() {
    assert_eq!(
        format(b"# Title\n\n<div>x</div>\n", Some("a.md")),
        Format::Markdown
    );
    assert_eq!(
        format(b"vector<int> x; a < b", None),
        Format::Text { language: "" }
    );
    assert_eq!(
        format(b"<headline>x</headline>", None),
        Format::Text { language: "" }
    );
}

#[test]
fn markdown_needs_signs_without_a_name() {
    assert_eq!(format(b"# One\n\ntext\n\n## Two\n", None), Format::Markdown);
    assert_eq!(format(b"just a line", None), Format::Text { language: "" });
    assert_eq!(format(b"just a line", Some("x/notes.MD")), Format::Markdown);
    assert_eq!(
        format(b"# comment\nkey = value\n", Some("a.txt")),
        Format::Text { language: "" }
    );
    assert_eq!(
        detect(b"x", None, Some("text/markdown; charset=utf-8")).format,
        Format::Markdown
    );
}

#[test]
fn textual_formats_have_their_language() {
    assert_eq!(
        format(b"{\"a\": 1}", None),
        Format::Structured(Notation::Json)
    );
    assert_eq!(
        format(b"{\"a\": 1}\n{\"a\": 2}\n", None),
        Format::Structured(Notation::JsonLines)
    );
    assert_eq!(
        format(b"<?xml version='1.0'?><a/>", None),
        Format::Structured(Notation::Xml)
    );
    assert_eq!(
        format(b"a: 1", Some("x.yml")),
        Format::Structured(Notation::Yaml)
    );
    let message = b"Received: by x\r\nFrom: a@b.c\r\nSubject: s\r\nMessage-ID: <1@b.c>\r\n\r\ntext";
    assert_eq!(format(message, None), Format::Mail);
    assert_eq!(
        format(b"From: a\nTo: b\nSubject: c\n\nno message", None),
        Format::Text { language: "" }
    );
    assert_eq!(format(b"a,b\n1,2\n", Some("t.csv")), Format::Delimited);
    assert_eq!(format(b"Title\n=====\n", Some("index.rst")), Format::Rst);
    assert_eq!(
        format(b"{\"cells\": []}", Some("n.ipynb")),
        Format::Notebook
    );
}

#[test]
fn binary_data_is_not_text_but_utf_16_is() {
    assert_eq!(
        format(b"\0\x01\x02\x03\xFF\xFE\x00\x10 zz \x05", None),
        Format::Unsupported("binary data")
    );
    let utf_16: Vec<u8> = "多个载波合并起来 mixed text\n"
        .encode_utf16()
        .flat_map(u16::to_be_bytes)
        .collect();
    assert_eq!(format(&utf_16, None), Format::Text { language: "" });
    let random: Vec<u8> = (0..4096_u32)
        .map(|index| (index.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    assert!(matches!(format(&random, None), Format::Unsupported(_)));
    assert_eq!(format(b"", None), Format::Text { language: "" });
}

#[test]
fn names_in_a_compound_file_are_read_in_any_case() {
    let file = |stream: &str| {
        let mut bytes = b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1".to_vec();
        bytes.resize(512, 0);
        bytes.extend(
            stream
                .encode_utf16()
                .flat_map(u16::to_le_bytes)
                .chain([0, 0]),
        );
        bytes
    };
    assert_eq!(format(&file("WORDDOCUMENT"), None), Format::Doc);
    assert_eq!(format(&file("encryptedPackage"), None), Format::Docx);
    assert_eq!(
        format(&file("WordDocuments"), None),
        Format::Unsupported("an OLE2 file of an unknown kind")
    );
}
