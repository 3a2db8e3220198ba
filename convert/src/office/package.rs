//! The Open Packaging Conventions package that docx, pptx and xlsx are: a zip archive of parts,
//! opened under limits. Names are found whatever their case and slashes. A part that does not
//! unpack to its end is given as far as it goes, with `damage`.

use std::collections::HashMap;
use std::io::{Cursor, Read};
use std::rc::Rc;

use tributary_schemas::{Error, ErrorKind, Result};
use zip::ZipArchive;
use zip::result::ZipError;

use super::compound;
use super::relationships::Relationships;
use super::xml::{XmlReader, decode};
use crate::limits::Limits;
use crate::slices::part;

/// Unpacked bytes below which a part may have any ratio: pictures without compression of their own
/// may be one colour.
const FREE_BYTES: u64 = 16 << 20;

/// Bytes that are asked for at once, whatever size the archive claims.
const FIRST_BYTES: u64 = 1 << 20;

/// An open package.
pub(crate) struct Package<'b> {
    archive: ZipArchive<Cursor<&'b [u8]>>,
    /// Index by normalized name.
    names: HashMap<String, usize>,
    limits: Limits<'b>,
    unpacked: u64,
    types: HashMap<String, String>,
    relationships: HashMap<String, Rc<Relationships>>,
}

/// A part as text.
#[derive(Debug)]
pub(crate) struct TextPart {
    /// Its text.
    pub text: String,
    /// Why it is not whole.
    pub damage: Option<String>,
    /// Share of the size that the archive claims, 0 to 100, that was unpacked.
    pub percent_unpacked: usize,
}

/// A part as bytes.
#[derive(Debug)]
pub(crate) struct BinaryPart {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Why it is not whole.
    pub damage: Option<String>,
}

impl<'b> Package<'b> {
    /// Opens a package. Errors: `Unsupported` if it is encrypted or of an old binary format,
    /// `Corrupt` if it is no readable zip archive, `Invalid` over a limit.
    pub(crate) fn open(bytes: &'b [u8], limits: Limits<'b>) -> Result<Self> {
        if compound::is_compound(bytes) {
            return Err(compound::refusal(bytes));
        }
        check_part_count(bytes, &limits)?;
        let archive =
            ZipArchive::new(Cursor::new(bytes)).map_err(|error| damaged_archive(&error))?;
        let mut names = HashMap::with_capacity(archive.len());
        for index in 0..archive.len() {
            if let Some(Ok(name)) = archive.name_for_index(index) {
                names.entry(normalized(&name)).or_insert(index);
            }
        }
        let mut package = Self {
            archive,
            names,
            limits,
            unpacked: 0,
            types: HashMap::new(),
            relationships: HashMap::new(),
        };
        package.read_types()?;
        Ok(package)
    }

