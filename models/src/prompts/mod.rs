//! Prompts are data: files beside the code that uses them, which a profile's files of the same name
//! replace. Everything that can be wrong with one is found when it is loaded: an unknown variable,
//! a field of the reply that nobody reads, document text outside of a fence.

pub mod fence;
pub mod file;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;
use sha2::{Digest, Sha256};
use tributary_schemas::{Error, ErrorKind, Result};

use crate::chat::{ChatRequest, ChatResult, Format, Message, ReplySchema, Role, Speaker};
use fence::{fenced, is_fenced};

/// Languages in which there is every prompt; the first one serves texts of all others.
pub const LANGUAGES: [&str; 2] = ["en", "zh"];

/// Stands between the name of a prompt and that of its variant.
const VARIANT: char = '@';
/// Roles whose prompts may have variants: those that write while documents come in.
const ROLES_WITH_VARIANTS: [Role; 2] = [Role::Summarize, Role::DescribeCode];

/// Stands for text of documents in samples: where it appears, a fence must be around it.
pub const UNTRUSTED: &str = "⟦text of a document⟧";

/// What code asks of a prompt.
#[derive(Clone, Copy)]
pub struct PromptSpec {
    /// Its name.
    pub name: &'static str,
    /// The role whose model it is for.
    pub role: Role,
    /// Schema of the reply that the code reads; `None` for plain text.
    pub reply: Option<fn() -> ChatResult<Arc<ReplySchema>>>,
    /// Variables with sample values; [`UNTRUSTED`] for what comes from documents.
    pub sample: fn() -> serde_json::Value,
}

/// The prompts of one crate.
#[derive(Clone, Copy)]
pub struct PromptSet {
    /// What its code asks for.
    pub specs: &'static [PromptSpec],
    /// Its files: name (`NAME.LANGUAGE.md`) and text.
    pub files: &'static [(&'static str, &'static str)],
}

/// A prompt in one language.
#[derive(Clone, Debug)]
pub struct Prompt {
    name: String,
    language: String,
    version: u32,
    role: Role,
    hash: String,
    reply: Option<Arc<ReplySchema>>,
    turns: Vec<(Speaker, String)>,
    templates: Arc<Environment<'static>>,
}

/// All prompts of a process.
#[derive(Clone, Debug, Default)]
pub struct Prompts {
    by_name: BTreeMap<(String, String), Arc<Prompt>>,
}

impl Prompts {
    /// Loads the prompts of these crates; those of a profile's folder replace them by name. Every
    /// problem of every file is in the message of the error, which is `Invalid`.
    pub fn load(sets: &[&PromptSet], folder: Option<&Path>) -> Result<Self> {
        Self::load_from(sets, folder.map(replacements).transpose()?)
    }

    /// As [`Self::load`], but files of the folder that replace no prompt of these crates are passed
    /// over: they replace those of other crates, and whoever loads all prompts checks them.
    pub fn load_own(sets: &[&PromptSet], folder: Option<&Path>) -> Result<Self> {
        let mut replacing = folder.map(replacements).transpose()?;
        let is_own = |file: &str| {
            let mut specs = sets.iter().flat_map(|set| set.specs);
            let name = file.split(['.', VARIANT]).next().unwrap_or_default();
            specs.any(|spec| spec.name == name)
        };
        if let Some(texts) = &mut replacing {
            texts.retain(|file, _| is_own(file));
        }
        Self::load_from(sets, replacing)
    }

