//! Which links of a document lead to a place.

/// Longest link in bytes that is kept; longer ones carry data, not a place.
pub(crate) const MAXIMUM_LINK_BYTES: usize = 2048;

/// Whether a link leads to a place outside of the document: not an anchor in it, a script or data.
pub(crate) fn is_place(link: &str) -> bool {
    let is_code = matches!(scheme(link).as_str(), "javascript" | "data" | "vbscript");
    !link.is_empty() && !link.starts_with('#') && link.len() <= MAXIMUM_LINK_BYTES && !is_code
}

/// What stands before the first colon of a link, in lower case; empty if it has none.
pub(crate) fn scheme(link: &str) -> String {
    let before = link.split_once(':').map_or("", |(scheme, _)| scheme);
    before.to_ascii_lowercase()
}
