//! Reads the configuration in its order of precedence, lowest first: defaults → profile → file →
//! environment.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use toml::{Table, Value};

use super::merge::{from_environment, lookup, misspelt, overlay};
use super::{Config, Origin, check};

/// Every key with its comment and its default.
pub const DEFAULTS: &str = include_str!("../../default.toml");
const OWN_FILE: &str = "tributary.toml";
/// Keys whose values are paths relative to the file that names them.
const PATHS: [&[&str]; 5] = [
    &["models", "chat", "prompts_folder"],
    &["query_api", "retrieval", "code", "glossary_files"],
    &["taxonomy", "lexicon_files"],
    &["taxonomy", "knowledge_sets_file"],
    &["taxonomy", "source_profiles_file"],
];

/// The effective configuration and where it came from.
#[derive(Debug)]
pub struct Loaded {
    /// What is in force.
    pub config: Config,
    /// The same as a table, for `config show`.
    pub table: Table,
    /// Files that were read, in order.
    pub files: Vec<PathBuf>,
}

/// Reads everything; all problems of all files and variables are reported at once.
pub fn load(
    file: Option<&Path>,
    profile: Option<&str>,
    data_folder: Option<&Path>,
) -> Result<Loaded> {
    let defaults: Table = DEFAULTS
        .parse()
        .context("the built-in defaults are damaged")?;
    let mut table = defaults.clone();
    let mut files = Vec::new();
    let mut problems = Vec::new();
    for path in [profile.map(profile_file).transpose()?, own_file(file)]
        .into_iter()
        .flatten()
    {
        let layer = read(&path)?;
        problems.extend(check::problems(
            &layer,
            &defaults,
            &path.display().to_string(),
        ));
        overlay(&mut table, layer);
        files.push(path);
    }
    for (variable, layer) in from_environment(std::env::vars(), &defaults) {
        problems.extend(check::problems(&layer, &defaults, &variable));
        overlay(&mut table, layer);
    }
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for (variable, meant) in misspelt(names, &defaults) {
        problems.push(format!("{variable} sets nothing; did you mean {meant}?"));
    }
    if let Some(folder) = data_folder {
        set_data_folder(&mut table, folder);
    }
    refuse(&problems)?;
    refuse(&unusable(&table, &defaults))?;
    let mut config: Config = Value::Table(table.clone())
        .try_into()
        .context("the configuration cannot be used")?;
    config.check()?;
    config
        .models
        .search_folders
        .extend(models_near_the_program());
    config.origin = Some(Origin {
        file: file.map(Path::to_owned),
        profile: profile.map(str::to_owned),
        data_folder: data_folder.map(Path::to_owned),
    });
    Ok(Loaded {
        config,
        table,
        files,
    })
}

fn refuse(problems: &[String]) -> Result<()> {
    if !problems.is_empty() {
        bail!(
            "the configuration has {}:\n  {}",
            count(problems.len()),
            problems.join("\n  ")
        );
    }
    Ok(())
}

/// A program that was built in a checkout, or lies beside its models, finds them from any working
/// folder.
fn models_near_the_program() -> Vec<String> {
    let near = near_the_program();
    let candidates = [
        near.folder.map(|folder| folder.join("models")),
        near.checkout
            .map(|checkout| checkout.join(".tributary/models")),
    ];
    candidates
        .into_iter()
        .flatten()
        .filter(|folder| folder.is_dir())
        .map(|folder| folder.display().to_string())
        .collect()
}

/// Where the program lies.
struct NearTheProgram {
    folder: Option<PathBuf>,
    /// The checkout, if it was built in one: the program is in its `target/release`.
    checkout: Option<PathBuf>,
}