    fn load_from(sets: &[&PromptSet], replacing: Option<Texts>) -> Result<Self> {
        let mut texts: BTreeMap<String, (String, String)> = BTreeMap::new();
        for (name, text) in sets.iter().flat_map(|set| set.files) {
            texts.insert(
                (*name).to_owned(),
                (format!("prompt {name}"), (*text).to_owned()),
            );
        }
        texts.extend(replacing.unwrap_or_default());
        let specs: BTreeMap<&str, &PromptSpec> = sets
            .iter()
            .flat_map(|set| set.specs)
            .map(|spec| (spec.name, spec))
            .collect();
        let mut problems = Vec::new();
        let mut by_name = BTreeMap::new();
        for (file, (place, text)) in &texts {
            match load(file, text, &specs) {
                Ok(prompt) => {
                    let key = (prompt.name.clone(), prompt.language.clone());
                    by_name.insert(key, Arc::new(prompt));
                }
                Err(problem) => problems.push(format!("{place}: {problem}")),
            }
        }
        if problems.is_empty() {
            problems.extend(missing(&specs, &by_name));
        }
        match problems.is_empty() {
            true => Ok(Self { by_name }),
            false => Err(Error::new(ErrorKind::Invalid, problems.join("; "))),
        }
    }

    /// The prompt for texts of a language (a BCP 47 tag). `Internal` for a name that is in no set.
    pub fn get(&self, name: &str, language: Option<&str>) -> Result<Arc<Prompt>> {
        let is_chinese = language.is_some_and(|tag| tag.to_lowercase().starts_with("zh"));
        let [other, chinese] = LANGUAGES;
        let language = if is_chinese { chinese } else { other };
        let found = self.by_name.get(&(name.to_owned(), language.to_owned()));
        found.map(Arc::clone).ok_or_else(|| {
            let message = format!("there is no prompt `{name}` in `{language}`");
            Error::new(ErrorKind::Internal, message)
        })
    }

    /// The variant of a prompt for texts of a language, or the prompt itself: where no variant is
    /// asked for, and where this prompt has none of it.
    pub fn get_variant(
        &self,
        name: &str,
        variant: Option<&str>,
        language: Option<&str>,
    ) -> Result<Arc<Prompt>> {
        let base = self.get(name, language)?;
        let Some(variant) = variant else {
            return Ok(base);
        };
        let key = (format!("{name}{VARIANT}{variant}"), base.language.clone());
        Ok(self.by_name.get(&key).map_or(base, Arc::clone))
    }

    /// Names of all variants, each once.
    pub fn variants(&self) -> BTreeSet<&str> {
        let names = self.by_name.keys().map(|(name, _)| name.as_str());
        names
            .filter_map(|name| Some(name.split_once(VARIANT)?.1))
            .collect()
    }

    /// Which texts exactly all variants are, see [`Prompt::id`].
    pub fn variant_ids(&self) -> Vec<String> {
        let variants = self
            .by_name
            .iter()
            .filter(|((name, _), _)| name.contains(VARIANT));
        variants.map(|(_, prompt)| prompt.id()).collect()
    }

    /// `Invalid` where no prompt has this variant; `place` says who asks for it.
    pub fn check_variant(&self, place: &str, variant: &str) -> Result<()> {
        let known = self.variants();
        if known.contains(variant) {
            return Ok(());
        }
        let known: Vec<&str> = known.into_iter().collect();
        let known = match known.is_empty() {
            true => "there is none".to_owned(),
            false => format!("there are: {}", known.join(", ")),
        };
        let message = format!("{place}: no prompt has the variant `{variant}`; {known}");
        let hint = format!(
            "put a file such as section_summary{VARIANT}{variant}.en.md into the folder of \
             models.chat.prompts_folder"
        );
        Err(Error::new(ErrorKind::Invalid, message).with_hint(hint))
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Prompt>> {
        self.by_name.values()
    }
}

impl Prompt {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its language.
    pub fn language(&self) -> &str {
        &self.language
    }

    /// The role whose model it is for.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Which text exactly this is, for the lineage and for keys of caches: name, language, version
    /// and the first digits of the file's SHA-256.
    pub fn id(&self) -> String {
        let Self {
            name,
            language,
            version,
            hash,
            ..
        } = self;
        format!("{name}.{language}@{version}:{hash}")
    }

