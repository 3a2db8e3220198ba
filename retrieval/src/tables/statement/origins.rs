//! The rows of the tables that a row of the answer is made of.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, FunctionArguments, GroupByExpr, Ident, ObjectNamePart, Query, Select, SelectItem,
    SetExpr, TableFactor, TableWithJoins, Visit, Visitor,
};

use super::Readable;
use super::names::{exact, lower};

/// Those that make one value of many rows.
const AGGREGATES: &[&str] = &["avg", "count", "group_concat", "max", "min", "sum", "total"];

/// Adds the numbers of the rows that each row of the answer is made of, where it is made of single
/// ones; the tables that they belong to.
pub(super) fn add_origins(query: &mut Query, tables: &[Readable]) -> Vec<usize> {
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
