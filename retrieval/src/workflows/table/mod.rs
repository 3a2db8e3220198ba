//! The workflow `table`: choose tables, have a statement written, run it, mend it once, show its rows.
//! Also what `POST /v1/tables/query` does, and what a general answer asks beside its search.

mod telling;
mod writing;

use std::time::Instant;

use tributary_schemas::Filter;
use tributary_schemas::ask::{Answer, AskEvent, Source, Verdict};
use tributary_schemas::search::Hit;
use tributary_schemas::table_query::{
    ANSWERED, DocumentTable, NO_TABLES, TIMED_OUT, TableAnswer, TableList, TableQueryRequest,
    UNCLEAR,
};
use tributary_taxonomy::language::is_chinese;

use self::writing::Written;
use super::finding::{self, Found};
use super::saying::Told;
use super::{Asked, Asker, Steps, saying};
use crate::access::Principal;
use crate::answer::passages;
use crate::document::DocumentParts;
use crate::elapsed::elapsed_ms;
use crate::error::SearchError;
use crate::events::Events;
use crate::retriever::degrade;
use crate::tables::{Chosen, Ran, Refused, hint};

/// What is named in `degraded` where no model wrote a statement.
const DEGRADED: &str = "sql";

/// What tables are asked.
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    pub question: &'a str,
    /// A statement of the caller's.
    pub sql: Option<&'a str>,
    pub filter: &'a Filter,
    pub principal: &'a Principal,
    pub maximum_rows: Option<usize>,
}

/// What came of it.
pub struct FromTables {
    pub answer: TableAnswer,
    /// What the search found of the documents of `answer.tables`.
    hits: Vec<Option<Hit>>,
}

impl Asker {
    /// Asks tables of documents that the principal may see.
    pub async fn query_tables(
        &self,
        request: &TableQueryRequest,
        principal: &Principal,
    ) -> Result<TableAnswer, SearchError> {
        if request.question.trim().is_empty() && request.sql.is_none() {
            return Err(SearchError::EmptyQuery);
        }
        let limit = self.parts.retriever.limits().query_limit_bytes;
        if request.question.len() > limit {
            return Err(SearchError::QueryTooLong {
                bytes: request.question.len(),
                maximum: limit,
            });
        }
        self.check_rows(request.maximum_rows)?;
        let asking = Asking {
            question: request.question.trim(),
            sql: request.sql.as_deref(),
            filter: &request.filter,
            principal,
            maximum_rows: request.maximum_rows,
        };
        Ok(ask(self, asking, None).await?.answer)
    }

    fn check_rows(&self, wanted: Option<usize>) -> Result<(), SearchError> {
        let maximum = self.config().table.maximum_rows;
        match wanted {
            Some(wanted) if !(1..=maximum).contains(&wanted) => Err(SearchError::Invalid(format!(
                "maximum_rows is {wanted}, it must be between 1 and {maximum}"
            ))),
            _ => Ok(()),
        }
    }

    /// Lists tables of documents that the principal may see, by document id after this one.
    pub async fn list_tables(
        &self,
        filter: &Filter,
        principal: &Principal,
        after: Option<&str>,
        limit: usize,
    ) -> Result<TableList, SearchError> {
        self.tables.list(filter, principal, after, limit).await
    }
}