    /// The conversation with these values. `Invalid` for a value that is missing.
    pub fn render(&self, values: impl Serialize) -> Result<Vec<Message>> {
        serde_json::to_value(values)
            .map_err(|error| error.to_string())
            .and_then(|values| self.messages(values))
            .map_err(|problem| {
                Error::new(
                    ErrorKind::Invalid,
                    format!("prompt {}: {problem}", self.id()),
                )
            })
    }

    /// A request of at most so many tokens of reply.
    pub fn request(&self, values: impl Serialize, maximum_tokens: usize) -> Result<ChatRequest> {
        Ok(ChatRequest {
            prompt: self.name.clone(),
            messages: self.render(values)?,
            tools: Vec::new(),
            maximum_tokens,
            temperature: None,
            format: match &self.reply {
                Some(schema) => Format::Json(Arc::clone(schema)),
                None => Format::Text,
            },
            top_logprobs: 0,
            deadline: None,
        })
    }

    fn messages(&self, values: serde_json::Value) -> std::result::Result<Vec<Message>, String> {
        let values = minijinja::Value::from(minijinja::value::Serde(values));
        let render = |(at, (speaker, _)): (usize, &(Speaker, String))| {
            let template = self.templates.get_template(&at.to_string());
            let text = template.and_then(|template| template.render(values.clone()));
            text.map(|text| Message::new(*speaker, text))
                .map_err(|error| in_turn(at, &error))
        };
        self.turns.iter().enumerate().map(render).collect()
    }
}

fn in_turn(at: usize, error: &minijinja::Error) -> String {
    let line = error.line().map(|line| format!(", line {line}"));
    let detail = error.detail().map(|detail| format!(": {detail}"));
    format!(
        "turn {}{}: {}{}",
        at + 1,
        line.unwrap_or_default(),
        error.kind(),
        detail.unwrap_or_default()
    )
}

type Texts = BTreeMap<String, (String, String)>;

/// Files of a profile by name, each with its place.
fn replacements(folder: &Path) -> Result<Texts> {
    let failed = |error: &std::io::Error| {
        Error::io(
            format_args!("reading prompts in {}", folder.display()),
            error,
        )
    };
    let mut texts = Texts::new();
    for entry in std::fs::read_dir(folder).map_err(|error| failed(&error))? {
        let path = entry.map_err(|error| failed(&error))?.path();
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let Some(name) = name.filter(|name| name.ends_with(".md") && !name.starts_with('.')) else {
            continue;
        };
        let text =
            tributary_schemas::files::read_to_string(&path).map_err(|error| failed(&error))?;
        texts.insert(name, (path.display().to_string(), text));
    }
    Ok(texts)
}

fn missing(
    specs: &BTreeMap<&str, &PromptSpec>,
    found: &BTreeMap<(String, String), Arc<Prompt>>,
) -> Vec<String> {
    let names = specs.keys().copied();
    let wanted = names.flat_map(|name| LANGUAGES.map(|language| (name, language)));
    wanted
        .filter(|(name, language)| {
            !found.contains_key(&((*name).to_owned(), (*language).to_owned()))
        })
        .map(|(name, language)| format!("there is no prompt {name}.{language}.md"))
        .collect()
}

fn load(
    file: &str,
    text: &str,
    specs: &BTreeMap<&str, &PromptSpec>,
) -> std::result::Result<Prompt, String> {
    let read = file::read(text)?;
    let front = &read.front;
    let expected = format!("{}.{}.md", front.name, front.language);
    if file != expected {
        return Err(format!("by what it says its file is {expected}"));
    }
    let (base, variant) = match front.name.split_once(VARIANT) {
        Some((base, variant)) => (base, Some(variant)),
        None => (front.name.as_str(), None),
    };
    let spec = *specs.get(base).ok_or_else(|| {
        let known: Vec<&str> = specs.keys().copied().collect();
        format!("there is no such prompt; there are: {}", known.join(", "))
    })?;
    check_variant_name(variant, spec)?;
    if front.role != spec.role {
        return Err(format!("its role is `{}`", spec.role));
    }
    let reply = spec.reply.map(|reply| reply());
    let reply = reply.transpose().map_err(|error| error.to_string())?;
    check_output(&front.output, reply.as_deref())?;
    let prompt = Prompt {
        name: front.name.clone(),
        language: front.language.clone(),
        version: front.version,
        role: front.role,
        hash: hash(text),
        reply,
        templates: Arc::new(templates(&read.turns)?),
        turns: read.turns,
    };
    check_variables(&prompt, &read.front.variables, spec)?;
    Ok(prompt)
}

/// A variant has a plain name, and a caller that can ask for it.
fn check_variant_name(variant: Option<&str>, spec: &PromptSpec) -> std::result::Result<(), String> {
    let Some(variant) = variant else {
        return Ok(());
    };
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    if variant.is_empty() || !variant.chars().all(is_plain) {
        return Err(format!(
            "the variant `{variant}` must be made of letters, digits, `-` and `_`"
        ));
    }
    match ROLES_WITH_VARIANTS.contains(&spec.role) {
        true => Ok(()),
        false => Err(format!(
            "prompts of the role `{}` have no variants",
            spec.role
        )),
    }
}

fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn templates(turns: &[(Speaker, String)]) -> std::result::Result<Environment<'static>, String> {
    let mut templates = Environment::new();
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    templates.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    templates.add_filter("fenced", |text: String| fenced(&text));
    for (at, (_, template)) in turns.iter().enumerate() {
        templates
            .add_template_owned(at.to_string(), template.clone())
            .map_err(|error| in_turn(at, &error))?;
    }
    Ok(templates)
}

