//! Connected regions of a probability map, each as the ends of its pixel runs: all that a
//! surrounding rectangle needs. One pass over the map with union-find over runs; costs no more than
//! the map has pixels.

use super::geometry::Point;

/// A run of pixels in one row, both ends included.
#[derive(Clone, Copy)]
struct Run {
    row: usize,
    first: usize,
    last: usize,
}

/// The end points of the runs of each region of `mask` (`width` values a row), regions in the order
/// of their first pixel. Pixels that touch at a corner belong together. At most `maximum` regions.
pub fn regions(mask: &[bool], width: usize, maximum: usize) -> Vec<Vec<Point>> {
    let mut runs: Vec<Run> = Vec::new();
    let mut parents: Vec<usize> = Vec::new();
    let mut row_before = 0..0;
    for (row, values) in mask.chunks_exact(width.max(1)).enumerate() {
        let begins = runs.len();
        collect_runs(row, values, &mut runs);
        parents.extend(begins..runs.len());
        join_rows(&runs, &mut parents, row_before, begins..runs.len());
        row_before = begins..runs.len();
    }
    gather(&runs, &mut parents, maximum)
}

fn collect_runs(row: usize, values: &[bool], runs: &mut Vec<Run>) {
    let mut open: Option<usize> = None;
    for (column, set) in values.iter().copied().chain([false]).enumerate() {
        match (set, open) {
            (true, None) => open = Some(column),
            (false, Some(first)) => {
                runs.push(Run {
                    row,
                    first,
                    last: column - 1,
                });
                open = None;
            }
            _ => {}
        }
    }
}

/// Joins each run with those of the row above that it touches; both rows are in order, so this is
/// one walk along both.
fn join_rows(
    runs: &[Run],
    parents: &mut [usize],
    above: std::ops::Range<usize>,
    here: std::ops::Range<usize>,
) {
    let (mut upper, mut lower) = (above.start, here.start);
    while upper < above.end && lower < here.end {
        let (Some(one), Some(other)) = (runs.get(upper), runs.get(lower)) else {
            return;
        };
        if one.first <= other.last + 1 && other.first <= one.last + 1 {
            let (low, high) = (root(parents, upper), root(parents, lower));
            if let Some(parent) = parents.get_mut(low.max(high)) {
                *parent = low.min(high);
            }
        }
        if one.last < other.last {
            upper += 1
        } else {
            lower += 1
        }
    }
}

/// The first run of a region, shortening the way there.
fn root(parents: &mut [usize], mut run: usize) -> usize {
    while let Some(parent) = parents.get(run).copied().filter(|parent| *parent != run) {
        let grandparent = parents.get(parent).copied().unwrap_or(parent);
        if let Some(slot) = parents.get_mut(run) {
            *slot = grandparent;
        }
        run = grandparent;
    }
    run
}

fn gather(runs: &[Run], parents: &mut [usize], maximum: usize) -> Vec<Vec<Point>> {
    let mut places = vec![usize::MAX; runs.len()];
    let mut regions: Vec<Vec<Point>> = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        let first = root(parents, index);
        let Some(place) = places.get_mut(first) else {
            continue;
        };
        if *place == usize::MAX {
            if regions.len() == maximum {
                continue;
            }
            *place = regions.len();
            regions.push(Vec::new());
        }
        if let Some(region) = regions.get_mut(*place) {
            region.extend(
                [run.first, run.last].map(|column| Point::new(column as f32, run.row as f32)),
            );
        }
    }
    regions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(rows: &[&str]) -> (Vec<bool>, usize) {
        (
            rows.iter()
                .flat_map(|row| row.chars().map(|letter| letter == '#'))
                .collect(),
            rows[0].len(),
        )
    }

    #[test]
    fn touching_runs_are_one_region() {
        let (mask, width) = map(&["##..#", "..#.#", "#...#", "#####"]);
        let found = regions(&mask, width, 10);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0].len() + found[1].len(), 14);
        let (mask, width) = map(&["#.#", "#.#", "###", "...", ".#."]);
        assert_eq!(regions(&mask, width, 10).len(), 2);
        assert_eq!(regions(&mask, width, 1).len(), 1);
        assert!(regions(&[false; 9], 3, 10).is_empty());
        assert!(regions(&[], 0, 10).is_empty());
    }
}
