//! The properties of a message, an attachment or a recipient: short ones in one stream, the others
//! in streams named by number and type.

use encoding_rs::Encoding;
use tributary_schemas::{Error, ErrorKind, Result};

use crate::code_pages::{of_code_page, of_language};
use crate::office::bytes::{u32_at, utf_16};
use crate::office::ole::{Compound, Storage};
use crate::office::summary::timestamp;
use crate::text_encoding::decode;

/// Stream of the short properties.
pub(super) const PROPERTIES: &str = "__properties_version1.0";

/// Types of properties: 32 bits, a time, text of eight bits, UTF-16, bytes, an object.
const LONG: u16 = 0x0003;
const TIME: u16 = 0x0040;
const TEXT_8: u16 = 0x001E;
const TEXT_16: u16 = 0x001F;
const BINARY: u16 = 0x0102;
const OBJECT: u16 = 0x000D;
/// Bytes of a short property.
const ENTRY: usize = 16;
/// Numbers of properties, by the names of [MS-OXPROPS].
pub(super) mod id {
    pub(crate) const SUBJECT: u16 = 0x0037;
    pub(crate) const CLIENT_SUBMIT_TIME: u16 = 0x0039;
    pub(crate) const SENT_REPRESENTING_NAME: u16 = 0x0042;
    pub(crate) const SENT_REPRESENTING_EMAIL_ADDRESS: u16 = 0x0065;
    pub(crate) const TRANSPORT_MESSAGE_HEADERS: u16 = 0x007D;
    pub(crate) const RECIPIENT_TYPE: u16 = 0x0C15;
    pub(crate) const SENDER_NAME: u16 = 0x0C1A;
    pub(crate) const SENDER_EMAIL_ADDRESS: u16 = 0x0C1F;
    pub(crate) const DISPLAY_CC: u16 = 0x0E03;
    pub(crate) const DISPLAY_TO: u16 = 0x0E04;
    pub(crate) const MESSAGE_DELIVERY_TIME: u16 = 0x0E06;
    pub(crate) const BODY: u16 = 0x1000;
    pub(crate) const RTF_COMPRESSED: u16 = 0x1009;
    pub(crate) const HTML: u16 = 0x1013;
    pub(crate) const INTERNET_MESSAGE_ID: u16 = 0x1035;
    pub(crate) const IN_REPLY_TO_ID: u16 = 0x1042;
    pub(crate) const DISPLAY_NAME: u16 = 0x3001;
    pub(crate) const EMAIL_ADDRESS: u16 = 0x3003;
    pub(crate) const ATTACH_DATA: u16 = 0x3701;
    pub(crate) const ATTACH_FILENAME: u16 = 0x3704;
    pub(crate) const ATTACH_METHOD: u16 = 0x3705;
    pub(crate) const ATTACH_LONG_FILENAME: u16 = 0x3707;
    pub(crate) const ATTACH_MIME_TAG: u16 = 0x370E;
    pub(crate) const ATTACH_CONTENT_ID: u16 = 0x3712;
    pub(crate) const SMTP_ADDRESS: u16 = 0x39FE;
    pub(crate) const INTERNET_CODEPAGE: u16 = 0x3FDE;
    pub(crate) const MESSAGE_LOCALE_ID: u16 = 0x3FF1;
    pub(crate) const MESSAGE_CODEPAGE: u16 = 0x3FFD;
    pub(crate) const SENDER_SMTP_ADDRESS: u16 = 0x5D01;
    pub(crate) const SENT_REPRESENTING_SMTP_ADDRESS: u16 = 0x5D02;
}

/// Properties of one storage.
pub(super) struct Properties<'f> {
    file: &'f Compound<'f>,
    storage: Storage,
    /// Short properties: type, number and value.
    short: Vec<u8>,
    /// Encoding of text of eight bits, and of HTML.
    text: Option<&'static Encoding>,
    html: Option<&'static Encoding>,
}

