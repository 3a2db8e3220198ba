//! Written by `eval/workloads/conversion/render/fit.py`, which says on what they were fitted.

/// What each number for a heading counts; above 0 in sum is a heading.
pub(super) const WEIGHTS: [(&str, f32); 0] = [];
