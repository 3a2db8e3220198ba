//! Messages made in the test.
#![allow(clippy::unwrap_used)]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::*;
use crate::config::{Config, MailConfig};
use crate::document::Job;
use crate::hostile::withstands;

const MESSAGE: &str = "Received: from x\r
From: =?utf-8?B?5byg5LiJ?= <zhang@example.com>\r
To: Li <li@example.com>,\r
 b@c.d\r
Subject: =?gb2312?B?z+7Ev7Go?=\r
 =?gb2312?B?uOY=?= 1\r
Date: Fri, 21 Nov 2025 09:55:06 +0800\r
Message-ID: <1@example.com>\r
Content-Type: multipart/mixed; boundary=\"b\"\r
\r
--b\r
Content-Type: multipart/alternative; boundary=c\r
\r
--c\r
Content-Type: text/plain; charset=utf-8\r
\r
plain *body*\r
--c\r
Content-Type: text/html; charset=gbk\r
Content-Transfer-Encoding: quoted-printable\r
\r
<html><body><h2>=B1=EA=CC=E2</h2><p>html=20b=\r
ody</p><img src=3D\"cid:pic\"></body></html>\r
--c--\r
--b\r
Content-Type: image/png; name=p.png\r
Content-ID: <pic>\r
Content-Transfer-Encoding: base64\r
\r
iVBORw0KGgo=\r
--b\r
Content-Type: message/rfc822\r
\r
Subject: Inner\r
\r
> quoted\r
answer\r
# no heading\r
--b\r
Content-Type: application/pdf\r
Content-Disposition: attachment; filename*0*=utf-8''%E6%8A%A5; filename*1=\".pdf\"\r
Content-Transfer-Encoding: base64\r
\r
JVBERi0=\r
--b--\r
";

fn convert_with(message: &[u8], config: &Config) -> Result<Converted> {
    let limits = Limits::starting_now(config);
    convert(message, &config.mail, &limits, &|job, limits| {
        crate::convert(job, config, limits)
    })
}

#[test]
fn headers_body_pictures_and_attachments_are_read() {
    let converted = convert_with(MESSAGE.as_bytes(), &Config::default()).unwrap();
    assert_eq!(
        converted.markdown,
        "# 项目报告 1\n\n- **From**: 张三 \\<zhang@example.com>\n- **To**: Li \\<li@example.com>, b@c.d\n- **Date**: 2025-11-21T09:55:06+08:00\n\n## 标题\n\nhtml body\n\n![](image:0)\n\n**Attachments**:\n\n- 报.pdf (application/pdf, 5 bytes)\n\n## Inner\n\n> quoted\n\nanswer\n\\# no heading\n\n"
    );
    assert_eq!(converted.title.as_deref(), Some("项目报告 1"));
    assert_eq!(
        converted.metadata.get("message_id").map(String::as_str),
        Some("1@example.com")
    );
    assert_eq!(
        converted.images,
        vec![ImageLink {
            link: "embedded:0".into(),
            alt: String::new()
        }]
    );
    let names: Vec<&str> = converted
        .blobs
        .iter()
        .map(|file| file.name.as_str())
        .collect();
    assert_eq!(names, ["p.png", "报.pdf"]);
}

#[test]
fn messages_in_messages_have_a_limit() {
    let config = Config {
        mail: MailConfig {
            maximum_depth: 0,
            ..MailConfig::default()
        },
        ..Config::default()
    };
    let converted = convert_with(MESSAGE.as_bytes(), &config).unwrap();
    assert!(
        converted.markdown.contains("(message/rfc822, "),
        "{}",
        converted.markdown
    );
    assert!(!converted.markdown.contains("quoted"));
    let nested = "Content-Type: message/rfc822\r\nSubject: x\r\n\r\n".repeat(5000);
    assert!(convert_with(nested.as_bytes(), &Config::default()).is_ok());
}

