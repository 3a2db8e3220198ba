//! The arithmetic of the vector scans, in one form per instruction set, chosen at run time. All
//! forms of the integer kernels give the same result bit for bit; the f32 dot product differs
//! between them only by rounding.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;

use std::sync::OnceLock;

/// Rows of codes are padded to a multiple of this many bytes.
pub const ALIGNMENT: usize = 64;

/// Rows of one block of one-bit codes, see [`Kernel::bit_sums`].
pub const BIT_BLOCK: usize = 8;

/// A query in signed bytes, of a multiple of [`ALIGNMENT`].
#[derive(Clone, Debug)]
pub struct CodeQuery {
    codes: Vec<i8>,
    /// 128 times their sum: what the unsigned products of the x86 kernels are too large by.
    bias: i32,
}

impl CodeQuery {
    /// Fills up with zeros.
    pub fn new(mut codes: Vec<i8>) -> Self {
        codes.resize(codes.len().next_multiple_of(ALIGNMENT), 0);
        let bias = 128 * codes.iter().map(|code| i32::from(*code)).sum::<i32>();
        Self { codes, bias }
    }
}

/// Instruction set that the scans use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Plain Rust.
    Scalar,
    /// AVX2, FMA and POPCNT.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 F, BW, VL, VNNI and VPOPCNTDQ.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// NEON.
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Kernel {
    /// The best one that this processor has.
    pub fn best() -> Self {
        static BEST: OnceLock<Kernel> = OnceLock::new();
        *BEST.get_or_init(|| Self::available().last().copied().unwrap_or(Self::Scalar))
    }

    /// All that this processor has, slowest first.
    pub fn available() -> Vec<Self> {
        #[allow(unused_mut)]
        let mut kernels = vec![Self::Scalar];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("popcnt")
            {
                kernels.push(Self::Avx2);
            }
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vnni")
                && is_x86_feature_detected!("avx512vpopcntdq")
            {
                kernels.push(Self::Avx512);
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            kernels.push(Self::Neon);
        }
        kernels
    }

    /// Dot products of a query with rows of codes: `sums[r] = Σ query[i] · (rows[r][i] − 128)`.
    /// `rows` holds `sums.len()` rows as long as the query.
    pub fn code_dots(self, query: &CodeQuery, rows: &[u8], sums: &mut [i32]) {
        let codes = query.codes.as_slice();
        assert!(
            rows.len() == codes.len() * sums.len(),
            "{} rows of {} codes",
            sums.len(),
            codes.len()
        );
        match self {
            Self::Scalar => scalar::code_dots(codes, rows, sums),
            // SAFETY: the variant exists only where `available` found the instructions; lengths
            // were checked above.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { avx2::code_dots(codes, query.bias, rows, sums) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { avx512::code_dots(codes, query.bias, rows, sums) },
            // SAFETY: as above.
            #[cfg(target_arch = "aarch64")]
            Self::Neon => unsafe { neon::code_dots(codes, rows, sums) },
        }
    }

    /// Dot product of two vectors of equal length.
    pub fn dot(self, left: &[f32], right: &[f32]) -> f32 {
        assert_eq!(left.len(), right.len(), "vectors of equal length");
        // Adding zero turns a negative zero into a positive one: the two must not be ordered.
        0.0 + match self {
            Self::Scalar => scalar::dot(left, right),
            // SAFETY: the variant exists only where `available` found the instructions; lengths are
            // equal.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { avx2::dot(left, right) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { avx512::dot(left, right) },
            // SAFETY: as above.
            #[cfg(target_arch = "aarch64")]
            Self::Neon => unsafe { neon::dot(left, right) },
        }
    }

    /// Sums of a 4-bit query over the set bits of one block of [`BIT_BLOCK`] rows: `sums[r] = Σ
    /// q[i]` over the bits `i` set in row `r`. Word `w` of row `r` is `block[w * 8 + r]`;
    /// `planes[w * 4 + p]` holds bit `p` of the 64 query values of word `w`.
    pub fn bit_sums(self, planes: &[u64], block: &[u64], sums: &mut [u32; BIT_BLOCK]) {
        assert_eq!(
            planes.len() / 4,
            block.len() / BIT_BLOCK,
            "one word of planes per word of codes"
        );
        match self {
            Self::Scalar => scalar::bit_sums(planes, block, sums),
            // SAFETY: the variant exists only where `available` found the instructions; lengths
            // were checked above.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { avx2::bit_sums(planes, block, sums) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { avx512::bit_sums(planes, block, sums) },
            // SAFETY: as above. Plain code compiles to CNT there.
            #[cfg(target_arch = "aarch64")]
            Self::Neon => scalar::bit_sums(planes, block, sums),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Numbers that look random; the state is the argument.
    fn next(state: &mut u64) -> u64 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        *state >> 24
    }

    #[test]
    fn every_kernel_counts_code_dots_like_the_scalar_one() {
        let mut state = 7;
        for length in [64, 128, 320, 384, 768, 1024] {
            for count in [0, 1, 2, 3, 4, 5, 8, 17] {
                let query = CodeQuery::new(
                    (0..length)
                        .map(|_| (next(&mut state) % 255) as i8)
                        .collect(),
                );
                let rows: Vec<u8> = (0..length * count)
                    .map(|_| next(&mut state) as u8)
                    .collect();
                let mut expected = vec![0; count];
                Kernel::Scalar.code_dots(&query, &rows, &mut expected);
                for kernel in Kernel::available() {
                    let mut sums = vec![-1; count];
                    kernel.code_dots(&query, &rows, &mut sums);
                    assert_eq!(sums, expected, "{kernel:?} {length}x{count}");
                }
            }
        }
    }

    #[test]
    fn the_extremes_of_codes_do_not_saturate() {
        for (query, row) in [(127_i8, 255_u8), (-128, 0), (127, 0), (-128, 255)] {
            let expected = 1024 * i32::from(query) * (i32::from(row) - 128);
            for kernel in Kernel::available() {
                let mut sums = [0];
                kernel.code_dots(&CodeQuery::new(vec![query; 1024]), &[row; 1024], &mut sums);
                assert_eq!(sums, [expected], "{kernel:?} {query} {row}");
            }
        }
    }

    #[test]
    fn every_kernel_gives_the_same_dot_product_up_to_rounding() {
        let mut state = 11;
        for length in [
            0, 1, 3, 7, 15, 16, 17, 63, 64, 65, 100, 384, 385, 767, 768, 1000,
        ] {
            let mut vector = || -> Vec<f32> {
                (0..length)
                    .map(|_| next(&mut state) as u16 as f32 / 32768.0 - 1.0)
                    .collect()
            };
            let (left, right) = (vector(), vector());
            let exact: f64 = left
                .iter()
                .zip(&right)
                .map(|(a, b)| f64::from(*a) * f64::from(*b))
                .sum();
            for kernel in Kernel::available() {
                assert!(
                    (f64::from(kernel.dot(&left, &right)) - exact).abs() < 1e-4,
                    "{kernel:?} {length}"
                );
            }
        }
    }

    #[test]
    fn every_kernel_sums_bits_like_the_definition() {
        let mut state = 13;
        for words in [1, 2, 5, 6, 12, 16] {
            let query: Vec<u8> = (0..words * 64)
                .map(|_| (next(&mut state) % 16) as u8)
                .collect();
            let mut planes = vec![0_u64; words * 4];
            for (i, value) in query.iter().enumerate() {
                (0..4)
                    .filter(|plane| value >> plane & 1 == 1)
                    .for_each(|plane| planes[i / 64 * 4 + plane] |= 1 << (i % 64));
            }
            let block: Vec<u64> = (0..words * 8)
                .map(|_| next(&mut state) << 32 | next(&mut state) & 0xffff_ffff)
                .collect();
            let expected: Vec<u32> = (0..8)
                .map(|row| {
                    (0..words * 64)
                        .filter(|i| block[i / 64 * 8 + row] >> (i % 64) & 1 == 1)
                        .map(|i| u32::from(query[i]))
                        .sum()
                })
                .collect();
            for kernel in Kernel::available() {
                let mut sums = [0; 8];
                kernel.bit_sums(&planes, &block, &mut sums);
                assert_eq!(sums.to_vec(), expected, "{kernel:?} {words}");
            }
        }
    }
}
