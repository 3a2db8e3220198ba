//! `tributary judge FILE`: answers of students, a line each. Results are written as they come, so that
//! the same command goes on where it was ended.

mod kept;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use tributary_schemas::Filter;
use tributary_schemas::judging::{JudgedBy, Judgement, QuestionToJudge};

use self::kept::Kept;
use crate::args::{Format, Global, Judge, Service};
use crate::client::Client;
use crate::config::Config;
use crate::print::{self, Outcome};

/// Most bytes of questions in memory.
const MAXIMUM_BYTES: u64 = 256 << 20;
/// Characters of a question that are printed.
const LONGEST_QUESTION: usize = 100;

/// What became of one line.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Line {
    /// Number of the line in the file of questions, from 1.
    pub line: usize,
    /// Hash of the line and of where it was looked: one that changed is judged again.
    pub hash: String,
    /// What is to be thought of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judgement: Option<Judgement>,
    /// Why it was not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Line {
    /// Whether it was judged in another way, for want of a model or of a reply.
    fn lacks_a_model(&self) -> bool {
        let judgement = self.judgement.as_ref();
        judgement.is_some_and(|judgement| judgement.judged_by != JudgedBy::Model)
    }
}

/// Judges all lines.
pub fn run(global: &Global, config: &Config, judge: &Judge) -> Result<Outcome> {
    let bytes = questions(judge)?;
    let filter = judge.filter.filter();
    let all = lines(&bytes, &filter);
    if all.is_empty() {
        bail!(
            "{} has no questions\nhint: it holds one JSON object a line, see --help",
            judge.questions.display()
        );
    }
    let kept = judge.file.as_deref().map(Kept::open).transpose()?;
    let known = kept
        .as_ref()
        .map_or_else(Vec::new, |kept| kept.known.clone());
    let is_done = |line: &&Given<'_>| {
        let mut known = known.iter();
        let is_it = |known: &&Line| known.line == line.number && known.hash == line.hash;
        known
            .find(is_it)
            .is_some_and(|known| !(judge.degraded && known.lacks_a_model()))
    };
    let mut tally = Tally::default();
    let done: Vec<&Given<'_>> = all.iter().filter(is_done).collect();
    for line in &done {
        let known = known.iter().find(|known| known.line == line.number);
        known.iter().for_each(|known| tally.add(known));
    }
    if !done.is_empty() {
        let mut text = format!("{} of {} lines are judged already", done.len(), all.len());
        let lesser = tally.judged - tally.by_model;
        if lesser > 0 {
            text.push_str(&format!(
                ", {lesser} of them without a model: `--degraded` judges these anew"
            ));
        }
        print::note(&text);
    }
    let left: Vec<&Given<'_>> = all.iter().filter(|line| !is_done(line)).collect();
    let client = Client::connect(global, config, &[Service::Query])?;
    let bar = print::progress_bar(all.len() as u64, "judged");
    bar.set_position(done.len() as u64);
    let results = Results {
        judge,
        kept: Mutex::new(kept),
        tally: Mutex::new(tally),
        bar: &bar,
        turn: Mutex::default(),
    };
    print::when_interrupted({
        let (bar, of, is_kept) = (bar.clone(), all.len(), judge.file.is_some());
        move || interrupted(bar.position(), of, is_kept)
    });
    let ended = judge_all(&client, &left, &filter, &results);
    bar.finish_and_clear();
    ended?;
    if let Some(kept) = locked(&results.kept).take() {
        kept.settle()?;
    }
    client.close()?;
    let tally = locked(&results.tally);
    print::note(&tally.said());
    Ok(Outcome::of(tally.judged, tally.failed))
}

/// What Ctrl-C leaves.
fn interrupted(judged: u64, of: usize, is_kept: bool) -> String {
    let hint = match is_kept {
        true => "the same command goes on with the rest",
        false => "with -o FILE they are kept, and the same command goes on with the rest",
    };
    format!("interrupted: {judged} of {of} lines are judged\nhint: {hint}")
}