/// Answers a question from tables alone.
pub async fn answer(asker: &Asker, asked: &Asked, events: &Events) -> Result<Answer, SearchError> {
    let mut steps = Steps::begin();
    let understood = finding::understand(asker, asked, events, &mut steps).await;
    let question = understood.understanding.standalone_question.clone();
    let asking = Asking {
        question: &question,
        sql: None,
        filter: &asked.request.filter,
        principal: &asked.principal,
        maximum_rows: None,
    };
    let found = ask(asker, asking, Some((events, &mut steps))).await?;
    let table = found.answer.clone();
    events.send(AskEvent::Table(Box::new(table.clone()))).await;
    let sources = sources(asker, &found, &asked.principal).await?;
    let mut degraded: Vec<String> = understood.degraded.into_iter().collect();
    for what in &table.degraded {
        degrade(&mut degraded, what);
    }
    let is_chinese = is_chinese(&asked.request.question);
    let told = match table.err_code {
        ANSWERED => Told {
            text: telling::rows(
                &table,
                &sources,
                asker.config().table.shown_rows,
                is_chinese,
            ),
            verdict: Verdict::Answered,
            cited: sources.iter().map(|source| source.number).collect(),
            model: table.model.clone(),
        },
        TIMED_OUT | UNCLEAR if !sources.is_empty() => Told {
            text: telling::unasked(&table, &sources, is_chinese),
            verdict: Verdict::Extractive,
            cited: sources.iter().map(|source| source.number).collect(),
            model: table.model.clone(),
        },
        _ => Told {
            text: asker.config().refusal.sentence(is_chinese).to_owned(),
            verdict: Verdict::Refused,
            cited: Vec::new(),
            model: table.model.clone(),
        },
    };
    let hits = match table.err_code {
        ANSWERED => Vec::new(),
        _ => found.hits.into_iter().flatten().collect(),
    };
    let found = Found {
        sources,
        table: Some(Box::new(table)),
        ..Found::new(asker, understood.understanding, hits, degraded)
    };
    Ok(saying::told(asker, asked, found, told, events, steps).await)
}

/// What tables say beside a search, and that as a passage; `None` where they say nothing.
pub async fn beside(
    asker: &Asker,
    asked: &Asked,
    question: &str,
) -> Result<(TableAnswer, Option<Source>), SearchError> {
    let asking = Asking {
        question,
        sql: None,
        filter: &asked.request.filter,
        principal: &asked.principal,
        maximum_rows: None,
    };
    let found = ask(asker, asking, None).await?;
    let says_something = found.answer.err_code == ANSWERED && !found.answer.rows.is_empty();
    let mut source = None;
    if says_something {
        let sources = sources(asker, &found, &asked.principal).await?;
        let text = telling::passage(&found.answer, asker.config().table.shown_rows);
        source = sources.into_iter().next().map(|source| Source {
            text,
            images: Vec::new(),
            ..source
        });
    }
    Ok((found.answer, source))
}

/// Chooses tables, has a statement written where none is given, runs it.
async fn ask(
    asker: &Asker,
    asking: Asking<'_>,
    mut told: Option<(&Events, &mut Steps)>,
) -> Result<FromTables, SearchError> {
    let started = Instant::now();
    if let Some((events, _)) = &told {
        events.step("tables").await;
    }
    let looked_for = match (asking.question, asking.sql) {
        ("", Some(sql)) => sql,
        (question, _) => question,
    };
    let reader = &asker.tables;
    let mut chosen = {
        let _permit = finding::permit(asker).await?;
        reader
            .choose(looked_for, asking.filter, asking.principal)
            .await?
    };
    if let Some((events, steps)) = &mut told {
        steps.end("tables");
        events.step("sql").await;
    }
    let answer = TableAnswer {
        question: asking.question.to_owned(),
        tables: std::mem::take(&mut chosen.tables),
        degraded: std::mem::take(&mut chosen.degraded),
        ..TableAnswer::default()
    };
    let hits = std::mem::take(&mut chosen.hits);
    let mut answer = answered(asker, asking, &chosen, answer).await?;
    if let Some((_, steps)) = &mut told {
        steps.end("sql");
    }
    answer.took_ms = elapsed_ms(started);
    Ok(FromTables { answer, hits })
}

