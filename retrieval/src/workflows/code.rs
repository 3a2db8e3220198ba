//! The workflow `code`: definitions are found in two stages, files and then definitions in them, a
//! model says whether they are enough and what is missing, and they are explained in five parts.
//! Without a model their signatures and descriptions are the answer.

use futures::future::try_join_all;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tributary_schemas::ChunkKind;
use tributary_schemas::ask::{Answer, AskEvent, CodeRetrieved, Lines, PartDone, Source, Verdict};
use tributary_schemas::code_search::{CodeFile, CodeHit, CodeSearchRequest};
use tributary_schemas::review::{Review, ReviewedRound};
use tributary_schemas::understanding::Understanding;

use super::finding::{self, Bar, Found};
use super::saying::{self, Manner, Said, Saying};
use super::sides::Scope;
use super::textbook::{self, judging};
use super::{Asked, Asker, Steps};
use crate::answer::form;
use crate::answer::generate::Form;
use crate::error::SearchError;
use crate::events::Events;
use crate::prompts::CODE_EXPLANATION;
use crate::retriever::degrade;
use crate::understand::Understood;

/// Definitions that are listed where no model explains them.
const MAXIMUM_LISTED: usize = 5;
/// Names of called functions that are listed for each.
const MAXIMUM_CALLS: usize = 8;

/// The section `[query_api.answer.code]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CodeExplanationConfig {
    /// Where source code lies.
    pub scope: Scope,
    /// Definitions that are explained at most.
    pub definitions: usize,
    /// Definitions of each query of a second round.
    pub second_definitions: usize,
    /// Relevance of the best definition below which the question is refused.
    pub refuse_below: RefuseBelow,
    /// Characters of a definition that a model is shown.
    pub shown_characters: usize,
    /// Least share of the words of a statement that must stand in the code and its description, 0
    /// to 1: an explanation has words of its own.
    pub minimum_coverage: f32,
    /// Tokens of the explanation at most.
    pub reply_tokens: usize,
}

impl CodeExplanationConfig {
    /// Everything that is wrong with the values, one line each.
    pub fn problems(&self) -> Vec<String> {
        let rules = [
            (self.definitions > 0, "definitions must be at least 1"),
            (
                self.second_definitions > 0,
                "second_definitions must be at least 1",
            ),
            (
                self.shown_characters > 0,
                "shown_characters must be at least 1",
            ),
            (self.reply_tokens > 0, "reply_tokens must be at least 1"),
            (
                [self.refuse_below.zh, self.refuse_below.en]
                    .iter()
                    .all(|least| (0.0..=1.0).contains(least)),
                "refuse_below must lie between 0 and 1 in both languages",
            ),
            (
                (0.0..=1.0).contains(&self.minimum_coverage),
                "minimum_coverage must lie between 0 and 1",
            ),
        ];
        let broken = rules.into_iter().filter(|(holds, _)| !holds);
        let broken = broken.map(|(_, rule)| format!("code.{rule}"));
        broken.chain(self.scope.problems("code.scope")).collect()
    }
}

/// A relevance, 0 to 1, by language of the question: one in Chinese has few words in common with code
/// whose comments are English, and a low relevance even where the definition is right.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RefuseBelow {
    /// For questions in Chinese.
    pub zh: f32,
    /// For all others.
    pub en: f32,
}

impl RefuseBelow {
    fn of(self, is_chinese: bool) -> f32 {
        if is_chinese { self.zh } else { self.en }
    }
}

/// Definitions that were found.
pub struct CodeFound {
    pub found: Found,
    definitions: Vec<CodeHit>,
    files: Vec<CodeFile>,
}

impl CodeFound {
    /// Whether the best definition is relevant enough. Where nobody estimates the relevance of any,
    /// one is enough.
    pub fn is_answerable(&self) -> bool {
        let known = self.definitions.iter().filter_map(|hit| hit.relevance);
        let best = known.reduce(f32::max).unwrap_or(1.0);
        !self.definitions.is_empty() && best >= self.found.bar.refuse_below
    }

