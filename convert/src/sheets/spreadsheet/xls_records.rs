//! Records of the BIFF stream in an xls workbook ([MS-XLS] 2.1.4), and the numbers in them.

/// Record types that are read ([MS-XLS] 2.3.1).
pub(super) mod kind {
    pub(crate) const FORMULA: u16 = 0x0006;
    pub(crate) const END: u16 = 0x000A;
    pub(crate) const DATE_MODE: u16 = 0x0022;
    pub(crate) const FILE_PASS: u16 = 0x002F;
    pub(crate) const CONTINUE: u16 = 0x003C;
    pub(crate) const CODE_PAGE: u16 = 0x0042;
    pub(crate) const COLUMN_INFO: u16 = 0x007D;
    pub(crate) const BOUND_SHEET: u16 = 0x0085;
    pub(crate) const FILTER_MODE: u16 = 0x009B;
    pub(crate) const MULTIPLE_RK: u16 = 0x00BD;
    pub(crate) const RICH_STRING: u16 = 0x00D6;
    pub(crate) const CELL_FORMAT: u16 = 0x00E0;
    pub(crate) const MERGED_CELLS: u16 = 0x00E5;
    pub(crate) const SHARED_STRINGS: u16 = 0x00FC;
    pub(crate) const LABEL_SHARED: u16 = 0x00FD;
    pub(crate) const NUMBER: u16 = 0x0203;
    pub(crate) const LABEL: u16 = 0x0204;
    pub(crate) const BOOLEAN_OR_ERROR: u16 = 0x0205;
    pub(crate) const STRING: u16 = 0x0207;
    pub(crate) const ROW: u16 = 0x0208;
    pub(crate) const RK: u16 = 0x027E;
    pub(crate) const FORMAT: u16 = 0x041E;
    pub(crate) const BEGIN: u16 = 0x0809;
}

/// A record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a> {
    /// Where it begins in the stream.
    pub position: usize,
    /// Its type.
    pub kind: u16,
    /// Its content.
    pub data: &'a [u8],
}

/// The records of a stream from a position on, as far as they are whole.
#[derive(Clone, Debug)]
pub(super) struct Records<'a> {
    stream: &'a [u8],
    position: usize,
}

impl<'a> Records<'a> {
    /// Begins at a position, which may be beyond the end.
    pub(super) fn new(stream: &'a [u8], position: usize) -> Self {
        Self { stream, position }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        let head = self.stream.get(self.position..)?;
        let (kind, length) = (u16_at(head, 0)?, usize::from(u16_at(head, 2)?));
        let data = head.get(4..)?.get(..length)?;
        let position = self.position;
        self.position += 4 + length;
        Some(Record {
            position,
            kind,
            data,
        })
    }
}

/// A number of two bytes, little-endian.
pub(super) fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    data.get(at..)?
        .first_chunk()
        .map(|bytes| u16::from_le_bytes(*bytes))
}

/// A number of four bytes.
pub(super) fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..)?
        .first_chunk()
        .map(|bytes| u32::from_le_bytes(*bytes))
}

/// A binary fraction of eight bytes.
pub(super) fn f64_at(data: &[u8], at: usize) -> Option<f64> {
    data.get(at..)?
        .first_chunk()
        .map(|bytes| f64::from_le_bytes(*bytes))
}

/// A number packed into four bytes ([MS-XLS] 2.5.217): bit 0 divides by 100, bit 1 says that the
/// rest is a whole number.
pub(super) fn rk_at(data: &[u8], at: usize) -> Option<f64> {
    let packed = u32_at(data, at)?;
    let number = if packed & 2 == 0 {
        f64::from_bits(u64::from(packed & !3) << 32)
    } else {
        f64::from(packed as i32 >> 2)
    };
    Some(if packed & 1 == 0 {
        number
    } else {
        number / 100.0
    })
}

/// The name of an error by its code ([MS-XLS] 2.5.10).
pub(super) fn error_name(code: u8) -> &'static str {
    match code {
        0x00 => "#NULL!",
        0x07 => "#DIV/0!",
        0x0F => "#VALUE!",
        0x17 => "#REF!",
        0x1D => "#NAME?",
        0x24 => "#NUM!",
        0x2B => "#GETTING_DATA",
        _ => "#N/A",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_numbers() {
        assert_eq!(
            rk_at(&(((12_345_i32) << 2 | 3) as u32).to_le_bytes(), 0),
            Some(123.45)
        );
        assert_eq!(
            rk_at(&((-5_i32 << 2 | 2) as u32).to_le_bytes(), 0),
            Some(-5.0)
        );
        assert_eq!(rk_at(&0x3FF0_0000_u32.to_le_bytes(), 0), Some(1.0));
    }

    #[test]
    fn records_end_where_they_are_not_whole() {
        let stream = [6, 0, 1, 0, 9, 10, 0, 0, 0, 6, 0, 255, 0, 1];
        let records: Vec<(u16, usize)> = Records::new(&stream, 0)
            .map(|record| (record.kind, record.data.len()))
            .collect();
        assert_eq!(records, [(6, 1), (10, 0)]);
        assert!(Records::new(&stream, 999).next().is_none());
    }
}
