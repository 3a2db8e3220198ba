//! How the memory of a long run is kept small.

/// Smallest piece of memory in bytes that is taken from the system by itself, and given back once
/// it is free.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const SINGLE_PIECE_BYTES: i32 = 256 << 10;

/// Makes the allocator of glibc give large pieces back to the system. By itself it raises its
/// threshold to the largest piece that was ever given back, up to 32 MiB, and then cuts documents
/// out of heaps of which something small always remains. Called once, at the start.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn give_large_pieces_back() {
    // SAFETY: sets a number within the allocator; safe at any time.
    let is_set = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, SINGLE_PIECE_BYTES) };
    if is_set == 0 {
        tracing::debug!("the allocator keeps its own threshold for large pieces");
    }
}

/// Other allocators are left as they are.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn give_large_pieces_back() {}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_single_ones_even_after_a_larger_one_was_given_back() {
        give_large_pieces_back();
        drop(std::hint::black_box(vec![1_u8; 16 << 20]));
        // SAFETY: reads numbers of the allocator.
        let single_pieces = || unsafe { libc::mallinfo() }.hblks;
        let before = single_pieces();
        let held: Vec<Vec<u8>> = std::hint::black_box((0..64).map(|_| vec![1; 1 << 20]).collect());
        // Other tests give some back in the meantime.
        assert!(
            single_pieces() >= before + 32,
            "{} after {before}",
            single_pieces()
        );
        drop(held);
    }
}