#[test]
fn encrypted_strange_and_huge_messages_are_refused() {
    let kind = |message: &str| {
        convert_with(message.as_bytes(), &Config::default())
            .unwrap_err()
            .kind()
    };
    assert_eq!(
        kind("Subject: s\nContent-Type: multipart/encrypted; boundary=x\n\n--x\n\n--x--\n"),
        ErrorKind::Unsupported
    );
    assert_eq!(kind("no header at all"), ErrorKind::Corrupt);
    assert_eq!(
        kind(&format!(
            "Content-Type: multipart/mixed; boundary=x\n\n{}",
            "--x\n\n".repeat(5000)
        )),
        ErrorKind::Invalid
    );
}

#[test]
fn text_without_declarations_is_read() {
    let (bytes, ..) = encoding_rs::GBK.encode(
        "Subject: 载波聚合技术的说明\nFrom: a@b.c\n\n配置完成以后，需要检查邻区关系。\n-- \n签名\n",
    );
    let converted = convert_with(&bytes, &Config::default()).unwrap();
    assert_eq!(
        converted.markdown,
        "# 载波聚合技术的说明\n\n- **From**: a@b.c\n\n配置完成以后，需要检查邻区关系。\n\\--\n签名\n\n"
    );
}

#[test]
fn japanese_of_seven_bits_is_read() {
    let words = ["キャリア", "の設定"].map(|text| {
        let (bytes, ..) = encoding_rs::ISO_2022_JP.encode(text);
        format!("=?ISO-2022-JP?B?{}?=", STANDARD.encode(bytes))
    });
    let head = format!(
        "Subject: {}\r\n {}\r\nContent-Type: text/plain; charset=ISO-2022-JP\r\n\r\n",
        words[0], words[1]
    );
    let (body, ..) = encoding_rs::ISO_2022_JP.encode("隣接セルの関係を確認してください。");
    let message = [head.as_bytes(), &body].concat();
    let converted = convert_with(&message, &Config::default()).unwrap();
    assert_eq!(
        converted.markdown,
        "# キャリアの設定\n\n隣接セルの関係を確認してください。\n\n"
    );
}

#[test]
fn a_charset_that_the_bytes_contradict_is_not_believed() {
    let text = "请各分公司在周五之前完成邻区关系的核查。";
    let head = b"Subject: s\r\nContent-Type: text/plain; charset=US-ASCII\r\n\r\n";
    let (body, ..) = encoding_rs::GBK.encode(text);
    let message = [head.as_slice(), &body].concat();
    let converted = convert_with(&message, &Config::default()).unwrap();
    assert_eq!(converted.markdown, format!("# s\n\n{text}\n\n"));
}

#[test]
fn a_message_that_an_editor_saved_as_utf_16_is_read() {
    let message = "Subject: s\nContent-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/plain; charset=\"UTF-8\"\n\n载波 text\n--x--\n";
    let units: Vec<u8> = message.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for bytes in [units.clone(), [b"\xFF\xFE".as_slice(), &units].concat()] {
        assert_eq!(
            convert_with(&bytes, &Config::default()).unwrap().markdown,
            "# s\n\n载波 text\n\n"
        );
    }
}

#[test]
fn damage_does_no_harm() {
    let config = Config::default();
    withstands(MESSAGE.as_bytes(), |bytes, limits| {
        convert(bytes, &config.mail, limits, &|job, limits| {
            crate::convert(job, &config, limits)
        })
    });
}

/// A message with a file for each name and content.
fn with_files(files: &[(&str, &str, &[u8])]) -> String {
    let mut message = "Subject: Files\nContent-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/plain\n\nSee below.\n".to_owned();
    for (name, media_type, bytes) in files {
        message += &format!(
            "--x\nContent-Type: {media_type}; name=\"{name}\"\nContent-Disposition: attachment; filename=\"{name}\"\nContent-Transfer-Encoding: base64\n\n{}\n",
            STANDARD.encode(bytes)
        );
    }
    message + "--x--\n"
}

