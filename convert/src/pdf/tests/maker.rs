//! Writes small PDFs for tests: pages of content streams with the fonts `F1` (Helvetica), `F2`
//! (bold) and `F3` (Courier).

/// Builds a document page by page.
pub(crate) struct Maker {
    turn: u16,
    pages: Vec<(u16, String)>,
    field: Option<String>,
}

impl Maker {
    pub(crate) fn new() -> Self {
        Self {
            turn: 0,
            pages: Vec::new(),
            field: None,
        }
    }

    /// The pages that follow are shown turned clockwise.
    pub(crate) fn turned(mut self, degrees: u16) -> Self {
        self.turn = degrees;
        self
    }

    pub(crate) fn page(mut self, content: &str) -> Self {
        self.pages.push((self.turn, content.to_owned()));
        self
    }

    /// A field of a form at (72, 500) that is filled in, and a hidden one, both on every page.
    pub(crate) fn field(mut self, value: &str) -> Self {
        self.field = Some(value.to_owned());
        self
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        let kids: Vec<String> = (0..self.pages.len())
            .map(|page| format!("{} 0 R", 6 + 2 * page))
            .collect();
        let font = |name: &str| {
            format!(
                "<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>"
            )
        };
        let mut objects = vec![
            "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
            format!(
                "<< /Type /Pages /Kids [{}] /Count {} >>",
                kids.join(" "),
                self.pages.len()
            ),
            font("Helvetica"),
            font("Helvetica-Bold"),
            font("Courier"),
        ];
        let after_pages = 6 + 2 * self.pages.len();
        let annotations = self
            .field
            .as_ref()
            .map(|_| format!("/Annots [{} 0 R {} 0 R]", after_pages, after_pages + 1))
            .unwrap_or_default();
        for (index, (turn, content)) in self.pages.iter().enumerate() {
            let resources = "/Resources << /Font << /F1 3 0 R /F2 4 0 R /F3 5 0 R >> >>";
            let contents = 7 + 2 * index;
            objects.push(format!(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Rotate {turn} {resources} {annotations} /Contents {contents} 0 R >>"
            ));
            objects.push(format!(
                "<< /Length {} >>\nstream\n{content}\nendstream",
                content.len() + 1
            ));
        }
        if let Some(value) = &self.field {
            let shown = text("F1", 10.0, 2.0, 4.0, value);
            for flags in [0, 2] {
                objects.push(format!(
                    "<< /Type /Annot /Subtype /Widget /FT /Tx /T (f{flags}) /V ({value}) /F {flags} /Rect [72 500 400 516] /AP << /N {} 0 R >> >>",
                    after_pages + 2
                ));
            }
            let form = "/Type /XObject /Subtype /Form /BBox [0 0 328 16] /Resources << /Font << /F1 3 0 R >> >>";
            objects.push(format!(
                "<< {form} /Length {} >>\nstream\n{shown}\nendstream",
                shown.len() + 1
            ));
        }
        file(&objects, "")
    }
}

/// The operators that show one line of text; parentheses must be escaped.
pub(crate) fn text(font: &str, size: f32, x: f32, y: f32, words: &str) -> String {
    format!("BT /{font} {size} Tf 1 0 0 1 {x} {y} Tm ({words}) Tj ET\n")
}

/// A document that only a password opens.
pub(crate) fn encrypted() -> Vec<u8> {
    let key = "ab".repeat(32);
    let encryption =
        format!("<< /Filter /Standard /V 2 /R 3 /Length 128 /P -44 /O <{key}> /U <{key}> >>");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 100 100] >>".to_owned(),
        encryption,
    ];
    file(
        &objects,
        "/Encrypt 4 0 R /ID [<00112233445566778899aabbccddeeff> <00112233445566778899aabbccddeeff>]",
    )
}

/// A document whose page tree holds itself and claims very many pages.
pub(crate) fn page_tree_loop() -> Vec<u8> {
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 2000000000 >>".to_owned(),
        "<< /Type /Pages /Parent 2 0 R /Kids [2 0 R 3 0 R] /Count 1000000000 >>".to_owned(),
    ];
    file(&objects, "")
}

pub(crate) fn file(objects: &[String], trailer: &str) -> Vec<u8> {
    let mut out = "%PDF-1.7\n".to_owned();
    let mut places = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        places.push(out.len());
        out += &format!("{} 0 obj\n{object}\nendobj\n", index + 1);
    }
    let table = out.len();
    out += &format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for place in places {
        out += &format!("{place:010} 00000 n \n");
    }
    out += &format!(
        "trailer\n<< /Size {} /Root 1 0 R {trailer} >>\nstartxref\n{table}\n%%EOF\n",
        objects.len() + 1
    );
    out.into_bytes()
}