/// The fields of the reply, in the order in which the model is made to write them.
fn check_output(named: &[String], reply: Option<&ReplySchema>) -> std::result::Result<(), String> {
    let required = reply.and_then(|reply| reply.schema["required"].as_array());
    let names = required
        .into_iter()
        .flatten()
        .filter_map(serde_json::Value::as_str);
    let read: Vec<&str> = names.collect();
    match named == read {
        true => Ok(()),
        false => Err(format!(
            "its output is {read:?} in this order, not {named:?}"
        )),
    }
}

/// The template uses what it names, and the code gives it.
fn check_variables(
    prompt: &Prompt,
    named: &[String],
    spec: &PromptSpec,
) -> std::result::Result<(), String> {
    let sample = (spec.sample)();
    let given: Vec<&String> = sample
        .as_object()
        .into_iter()
        .flat_map(|it| it.keys())
        .collect();
    if let Some(unknown) = named.iter().find(|name| !given.contains(name)) {
        return Err(format!(
            "no variable `{unknown}`; there are: {}",
            listed(&given)
        ));
    }
    for (_, template) in prompt.templates.templates() {
        let used = template.undeclared_variables(false);
        if let Some(unknown) = used.iter().find(|name| !named.contains(name)) {
            return Err(format!(
                "`{unknown}` is used and not among its variables; there are: {}",
                listed(&given)
            ));
        }
    }
    check_rendering(prompt, sample)
}

/// With the values of the sample nothing is undefined, document text is fenced, and a prompt for
/// JSON says so.
fn check_rendering(prompt: &Prompt, sample: serde_json::Value) -> std::result::Result<(), String> {
    let messages = prompt.messages(sample)?;
    if let Some(open) = messages
        .iter()
        .find(|message| !is_fenced(&message.text, UNTRUSTED))
    {
        return Err(format!(
            "a turn of {} has text of documents outside of a fence: write {{{{ … | fenced }}}} \
             on a line of its own",
            open.speaker.as_str()
        ));
    }
    let says_json = messages.iter().any(|message| message.text.contains("JSON"));
    match prompt.reply.is_none() || says_json {
        true => Ok(()),
        false => Err("it must say the word JSON: some servers refuse it otherwise".to_owned()),
    }
}

