//! Finds the lines of a page: a network gives each pixel the probability of text (DB, Liao et al.
//! 2020), regions of likely pixels become rotated boxes. Thresholds are those that the PP-OCR
//! models are published with.

use tributary_schemas::ErrorKind;

use super::components::regions;
use super::config::OcrConfig;
use super::geometry::{Point, Quad, Rectangle, smallest_rectangle};
use super::pixels::RgbImage;
use super::run;
use super::sampling::resize_rows;
use crate::sessions::SessionPool;
use crate::{Error, Result};

/// A pixel with more than this probability belongs to a region.
const PIXEL_THRESHOLD: f32 = 0.3;
/// A box with less than this mean probability is no text.
const BOX_THRESHOLD: f32 = 0.5;
/// How far boxes are grown: regions are trained to be shrunken text.
const UNCLIP_RATIO: f32 = 1.6;
/// Boxes whose shorter side is below this many pixels are no text, before and after growing.
const SMALLEST_SIDE: (f32, f32) = (3.0, 5.0);
/// The network halves the image five times.
const MULTIPLE: usize = 32;
/// Area of the copy in squares of its longest side, at most: that of a page. Bounds the memory of a
/// run.
const PAGE_SHAPE: f32 = 0.72;
/// An image is enlarged at most by this for the search.
const MAXIMUM_ENLARGEMENT: f32 = 4.0;

/// The boxes of all lines in pixels of the image, corners from the upper left one clockwise, at
/// most `maximum_lines_per_page`.
pub fn find_lines(pool: &SessionPool, image: &RgbImage, config: &OcrConfig) -> Result<Vec<Quad>> {
    let copy = SearchCopy::new(image, config);
    let boxes = pool.with(|session| {
        run(
            session,
            [1, 3, copy.height, copy.width],
            &copy.values,
            |shape, probabilities| {
                if shape != [1, 1, copy.height as i64, copy.width as i64] {
                    return Err(Error::new(
                        ErrorKind::Corrupt,
                        format!("the OCR detection model gives an output of shape {shape:?}"),
                    ));
                }
                Ok(boxes_of(
                    probabilities,
                    copy.width,
                    config.maximum_lines_per_page,
                ))
            },
        )
    })?;
    let place = |point: Point| copy.place(point, image);
    Ok(boxes.iter().map(|quad| quad.map(place)).collect())
}

/// The page as the network takes it: three planes (blue, green, red), values from -1 to 1.
struct SearchCopy {
    values: Vec<f32>,
    width: usize,
    height: usize,
    /// Pixels of the image for one of the copy.
    step_x: f32,
    step_y: f32,
}

impl SearchCopy {
    /// A point of the copy as one of the image.
    fn place(&self, point: Point, image: &RgbImage) -> Point {
        let (right, bottom) = (image.width() as f32, image.height() as f32);
        Point::new(
            (point.x * self.step_x).clamp(0.0, right),
            (point.y * self.step_y).clamp(0.0, bottom),
        )
    }

    fn new(image: &RgbImage, config: &OcrConfig) -> Self {
        let (scaled_width, scaled_height) = search_size(image, config);
        let width = scaled_width.next_multiple_of(MULTIPLE);
        let height = scaled_height.next_multiple_of(MULTIPLE);
        let mut values = vec![1.0_f32; 3 * width * height];
        let (blue, rest) = values.split_at_mut(width * height);
        let (green, red) = rest.split_at_mut(width * height);
        resize_rows(image, scaled_width, scaled_height, |y, row| {
            let start = y * width;
            let planes = [(&mut *red, 0), (&mut *green, 1), (&mut *blue, 2)];
            for (plane, channel) in planes {
                let target = plane
                    .get_mut(start..start + scaled_width)
                    .unwrap_or_default();
                let source = row.iter().skip(channel).step_by(3);
                target
                    .iter_mut()
                    .zip(source)
                    .for_each(|(target, value)| *target = value / 127.5 - 1.0);
            }
        });
        let step_x = image.width() as f32 / scaled_width as f32;
        let step_y = image.height() as f32 / scaled_height as f32;
        Self {
            values,
            width,
            height,
            step_x,
            step_y,
        }
    }
}

/// Size of the copy before it is filled up: the shorter side at least, the longer side at most what
/// the configuration says.
fn search_size(image: &RgbImage, config: &OcrConfig) -> (usize, usize) {
    let (width, height) = (image.width() as f32, image.height() as f32);
    let enlarged =
        (config.minimum_detection_side as f32 / width.min(height)).clamp(1.0, MAXIMUM_ENLARGEMENT);
    let longest = config.maximum_detection_side.max(MULTIPLE as u32) as f32;
    let scale = enlarged
        .min(longest / width.max(height))
        .min(longest * (PAGE_SHAPE / (width * height)).sqrt());
    let size = |side: f32| ((side * scale).round() as usize).max(1);
    (size(width), size(height))
}

/// Boxes in pixels of the map.
fn boxes_of(probabilities: &[f32], width: usize, maximum: usize) -> Vec<Quad> {
    let mask = likely_pixels(probabilities, width);
    let found = regions(&mask, width, maximum);
    found
        .iter()
        .filter_map(|points| box_of(points, probabilities, width))
        .collect()
}