#[test]
fn attached_files_are_sections_of_the_message() {
    let message = with_files(&[
        ("prices.csv", "text/csv", b"city,price\nOslo,3\nLima,4\n"),
        (
            "notes.md",
            "application/octet-stream",
            b"# Notes\n\n## Cells\n\nRestart them.\n",
        ),
        (
            "again.md",
            "text/markdown",
            b"# Notes\n\n## Cells\n\nRestart them.\n",
        ),
        ("key.asc", "application/pgp-keys", b"-----BEGIN\n"),
        (
            "invite.ics",
            "text/calendar",
            b"BEGIN:VEVENT\nSUMMARY:Meeting\nEND:VEVENT\n",
        ),
        (
            "broken.docx",
            "application/octet-stream",
            b"PK\x03\x04 no document",
        ),
        ("shot.png", "image/png", b"\x89PNG\r\n"),
        ("empty.txt", "text/plain", b""),
    ]);
    let converted = convert_with(message.as_bytes(), &Config::default()).unwrap();
    let (head, sections) = converted.markdown.split_once("\n\n## ").unwrap();
    assert!(
        head.starts_with("# Files\n\nSee below.\n\n**Attachments**:"),
        "{head}"
    );
    assert_eq!(head.matches("\n- ").count(), 8);
    assert!(head.ends_with("\n\n![shot.png](image:0)"), "{head}");
    assert_eq!(
        sections,
        "prices.csv\n\n| city | price |\n| --- | --- |\n| Oslo | 3 |\n| Lima | 4 |\n\n## notes.md\n\n### Notes\n\n#### Cells\n\nRestart them.\n\n## invite.ics\n\n- **Summary**: Meeting\n\n"
    );
    let shown: Vec<&str> = converted
        .images
        .iter()
        .map(|image| image.link.as_str())
        .collect();
    assert_eq!(shown, ["embedded:6"]);
    assert_eq!(converted.blobs.len(), 7);
    assert_eq!(converted.metadata["attachments_read"], "3");
    let unread = &converted.metadata["attachments_not_read"];
    assert!(
        unread.starts_with("broken.docx: ") && unread.ends_with("; empty.txt: it is empty"),
        "{unread}"
    );
}

#[test]
fn a_message_is_read_without_its_files_where_that_is_configured() {
    let message = with_files(&[("notes.md", "text/markdown", b"Restart them.\n")]);
    let mut config = Config::default();
    config.mail.read_attachments = false;
    let converted = convert_with(message.as_bytes(), &config).unwrap();
    assert!(!converted.markdown.contains("Restart"));
    assert!(converted.metadata.is_empty(), "{:?}", converted.metadata);
}

#[test]
fn what_a_file_does_to_its_converter_costs_that_file() {
    let message = with_files(&[
        ("bad.txt", "text/plain", b"1"),
        ("long.txt", "text/plain", b"2"),
        ("good.txt", "text/plain", b"3"),
    ]);
    let config = Config::default();
    let limits = Limits {
        maximum_markdown_bytes: 400,
        ..Limits::starting_now(&config)
    };
    let read = |job: Job<'_>, _: &Limits<'_>| match job.bytes {
        b"1" => Err(Error::new(ErrorKind::Corrupt, "no such thing")),
        b"2" => Ok(Converted {
            markdown: "x".repeat(500),
            ..Converted::default()
        }),
        _ => Ok(Converted {
            markdown: "Good.\n".into(),
            ..Converted::default()
        }),
    };
    let converted = convert(message.as_bytes(), &config.mail, &limits, &read).unwrap();
    assert!(converted.markdown.ends_with("## good.txt\n\nGood.\n\n"));
    let unread = &converted.metadata["attachments_not_read"];
    assert!(unread.contains("bad.txt: no such thing"), "{unread}");
    assert!(
        unread.contains("long.txt: Markdown of 500 bytes is over the limit"),
        "{unread}"
    );
    let away = |_: Job<'_>, _: &Limits<'_>| Err(Error::new(ErrorKind::Unavailable, "away"));
    let waits = convert(message.as_bytes(), &config.mail, &limits, &away);
    assert_eq!(waits.unwrap_err().kind(), ErrorKind::Unavailable);
}

