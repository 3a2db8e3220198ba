//! Sections of Markdown by their headings; used by `get_section`.

/// A heading line: its depth from 1, its title and the byte where the line begins.
struct Heading<'a> {
    depth: usize,
    title: &'a str,
    begin: usize,
}

/// The text from the heading on that the last title calls, up to the next heading that is not below
/// it. The titles above must stand above it, where they are headings at all. None where no heading
/// or more than one is called so.
pub fn below(text: &str, titles: &[String]) -> Option<String> {
    let headings = headings(text);
    let (last, above) = titles.split_last()?;
    let is_called = |(place, heading): &(usize, &Heading<'_>)| {
        let before = headings.get(..*place).unwrap_or_default();
        let stands = |title: &String| before.iter().any(|other| is_same(other.title, title));
        let is_heading = |title: &&String| headings.iter().any(|any| is_same(any.title, title));
        is_same(heading.title, last) && above.iter().filter(is_heading).all(stands)
    };
    let called: Vec<(usize, &Heading<'_>)> =
        headings.iter().enumerate().filter(is_called).collect();
    let [(place, heading)] = called.as_slice() else {
        return None;
    };
    let after = headings.get(place + 1..).unwrap_or_default();
    let next = after.iter().find(|next| next.depth <= heading.depth);
    let end = next.map_or(text.len(), |next| next.begin);
    text.get(heading.begin..end)
        .map(|found| found.trim_end().to_owned())
}

fn is_same(title: &str, other: &str) -> bool {
    title.trim().to_lowercase() == other.trim().to_lowercase()
}

/// Headings outside of code.
fn headings(text: &str) -> Vec<Heading<'_>> {
    let mut found = Vec::new();
    let (mut begin, mut fence) = (0, None);
    for line in text.split_inclusive('\n') {
        let start = line.trim_start();
        let ticks = ["```", "~~~"]
            .into_iter()
            .find(|ticks| start.starts_with(ticks));
        match (fence, ticks) {
            (None, Some(_)) => fence = ticks,
            (Some(open), Some(close)) if open == close => fence = None,
            _ => {}
        }
        let title = start.trim_start_matches('#');
        let depth = start.len() - title.len();
        if fence.is_none() && (1..=6).contains(&depth) && title.starts_with(' ') {
            let title = title.trim();
            found.push(Heading {
                depth,
                title,
                begin,
            });
        }
        begin += line.len();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Radio\nintro\n## Tilt\na\n### Limits\nb\n```\n# no heading\n```\n## Power\nc\n# Core\n## Power\nd\n";

    fn found(titles: &[&str]) -> Option<String> {
        let titles: Vec<String> = titles.iter().map(|title| (*title).to_owned()).collect();
        below(TEXT, &titles)
    }

    #[test]
    fn a_section_ends_before_the_next_heading_that_is_not_below_it() {
        let tilt = "## Tilt\na\n### Limits\nb\n```\n# no heading\n```";
        assert_eq!(found(&["tilt "]).as_deref(), Some(tilt));
        assert_eq!(found(&["Title of the file", "Tilt"]).as_deref(), Some(tilt));
        assert_eq!(found(&["Core", "Power"]).as_deref(), Some("## Power\nd"));
        assert_eq!(found(&["Core"]).as_deref(), Some("# Core\n## Power\nd"));
    }

    #[test]
    fn what_is_not_there_or_there_twice_is_not_found() {
        for titles in [&["Power"][..], &["no heading"], &["Nothing"], &[]] {
            assert_eq!(found(titles), None, "{titles:?}");
        }
    }
}
