//! `tributary lexicon discover`: candidates from the documents, or scored anew.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;
use tributary_schemas::{Error, ErrorKind};
use tributary_store::data_folder;
use tributary_taxonomy::Lexicon;
use tributary_taxonomy::discovery::files::{read_verdicts, verdicts_beside};
use tributary_taxonomy::discovery::{Candidate, Discovery, Found, Knowledge, Ranking, rank};

use super::{corpus, files};
use crate::args::{Discover, Global, Service};
use crate::client::Client;
use crate::config::Config;
use crate::print::{self, Outcome};
use crate::verbs::{NO_DOCUMENT, own_files};

/// Candidates that are shown.
const SHOWN: usize = 20;

/// What the first line of a file of other names says, before the hash of those below it.
const SYNONYMS_FIRST_LINE: &str = "# Other names that definitions in parentheses give. Remove what is wrong, then name the file in taxonomy.lexicon_files. ";

/// What was found.
#[derive(Debug, Serialize)]
struct Report {
    output: PathBuf,
    candidates: usize,
    /// Candidates of the lowest scores that were not written.
    left_out: usize,
    learned_from: Ranking,
    #[serde(flatten)]
    read: Option<ReadReport>,
    best: Vec<String>,
}

/// What was read.
#[derive(Debug, Serialize)]
struct ReadReport {
    documents: u32,
    passages: u64,
    words: u64,
    partly_read: usize,
    other_names: usize,
}

/// Reads, ranks and writes.
pub fn run(global: &Global, config: &Config, discover: &Discover) -> Result<Outcome> {
    if let Some(file) = &discover.synonyms {
        let hint = "name another file, and compare; or delete this one";
        own_files::refuse_edited(file, SYNONYMS_FIRST_LINE, hint)?;
    }
    let lexicon = seeds(config, discover)?;
    let output = files::candidates_file(config, discover.output.as_ref());
    let verdicts = read_verdicts(&verdict_files(discover, &output))?;
    let (mut candidates, read) = match &discover.from {
        Some(file) => (files::candidates(file)?, None),
        None => {
            let (candidates, read) = from_documents(global, config, discover)?;
            (candidates, Some(read))
        }
    };
    let knowledge = Knowledge {
        lexicon: &lexicon,
        verdicts: &verdicts,
    };
    let learned_from = rank(&mut candidates, &knowledge);
    let found = candidates.len();
    keep_best(&mut candidates, discover.limit);
    if discover.output.is_none() {
        data_folder::create(Path::new(&config.store.data_folder))?;
    }
    files::write_lines(&output, &candidates)?;
    let report = Report {
        output,
        candidates: candidates.len(),
        left_out: found - candidates.len(),
        learned_from,
        read,
        best: best(&candidates),
    };
    print::result(discover.format, &report, || describe(&report, discover))?;
    Ok(Outcome::Done)
}

/// Those that are named; beside the candidates of the data folder, what was said of them.
fn verdict_files(discover: &Discover, output: &Path) -> Vec<PathBuf> {
    let beside = verdicts_beside(output);
    let is_own = discover.output.is_none() && discover.verdicts.is_empty() && beside.exists();
    match is_own {
        true => vec![beside],
        false => discover.verdicts.clone(),
    }
}

fn seeds(config: &Config, discover: &Discover) -> Result<Lexicon> {
    let configured = &config.taxonomy.lexicon_files;
    let files = match discover.seeds.is_empty() {
        true => configured,
        false => &discover.seeds,
    };
    Ok(Lexicon::from_files(files)?)
}

fn from_documents(
    global: &Global,
    config: &Config,
    discover: &Discover,
) -> Result<(Vec<Candidate>, ReadReport)> {
    let client = Client::connect(global, config, &[Service::Query])?;
    let mut discovery = Discovery::default();
    let read = corpus::read(&client, discover, |passages| {
        discovery.begin_document();
        for passage in passages {
            discovery.add_passage(&passage.text);
        }
    })?;
    client.close()?;
    if read.documents == 0 {
        let error = Error::new(ErrorKind::NotFound, NO_DOCUMENT);
        let hint = "`tributary documents list` shows what is there";
        return Err(error.with_hint(hint).into());
    }
    let found = discovery.finish(discover.minimum_count);
    if let Some(file) = &discover.synonyms {
        write_synonyms(file, &found)?;
    }
    let report = ReadReport {
        documents: found.documents,
        passages: found.passages,
        words: found.words,
        partly_read: read.partly,
        other_names: found.other_names.len(),
    };
    Ok((found.candidates, report))
}

/// In the form of a lexicon that only names synonyms, each with where it was read.
fn write_synonyms(file: &Path, found: &Found) -> Result<()> {
    let mut text = String::new();
    for name in &found.other_names {
        let sentence = name.sentence.replace(['\n', '\t'], " ");
        text.push_str(&format!(
            "# {}, such as: {sentence}\n{}\t-\t{}\n",
            print::count(name.count as usize, "definition"),
            name.term,
            name.other
        ));
    }
    let text = own_files::signed(SYNONYMS_FIRST_LINE, &text);
    Lexicon::from_text(&file.display().to_string(), &text)?;
    files::write(file, &text)
}

/// Those that people decided stay, however many there are.
fn keep_best(candidates: &mut Vec<Candidate>, limit: usize) {
    let mut place = 0;
    candidates.retain(|candidate| {
        place += 1;
        place <= limit || !candidate.standing.is_empty()
    });
}

fn best(candidates: &[Candidate]) -> Vec<String> {
    let is_new = |candidate: &&Candidate| !candidate.is_known && candidate.standing.is_empty();
    let new = candidates.iter().filter(is_new);
    new.take(SHOWN)
        .map(|candidate| candidate.term.clone())
        .collect()
}

fn describe(report: &Report, discover: &Discover) -> String {
    let mut lines = Vec::new();
    if let Some(read) = &report.read {
        lines.push(format!(
            "{} documents with {} words; {} from definitions in parentheses",
            read.documents,
            read.words,
            print::count(read.other_names, "other name")
        ));
        if read.partly_read > 0 {
            lines.push(format!(
                "of {} only the first passages were read (query_api.maximum_page)",
                print::count(read.partly_read, "document")
            ));
        }
    }
    let from = report.learned_from;
    lines.push(format!(
        "learned from {} accepted and {} rejected, {} that the lexicon has, and {}; {} disputed",
        from.accepted,
        from.rejected,
        print::count(from.known, "term"),
        print::count(from.general, "general word"),
        from.disputed
    ));
    if !report.best.is_empty() {
        lines.push(format!("best: {}", report.best.join(", ")));
    }
    let named = discover.output.as_deref().map(Path::display);
    let review = named.map(|file| format!(" {file}")).unwrap_or_default();
    lines.push(format!(
        "{} in {}; next: tributary lexicon review{review}{}",
        print::count(report.candidates, "candidate"),
        report.output.display(),
        if review.is_empty() {
            ", or the view Terms of the page"
        } else {
            ""
        }
    ));
    lines.join("\n")
}
