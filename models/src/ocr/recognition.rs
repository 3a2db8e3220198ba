//! Reads lines: strips of 48 pixels height go through the network in batches of similar width, its
//! character probabilities become text (greedy CTC).

use tributary_schemas::ErrorKind;

use super::geometry::Quad;
use super::pixels::RgbImage;
use super::{GoOn, run};
use crate::sessions::SessionPool;
use crate::{Error, Result};

/// Height of a strip in pixels.
pub const HEIGHT: usize = 48;
/// Shorter strips are filled up to this width. Training filled up to 320; the readings are the
/// same, the cost is half for short lines.
const SHORTEST_WIDTH: usize = 64;
/// Longer strips are squeezed to this width.
const LONGEST_WIDTH: usize = 3200;
/// Most pixels of width of one batch; bounds the memory of a run.
const BATCH_WIDTH: usize = 1280;

/// Between letters where no space stands its probability stays far below this, where one was missed
/// it rises over it.
const SPACE_THRESHOLD: f32 = 0.05;

/// A line cut out of the page: where it is and how wide it becomes.
pub struct Strip<'a> {
    quad: &'a Quad,
    width: usize,
}

impl<'a> Strip<'a> {
    /// A strip of the line's own shape, at most `longest` pixels wide.
    pub fn new(quad: &'a Quad, longest: usize) -> Self {
        let width = (HEIGHT as f32 * quad.width() / quad.height().max(1.0)).ceil() as usize;
        Self {
            quad,
            width: width.clamp(1, longest),
        }
    }

    /// Appends the strip as three planes (blue, green, red) of `padded` pixels width, values from
    /// -1 to 1, 0 where the strip has ended.
    pub fn write(&self, image: &RgbImage, padded: usize, values: &mut Vec<f32>) {
        let start = values.len();
        let plane = HEIGHT * padded;
        values.resize(start + 3 * plane, 0.0);
        super::sampling::sample_quad(
            image,
            self.quad,
            self.width,
            HEIGHT,
            |x, y, [red, green, blue]| {
                for (channel, value) in [blue, green, red].into_iter().enumerate() {
                    if let Some(slot) = values.get_mut(start + channel * plane + y * padded + x) {
                        *slot = value / 127.5 - 1.0;
                    }
                }
            },
        );
    }
}

/// Text and confidence of a line; the text is empty where nothing was read.
pub type Reading = (String, f32);

/// Reads all lines, in the order of the boxes.
pub fn read_lines(
    pool: &SessionPool,
    image: &RgbImage,
    quads: &[Quad],
    characters: &Characters,
    go_on: GoOn<'_>,
) -> Result<Vec<Reading>> {
    let mut strips: Vec<(usize, Strip)> = quads
        .iter()
        .map(|quad| Strip::new(quad, LONGEST_WIDTH))
        .enumerate()
        .collect();
    strips.sort_by_key(|(_, strip)| strip.width);
    let mut readings = vec![Reading::default(); quads.len()];
    let mut rest = strips.as_slice();
    while !rest.is_empty() {
        go_on()?;
        let (batch, after) = rest.split_at(batch_length(rest).min(rest.len()));
        for ((place, _), reading) in batch
            .iter()
            .zip(read_batch(pool, image, batch, characters)?)
        {
            if let Some(slot) = readings.get_mut(*place) {
                *slot = reading;
            }
        }
        rest = after;
    }
    Ok(readings)
}

/// Width at which a strip is run: few different widths, never below the shortest.
fn padded_width(strip: &Strip) -> usize {
    strip.width.next_multiple_of(16).max(SHORTEST_WIDTH)
}

/// How many of the strips (narrow ones first) fit into one run.
fn batch_length(strips: &[(usize, Strip)]) -> usize {
    let fits = |(index, (_, strip)): &(usize, &(usize, Strip))| {
        padded_width(strip) * (index + 1) <= BATCH_WIDTH
    };
    strips.iter().enumerate().take_while(fits).count().max(1)
}

fn read_batch(
    pool: &SessionPool,
    image: &RgbImage,
    batch: &[(usize, Strip)],
    characters: &Characters,
) -> Result<Vec<Reading>> {
    let width = batch
        .iter()
        .map(|(_, strip)| padded_width(strip))
        .max()
        .unwrap_or(SHORTEST_WIDTH);
    let mut values = Vec::with_capacity(batch.len() * 3 * HEIGHT * width);
    for (_, strip) in batch {
        strip.write(image, width, &mut values);
    }
    pool.with(|session| {
        run(session, [batch.len(), 3, HEIGHT, width], &values, |shape, output| match shape {
            [_, steps, classes] if *classes as usize == characters.classes() => {
                let line = (*steps).max(1) as usize * characters.classes();
                Ok(output.chunks_exact(line).map(|line| characters.decode(line)).collect())
            }
            other => Err(Error::new(
                ErrorKind::Corrupt,
                format!("the OCR recognition model gives an output of shape {other:?} for {} characters", characters.classes()),
            )),
        })
    })
}