    /// What is nearest where nothing answers.
    fn nearest(&self, shown_characters: usize) -> Vec<Source> {
        let is_related = |hit: &&CodeHit| {
            hit.relevance
                .is_none_or(|relevance| relevance >= saying::LEAST_RELATED)
        };
        let nearest = self.definitions.iter().filter(is_related);
        let numbered = (1..).zip(nearest.take(saying::RELATED));
        numbered
            .map(|(number, hit)| source(number, hit, shown_characters))
            .collect()
    }
}

/// Answers a question.
pub async fn answer(asker: &Asker, asked: &Asked, events: &Events) -> Result<Answer, SearchError> {
    let mut steps = Steps::begin();
    let understood = finding::understand(asker, asked, events, &mut steps).await;
    let asked = &asked.within(asker.config().code.scope.filter());
    let mut found = find(asker, asked, understood, 1, events, &mut steps).await?;
    let said = explain(asker, asked, &mut found, events, &mut steps).await?;
    events.send(AskEvent::CodeDone(done(&said))).await;
    let nearest = found.nearest(asker.config().code.shown_characters);
    let mut answer = saying::written(asker, asked, found.found, said, steps);
    if answer.verdict == Verdict::Refused {
        answer.related = nearest;
    }
    Ok(answer)
}

/// What is told of a part that is over.
pub fn done(said: &Said) -> PartDone {
    PartDone {
        verdict: Some(said.verdict.unwrap_or(Verdict::Refused)),
        failure: None,
    }
}

/// Definitions for a question, and for what a model says is missing; their numbers begin at `first`.
pub async fn find(
    asker: &Asker,
    asked: &Asked,
    understood: Understood,
    first: u32,
    events: &Events,
    steps: &mut Steps,
) -> Result<CodeFound, SearchError> {
    events.step("code_retrieval").await;
    let Understood {
        understanding,
        degraded,
    } = understood;
    let question = understanding.standalone_question.clone();
    let config = &asker.config().code;
    let queries = vec![question.clone()];
    let mut code = CodeFound {
        found: Found {
            review: Some(Review::default()),
            bar: Bar::of(config.refuse_below.of(saying::is_chinese_question(asked))),
            ..Found::new(
                asker,
                understanding,
                Vec::new(),
                degraded.into_iter().collect(),
            )
        },
        definitions: Vec::new(),
        files: Vec::new(),
    };
    let wanted = asked.request.top_k.unwrap_or(config.definitions);
    add(asker, asked, &mut code, &queries, wanted).await?;
    number(asker, &mut code, first);
    let took_ms = steps.end("code_retrieval");
    show(&code, took_ms, events).await;
    if code.is_answerable() {
        let missing = missing(asker, &question, &mut code, events).await;
        steps.end("sufficiency");
        if !missing.is_empty() {
            events.step("second_retrieval").await;
            add(asker, asked, &mut code, &missing, config.second_definitions).await?;
            number(asker, &mut code, first);
            let took_ms = steps.end("second_retrieval");
            show(&code, took_ms, events).await;
        }
    }
    Ok(code)
}

/// Adds what these queries find and was not found before.
async fn add(
    asker: &Asker,
    asked: &Asked,
    code: &mut CodeFound,
    queries: &[String],
    wanted: usize,
) -> Result<(), SearchError> {
    let maximum = asker.parts.retriever.limits().maximum_top_k;
    let requests: Vec<CodeSearchRequest> = queries
        .iter()
        .map(|query| CodeSearchRequest {
            query: query.clone(),
            filter: asked.request.filter.clone(),
            top_k: Some(wanted.min(maximum)),
            rerank: asked.request.rerank,
            ..CodeSearchRequest::default()
        })
        .collect();
    let _permit = finding::permit(asker).await?;
    let retriever = &asker.parts.retriever;
    let searches = requests
        .iter()
        .map(|request| retriever.search_code(request, &asked.principal));
    let mut round = ReviewedRound {
        queries: queries.to_vec(),
        ..ReviewedRound::default()
    };
    for response in try_join_all(searches).await? {
        let lesser = response.degraded.iter();
        lesser.for_each(|what| degrade(&mut code.found.degraded, what));
        for hit in response.hits {
            let is_known = code
                .definitions
                .iter()
                .any(|known| known.chunk_id == hit.chunk_id);
            if !is_known {
                round.found += 1;
                code.definitions.push(hit);
            }
        }
        for file in response.files {
            let is_known = code
                .files
                .iter()
                .any(|known| known.document_id == file.document_id);
            if !is_known {
                code.files.push(file);
            }
        }
    }
    round.relevant = round.found;
    if let Some(review) = &mut code.found.review {
        review.code_rounds.push(round);
    }
    Ok(())
}

