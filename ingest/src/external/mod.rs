//! Cleaning steps that are HTTP services of a team's own: after all other steps, in their order, each
//! gets the document as JSON and says what changes ([`tributary_schemas::external_step`]).
//!
//! A failure is that of the document, named by its step: it goes to the dead letters, from where it
//! is replayed, and says nothing about other documents. No processor is held while a service works.

mod apply;
pub(crate) mod room;
mod settings;

use std::sync::Arc;

use bytes::Bytes;
use tributary_models::chat::ChatError;
use tributary_models::service::{Service, SharedServiceObserver};
use tributary_schemas::external_step::ExternalReply;
use tributary_schemas::{CleanDocument, Error, ErrorKind, Result};
use tributary_taxonomy::source_profiles::{CleanerStep, SourceProfile};

use crate::blocking;
use crate::config::ExternalConfig;

pub use apply::Changes;

/// Name of the step.
pub const NAME: &str = "external";

/// The external steps of one source profile, in order.
#[derive(Clone, Default)]
pub struct ExternalSteps {
    steps: Vec<Arc<ExternalStep>>,
    is_impatient: bool,
}

/// One of them, ready to be called.
struct ExternalStep {
    /// For messages.
    name: String,
    service: Service,
}

impl ExternalSteps {
    /// Checks the external steps of a profile. `Invalid` for an unknown or missing setting, an
    /// address or key that cannot be used, two steps of one name, or one before a step that is not
    /// external.
    pub fn new(
        profile: &SourceProfile,
        config: &ExternalConfig,
        observer: &SharedServiceObserver,
    ) -> Result<Self> {
        check_order(profile)?;
        let mut steps: Vec<Arc<ExternalStep>> = Vec::new();
        for step in profile.cleaners.iter().filter(|step| is_external(step)) {
            let step = ExternalStep::new(step, &profile.name, config, observer)?;
            if steps.iter().any(|other| other.name == step.name) {
                return Err(twice(&profile.name, &step.name));
            }
            steps.push(Arc::new(step));
        }
        Ok(Self {
            steps,
            is_impatient: false,
        })
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The same for somebody who looks on: each service is called once and not waited for.
    #[must_use]
    pub fn impatient(self) -> Self {
        Self {
            is_impatient: true,
            ..self
        }
    }

    /// Runs all steps; what they changed, by step.
    pub async fn run(&self, clean: CleanDocument) -> Result<(CleanDocument, Vec<Changes>)> {
        let (mut clean, mut all) = (clean, Vec::new());
        for step in &self.steps {
            let changes;
            (clean, changes) = Arc::clone(step).run(clean, self.is_impatient).await?;
            all.push(changes);
        }
        Ok((clean, all))
    }

    /// Each step with the address of its service.
    pub fn addresses(&self) -> impl Iterator<Item = (&str, &str)> {
        let steps = self.steps.iter();
        steps.map(|step| (step.service.name(), step.service.address()))
    }

    /// The names of all steps.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().map(|step| step.name.as_str())
    }
}

impl ExternalStep {
    fn new(
        step: &CleanerStep,
        profile: &str,
        config: &ExternalConfig,
        observer: &SharedServiceObserver,
    ) -> Result<Self> {
        let place = step.place(profile);
        let (name, settings) = settings::read(step, &place, config)?;
        let label = format!("{profile}/{name}");
        let service = Service::new(&label, settings, Arc::clone(observer)).map_err(|error| {
            let located = Error::new(error.kind(), format!("{place} `{name}`: {error}"));
            match error.hint() {
                Some(hint) => located.with_hint(hint),
                None => located,
            }
        })?;
        Ok(Self { name, service })
    }

    /// Texts may be long: JSON is written and read on a blocking thread.
    async fn run(
        self: Arc<Self>,
        clean: CleanDocument,
        is_impatient: bool,
    ) -> Result<(CleanDocument, Changes)> {
        let (clean, request, body) = blocking(move || {
            let request = apply::request(&clean);
            let body = serde_json::to_vec(&request).map_err(|error| {
                let message = format!("cannot encode a document for a step: {error}");
                Error::new(ErrorKind::Internal, message)
            })?;
            Ok((clean, request, Bytes::from(body)))
        })
        .await?;
        let answer = match is_impatient {
            true => self.service.call_once(&body).await,
            false => self.service.call(&body).await,
        };
        let answer = answer.map_err(|failed| self.failed(&failed))?;
        drop(body);
        let Some(reply) = answer.body else {
            self.service.judged("unchanged", answer.took);
            return Ok((clean, Changes::none(&self.name)));
        };
        let step = Arc::clone(&self);
        let applied = blocking(move || {
            let mut clean = clean;
            let changes = apply::apply(&step.name, &mut clean, &request, read(&reply)?)?;
            Ok((clean, changes))
        })
        .await;
        match &applied {
            Ok((_, changes)) if changes.is_empty() => {
                self.service.judged("unchanged", answer.took);
            }
            Ok(_) => self.service.judged("ok", answer.took),
            Err(_) => self.service.judged("bad_reply", answer.took),
        }
        applied.map_err(|error| self.refused(&error))
    }

    fn failed(&self, failed: &ChatError) -> Error {
        let message = format!("external step `{}` {failed}", self.name);
        let hint = "put the service in order, then replay the dead letter";
        Error::new(failed.error().kind(), message)
            .of_record_alone()
            .with_hint(hint)
    }

    fn refused(&self, error: &Error) -> Error {
        let message = format!("external step `{}`: {error}", self.name);
        let hint = "its answer must be as docs/pipelines.md says; then replay the dead letter";
        Error::new(error.kind(), message)
            .of_record_alone()
            .with_hint(hint)
    }
}

/// Whether a step is a service.
pub fn is_external(step: &CleanerStep) -> bool {
    step.step == NAME
}

fn read(reply: &[u8]) -> Result<ExternalReply> {
    serde_json::from_slice(reply).map_err(|error| {
        let message = format!("its answer is not as asked for: {error}");
        Error::new(ErrorKind::Invalid, message)
    })
}

/// They run after all others: in the list they stand there, too.
fn check_order(profile: &SourceProfile) -> Result<()> {
    let first = profile.cleaners.iter().position(is_external);
    let behind = first.and_then(|first| profile.cleaners.get(first..));
    let Some(step) = behind.and_then(|steps| steps.iter().find(|step| !is_external(step))) else {
        return Ok(());
    };
    let (profile, step) = (&profile.name, &step.step);
    let message =
        format!("source profile {profile}: cleaning step {step} is behind an external one");
    let hint = "put external steps last in `cleaners`: they run after all others";
    Err(Error::new(ErrorKind::Invalid, message).with_hint(hint))
}

fn twice(profile: &str, name: &str) -> Error {
    let message = format!("source profile {profile}: two external steps are named `{name}`");
    let hint = "give each a `name` of its own: reasons and metrics tell them apart by it";
    Error::new(ErrorKind::Invalid, message).with_hint(hint)
}
