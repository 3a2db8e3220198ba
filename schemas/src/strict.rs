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

/// Values by name, each name once: of two the last one would hold, and nobody would know.
pub fn distinct<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, T>, D::Error> {
    struct Named<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Named<T> {
        type Value = BTreeMap<String, T>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object of values by name")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut values = BTreeMap::new();
            while let Some((name, value)) = map.next_entry::<String, T>()? {
                if values.contains_key(&name) {
                    return Err(A::Error::custom(format!("`{name:.100}` is given twice")));
                }
                values.insert(name, value);
            }
            Ok(values)
        }
    }

    deserializer.deserialize_map(Named(PhantomData))
}

/// The same for a condition that may be left out, see [`given`].
pub fn given_distinct<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<BTreeMap<String, T>>, D::Error> {
    distinct(deserializer).map(Some)
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
            "{\"attributes\": null}",
            "{\"attributes\": {\"a\": [\"1\"], \"a\": [\"2\"]}}",
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
        assert!(event("{\"custom\": {\"a\": \"1\", \"b\": \"1\"}}").is_ok());
        assert!(event("{\"custom\": {\"a\": \"1\", \"a\": \"2\"}}").is_err());
    }
}
