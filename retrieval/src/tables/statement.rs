//! A statement as a model writes it, over names of headings and tables, becomes one over stored names:
//! parsed, checked, every name mapped in the syntax tree, and written anew. Text that was not
//! understood never reaches the database.
//!
//! Allowed is one SELECT over the named tables, with joins, subqueries, common tables, set operations,
//! and functions of a list. Names are also found by their letters and digits alone, since models write
//! `Units_Sold` for `Units sold`; what a comparison has in double quotes and no column is called is
//! text; `YEAR(x)` and `EXTRACT(YEAR FROM x)`, which SQLite lacks, become what it has for them.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr,
    Ident, InTarget, ObjectName, ObjectNamePart, Query, Select, SelectFlavor, SelectItem, SetExpr,
    Statement, TableAlias, TableFactor, TableWithJoins, Value, ValueWithSpan, Visit, VisitMut,
    Visitor, VisitorMut,
};
use sqlparser::dialect::SQLiteDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Span, Token, Tokenizer};

use super::Refused;

/// Bytes of a statement.
const LONGEST: usize = 8000;
/// Its words and signs: what is nested deeper than SQLite takes is not even parsed.
const MOST_TOKENS: usize = 600;
/// Its operators: each nests the tree once more.
const MOST_OPERATORS: usize = 150;
/// Brackets within brackets.
const DEEPEST: usize = 40;
/// Tables that are joined, each as often as it is named.
const MOST_FACTORS: usize = 16;

/// Functions that a statement may call: they read nothing, and what they give is bounded by what they
/// are given.
const FUNCTIONS: &[&str] = &[
    "abs",
    "avg",
    "ceil",
    "ceiling",
    "coalesce",
    "concat",
    "count",
    "cume_dist",
    "date",
    "datetime",
    "dense_rank",
    "first_value",
    "floor",
    "glob",
    "group_concat",
    "ifnull",
    "iif",
    "instr",
    "julianday",
    "lag",
    "last_value",
    "lead",
    "length",
    "like",
    "lower",
    "ltrim",
    "max",
    "min",
    "mod",
    "nth_value",
    "ntile",
    "nullif",
    "percent_rank",
    "pow",
    "power",
    "rank",
    "replace",
    "round",
    "row_number",
    "rtrim",
    "sign",
    "sqrt",
    "strftime",
    "substr",
    "substring",
    "sum",
    "time",
    "total",
    "trim",
    "typeof",
    "unixepoch",
    "upper",
];
/// What is written without brackets and is a function all the same.
const MOMENTS: &[&str] = &["current_date", "current_time", "current_timestamp"];
/// Those that make one value of many rows.
const AGGREGATES: &[&str] = &["avg", "count", "group_concat", "max", "min", "sum", "total"];
/// Parts of a date that other dialects have functions for, and what SQLite has.
const DATE_PARTS: [(&str, &str); 6] = [
    ("year", "%Y"),
    ("month", "%m"),
    ("day", "%d"),
    ("hour", "%H"),
    ("minute", "%M"),
    ("second", "%S"),
];

/// Whether a function may be called.
pub fn is_allowed(function: &str) -> bool {
    let lower = function.to_ascii_lowercase();
    FUNCTIONS.contains(&lower.as_str()) || MOMENTS.contains(&lower.as_str())
}

/// A table that a statement may read.
#[derive(Clone, Debug)]
pub struct Readable {
    /// What the statement calls it.
    pub name: String,
    /// Name of the database that holds it.
    pub database: String,
    /// Name that it is stored under.
    pub stored: String,
    pub columns: Vec<String>,
    /// What the number of a row is called.
    pub row_id: Option<&'static str>,
}

/// A statement that may run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// Its text.
    pub sql: String,
    /// Positions of the tables that it reads.
    pub reads: Vec<usize>,
    /// Tables whose row numbers stand in the last columns, in their order.
    pub origins: Vec<usize>,
    /// Names of its common tables, in lower case.
    pub common: Vec<String>,
}

