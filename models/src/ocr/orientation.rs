//! Tells lines that are upside down, so that a page can be read the right way round.

use tributary_schemas::ErrorKind;

use super::geometry::Quad;
use super::pixels::RgbImage;
use super::recognition::{HEIGHT, Strip};
use super::run;
use crate::sessions::SessionPool;
use crate::{Error, Result};

/// Width of the network's input in pixels.
const WIDTH: usize = 192;
/// Lines of one run.
const BATCH: usize = 16;
/// From this probability on a line counts as upside down.
const THRESHOLD: f32 = 0.9;

/// For each box, in order, whether its text stands on its head.
pub fn upside_down(pool: &SessionPool, image: &RgbImage, quads: &[Quad]) -> Result<Vec<bool>> {
    let mut answers = Vec::with_capacity(quads.len());
    for batch in quads.chunks(BATCH) {
        let mut values = Vec::with_capacity(batch.len() * 3 * HEIGHT * WIDTH);
        let windows: Vec<Quad> = batch.iter().map(middle).collect();
        for quad in &windows {
            Strip::new(quad, WIDTH).write(image, WIDTH, &mut values);
        }
        let found =
            pool.with(|session| run(session, [batch.len(), 3, HEIGHT, WIDTH], &values, read))?;
        answers.extend(found);
    }
    Ok(answers)
}

/// The middle of a line, as much as the network takes without squeezing: of a whole line of a page
/// its letters would be too narrow to tell which way up they stand.
fn middle(line: &Quad) -> Quad {
    let wanted = line.height() * WIDTH as f32 / HEIGHT as f32;
    let share = (wanted / line.width().max(1.0)).min(1.0);
    let (from, to) = (0.5 - share / 2.0, 0.5 + share / 2.0);
    let [first, second, third, fourth] = line.0;
    Quad([
        first.toward(second, from),
        first.toward(second, to),
        fourth.toward(third, to),
        fourth.toward(third, from),
    ])
}

fn read(shape: &[i64], output: &[f32]) -> Result<Vec<bool>> {
    match shape {
        [_, 2] => Ok(output
            .chunks_exact(2)
            .map(|pair| pair.last().is_some_and(|turned| *turned > THRESHOLD))
            .collect()),
        other => Err(Error::new(
            ErrorKind::Corrupt,
            format!("the OCR orientation model gives an output of shape {other:?}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::geometry::Point;
    use super::*;

    #[test]
    fn of_a_long_line_the_middle_is_looked_at() {
        let line = |width: f32| {
            Quad(
                [(0.0, 0.0), (width, 0.0), (width, 10.0), (0.0, 10.0)]
                    .map(|(x, y)| Point::new(x, y)),
            )
        };
        let [first, second, ..] = middle(&line(1000.0)).0;
        assert_eq!(
            (first, second),
            (Point::new(480.0, 0.0), Point::new(520.0, 0.0))
        );
        assert_eq!(middle(&line(30.0)), line(30.0));
    }
}
