//! The workflow `report`: a model plans sections with questions, one search finds passages for all of
//! them, and the sections are written at the same time, each from the passages that are best for it.
//! The list of sources is ours. A section that no model writes is in the words of its passages.

mod attributed;
mod config;
mod fitting;
mod kept;
mod live;
mod outline;
mod section;

use std::collections::BTreeMap;

use futures::{StreamExt, stream};
use tributary_schemas::ask::{Answer, AskEvent, Source, Verdict};
use tributary_schemas::report::{
    Depth, KeptSection, Outline, Report, ReportPart, ReportPlan, WrittenBy, WrittenSection,
};
use tributary_schemas::understanding::Understanding;
use tributary_taxonomy::language::is_chinese;

use super::finding::{self, Found};
use super::saying::{self, Said, blocking};
use super::{Asked, Asker, Steps};
use crate::answer::support;
use crate::error::SearchError;
use crate::events::Events;
use crate::retriever::degrade;
use crate::understand::Understood;
pub use config::ReportConfig;
use fitting::fitted;
pub use kept::ReportKeeper;
use section::Writing;

/// What is named in `degraded` where a section was not written by a model, or not to its end.
const LESSER_REPORT: &str = "report";
/// What is named where no model planned the sections.
const LESSER_OUTLINE: &str = "outline";
/// What is named where a part could not be kept: going on would begin with it anew.
const UNKEPT: &str = "kept_report";

/// Writes a report, or goes on with one.
pub async fn answer(asker: &Asker, asked: &Asked, events: &Events) -> Result<Answer, SearchError> {
    let mut steps = Steps::begin();
    let keeper = asked.report.as_ref();
    let (mut found, outline) = match keeper.and_then(ReportKeeper::plan) {
        Some(plan) => {
            let filter = &asked.request.filter;
            asker.check_plan(plan, filter, &asked.principal).await?;
            let found = found_before(asker, plan, events).await;
            (found, plan.outline.clone())
        }
        None => {
            let (found, outline) = planned(asker, asked, events, &mut steps).await?;
            match outline {
                Some(outline) => (found, outline),
                None => return Ok(saying::refuse(asker, asked, found, events, steps).await),
            }
        }
    };
    events.send(AskEvent::Outline(outline.clone())).await;
    events.step("sections").await;
    let writing = Writing {
        asker,
        asked,
        question: &found.understanding.standalone_question,
        is_chinese: is_chinese(&asked.request.question),
        outline: &outline,
        sources: &found.sources,
        keeper,
    };
    let written = write(&writing, events).await?;
    steps.end("sections");
    if written.iter().all(|one| is_refused(&one.section))
        || is_beside_the_question(&written, &found)
    {
        return Ok(saying::refuse(asker, asked, found, events, steps).await);
    }
    let depth = asked.request.depth.unwrap_or_default();
    let mut said = said(asker, &outline, depth, written, &mut found, events).await?;
    if let (Some(report), Some(keeper)) = (&mut said.report, keeper) {
        keeper.id().clone_into(&mut report.id);
    }
    Ok(saying::written(asker, asked, found, said, steps))
}

/// What a report that is gone on with was begun with.
async fn found_before(asker: &Asker, plan: &ReportPlan, events: &Events) -> Found {
    let (understanding, degraded) = (plan.understanding.clone(), plan.degraded.clone());
    let found = Found {
        sources: plan.sources.clone(),
        ..Found::new(asker, understanding, Vec::new(), degraded)
    };
    finding::tell(&found.understanding, events).await;
    finding::show(&found, 0.0, events).await;
    found
}

/// What a report is written from, kept before any section is; no outline where nothing answers.
async fn planned(
    asker: &Asker,
    asked: &Asked,
    events: &Events,
    steps: &mut Steps,
) -> Result<(Found, Option<Outline>), SearchError> {
    let sections = asked.request.depth.unwrap_or_default().sections();
    let understood = finding::understand(asker, asked, events, steps).await;
    events.step("outline").await;
    let question = understood.understanding.standalone_question.clone();
    let planned = outline::by_model(asker, asked, &question, sections).await;
    steps.end("outline");
    events.step("retrieval").await;
    let live = live::search(asker, asked, &question, planned.as_ref());
    let searched = search(asker, asked, understood, planned.as_ref());
    let (searched, live) = futures::future::join(searched, live).await;
    let mut found = searched?;
    live::add(live, &mut found);
    let took_ms = steps.end("retrieval");
    finding::show(&found, took_ms, events).await;
    if !finding::is_answerable(&found) {
        return Ok((found, None));
    }
    let outline = planned.unwrap_or_else(|| {
        degrade(&mut found.degraded, LESSER_OUTLINE);
        outline::of_passages(&question, &found.sources, sections)
    });
    if let Some(keeper) = &asked.report {
        let plan = ReportPlan {
            understanding: found.understanding.clone(),
            outline: outline.clone(),
            sources: found.sources.clone(),
            degraded: found.degraded.clone(),
        };
        if !keeper.keep(ReportPart::Plan(Box::new(plan))).await {
            degrade(&mut found.degraded, UNKEPT);
        }
    }
    Ok((found, Some(outline)))
}

