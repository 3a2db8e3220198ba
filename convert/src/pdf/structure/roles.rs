//! The standard structure types (ISO 32000-2, 14.8.4) as far as Markdown knows them.

/// What a structure element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pdf) enum Role {
    /// Holds blocks; text right in it is of a kind that is not told.
    Group,
    /// A group that a heading without level counts as one level.
    Section,
    /// Part of the text around it.
    Inline,
    /// A paragraph.
    Paragraph,
    /// A heading of level 1 to 6.
    Heading(u8),
    /// A heading whose level is that of its section.
    HeadingOfSection,
    List,
    Item,
    /// The sign of an item, or the number of a heading or a note.
    Label,
    Table,
    Row,
    Cell,
    Code,
    Formula,
    Figure,
    /// A footnote or an endnote.
    Note,
    /// A running head or foot, or decoration.
    Artifact,
}

impl Role {
    /// The role of a standard type; other types are parts of the text around them.
    pub(super) fn of(name: &str) -> Self {
        match name {
            "Document" | "DocumentFragment" | "Part" | "Div" | "BlockQuote" | "TOC" | "Index"
            | "THead" | "TBody" | "TFoot" | "Form" | "LBody" | "Aside" => Self::Group,
            "Sect" | "Art" => Self::Section,
            "P" | "TOCI" | "Caption" | "Paragraph" => Self::Paragraph,
            "Title" => Self::Heading(1),
            "H" => Self::HeadingOfSection,
            "L" => Self::List,
            "LI" => Self::Item,
            "Lbl" => Self::Label,
            "Table" => Self::Table,
            "TR" => Self::Row,
            "TH" | "TD" => Self::Cell,
            "Code" => Self::Code,
            "Formula" => Self::Formula,
            "Figure" => Self::Figure,
            "Note" | "FENote" => Self::Note,
            "Artifact" => Self::Artifact,
            _ => heading(name).map_or(Self::Inline, Self::Heading),
        }
    }

    /// Whether an element of this role is a block of its own wherever it stands.
    pub(super) fn is_block(self) -> bool {
        !matches!(
            self,
            Self::Inline | Self::Label | Self::Code | Self::Formula | Self::Figure | Self::Note
        )
    }
}

/// The level of `H1` to `H999`, at most 6.
fn heading(name: &str) -> Option<u8> {
    let level: u16 = name.strip_prefix('H')?.parse().ok()?;
    (level > 0).then(|| level.min(6) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_roles() {
        let roles = ["H1", "H9", "H0", "H", "HX", "P", "Span", "TOCI", "LBody"].map(Role::of);
        assert_eq!(
            roles,
            [
                Role::Heading(1),
                Role::Heading(6),
                Role::Inline,
                Role::HeadingOfSection,
                Role::Inline,
                Role::Paragraph,
                Role::Inline,
                Role::Paragraph,
                Role::Group
            ]
        );
    }
}
