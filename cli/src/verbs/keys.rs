//! `tributary keys`: works on the data folder alone, where a running server looks.

use std::path::Path;

use anyhow::{Result, bail};
use jiff::Timestamp;
use serde_json::{Value, json};
use tributary_query_api::config::{DocumentsWithoutAccess, NetworkAccess};
use tributary_store::data_folder;
use tributary_store::keys::{ApiKey, Grant, KeyFile, NewKey as Wanted, Secret};

use crate::args::{Global, Keys, NewKey, Output};
use crate::config::Config;
use crate::print::{self, Outcome};
use crate::times;
use crate::verbs::callers;

/// The keys of a folder at a moment.
struct FolderKeys {
    file: KeyFile,
    now_ms: i64,
}

/// Runs the verb.
pub fn run(global: &Global, config: &Config, verb: Keys) -> Result<Outcome> {
    if let Some(server) = &global.server {
        bail!(
            "keys are made where the data folder is, not at {server}\nhint: run this on the server's machine, as its user"
        );
    }
    let folder = Path::new(&config.store.data_folder);
    data_folder::create(folder)?;
    let keys = FolderKeys {
        file: KeyFile::in_folder(folder),
        now_ms: Timestamp::now().as_millisecond(),
    };
    match verb {
        Keys::Create(new) => {
            let reads = new.roles.iter().any(|role| role.0 == Grant::Reader);
            let outcome = keys.create(new)?;
            if reads
                && config.query_api.server.documents_without_access
                    == DocumentsWithoutAccess::Administrators
            {
                print::note(
                    "documents that do not say who may see them are for administrators alone: `tributary rights status` counts them",
                );
            }
            Ok(outcome)
        }
        Keys::List { output } => keys.list(output),
        Keys::Show { id, output } => keys.show(&id, output),
        Keys::Revoke { ids, output } => keys.revoke(&ids, output),
        Keys::Rotate {
            id,
            overlap,
            output,
        } => keys.rotate(&id, &overlap, output),
    }
}

/// Who is let in, for `run` and `doctor`. Fails where the keys cannot be read.
pub fn who_may_call(config: &Config) -> tributary_schemas::Result<String> {
    let callers = match config.query_api.server.network_access {
        NetworkAccess::LoopbackOnly => {
            "no key is asked for: whoever works on this machine may do everything"
        }
        NetworkAccess::EveryoneWithoutAuthentication => {
            "no key is asked for: whoever reaches the server may do everything"
        }
        NetworkAccess::Authenticated => {
            let file = KeyFile::in_folder(Path::new(&config.store.data_folder));
            let keys = file.read()?.len();
            let keys = match keys {
                0 => "there is none yet: `tributary keys create --name NAME --role administrator` makes one".to_owned(),
                keys => format!("there are {keys} (`tributary keys list`)"),
            };
            let others = callers::in_place_of_keys(&config.query_api.server.identity);
            return Ok(format!("every request needs an API key{others}; {keys}"));
        }
    };
    Ok(callers.to_owned())
}

/// The first administrator's key, where keys are wanted and there is none.
pub fn first_key(config: &Config) -> tributary_schemas::Result<Option<Secret>> {
    if config.query_api.server.network_access != NetworkAccess::Authenticated {
        return Ok(None);
    }
    let file = KeyFile::in_folder(Path::new(&config.store.data_folder));
    file.create_first(Timestamp::now().as_millisecond())
}

/// What a key may read, as people read it.
fn rights(key: &ApiKey) -> String {
    match key.roles.contains(&Grant::Administrator) {
        true => "reads everything".to_owned(),
        false if key.groups.is_empty() => format!("no groups, clearance {}", key.clearance),
        false => format!(
            "groups {}, clearance {}",
            key.groups.join(", "),
            key.clearance
        ),
    }
}

impl FolderKeys {
    fn create(&self, new: NewKey) -> Result<Outcome> {
        let expires = new.expires.as_deref();
        let wanted = Wanted {
            name: new.name,
            roles: new.roles.into_iter().map(|role| role.0).collect(),
            groups: new.groups,
            clearance: new.clearance,
            expires_ms: expires
                .map(|text| times::in_the_future(text, Timestamp::now()))
                .transpose()?,
        };
        let (key, secret) = self.file.create(wanted, self.now_ms)?;
        self.print_secret(&key, &secret, new.output)
    }

