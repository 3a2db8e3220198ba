//! Tells a filter that no document meets from a question that finds nothing under it.

use tributary_schemas::Filter;
use tributary_schemas::unmet::{UnmetFilter, UnmetValue};
use tributary_taxonomy::nearest;

use crate::facets::{ByAttribute, Values};

/// The conditions of a filter whose values are known, by name.
fn conditions(filter: &Filter) -> [(&'static str, &[String]); 6] {
    [
        ("knowledge_sets", given(&filter.knowledge_sets)),
        ("sources", given(&filter.sources)),
        ("tags", given(&filter.tags)),
        ("products", given(&filter.products)),
        ("product_versions", given(&filter.product_versions)),
        ("languages", given(&filter.languages)),
    ]
}

fn given(values: &Option<Vec<String>>) -> &[String] {
    values.as_deref().unwrap_or_default()
}

/// What is wrong with a filter under which nothing was found. `is_certain` says that nothing meets
/// it, as vectors tell; else a condition tells that none of whose values any document has.
pub fn unmet(filter: &Filter, known: &Values, is_certain: bool) -> Option<UnmetFilter> {
    let mut unmet = UnmetFilter::default();
    let mut is_unmet = is_certain;
    for (condition, values) in conditions(filter) {
        let absent = values.iter().filter(|value| !known.has(condition, value));
        let absent: Vec<UnmetValue> = absent.map(|value| named(condition, value, known)).collect();
        is_unmet |= !values.is_empty() && absent.len() == values.len();
        unmet.values.extend(absent);
    }
    if let (Some(wanted), Some(known)) = (&filter.attributes, known.attributes()) {
        for (name, values) in wanted {
            let absent = absent_of_attribute(name, values, known);
            is_unmet |=
                !known.contains_key(name) || !values.is_empty() && absent.len() == values.len();
            unmet.values.extend(absent);
        }
    }
    is_unmet.then_some(unmet)
}

/// The attribute itself where no document has it, else the values that none has.
fn absent_of_attribute(name: &str, values: &[String], known: &ByAttribute) -> Vec<UnmetValue> {
    let one = |condition: String, value: &str, near: Option<&str>| UnmetValue {
        condition,
        value: value.to_owned(),
        did_you_mean: near.map(str::to_owned),
    };
    let Some(of_name) = known.get(name) else {
        let near = nearest(name, known.keys().map(String::as_str));
        return vec![one("attributes".to_owned(), name, near)];
    };
    values
        .iter()
        .filter(|value| !of_name.contains(*value))
        .map(|value| {
            let near = nearest(value, of_name.iter().map(String::as_str));
            one(format!("attributes.{name}"), value, near)
        })
        .collect()
}

/// A value that no document has, with the most similar one that some have.
pub fn named(condition: &str, value: &str, known: &Values) -> UnmetValue {
    UnmetValue {
        condition: condition.to_owned(),
        value: value.to_owned(),
        did_you_mean: nearest(value, known.of(condition)).map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(sources: &[&str], tags: &[&str]) -> Filter {
        let given = |values: &[&str]| {
            let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
            (!values.is_empty()).then_some(values)
        };
        Filter {
            sources: given(sources),
            tags: given(tags),
            ..Filter::default()
        }
    }

    #[test]
    fn a_condition_is_unmet_where_no_document_has_one_of_its_values() {
        let known = Values::new([
            ("sources", vec!["handbook".to_owned()]),
            ("tags", vec!["radio".to_owned()]),
        ]);
        let values = |filter: &Filter, is_certain: bool| {
            let unmet = unmet(filter, &known, is_certain)?.values;
            let shown = unmet
                .into_iter()
                .map(|unmet| (unmet.value, unmet.did_you_mean));
            Some(shown.collect::<Vec<_>>())
        };
        let near = Some("handbook".to_owned());
        assert_eq!(
            values(&filter(&["handbok"], &["radio"]), false),
            Some(vec![("handbok".to_owned(), near)])
        );
        let one_of_two = filter(&["handbook", "wiki"], &[]);
        assert_eq!(values(&one_of_two, false), None, "the other one is there");
        let both = filter(&["handbook"], &["radio"]);
        assert_eq!(values(&both, false), None);
        assert_eq!(values(&both, true), Some(vec![]), "none has both");
    }

    #[test]
    fn attributes_are_named_by_their_names_and_their_values() {
        let values = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
        let known = Values::default()
            .with_attributes(Some([("department".to_owned(), values(&["radio"]))].into()));
        let asked = |name: &str, value: &str, known: &Values| {
            let filter = Filter {
                attributes: Some([(name.to_owned(), vec![value.to_owned()])].into()),
                ..Filter::default()
            };
            let unmet = unmet(&filter, known, false)?;
            Some(unmet.describe())
        };
        assert_eq!(asked("department", "radio", &known), None);
        assert_eq!(
            asked("department", "radoi", &known).as_deref(),
            Some(
                "there is no document whose attribute `department` is `radoi` (did you mean `radio`?)"
            )
        );
        assert_eq!(
            asked("departmnet", "radio", &known).as_deref(),
            Some(
                "there is no document with the attribute `departmnet` (did you mean `department`?)"
            )
        );
        let too_many = Values::default();
        assert_eq!(asked("department", "radoi", &too_many), None);
    }
}
