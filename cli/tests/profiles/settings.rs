//! What is wrong with a profile is said when it is loaded: what, where, and what to do.

use std::path::Path;

use super::tool::{json, run};

fn refused(profiles: &str, verb: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("config.toml"),
        "[taxonomy]\nsource_profiles_file = \"profiles.toml\"\n",
    )
    .unwrap();
    std::fs::write(folder.path().join("profiles.toml"), profiles).unwrap();
    let output = run(["--profile", folder.path().to_str().unwrap()]
        .iter()
        .chain(verb));
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_wrong_profile_is_refused_with_what_where_and_a_hint() {
    let profile =
        |rest: &str| format!("[[source_profile]]\nname = \"wiki\"\nsource = \"wiki\"\n{rest}\n");
    for (rest, parts) in [
        (
            "cleaners = [{ step = \"drop_ancors\" }]",
            vec![
                "source profile wiki: unknown cleaning step `drop_ancors`",
                "did you mean `drop_anchors`",
            ],
        ),
        (
            "cleaners = [{ step = \"version_from_path\", pattern = \"v([0-9]+)\" }]",
            vec![
                "cleaning step version_from_path: `pattern` has no group `(?<version>…)`",
                "hint: such as",
            ],
        ),
        (
            "cleaners = [{ step = \"drop_learned_boilerplate\", file = \"none.toml\" }]",
            vec![
                "cleaning step drop_learned_boilerplate: cannot read",
                "none.toml",
                "profiles learn-boilerplate",
            ],
        ),
        (
            "tag_rules = [{ pth = \"a\", tags = [\"b\"] }]",
            vec!["tag_rules number 1: unknown key `pth`, did you mean `path`"],
        ),
        (
            "attribute_rules = [{ path = \"a\", attributes = {} }]",
            vec!["attribute_rules number 1 gives no attribute"],
        ),
        (
            "chunker_rules = [{ path = \"a\", chunker = \"whle\" }]",
            vec!["unknown variant `whle`", "sections"],
        ),
        (
            "tag_rules = [{ text = [\"x\"], mentions = 0, tags = [\"b\"] }]",
            vec!["asks for 0 `mentions`"],
        ),
        (
            "newest_only = { same = [], version = \"v\" }",
            vec!["newest_only: `same` names nothing"],
        ),
        (
            "newest_only = { same = [\"a\"] }",
            vec!["missing field `version`"],
        ),
    ] {
        for verb in [
            vec!["config", "check"],
            vec!["profiles", "preview", "Cargo.toml", "--source", "wiki"],
        ] {
            let said = refused(&profile(rest), &verb);
            assert!(
                parts.iter().all(|part| said.contains(part)),
                "{parts:?} are not all in: {said}"
            );
        }
    }
}

#[test]
fn every_profile_of_the_repository_loads() {
    let folder = super::tool::repository().join("deploy/profiles");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        ["mindspore", "os-course", "research", "tables", "wireless"]
    );
    for name in names {
        let checked = json(["--profile", &name, "config", "check", "--format", "json"]);
        assert_eq!(checked["ok"], true, "{name}: {checked}");
        for file in [
            "README.md",
            "config.toml",
            "knowledge-sets.toml",
            "lexicon.txt",
            "source-profiles.toml",
        ] {
            assert!(
                Path::new(&folder).join(&name).join(file).is_file(),
                "{name} has no {file}"
            );
        }
    }
}
