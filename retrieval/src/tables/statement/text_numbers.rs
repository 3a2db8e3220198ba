//! Columns of text that have their numbers in a column beside them are no numbers themselves: of
//! `1,200 km` a sum has the 1, a comparison finds nothing, and an order puts 900 above it. A statement
//! that reckons with one is refused with the name of the other column; nobody would see that a number
//! in its result is wrong.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, OrderByExpr,
    OrderByKind, Query, UnaryOperator, Value, Visitor, WindowType,
};

use super::columns::is_comparison;
use super::names::lower;
use super::{Readable, Refused, refused};
use crate::tables::typed::number;

/// Functions that reckon with what they are given.
const RECKONING: &[&str] = &[
    "abs", "avg", "ceil", "ceiling", "floor", "max", "min", "mod", "pow", "power", "round", "sign",
    "sqrt", "sum", "total",
];

/// Functions of [`RECKONING`] that make a number of whatever they are given: 0 of a text.
const ADDING: &[&str] = &["avg", "sum", "total"];

/// Looks for them.
pub(super) struct TextNumbers<'a> {
    /// Columns of text, each with that of its numbers.
    columns: Vec<(&'a str, &'a str)>,
    /// Columns of text without one. A few of their values may be numbers all the same.
    texts: Vec<&'a str>,
}

