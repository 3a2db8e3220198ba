//! Damage for the tests of all converters: a good document is cut and flipped everywhere, and
//! whatever comes of it must end, soon.

use std::time::{Duration, Instant};

use tributary_schemas::Result;

use crate::document::Converted;
use crate::limits::Limits;
use crate::test_config::config;

/// Longest time that one damaged document may take; the tests' documents take a few milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// Bits that are flipped in one document at a time.
const FLIPS: usize = 8;

/// Documents with flipped bits.
const ROUNDS: usize = 300;

/// Converts the document cut at every 97th byte and with flipped bits; the whole one must convert.
pub(crate) fn withstands(document: &[u8], convert: impl Fn(&[u8], &Limits) -> Result<Converted>) {
    let config: crate::Config = config();
    let try_one = |bytes: &[u8]| {
        let started = Instant::now();
        let result = convert(bytes, &Limits::starting_now(&config));
        assert!(started.elapsed() < PATIENCE, "took {:?}", started.elapsed());
        result
    };
    assert!(try_one(document).is_ok(), "the document itself converts");
    for length in (0..document.len()).step_by(97) {
        drop(try_one(&document[..length]));
    }
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below.max(1)
    };
    for _ in 0..ROUNDS {
        let mut bytes = document.to_vec();
        for _ in 0..FLIPS {
            let (at, bit) = (next(bytes.len()), next(8));
            bytes[at] ^= 1 << bit;
        }
        drop(try_one(&bytes));
    }
}
