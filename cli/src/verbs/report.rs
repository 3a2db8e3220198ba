//! `tributary report QUESTION`: a report, with its progress on stderr, printed or as a file. One that
//! is broken off goes on with `--resume`.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};
use tributary_schemas::ask::{Answer, AskEvent, AskFailure, AskRequest, Workflow};
use tributary_schemas::report::{Depth, KeptReport, WrittenBy, WrittenSection};

use super::ask;
use crate::args::{Format, Global, ReportVerb, Service};
use crate::client::{Client, segment};
use crate::config::Config;
use crate::print::{self, Outcome};

/// Endings of files and what the server calls them.
const FORMATS: [(&str, &str); 3] = [("md", "markdown"), ("html", "html"), ("docx", "docx")];

/// Writes a report.
pub fn run(global: &Global, config: &Config, wanted: &ReportVerb) -> Result<Outcome> {
    // What is wrong with the file is said before the work.
    let format = wanted.file.as_deref().map(format_of).transpose()?;
    wanted.file.as_deref().map(check_folder).transpose()?;
    let begun = match &wanted.resume {
        Some(_) => None,
        None => Some(new_request(wanted)?),
    };
    let given = wanted.resume.as_ref();
    let begun_id = begun
        .as_ref()
        .and_then(|request| request.report_id.as_ref());
    let id = given.or(begun_id).cloned().context("a report has no id")?;
    print::note(&format!("report {id}"));
    let client = Client::connect(global, config, &[Service::Query])?;
    let request = match begun {
        Some(request) => request,
        None => {
            let kept: KeptReport = client.get(&format!("/v1/report/{}", segment(&id)))?;
            kept.request
        }
    };
    let going_on = how_to_go_on(&id);
    print::when_interrupted(move || going_on.clone());
    let answer = written(&client, &request, &id)?;
    match (&wanted.file, format) {
        (Some(file), Some(format)) => save(&client, &answer, file, format)?,
        _ if wanted.output.format == Format::Text => {
            // Its sources stand at its end already.
            print::line(&format!("{}\n{}", answer.answer, ask::doubts(&answer)))?;
        }
        _ => {}
    }
    if wanted.output.format == Format::Json {
        print::result(wanted.output, &answer, String::new)?;
    }
    client.close()?;
    Ok(Outcome::Done)
}

fn new_request(wanted: &ReportVerb) -> Result<AskRequest> {
    let question = ask::question(wanted.question.as_deref())?;
    if question.trim().is_empty() {
        bail!("the question is empty");
    }
    Ok(AskRequest {
        question,
        workflow: Some(Workflow::Report),
        depth: Depth::named(&wanted.depth),
        report_id: Some(new_id()?),
        live: wanted.live.then_some(true),
        filter: wanted.filter.filter(),
        ..AskRequest::default()
    })
}

/// 32 hexadecimal digits that nobody can guess.
fn new_id() -> Result<String> {
    let mut bytes = [0; 16];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut random| random.read_exact(&mut bytes))
        .context("cannot make an id")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn how_to_go_on(id: &str) -> String {
    format!("hint: what is written of it is kept; go on with `tributary report --resume {id}`")
}

fn format_of(file: &Path) -> Result<&'static str> {
    let ending = file.extension().and_then(|ending| ending.to_str());
    let ending = ending.unwrap_or_default().to_ascii_lowercase();
    let known = FORMATS.iter().find(|(known, _)| *known == ending);
    let endings = FORMATS.map(|(known, _)| format!(".{known}"));
    known.map(|(_, format)| *format).with_context(|| {
        format!(
            "{} has no ending that says what to write\nhint: use one of {}",
            file.display(),
            endings.join(", ")
        )
    })
}

fn check_folder(file: &Path) -> Result<()> {
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        bail!(
            "cannot write {}: there is no folder {}",
            file.display(),
            folder.display()
        );
    }
    Ok(())
}

/// The report, with each section that ends told on stderr.
fn written(client: &Client, request: &AskRequest, id: &str) -> Result<Answer> {
    let spinner = print::spinner("understanding");
    let broken_off = |what: &str| {
        spinner.finish_and_clear();
        anyhow!("{what}\n{}", how_to_go_on(id))
    };
    let mut sections = 0;
    for event in client.post_for_events("/v1/report", request)? {
        match event.map_err(|error| broken_off(&format!("{error:#}")))? {
            AskEvent::Thinking { step } => spinner.set_message(step),
            AskEvent::Outline(outline) => {
                sections = outline.sections.len();
                spinner.suspend(|| {
                    print::note(&format!(
                        "{}: {}",
                        outline.title,
                        print::count(sections, "section")
                    ))
                });
            }
            AskEvent::Section(section) => {
                spinner.suspend(|| print::note(&progress(&section, sections)));
            }
            AskEvent::Done(answer) => {
                spinner.finish_and_clear();
                return Ok(*answer);
            }
            AskEvent::Error(AskFailure { detail, hint, .. }) => {
                let hint = hint.map_or(String::new(), |hint| format!("\nhint: {hint}"));
                return Err(broken_off(&format!("{detail}{hint}")));
            }
            _ => {}
        }
    }
    Err(broken_off("the server ended the report before its end"))
}
fn progress(section: &WrittenSection, sections: usize) -> String {
    let how = match (section.written_by, &section.failure) {
        (WrittenBy::Model, None) => String::new(),
        (WrittenBy::Model, Some(why)) => format!(" (not to its end: {})", in_words(why)),
        (WrittenBy::Extract, why) => {
            let why = why.as_deref().map_or("no model".to_owned(), in_words);
            format!(" (in the words of the documents: {why})")
        }
        (WrittenBy::Nobody, _) => " (the documents do not answer it)".to_owned(),
    };
    format!("  {}/{sections} {}{how}", section.number, section.title)
}

/// Why a model wrote nothing, for people.
fn in_words(why: &str) -> String {
    match why {
        "circuit_open" => "the model failed several times and is left alone for some seconds",
        "deadline" => "the model was too slow",
        "unreachable" => "the model's server cannot be reached",
        "budget_used_up" => "the budget of tokens is used up",
        other => return other.replace('_', " "),
    }
    .to_owned()
}

/// The file is there whole or not at all.
fn save(client: &Client, answer: &Answer, file: &Path, format: &str) -> Result<()> {
    let title = answer.report.as_ref().map_or("", |report| &report.title);
    let body = json!({"markdown": answer.answer, "title": title, "format": format});
    let bytes = client.post_for_bytes("/v1/report/export", &body)?;
    let part = PathBuf::from(format!("{}.part", file.display()));
    let failed = || format!("cannot write {}", file.display());
    std::fs::write(&part, bytes).with_context(failed)?;
    std::fs::rename(&part, file).with_context(failed)?;
    for line in ask::doubts(answer).lines() {
        print::note(line);
    }
    let verdict = serde_json::to_value(answer.verdict).unwrap_or(Value::Null);
    let verdict = verdict.as_str().unwrap_or_default().to_owned();
    print::note(&format!("{verdict}: {}", file.display()));
    Ok(())
}