impl<'f> Properties<'f> {
    /// Those of a message; its short ones begin after `header` bytes.
    pub(super) fn of_message(
        file: &'f Compound<'f>,
        storage: Storage,
        header: usize,
    ) -> Result<Self> {
        let mut message = Self {
            file,
            storage,
            short: Vec::new(),
            text: None,
            html: None,
        };
        message.read_short(header)?;
        let page = |property| {
            message
                .number(property)
                .and_then(|page| of_code_page(i32::try_from(page).ok()?))
        };
        let of_transport = page(id::INTERNET_CODEPAGE);
        message.text = page(id::MESSAGE_CODEPAGE)
            .or_else(|| message.number(id::MESSAGE_LOCALE_ID).and_then(of_language))
            .or(of_transport);
        message.html = of_transport.or(message.text);
        Ok(message)
    }

    /// Those of an attachment or a recipient of this message.
    pub(super) fn within(&self, storage: Storage, header: usize) -> Result<Self> {
        let mut properties = Self {
            storage,
            short: Vec::new(),
            ..*self
        };
        properties.read_short(header)?;
        Ok(properties)
    }

    fn read_short(&mut self, header: usize) -> Result<()> {
        let stream = self.stream(PROPERTIES)?.unwrap_or_default();
        self.short = stream.get(header..).unwrap_or_default().to_vec();
        Ok(())
    }

    /// The storage that they lie in.
    pub(super) fn storage(&self) -> Storage {
        self.storage
    }

    fn short(&self, number: u16, kind: u16) -> Option<&[u8]> {
        let (entries, _) = self.short.as_chunks::<ENTRY>();
        let tag = u32::from(number) << 16 | u32::from(kind);
        entries
            .iter()
            .find(|entry| u32_at(entry.as_slice(), 0) == Some(tag))?
            .get(8..)
    }

    /// A number of 32 bits.
    pub(super) fn number(&self, number: u16) -> Option<u32> {
        u32_at(self.short(number, LONG)?, 0)
    }

    /// A time as `2024-05-06T07:08:09Z`.
    pub(super) fn time(&self, number: u16) -> Option<String> {
        let value = self.short(number, TIME)?;
        timestamp(u64::from(u32_at(value, 0)?) | u64::from(u32_at(value, 4)?) << 32)
    }

    /// Text, whatever it is kept as. `Corrupt` if the file ends within it.
    pub(super) fn text(&self, number: u16) -> Result<Option<String>> {
        if let Some(bytes) = self.stream(&stream_name(number, TEXT_16))? {
            return Ok(Some(utf_16(&bytes).trim_end_matches('\0').to_owned()));
        }
        let bytes = match self.stream(&stream_name(number, TEXT_8))? {
            None if number == id::HTML => self.bytes(number)?,
            bytes => bytes,
        };
        let encoding = if number == id::HTML {
            self.html
        } else {
            self.text
        };
        Ok(bytes.map(|bytes| {
            decode(&bytes, encoding.map(Encoding::name))
                .text
                .trim_end_matches('\0')
                .to_owned()
        }))
    }

    /// Bytes. `Corrupt` if the file ends within them.
    pub(super) fn bytes(&self, number: u16) -> Result<Option<Vec<u8>>> {
        self.stream(&stream_name(number, BINARY))
    }

    /// The storage of an object.
    pub(super) fn object(&self, number: u16) -> Option<Storage> {
        let wanted = stream_name(number, OBJECT).to_lowercase();
        self.file
            .storages(self.storage)
            .find(|(name, _)| *name == wanted)
            .map(|(_, storage)| storage)
    }

    fn stream(&self, name: &str) -> Result<Option<Vec<u8>>> {
        match self.file.stream_in(self.storage, name) {
            Some((_, false)) => Err(damaged(&format!("the stream `{name}` breaks off"))),
            found => Ok(found.map(|(bytes, _)| bytes)),
        }
    }
}

fn stream_name(number: u16, kind: u16) -> String {
    format!("__substg1.0_{number:04X}{kind:04X}")
}

/// The error of a message that cannot be read to its end.
pub(super) fn damaged(what: &str) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!("not a readable Outlook message: {what}"),
    )
    .with_hint("open it in Outlook and save it again")
}
