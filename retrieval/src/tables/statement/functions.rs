//! Functions that a statement may call, and what other dialects call that SQLite lacks.

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectNamePart,
};
use sqlparser::dialect::SQLiteDialect;
use sqlparser::parser::Parser;

use super::names::lower;
use super::parsing::DEEPEST;
use super::{Refused, refused};

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

pub(super) fn check_function(function: &Function) -> Result<(), Refused> {
    let name = match function.name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] => lower(&ident.value),
        _ => return Err(refused(format!("there is no function `{}`", function.name))),
    };
    let is_date_part = DATE_PARTS.iter().any(|(part, _)| *part == name);
    if function.args.to_string() == "(number)" {
        let column = format!("{} (number)", function.name);
        return Err(refused(format!(
            "there is no function `{}`; the column is called so: \"{column}\", in double quotes",
            function.name
        )));
    }
    match is_allowed(&name) || is_date_part {
        true => Ok(()),
        false => Err(refused(format!(
            "the function `{name}` is not allowed; these are: {}",
            FUNCTIONS.join(", ")
        ))),
    }
}

/// What other dialects write and SQLite lacks.
pub(super) fn as_sqlite_has_it(expr: &Expr) -> Option<Expr> {
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
