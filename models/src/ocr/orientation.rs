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
        for quad in batch {
            Strip::new(quad, WIDTH).write(image, WIDTH, &mut values);
        }
        let found =
            pool.with(|session| run(session, [batch.len(), 3, HEIGHT, WIDTH], &values, read))?;
        answers.extend(found);
    }
    Ok(answers)
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
