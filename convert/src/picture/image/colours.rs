//! Samples of any layout to 8-bit RGB: grey becomes RGB, 16 bits become 8, transparent pixels lie
//! on white.

use tributary_schemas::{Error, ErrorKind, Result};

use tributary_models::ocr::RgbImage;

/// How the samples of a pixel stand in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha.
    pub channels: usize,
    /// Bytes of a sample, 1 or 2 (in the order of this machine).
    pub bytes: usize,
}

/// An RGB image from interleaved samples.
pub(super) fn to_rgb(
    width: u32,
    height: u32,
    mut samples: Vec<u8>,
    layout: Layout,
) -> Result<RgbImage> {
    if layout.bytes == 2 {
        samples = samples
            .chunks_exact(2)
            .map(|pair| {
                if cfg!(target_endian = "big") {
                    pair[0]
                } else {
                    pair[1]
                }
            })
            .collect();
    }
    let pixels = match layout.channels {
        3 => samples,
        1 => samples.iter().flat_map(|grey| [*grey; 3]).collect(),
        channels => {
            let mut pixels = Vec::with_capacity(samples.len() / channels.max(1) * 3);
            for pixel in samples.chunks_exact(channels.max(1)) {
                pixels.extend(on_white(pixel));
            }
            pixels
        }
    };
    RgbImage::new(width, height, pixels).ok_or_else(|| {
        Error::new(
            ErrorKind::Corrupt,
            "the image has fewer pixels than it says",
        )
    })
}

/// A pixel whose last sample is its opacity, laid on white.
fn on_white(pixel: &[u8]) -> [u8; 3] {
    let blend = |value: u8, alpha: u8| {
        ((u32::from(value) * u32::from(alpha) + 255 * (255 - u32::from(alpha)) + 127) / 255) as u8
    };
    match *pixel {
        [grey, alpha] => [blend(grey, alpha); 3],
        [red, green, blue, alpha] => [blend(red, alpha), blend(green, alpha), blend(blue, alpha)],
        _ => [255; 3],
    }
}

/// Inks (0 none, 255 full) to RGB.
pub(super) fn cmyk_to_rgb([cyan, magenta, yellow, black]: [u8; 4]) -> [u8; 3] {
    [cyan, magenta, yellow]
        .map(|ink| ((255 - u32::from(ink)) * (255 - u32::from(black)) / 255) as u8)
}

/// Luma and colour differences (ITU-R BT.601, full range, as in JPEG) to RGB.
pub(super) fn ycbcr_to_rgb([luma, blue, red]: [u8; 3]) -> [u8; 3] {
    let (luma, blue, red) = (
        f32::from(luma),
        f32::from(blue) - 128.0,
        f32::from(red) - 128.0,
    );
    [
        luma + 1.402 * red,
        luma - 0.344_136 * blue - 0.714_136 * red,
        luma + 1.772 * blue,
    ]
    .map(|value| value.round().clamp(0.0, 255.0) as u8)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn transparency_lies_on_white() {
        let layout = Layout {
            channels: 4,
            bytes: 1,
        };
        let image = to_rgb(2, 1, vec![0, 0, 0, 0, 10, 20, 30, 255], layout).unwrap();
        assert_eq!(image.pixels(), [255, 255, 255, 10, 20, 30]);
        let grey = to_rgb(
            1,
            1,
            vec![0, 128],
            Layout {
                channels: 2,
                bytes: 1,
            },
        )
        .unwrap();
        assert_eq!(grey.pixels(), [127; 3]);
    }

    #[test]
    fn sixteen_bits_keep_their_high_byte() {
        let samples: Vec<u8> = [0xFF00_u16, 0x1234, 0x00FF]
            .iter()
            .flat_map(|value| value.to_ne_bytes())
            .collect();
        assert_eq!(
            to_rgb(
                1,
                1,
                samples,
                Layout {
                    channels: 3,
                    bytes: 2
                }
            )
            .unwrap()
            .pixels(),
            [0xFF, 0x12, 0x00]
        );
    }

    #[test]
    fn inks_and_differences_become_rgb() {
        assert_eq!(cmyk_to_rgb([0, 0, 0, 0]), [255; 3]);
        assert_eq!(cmyk_to_rgb([0, 0, 0, 255]), [0; 3]);
        assert_eq!(cmyk_to_rgb([0, 255, 255, 0]), [255, 0, 0]);
        assert_eq!(ycbcr_to_rgb([100, 128, 128]), [100; 3]);
        assert_eq!(ycbcr_to_rgb([76, 85, 255]), [254, 0, 0]);
        assert!(
            to_rgb(
                9,
                9,
                vec![0; 10],
                Layout {
                    channels: 1,
                    bytes: 1
                }
            )
            .is_err()
        );
    }
}