fn listed(names: &[&String]) -> String {
    names
        .iter()
        .map(|name| name.as_str())
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::chat::structured::reply_schema;
    use serde_json::json;

    #[derive(schemars::JsonSchema)]
    #[allow(dead_code)]
    struct Verdict {
        relevant: bool,
    }

    const ENGLISH: &str = "+++\nname = \"verdict\"\nlanguage = \"en\"\nversion = 3\nrole = \"judge\"\noutput = [\"relevant\"]\nvariables = [\"passages\"]\n+++\n<!-- system -->\nReply in JSON.\n<!-- user -->\n{% for passage in passages %}{{ loop.index }}\n{{ passage.text | fenced }}\n{% endfor %}";

    fn sample() -> serde_json::Value {
        json!({"passages": [{"text": UNTRUSTED}]})
    }

    const SPEC: PromptSpec = PromptSpec {
        name: "verdict",
        role: Role::Judge,
        reply: Some(reply_schema::<Verdict>),
        sample,
    };

    fn both(english: &str) -> Vec<(&'static str, String)> {
        let chinese = ENGLISH.replace("\"en\"", "\"zh\"");
        vec![
            ("verdict.en.md", english.to_owned()),
            ("verdict.zh.md", chinese),
        ]
    }

    fn loaded(english: &str) -> Result<Prompts> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in both(english) {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let set = PromptSet {
            specs: &[SPEC],
            files: &[],
        };
        Prompts::load(&[&set], Some(folder.path()))
    }

    #[test]
    fn a_prompt_renders_its_turns() {
        let prompts = loaded(ENGLISH).unwrap();
        let prompt = prompts.get("verdict", Some("fr")).unwrap();
        assert_eq!(prompt.language(), "en");
        assert_eq!(
            prompts.get("verdict", Some("zh-Hant")).unwrap().language(),
            "zh"
        );
        let passages = json!({"passages": [{"text": "{{ 7 * 7 }} <b>"}]});
        let request = prompt.request(&passages, 10).unwrap();
        assert_eq!(request.messages[0].text, "Reply in JSON.");
        let user = &request.messages[1].text;
        assert!(
            user.starts_with("1\n<data-") && user.contains("\n{{ 7 * 7 }} <b>\n"),
            "{user}"
        );
        assert!(matches!(request.format, Format::Json(_)));
        assert!(prompt.id().starts_with("verdict.en@3:"), "{}", prompt.id());
        assert!(prompts.get("verse", None).is_err());
    }

    #[test]
    fn every_problem_is_found_at_the_start() {
        let cases = [
            ("passage.text", "passage.txt", "undefined value"),
            ("in passages", "in pasages", "`pasages` is used"),
            (
                "variables = [\"passages\"]",
                "variables = [\"question\"]",
                "no variable `question`",
            ),
            (
                "output = [\"relevant\"]",
                "output = [\"reason\"]",
                "its output is [\"relevant\"]",
            ),
            (
                "role = \"judge\"",
                "role = \"answer\"",
                "its role is `judge`",
            ),
            ("| fenced", "", "outside of a fence"),
            ("Reply in JSON.", "Reply.", "the word JSON"),
            (
                "name = \"verdict\"",
                "name = \"verse\"",
                "its file is verse.en.md",
            ),
            ("{% endfor %}", "", "turn 2"),
        ];
        for (from, to, part) in cases {
            let error = loaded(&ENGLISH.replace(from, to)).unwrap_err().to_string();
            assert!(
                error.contains(part) && error.contains("verdict.en.md"),
                "{part}: {error}"
            );
        }
    }

    #[test]
    fn a_changed_text_is_another_prompt() {
        let id = |text: &str| loaded(text).unwrap().get("verdict", None).unwrap().id();
        assert_ne!(id(ENGLISH), id(&ENGLISH.replace("Reply", "Answer")));
    }
}
