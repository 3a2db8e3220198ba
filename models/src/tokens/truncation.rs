//! How many tokens of each text of a pair stay when both do not fit: the longer one is cut first
//! ("longest first", the rule that cross-encoders are trained with).

/// Tokens that stay of the first and of the second text, for `limit` tokens in all.
pub fn longest_first(first: usize, second: usize, limit: usize) -> (usize, usize) {
    if first + second <= limit {
        return (first, second);
    }
    let half = limit / 2;
    if first.min(second) <= half {
        return if first <= second {
            (first, limit - first)
        } else {
            (limit - second, second)
        };
    }
    // Both are longer than half: the longer one gets the odd token.
    if first <= second {
        (half, limit - half)
    } else {
        (limit - half, half)
    }
}

#[cfg(test)]
mod tests {
    use super::longest_first;

    #[test]
    fn the_longer_text_is_cut_first() {
        let cases = [
            ((3, 4, 10), (3, 4)),
            ((3, 40, 10), (3, 7)),
            ((40, 3, 10), (7, 3)),
            ((40, 50, 11), (5, 6)),
            ((50, 40, 11), (6, 5)),
            ((5, 6, 0), (0, 0)),
        ];
        for ((first, second, limit), expected) in cases {
            assert_eq!(
                longest_first(first, second, limit),
                expected,
                "{first} {second} {limit}"
            );
        }
    }
}
