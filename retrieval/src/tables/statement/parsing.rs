//! Text becomes a tree, within bounds.

use sqlparser::ast::{Query, Statement};
use sqlparser::dialect::SQLiteDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer};

use super::bare_names::quoted;
use super::{Readable, Refused, refused};

/// Bytes of a statement.
const LONGEST: usize = 8000;
/// Its words and signs: what is nested deeper than SQLite takes is not even parsed.
const MOST_TOKENS: usize = 600;
/// Its operators: each nests the tree once more.
const MOST_OPERATORS: usize = 150;
/// Brackets within brackets.
pub(super) const DEEPEST: usize = 40;

pub(super) fn parse(sql: &str, tables: &[Readable]) -> Result<Box<Query>, Refused> {
    let sql = sql.trim();
    if sql.len() > LONGEST {
        return Err(refused(format!(
            "the statement is longer than {LONGEST} bytes"
        )));
    }
    let dialect = SQLiteDialect {};
    let unread =
        |error: &dyn std::fmt::Display| refused(format!("the statement cannot be read: {error}"));
    let tokens = Tokenizer::new(&dialect, sql).tokenize();
    let tokens = tokens.map_err(|error| unread(&error))?;
    let count = tokens
        .iter()
        .filter(|token| !matches!(token, Token::Whitespace(_)))
        .count();
    if count > MOST_TOKENS || operators(&tokens) > MOST_OPERATORS {
        return Err(refused("the statement has too many parts"));
    }
    let parser = Parser::new(&dialect).with_recursion_limit(DEEPEST);
    let parsed = parser
        .with_tokens(quoted(tokens, tables))
        .parse_statements();
    let mut statements = parsed.map_err(|error| unread(&error))?;
    match (statements.pop(), statements.pop()) {
        (Some(Statement::Query(query)), None) => Ok(query),
        (Some(_), None) => Err(refused("only a SELECT may be run, which changes nothing")),
        (None, _) => Err(refused("there is no statement")),
        (Some(_), Some(_)) => Err(refused("there is more than one statement")),
    }
}

fn operators(tokens: &[Token]) -> usize {
    let is_word = |word: &str| ["and", "or", "union", "except", "intersect"].contains(&word);
    let is_operator = |token: &Token| match token {
        Token::Plus
        | Token::Minus
        | Token::Mul
        | Token::Div
        | Token::Mod
        | Token::StringConcat
        | Token::Ampersand
        | Token::Pipe => true,
        Token::Word(word) => is_word(word.value.to_ascii_lowercase().as_str()),
        _ => false,
    };
    tokens.iter().filter(|token| is_operator(token)).count()
}
