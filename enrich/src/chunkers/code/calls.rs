//! Who calls whom within a file.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::definitions::{Call, What};
use super::items::Item;
use super::source::Source;

/// Names that one entry lists, at most.
const MOST_NAMES: usize = 200;

/// The calls of a file, and the definitions that they come from.
pub(super) struct Calls<'a> {
    code: &'a str,
    /// By place.
    calls: Vec<Call>,
    /// Names of the definitions that call a name.
    callers: HashMap<&'a str, Vec<String>>,
}

impl<'a> Calls<'a> {
    pub fn new(source: &Source<'a>, mut calls: Vec<Call>, items: &[Item]) -> Self {
        calls.sort_by_key(|call| call.name.start);
        let mut all = Self {
            code: source.code,
            calls,
            callers: HashMap::new(),
        };
        let separator = source.language.separator();
        all.add(items, "", separator);
        all
    }

    fn add(&mut self, items: &[Item], above: &str, separator: &str) {
        for item in items {
            let name = qualified(above, &item.found.name, separator);
            if item.items.is_empty() && item.found.what != What::Scope {
                for called in self.of(&item.range) {
                    let callers = self.callers.entry(called).or_default();
                    if callers.len() < MOST_NAMES {
                        callers.push(name.clone());
                    }
                }
            }
            self.add(&item.items, &name, separator);
        }
    }

    /// Names that are called in a range, in order, each once.
    pub fn of(&self, range: &Range<usize>) -> Vec<&'a str> {
        let first = self
            .calls
            .partition_point(|call| call.name.start < range.start);
        let calls = self.calls.get(first..).unwrap_or_default().iter();
        let mut seen = HashSet::new();
        calls
            .take_while(|call| call.name.start < range.end)
            .filter_map(|call| self.code.get(call.name.clone()))
            .filter(|name| seen.insert(*name))
            .take(MOST_NAMES)
            .collect()
    }

    /// Names of the definitions that call this one, but for itself.
    pub fn callers(&self, name: &str, qualified: &str, separator: &str) -> Vec<String> {
        let last = name.rsplit(separator).next().unwrap_or(name);
        let callers = self.callers.get(last).into_iter().flatten();
        callers
            .filter(|caller| *caller != qualified)
            .cloned()
            .collect()
    }
}

/// A name with those above it.
pub(super) fn qualified(above: &str, name: &str, separator: &str) -> String {
    match above {
        "" => name.to_owned(),
        above => format!("{above}{separator}{name}"),
    }
}
