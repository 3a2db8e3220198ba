//! Core properties of a package (title, author, dates) as metadata.

use crate::blanks::collapsed;

use std::collections::BTreeMap;

use tributary_schemas::Result;

use super::package::Package;
use super::xml::{Element, XmlReader};

/// Longest property in characters; longer ones are cut.
const MAXIMUM_CHARACTERS: usize = 2000;

/// Names of properties in the part, and what they are called in the metadata.
const NAMES: [(&str, &str); 10] = [
    ("title", "title"),
    ("creator", "author"),
    ("subject", "subject"),
    ("keywords", "keywords"),
    ("description", "description"),
    ("category", "category"),
    ("language", "language"),
    ("created", "created"),
    ("modified", "modified"),
    ("lastModifiedBy", "last_modified_by"),
];

/// The core properties that have a value; none if the package has no such part.
pub(crate) fn read(package: &mut Package) -> Result<BTreeMap<String, String>> {
    let mut metadata = BTreeMap::new();
    let target = package
        .relationships("")?
        .target_of_kind("core-properties")
        .unwrap_or("docProps/core.xml")
        .to_owned();
    let Some(part) = package.text(&target)? else {
        return Ok(metadata);
    };
    let mut xml = XmlReader::new(&part.text, &target, package.limits());
    xml.child()?;
    while let Some(element) = xml.child()? {
        let name = name_of(&element);
        let text = xml.text()?;
        let text: String = collapsed(&text).chars().take(MAXIMUM_CHARACTERS).collect();
        if let Some(name) = name.filter(|_| !text.is_empty()) {
            metadata.insert(name.to_owned(), text);
        }
    }
    Ok(metadata)
}

/// The name in our metadata of a property that is kept.
fn name_of(element: &Element) -> Option<&'static str> {
    NAMES
        .iter()
        .find(|(name, _)| *name == element.name())
        .map(|(_, name)| *name)
}
