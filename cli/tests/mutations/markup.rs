//! Changes of XML and HTML that keep most of it readable, so that they reach the code behind the
//! parser.

use crate::pieces::{Change, many, number, place, places_of, put};
use crate::random::Random;

/// Changes of one text of markup.
pub const MARKUP: &[Change] = &[
    ("nest an element", nest),
    ("bomb of entities", entities),
    ("flood of attributes", attributes),
    ("change a number", change_number),
    ("change a number", change_number),
    ("copy a value to another", cross_values),
    ("copy a value to another", cross_values),
    ("repeat an element", repeat),
    ("take tags out", remove),
    ("move tags", shift),
    ("rename an element", rename),
    ("long text", long_text),
    ("strange characters", strange),
    ("another encoding", encoding),
    ("leave an element open", leave_open),
];

const STRANGE: &[&[u8]] = &[
    b"\0",
    b"\xFF\xFE",
    b"\xED\xA0\x80",
    b"&#0;",
    b"&#xFFFFFFFF;",
    b"&#x110000;",
    b"&nothing;",
    b"]]>",
    b"<![CDATA[",
    b"<!--",
    b"<?",
    "\u{202E}\u{0301}\u{200D}\u{FEFF}".as_bytes(),
    "𠀀👩‍👩‍👧‍👦".as_bytes(),
    b"|`*_#\\",
];

/// Where tags begin; the end where there are none.
fn tags(bytes: &[u8]) -> Vec<usize> {
    let found = places_of(bytes, b"<");
    if found.is_empty() {
        vec![bytes.len()]
    } else {
        found
    }
}

fn tag(bytes: &[u8], random: &mut Random) -> usize {
    random.choose(&tags(bytes))
}

/// Name of the element whose tag begins here.
fn name_at(bytes: &[u8], tag: usize) -> Vec<u8> {
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b":-_.".contains(byte);
    bytes
        .iter()
        .skip(tag + 1)
        .skip_while(|byte| **byte == b'/')
        .take_while(is_name)
        .copied()
        .collect()
}

/// A name from somewhere in the text.
fn a_name(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let name = name_at(bytes, tag(bytes, random));
    if name.is_empty() { b"x".to_vec() } else { name }
}

fn nest(bytes: &mut Vec<u8>, random: &mut Random) {
    let (name, depth, at) = (a_name(bytes, random), many(random), tag(bytes, random));
    let mut open = [b"<".as_slice(), &name, b">"].concat().repeat(depth);
    if random.below(2) == 0 {
        open.extend([b"</".as_slice(), &name, b">"].concat().repeat(depth));
    }
    put(bytes, at, 0, &open);
}

fn entities(bytes: &mut Vec<u8>, random: &mut Random) {
    let kinds = ["laughs", "one long", "itself", "outside", "parameters"];
    let declared = match random.choose(&kinds) {
        "laughs" => (1..12)
            .map(|level| {
                format!(
                    "<!ENTITY e{level} \"{}\">",
                    format!("&e{};", level - 1).repeat(10)
                )
            })
            .collect(),
        "one long" => format!("<!ENTITY e11 \"{}\">", "a".repeat(many(random))),
        "itself" => "<!ENTITY e11 \"&e10;\"><!ENTITY e10 \"&e11;\">".to_owned(),
        "outside" => "<!ENTITY e11 SYSTEM \"file:///etc/passwd\">".to_owned(),
        _ => "<!ENTITY % p \"<!ENTITY e11 '&#37;p;'>\"> %p; %p;".to_owned(),
    };
    let document_type = format!("<!DOCTYPE x [<!ENTITY e0 \"lol\">{declared}]>");
    let after_declaration = if bytes.starts_with(b"<?xml") {
        bytes
            .iter()
            .position(|byte| *byte == b'>')
            .map_or(0, |at| at + 1)
    } else {
        0
    };
    let ends = places_of(bytes, b">");
    let used = ends
        .get(place(ends.len(), random))
        .map_or(bytes.len(), |end| end + 1);
    put(
        bytes,
        used,
        0,
        &b"&e11;".repeat(1 + random.below(100) as usize),
    );
    put(bytes, after_declaration, 0, document_type.as_bytes());
}

fn attributes(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = tag(bytes, random);
    let end = at + 1 + name_at(bytes, at).len();
    let is_same = random.below(4) == 0;
    let flood: String = (0..many(random))
        .map(|index| format!(" a{}=\"{index}\"", if is_same { 0 } else { index }))
        .collect();
    put(bytes, end, 0, flood.as_bytes());
}