/// Prepares a statement over these tables.
pub fn prepare(sql: &str, tables: &[Readable]) -> Result<Prepared, Refused> {
    let mut query = parse(sql)?;
    let mut mapping = Tables {
        tables,
        common: HashSet::new(),
        reads: Vec::new(),
        aliases: HashSet::new(),
        factors: 0,
    };
    run(VisitMut::visit(query.as_mut(), &mut mapping))?;
    let Tables {
        common,
        mut reads,
        aliases,
        ..
    } = mapping;
    reads.sort_unstable();
    reads.dedup();
    let mut names = Columns::new(tables, &reads, aliases);
    run(VisitMut::visit(query.as_mut(), &mut names))?;
    let origins = add_origins(&mut query, tables);
    Ok(Prepared {
        sql: query.to_string(),
        reads,
        origins,
        common: common.into_iter().collect(),
    })
}

fn refused(message: impl Into<String>) -> Refused {
    Refused::Statement(message.into())
}

fn run(flow: ControlFlow<Refused>) -> Result<(), Refused> {
    match flow {
        ControlFlow::Break(refused) => Err(refused),
        ControlFlow::Continue(()) => Ok(()),
    }
}

fn parse(sql: &str) -> Result<Box<Query>, Refused> {
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
    let parsed = parser.with_tokens(tokens).parse_statements();
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

/// First pass: what kind of statement it is, and the names of its tables.
struct Tables<'a> {
    tables: &'a [Readable],
    /// Names of common tables, in lower case.
    common: HashSet<String>,
    reads: Vec<usize>,
    /// Names that the statement gives to tables and columns, in lower case.
    aliases: HashSet<String>,
    factors: usize,
}

impl Tables<'_> {
    fn check_body(body: &SetExpr) -> Result<(), Refused> {
        match body {
            SetExpr::Select(_) | SetExpr::Values(_) | SetExpr::Query(_) => Ok(()),
            SetExpr::SetOperation { left, right, .. } => {
                Self::check_body(left)?;
                Self::check_body(right)
            }
            _ => Err(refused("only a SELECT may be run, which changes nothing")),
        }
    }

    fn check_query(&mut self, query: &Query) -> Result<(), Refused> {
        Self::check_body(&query.body)?;
        let is_plain = query.locks.is_empty()
            && query.for_clause.is_none()
            && query.settings.is_none()
            && query.format_clause.is_none()
            && query.fetch.is_none()
            && query.pipe_operators.is_empty();
        if !is_plain {
            return Err(refused(
                "a SELECT may have WITH, ORDER BY and LIMIT beside, nothing else",
            ));
        }
        let Some(with) = &query.with else {
            return Ok(());
        };
        if with.recursive {
            return Err(refused("WITH RECURSIVE is not allowed"));
        }
        for table in &with.cte_tables {
            self.common.insert(lower(&table.alias.name.value));
            let columns = table.alias.columns.iter();
            self.aliases
                .extend(columns.map(|column| lower(&column.name.value)));
        }
        Ok(())
    }

    fn check_select(&mut self, select: &Select) -> Result<(), Refused> {
        let is_plain = select.into.is_none()
            && select.top.is_none()
            && select.exclude.is_none()
            && select.lateral_views.is_empty()
            && select.prewhere.is_none()
            && select.connect_by.is_empty()
            && select.cluster_by.is_empty()
            && select.distribute_by.is_empty()
            && select.sort_by.is_empty()
            && select.qualify.is_none()
            && select.value_table_mode.is_none()
            && select.optimizer_hints.is_empty()
            && select.select_modifiers.is_none()
            && matches!(select.flavor, SelectFlavor::Standard);
        if !is_plain {
            return Err(refused("a part of the SELECT is not SQLite's"));
        }
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                self.aliases.insert(lower(&alias.value));
            }
        }
        Ok(())
    }

    fn map_factor(&mut self, factor: &mut TableFactor) -> Result<(), Refused> {
        self.factors += 1;
        if self.factors > MOST_FACTORS {
            return Err(refused(format!(
                "more than {MOST_FACTORS} tables are joined"
            )));
        }
        match factor {
            TableFactor::Table {
                name,
                alias,
                args: None,
                version: None,
                json_path: None,
                sample: None,
                inheritance: None,
                with_ordinality: false,
                with_hints,
                partitions,
                index_directives,
            } if with_hints.is_empty() && partitions.is_empty() && index_directives.is_empty() => {
                self.map_table(name, alias)
            }
            TableFactor::Derived {
                lateral: false,
                sample: None,
                alias,
                ..
            } => {
                self.note_alias(alias.as_ref());
                Ok(())
            }
            TableFactor::NestedJoin { .. } => Ok(()),
            _ => Err(refused("FROM may name tables and subqueries, nothing else")),
        }
    }

    fn note_alias(&mut self, alias: Option<&TableAlias>) {
        if let Some(alias) = alias {
            self.aliases.insert(lower(&alias.name.value));
            let columns = alias.columns.iter();
            self.aliases
                .extend(columns.map(|column| lower(&column.name.value)));
        }
    }

    fn map_table(
        &mut self,
        name: &mut ObjectName,
        alias: &mut Option<TableAlias>,
    ) -> Result<(), Refused> {
        self.note_alias(alias.as_ref());
        let wanted = match name.0.as_slice() {
            [ObjectNamePart::Identifier(ident)] => ident.value.clone(),
            _ => return Err(refused(format!("`{name}` is no table; {}", self.known()))),
        };
        if self.common.contains(&lower(&wanted)) {
            return Ok(());
        }
        let Some(at) = find(self.tables.iter().map(|table| table.name.as_str()), &wanted) else {
            return Err(refused(format!(
                "there is no table `{wanted}`; {}",
                self.known()
            )));
        };
        let Some(table) = self.tables.get(at) else {
            return Err(refused("a table is missing"));
        };
        self.reads.push(at);
        *name = ObjectName::from(vec![exact(&table.database), exact(&table.stored)]);
        if alias.is_none() {
            self.aliases.insert(lower(&table.name));
            *alias = Some(TableAlias {
                explicit: true,
                name: exact(&table.name),
                columns: Vec::new(),
                at: None,
            });
        }
        Ok(())
    }

    fn known(&self) -> String {
        let names: Vec<String> = self
            .tables
            .iter()
            .map(|one| format!("{:?}", one.name))
            .collect();
        format!("the tables are {}", names.join(", "))
    }
}

