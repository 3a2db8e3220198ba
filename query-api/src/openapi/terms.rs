//! Operations of the review of terms.

use schemars::SchemaGenerator;

use super::{Operation, answer, inline, operation};
use crate::http::terms::{DecidedTerm, TermDecision, TermPage, TermParameters};

pub fn operations(schemas: &mut SchemaGenerator) -> Vec<Operation> {
    vec![
        Operation {
            parameters: Some(inline::<TermParameters>(schemas)),
            ..operation(
                "get",
                "/v1/terms",
                "Candidates for the lexicon, those in doubt first, with who said what, and how far the review is",
                200,
                Some(answer::<TermPage>(schemas)),
            )
        },
        Operation {
            body: Some(answer::<TermDecision>(schemas)),
            ..operation(
                "post",
                "/v1/terms/verdicts",
                "Say whether a candidate is a term; every verdict is kept, and the last one of each reviewer stands",
                200,
                Some(answer::<DecidedTerm>(schemas)),
            )
        },
    ]
}
