//! What a process says about its own confinement: what is enforced, and what is needed and missing.
//! Travels from the worker to the pool, which has a log, metrics and somebody who reads them.

use serde::{Deserialize, Serialize};

/// A part of the confinement, each of which is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// Limits of memory, files and processor time.
    Limits,
    /// Files that may be opened (Landlock).
    Files,
    /// System calls that may be made (seccomp).
    Calls,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Limits, Self::Files, Self::Calls];

    /// The name in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Limits => "limits",
            Self::Files => "files",
            Self::Calls => "calls",
        }
    }
}

/// How a process is confined.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    enforced: Vec<(Part, String)>,
    missing: Vec<(Part, String)>,
}

impl Confinement {
    /// Notes that a part holds, and how, unless something of it is missing.
    pub fn enforce(&mut self, part: Part, how: impl Into<String>) {
        if !self.lacks(part) {
            self.enforced.push((part, how.into()));
        }
    }

    /// Notes that something of a part is missing, and why.
    pub fn miss(&mut self, part: Part, why: impl Into<String>) {
        self.missing.push((part, why.into()));
    }

    /// Whether every part is enforced.
    pub fn is_complete(&self) -> bool {
        Part::ALL.into_iter().all(|part| self.has(part))
    }

    /// Whether a part is enforced with nothing of it missing.
    pub fn has(&self, part: Part) -> bool {
        !self.lacks(part) && self.enforced.iter().any(|(enforced, _)| *enforced == part)
    }

    fn lacks(&self, part: Part) -> bool {
        self.missing.iter().any(|(missing, _)| *missing == part)
    }

    /// What is enforced, in words.
    pub fn enforced(&self) -> String {
        joined(&self.enforced)
    }

    /// What is missing, in words.
    pub fn missing(&self) -> String {
        let silent = Part::ALL
            .into_iter()
            .filter(|part| !self.has(*part) && !self.lacks(*part));
        let silent = silent.map(|part| (part, format!("nothing is said of {}", part.as_str())));
        joined(
            &self
                .missing
                .iter()
                .cloned()
                .chain(silent)
                .collect::<Vec<_>>(),
        )
    }
}

fn joined(parts: &[(Part, String)]) -> String {
    parts
        .iter()
        .map(|(_, words)| words.as_str())
        .collect::<Vec<_>>()
        .join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_to_hold_does_not_hold() {
        let mut report = Confinement::default();
        assert!(
            !report.is_complete() && report.missing().contains("files"),
            "{}",
            report.missing()
        );
        Part::ALL
            .into_iter()
            .for_each(|part| report.enforce(part, part.as_str()));
        assert!(report.is_complete() && report.missing().is_empty());
        assert_eq!(report.enforced(), "limits; files; calls");
        report.miss(Part::Files, "no Landlock");
        assert!(!report.is_complete() && !report.has(Part::Files) && report.has(Part::Calls));
        assert_eq!(report.missing(), "no Landlock");
    }
}
