//! Settings of one external step: those of the step over those of `[ingest.external]`.

use std::path::Path;
use std::time::Duration;

use tributary_models::chat::config::Key;
use tributary_models::service::ServiceSettings;
use tributary_schemas::{Error, Result};
use tributary_taxonomy::source_profiles::CleanerStep;

use crate::cleaners::Settings;
use crate::config::ExternalConfig;

const URL_HINT: &str = "such as `url = \"http://127.0.0.1:9000/clean\"`";
const VERSION_HINT: &str = "such as `version = \"1\"`; raise it when the service answers in \
                            another way, so that documents are cleaned anew";
const MAXIMUM_NAME_CHARACTERS: usize = 64;

/// The step's name and how its service is called.
pub(super) fn read(
    step: &CleanerStep,
    place: &str,
    config: &ExternalConfig,
) -> Result<(String, ServiceSettings)> {
    let mut settings = Settings::of(step, place.to_owned());
    let name = name(&mut settings)?;
    let url = settings.required_text("url", URL_HINT)?;
    // Part of the profile's fingerprint, as all settings are.
    settings.required_text("version", VERSION_HINT)?;
    settings.text("key_file")?;
    settings.text("header_file")?;
    let seconds = |settings: &mut Settings, name, default| {
        let number = settings.number(name)?;
        Ok::<_, Error>(Duration::from_secs(number.unwrap_or(default)))
    };
    let of_config = config.clone();
    let read = ServiceSettings {
        url,
        key: secret(step.key_path.as_deref(), "key_file", &settings)?,
        header: secret(step.header_path.as_deref(), "header_file", &settings)?,
        connect_timeout: Duration::from_millis(of_config.connect_timeout_ms),
        timeout: seconds(&mut settings, "timeout_seconds", of_config.timeout_seconds)?,
        patience: seconds(
            &mut settings,
            "patience_seconds",
            of_config.patience_seconds,
        )?,
        parallel: settings.count("parallel")?.unwrap_or(of_config.parallel),
        retries: match settings.count("retries")? {
            Some(retries) => u32::try_from(retries).unwrap_or(u32::MAX),
            None => of_config.retries,
        },
        retry_pause: Duration::from_millis(of_config.retry_pause_ms),
        waiting: settings.count("waiting")?.unwrap_or(of_config.waiting),
        maximum_reply_bytes: settings
            .count("maximum_reply_bytes")?
            .unwrap_or(of_config.maximum_reply_bytes),
        circuit_failures: of_config.circuit_failures,
        circuit_pause: Duration::from_secs(of_config.circuit_pause_seconds),
    };
    settings.finish()?;
    Ok((name, read))
}

/// What reasons and metrics call it.
fn name(settings: &mut Settings) -> Result<String> {
    let Some(name) = settings.text("name")? else {
        return Ok(super::NAME.to_owned());
    };
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    if name.is_empty() || name.len() > MAXIMUM_NAME_CHARACTERS || !name.chars().all(is_plain) {
        return Err(settings
            .invalid("`name` must be made of letters, digits, `-` and `_`")
            .with_hint("such as `name = \"mask-contacts\"`; reasons and metrics use it"));
    }
    Ok(name)
}

/// A secret's own text is nowhere in the profile, nor in its fingerprint.
fn secret(path: Option<&Path>, setting: &str, settings: &Settings) -> Result<Option<Key>> {
    let Some(path) = path else {
        return Ok(None);
    };
    let unreadable = || settings.invalid(format!("cannot read its `{setting}`"));
    let text = tributary_schemas::files::read_to_string(path)
        .map_err(|error| Error::io(unreadable(), &error))?;
    Ok(Some(Key::new(text.trim())))
}
