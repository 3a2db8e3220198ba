//! The kernels for NEON (aarch64).

use std::arch::aarch64::*;

/// # Safety
/// NEON must be there; `query.len()` a multiple of 64, `rows.len() == query.len() * sums.len()`.
#[target_feature(enable = "neon")]
pub unsafe fn code_dots(query: &[i8], rows: &[u8], sums: &mut [i32]) {
    let length = query.len();
    let bias = vdupq_n_u8(128);
    for (row, sum) in rows.chunks_exact(length).zip(sums) {
        let mut low = vdupq_n_s32(0);
        let mut high = vdupq_n_s32(0);
        for at in (0..length).step_by(16) {
            // SAFETY: `at + 16 <= length` of both, as the length is a multiple of 64.
            let (q, c) = unsafe {
                (
                    vld1q_s8(query.as_ptr().add(at)),
                    vld1q_u8(row.as_ptr().add(at)),
                )
            };
            // Flipping the top bit turns code - 128 into a signed byte.
            let c = vreinterpretq_s8_u8(veorq_u8(c, bias));
            low = vpadalq_s16(low, vmull_s8(vget_low_s8(q), vget_low_s8(c)));
            high = vpadalq_s16(high, vmull_s8(vget_high_s8(q), vget_high_s8(c)));
        }
        *sum = vaddvq_s32(vaddq_s32(low, high));
    }
}

/// # Safety
/// NEON must be there; lengths equal.
#[target_feature(enable = "neon")]
pub unsafe fn dot(left: &[f32], right: &[f32]) -> f32 {
    let whole = left.len() / 16 * 16;
    let mut sums = [vdupq_n_f32(0.0); 4];
    for at in (0..whole).step_by(16) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            // SAFETY: `at + 16 <= whole <= length` of both.
            let (a, b) = unsafe {
                (
                    vld1q_f32(left.as_ptr().add(at + lane * 4)),
                    vld1q_f32(right.as_ptr().add(at + lane * 4)),
                )
            };
            *sum = vfmaq_f32(*sum, a, b);
        }
    }
    let total = vaddvq_f32(vaddq_f32(
        vaddq_f32(sums[0], sums[1]),
        vaddq_f32(sums[2], sums[3]),
    ));
    let rest: f32 = left[whole..]
        .iter()
        .zip(&right[whole..])
        .map(|(a, b)| a * b)
        .sum();
    total + rest
}
