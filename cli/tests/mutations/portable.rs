//! PDF files whose objects name themselves, whose numbers are absurd and whose streams are packed
//! many times.

use crate::pieces::{Change, many, number, place, places_of, put};
use crate::random::Random;

/// Changes that know how objects look.
pub const PORTABLE: &[Change] = &[
    ("a reference elsewhere", refer),
    ("a reference elsewhere", refer),
    ("a circle of pages", circle),
    ("a number of an object", key_number),
    ("a number of an object", key_number),
    ("a chain of filters", filters),
    ("a broken table of objects", table),
    ("a start that is none", start),
    ("nested arrays", nest),
    ("an object twice", twice),
    ("another keyword", keyword),
    ("strange contents", contents),
];

const NUMBERED: &[&[u8]] = &[
    b"/Length ",
    b"/Count ",
    b"/Size ",
    b"/First ",
    b"/N ",
    b"/Width ",
    b"/Height ",
    b"/Columns ",
    b"/Predictor ",
    b"/Prev ",
    b"/BitsPerComponent ",
    b"/Rotate ",
    b"/W [",
    b"/Index [",
    b"/MediaBox [",
    b"/FirstChar ",
    b"/LastChar ",
    b"startxref\n",
];

const KEYWORDS: &[&[u8]] = &[
    b"/Kids",
    b"/Parent",
    b"/Contents",
    b"/Resources",
    b"/Font",
    b"/ToUnicode",
    b"/Encoding",
    b"/Filter",
    b"/Type",
    b"/DescendantFonts",
    b"endobj",
    b"stream",
    b"endstream",
    b"trailer",
    b"/Root",
];

/// Contents of a page that ask for much.
const CONTENTS: &[&str] = &[
    "q ",
    "BT (載 a) Tj ET ",
    "/F1 1e38 Tf ",
    "1e38 0 0 1e-38 9e9 -9e9 cm ",
    "BT /F1 1 Tf 1 0 0 1 99999999 99999999 Tm (x) Tj ET ",
    "/X1 Do ",
    "[(a) -1e30 (b) 1e30] TJ ",
    "0 0 1e9 1e9 re f ",
    "0 0 m 1 1 l S ",
    "/Span << /ActualText (\\376\\377\\330\\000) >> BDC ",
    "<FEFFD800DC00> Tj ",
    "((((((((",
    "BI /W 99999 /H 99999 /BPC 8 /CS /RGB ID x EI ",
];

/// Begin and length of the numbers of all references `N 0 R`.
fn references(bytes: &[u8]) -> Vec<(usize, usize)> {
    let digits_before = |at: &usize| {
        bytes[..*at]
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let found = places_of(bytes, b" 0 R")
        .into_iter()
        .map(|at| (at, digits_before(&at)));
    found
        .filter(|(_, length)| *length > 0)
        .map(|(at, length)| (at - length, length))
        .collect()
}

fn refer(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        let all = references(bytes);
        if all.is_empty() {
            return;
        }
        let ((from, length), (to, replaced)) = (random.choose(&all), random.choose(&all));
        let target = bytes[from..from + length].to_vec();
        put(bytes, to, replaced, &target);
    }
}

/// Pages that are their own parents and children.
fn circle(bytes: &mut Vec<u8>, random: &mut Random) {
    let kids = places_of(bytes, b"/Kids");
    let all = references(bytes);
    let (Some(at), false) = (kids.get(place(kids.len(), random)), all.is_empty()) else {
        return;
    };
    let Some(open) = bytes
        .iter()
        .skip(*at)
        .position(|byte| *byte == b'[')
        .map(|open| at + open + 1)
    else {
        return;
    };
    let (from, length) = random.choose(&all);
    let reference = [&bytes[from..from + length], b" 0 R "].concat();
    put(bytes, open, 0, &reference.repeat(many(random).min(4096)));
}

fn key_number(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..16 {
        let key = random.choose(NUMBERED);
        let found = places_of(bytes, key);
        let Some(at) = found
            .get(place(found.len(), random))
            .map(|at| at + key.len())
        else {
            continue;
        };
        let length = bytes
            .iter()
            .skip(at)
            .take_while(|byte| byte.is_ascii_digit() || **byte == b'.')
            .count();
        put(bytes, at, length, number(random).as_bytes());
        return;
    }
}

fn filters(bytes: &mut Vec<u8>, random: &mut Random) {
    let found = places_of(bytes, b"/FlateDecode");
    let Some(at) = found.get(place(found.len(), random)).copied() else {
        return;
    };
    let name = random.choose(&[
        "/FlateDecode ",
        "/ASCIIHexDecode ",
        "/ASCII85Decode ",
        "/LZWDecode ",
        "/RunLengthDecode ",
        "/DCTDecode ",
        "/Crypt ",
    ]);
    let is_listed = bytes[..at].trim_ascii_end().ends_with(b"[");
    let chain = format!("/FlateDecode {}", name.repeat(many(random)));
    put(
        bytes,
        at,
        12,
        if is_listed {
            chain
        } else {
            format!("[{chain}]")
        }
        .as_bytes(),
    );
}