async fn answered(
    asker: &Asker,
    asking: Asking<'_>,
    chosen: &Chosen,
    mut answer: TableAnswer,
) -> Result<TableAnswer, SearchError> {
    if answer.tables.is_empty() {
        let unmet = asker
            .retriever()
            .unmet_condition(asking.filter, asking.principal)
            .await?;
        let why = unmet.map(|unmet| format!(": {}", unmet.describe()));
        let message = format!(
            "no document that may be asked has a table{}",
            why.unwrap_or_default()
        );
        return Ok(failed(answer, NO_TABLES, &message));
    }
    let most = asking
        .maximum_rows
        .unwrap_or(asker.config().table.maximum_rows);
    if let Some(sql) = asking.sql {
        let ran = asker.tables.run(sql, chosen, most).await?;
        return Ok(with(answer, sql, ran));
    }
    let writer = writing::Writer::new(asker, asking.question, &answer.tables);
    answer.model = writer.model();
    let sql = match writer.write(None).await {
        Written::Statement(sql) => sql,
        Written::Nothing(code, message) => {
            let is_unwritten = code == writing::NO_MODEL || code == TIMED_OUT;
            if is_unwritten {
                degrade(&mut answer.degraded, DEGRADED);
            }
            let code = if code == writing::NO_MODEL {
                UNCLEAR
            } else {
                code
            };
            return Ok(failed(answer, code, &message));
        }
    };
    let ran = asker.tables.run(&sql, chosen, most).await?;
    let Err(Refused::Statement(why)) = &ran else {
        return Ok(with(answer, &sql, ran));
    };
    if !asker.config().table.repair {
        return Ok(with(answer, &sql, ran));
    }
    match writer.write(Some((&sql, why))).await {
        Written::Statement(mended) => {
            let ran = asker.tables.run(&mended, chosen, most).await?;
            let mut answer = with(answer, &mended, ran);
            answer.repaired = answer.err_code == ANSWERED;
            Ok(answer)
        }
        Written::Nothing(..) => Ok(with(answer, &sql, ran)),
    }
}

fn failed(mut answer: TableAnswer, code: u16, message: &str) -> TableAnswer {
    answer.err_code = code;
    answer.err_msg = message.to_owned();
    answer
}

/// The answer with what a statement gave.
fn with(mut answer: TableAnswer, sql: &str, ran: Result<Ran, Refused>) -> TableAnswer {
    answer.sql = sql.to_owned();
    let ran = match ran {
        Ok(ran) => ran,
        Err(refused) => {
            let code = match refused {
                Refused::Statement(_) => UNCLEAR,
                Refused::Limit(_) => TIMED_OUT,
            };
            return failed(answer, code, refused.message());
        }
    };
    answer.chart = hint(&ran.rows.columns, &ran.rows.rows);
    answer.executed_sql = ran.sql;
    answer.columns = ran.rows.columns;
    answer.rows = ran.rows.rows;
    answer.truncated = ran.rows.truncated;
    answer.origins = ran.origins;
    for (at, table) in answer.tables.iter_mut().enumerate() {
        table.used = ran.reads.contains(&at);
    }
    answer
}

/// A passage of each document whose tables were read, by number; of all where none was.
async fn sources(
    asker: &Asker,
    found: &FromTables,
    principal: &Principal,
) -> Result<Vec<Source>, SearchError> {
    let is_read = found.answer.tables.iter().any(|table| table.used);
    let mut sources: Vec<Source> = Vec::new();
    for (table, hit) in found.answer.tables.iter().zip(&found.hits) {
        let is_shown = |source: &Source| source.document_id == table.document_id;
        if table.used != is_read || sources.iter().any(is_shown) {
            continue;
        }
        let number = u32::try_from(sources.len() + 1).unwrap_or(u32::MAX);
        let source = match hit {
            Some(hit) => Some(passages::source(number, hit, hit.text.clone())),
            None => first_passage(asker, number, table, principal).await?,
        };
        sources.extend(source);
    }
    Ok(sources)
}

/// The beginning of a document that the search did not find by itself.
async fn first_passage(
    asker: &Asker,
    number: u32,
    table: &DocumentTable,
    principal: &Principal,
) -> Result<Option<Source>, SearchError> {
    let wanted = DocumentParts {
        passages: 1,
        pictures_of: 0,
    };
    let retriever = &asker.parts.retriever;
    let view = retriever
        .document(&table.document_id, wanted, principal)
        .await?;
    let passage = view.and_then(|view| view.passages.into_iter().next());
    Ok(passage.map(|passage| telling::first_source(number, table, passage)))
}
