//! Pixels of a page, without a dependency on a decoder: what the image and PDF converters hand to
//! the recogniser.

/// An image of 8-bit RGB pixels, rows from top to bottom.
#[derive(Clone, PartialEq, Eq)]
pub struct RgbImage {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
}

impl RgbImage {
    /// From `width × height × 3` bytes; `None` if there are fewer or more, or no pixel at all.
    pub fn new(width: u32, height: u32, pixels: Vec<u8>) -> Option<Self> {
        let bytes = u64::from(width)
            .checked_mul(u64::from(height))?
            .checked_mul(3)?;
        (bytes > 0 && bytes == pixels.len() as u64).then_some(Self {
            width,
            height,
            pixels,
        })
    }

    /// Pixels in a row.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The bytes of all rows, three a pixel.
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }

    /// The bytes of one row; empty below the image.
    pub fn row(&self, y: usize) -> &[u8] {
        let bytes = self.width as usize * 3;
        self.pixels
            .get(y * bytes..(y + 1) * bytes)
            .unwrap_or_default()
    }

    /// The pixel at a place; places outside the image have the colour of the nearest edge.
    pub fn at(&self, x: i64, y: i64) -> [u8; 3] {
        let x = x.clamp(0, i64::from(self.width) - 1) as usize;
        let y = y.clamp(0, i64::from(self.height) - 1) as usize;
        let start = (y * self.width as usize + x) * 3;
        self.pixels
            .get(start..start + 3)
            .and_then(|pixel| pixel.try_into().ok())
            .unwrap_or([255; 3])
    }

    /// Four pixels of a row from a place on; places outside the image have the colour of the
    /// nearest edge.
    pub fn four_at(&self, x: i64, y: i64) -> [u8; 12] {
        let row = self.row(y.clamp(0, i64::from(self.height) - 1) as usize);
        let inside = usize::try_from(x)
            .ok()
            .and_then(|x| row.get(x * 3..x * 3 + 12))
            .and_then(|pixels| pixels.try_into().ok());
        inside.unwrap_or_else(|| {
            let mut pixels = [0; 12];
            for (at, pixel) in (x..).zip(pixels.as_chunks_mut::<3>().0) {
                *pixel = self.at(at, y);
            }
            pixels
        })
    }
}

impl std::fmt::Debug for RgbImage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "RgbImage({} × {})", self.width, self.height)
    }
}
