//! The kernels for AVX2. Codes are widened to 16 bits before multiplying: `maddubs` would saturate.

use std::arch::x86_64::*;

use super::BIT_BLOCK;

/// # Safety
/// AVX2 must be there; `query.len()` a multiple of 64, `rows.len() == query.len() * sums.len()`.
#[target_feature(enable = "avx2")]
pub unsafe fn code_dots(query: &[i8], bias: i32, rows: &[u8], sums: &mut [i32]) {
    let length = query.len();
    for (row, sum) in rows.chunks_exact(length).zip(sums) {
        let mut even = _mm256_setzero_si256();
        let mut odd = _mm256_setzero_si256();
        for at in (0..length).step_by(32) {
            // SAFETY: `at + 32 <= length` of both, as the length is a multiple of 64.
            let (q_low, q_high, c_low, c_high) = unsafe {
                let q = query.as_ptr().add(at).cast::<__m128i>();
                let c = row.as_ptr().add(at).cast::<__m128i>();
                (
                    _mm_loadu_si128(q),
                    _mm_loadu_si128(q.add(1)),
                    _mm_loadu_si128(c),
                    _mm_loadu_si128(c.add(1)),
                )
            };
            even = _mm256_add_epi32(
                even,
                _mm256_madd_epi16(_mm256_cvtepi8_epi16(q_low), _mm256_cvtepu8_epi16(c_low)),
            );
            odd = _mm256_add_epi32(
                odd,
                _mm256_madd_epi16(_mm256_cvtepi8_epi16(q_high), _mm256_cvtepu8_epi16(c_high)),
            );
        }
        *sum = sum_i32(_mm256_add_epi32(even, odd)) - bias;
    }
}

#[target_feature(enable = "avx2")]
fn sum_i32(values: __m256i) -> i32 {
    let half = _mm_add_epi32(
        _mm256_castsi256_si128(values),
        _mm256_extracti128_si256(values, 1),
    );
    let quarter = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0b01_00_11_10));
    _mm_cvtsi128_si32(_mm_add_epi32(
        quarter,
        _mm_shuffle_epi32(quarter, 0b10_11_00_01),
    ))
}

/// # Safety
/// AVX2 and FMA must be there; lengths equal.
#[target_feature(enable = "avx2,fma")]
pub unsafe fn dot(left: &[f32], right: &[f32]) -> f32 {
    let whole = left.len() / 32 * 32;
    let mut sums = [_mm256_setzero_ps(); 4];
    for at in (0..whole).step_by(32) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            // SAFETY: `at + 32 <= whole <= length` of both.
            let (a, b) = unsafe {
                (
                    _mm256_loadu_ps(left.as_ptr().add(at + lane * 8)),
                    _mm256_loadu_ps(right.as_ptr().add(at + lane * 8)),
                )
            };
            *sum = _mm256_fmadd_ps(a, b, *sum);
        }
    }
    let sum = _mm256_add_ps(
        _mm256_add_ps(sums[0], sums[1]),
        _mm256_add_ps(sums[2], sums[3]),
    );
    let half = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps(sum, 1));
    let quarter = _mm_add_ps(half, _mm_movehl_ps(half, half));
    let total = _mm_cvtss_f32(_mm_add_ss(quarter, _mm_shuffle_ps(quarter, quarter, 1)));
    let rest: f32 = left[whole..]
        .iter()
        .zip(&right[whole..])
        .map(|(a, b)| a * b)
        .sum();
    total + rest
}

/// # Safety
/// AVX2 and POPCNT must be there.
#[target_feature(enable = "avx2,popcnt")]
pub unsafe fn bit_sums(planes: &[u64], block: &[u64], sums: &mut [u32; BIT_BLOCK]) {
    super::scalar::bit_sums(planes, block, sums);
}