/// What the classes of the network's output stand for: class 0 for nothing, then the dictionary,
/// then the space.
pub struct Characters(Vec<String>);

impl Characters {
    /// From the model's metadata: one character a line.
    pub fn parse(dictionary: &str) -> Self {
        let lines = dictionary
            .strip_suffix('\n')
            .unwrap_or(dictionary)
            .split('\n');
        let mut classes = vec![String::new()];
        classes.extend(lines.map(|line| line.trim_end_matches('\r').to_owned()));
        classes.push(" ".to_owned());
        Self(classes)
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.0.len()
    }

    /// Greedy CTC: the likeliest class of each step; a class that repeats counts once, class 0 not
    /// at all. Between two words a space counts that was not the likeliest anywhere, if it was
    /// somewhat likely.
    fn decode(&self, steps: &[f32]) -> Reading {
        let (mut text, mut before, mut sum, mut count) = (String::new(), 0, 0.0_f32, 0_u32);
        let mut likeliest_space = 0.0_f32;
        for step in steps.chunks_exact(self.classes()) {
            let (class, probability) = likeliest(step);
            likeliest_space = likeliest_space.max(step.last().copied().unwrap_or(0.0));
            if class != before && class != 0 {
                let character = self.0.get(class).map_or("", String::as_str);
                if likeliest_space > SPACE_THRESHOLD && may_end_word(&text, character) {
                    text.push(' ');
                }
                text.push_str(character);
                sum += probability;
                count += 1;
                likeliest_space = 0.0;
            }
            before = class;
        }
        let confidence = if count == 0 { 0.0 } else { sum / count as f32 };
        (text.trim().to_owned(), confidence)
    }
}

/// Whether the text ends with a word of some letters and the next character may begin another; not
/// within `camelCase` or `x2`.
fn may_end_word(text: &str, next: &str) -> bool {
    let word = text
        .chars()
        .rev()
        .take_while(|character| is_narrow_letter(*character))
        .take(3)
        .count();
    let is_camel_case = text.ends_with(char::is_lowercase) && next.starts_with(char::is_uppercase);
    word == 3 && next.starts_with(is_narrow_letter) && !is_camel_case
}

/// A letter or digit of a script that parts words by spaces.
fn is_narrow_letter(character: char) -> bool {
    character.is_alphanumeric() && !super::is_wide(character)
}

/// Index and value of the largest value; 0 for no values.
fn likeliest(values: &[f32]) -> (usize, f32) {
    let largest = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    (
        values
            .iter()
            .position(|value| *value == largest)
            .unwrap_or(0),
        largest,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ocr::Point;

    #[test]
    fn repeats_count_once_unless_parted() {
        let characters = Characters::parse("a\nb\n");
        assert_eq!(characters.classes(), 4);
        let steps: Vec<f32> = [0, 1, 1, 0, 1, 2, 3, 2, 0]
            .iter()
            .flat_map(|class| (0..4).map(move |at| if at == *class { 0.8 } else { 0.05 }))
            .collect();
        let (text, confidence) = characters.decode(&steps);
        assert_eq!(text, "aab b");
        assert!((confidence - 0.8).abs() < 1e-6);
        let (letter, none) = ([0.1, 0.9, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]);
        let missed = [
            letter,
            none,
            letter,
            none,
            letter,
            [0.9, 0.0, 0.0, 0.09],
            [0.1, 0.0, 0.9, 0.0],
        ]
        .concat();
        assert_eq!(characters.decode(&missed).0, "aaa b");
        assert_eq!(Characters::parse("a\n.\n").decode(&missed).0, "aaa.");
        assert_eq!(
            characters.decode(&[1.0, 0.0, 0.0, 0.0]),
            (String::new(), 0.0)
        );
        assert_eq!(characters.decode(&[f32::NAN; 4]).0, "");
    }

    #[test]
    fn strips_keep_their_shape_within_bounds() {
        let quad = |width: f32, height: f32| {
            Quad(
                [(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)]
                    .map(|(x, y)| Point::new(x, y)),
            )
        };
        assert_eq!(Strip::new(&quad(100.0, 24.0), 3200).width, 200);
        assert_eq!(Strip::new(&quad(100_000.0, 24.0), 3200).width, 3200);
        assert_eq!(Strip::new(&quad(0.0, 0.0), 3200).width, 1);
        let (narrow, wide) = (quad(100.0, 24.0), quad(2000.0, 24.0));
        let strips: Vec<(usize, Strip)> = vec![
            (0, Strip::new(&narrow, 3200)),
            (1, Strip::new(&narrow, 3200)),
            (2, Strip::new(&wide, 3200)),
        ];
        assert_eq!(batch_length(&strips), 2);
        assert_eq!(batch_length(&strips[2..]), 1);
    }
}
