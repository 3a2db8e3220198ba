//! Whether two titles say the same but for a version: pages of the same title are editions or
//! copies of one page, pages of different titles are more likely made from one template.

use tributary_taxonomy::fold;

/// `Guide 2.1` and `Guide v2.2` are the same, `Conv2d` and `Conv3d` are not.
pub fn are_same(left: &str, right: &str) -> bool {
    left == right || without_version(left) == without_version(right)
}

fn without_version(title: &str) -> Vec<String> {
    fold(title)
        .split(is_between_words)
        .filter(|word| !word.is_empty() && !is_version(word))
        .map(str::to_owned)
        .collect()
}

fn is_between_words(character: char) -> bool {
    !character.is_alphanumeric() && character != '.'
}

/// `2.1`, `v2`, `r18`, a year.
fn is_version(word: &str) -> bool {
    let number = word.trim_start_matches(['v', 'r']);
    let is_numeric = number
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let begins_with_digit = number.starts_with(|first: char| first.is_ascii_digit());
    let is_year = number.len() == 4 && (number.starts_with("19") || number.starts_with("20"));
    let says_so = number.len() < word.len() || number.contains('.') || is_year;
    is_numeric && begins_with_digit && says_so
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_make_no_difference_and_names_do() {
        let table = [
            ("Antenna tilt", "antenna  Tilt", true),
            ("Guide 2.1", "Guide v2.2", true),
            ("Release notes R17 (2022)", "Release notes R18 (2024)", true),
            ("天線傾角", "天线倾角", true),
            ("", "", true),
            ("mindspore.nn.Conv2d", "mindspore.nn.Conv3d", false),
            ("Part 1", "Part 2", false),
            ("Guide", "", false),
            ("v", "r", false),
        ];
        for (left, right, expected) in table {
            assert_eq!(are_same(left, right), expected, "{left} {right}");
        }
    }
}
