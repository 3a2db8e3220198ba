//! First pass: what kind of statement it is, and the names of its tables.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, InTarget, ObjectName, ObjectNamePart, Query, Select, SelectFlavor, SelectItem, SetExpr,
    Statement, TableAlias, TableFactor, Value, ValueWithSpan, VisitorMut,
};

use super::names::{exact, find, lower};
use super::{Readable, Refused, flow, refused};

/// Tables that are joined, each as often as it is named.
const MOST_FACTORS: usize = 16;

/// Maps the names of tables.
pub(super) struct Tables<'a> {
    pub(super) tables: &'a [Readable],
    /// Names of common tables, in lower case.
    pub(super) common: HashSet<String>,
    pub(super) reads: Vec<usize>,
    /// Names that the statement gives to tables and columns, in lower case.
    pub(super) aliases: HashSet<String>,
    pub(super) factors: usize,
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