fn questions(judge: &Judge) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let file = &judge.questions;
    let reader: Box<dyn Read> = match file.as_os_str() == "-" {
        true => Box::new(std::io::stdin()),
        false => {
            let opened = tributary_schemas::files::open(file);
            Box::new(opened.with_context(|| format!("cannot read {}", file.display()))?)
        }
    };
    let read = reader.take(MAXIMUM_BYTES + 1).read_to_end(&mut text);
    read.with_context(|| format!("cannot read {}", file.display()))?;
    if text.len() as u64 > MAXIMUM_BYTES {
        bail!(
            "{} is over {} MiB\nhint: split it",
            file.display(),
            MAXIMUM_BYTES >> 20
        );
    }
    Ok(text)
}

/// A line that says something.
struct Given<'a> {
    number: usize,
    /// Owned where it is no UTF-8, which stops no other line.
    text: Cow<'a, str>,
    hash: String,
}

fn lines<'a>(bytes: &'a [u8], filter: &Filter) -> Vec<Given<'a>> {
    let place = serde_json::json!(filter).to_string();
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let lines = bytes
        .split(|byte| *byte == b'\n')
        .map(String::from_utf8_lossy);
    let said = (1..).zip(lines).filter(|(_, line)| !line.trim().is_empty());
    said.map(|(number, line)| Given {
        number,
        hash: hash(&format!("{place}\n{}", line.trim())),
        text: line,
    })
    .collect()
}

fn hash(text: &str) -> String {
    let hash = blake3::hash(text.as_bytes()).to_hex();
    hash.chars().take(32).collect()
}

/// What a panic elsewhere left behind is whole: each of them changes in one step.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where results go.
struct Results<'a> {
    judge: &'a Judge,
    kept: Mutex<Option<Kept>>,
    tally: Mutex<Tally>,
    bar: &'a indicatif::ProgressBar,
    turn: Mutex<Turn>,
}

/// Results are told in the order of the file, whichever is judged first.
#[derive(Default)]
struct Turn {
    next: usize,
    waiting: BTreeMap<usize, (Line, String)>,
}

impl Results<'_> {
    /// Takes the result of the line at this position of those that were left.
    fn take(&self, at: usize, line: Line, question: String) -> Result<()> {
        if let Some(kept) = locked(&self.kept).as_mut() {
            kept.add(&line)?;
        }
        locked(&self.tally).add(&line);
        self.bar.inc(1);
        let mut turn = locked(&self.turn);
        turn.waiting.insert(at, (line, question));
        let mut next = turn.next;
        while let Some((line, question)) = turn.waiting.remove(&next) {
            self.bar.suspend(|| self.print(&line, &question))?;
            next += 1;
        }
        turn.next = next;
        Ok(())
    }

    fn print(&self, line: &Line, question: &str) -> Result<()> {
        if let Some(error) = &line.error {
            let file = self.judge.questions.display();
            print::note(&format!("{file}:{}: {error}", line.line));
        }
        match (self.judge.output.format, &line.judgement) {
            // What is kept in a file is not printed too.
            _ if self.judge.file.is_some() => Ok(()),
            (Format::Json, _) => print::line(&serde_json::to_string(line)?),
            (Format::Text, Some(judgement)) => print::line(&shown(line.line, question, judgement)),
            (Format::Text, None) => Ok(()),
        }
    }
}

/// Judges lines, some at the same time.
fn judge_all(
    client: &Client,
    left: &[&Given<'_>],
    filter: &Filter,
    results: &Results<'_>,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<()> {
        let client = client.another();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(given) = left.get(at) else {
                return Ok(());
            };
            let (line, question) = judged(&client, given, filter);
            results.take(at, line, question)?;
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..results.judge.at_once)
            .map(|_| scope.spawn(work))
            .collect();
        for worker in workers {
            match worker.join() {
                Ok(ended) => ended?,
                Err(_) => bail!("judging stopped unexpectedly"),
            }
        }
        Ok(())
    })
}

