//! Formats that are text: nesting, tables without end, references to themselves, markers in the
//! wrong place.

use crate::pieces::{Change, many, number, place, places_of, put};
use crate::random::Random;

/// Changes of a text line by line and mark by mark.
pub const WRITTEN: &[Change] = &[
    ("nest marks", nest),
    ("nest marks", nest),
    ("repeat a line", repeat_line),
    ("exchange lines", exchange_lines),
    ("indent lines", indent),
    ("a wide line", widen),
    ("a mark in the wrong place", mark),
    ("a mark in the wrong place", mark),
    ("change a number", change_number),
    ("another line end", line_ends),
    ("characters of more bytes", wide_characters),
    ("a snippet that means something", snippet),
];

const NESTING: &[(&str, &str)] = &[
    ("[", "]"),
    ("{\"a\":", "}"),
    ("[{\"a\":[", "]}]"),
    ("{", "}"),
    ("{\\b ", "}"),
    ("> ", ""),
    ("- ", ""),
    ("<div>", "</div>"),
    ("<table><tr><td>", "</td></tr></table>"),
    ("<b><i>", ""),
    ("<a><a:b>", ""),
    ("(", ")"),
    ("*_", "_*"),
    ("![", "](u)"),
    ("\"", "\""),
    ("<!--", "-->"),
    (".. note::\n   ", ""),
    ("- a:\n  ", ""),
];

const MARKS: &[&str] = &[
    "\"", "'", ",", ";", "\t", "|", "\n", "\r", "\0", "`", "```\n", "---\n", "===\n", "<", ">",
    "{", "}", "[", "]", "\\", "&", "%", "$$", "*", "::", "|||||\n", "\u{FEFF}",
];

const SNIPPETS: &[&str] = &[
    "a: &a [*a, *a]\n",
    "? ? ? ? ?\n",
    "<<: *b\n",
    "{\\*\\bin4294967295 x}",
    "\\u-99999?\\uc9999 ",
    "{\\fonttbl{\\f0\\fcharset999 x;}}",
    "Content-Type: multipart/mixed; boundary=\"\"\r\n\r\n--\r\n",
    "Content-Type: message/rfc822\r\n\r\n",
    "Content-Transfer-Encoding: base64\r\n\r\n====AAAA=\r\n",
    "Subject: =?utf-8?B?////?= =?gb18030?Q?=FF=FE?=\r\n",
    "<td colspan=\"4294967295\" rowspan=\"65534\">",
    "<svg><foreignObject><table><svg>",
    "<![CDATA[",
    "<frameset><select><template>",
    "+---+---+\n|   | a |\n+   +---+\n",
    "====  ====\n",
    ".. include:: /etc/passwd\n",
    ".. |a| replace:: |a|\n\n|a|\n",
    "[a]: a\n[a][a]\n",
    "| a | b |\n|---|\n| c |\n",
    "{\"nbformat\": 4, \"cells\": [{\"cell_type\": \"code\", \"source\": 7, \"outputs\": [[]]}]}",
    "{\"a\": 1e99999, \"a\": -0.0, \"\\ud800\": \"\\udc00\"}",
];

fn line_start(bytes: &[u8], random: &mut Random) -> usize {
    let ends = places_of(bytes, b"\n");
    ends.get(place(ends.len(), random)).map_or(0, |end| end + 1)
}

fn line(bytes: &[u8], at: usize) -> Vec<u8> {
    let length = bytes
        .iter()
        .skip(at)
        .position(|byte| *byte == b'\n')
        .map_or(bytes.len() - at, |end| end + 1);
    bytes[at..at + length].to_vec()
}

fn nest(bytes: &mut Vec<u8>, random: &mut Random) {
    let ((open, close), depth) = (random.choose(NESTING), many(random));
    let at = if random.below(2) == 0 {
        line_start(bytes, random)
    } else {
        place(bytes.len(), random)
    };
    if random.below(2) == 0 {
        put(bytes, at, 0, close.repeat(depth).as_bytes());
    }
    put(bytes, at, 0, open.repeat(depth).as_bytes());
}

fn repeat_line(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = line_start(bytes, random);
    let line = line(bytes, at);
    let copies = line.repeat(many(random).min((1 << 20) / line.len().max(1)));
    put(bytes, at, 0, &copies);
}

fn exchange_lines(bytes: &mut Vec<u8>, random: &mut Random) {
    let from = line_start(bytes, random);
    let line = line(bytes, from);
    put(bytes, from, line.len(), &[]);
    let to = line_start(bytes, random);
    put(bytes, to, 0, &line);
}

fn indent(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..1 + random.below(16) {
        let at = line_start(bytes, random);
        put(
            bytes,
            at,
            0,
            random
                .choose(&[" ", "  ", "    ", "\t", "   ", "      "])
                .repeat(1 + random.below(4) as usize)
                .as_bytes(),
        );
    }
}

fn widen(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = line_start(bytes, random);
    let cell = random.choose(&["a,", ";", "\t", "| a ", "\"x\",", " a", "载,", "<td>a"]);
    put(bytes, at, 0, cell.repeat(many(random)).as_bytes());
}

fn mark(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..1 + random.below(24) {
        let at = place(bytes.len(), random);
        put(
            bytes,
            at,
            random.below(2) as usize,
            random.choose(MARKS).as_bytes(),
        );
    }
}

fn change_number(bytes: &mut Vec<u8>, random: &mut Random) {
    let from = place(bytes.len(), random);
    let Some(at) = bytes
        .iter()
        .skip(from)
        .position(u8::is_ascii_digit)
        .map(|at| from + at)
    else {
        return;
    };
    let length = bytes
        .iter()
        .skip(at)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    put(bytes, at, length, number(random).as_bytes());
}

fn line_ends(bytes: &mut Vec<u8>, random: &mut Random) {
    let end = random.choose(&["\r\n", "\r", "\n\r", "\u{2028}", "\u{85}", ""]);
    *bytes = bytes
        .split(|byte| *byte == b'\n')
        .collect::<Vec<_>>()
        .join(end.as_bytes());
}

fn wide_characters(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = place(bytes.len(), random);
    let unit = random.choose(&["载", "\u{0301}", "👩‍👩‍👧‍👦", "\u{202E}", "ﷺ", "\u{AD}", "İ"]);
    put(bytes, at, 0, unit.repeat(many(random).min(8192)).as_bytes());
}

fn snippet(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = if random.below(2) == 0 {
        line_start(bytes, random)
    } else {
        0
    };
    put(
        bytes,
        at,
        0,
        random
            .choose(SNIPPETS)
            .repeat(many(random).min(256))
            .as_bytes(),
    );
}
