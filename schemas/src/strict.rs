//! What serde takes and a caller did not mean: a struct written as an array, `null` for a
//! condition of a filter, which would be none, and a key of a map that is given twice.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

/// A struct that is written as an object; an array of its fields in their order is refused.
pub fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    struct Object<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Object<T> {
        type Value = T;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            T::deserialize(MapAccessDeserializer::new(map))
        }
    }

    deserializer.deserialize_map(Object(PhantomData))
}

/// A condition that is left out is none; `null` is no way to say so, since it is what a variable
/// without a value becomes.
pub fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Weights by name, each name once: of two the last one would hold, and nobody would know.
pub fn distinct<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, f32>, D::Error> {
    struct Weights;

    impl<'de> Visitor<'de> for Weights {
        type Value = BTreeMap<String, f32>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object of numbers")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut weights = BTreeMap::new();
            while let Some((name, weight)) = map.next_entry::<String, f32>()? {
                if weights.contains_key(&name) {
                    return Err(A::Error::custom(format!("`{name:.100}` is given twice")));
                }
                weights.insert(name, weight);
            }
            Ok(weights)
        }
    }

    deserializer.deserialize_map(Weights)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::search::SearchRequest;
    use crate::{DocumentEvent, Filter};

    #[test]
    fn a_filter_is_an_object_and_null_is_no_condition() {
        let read = |filter: &str| {
            serde_json::from_str::<SearchRequest>(&format!(
                "{{\"query\": \"q\", \"filter\": {filter}}}"
            ))
        };
        for refused in [
            "[]",
            "[null, [\"t\"]]",
            "null",
            "\"\"",
            "{\"tags\": null}",
            "{\"max_security_level\": null}",
            "{\"tag\": [\"t\"]}",
        ] {
            assert!(read(refused).is_err(), "{refused}");
        }
        assert_eq!(read("{}").unwrap().filter, Filter::default());
        assert_eq!(
            read("{\"max_security_level\": 2}")
                .unwrap()
                .filter
                .max_security_level,
            Some(2)
        );
        let event = |attributes: &str| {
            serde_json::from_str::<DocumentEvent>(&format!(
                "{{\"source\": \"s\", \"attributes\": {attributes}}}"
            ))
        };
        assert!(event("[\"me\"]").is_err() && event("{\"author\": \"me\"}").is_ok());
    }
}
