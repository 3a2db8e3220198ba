//! Second pass: names of columns, functions, and what SQLite says in another way.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, Expr, Ident, InTarget, VisitorMut};

use super::functions::{as_sqlite_has_it, check_function};
use super::names::{exact, find, lower, text};
use super::{Readable, Refused, flow, refused};

/// Maps the names of columns.
pub(super) struct Columns {
    names: Vec<String>,
    /// Names of tables as qualifiers have them.
    qualifiers: Vec<String>,
    aliases: HashSet<String>,
}

impl Columns {
    pub(super) fn new(tables: &[Readable], reads: &[usize], aliases: HashSet<String>) -> Self {
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

pub(super) fn is_comparison(op: &BinaryOperator) -> bool {
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