/// One search for the question and those of all sections.
async fn search(
    asker: &Asker,
    asked: &Asked,
    understood: Understood,
    outline: Option<&Outline>,
) -> Result<Found, SearchError> {
    let understanding = understood.understanding;
    let sections = outline.iter().flat_map(|outline| &outline.sections);
    let questions = sections.flat_map(|section| section.questions.iter().cloned());
    let sub_queries: Vec<String> = understanding
        .sub_queries
        .iter()
        .cloned()
        .chain(questions)
        .collect();
    let everything = Understanding {
        sub_queries,
        ..understanding.clone()
    };
    let maximum = asker.parts.retriever.limits().maximum_top_k;
    let wanted = asked.request.top_k;
    let top_k = wanted.unwrap_or(asker.config().report.top_k.min(maximum));
    let request = crate::workflows::finding::search_request(
        asker,
        &asked.request,
        &understanding.standalone_question,
    );
    let request = tributary_schemas::search::SearchRequest {
        top_k: Some(top_k),
        ..request
    };
    let searched = {
        let _permit = finding::permit(asker).await?;
        let retriever = &asker.parts.retriever;
        retriever
            .search_all(&request, &everything, &asked.principal)
            .await?
    };
    let response = searched.outcome.response;
    let degraded = response.degraded.into_iter().chain(understood.degraded);
    let degraded = degraded.collect();
    Ok(Found {
        sources: finding::sources(asker, &response.hits),
        plans: match asked.request.explain {
            true => searched.plans,
            false => Vec::new(),
        },
        ..Found::new(asker, understanding, response.hits, degraded)
    })
}

/// Writes all sections, some at the same time. Each is shown when it is there; the text of the report
/// grows in its order.
async fn write(writing: &Writing<'_>, events: &Events) -> Result<Vec<KeptSection>, SearchError> {
    let at_once = writing.asker.config().report.sections_at_once;
    let mut pending = Vec::with_capacity(writing.outline.sections.len());
    for planned in &writing.outline.sections {
        pending.push(writing.written(planned));
    }
    let mut ending = stream::iter(pending).buffer_unordered(at_once);
    let mut done: BTreeMap<usize, KeptSection> = BTreeMap::new();
    let mut shown = 0;
    while let Some(written) = ending.next().await {
        let written = written?;
        let section = Box::new(written.section.clone());
        events.send(AskEvent::Section(section)).await;
        done.insert(written.section.number, written);
        while let Some(next) = done.get(&(shown + 1)) {
            shown += 1;
            let mut text = String::new();
            if shown == 1 {
                text.push_str(&head(writing.outline));
            }
            text.push_str(&markdown(
                &next.section,
                writing.outline,
                writing.is_chinese,
            ));
            events.send(AskEvent::AnswerChunk { text }).await;
        }
    }
    Ok(done.into_values().collect())
}

/// The report as an answer: its text as it was shown, the sources behind it, what is supported.
async fn said(
    asker: &Asker,
    outline: &Outline,
    depth: Depth,
    written: Vec<KeptSection>,
    found: &mut Found,
    events: &Events,
) -> Result<Said, SearchError> {
    let is_chinese = is_chinese(&found.understanding.question);
    let mut said = Said::default();
    let mut text = head(outline);
    let mut sections = Vec::with_capacity(written.len());
    for one in written {
        text.push_str(&markdown(&one.section, outline, is_chinese));
        one.degraded
            .iter()
            .for_each(|what| degrade(&mut found.degraded, what));
        said.model = said.model.or(one.model);
        said.removed_citations += one.section.removed_citations;
        said.cited.extend(&one.section.cited);
        sections.push(one.section);
    }
    let (body, sources) = (text.clone(), found.sources.clone());
    let (minimum, analyzer) = (
        asker.config().minimum_coverage,
        asker.parts.retriever.analyzer(),
    );
    let supported = blocking(move || support::support(&body, &sources, minimum, &analyzer)).await?;
    let list = source_list(&found.sources, &said.cited, is_chinese);
    text.push_str(&list);
    events.send(AskEvent::AnswerChunk { text: list }).await;
    said.verdict = Some(verdict(
        &sections,
        supported.support.iter().all(|one| one.supported),
    ));
    said.text = text;
    said.support = match said.verdict {
        Some(Verdict::Extractive) => Vec::new(),
        _ => supported.support,
    };
    said.marks = supported.marks;
    said.report = Some(Report {
        id: String::new(),
        title: outline.title.clone(),
        depth,
        sections,
    });
    Ok(said)
}

