//! Our queries in the server's language. Filters fail closed exactly as those of the embedded
//! index.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tributary_schemas::{ChunkId, Filter, Viewer};

use super::mapping::{indexed_term, indexed_token};

/// Most values of one `terms` query that a server accepts unless told otherwise.
const MOST_TERMS: usize = 65_536;
/// Most clauses of one `bool` query that every server accepts.
pub const MOST_CLAUSES: usize = 1024;

/// The conditions of a filter; each must be met.
pub fn filter(filter: &Filter) -> Vec<Value> {
    let mut conditions: Vec<Value> = filter
        .term_conditions()
        .into_iter()
        .map(|values| any_of("filter", values.into_iter().map(indexed_term).collect()))
        .collect();
    if let Some(viewer) = &filter.viewer {
        conditions.extend(seen(viewer));
    }
    if filter.updated_from_ms.is_some() || filter.updated_before_ms.is_some() {
        let mut range = json!({"gte": filter.updated_from_ms.unwrap_or(i64::MIN)});
        if let Some(before) = filter.updated_before_ms {
            range["lt"] = before.into();
        }
        conditions.push(json!({"range": {"updated_at": range}}));
    }
    if let Some(highest) = filter.max_security_level {
        conditions.push(json!({"range": {"security_level": {"lte": highest}}}));
    }
    conditions
}

/// What somebody may see; says the same as [`Viewer::sees`], and leaves out what is known to be
/// withheld.
fn seen(viewer: &Viewer) -> [Value; 2] {
    let terms = viewer.terms().into_iter().map(indexed_term).collect();
    let mut may_be = vec![any_of("filter", terms)];
    if let Some(stated) = viewer.stated_term() {
        may_be.push(json!({"bool": {"must_not": [{"term": {"filter": stated}}]}}));
    }
    // Negated, as a document without a level is public.
    let above = json!({"range": {"security_level": {"gt": viewer.clearance}}});
    let withheld = viewer.withheld_terms();
    let withheld = withheld.into_iter().map(indexed_term).collect::<Vec<_>>();
    let withheld = (!withheld.is_empty()).then(|| any_of("filter", withheld));
    let refused: Vec<Value> = std::iter::once(above).chain(withheld).collect();
    [
        json!({"bool": {"should": may_be, "minimum_should_match": 1}}),
        json!({"bool": {"must_not": refused}}),
    ]
}

/// Documents with one of the values; none for no values.
pub fn any_of(field: &str, values: Vec<String>) -> Value {
    if values.is_empty() {
        return json!({"match_none": {}});
    }
    if values.len() <= MOST_TERMS {
        return json!({"terms": {field: values}});
    }
    let parts: Vec<Value> = values
        .chunks(MOST_TERMS)
        .map(|part| json!({"terms": {field: part}}))
        .collect();
    json!({"bool": {"should": parts, "minimum_should_match": 1}})
}

/// The given chunks.
pub fn chunks(ids: &[ChunkId]) -> Value {
    any_of("chunk", ids.iter().map(ChunkId::to_string).collect())
}

/// BM25 over tokens, of documents that meet the conditions.
pub fn keyword(tokens: &[String], conditions: Vec<Value>) -> Value {
    let mut counts: BTreeMap<_, u32> = BTreeMap::new();
    for token in tokens {
        *counts.entry(indexed_token(token)).or_default() += 1;
    }
    let term = |(token, count): (&std::borrow::Cow<'_, str>, &u32)| json!({"term": {"text": {"value": token, "boost": count}}});
    let terms: Vec<Value> = counts.iter().map(term).collect();
    // A query of more clauses than a server takes is a sum of sums.
    let mut should = terms;
    while should.len() > MOST_CLAUSES {
        should = should
            .chunks(MOST_CLAUSES)
            .map(|part| json!({"bool": {"should": part}}))
            .collect();
    }
    json!({"bool": {"should": should, "minimum_should_match": 1, "filter": conditions}})
}

/// A vector query: `wanted` best of the documents that meet the conditions.
pub fn nearest(
    field: &str,
    vector: &[f32],
    wanted: usize,
    oversample: Option<f32>,
    conditions: Vec<Value>,
) -> Value {
    let mut query =
        json!({"field": field, "query_vector": vector, "k": wanted, "num_candidates": wanted});
    if !conditions.is_empty() {
        query["filter"] = conditions.into();
    }
    if let Some(oversample) = oversample {
        query["rescore_vector"] = json!({"oversample": oversample});
    }
    json!({"knn": query})
}

/// Those of the chunks that have windows.
pub fn with_windows(ids: &[ChunkId]) -> Value {
    let conditions = [chunks(ids), json!({"exists": {"field": "windows"}})];
    json!({"bool": {"filter": conditions}})
}

/// The dot product that the server's score of `max_inner_product` stands for.
pub fn dot_product(score: f32) -> f32 {
    if score >= 1.0 {
        score - 1.0
    } else {
        1.0 - 1.0 / score.max(f32::MIN_POSITIVE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_without_values_match_nothing() {
        let closed = Filter {
            tags: Some(vec![]),
            ..Filter::default()
        };
        assert_eq!(filter(&closed), [json!({"match_none": {}})]);
        assert!(filter(&Filter::default()).is_empty());
        let open = Filter {
            updated_before_ms: Some(5),
            ..Filter::default()
        };
        assert_eq!(
            filter(&open),
            [json!({"range": {"updated_at": {"gte": i64::MIN, "lt": 5}}})]
        );
    }

    #[test]
    fn rights_are_conditions_that_must_all_be_met() {
        let viewer = |sees_unstated| Filter {
            viewer: Some(Viewer {
                groups: vec!["g".into()],
                clearance: 2,
                sees_unstated,
                ..Viewer::default()
            }),
            ..Filter::default()
        };
        let terms = json!({"terms": {"filter": ["access.everybody", "access.group=g"]}});
        let level = json!({"bool": {"must_not": [{"range": {"security_level": {"gt": 2}}}]}});
        let either = |should: Value| json!({"bool": {"should": should, "minimum_should_match": 1}});
        assert_eq!(
            filter(&viewer(false)),
            [either(json!([terms])), level.clone()]
        );
        let unstated = json!({"bool": {"must_not": [{"term": {"filter": "access.stated"}}]}});
        assert_eq!(
            filter(&viewer(true)),
            [either(json!([terms, unstated])), level]
        );
    }

    #[test]
    fn scores_are_turned_back_into_dot_products() {
        for dot in [-1.0_f32, -0.25, 0.0, 0.3, 1.0] {
            let score = if dot < 0.0 {
                1.0 / (1.0 - dot)
            } else {
                dot + 1.0
            };
            assert!((dot_product(score) - dot).abs() < 1e-6, "{dot}");
        }
    }

    #[test]
    fn repeated_tokens_weigh_more() {
        let query = keyword(&["b".into(), "a".into(), "b".into()], vec![]);
        assert_eq!(
            query["bool"]["should"],
            json!([{"term": {"text": {"value": "a", "boost": 1}}}, {"term": {"text": {"value": "b", "boost": 2}}}])
        );
    }
}
