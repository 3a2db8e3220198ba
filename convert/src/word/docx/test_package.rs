//! Packages that tests write themselves.
#![allow(clippy::unwrap_used)]

use std::io::{Cursor, Write};

use tributary_schemas::Result;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::config::Config;
use crate::document::Converted;
use crate::limits::Limits;

/// Parts of a package by name.
pub(crate) struct TestPackage {
    parts: Vec<(String, Vec<u8>)>,
    relationships: String,
}

const NAMESPACES: &str = "xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main' xmlns:r='http://schemas.openxmlformats.org/officeDocument/2006/relationships' xmlns:m='http://schemas.openxmlformats.org/officeDocument/2006/math'";

impl TestPackage {
    /// A document whose body is `body`.
    pub(crate) fn with_body(body: &str) -> Self {
        let types = "<Types><Default Extension='png' ContentType='image/png'/><Override PartName='/word/document.xml' ContentType='application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml'/></Types>";
        let root = "<Relationships><Relationship Id='r1' Type='http://x/officeDocument' Target='word/document.xml'/></Relationships>";
        Self {
            parts: Vec::new(),
            relationships: String::new(),
        }
        .part("[Content_Types].xml", types)
        .part("_rels/.rels", root)
        .part(
            "word/document.xml",
            &format!(
                "<?xml version='1.0'?><w:document {NAMESPACES}><w:body>{body}</w:body></w:document>"
            ),
        )
    }

    /// Adds or replaces a part.
    pub(crate) fn part(self, name: &str, text: &str) -> Self {
        self.bytes(name, text.as_bytes())
    }

    /// Adds or replaces a part.
    pub(crate) fn bytes(mut self, name: &str, bytes: &[u8]) -> Self {
        self.parts.retain(|(known, _)| known != name);
        self.parts.push((name.to_owned(), bytes.to_vec()));
        self
    }

    /// Leaves a part out.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.parts.retain(|(known, _)| known != name);
        self
    }

    /// Adds a relationship of the main part.
    pub(crate) fn relationship(mut self, id: &str, kind: &str, target: &str) -> Self {
        let mode = if target.contains("://") {
            " TargetMode='External'"
        } else {
            ""
        };
        self.relationships.push_str(&format!(
            "<Relationship Id='{id}' Type='http://x/{kind}' Target='{target}'{mode}/>"
        ));
        self
    }

    /// The package as a file.
    pub(crate) fn zipped(&self) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        let relationships = format!("<Relationships>{}</Relationships>", self.relationships);
        let rels = (
            "word/_rels/document.xml.rels".to_owned(),
            relationships.into_bytes(),
        );
        for (name, bytes) in self.parts.iter().chain(std::iter::once(&rels)) {
            writer
                .start_file(name.as_str(), SimpleFileOptions::default())
                .unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    /// What the document becomes.
    pub(crate) fn converted(&self) -> Result<Converted> {
        self.converted_with(&Config::default())
    }

    /// What the document becomes with those settings.
    pub(crate) fn converted_with(&self, config: &Config) -> Result<Converted> {
        super::convert(&self.zipped(), &config.docx, &Limits::starting_now(config))
    }

    /// The document's Markdown.
    pub(crate) fn markdown(&self) -> String {
        self.converted().unwrap().markdown
    }
}

/// Markdown of a document with that body.
pub(crate) fn markdown(body: &str) -> String {
    TestPackage::with_body(body).markdown()
}

/// A paragraph of one run, with paragraph properties.
pub(crate) fn paragraph(properties: &str, text: &str) -> String {
    format!("<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>")
}