/// Whether no model read passages that are a little relevant: they are about something else. Pages of
/// the web were found for the question.
fn is_beside_the_question(written: &[KeptSection], found: &Found) -> bool {
    let is_unread = |one: &KeptSection| one.section.written_by != WrittenBy::Model;
    let has_pages = found.sources.iter().any(|source| source.live.is_some());
    written.iter().all(is_unread) && !has_pages && !finding::is_extractable(found)
}

/// Whether the passages say nothing to a section.
fn is_refused(section: &WrittenSection) -> bool {
    section.written_by == WrittenBy::Nobody && section.failure.is_none()
}

fn verdict(sections: &[WrittenSection], is_supported: bool) -> Verdict {
    let by = |who: WrittenBy| sections.iter().filter(move |one| one.written_by == who);
    let is_whole = sections.iter().all(|one| one.failure.is_none());
    if by(WrittenBy::Model).next().is_none() && by(WrittenBy::Extract).next().is_some() {
        Verdict::Extractive
    } else if is_whole && is_supported && by(WrittenBy::Nobody).next().is_none() {
        Verdict::Answered
    } else {
        Verdict::Partly
    }
}

fn head(outline: &Outline) -> String {
    format!("# {}\n", outline.title)
}

/// A section under its heading. One that no model wrote says so.
fn markdown(section: &WrittenSection, outline: &Outline, is_chinese: bool) -> String {
    let mut text = String::from("\n");
    if outline.sections.len() > 1 {
        text.push_str(&format!("## {}. {}\n\n", section.number, section.title));
    }
    text.push_str(&fitted(&section.text));
    let note = match (section.written_by, &section.failure, is_chinese) {
        (WrittenBy::Extract, _, true) => "*本节没有由模型撰写，为资料原文摘录。*",
        (WrittenBy::Extract, _, false) => {
            "*No model wrote this section: it is in the words of the documents.*"
        }
        (_, Some(_), true) => "*本节没有写完。*",
        (_, Some(_), false) => "*This section ends before it is over.*",
        _ => return text,
    };
    text.push_str(&format!("\n{note}\n"));
    text
}

/// What is cited, by number.
fn source_list(sources: &[Source], cited: &[u32], is_chinese: bool) -> String {
    let heading = if is_chinese {
        "资料来源"
    } else {
        "Sources"
    };
    let mut text = format!("\n## {heading}\n\n");
    for source in sources.iter().filter(|one| cited.contains(&one.number)) {
        let mut titles = vec![source.title.as_str()];
        titles.extend(source.section_path.iter().map(String::as_str));
        titles.dedup();
        let titles = in_one_line(&titles.join(" › "));
        let (titles, note) = match &source.live {
            Some(live) => (literal(&titles), live_note(&live.found_at, is_chinese)),
            None => (literal(&titles), String::new()),
        };
        let place = match source.url.is_empty() {
            true => format!("{}/{}", source.source, source.source_path),
            false => source.url.clone(),
        };
        let place = in_one_line(&place).replace(['<', '>', '`'], "");
        let is_address = place.starts_with("http://") || place.starts_with("https://");
        let place = match is_address && !place.contains(' ') {
            true => format!("<{place}>"),
            false => format!("`{place}`"),
        };
        text.push_str(&format!(
            "- \\[{}\\] {titles}, {place}{note}\n",
            source.number
        ));
    }
    text
}

/// That a source is a page of the web, and of which day.
fn live_note(found_at: &str, is_chinese: bool) -> String {
    let day: String = found_at.chars().take_while(|sign| *sign != 'T').collect();
    match is_chinese {
        true => format!("（网络，{day}）"),
        false => format!(" (web, {day})"),
    }
}

/// Signs that mean something in a line of Markdown.
const MARKUP: &str = "\\`*_[]<>~$&|";

/// A text as Markdown that is nothing but this text.
fn literal(text: &str) -> String {
    let mut literal = String::with_capacity(text.len());
    for sign in text.chars() {
        if MARKUP.contains(sign) {
            literal.push('\\');
        }
        literal.push(sign);
    }
    literal
}

fn in_one_line(text: &str) -> String {
    let text: Vec<&str> = text.split_whitespace().collect();
    text.join(" ")
}
