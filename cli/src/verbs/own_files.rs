//! Files that verbs write for people to read and to edit: one that somebody edited is not replaced.

use std::path::Path;

use anyhow::{Context, Result, bail};

/// A text of ours: the first line, with the hash of what stands below it.
pub fn signed(first_line: &str, text: &str) -> String {
    format!("{first_line}{}\n{text}", hash(text))
}

fn hash(text: &str) -> String {
    let hash = blake3::hash(text.as_bytes()).to_hex();
    hash.chars().take(16).collect()
}

/// Refuses to replace a file that somebody wrote, or changed behind [`signed`].
pub fn refuse_edited(output: &Path, first_line: &str, hint: &str) -> Result<()> {
    if !output.is_file() {
        return Ok(());
    }
    let text = tributary_schemas::files::read_data(output)
        .with_context(|| format!("cannot read {}", output.display()))?;
    let text = String::from_utf8_lossy(&text);
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let is_ours = first.strip_prefix(first_line) == Some(hash(rest).as_str());
    if !is_ours && !text.trim().is_empty() {
        bail!(
            "{} was written or changed by hand, and would be lost\nhint: {hint}",
            output.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use super::*;

    #[test]
    fn what_somebody_edited_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("terms.txt");
        let refused = || refuse_edited(&file, "# Ours. ", "name another").err();
        assert!(refused().is_none(), "there is none");
        let ours = signed("# Ours. ", "术语\t1.00\n");
        fs::write(&file, &ours).unwrap();
        assert!(refused().is_none(), "as it was written");
        for other in [format!("{ours}我加的术语\t1.00\n"), "mine".to_owned()] {
            fs::write(&file, other).unwrap();
            let said = refused().unwrap().to_string();
            assert!(
                said.contains("by hand") && said.contains("name another"),
                "{said}"
            );
        }
    }
}
