//! RTF as tokens: groups, control words, bytes of text, binary data.

/// One token.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// `{`
    Open,
    /// `}`
    Close,
    /// `\name` with its number, if it has one.
    Word(&'a str, Option<i32>),
    /// `\*`, `\~` and the like.
    Sign(u8),
    /// A byte in the document's code page, from text or from `\'hh`.
    Byte(u8),
    /// The bytes of `\binN`.
    Binary(&'a [u8]),
}

/// Longest name of a control word; longer ones are damage.
const MAXIMUM_NAME: usize = 32;

/// Walks through the bytes.
pub(super) struct Scanner<'a> {
    rest: &'a [u8],
}

impl<'a> Scanner<'a> {
    /// A scanner of a whole document.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    /// A control word, sign or escaped byte; the backslash is gone.
    fn control(&mut self) -> Option<Token<'a>> {
        let first = *self.rest.first()?;
        if first == b'\'' {
            let code = self
                .rest
                .get(1..3)
                .and_then(|digits| std::str::from_utf8(digits).ok())
                .and_then(|digits| u8::from_str_radix(digits, 16).ok());
            self.skip(if code.is_some() { 3 } else { 1 });
            return Some(code.map_or(Token::Sign(b'\''), Token::Byte));
        }
        if !first.is_ascii_alphabetic() {
            self.skip(1);
            return Some(match first {
                b'\\' | b'{' | b'}' => Token::Byte(first),
                b'\n' | b'\r' => Token::Word("par", None),
                other => Token::Sign(other),
            });
        }
        let length = self
            .rest
            .iter()
            .take(MAXIMUM_NAME)
            .take_while(|byte| byte.is_ascii_alphabetic())
            .count();
        let name = std::str::from_utf8(self.rest.get(..length)?).ok()?;
        self.skip(length);
        let number = self.number();
        if self.rest.first() == Some(&b' ') {
            self.skip(1);
        }
        if name == "bin" {
            let count = usize::try_from(number.unwrap_or(0))
                .unwrap_or(0)
                .min(self.rest.len());
            let data = self.rest.get(..count)?;
            self.skip(count);
            return Some(Token::Binary(data));
        }
        Some(Token::Word(name, number))
    }

    fn number(&mut self) -> Option<i32> {
        let sign = usize::from(self.rest.first() == Some(&b'-'));
        let digits = self
            .rest
            .iter()
            .skip(sign)
            .take(10)
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if digits == 0 {
            return None;
        }
        let text = std::str::from_utf8(self.rest.get(..sign + digits)?).ok()?;
        let number = text.parse().ok();
        self.skip(sign + digits);
        number
    }
}

impl<'a> Iterator for Scanner<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let first = *self.rest.first()?;
            self.skip(1);
            return Some(match first {
                b'{' => Token::Open,
                b'}' => Token::Close,
                b'\\' => return self.control(),
                b'\r' | b'\n' | b'\0' => continue,
                other => Token::Byte(other),
            });
        }
    }
}