/// Makes sources of the definitions.
fn number(asker: &Asker, code: &mut CodeFound, first: u32) {
    let shown = asker.config().code.shown_characters;
    let numbered = (first..).zip(&code.definitions);
    code.found.sources = numbered
        .map(|(number, hit)| source(number, hit, shown))
        .collect();
}

/// A definition as a source: whole lines of it.
fn source(number: u32, hit: &CodeHit, shown_characters: usize) -> Source {
    let text = whole_lines(&hit.text, shown_characters);
    Source {
        number,
        cited: false,
        chunk_id: hit.chunk_id,
        document_id: hit.document_id.clone(),
        version: hit.version,
        source: hit.source.clone(),
        source_path: hit.source_path.clone(),
        title: hit.source_path.clone(),
        section_path: vec![hit.function.clone()],
        pages: Vec::new(),
        url: hit.url.clone(),
        kind: ChunkKind::CodeFunction,
        text,
        language: Some(hit.language.clone()),
        description: Some(hit.description.clone()),
        lines: Some(Lines {
            first: hit.start_line,
            last: hit.end_line,
        }),
        images: Vec::new(),
        relevance: hit.relevance,
        spans: Vec::new(),
        live: None,
    }
}

fn whole_lines(text: &str, characters: usize) -> String {
    let mut shown = String::new();
    let mut count = 0;
    for line in text.split_inclusive('\n') {
        count += line.chars().count();
        if count > characters && !shown.is_empty() {
            break;
        }
        shown.push_str(line);
    }
    shown.chars().take(characters).collect()
}

async fn show(code: &CodeFound, took_ms: f64, events: &Events) {
    let (files, sources) = match code.is_answerable() {
        true => (code.files.clone(), code.found.sources.clone()),
        false => (Vec::new(), Vec::new()),
    };
    let retrieved = CodeRetrieved {
        files,
        sources,
        took_ms,
    };
    events.send(AskEvent::CodeRetrieval(retrieved)).await;
}

/// Queries for what the definitions lack; none where they are enough or nobody says.
async fn missing(
    asker: &Asker,
    question: &str,
    code: &mut CodeFound,
    events: &Events,
) -> Vec<String> {
    let limit = asker.config().textbook.second_queries;
    if limit == 0 {
        return Vec::new();
    }
    events.step("sufficiency").await;
    let calls = textbook::calls(asker, question);
    let judged = judging::sufficiency(calls, &code.found.sources, &[question]).await;
    let Some(mut judged) = judged else {
        degrade(&mut code.found.degraded, "sufficiency");
        return Vec::new();
    };
    judged.missing.truncate(limit);
    let rounds = code
        .found
        .review
        .as_mut()
        .map(|review| &mut review.code_rounds);
    if let Some(round) = rounds.and_then(|rounds| rounds.last_mut()) {
        round.sufficient = Some(judged.is_sufficient);
        round.missing.clone_from(&judged.missing);
    }
    judged.missing
}

/// Explains what was found, or refuses where nothing of it answers.
pub async fn explain(
    asker: &Asker,
    asked: &Asked,
    code: &mut CodeFound,
    events: &Events,
    steps: &mut Steps,
) -> Result<Said, SearchError> {
    let manner = manner(asker, saying::is_chinese_question(asked));
    let saying = Saying {
        asker,
        asked,
        manner: &manner,
        events,
    };
    if !code.is_answerable() {
        return Ok(saying.refuse().await);
    }
    events.step("answer").await;
    let mut said = match saying.by_role(&mut code.found, steps).await? {
        Some(said) => said,
        None => listed(&saying, code).await,
    };
    saying.divide(&mut said, &mut code.found);
    steps.end("answer");
    Ok(said)
}

