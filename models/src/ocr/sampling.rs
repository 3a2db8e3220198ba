//! Smaller and larger copies of images: a whole page for the detection, and one box of any angle as
//! an upright strip for the recognition. Both average over all source pixels that fall on one
//! target pixel, so that thin strokes do not vanish.

use super::geometry::{Point, Quad};
use super::pixels::RgbImage;

/// Most samples in one direction for one target pixel.
const MAXIMUM_SAMPLES: usize = 6;

/// What stands at one target place: the first source place and the weights from there on; they add
/// up to 1.
struct Weights {
    first: usize,
    values: Vec<f32>,
}

/// Weights of a triangle filter that maps `source` places onto `target` places.
fn triangle_weights(source: usize, target: usize) -> Vec<Weights> {
    let scale = source as f32 / target.max(1) as f32;
    (0..target)
        .map(|place| triangle(place, scale, source))
        .collect()
}

/// The weights for one place: they fall off on both sides of its centre and sum to 1.
fn triangle(place: usize, scale: f32, source: usize) -> Weights {
    let radius = scale.max(1.0);
    let centre = (place as f32 + 0.5) * scale - 0.5;
    let first = (centre - radius).ceil().max(0.0) as usize;
    let last = ((centre + radius).floor().max(0.0) as usize)
        .min(source.saturating_sub(1))
        .max(first);
    let mut values: Vec<f32> = (first..=last)
        .map(|at| (1.0 - (at as f32 - centre).abs() / radius).max(0.0))
        .collect();
    let sum: f32 = values.iter().sum();
    match sum > 0.0 {
        true => values.iter_mut().for_each(|value| *value /= sum),
        false => values = vec![1.0],
    }
    Weights {
        first: first.min(source.saturating_sub(1)),
        values,
    }
}

/// The image at another size, as rows of interleaved RGB values from 0 to 255. Each row goes to
/// `write(y, row)`.
pub fn resize_rows(
    image: &RgbImage,
    width: usize,
    height: usize,
    mut write: impl FnMut(usize, &[f32]),
) {
    let columns = triangle_weights(image.width() as usize, width);
    let rows = triangle_weights(image.height() as usize, height);
    let mut mixed = vec![0.0_f32; image.width() as usize * 3];
    let mut out = vec![0.0_f32; width * 3];
    for (y, weights) in rows.iter().enumerate() {
        mixed.fill(0.0);
        for (source, weight) in (weights.first..).zip(&weights.values) {
            mixed
                .iter_mut()
                .zip(image.row(source))
                .for_each(|(sum, value)| *sum += weight * f32::from(*value));
        }
        for (pixel, weights) in out.chunks_exact_mut(3).zip(&columns) {
            let mut sums = [0.0_f32; 3];
            let sources = mixed
                .get(weights.first * 3..)
                .unwrap_or_default()
                .chunks_exact(3);
            for (source, weight) in sources.zip(&weights.values) {
                sums.iter_mut()
                    .zip(source)
                    .for_each(|(sum, value)| *sum += weight * value);
            }
            pixel.copy_from_slice(&sums);
        }
        write(y, &out);
    }
}

/// A box of the image, cut out and straightened to `width × height` pixels; each value goes to
/// `write(x, y, rgb)`, values from 0 to 255.
pub fn sample_quad(
    image: &RgbImage,
    quad: &Quad,
    width: usize,
    height: usize,
    mut write: impl FnMut(usize, usize, [f32; 3]),
) {
    let across = samples_for(quad.width(), width);
    let down = samples_for(quad.height(), height);
    let [first, second, third, fourth] = quad.0;
    let share = 1.0 / (across * down) as f32;
    for y in 0..height {
        for x in 0..width {
            let mut sums = [0.0_f32; 3];
            for part in 0..down {
                let v = (y as f32 + (part as f32 + 0.5) / down as f32) / height as f32;
                let (left, right) = (first.toward(fourth, v), second.toward(third, v));
                for piece in 0..across {
                    let u = (x as f32 + (piece as f32 + 0.5) / across as f32) / width as f32;
                    let value = between_pixels(image, left.toward(right, u));
                    sums.iter_mut()
                        .zip(value)
                        .for_each(|(sum, value)| *sum += value * share);
                }
            }
            write(x, y, sums);
        }
    }
}