#[test]
fn quotations_of_quotations_keep_their_writers() {
    let message = "Subject: s\n\n>> It resets.\n> Updated?\nNo.\n";
    let converted = convert_with(message.as_bytes(), &Config::default()).unwrap();
    assert_eq!(
        converted.markdown,
        "# s\n\n> > It resets.\n> \n> Updated?\n\nNo.\n\n"
    );
}

#[test]
fn a_signed_envelope_is_named_and_not_read() {
    let message = "Subject: s\nContent-Type: application/pkcs7-mime; smime-type=signed-data; name=smime.p7m\nContent-Transfer-Encoding: base64\n\nMIIB\n";
    let converted = convert_with(message.as_bytes(), &Config::default()).unwrap();
    assert!(converted.markdown.contains("smime.p7m") && !converted.markdown.contains("MIIB"));
    assert!(converted.metadata["attachments_not_read"].contains("S/MIME"));
}

#[test]
fn ids_that_collide_and_wrong_types_hide_no_file() {
    let part = |head: &str, bytes: &[u8]| {
        format!(
            "--x\n{head}\nContent-Transfer-Encoding: base64\n\n{}\n",
            STANDARD.encode(bytes)
        )
    };
    let picture = b"\x89PNG\r\n\x1a\n";
    let message = format!(
        "Subject: s\nContent-Type: multipart/related; boundary=x\n\n{}{}{}{}--x--\n",
        part("Content-Type: text/html", b"<p>See <img src=\"cid:p\"></p>"),
        part(
            "Content-Type: image/png; name=p.png\nContent-ID: <p>",
            picture
        ),
        part(
            "Content-Type: text/plain; name=a.txt\nContent-ID: <p>\nContent-Disposition: attachment",
            b"Text of a."
        ),
        part(
            "Content-Type: image/png; name=b.png\nContent-Disposition: attachment",
            b"Text of b."
        ),
    );
    let converted = convert_with(message.as_bytes(), &Config::default()).unwrap();
    assert!(
        converted.markdown.contains("Text of a."),
        "{}",
        converted.markdown
    );
    assert!(
        converted.markdown.contains("Text of b."),
        "{}",
        converted.markdown
    );
    assert_eq!(converted.images.len(), 1);
}

#[test]
fn a_message_that_is_attached_as_a_file_has_its_own_files_read() {
    let inner = with_files(&[
        ("notes.md", "text/markdown", b"Restart them.\n"),
        ("a.zip", "application/zip", b"PK\x03\x04"),
    ]);
    let outer = with_files(&[("inner.eml", "application/octet-stream", inner.as_bytes())]);
    let converted = convert_with(outer.as_bytes(), &Config::default()).unwrap();
    assert!(
        converted.markdown.contains("Restart them."),
        "{}",
        converted.markdown
    );
    let unread = &converted.metadata["attachments_not_read"];
    assert!(unread.starts_with("in inner.eml: a.zip: "), "{unread}");
}

#[test]
fn what_a_mail_hides_is_no_text() {
    let message = "Subject: s\nContent-Type: text/html\n\n<span style=\"display:none\">Preheader</span><p>Shown.</p>\n";
    let converted = convert_with(message.as_bytes(), &Config::default()).unwrap();
    assert_eq!(converted.markdown, "# s\n\nShown.\n\n");
}

#[test]
fn an_invitation_without_a_name_is_called_by_what_it_is_about() {
    let message = "Subject: s\nContent-Type: multipart/alternative; boundary=x\n\n--x\nContent-Type: text/plain\n\nPlease come.\n--x\nContent-Type: text/calendar; method=REQUEST\n\nBEGIN:VEVENT\nSUMMARY:Budget\nDTSTART:20260504T100000Z\nEND:VEVENT\n--x--\n";
    let converted = convert_with(message.as_bytes(), &Config::default()).unwrap();
    let end = "## Budget\n\n- **Summary**: Budget\n- **Start**: 2026-05-04 10:00 UTC\n\n";
    assert!(converted.markdown.ends_with(end), "{}", converted.markdown);
}