fn manner(asker: &Asker, is_chinese: bool) -> Manner {
    let headings = form::CODE.iter();
    let values: Map<String, Value> = headings
        .map(|part| (part.name.to_owned(), part.heading(is_chinese).into()))
        .collect();
    let unknown = match is_chinese {
        true => "（以上代码不在源文件中。）",
        false => "(This code stands in no source file.)",
    };
    Manner {
        prompt: CODE_EXPLANATION,
        form: Form {
            values: Value::Object(values),
            chunk: |text| AskEvent::CodeDescriptionChunk { text },
            verbatim: Some((unknown.to_owned(), usize::MAX)),
        },
        parts: form::CODE,
        minimum_coverage: asker.config().code.minimum_coverage,
        reply_tokens: Some(asker.config().code.reply_tokens),
    }
}

/// Signatures and descriptions, as they are known.
async fn listed(saying: &Saying<'_>, code: &CodeFound) -> Said {
    let mut said = Said {
        verdict: Some(Verdict::Extractive),
        ..Said::default()
    };
    let is_chinese = saying.is_chinese();
    let known: Vec<(u32, &CodeHit)> = code
        .found
        .sources
        .iter()
        .map(|source| source.number)
        .zip(&code.definitions)
        .take(MAXIMUM_LISTED)
        .collect();
    let purpose = known.first().map(|(number, hit)| {
        let file = code
            .files
            .iter()
            .find(|file| file.document_id == hit.document_id);
        let summary = file.map_or("", |file| file.summary.trim());
        let text = if summary.is_empty() {
            hit.description.trim()
        } else {
            summary
        };
        format!("{} [{number}]", plain(text))
    });
    let functions: Vec<String> = known
        .iter()
        .map(|(number, hit)| function(*number, hit))
        .collect();
    let flow: Vec<String> = known
        .iter()
        .filter(|(_, hit)| !hit.calls.is_empty())
        .map(|(number, hit)| calls(*number, hit))
        .collect();
    let parts = [
        (form::PURPOSE, purpose.unwrap_or_default()),
        (form::KEY_FUNCTIONS, functions.join("\n")),
        (form::FLOW, flow.join("\n")),
    ];
    for (part, text) in parts.iter().filter(|(_, text)| !text.is_empty()) {
        let gap = if said.text.is_empty() { "" } else { "\n\n" };
        let text = format!("{gap}{}{text}", part.line(is_chinese));
        saying.show(&mut said, &text).await;
    }
    for (number, _) in known {
        saying.cite(&mut said, number).await;
    }
    said
}

fn function(number: u32, hit: &CodeHit) -> String {
    let place = format!("{}:{}-{}", hit.source_path, hit.start_line, hit.end_line);
    let signature = if hit.signature.is_empty() {
        &hit.function
    } else {
        &hit.signature
    };
    let signature = signature.replace('`', "'");
    format!(
        "- `{signature}` ({place}): {} [{number}]",
        plain(&hit.description)
    )
}

fn calls(number: u32, hit: &CodeHit) -> String {
    let names = hit.calls.iter().take(MAXIMUM_CALLS);
    let names: Vec<String> = names
        .map(|name| format!("`{}`", name.replace('`', "'")))
        .collect();
    format!(
        "- `{}` → {} [{number}]",
        hit.function.replace('`', "'"),
        names.join(", ")
    )
}

/// In one line, and without what looks like a citation or a heading.
fn plain(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    crate::answer::extractive::escaped(line.trim_start_matches('#'))
}

/// A question without an understanding of its own.
pub fn understood(understanding: &Understanding) -> Understood {
    Understood {
        understanding: understanding.clone(),
        degraded: None,
    }
}