fn samples_for(source: f32, target: usize) -> usize {
    ((source / target.max(1) as f32).ceil().max(1.0) as usize).min(MAXIMUM_SAMPLES)
}

/// Cubic (Catmull-Rom) value at a place; the centre of the first pixel is at 0.5. Keeps the strokes
/// of small letters sharp.
fn between_pixels(image: &RgbImage, at: Point) -> [f32; 3] {
    let (x, y) = (at.x - 0.5, at.y - 0.5);
    let (left, top) = (x.floor(), y.floor());
    let (columns, rows) = (cubic_weights(x - left), cubic_weights(y - top));
    let (left, top) = (left as i64 - 1, top as i64 - 1);
    let mut sums = [0.0_f32; 3];
    for (below, row_weight) in (0_i64..).zip(rows) {
        let pixels = image.four_at(left, top + below);
        for (pixel, column_weight) in pixels.as_chunks::<3>().0.iter().zip(columns) {
            sums.iter_mut()
                .zip(pixel)
                .for_each(|(sum, value)| *sum += row_weight * column_weight * f32::from(*value));
        }
    }
    sums.map(|value| value.clamp(0.0, 255.0))
}

/// Weights of the four neighbours of a place that lies `share` (0 to 1) of the way from the second
/// to the third (Keys, "Cubic convolution interpolation for digital image processing", 1981, a =
/// -0.5).
fn cubic_weights(share: f32) -> [f32; 4] {
    let (square, cube) = (share * share, share * share * share);
    [
        -0.5 * share + square - 0.5 * cube,
        1.0 - 2.5 * square + 1.5 * cube,
        0.5 * share + 2.0 * square - 1.5 * cube,
        -0.5 * square + 0.5 * cube,
    ]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn checks(width: u32, height: u32) -> RgbImage {
        let pixels = (0..height)
            .flat_map(|y| (0..width).flat_map(move |x| [if (x + y) % 2 == 0 { 0 } else { 200 }; 3]))
            .collect();
        RgbImage::new(width, height, pixels).unwrap()
    }

    #[test]
    fn a_smaller_copy_averages() {
        let mut rows = 0;
        resize_rows(&checks(40, 40), 10, 10, |_, row| {
            rows += 1;
            assert!(
                row.iter().all(|value| (value - 100.0).abs() < 15.0),
                "{row:?}"
            );
        });
        assert_eq!(rows, 10);
    }

    #[test]
    fn the_same_size_is_the_same_image() {
        let image = checks(7, 5);
        resize_rows(&image, 7, 5, |y, row| {
            assert_eq!(
                row.iter()
                    .map(|value| value.round() as u8)
                    .collect::<Vec<_>>(),
                image.row(y)
            );
        });
        let whole =
            Quad([(0.0, 0.0), (7.0, 0.0), (7.0, 5.0), (0.0, 5.0)].map(|(x, y)| Point::new(x, y)));
        sample_quad(&image, &whole, 7, 5, |x, y, rgb| {
            assert_eq!(rgb[0].round() as u8, image.at(x as i64, y as i64)[0])
        });
        let turned = whole.turned(2);
        sample_quad(&image, &turned, 7, 5, |x, y, rgb| {
            assert_eq!(
                rgb[0].round() as u8,
                image.at(6 - x as i64, 4 - y as i64)[0]
            )
        });
    }

    #[test]
    fn cubic_weights_add_up_and_hit_the_pixels() {
        assert_eq!(cubic_weights(0.0), [0.0, 1.0, 0.0, 0.0]);
        assert_eq!(cubic_weights(0.5), [-0.0625, 0.5625, 0.5625, -0.0625]);
        assert!((0..10).all(|tenth| {
            (cubic_weights(tenth as f32 / 10.0).iter().sum::<f32>() - 1.0).abs() < 1e-6
        }));
    }

    #[test]
    fn boxes_beyond_the_edges_are_filled_with_the_edge() {
        let outside = Quad(
            [(-50.0, -50.0), (50.0, -50.0), (50.0, 50.0), (-50.0, 50.0)]
                .map(|(x, y)| Point::new(x, y)),
        );
        let mut count = 0;
        sample_quad(&checks(3, 3), &outside, 8, 8, |_, _, _| count += 1);
        assert_eq!(count, 64);
    }
}
