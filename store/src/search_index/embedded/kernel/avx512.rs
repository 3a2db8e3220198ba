//! The kernels for AVX-512 with VNNI and VPOPCNTDQ.

use std::arch::x86_64::*;

use super::BIT_BLOCK;

/// Rows that share one load of the query.
const TOGETHER: usize = 4;

/// # Safety
/// AVX-512 F, BW and VNNI must be there; `query.len()` a multiple of 64, `rows.len() == query.len()
/// * sums.len()`.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub unsafe fn code_dots(query: &[i8], bias: i32, rows: &[u8], sums: &mut [i32]) {
    let length = query.len();
    let mut groups = sums.chunks_exact_mut(TOGETHER);
    let mut row = rows.as_ptr();
    for group in &mut groups {
        let mut totals = [_mm512_setzero_si512(); TOGETHER];
        for at in (0..length).step_by(64) {
            // SAFETY: `at + 64 <= length`; row + TOGETHER rows lie within `rows`, which holds
            // `sums.len()` rows.
            unsafe {
                let q = _mm512_loadu_si512(query.as_ptr().add(at).cast());
                for (index, total) in totals.iter_mut().enumerate() {
                    let codes = _mm512_loadu_si512(row.add(index * length + at).cast());
                    *total = _mm512_dpbusd_epi32(*total, codes, q);
                }
            }
        }
        for (sum, total) in group.iter_mut().zip(totals) {
            *sum = _mm512_reduce_add_epi32(total) - bias;
        }
        // SAFETY: stays within `rows` or one past its end.
        row = unsafe { row.add(TOGETHER * length) };
    }
    for sum in groups.into_remainder() {
        let mut total = _mm512_setzero_si512();
        for at in (0..length).step_by(64) {
            // SAFETY: as above, one row.
            unsafe {
                let q = _mm512_loadu_si512(query.as_ptr().add(at).cast());
                total = _mm512_dpbusd_epi32(total, _mm512_loadu_si512(row.add(at).cast()), q);
            }
        }
        *sum = _mm512_reduce_add_epi32(total) - bias;
        // SAFETY: stays within `rows` or one past its end.
        row = unsafe { row.add(length) };
    }
}

/// # Safety
/// AVX-512 F must be there; lengths equal.
#[target_feature(enable = "avx512f")]
pub unsafe fn dot(left: &[f32], right: &[f32]) -> f32 {
    let whole = left.len() / 64 * 64;
    let mut sums = [_mm512_setzero_ps(); 4];
    for at in (0..whole).step_by(64) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            // SAFETY: `at + 64 <= whole <= length` of both.
            let (a, b) = unsafe {
                (
                    _mm512_loadu_ps(left.as_ptr().add(at + lane * 16)),
                    _mm512_loadu_ps(right.as_ptr().add(at + lane * 16)),
                )
            };
            *sum = _mm512_fmadd_ps(a, b, *sum);
        }
    }
    let total = _mm512_reduce_add_ps(_mm512_add_ps(
        _mm512_add_ps(sums[0], sums[1]),
        _mm512_add_ps(sums[2], sums[3]),
    ));
    let rest: f32 = left[whole..]
        .iter()
        .zip(&right[whole..])
        .map(|(a, b)| a * b)
        .sum();
    total + rest
}

/// # Safety
/// AVX-512 F, VL and VPOPCNTDQ must be there; as many words of planes as of codes.
#[target_feature(enable = "avx512f,avx512vl,avx512vpopcntdq")]
pub unsafe fn bit_sums(planes: &[u64], block: &[u64], sums: &mut [u32; BIT_BLOCK]) {
    let mut totals = [_mm512_setzero_si512(); 4];
    for (planes, words) in planes
        .as_chunks::<4>()
        .0
        .iter()
        .zip(block.as_chunks::<BIT_BLOCK>().0)
    {
        // SAFETY: a block of eight words is 64 bytes.
        let words = unsafe { _mm512_loadu_si512(words.as_ptr().cast()) };
        for (total, plane) in totals.iter_mut().zip(planes) {
            let both = _mm512_and_si512(words, _mm512_set1_epi64(plane.cast_signed()));
            *total = _mm512_add_epi64(*total, _mm512_popcnt_epi64(both));
        }
    }
    let low = _mm512_add_epi64(totals[0], _mm512_slli_epi64(totals[1], 1));
    let high = _mm512_add_epi64(totals[2], _mm512_slli_epi64(totals[3], 1));
    let all = _mm512_add_epi64(low, _mm512_slli_epi64(high, 2));
    // SAFETY: eight u32 are 32 bytes.
    unsafe { _mm256_storeu_si256(sums.as_mut_ptr().cast(), _mm512_cvtepi64_epi32(all)) };
}