impl VisitorMut for Tables<'_> {
    type Break = Refused;

    fn pre_visit_statement(&mut self, _: &mut Statement) -> ControlFlow<Refused> {
        ControlFlow::Break(refused("only a SELECT may be run, which changes nothing"))
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Refused> {
        flow(self.check_query(query))
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Refused> {
        flow(self.check_select(select))
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Refused> {
        flow(self.map_factor(factor))
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Refused> {
        match expr {
            Expr::In {
                target: InTarget::Table { .. } | InTarget::Unnest(_),
                ..
            } => ControlFlow::Break(refused("IN takes a list of values or a SELECT in brackets")),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<Refused> {
        match value.value {
            Value::Placeholder(_) => {
                ControlFlow::Break(refused("the statement has a placeholder: write the value"))
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

fn flow(result: Result<(), Refused>) -> ControlFlow<Refused> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(refused) => ControlFlow::Break(refused),
    }
}

/// Second pass: names of columns, functions, and what SQLite says in another way.
struct Columns {
    names: Vec<String>,
    /// Names of tables as qualifiers have them.
    qualifiers: Vec<String>,
    aliases: HashSet<String>,
}

impl Columns {
    fn new(tables: &[Readable], reads: &[usize], aliases: HashSet<String>) -> Self {
        let read = || reads.iter().filter_map(|at| tables.get(*at));
        let mut names: Vec<String> = read().flat_map(|table| table.columns.clone()).collect();
        names.sort_unstable();
        names.dedup();
        Self {
            names,
            qualifiers: read().map(|table| table.name.clone()).collect(),
            aliases,
        }
    }

    fn column(&self, wanted: &str) -> Option<&str> {
        let at = find(self.names.iter().map(String::as_str), wanted)?;
        self.names.get(at).map(String::as_str)
    }

    fn map(&self, ident: &mut Ident) {
        // A name that the statement gives itself is its own.
        if self.aliases.contains(&lower(&ident.value)) && !self.is_exact(&ident.value) {
            return;
        }
        if let Some(name) = self.column(&ident.value) {
            *ident = exact(name);
        }
    }

    fn is_exact(&self, name: &str) -> bool {
        self.names.iter().any(|one| one.eq_ignore_ascii_case(name))
    }

    fn map_qualifier(&self, ident: &mut Ident) {
        if self.aliases.contains(&lower(&ident.value)) {
            return;
        }
        let names = self.qualifiers.iter().map(String::as_str);
        if let Some(name) = find(names, &ident.value).and_then(|at| self.qualifiers.get(at)) {
            *ident = exact(name);
        }
    }

    /// Text in double quotes that no column is called.
    fn to_text(&self, expr: &mut Expr) {
        let Expr::Identifier(ident) = expr else {
            return;
        };
        let is_quoted = matches!(ident.quote_style, Some('"' | '`'));
        let is_known =
            self.column(&ident.value).is_some() || self.aliases.contains(&lower(&ident.value));
        if is_quoted && !is_known {
            *expr = text(&ident.value);
        }
    }

    fn map_expr(&self, expr: &mut Expr) -> Result<(), Refused> {
        match expr {
            Expr::BinaryOp { right, op, .. } if is_comparison(op) => self.to_text(right),
            Expr::Like { pattern, .. } => self.to_text(pattern),
            Expr::In {
                target: InTarget::List(list),
                ..
            } => list.iter_mut().for_each(|one| self.to_text(one)),
            Expr::Between { low, high, .. } => {
                self.to_text(low);
                self.to_text(high);
            }
            Expr::Identifier(ident) => self.map(ident),
            Expr::CompoundIdentifier(parts) => match parts.as_mut_slice() {
                [qualifier, column] => {
                    self.map_qualifier(qualifier);
                    self.map(column);
                }
                _ => {
                    return Err(refused(format!(
                        "`{expr}` is no column: write \"table\".\"column\""
                    )));
                }
            },
            Expr::Function(function) => check_function(function)?,
            _ => {}
        }
        if let Some(other) = as_sqlite_has_it(expr) {
            *expr = other;
        }
        Ok(())
    }
}

fn is_comparison(op: &BinaryOperator) -> bool {
    matches!(
        op,
        BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq
    )
}

impl VisitorMut for Columns {
    type Break = Refused;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Refused> {
        flow(self.map_expr(expr))
    }
}

fn check_function(function: &Function) -> Result<(), Refused> {
    let name = match function.name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] => lower(&ident.value),
        _ => return Err(refused(format!("there is no function `{}`", function.name))),
    };
    let is_date_part = DATE_PARTS.iter().any(|(part, _)| *part == name);
    match is_allowed(&name) || is_date_part {
        true => Ok(()),
        false => Err(refused(format!(
            "the function `{name}` is not allowed; these are: {}",
            FUNCTIONS.join(", ")
        ))),
    }
}

/// What other dialects write and SQLite lacks.
fn as_sqlite_has_it(expr: &Expr) -> Option<Expr> {
    let part = |name: &str| {
        let part = DATE_PARTS.iter().find(|(part, _)| *part == lower(name))?;
        Some(part.1)
    };
    let (format, of) = match expr {
        Expr::Function(function) => {
            let FunctionArguments::List(list) = &function.args else {
                return None;
            };
            let [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] = list.args.as_slice()
            else {
                return None;
            };
            (part(&function.name.to_string())?, argument)
        }
        Expr::Extract { field, expr, .. } => (part(&field.to_string())?, expr.as_ref()),
        Expr::ILike {
            negated,
            any: false,
            expr,
            pattern,
            escape_char,
        } => {
            return Some(Expr::Like {
                negated: *negated,
                any: false,
                expr: expr.clone(),
                pattern: pattern.clone(),
                escape_char: escape_char.clone(),
            });
        }
        _ => return None,
    };
    let written = format!("CAST(strftime('{format}', {of}) AS INTEGER)");
    let parser = Parser::new(&SQLiteDialect {}).with_recursion_limit(DEEPEST);
    parser.try_with_sql(&written).ok()?.parse_expr().ok()
}

/// Position of the name: exactly, else without regard to case, else the only one of the same letters
/// and digits.
fn find<'a>(names: impl Iterator<Item = &'a str> + Clone, wanted: &str) -> Option<usize> {
    let exactly = names.clone().position(|name| name == wanted);
    let same = |name: &str| lower(name) == lower(wanted);
    let without_case = || names.clone().position(same);
    let loosely = || {
        let wanted = loose(wanted);
        let mut alike = names.clone().enumerate();
        let mut alike = alike.by_ref().filter(|(_, name)| loose(name) == wanted);
        match (alike.next(), alike.next()) {
            (Some((at, _)), None) if !wanted.is_empty() => Some(at),
            _ => None,
        }
    };
    exactly.or_else(without_case).or_else(loosely)
}

fn loose(name: &str) -> String {
    let letters = name.chars().filter(|one| one.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

fn lower(name: &str) -> String {
    name.to_lowercase()
}

fn exact(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

fn text(text: &str) -> Expr {
    Expr::Value(ValueWithSpan {
        value: Value::SingleQuotedString(text.to_owned()),
        span: Span::empty(),
    })
}

/// Adds the numbers of the rows that each row of the answer is made of, where it is made of single
/// ones; the tables that they belong to.
fn add_origins(query: &mut Query, tables: &[Readable]) -> Vec<usize> {
    let SetExpr::Select(select) = query.body.as_mut() else {
        return Vec::new();
    };
    let is_grouped = match &select.group_by {
        GroupByExpr::All(_) => true,
        GroupByExpr::Expressions(by, _) => !by.is_empty(),
    };
    if is_grouped || select.distinct.is_some() || select.having.is_some() || is_aggregated(select) {
        return Vec::new();
    }
    let mut factors = Vec::new();
    select
        .from
        .iter()
        .for_each(|from| collect(from, tables, &mut factors));
    let mut origins = Vec::new();
    for (alias, at) in factors {
        let Some(row_id) = tables.get(at).and_then(|table| table.row_id) else {
            continue;
        };
        let number = origins.len();
        select.projection.push(SelectItem::ExprWithAlias {
            expr: Expr::CompoundIdentifier(vec![alias, Ident::new(row_id)]),
            alias: exact(&format!("origin {number}")),
        });
        origins.push(at);
    }
    origins
}

fn collect(from: &TableWithJoins, tables: &[Readable], factors: &mut Vec<(Ident, usize)>) {
    let joined = from.joins.iter().map(|join| &join.relation);
    for factor in std::iter::once(&from.relation).chain(joined) {
        match factor {
            TableFactor::Table {
                name,
                alias: Some(alias),
                ..
            } => {
                let parts: Vec<&str> = name.0.iter().filter_map(value_of).collect();
                let at = tables
                    .iter()
                    .position(|table| parts == [table.database.as_str(), table.stored.as_str()]);
                factors.extend(at.map(|at| (alias.name.clone(), at)));
            }
            TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => collect(table_with_joins, tables, factors),
            _ => {}
        }
    }
}

fn value_of(part: &ObjectNamePart) -> Option<&str> {
    part.as_ident().map(|ident| ident.value.as_str())
}

/// Whether the rows of a SELECT are made into one by its own columns.
fn is_aggregated(select: &Select) -> bool {
    let mut found = Aggregates::default();
    let flow = Visit::visit(&select.projection, &mut found);
    flow.is_break()
}

/// Looks for functions that make one value of many rows, but not inside of subqueries.
#[derive(Default)]
struct Aggregates {
    depth: usize,
}

impl Visitor for Aggregates {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let Expr::Function(function) = expr else {
            return ControlFlow::Continue(());
        };
        let name = lower(&function.name.to_string());
        let is_one = self.depth == 0
            && function.over.is_none()
            && AGGREGATES.contains(&name.as_str())
            && !is_of_values(&name, &function.args);
        match is_one {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// `max(a, b)` is the larger one of two values of a row.
fn is_of_values(name: &str, arguments: &FunctionArguments) -> bool {
    let FunctionArguments::List(list) = arguments else {
        return false;
    };
    matches!(name, "max" | "min") && list.args.len() > 1
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn tables() -> Vec<Readable> {
        let table = |name: &str, database: &str, stored: &str, columns: &[&str]| Readable {
            name: name.to_owned(),
            database: database.to_owned(),
            stored: stored.to_owned(),
            columns: columns.iter().map(|one| (*one).to_owned()).collect(),
            row_id: Some("rowid"),
        };
        vec![
            table(
                "Sales 2023",
                "d0",
                "Sales",
                &["Region", "Units sold", "Revenue", "Day", "Revenue (number)"],
            ),
            table(
                "Staff",
                "d0",
                "Staff",
                &["Region", "Manager", "manager (2)"],
            ),
        ]
    }

    fn prepared(sql: &str) -> Prepared {
        prepare(sql, &tables()).unwrap_or_else(|refused| panic!("{sql}: {refused:?}"))
    }

    #[test]
    fn names_are_mapped_where_they_are_names_and_nowhere_else() {
        let table = [
            (
                r#"SELECT Units_Sold FROM "sales 2023" WHERE Region = "North" LIMIT 5;"#,
                r#"SELECT "Units sold", "Sales 2023".rowid AS "origin 0" FROM "d0"."Sales" AS "Sales 2023" WHERE "Region" = 'North' LIMIT 5"#,
            ),
            (
                r#"SELECT s.region, manager FROM Sales_2023 s JOIN staff ON s.Region = staff.Region WHERE note = 'FROM Staff'"#,
                r#"SELECT s."Region", "Manager", s.rowid AS "origin 0", "Staff".rowid AS "origin 1" FROM "d0"."Sales" s JOIN "d0"."Staff" AS "Staff" ON s."Region" = staff."Region" WHERE note = 'FROM Staff'"#,
            ),
            (
                r#"SELECT count(*) AS region FROM Staff"#,
                r#"SELECT count(*) AS region FROM "d0"."Staff" AS "Staff""#,
            ),
            (
                "SELECT YEAR(Day), max(\"Revenue (number)\") FROM \"Sales 2023\" GROUP BY 1",
                r#"SELECT CAST(strftime('%Y', "Day") AS INTEGER), max("Revenue (number)") FROM "d0"."Sales" AS "Sales 2023" GROUP BY 1"#,
            ),
            (
                "WITH top AS (SELECT Region FROM Staff) SELECT * FROM top",
                r#"WITH top AS (SELECT "Region" FROM "d0"."Staff" AS "Staff") SELECT * FROM top"#,
            ),
        ];
        for (sql, expected) in table {
            assert_eq!(prepared(sql).sql, expected);
        }
        assert_eq!(prepared(table[1].0).origins, [0, 1]);
        assert_eq!(prepared(table[2].0).reads, [1]);
        // A subquery in the columns makes one of its own rows, not of these.
        let sql = "SELECT Region, (SELECT max(Revenue) FROM \"Sales 2023\") FROM Staff";
        assert_eq!(prepared(sql).origins, [1]);
    }

    #[test]
    fn what_is_not_one_select_over_these_tables_is_refused() {
        let table = [
            ("", "no statement"),
            ("DELETE FROM Staff", "only a SELECT"),
            ("SELECT 1; SELECT 2", "more than one"),
            (
                "SELECT * FROM Customers",
                "the tables are \"Sales 2023\", \"Staff\"",
            ),
            ("SELECT * FROM sqlite_master", "no table `sqlite_master`"),
            ("SELECT * FROM d0.Sales", "is no table"),
            ("SELECT load_extension('x') FROM Staff", "not allowed"),
            ("SELECT * FROM json_each('[1]')", "nothing else"),
            ("SELECT * FROM Staff WHERE Region = ?", "placeholder"),
            (
                "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT * FROM t",
                "RECURSIVE",
            ),
            ("PRAGMA table_info(Staff)", "SELECT"),
            ("ATTACH 'x' AS y", "SELECT"),
            ("SELECT * INTO x FROM Staff", ""),
            ("nonsense", "cannot be read"),
            ("SELECT Region FROM Staff WHERE (", "cannot be read"),
        ];
        for (sql, expected) in table {
            let refused = prepare(sql, &tables()).err();
            let message = refused.as_ref().map_or("", Refused::message);
            assert!(
                refused.is_some() && message.contains(expected),
                "{sql}: {refused:?}"
            );
        }
        let long = format!("SELECT {}1 FROM Staff", "1+".repeat(3000));
        let deep = format!("SELECT {}1{} FROM Staff", "(".repeat(500), ")".repeat(500));
        for sql in [long, deep] {
            assert!(prepare(&sql, &tables()).is_err());
        }
    }
}
