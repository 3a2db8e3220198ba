//! Compound (OLE2) files that come under the name of a package: encrypted documents, and documents
//! of the old binary formats.

use tributary_schemas::{Error, ErrorKind};

/// First bytes of a compound file.
const MAGIC: [u8; 8] = [0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1];

/// Whether the bytes begin like a compound file.
pub(crate) fn is_compound(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// Why a compound file is no readable package: `Unsupported` if it is encrypted or of an old
/// format, else `Corrupt`.
pub(crate) fn refusal(bytes: &[u8]) -> Error {
    if has_stream(bytes, "EncryptedPackage") || has_stream(bytes, "EncryptionInfo") {
        return Error::new(
            ErrorKind::Unsupported,
            "the document is encrypted with a password or by rights management",
        )
        .with_hint("save a copy without a password and send that");
    }
    let old = [
        ("WordDocument", "Word 97-2003 (.doc)"),
        ("Workbook", "Excel 97-2003 (.xls)"),
        ("PowerPoint Document", "PowerPoint 97-2003 (.ppt)"),
    ];
    if let Some((_, format)) = old.iter().find(|(stream, _)| has_stream(bytes, stream)) {
        return Error::new(
            ErrorKind::Unsupported,
            format!(
                "the document is of the binary format {format}, not an Office Open XML package"
            ),
        )
        .with_hint("give it the name of its real format, or save it in the new one");
    }
    Error::new(
        ErrorKind::Corrupt,
        "the document is a compound file without a known document in it",
    )
}

/// Whether a directory entry of that name is there; names are UTF-16, in any case.
fn has_stream(bytes: &[u8], name: &str) -> bool {
    let wanted: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
    bytes
        .windows(wanted.len())
        .any(|window| window.eq_ignore_ascii_case(&wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compound(stream: &str) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.resize(512, 0);
        bytes.extend(stream.encode_utf16().flat_map(u16::to_le_bytes));
        bytes
    }

    #[test]
    fn encrypted_and_old_documents_are_told_apart() {
        let encrypted = refusal(&compound("EncryptedPackage"));
        assert_eq!(encrypted.kind(), ErrorKind::Unsupported);
        assert!(
            encrypted
                .to_string()
                .starts_with("the document is encrypted")
        );
        assert_eq!(
            refusal(&compound("ENCRYPTEDPACKAGE")).kind(),
            ErrorKind::Unsupported
        );
        assert!(
            refusal(&compound("WordDocument"))
                .to_string()
                .contains(".doc")
        );
        assert_eq!(refusal(&compound("Nothing")).kind(), ErrorKind::Corrupt);
        assert!(!is_compound(b"PK\x03\x04"));
    }
}
