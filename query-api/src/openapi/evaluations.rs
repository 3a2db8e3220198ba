//! Operations of runs of evaluations.

use schemars::SchemaGenerator;

use super::{Operation, answer, inline, operation};
use crate::http::evaluations::{
    CaseParameters, ComparisonParameters, EvaluationComparison, EvaluationDetail, EvaluationPage,
    EvaluationParameters,
};

pub fn operations(schemas: &mut SchemaGenerator) -> Vec<Operation> {
    vec![
        Operation {
            parameters: Some(inline::<EvaluationParameters>(schemas)),
            ..operation(
                "get",
                "/v1/evaluations",
                "List runs of `tributary eval run` that are kept in the data folder",
                200,
                Some(answer::<EvaluationPage>(schemas)),
            )
        },
        Operation {
            parameters: Some(inline::<CaseParameters>(schemas)),
            ..operation(
                "get",
                "/v1/evaluations/{id}",
                "One of them: scores by tier and by group, which steps lost what, and its cases, the worst first",
                200,
                Some(answer::<EvaluationDetail>(schemas)),
            )
        },
        Operation {
            parameters: Some(inline::<ComparisonParameters>(schemas)),
            ..operation(
                "get",
                "/v1/evaluations/{id}/comparison",
                "What changed from another run to this one: each measure with its confidence interval, and cases, the greatest loss first",
                200,
                Some(answer::<EvaluationComparison>(schemas)),
            )
        },
    ]
}