/// Pixels over the threshold, each thickened to the right and down so that broken strokes hang
/// together.
fn likely_pixels(probabilities: &[f32], width: usize) -> Vec<bool> {
    let mut mask = vec![false; probabilities.len()];
    for (at, _) in probabilities
        .iter()
        .enumerate()
        .filter(|(_, probability)| **probability > PIXEL_THRESHOLD)
    {
        let is_last = (at + 1) % width.max(1) == 0;
        let neighbours = [
            Some(at),
            (!is_last).then_some(at + 1),
            Some(at + width),
            (!is_last).then_some(at + width + 1),
        ];
        for neighbour in neighbours.into_iter().flatten() {
            if let Some(slot) = mask.get_mut(neighbour) {
                *slot = true;
            }
        }
    }
    mask
}

fn box_of(points: &[Point], probabilities: &[f32], width: usize) -> Option<Quad> {
    let rectangle: Rectangle = smallest_rectangle(points)?;
    if rectangle.short_side() < SMALLEST_SIDE.0
        || mean_inside(&rectangle.quad(), probabilities, width) < BOX_THRESHOLD
    {
        return None;
    }
    let grown = rectangle.grown(rectangle.unclip_distance(UNCLIP_RATIO));
    // Half a pixel: the region's points are the centres of its pixels.
    (grown.short_side() >= SMALLEST_SIDE.1).then(|| {
        grown
            .quad()
            .map(|point| Point::new(point.x + 0.5, point.y + 0.5))
    })
}

/// Mean probability of the pixels inside a box.
fn mean_inside(quad: &Quad, probabilities: &[f32], width: usize) -> f32 {
    let rows = probabilities.len() / width.max(1);
    let top = quad
        .0
        .iter()
        .map(|point| point.y)
        .fold(f32::INFINITY, f32::min)
        .floor()
        .max(0.0) as usize;
    let bottom = quad
        .0
        .iter()
        .map(|point| point.y)
        .fold(0.0, f32::max)
        .ceil() as usize;
    let (mut sum, mut count) = (0.0_f32, 0_usize);
    for y in top..=bottom.min(rows.saturating_sub(1)) {
        let Some((left, right)) = crossing(quad, y as f32) else {
            continue;
        };
        let (first, last) = (
            left.round().max(0.0) as usize,
            (right.round().max(0.0) as usize).min(width.saturating_sub(1)),
        );
        let inside = probabilities
            .get(y * width + first..=y * width + last)
            .unwrap_or_default();
        sum += inside.iter().sum::<f32>();
        count += inside.len();
    }
    if count == 0 { 0.0 } else { sum / count as f32 }
}

/// Where a horizontal line enters and leaves a box.
fn crossing(quad: &Quad, y: f32) -> Option<(f32, f32)> {
    let (mut left, mut right) = (f32::INFINITY, f32::NEG_INFINITY);
    for (from, to) in quad.0.iter().zip(quad.0.iter().cycle().skip(1)) {
        let (low, high) = (from.y.min(to.y), from.y.max(to.y));
        if y < low - 0.5 || y > high + 0.5 {
            continue;
        }
        let ends = ends(*from, *to, y);
        for x in ends {
            (left, right) = (left.min(x), right.max(x));
        }
    }
    (left <= right).then_some((left, right))
}

/// Where a line at height `y` crosses a side; a level side lies in it from end to end.
fn ends(from: Point, to: Point, y: f32) -> [f32; 2] {
    let (low, high) = (from.y.min(to.y), from.y.max(to.y));
    if high - low < 1e-3 {
        return [from.x, to.x];
    }
    let share = ((y - from.y) / (to.y - from.y)).clamp(0.0, 1.0);
    [from.toward(to, share).x; 2]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_likely_region_becomes_a_grown_box() {
        let (width, height) = (100, 60);
        let mut map = vec![0.0_f32; width * height];
        for y in 20..30 {
            for x in 10..80 {
                map[y * width + x] = 0.9;
            }
        }
        map[50 * width + 50] = 0.9;
        let boxes = boxes_of(&map, width, 10);
        assert_eq!(boxes.len(), 1, "one pixel is no text: {boxes:?}");
        let [top_left, _, bottom_right, _] = boxes[0].0;
        assert!(
            top_left.x < 6.0 && top_left.y < 16.0 && bottom_right.x > 84.0 && bottom_right.y > 34.0,
            "{boxes:?}"
        );
        assert!(
            boxes_of(&vec![0.35; width * height], width, 10).is_empty(),
            "a grey veil is no text"
        );
    }

    #[test]
    fn sizes_stay_within_the_limits() {
        let config = OcrConfig {
            maximum_detection_side: 1000,
            minimum_detection_side: 700,
            ..OcrConfig::default()
        };
        let size = |width: u32, height: u32| {
            let image =
                RgbImage::new(width, height, vec![0; (width * height * 3) as usize]).unwrap();
            search_size(&image, &config)
        };
        assert_eq!(size(4000, 1000), (1000, 250));
        assert_eq!(size(350, 350), (700, 700));
        assert_eq!(size(10, 10), (40, 40));
        assert_eq!(size(3000, 1), (1000, 1));
        assert_eq!(size(2000, 2000), (849, 849));
    }
}
