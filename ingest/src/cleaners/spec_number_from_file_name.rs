//! `spec_number_from_file_name`: 3GPP names its files by number and version: `38331-f40.md` is TS
//! 38.331, version 15.4.0. The version's three characters are release, technical and editorial
//! version, digits going on with letters (3GPP TR 21.900, 4.1).

use tributary_schemas::Result;

use super::{Cleaner, Draft, Settings};
use crate::config::CleanersConfig;
use tributary_convert::titles::file_stem;

#[derive(Debug)]
struct SpecNumberFromFileName;

pub(super) fn make(_: &mut Settings, _: &CleanersConfig) -> Result<Box<dyn Cleaner>> {
    Ok(Box::new(SpecNumberFromFileName))
}

impl Cleaner for SpecNumberFromFileName {
    fn clean(&self, draft: &mut Draft) {
        let Some(specification) = file_stem(&draft.source_path).and_then(|stem| parse(&stem))
        else {
            return;
        };
        if !draft.title.contains(&specification.number) {
            draft.title = format!("{} {}", specification.number, draft.title);
        }
        draft
            .metadata
            .insert("specification".to_owned(), specification.number.clone());
        draft
            .attributes
            .custom
            .entry("specification".to_owned())
            .or_insert(specification.number);
        if let Some(version) = specification.version {
            let release = version.split('.').next().unwrap_or_default().to_owned();
            draft.metadata.insert("release".to_owned(), release);
            draft
                .attributes
                .product_version
                .get_or_insert_with(|| version.clone());
            draft
                .metadata
                .insert("specification_version".to_owned(), version);
        }
    }
}

struct Specification {
    /// Such as `38.331` or `38.101-1`.
    number: String,
    /// Such as `15.4.0`.
    version: Option<String>,
}

/// `38331-f40`, `38101-1-g20`, `38.331`, `TS_38.331`, `38331`.
fn parse(stem: &str) -> Option<Specification> {
    let (number, rest) = number(stem)?;
    let mut parts = rest
        .split(['-', '_'])
        .filter(|part| !part.is_empty())
        .peekable();
    let part = parts
        .next_if(|part| part.len() <= 2 && is_digits(part))
        .map(|part| format!("-{part}"))
        .unwrap_or_default();
    Some(Specification {
        number: format!("{number}{part}"),
        version: parts.find_map(version),
    })
}

/// The number without its part, as `38.331`, and what follows.
fn number(stem: &str) -> Option<(String, &str)> {
    let stem = stem.trim_start_matches(|character: char| !character.is_ascii_digit());
    let (series, rest) = stem.split_at_checked(2)?;
    let rest = rest.strip_prefix('.').unwrap_or(rest);
    let (number, rest) = rest.split_at_checked(3)?;
    let series_number: u32 = series.parse().ok()?;
    // Series 21 to 55 are those of 3GPP.
    if !is_digits(number)
        || !(21..=55).contains(&series_number)
        || rest.starts_with(|next: char| next.is_ascii_alphanumeric())
    {
        return None;
    }
    Some((format!("{series}.{number}"), rest))
}

fn is_digits(text: &str) -> bool {
    text.chars().all(|character| character.is_ascii_digit())
}

/// `f40` → `15.4.0`.
fn version(code: &str) -> Option<String> {
    if code.chars().count() != 3 {
        return None;
    }
    let digits: Option<Vec<String>> = code
        .to_ascii_lowercase()
        .chars()
        .map(|character| character.to_digit(36).map(|digit| digit.to_string()))
        .collect();
    Some(digits?.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_3gpp_files_are_read() {
        for (stem, number, version) in [
            ("38331-f40", "38.331", Some("15.4.0")),
            ("38101-1-g20", "38.101-1", Some("16.2.0")),
            ("38.331", "38.331", None),
            ("TS_38.300", "38.300", None),
            ("23501-ha0", "23.501", Some("17.10.0")),
        ] {
            let found = parse(stem).map(|found| (found.number, found.version));
            assert_eq!(
                found,
                Some((number.to_owned(), version.map(str::to_owned))),
                "{stem}"
            );
        }
        for stem in ["readme", "12345-f40", "383311", "38", "2024-01-01", "载波"] {
            assert!(parse(stem).is_none(), "{stem}");
        }
    }
}