fn table(bytes: &mut Vec<u8>, random: &mut Random) {
    let found = places_of(bytes, b" 00000 n");
    for _ in 0..1 + random.below(8) {
        let (Some(at), Some(other)) = (
            found.get(place(found.len(), random)),
            found.get(place(found.len(), random)),
        ) else {
            return;
        };
        let offset = if random.below(2) == 0 {
            format!("{:010}", random.below(bytes.len() as u64)).into_bytes()
        } else {
            bytes[other.saturating_sub(10)..*other].to_vec()
        };
        put(bytes, at.saturating_sub(10), offset.len(), &offset);
    }
}

fn start(bytes: &mut Vec<u8>, random: &mut Random) {
    let Some(at) = places_of(bytes, b"startxref").pop() else {
        return;
    };
    let target = if random.below(2) == 0 {
        random.below(bytes.len() as u64).to_string()
    } else {
        number(random).to_owned()
    };
    bytes.truncate(at);
    bytes.extend(format!("startxref\n{target}\n%%EOF\n").bytes());
}

fn nest(bytes: &mut Vec<u8>, random: &mut Random) {
    let open = random
        .choose(&["[", "<<", "<</A ", "(", "[<</A["])
        .repeat(many(random));
    let found = places_of(bytes, b"<<");
    let at = found
        .get(place(found.len(), random))
        .map_or(bytes.len(), |at| at + 2);
    put(
        bytes,
        at,
        0,
        [b"/Nested ", open.as_bytes()].concat().as_slice(),
    );
}

/// The last object of a number counts, for some readers.
fn twice(bytes: &mut Vec<u8>, random: &mut Random) {
    let found = places_of(bytes, b" 0 obj");
    let (Some(from), Some(to)) = (
        found.get(place(found.len(), random)).copied(),
        found.get(place(found.len(), random)).copied(),
    ) else {
        return;
    };
    let length = bytes.iter().skip(from).take(1 << 16).count();
    let end = places_of(&bytes[from..from + length], b"endobj")
        .first()
        .map_or(from, |end| from + end + 6);
    let digits = bytes[..to]
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let copy = [b"\n", &bytes[to - digits..to], &bytes[from..end], b"\n"].concat();
    put(bytes, to - digits, 0, &copy);
}

fn keyword(bytes: &mut Vec<u8>, random: &mut Random) {
    let (old, new) = (random.choose(KEYWORDS), random.choose(KEYWORDS));
    let found = places_of(bytes, old);
    if let Some(at) = found.get(place(found.len(), random)) {
        put(bytes, *at, old.len(), new);
    }
}

/// A page of its own with contents that are not packed, at the end of the file as an update.
fn contents(bytes: &mut Vec<u8>, random: &mut Random) {
    *bytes = document(&contents_of(random), random.below(4) == 0);
}

fn contents_of(random: &mut Random) -> String {
    (0..1 + random.below(6))
        .map(|_| random.choose(CONTENTS).repeat(many(random).min(8192)))
        .collect()
}

/// A small PDF file; with `is_circular` its form draws itself and its pages are their own parents.
pub fn document(contents: &str, is_circular: bool) -> Vec<u8> {
    let form = if is_circular {
        "/X1 Do /X2 Do"
    } else {
        "0 0 1 1 re f"
    };
    let parent = if is_circular { 3 } else { 2 };
    let resources = "/Resources << /Font << /F1 5 0 R >> /XObject << /X1 6 0 R /X2 6 0 R >> >>";
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!(
            "<< /Type /Pages /Kids [3 0 R{}] /Count 1 >>",
            if is_circular { " 2 0 R" } else { "" }
        ),
        format!(
            "<< /Type /Page /Parent {parent} 0 R /MediaBox [0 0 612 792] /Contents 4 0 R {resources} >>"
        ),
        format!(
            "<< /Length {} >>\nstream\n{contents}\nendstream",
            contents.len()
        ),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
        format!(
            "<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] {resources} /Length {} >>\nstream\n{form}\nendstream",
            form.len()
        ),
    ];
    let mut bytes = b"%PDF-1.4\n".to_vec();
    let mut table = String::from("0000000000 65535 f \n");
    for (index, object) in objects.iter().enumerate() {
        table.push_str(&format!("{:010} 00000 n \n", bytes.len()));
        bytes.extend(format!("{} 0 obj\n{object}\nendobj\n", index + 1).bytes());
    }
    let start = bytes.len();
    let size = objects.len() + 1;
    bytes.extend(format!("xref\n0 {size}\n{table}trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n").bytes());
    bytes
}
