//! Settings for tests: the ones that users get. Also used by the integration tests.

/// The section `[ingest]` of the default file.
pub fn config<C: serde::de::DeserializeOwned>() -> C {
    let defaults: toml::Value =
        toml::from_str(include_str!("../../cli/default.toml")).expect("the default file");
    defaults
        .get("ingest")
        .expect("its section [ingest]")
        .clone()
        .try_into()
        .expect("settings of ingest")
}
