//! External steps in `tributary profiles preview`: what each changes of a file, or why that cannot be
//! shown. Each service is asked once.

use anyhow::{Context, Result};
use serde::Serialize;
use tokio::runtime::Runtime;
use tributary_ingest::SourceCleaning;
use tributary_schemas::CleanDocument;

/// Calls services from a verb that is not async.
pub struct ExternalPreview {
    runtime: Runtime,
}

/// What became of one step.
#[derive(Debug, Serialize)]
pub struct Seen {
    step: String,
    /// Each of `title`, `text`, `attributes`, `metadata`, `tags` that it changed.
    changed: Vec<&'static str>,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl ExternalPreview {
    /// Ready to call.
    pub fn new() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        Ok(Self {
            runtime: runtime.context("cannot start calling services")?,
        })
    }

    /// Runs the external steps of the document's source. If one fails, the document stays as it was
    /// before all of them, and that is said.
    pub fn run(&self, cleaning: &SourceCleaning, clean: &mut CleanDocument) -> Vec<Seen> {
        let steps = cleaning.external(&clean.document.source).impatient();
        if steps.is_empty() || clean.markdown.trim().is_empty() {
            return Vec::new();
        }
        match self.runtime.block_on(steps.run(clean.clone())) {
            Ok((changed, changes)) => {
                *clean = changed;
                let seen = changes.into_iter().map(|changes| Seen {
                    step: changes.step,
                    changed: changes.changed,
                    error: None,
                });
                seen.collect()
            }
            Err(error) => {
                let names = steps.names().collect::<Vec<_>>().join(", ");
                vec![Seen {
                    step: names,
                    changed: Vec::new(),
                    error: Some(error.to_string()),
                }]
            }
        }
    }
}

/// The description of a document with that of its external steps before the text.
pub fn with(description: String, seen: &[Seen]) -> String {
    let lines: Vec<String> = seen.iter().map(describe).collect();
    match description.split_once("\n\n") {
        _ if lines.is_empty() => description,
        Some((head, text)) => format!("{head}\n{}\n\n{text}", lines.join("\n")),
        None => format!("{description}\n{}", lines.join("\n")),
    }
}

fn describe(seen: &Seen) -> String {
    let step = &seen.step;
    match (&seen.error, seen.changed.as_slice()) {
        (Some(error), _) => format!(
            "external:   {error}; shown as it is without the external steps ({step}), and would not be published"
        ),
        (None, []) => format!("external:   {step} changes nothing"),
        (None, changed) => format!("external:   {step} changes {}", changed.join(", ")),
    }
}
