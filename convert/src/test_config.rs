//! Settings for tests: the ones that users get. Also used by the integration tests and the example,
//! which name the type themselves.

/// The section `[convert]` of the default file, with conversion in the test's own process.
pub(crate) fn config<C: serde::de::DeserializeOwned>() -> C {
    let defaults: toml::Value =
        toml::from_str(include_str!("../../cli/default.toml")).expect("the default file");
    let mut section = defaults
        .get("convert")
        .expect("its section [convert]")
        .clone();
    section
        .as_table_mut()
        .expect("a table")
        .insert("isolate_conversion".to_owned(), false.into());
    section.try_into().expect("settings of conversion")
}
