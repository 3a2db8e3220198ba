//! The kernels in plain Rust: the definition that the others are tested against.

use super::BIT_BLOCK;

pub fn code_dots(query: &[i8], rows: &[u8], sums: &mut [i32]) {
    for (row, sum) in rows.chunks_exact(query.len()).zip(sums) {
        *sum = row
            .iter()
            .zip(query)
            .map(|(code, value)| i32::from(*value) * (i32::from(*code) - 128))
            .sum();
    }
}

/// Eight partial sums, so that the compiler may use vector registers.
pub fn dot(left: &[f32], right: &[f32]) -> f32 {
    let (left_blocks, left_rest) = left.as_chunks::<8>();
    let (right_blocks, right_rest) = right.as_chunks::<8>();
    let mut partial = [0.0_f32; 8];
    for (left, right) in left_blocks.iter().zip(right_blocks) {
        for (sum, (a, b)) in partial.iter_mut().zip(left.iter().zip(right)) {
            *sum += a * b;
        }
    }
    let rest: f32 = left_rest.iter().zip(right_rest).map(|(a, b)| a * b).sum();
    partial.iter().sum::<f32>() + rest
}

#[inline(always)]
pub fn bit_sums(planes: &[u64], block: &[u64], sums: &mut [u32; BIT_BLOCK]) {
    *sums = [0; BIT_BLOCK];
    for (planes, words) in planes
        .as_chunks::<4>()
        .0
        .iter()
        .zip(block.as_chunks::<BIT_BLOCK>().0)
    {
        for (sum, word) in sums.iter_mut().zip(words) {
            *sum += (0..4)
                .map(|plane| (word & planes[plane]).count_ones() << plane)
                .sum::<u32>();
        }
    }
}