fn near_the_program() -> NearTheProgram {
    // A link to the program, as in a folder of PATH, leads to where it lies.
    let program = std::env::current_exe().and_then(std::fs::canonicalize).ok();
    let folder = program.as_deref().and_then(Path::parent);
    let checkout = folder.and_then(Path::parent).and_then(Path::parent);
    NearTheProgram {
        folder: folder.map(Path::to_owned),
        checkout: checkout.map(Path::to_owned),
    }
}

/// What has the right type and still is no value (an unknown variant, a number out of range): the
/// first problem of each section.
fn unusable(table: &Table, defaults: &Table) -> Vec<String> {
    let of_section = |(section, value): (&String, &Value)| {
        let mut alone = defaults.clone();
        alone.insert(section.clone(), value.clone());
        let error = Value::Table(alone).try_into::<Config>().err()?.to_string();
        Some(error.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    table.iter().filter_map(of_section).collect()
}

fn own_file(file: Option<&Path>) -> Option<PathBuf> {
    file.map(Path::to_owned).or_else(|| {
        Path::new(OWN_FILE)
            .exists()
            .then(|| PathBuf::from(OWN_FILE))
    })
}

/// A profile is a folder: given by path, or by name below `deploy/profiles` of the working folder,
/// below `profiles` beside the program, or below `deploy/profiles` of the checkout that the program
/// was built in.
fn profile_file(name: &str) -> Result<PathBuf> {
    let mut folders = vec![PathBuf::from(name), Path::new("deploy/profiles").join(name)];
    let near = near_the_program();
    folders.extend(near.folder.map(|folder| folder.join("profiles").join(name)));
    folders.extend(
        near.checkout
            .map(|checkout| checkout.join("deploy/profiles").join(name)),
    );
    let found = folders
        .iter()
        .map(|folder| folder.join("config.toml"))
        .find(|file| file.is_file());
    found.with_context(|| {
        let tried: Vec<String> = folders
            .iter()
            .map(|folder| folder.display().to_string())
            .collect();
        format!(
            "no profile `{name}`: no config.toml in {}",
            tried.join(", ")
        )
    })
}

fn read(path: &Path) -> Result<Table> {
    let text = tributary_schemas::files::read_to_string(path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let mut table: Table = text
        .parse()
        .with_context(|| format!("{} is not TOML", path.display()))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    for keys in PATHS {
        if let Some(value) = lookup_mut(&mut table, keys) {
            anchor(value, folder);
        }
    }
    Ok(table)
}

fn lookup_mut<'a>(table: &'a mut Table, keys: &[&str]) -> Option<&'a mut Value> {
    lookup(table, keys)?;
    let (last, parents) = keys.split_last()?;
    let mut current = table;
    for key in parents {
        current = current.get_mut(*key)?.as_table_mut()?;
    }
    current.get_mut(*last)
}

fn anchor(value: &mut Value, folder: &Path) {
    match value {
        Value::String(path) if !path.is_empty() => {
            *path = folder.join(&*path).display().to_string()
        }
        Value::Array(paths) => paths.iter_mut().for_each(|path| anchor(path, folder)),
        _ => {}
    }
}

fn set_data_folder(table: &mut Table, folder: &Path) {
    let store = table
        .entry("store")
        .or_insert_with(|| Value::Table(Table::new()));
    if let Some(store) = store.as_table_mut() {
        store.insert(
            "data_folder".to_owned(),
            Value::String(folder.display().to_string()),
        );
    }
}

fn count(problems: usize) -> String {
    if problems == 1 {
        "a problem".to_owned()
    } else {
        format!("{problems} problems")
    }
}

impl Config {
    /// What types cannot say; all problems at once.
    fn check(&self) -> Result<()> {
        let mut problems = self.enrich.problems();
        problems.extend(self.store.problems());
        problems.extend(self.query_api.problems());
        problems.extend(self.models.problems());
        if !problems.is_empty() {
            bail!(
                "the configuration has {}:\n  {}",
                count(problems.len()),
                problems.join("\n  ")
            );
        }
        Ok(())
    }
}
