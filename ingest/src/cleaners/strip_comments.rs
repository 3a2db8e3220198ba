//! `strip_comments`: HTML comments, on one line or over several.

use tributary_schemas::Result;

use super::{Cleaner, Draft, Settings};
use crate::config::CleanersConfig;
use tributary_convert::lines::map_text_lines;

#[derive(Debug)]
struct StripComments;

pub(super) fn make(_: &mut Settings, _: &CleanersConfig) -> Result<Box<dyn Cleaner>> {
    Ok(Box::new(StripComments))
}

impl Cleaner for StripComments {
    fn clean(&self, draft: &mut Draft) {
        // Without an end a comment hides nothing: the rest of the document is worth more than
        // strictness.
        let mut left = draft.markdown.matches("-->").count();
        if left == 0 {
            return;
        }
        let mut inside = false;
        draft.markdown = map_text_lines(&draft.markdown, |line| {
            let kept = without_comments(line, &mut inside, &mut left);
            Some(kept)
        });
    }
}

/// The line without its comments; `inside` says whether one goes on over the line end, `left`
/// counts the ends still to come.
fn without_comments(line: &str, inside: &mut bool, left: &mut usize) -> String {
    let mut result = String::with_capacity(line.len());
    let mut rest = line;
    loop {
        let mark = if *inside { "-->" } else { "<!--" };
        let Some((before, after)) = rest.split_once(mark) else {
            break;
        };
        if *inside {
            *left = left.saturating_sub(1);
        } else if *left == 0 {
            break;
        } else {
            result.push_str(before);
        }
        *inside = !*inside;
        rest = after;
    }
    if !*inside {
        result.push_str(rest);
    }
    result
}