    fn rotate(&self, id: &str, overlap: &str, output: Output) -> Result<Outcome> {
        let overlap_ms = times::length_ms(overlap)?;
        let (key, secret) = self.file.rotate(id, overlap_ms, self.now_ms)?;
        self.print_secret(&key, &secret, output)
    }

    /// The key goes to standard output and the rest elsewhere, so that a script can keep it.
    fn print_secret(&self, key: &ApiKey, secret: &Secret, output: Output) -> Result<Outcome> {
        let mut value = self.value(key, None);
        value["secret"] = json!(secret.reveal());
        print::result(output, &value, || secret.reveal().to_owned())?;
        print::note(&format!(
            "{}\nthis key is shown once; keep it safe",
            self.line(key, None)
        ));
        Ok(Outcome::Done)
    }

    fn list(&self, output: Output) -> Result<Outcome> {
        let (keys, used) = (self.file.read()?, self.file.last_used()?);
        let used_ms = |key: &ApiKey| used.get(&key.id).copied();
        let values: Vec<Value> = keys
            .iter()
            .map(|key| self.value(key, used_ms(key)))
            .collect();
        print::result(output, &json!({ "keys": values }), || {
            let lines: Vec<String> = keys
                .iter()
                .map(|key| self.line(key, used_ms(key)))
                .collect();
            match lines.is_empty() {
                true => {
                    "no keys; `tributary keys create --help` shows how they are made".to_owned()
                }
                false => lines.join("\n"),
            }
        })?;
        Ok(Outcome::Done)
    }

    fn show(&self, id: &str, output: Output) -> Result<Outcome> {
        let wanted = id.strip_prefix("trb_").unwrap_or(id);
        let keys = self.file.read()?;
        let Some(key) = keys.iter().find(|key| key.id == wanted) else {
            bail!(
                "there is no key with this id\nhint: `tributary keys list` shows those that there are"
            );
        };
        let used_ms = self.file.last_used()?.get(&key.id).copied();
        print::result(output, &self.value(key, used_ms), || {
            self.line(key, used_ms)
        })?;
        Ok(Outcome::Done)
    }

    /// Goes on after one that is not there: the others are not to stay valid for it.
    fn revoke(&self, ids: &[String], output: Output) -> Result<Outcome> {
        let mut revoked = Vec::new();
        for id in ids {
            match self.file.revoke(id, self.now_ms) {
                Ok(key) => revoked.push(key),
                Err(error) => print::failure(&error.into()),
            }
        }
        let values: Vec<Value> = revoked.iter().map(|key| self.value(key, None)).collect();
        print::result(output, &json!({ "revoked": values }), || {
            let lines: Vec<String> = revoked
                .iter()
                .map(|key| format!("{} ({}) is revoked", key.prefix(), key.name))
                .collect();
            lines.join("\n")
        })?;
        Ok(Outcome::of(revoked.len(), ids.len() - revoked.len()))
    }

    fn value(&self, key: &ApiKey, used_ms: Option<i64>) -> Value {
        json!({
            "id": key.id, "prefix": key.prefix(), "name": key.name, "roles": key.roles,
            "groups": key.groups, "clearance": key.clearance,
            "state": key.state(self.now_ms), "created_ms": key.created_ms, "expires_ms": key.expires_ms,
            "revoked_ms": key.revoked_ms, "last_used_ms": used_ms,
            "overlap_until_ms": key.overlap_until_ms(self.now_ms),
        })
    }

    fn line(&self, key: &ApiKey, used_ms: Option<i64>) -> String {
        let roles: Vec<String> = key.roles.iter().map(ToString::to_string).collect();
        let mut parts = vec![
            format!("{}  {}", key.prefix(), key.name),
            roles.join("; "),
            rights(key),
            key.state(self.now_ms).as_str().to_owned(),
            format!("made {}", times::to_the_minute(key.created_ms)),
        ];
        let said = [
            ("until", key.expires_ms),
            ("last used", used_ms),
            ("older secret until", key.overlap_until_ms(self.now_ms)),
        ];
        for (what, at_ms) in said {
            parts.extend(at_ms.map(|at_ms| format!("{what} {}", times::to_the_minute(at_ms))));
        }
        parts.join(" · ")
    }
}
