//! A new RSA key: ring makes none, so the primes are found here.

use num_bigint::BigUint;
use ring::rand::{SecureRandom, SystemRandom};
use ring::rsa::{KeyPair, KeyPairComponents, PublicKeyComponents};

const PRIME_BYTES: usize = 128;
const EXPONENT: u32 = 65_537;

/// A key of 2048 bits; its modulus and exponent, big-endian.
pub fn generate() -> (KeyPair, Vec<u8>, Vec<u8>) {
    let one = BigUint::from(1_u8);
    let e = BigUint::from(EXPONENT);
    loop {
        let (first, second) = (prime(), prime());
        let (p, q) = (first.clone().max(second.clone()), first.min(second));
        let (below_p, below_q) = (&p - &one, &q - &one);
        let product = &below_p * &below_q;
        let least_common_multiple = &product / greatest_common_divisor(&below_p, &below_q);
        let (Some(d), Some(q_inverse)) = (e.modinv(&least_common_multiple), q.modinv(&p)) else {
            continue;
        };
        let (n, public) = ((&p * &q).to_bytes_be(), e.to_bytes_be());
        let components = KeyPairComponents {
            public_key: PublicKeyComponents {
                n: n.clone(),
                e: public.clone(),
            },
            dP: (&d % &below_p).to_bytes_be(),
            dQ: (&d % &below_q).to_bytes_be(),
            d: d.to_bytes_be(),
            p: p.to_bytes_be(),
            q: q.to_bytes_be(),
            qInv: q_inverse.to_bytes_be(),
        };
        return (KeyPair::from_components(&components).unwrap(), n, public);
    }
}

fn greatest_common_divisor(left: &BigUint, right: &BigUint) -> BigUint {
    let (mut left, mut right) = (left.clone(), right.clone());
    while right != BigUint::ZERO {
        (left, right) = (right.clone(), left % right);
    }
    left
}

fn prime() -> BigUint {
    loop {
        let mut bytes = [0; PRIME_BYTES];
        SystemRandom::new().fill(&mut bytes).unwrap();
        // Two of them make 2048 bits.
        bytes[0] |= 0xc0;
        bytes[PRIME_BYTES - 1] |= 1;
        let candidate = BigUint::from_bytes_be(&bytes);
        if is_prime(&candidate) {
            return candidate;
        }
    }
}

/// Trial division, then Miller-Rabin to twelve bases: enough for random numbers of this size.
fn is_prime(candidate: &BigUint) -> bool {
    let is_divided = |by: u32| candidate % by == BigUint::ZERO;
    if (3..2000).step_by(2).any(is_divided) {
        return false;
    }
    let one = BigUint::from(1_u8);
    let below = candidate - &one;
    let twos = below.trailing_zeros().unwrap();
    let odd = &below >> twos;
    [2_u8, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37]
        .iter()
        .all(|base| {
            let mut power = BigUint::from(*base).modpow(&odd, candidate);
            let mut is_passed = power == one || power == below;
            for _ in 1..twos {
                power = &power * &power % candidate;
                is_passed |= power == below;
            }
            is_passed
        })
}
