//! The list of tools: what each is for, takes and answers, and the way to it.

use std::sync::LazyLock;

use rmcp::model::{ErrorData, JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tributary_schemas::Filter;

use super::engine::{Engine, Reporter};
use super::{Reply, ask, documents, judge, knowledge_sets, query_table, schema, search, tables};
use crate::http::words::{in_words, probably_meant};
use crate::problem::{Code, Problem};
use tributary_schemas::judging::{Judgement, QuestionToJudge};
use tributary_schemas::table_query::TableAnswer;

const SEARCH: &str = "Find passages of documents by keywords and by meaning. Ask with the user's own words, in \
    their language; identifiers, error codes and file names are found as they are written. Each passage has a \
    `relevance` from 0 to 1 that means the same for every question: below about 0.3 the answer is probably not there.";
const ASK: &str = "Answer a question from the documents, with citations. The answer cites passages by number; \
    `sources` has them with title, path and text. Where the documents hold no answer, the verdict is `refused` and \
    `related` has what is closest. Slower than `search`, which is enough where you can read passages yourself.";
const SEARCH_CODE: &str = "Find functions, methods, types and macros of indexed source code by what they do or by \
    name, and the files that they are in, with lines, signature, description and code.";
const GET_DOCUMENT: &str = "Read a document as Markdown, from the beginning or from a passage on, with its outline. \
    Name it as a hit does: by `document_id`, or by `source/path`. Long documents come in parts: go on with `from` = `next`.";
const GET_SECTION: &str = "Read one section of a document with everything below its heading, as Markdown. The \
    `section_path` is that of a hit, or of the outline of `get_document`.";
const LIST_SETS: &str = "List the knowledge sets that a search can be limited to, with what is in each and how many \
    documents it has.";
const GET_TABLE: &str = "Read rows of a table of a spreadsheet or delimited text, by column. Without `table` it \
    lists the document's tables with their columns. `equal` keeps rows whose columns have these values.";
const QUERY_TABLE: &str = "Ask tables of spreadsheets and delimited text: counts, sums, highest and lowest values, rows that \
    meet conditions, joins. A model writes an SQL statement, or you do in `sql`; the answer has the rows, the statement, \
    where each row stands, and the tables with their columns.";
const JUDGE_ANSWER: &str = "Judge a student's answer to a question with options or in words, from the documents: whether it is \
    right and how sure that is, the right answer, why, and for words what would make it better. A `correct_answer` decides \
    where you know it.";

static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    vec![
        tool::<search::SearchArguments, search::Found>("search", "Search documents", SEARCH),
        tool::<ask::AskArguments, ask::Answered>("ask", "Ask a question", ASK),
        tool::<search::CodeArguments, search::FoundCode>("search_code", "Search code", SEARCH_CODE),
        tool::<documents::DocumentArguments, documents::DocumentText>(
            "get_document",
            "Read a document",
            GET_DOCUMENT,
        ),
        tool::<documents::SectionArguments, documents::SectionText>(
            "get_section",
            "Read a section",
            GET_SECTION,
        ),
        tool::<knowledge_sets::SetArguments, knowledge_sets::Sets>(
            "list_knowledge_sets",
            "List knowledge sets",
            LIST_SETS,
        ),
        tool::<tables::TableArguments, tables::TableRows>("get_table", "Read a table", GET_TABLE),
        tool::<query_table::QueryArguments, TableAnswer>("query_table", "Ask tables", QUERY_TABLE),
        tool::<QuestionToJudge, Judgement>("judge_answer", "Judge an answer", JUDGE_ANSWER),
    ]
});

/// All tools.
pub fn all() -> &'static [Tool] {
    &TOOLS
}

fn tool<Arguments: JsonSchema, Answer: JsonSchema>(
    name: &'static str,
    title: &str,
    description: &'static str,
) -> Tool {
    let reads = ToolAnnotations::with_title(title)
        .read_only(true)
        .idempotent(true)
        .open_world(false);
    Tool::new(name, description, schema::input::<Arguments>())
        .with_title(title)
        .with_raw_output_schema(schema::output::<Answer>())
        .with_annotations(reads)
}

