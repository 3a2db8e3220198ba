//! What is known of each definition.

use tributary_schemas::code_entry::{CodeEntry, Definition};

use super::calls::{Calls, qualified};
use super::definitions::What;
use super::describe;
use super::file_record::{self, comment_of};
use super::items::Item;
use super::source::Source;

/// Makes the entries of the definitions of a file.
pub(super) struct Entries<'a> {
    pub source: &'a Source<'a>,
    pub calls: Calls<'a>,
    /// The file without comments and directives, where they are taken out.
    pub masked: Option<&'a str>,
}

impl Entries<'_> {
    /// The entry of a definition below these names.
    pub fn of(&self, item: &Item, above: &str) -> CodeEntry {
        let found = &item.found;
        let separator = self.source.language.separator();
        let name = qualified(above, &found.name, separator);
        let signature = self.signature(item);
        let comment = comment_of(self.source, item);
        let (mut description, described_by) = describe::describe(&comment, &signature, &name);
        const MOST_MEMBERS: usize = 20;
        for line in file_record::lines_of(self.source, &item.items).take(MOST_MEMBERS) {
            description.push('\n');
            description.push_str(&line);
        }
        let calls = self.calls.of(&found.range);
        let (start_line, end_line) = self.source.lines(&item.own);
        CodeEntry {
            language: self.source.language.as_str().to_owned(),
            definition: match found.what {
                What::Function => Definition::Function,
                What::Macro => Definition::Macro,
                What::Type | What::Scope => Definition::Type,
            },
            signature,
            start_line,
            end_line,
            description,
            described_by,
            calls: calls.into_iter().map(str::to_owned).collect(),
            callers: self.calls.callers(&found.name, &name, separator),
            name,
        }
    }

    fn signature(&self, item: &Item) -> String {
        let found = &item.found;
        let head = found.range.start..found.body;
        let masked = self.masked.filter(|_| found.what != What::Macro);
        let text = match masked.and_then(|masked| masked.get(head.clone())) {
            Some(text) => text,
            None => self.source.text(head),
        };
        let text = match found.what {
            What::Type => text.split('{').next().unwrap_or_default(),
            _ => text,
        };
        describe::signature(text)
    }
}
