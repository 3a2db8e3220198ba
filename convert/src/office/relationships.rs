//! Relationships of a part: which other parts or addresses it names, by identifier. Read by
//! [`super::package`].

use std::collections::HashMap;

use tributary_schemas::Result;

use super::xml::XmlReader;

/// One relationship.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relationship {
    /// Last step of the type's address, such as `image` or `hyperlink`; the same in strict and
    /// transitional documents.
    pub kind: String,
    /// Name of the part (without a leading slash), or the address if it is external.
    pub target: String,
    /// Whether the target lies outside of the package.
    pub is_external: bool,
}

/// The relationships of one part.
#[derive(Clone, Debug, Default)]
pub(crate) struct Relationships {
    by_id: HashMap<String, Relationship>,
}

impl Relationships {
    /// Reads a relationships part; `source` is the part that they belong to.
    pub(crate) fn read(xml: &mut XmlReader, source: &str) -> Result<Self> {
        let mut by_id = HashMap::new();
        xml.child()?;
        while let Some(element) = xml.child()? {
            if let (Some(id), Some(target)) = (element.attribute("Id"), element.attribute("Target"))
            {
                let is_external = element
                    .attribute("TargetMode")
                    .is_some_and(|mode| mode.eq_ignore_ascii_case("external"));
                let kind = element
                    .attribute("Type")
                    .unwrap_or_default()
                    .rsplit('/')
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                let target = if is_external {
                    target.into_owned()
                } else {
                    resolve(source, &target)
                };
                by_id.insert(
                    id.into_owned(),
                    Relationship {
                        kind,
                        target,
                        is_external,
                    },
                );
            }
            xml.skip()?;
        }
        Ok(Self { by_id })
    }

    /// The relationship of that identifier.
    pub(crate) fn get(&self, id: &str) -> Option<&Relationship> {
        self.by_id.get(id)
    }

    /// The first internal target of that kind, by name.
    pub(crate) fn target_of_kind(&self, kind: &str) -> Option<&str> {
        let targets = self
            .by_id
            .values()
            .filter(|relationship| relationship.kind == kind && !relationship.is_external);
        targets
            .map(|relationship| relationship.target.as_str())
            .min()
    }
}

/// Name of the part that `target` means in the part `source`.
fn resolve(source: &str, target: &str) -> String {
    let target = target.replace('\\', "/");
    let target = target.split('#').next().unwrap_or_default();
    let folder = source.rsplit_once('/').map_or("", |(folder, _)| folder);
    let full = match target.strip_prefix('/') {
        Some(absolute) => absolute.to_owned(),
        None => format!("{folder}/{target}"),
    };
    let mut steps: Vec<&str> = Vec::new();
    for step in full.split('/') {
        match step {
            "" | "." => {}
            ".." => drop(steps.pop()),
            step => steps.push(step),
        }
    }
    steps.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_relative_to_their_part() {
        assert_eq!(
            resolve("word/document.xml", "media/image1.png"),
            "word/media/image1.png"
        );
        assert_eq!(
            resolve("word/document.xml", "../customXml/item1.xml"),
            "customXml/item1.xml"
        );
        assert_eq!(
            resolve("word/document.xml", "/word/styles.xml"),
            "word/styles.xml"
        );
        assert_eq!(resolve("", "word\\document.xml"), "word/document.xml");
        assert_eq!(resolve("a.xml", "../../../b.xml#top"), "b.xml");
    }
}