fn change_number(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        let from = place(bytes.len(), random);
        let starts = |pair: &[u8]| (pair[0] == b'"' || pair[0] == b'>') && pair[1].is_ascii_digit();
        let Some(at) = bytes
            .get(from..)
            .and_then(|rest| rest.windows(2).position(starts))
            .map(|at| from + at + 1)
        else {
            continue;
        };
        let length = bytes
            .iter()
            .skip(at)
            .take_while(|byte| byte.is_ascii_digit() || **byte == b'.')
            .count();
        put(bytes, at, length, number(random).as_bytes());
    }
}

/// Begin and length of all quoted values.
fn values(bytes: &[u8]) -> Vec<(usize, usize)> {
    let starts = places_of(bytes, b"=\"").into_iter().map(|at| at + 2);
    starts
        .map(|at| {
            (
                at,
                bytes
                    .iter()
                    .skip(at)
                    .take_while(|byte| **byte != b'"')
                    .count(),
            )
        })
        .filter(|(_, length)| *length < 200)
        .collect()
}

/// What names something else now names itself, or something of another kind.
fn cross_values(bytes: &mut Vec<u8>, random: &mut Random) {
    let all = values(bytes);
    if all.is_empty() {
        return;
    }
    let ((from, length), (to, replaced)) = (random.choose(&all), random.choose(&all));
    let value = bytes[from..from + length].to_vec();
    put(bytes, to, replaced, &value);
}

/// Begin and length of what stands between two tags that are not far apart.
fn between(bytes: &[u8], random: &mut Random) -> (usize, usize) {
    let all = tags(bytes);
    let first = place(all.len(), random);
    let last = (first + 1 + random.below(24) as usize).min(all.len() - 1);
    (all[first], all[last].saturating_sub(all[first]))
}

fn repeat(bytes: &mut Vec<u8>, random: &mut Random) {
    let (at, length) = between(bytes, random);
    let copies = bytes[at..at + length].repeat(many(random).min((1 << 20) / length.max(1)));
    put(bytes, at, 0, &copies);
}

fn remove(bytes: &mut Vec<u8>, random: &mut Random) {
    let (at, length) = between(bytes, random);
    put(bytes, at, length, &[]);
}

fn shift(bytes: &mut Vec<u8>, random: &mut Random) {
    let (at, length) = between(bytes, random);
    let moved: Vec<u8> = bytes.drain(at..at + length).collect();
    let to = tag(bytes, random);
    put(bytes, to, 0, &moved);
}

fn rename(bytes: &mut Vec<u8>, random: &mut Random) {
    let (at, name) = (tag(bytes, random), a_name(bytes, random));
    let length = name_at(bytes, at).len();
    put(bytes, at + 1, length, &name);
}

fn long_text(bytes: &mut Vec<u8>, random: &mut Random) {
    let unit = random.choose(&[
        "a", " ", "载", "\u{0301}", "&amp;", "| ", "\n", "1", "[", "$", "*a_",
    ]);
    let at = tag(bytes, random);
    put(bytes, at, 0, unit.repeat(many(random)).as_bytes());
}

fn strange(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..1 + random.below(8) {
        let at = place(bytes.len(), random);
        put(bytes, at, 0, random.choose(STRANGE));
    }
}

fn encoding(bytes: &mut Vec<u8>, random: &mut Random) {
    let name = random.choose(&[
        "UTF-16",
        "UTF-7",
        "GB18030",
        "UTF-32",
        "x-nothing",
        "ISO-2022-JP",
    ]);
    let declaration = format!("<?xml version=\"1.0\" encoding=\"{name}\"?>");
    let old = if bytes.starts_with(b"<?xml") {
        bytes
            .iter()
            .position(|byte| *byte == b'>')
            .map_or(0, |at| at + 1)
    } else {
        0
    };
    put(bytes, 0, old, declaration.as_bytes());
}

fn leave_open(bytes: &mut Vec<u8>, random: &mut Random) {
    let ends = places_of(bytes, b"</");
    let Some(at) = ends.get(place(ends.len(), random)).copied() else {
        return;
    };
    let length = bytes
        .iter()
        .skip(at)
        .take_while(|byte| **byte != b'>')
        .count()
        + 1;
    put(bytes, at, length, &[]);
}