/// What became of a line, and its question; none where it cannot be read.
fn judged(client: &Client, given: &Given<'_>, filter: &Filter) -> (Line, String) {
    let line = Line {
        line: given.number,
        hash: given.hash.clone(),
        ..Line::default()
    };
    let mut question = match read(given) {
        Ok(question) => question,
        Err(error) => {
            let error = Some(format!("it is no question to judge: {error}"));
            return (Line { error, ..line }, String::new());
        }
    };
    let names_none = question.knowledge_sets.is_none();
    if names_none && question.filter == Filter::default() {
        question.filter = filter.clone();
    }
    let line = match client.post("/v1/questions/judge", &question) {
        Ok(judgement) => Line {
            judgement: Some(judgement),
            ..line
        },
        Err(error) => Line {
            error: Some(error.to_string()),
            ..line
        },
    };
    (line, question.question)
}

fn read(given: &Given<'_>) -> std::result::Result<QuestionToJudge, String> {
    let Cow::Borrowed(text) = given.text else {
        return Err("it is not UTF-8".to_owned());
    };
    serde_json::from_str(text).map_err(|error| {
        // It counts lines too, and knows only this one.
        let said = error.to_string();
        let end = format!(" at line {} column {}", error.line(), error.column());
        match said.strip_suffix(&end) {
            Some(said) => format!("{said} at column {}", error.column()),
            None => said,
        }
    })
}

/// What a person is shown of a judgement.
fn shown(line: usize, question: &str, judgement: &Judgement) -> String {
    let verdict = if judgement.is_correct {
        "right"
    } else {
        "wrong"
    };
    let name = judgement
        .id
        .as_deref()
        .map_or(String::new(), |id| format!(" {id}"));
    let confidence = judgement.confidence;
    let mut text = format!("{line}{name}  {verdict} ({confidence:.2})");
    if !judgement.correct_answer.is_empty() {
        text.push_str(&format!("  right answer: {}", judgement.correct_answer));
    }
    if !judgement.knowledge_point.is_empty() {
        text.push_str(&format!("  [{}]", judgement.knowledge_point));
    }
    let question = question.split_whitespace().collect::<Vec<_>>().join(" ");
    text.push_str(&format!(
        "\n    {}\n    {}",
        print::shorten(&question, LONGEST_QUESTION),
        judgement.reasoning
    ));
    if judgement.agrees_with_given == Some(false) {
        let own = judgement.own_answer.as_deref().unwrap_or_default();
        text.push_str(&format!(
            "\n    the model's own answer is {own}: check the given one"
        ));
    }
    if !judgement.degraded.is_empty() {
        text.push_str(&format!(
            "\n    degraded: {}",
            judgement.degraded.join(", ")
        ));
    }
    text
}

/// What became of all lines.
#[derive(Default)]
struct Tally {
    judged: usize,
    right: usize,
    by_model: usize,
    doubted: usize,
    failed: usize,
}

impl Tally {
    fn add(&mut self, line: &Line) {
        let Some(judgement) = &line.judgement else {
            self.failed += 1;
            return;
        };
        self.judged += 1;
        self.right += usize::from(judgement.is_correct);
        self.by_model += usize::from(judgement.judged_by == JudgedBy::Model);
        self.doubted += usize::from(judgement.agrees_with_given == Some(false));
    }

    fn said(&self) -> String {
        let mut text = format!(
            "{} judged: {} right, {} wrong; {} by a model, {} without one",
            self.judged,
            self.right,
            self.judged - self.right,
            self.by_model,
            self.judged - self.by_model
        );
        if self.doubted > 0 {
            text.push_str(&format!("; {} given answers doubted", self.doubted));
        }
        if self.failed > 0 {
            text.push_str(&format!("; {} lines not judged", self.failed));
        }
        text
    }
}