/// What a statement does with a column.
#[derive(Clone, Copy)]
enum Use<'a> {
    /// Any text would do as well: an order, the greatest of all.
    AsText(&'a str),
    /// Only numbers do.
    AsNumber(&'a str),
}

impl<'a> TextNumbers<'a> {
    /// Those of the tables that are read. A name that the statement gives itself is its own.
    pub(super) fn new(tables: &'a [Readable], reads: &[usize], aliases: &HashSet<String>) -> Self {
        let read = reads.iter().filter_map(|at| tables.get(*at));
        let columns = read.flat_map(|table| &table.numbers);
        let columns = columns.map(|(text, numbers)| (text.as_str(), numbers.as_str()));
        let read = || reads.iter().filter_map(|at| tables.get(*at));
        // What is text in one table may be numbers in another.
        let is_text_in_all = |name: &&str| {
            read().all(|table| {
                let is_text = table.texts.iter().any(|text| text == name);
                is_text || !table.columns.iter().any(|column| column == name)
            })
        };
        let texts = read().flat_map(|table| &table.texts).map(String::as_str);
        let texts = texts.filter(is_text_in_all);
        Self {
            columns: columns
                .filter(|(text, _)| !aliases.contains(&lower(text)))
                .collect(),
            texts: texts
                .filter(|text| !aliases.contains(&lower(text)))
                .collect(),
        }
    }

    /// Refused if the expression is such a column.
    fn check(&self, expr: &Expr, used: Use<'_>) -> Result<(), Refused> {
        let ident = match expr {
            Expr::Identifier(ident) => ident,
            Expr::CompoundIdentifier(parts) => match parts.last() {
                Some(ident) => ident,
                None => return Ok(()),
            },
            Expr::Nested(inner) => return self.check(inner, used),
            _ => return Ok(()),
        };
        let (Use::AsText(what) | Use::AsNumber(what)) = used;
        let named = |(text, _): &&(&str, &str)| ident.value == *text;
        if let Some((text, numbers)) = self.columns.iter().find(named) {
            return Err(refused(format!(
                "\"{text}\" holds numbers as text, which cannot be {what}: use \"{numbers}\""
            )));
        }
        let is_text = || self.texts.contains(&ident.value.as_str());
        if matches!(used, Use::AsNumber(_)) && is_text() {
            let text = &ident.value;
            return Err(refused(format!(
                "\"{text}\" holds text, which cannot be {what}; where some of it are numbers, take \
                 CAST(\"{text}\" AS REAL) of those alone, by a condition that leaves out the rest \
                 (it reads as far as digits with a decimal point go: 1,200 would be 1)"
            )));
        }
        Ok(())
    }

    fn check_order(&self, order: &[OrderByExpr]) -> Result<(), Refused> {
        let mut exprs = order.iter().map(|one| &one.expr);
        exprs.try_for_each(|expr| self.check(expr, Use::AsText("put in order")))
    }

    fn check_expr(&self, expr: &Expr) -> Result<(), Refused> {
        match expr {
            Expr::Function(function) => {
                if let Some(WindowType::WindowSpec(window)) = &function.over {
                    self.check_order(&window.order_by)?;
                }
                let name = lower(&function.name.to_string());
                let FunctionArguments::List(list) = &function.args else {
                    return Ok(());
                };
                if !RECKONING.contains(&name.as_str()) {
                    return Ok(());
                }
                let what = format!("given to {name}()");
                let used = match ADDING.contains(&name.as_str()) {
                    true => Use::AsNumber(&what),
                    false => Use::AsText(&what),
                };
                list.args.iter().try_for_each(|argument| match argument {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => self.check(expr, used),
                    _ => Ok(()),
                })
            }
            Expr::BinaryOp { left, op, right } if is_arithmetic(op) => {
                self.check(left, Use::AsNumber("reckoned with"))?;
                self.check(right, Use::AsNumber("reckoned with"))
            }
            Expr::BinaryOp { left, op, right } if is_comparison(op) => {
                let is_order = !matches!(op, BinaryOperator::Eq | BinaryOperator::NotEq);
                self.check_beside(left, right, is_order)?;
                self.check_beside(right, left, is_order)
            }
            Expr::Between {
                expr, low, high, ..
            } => {
                self.check_beside(expr, low, true)?;
                self.check_beside(expr, high, true)
            }
            Expr::Cast { expr, .. } => self.check(expr, Use::AsText("cast")),
            _ => Ok(()),
        }
    }

    /// Refused if it is such a column beside a number, in quotes too where the greater one is asked
    /// for. Which that is says nothing of a text; whether both are the same can be told.
    fn check_beside(&self, expr: &Expr, other: &Expr, is_order: bool) -> Result<(), Refused> {
        const WHAT: &str = "compared with a number";
        match (is_number(other), is_order) {
            (true, true) => self.check(expr, Use::AsNumber(WHAT)),
            (true, false) => self.check(expr, Use::AsText(WHAT)),
            (false, true) => match quoted_number(other) {
                Some(text) if is_year(text) => self.check(expr, Use::AsText(WHAT)),
                Some(_) => self.check(expr, Use::AsNumber(WHAT)),
                None => Ok(()),
            },
            (false, false) => Ok(()),
        }
    }
}

fn is_arithmetic(op: &BinaryOperator) -> bool {
    matches!(
        op,
        BinaryOperator::Plus
            | BinaryOperator::Minus
            | BinaryOperator::Multiply
            | BinaryOperator::Divide
            | BinaryOperator::Modulo
    )
}

fn is_number(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => matches!(value.value, Value::Number(..)),
        Expr::UnaryOp {
            op: UnaryOperator::Minus | UnaryOperator::Plus,
            expr,
        } => is_number(expr),
        Expr::Nested(inner) => is_number(inner),
        _ => false,
    }
}

/// The text of a number in quotes: `'2'`, `'12,500'`.
fn quoted_number(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => {
                let digits = text.trim().trim_start_matches(['-', '+']);
                let is_plain = digits.starts_with(|one: char| one.is_ascii_digit());
                let holds = digits
                    .chars()
                    .all(|one| one.is_ascii_digit() || ".,".contains(one));
                (is_plain && holds && number(text).is_some()).then_some(text.as_str())
            }
            _ => None,
        },
        Expr::Nested(inner) => quoted_number(inner),
        _ => None,
    }
}

/// `'2024'`: dates that are text are in the order of time, and begin with a year.
fn is_year(text: &str) -> bool {
    text.len() == 4 && (text.starts_with("19") || text.starts_with("20"))
}

impl Visitor for TextNumbers<'_> {
    type Break = Refused;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Refused> {
        match query.order_by.as_ref().map(|order| &order.kind) {
            Some(OrderByKind::Expressions(order)) => super::flow(self.check_order(order)),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Refused> {
        super::flow(self.check_expr(expr))
    }
}