    /// The limits that it was opened with.
    pub(crate) fn limits(&self) -> Limits<'b> {
        self.limits
    }

    /// Whether there is a part of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.index(name).is_some()
    }

    /// Names of all parts, normalized, in order.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.names.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    fn index(&self, name: &str) -> Option<usize> {
        let wanted = normalized(name);
        self.names
            .get(&wanted)
            .or_else(|| self.names.get(&normalized(&percent_decoded(&wanted))))
            .copied()
    }

    /// Unpacked size in bytes that the archive claims for a part.
    pub(crate) fn claimed_size(&mut self, name: &str) -> Option<u64> {
        let index = self.index(name)?;
        self.archive
            .by_index_raw(index)
            .ok()
            .map(|file| file.size())
    }

    /// A part's bytes; `None` if there is no such part. Errors: `Unsupported` if it is encrypted,
    /// `Invalid` over a limit.
    pub(crate) fn bytes(&mut self, name: &str) -> Result<Option<BinaryPart>> {
        let Some(index) = self.index(name) else {
            return Ok(None);
        };
        self.limits.check_time()?;
        let limit = self
            .limits
            .maximum_unpacked_bytes
            .saturating_sub(self.unpacked);
        let mut file = match self.archive.by_index(index) {
            Ok(file) => file,
            Err(error) if needs_password(&error) => return Err(encrypted(name)),
            Err(error) => {
                return Ok(Some(BinaryPart {
                    bytes: Vec::new(),
                    damage: Some(format!("the part {name} cannot be unpacked: {error}")),
                }));
            }
        };
        let ratio = self.limits.maximum_unpacking_ratio;
        let allowed = file.compressed_size().saturating_mul(ratio).max(FREE_BYTES);
        let first_bytes = usize::try_from(file.size().min(FIRST_BYTES)).unwrap_or(0);
        let mut bytes = Vec::with_capacity(first_bytes);
        let outcome = file
            .by_ref()
            .take(limit.min(allowed).saturating_add(1))
            .read_to_end(&mut bytes);
        let size = bytes.len() as u64;
        self.unpacked = self.unpacked.saturating_add(size);
        if size > allowed {
            let what = format!("the part {name} unpacks to more than {ratio} times its size");
            return Err(over_limit(&what, "maximum_unpacking_ratio"));
        }
        if size > limit {
            let limit = self.limits.maximum_unpacked_bytes;
            let what = format!("the document unpacks to more than {limit} bytes");
            return Err(over_limit(&what, "maximum_unpacked_bytes"));
        }
        let damage = outcome
            .err()
            .map(|error| format!("the part {name} cannot be unpacked to its end: {error}"));
        Ok(Some(BinaryPart { bytes, damage }))
    }

    /// A part's text, decoded; `None` if there is no such part.
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<TextPart>> {
        let claimed = self.claimed_size(name).unwrap_or(0);
        Ok(self.bytes(name)?.map(|part| {
            let percent = (part.bytes.len() as u64)
                .saturating_mul(100)
                .checked_div(claimed)
                .unwrap_or(100)
                .min(100);
            let percent_unpacked = if part.damage.is_some() {
                usize::try_from(percent).unwrap_or(100)
            } else {
                100
            };
            TextPart {
                text: decode(part.bytes),
                damage: part.damage,
                percent_unpacked,
            }
        }))
    }

    /// The relationships of a part, of the package itself for an empty name; empty if there are
    /// none.
    pub(crate) fn relationships(&mut self, part: &str) -> Result<Rc<Relationships>> {
        if let Some(known) = self.relationships.get(part) {
            return Ok(Rc::clone(known));
        }
        let name = match part.rsplit_once('/') {
            Some((folder, file)) => format!("{folder}/_rels/{file}.rels"),
            None => format!("_rels/{part}.rels"),
        };
        let relationships = match self.text(&name)? {
            Some(found) => {
                Relationships::read(&mut XmlReader::new(&found.text, &name, self.limits), part)?
            }
            None => Relationships::default(),
        };
        let relationships = Rc::new(relationships);
        self.relationships
            .insert(part.to_owned(), Rc::clone(&relationships));
        Ok(relationships)
    }

    /// Media type of a part by the package's list, else by its extension.
    pub(crate) fn media_type(&self, name: &str) -> String {
        let name = normalized(name);
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        let declared = self
            .types
            .get(&name)
            .or_else(|| self.types.get(&format!(".{extension}")));
        declared
            .filter(|declared| declared.contains('/'))
            .cloned()
            .unwrap_or_else(|| media_type_of_extension(extension).to_owned())
    }

    /// The main part: by the package's relationships, else by a content type that ends with
    /// `type_suffix`, else `usual`.
    pub(crate) fn main_part(
        &mut self,
        type_suffixes: &[&str],
        usual: &str,
    ) -> Result<Option<String>> {
        let relationships = self.relationships("")?;
        if let Some(target) = relationships
            .target_of_kind("officeDocument")
            .filter(|target| self.has(target))
        {
            return Ok(Some(target.to_owned()));
        }
        let is_wanted = |declared: &str| {
            type_suffixes
                .iter()
                .any(|suffix| declared.ends_with(suffix))
        };
        let by_type = self.names().into_iter().find(|name| {
            self.types
                .get(*name)
                .is_some_and(|declared| is_wanted(declared))
        });
        Ok(by_type
            .or(Some(usual))
            .filter(|name| self.has(name))
            .map(str::to_owned))
    }

    /// Reads the list of content types: by part name, and by extension with a dot before it.
    fn read_types(&mut self) -> Result<()> {
        let name = "[Content_Types].xml";
        let Some(part) = self.text(name)? else {
            return Ok(());
        };
        let mut xml = XmlReader::new(&part.text, name, self.limits);
        xml.child()?;
        while let Some(element) = xml.child()? {
            let key = match element.name() {
                "Default" => element
                    .attribute("Extension")
                    .map(|extension| format!(".{}", extension.to_lowercase())),
                _ => element.attribute("PartName").map(|part| normalized(&part)),
            };
            if let (Some(key), Some(declared)) = (key, element.attribute("ContentType")) {
                self.types.insert(key, declared.to_lowercase());
            }
            xml.skip()?;
        }
        Ok(())
    }
}

/// Counts the entries of the directory before anything is built from them.
fn check_part_count(bytes: &[u8], limits: &Limits) -> Result<()> {
    let limit = limits.maximum_package_parts;
    let count = bytes
        .windows(4)
        .filter(|window| window == b"PK\x01\x02")
        .take(limit.saturating_add(1))
        .count();
    if count <= limit {
        return Ok(());
    }
    Err(over_limit(
        &format!("the document holds more than {limit} files"),
        "office.maximum_parts",
    ))
}

fn over_limit(message: &str, key: &str) -> Error {
    Error::new(ErrorKind::Invalid, message).with_hint(format!(
        "check that it is a real document, or raise `convert.{key}`"
    ))
}

fn needs_password(error: &ZipError) -> bool {
    match error {
        ZipError::InvalidPassword => true,
        ZipError::UnsupportedArchive(reason) => *reason == ZipError::PASSWORD_REQUIRED,
        _ => false,
    }
}

fn encrypted(part: &str) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!("the document is encrypted: the part {part} needs a password"),
    )
    .with_hint("save a copy without a password and send that")
}

fn damaged_archive(error: &ZipError) -> Error {
    Error::new(ErrorKind::Corrupt, format!("the document is not a readable zip archive: {error}"))
        .with_hint("it may have been cut off on its way; send it again, or open it in its program and save it anew")
}

/// Names are compared in lower case, with slashes, without one at the start.
fn normalized(name: &str) -> String {
    name.replace('\\', "/")
        .trim_start_matches('/')
        .to_lowercase()
}

/// `%20` and the like as characters.
fn percent_decoded(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after
            .get(..2)
            .filter(|_| *first == b'%')
            .and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = part(after, 2..);
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn media_type_of_extension(extension: &str) -> &'static str {
    match extension {
        "png" => "image/png",
        "jpg" | "jpeg" | "jpe" | "jfif" => "image/jpeg",
        "gif" => "image/gif",
        "bmp" | "dib" => "image/bmp",
        "tif" | "tiff" => "image/tiff",
        "svg" => "image/svg+xml",
        "webp" => "image/webp",
        "emf" => "image/x-emf",
        "wmf" => "image/x-wmf",
        "html" | "htm" => "text/html",
        "xhtml" => "application/xhtml+xml",
        "mht" | "mhtml" => "message/rfc822",
        "txt" => "text/plain",
        "rtf" => "application/rtf",
        "xml" => "application/xml",
        "docx" => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
#[path = "package_tests.rs"]
mod tests;