/// Calls a tool of the list.
pub async fn call(
    engine: &Engine,
    name: &str,
    arguments: JsonObject,
    reporter: Reporter<'_>,
) -> Result<Reply, Problem> {
    match name {
        "search" => search::search(engine, read(name, arguments)?).await,
        "ask" => ask::ask(engine, read(name, arguments)?, reporter).await,
        "search_code" => search::search_code(engine, read(name, arguments)?).await,
        "get_document" => documents::document(engine, read(name, arguments)?).await,
        "get_section" => documents::section(engine, read(name, arguments)?).await,
        "list_knowledge_sets" => knowledge_sets::list(engine, read(name, arguments)?).await,
        "get_table" => tables::rows(engine, read(name, arguments)?).await,
        "query_table" => query_table::query(engine, read(name, arguments)?).await,
        "judge_answer" => judge::judge(engine, read(name, arguments)?).await,
        _ => Err(Problem::new(
            Code::NotFound,
            format!("there is no tool `{name}`"),
        )),
    }
}

/// The arguments of a call. What is wrong with them is a result and not a failure of the protocol,
/// so that the model reads it and tries again.
fn read<T: DeserializeOwned>(tool: &str, arguments: JsonObject) -> Result<T, Problem> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| {
        let text = in_words(&error.to_string());
        let code = match text.starts_with("unknown field") {
            true => Code::UnknownField,
            false => Code::Invalid,
        };
        let hint = match probably_meant(&text).filter(|_| code == Code::UnknownField) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("the schema of `{tool}` says what it takes"),
        };
        Problem::new(code, format!("arguments of `{tool}`: {text}")).with_hint(hint)
    })
}

/// There is no such tool: an error of the protocol, as it says.
pub fn unknown(name: &str) -> ErrorData {
    let names = all().iter().map(|tool| tool.name.as_ref());
    let near = tributary_taxonomy::nearest(name, names);
    let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    ErrorData::invalid_params(format!("there is no tool `{name:.100}`{near}"), None)
}

/// A filter and the knowledge sets that stand beside it.
pub fn with_sets(
    mut filter: Filter,
    knowledge_sets: Option<Vec<String>>,
) -> Result<Filter, Problem> {
    if knowledge_sets.is_none() {
        return Ok(filter);
    }
    if filter.knowledge_sets.is_some() {
        let what = "`knowledge_sets` stands beside `filter` and in it";
        return Err(Problem::new(Code::Invalid, what).with_hint("leave one of them out"));
    }
    filter.knowledge_sets = knowledge_sets;
    Ok(filter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_teaches_what_it_takes_and_gives() {
        for tool in all() {
            assert!(
                tool.description
                    .as_ref()
                    .is_some_and(|text| text.len() > 60)
            );
            let properties = tool.input_schema.get("properties");
            let properties = properties.and_then(Value::as_object);
            for (name, schema) in properties.into_iter().flatten() {
                let described = schema["description"].as_str().unwrap_or_default();
                assert!(described.len() > 10, "{}: {name}: {schema}", tool.name);
            }
            let output = tool.output_schema.as_ref();
            assert!(output.is_some_and(|schema| schema["type"] == "object"));
        }
    }

    #[test]
    fn arguments_that_are_wrong_are_explained() {
        let arguments = |text: &str| {
            serde_json::from_str::<JsonObject>(text).unwrap_or_else(|error| panic!("{error}"))
        };
        let table = [
            (
                r#"{"query": "x", "topk": 3}"#,
                Code::UnknownField,
                "did you mean `top_k`?",
            ),
            (r#"{"query": 3}"#, Code::Invalid, "the schema of `search`"),
            ("{}", Code::Invalid, "the schema of `search`"),
            (
                r#"{"query": "x", "knowledge_sets": null}"#,
                Code::Invalid,
                "the schema",
            ),
            (
                r#"{"query": "x", "filter": {"tags": null}}"#,
                Code::Invalid,
                "the schema",
            ),
        ];
        for (given, code, hint) in table {
            let refused = read::<search::SearchArguments>("search", arguments(given));
            let Err(problem) = refused else {
                panic!("{given} is taken");
            };
            assert_eq!(problem.code(), code, "{given}: {problem}");
            assert!(
                problem.hint().is_some_and(|text| text.contains(hint)),
                "{problem:?}"
            );
        }
    }

    #[test]
    fn a_tool_that_is_not_there_is_answered_with_the_nearest() {
        let error = unknown("serch");
        assert!(
            error.message.contains("did you mean `search`?"),
            "{error:?}"
        );
    }
}
