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

/// Functions that reckon with what they are given.
const RECKONING: &[&str] = &[
    "abs", "avg", "ceil", "ceiling", "floor", "max", "min", "mod", "pow", "power", "round", "sign",
    "sqrt", "sum", "total",
];

/// Looks for them.
pub(super) struct TextNumbers<'a> {
    /// Columns of text, each with that of its numbers.
    columns: Vec<(&'a str, &'a str)>,
}

impl<'a> TextNumbers<'a> {
    /// Those of the tables that are read. A name that the statement gives itself is its own.
    pub(super) fn new(tables: &'a [Readable], reads: &[usize], aliases: &HashSet<String>) -> Self {
        let read = reads.iter().filter_map(|at| tables.get(*at));
        let columns = read.flat_map(|table| &table.numbers);
        let columns = columns.map(|(text, numbers)| (text.as_str(), numbers.as_str()));
        Self {
            columns: columns
                .filter(|(text, _)| !aliases.contains(&lower(text)))
                .collect(),
        }
    }

    /// Refused if the expression is such a column.
    fn check(&self, expr: &Expr, what: &str) -> Result<(), Refused> {
        let ident = match expr {
            Expr::Identifier(ident) => Some(ident),
            Expr::CompoundIdentifier(parts) => parts.last(),
            Expr::Nested(inner) => return self.check(inner, what),
            _ => None,
        };
        let named = |(text, _): &&(&str, &str)| ident.is_some_and(|ident| ident.value == *text);
        match self.columns.iter().find(named) {
            Some((text, numbers)) => Err(refused(format!(
                "\"{text}\" holds numbers as text, which cannot be {what}: use \"{numbers}\""
            ))),
            None => Ok(()),
        }
    }

    fn check_order(&self, order: &[OrderByExpr]) -> Result<(), Refused> {
        let mut exprs = order.iter().map(|one| &one.expr);
        exprs.try_for_each(|expr| self.check(expr, "put in order"))
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
                list.args.iter().try_for_each(|argument| match argument {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => {
                        self.check(expr, &format!("given to {name}()"))
                    }
                    _ => Ok(()),
                })
            }
            Expr::BinaryOp { left, op, right } if is_arithmetic(op) => {
                self.check(left, "reckoned with")?;
                self.check(right, "reckoned with")
            }
            Expr::BinaryOp { left, op, right } if is_comparison(op) => {
                self.check_beside(left, right)?;
                self.check_beside(right, left)
            }
            Expr::Between {
                expr, low, high, ..
            } => {
                self.check_beside(expr, low)?;
                self.check_beside(expr, high)
            }
            Expr::Cast { expr, .. } => self.check(expr, "cast"),
            _ => Ok(()),
        }
    }

    /// Refused if it is such a column beside a number.
    fn check_beside(&self, expr: &Expr, other: &Expr) -> Result<(), Refused> {
        match is_number(other) {
            true => self.check(expr, "compared with a number"),
            false => Ok(()),
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
