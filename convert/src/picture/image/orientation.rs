//! Turns an image as its EXIF orientation says (values 1 to 8 of the EXIF tag 0x0112).

use tributary_schemas::{Error, ErrorKind, Result};

use tributary_models::ocr::RgbImage;

/// The upright image; values that mean nothing leave it as it is.
pub(super) fn turn(image: RgbImage, orientation: u8) -> Result<RgbImage> {
    if !(2..=8).contains(&orientation) {
        return Ok(image);
    }
    let (width, height) = (image.width() as i64, image.height() as i64);
    let (new_width, new_height) = if orientation >= 5 {
        (height, width)
    } else {
        (width, height)
    };
    let mut pixels = Vec::with_capacity(image.pixels().len());
    for y in 0..new_height {
        for x in 0..new_width {
            let (from_x, from_y) = match orientation {
                2 => (width - 1 - x, y),
                3 => (width - 1 - x, height - 1 - y),
                4 => (x, height - 1 - y),
                5 => (y, x),
                6 => (y, height - 1 - x),
                7 => (width - 1 - y, height - 1 - x),
                _ => (width - 1 - y, x),
            };
            pixels.extend(image.at(from_x, from_y));
        }
    }
    RgbImage::new(new_width as u32, new_height as u32, pixels)
        .ok_or_else(|| Error::new(ErrorKind::Internal, "a turned image lost its pixels"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Each orientation of the picture `ab/cd`, as its stored pixels, must turn back into it.
    #[test]
    fn every_orientation_turns_upright() {
        let stored = [
            (1, 2, "abcd"),
            (2, 2, "badc"),
            (3, 2, "dcba"),
            (4, 2, "cdab"),
            (5, 2, "acbd"),
            (6, 2, "bdac"),
            (7, 2, "dbca"),
            (8, 2, "cadb"),
        ];
        for (orientation, width, letters) in stored {
            let pixels = letters.bytes().flat_map(|letter| [letter; 3]).collect();
            let turned = turn(RgbImage::new(width, 2, pixels).unwrap(), orientation).unwrap();
            let found: Vec<u8> = turned.pixels().iter().step_by(3).copied().collect();
            assert_eq!(
                String::from_utf8(found).unwrap(),
                "abcd",
                "orientation {orientation}"
            );
        }
        let wide = RgbImage::new(3, 1, vec![0; 9]).unwrap();
        assert_eq!(
            (
                turn(wide.clone(), 6).unwrap().width(),
                turn(wide, 99).unwrap().width()
            ),
            (1, 3)
        );
    }
}
