//! Knowledge sets and source profiles: union of tags, closed filters, errors that name everything
//! at once, the wireless profile's data.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tributary_schemas::{DocumentHeader, ErrorKind};
use tributary_taxonomy::{
    AnalyzerConfig, ChunkStrategy, Config, KnowledgeSet, KnowledgeSets, SourceProfiles, Taxonomy,
};

const SETS: &str = r#"
[[knowledge_set]]
id = "common"
name = "Common"
view = "common"
description = "for all"
rules = [{ source = "*" }]

[[knowledge_set]]
id = "protocols"
name = "Protocols"
name_zh = "协议"
view = "capability"
rules = [
    { source = "3gpp*", tags = ["3GPP"] },
    { path = "**/specs/**", metadata = { release = "Rel-1{5,6}" }, tags = ["5G", "3GPP"] },
]

[[knowledge_set]]
id = "radio-lab"
name = "Radio lab"
view = "organization"
rules = [{ attribute = { department = ["无线*", "radio*"], line = "RAN" }, tags = ["RAN"] }]
"#;

fn header(source: &str, path: &str) -> DocumentHeader {
    DocumentHeader {
        document_id: "d".into(),
        source: source.into(),
        source_path: path.into(),
        ..DocumentHeader::default()
    }
}

fn metadata(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

#[test]
fn a_document_gets_the_union_of_all_rules_and_what_its_producer_says() {
    let sets = KnowledgeSets::from_toml(SETS).unwrap();
    let mut document = header("3gpp-ftp", "a/specs/38331.docx");
    document.attributes.department = Some("無線算法部".into());
    document
        .attributes
        .custom
        .insert("line".into(), "ran".into());
    document.knowledge_sets = vec!["radio-lab".into()];
    document.tags = vec!["draft".into()];
    let assignment = sets
        .assign(&document, &metadata(&[("release", "Rel-15")]))
        .unwrap();
    assert_eq!(
        assignment.knowledge_sets,
        ["common", "protocols", "radio-lab"]
    );
    assert_eq!(assignment.tags, ["3GPP", "5G", "RAN", "draft"]);
    // Assigning twice changes nothing.
    document
        .knowledge_sets
        .clone_from(&assignment.knowledge_sets);
    document.tags.clone_from(&assignment.tags);
    assert_eq!(
        sets.assign(&document, &metadata(&[("release", "Rel-15")]))
            .unwrap(),
        assignment
    );
}

#[test]
fn all_conditions_of_a_rule_must_hold_and_absent_values_do_not() {
    let sets = KnowledgeSets::from_toml(SETS).unwrap();
    let mut document = header("wiki", "a/specs/x.md");
    assert_eq!(
        sets.assign(&document, &metadata(&[]))
            .unwrap()
            .knowledge_sets,
        ["common"]
    );
    assert_eq!(
        sets.assign(&document, &metadata(&[("release", "Rel-14")]))
            .unwrap()
            .knowledge_sets,
        ["common"]
    );
    document.attributes.department = Some("radio".into());
    assert_eq!(
        sets.assign(&document, &metadata(&[]))
            .unwrap()
            .knowledge_sets,
        ["common"]
    );
    assert!(
        KnowledgeSets::default()
            .assign(&document, &metadata(&[]))
            .unwrap()
            .knowledge_sets
            .is_empty()
    );
}

#[test]
fn unknown_sets_fail_closed_with_the_nearest_name() {
    let sets = KnowledgeSets::from_toml(SETS).unwrap();
    assert!(sets.check(&["common".into(), "radio-lab".into()]).is_ok());
    assert!(sets.check(&[]).is_ok());
    let error = sets
        .check(&["common".into(), "protocol".into()])
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(
        error.full_message(),
        "no knowledge set `protocol` (hint: did you mean `protocols`)"
    );
    let error = sets.check(&["数据通信".into()]).unwrap_err();
    assert_eq!(
        error.hint(),
        Some("known sets are common, protocols, radio-lab")
    );
    let mut document = header("wiki", "x");
    document.knowledge_sets = vec!["protocol".into()];
    let error = sets.assign(&document, &metadata(&[])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(error.to_string(), "document d: no knowledge set `protocol`");
    assert_eq!(
        KnowledgeSets::default()
            .check(&["x".into()])
            .unwrap_err()
            .kind(),
        ErrorKind::NotFound
    );
}

#[test]
fn everything_wrong_with_a_file_is_said_at_once() {
    let text = r#"
[[knowledge_sets]]
id = "x"
[[knowledge_set]]
id = "Bad Id"
name = "A"
view = "comon"
[[knowledge_set]]
id = "a"
name = ""
view = "common"
rulez = []
rules = [{ sorce = "x" }]
[[knowledge_set]]
id = "b"
name = "B"
view = "common"
rules = [{ tags = ["t"] }, { path = "x{", tags = ["t"] }]
[[knowledge_set]]
id = "c"
name = "C"
view = "capability"
rules = [{ tags = ["t"] }]
[[knowledge_set]]
id = "c"
name = "C"
view = "common"
[[knowledge_set]]
id = "e"
name = "E"
view = "common"
"#;
    let error = KnowledgeSets::from_toml(text).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let message = error.to_string();
    for part in [
        "unknown key `knowledge_sets`, did you mean `knowledge_set`",
        "knowledge set Bad Id: ",
        "comon",
        "knowledge set a rule 1: unknown key `sorce`, did you mean `source`",
        "knowledge set a: unknown key `rulez`, did you mean `rules`",
        "opens a brace",
        "knowledge set c rule 1: has no condition",
        "knowledge set c: defined twice",
        "knowledge set e: there is one common view, and c is it",
    ] {
        assert!(message.contains(part), "{part} is not in {message}");
    }
    assert!(!message.contains('\n'));
    assert_eq!(
        KnowledgeSets::from_toml("x = [").unwrap_err().kind(),
        ErrorKind::Invalid
    );
}

#[test]
fn sets_survive_json_and_the_fingerprint_follows_the_rules_alone() {
    let sets = KnowledgeSets::from_toml(SETS).unwrap();
    let json = serde_json::to_string(&sets).unwrap();
    assert_eq!(serde_json::from_str::<KnowledgeSets>(&json).unwrap(), sets);
    let mut one: KnowledgeSet =
        serde_json::from_str(&serde_json::to_string(sets.get("protocols").unwrap()).unwrap())
            .unwrap();
    one.name = "Standards".into();
    assert_eq!(
        sets.with(one.clone()).unwrap().fingerprint(),
        sets.fingerprint()
    );
    one.rules.pop();
    let changed = sets.with(one).unwrap();
    assert_ne!(changed.fingerprint(), sets.fingerprint());
    assert_eq!(changed.len(), 3);
}

#[test]
fn a_source_profile_is_found_by_glob_and_fills_what_is_missing() {
    let profiles = SourceProfiles::from_toml(
        r#"
[[source_profile]]
name = "cases"
source = ["icase*", "知道"]
chunker = "whole"
cleaners = [{ step = "title_prefix", attribute = "product" }, { step = "drop_lines", pattern = "^版权", limit = 3 }]
attributes = { domain = "wireless", custom = { data_type = "case" } }
tag_rules = [{ path = "**gNodeB**", tags = ["5G"] }, { title = "*eNodeB*", tags = ["4G", "5G"] }]
"#,
    )
    .unwrap();
    let profile = profiles.profile("iCase-2024");
    assert_eq!(
        (profile.name.as_str(), profile.chunker),
        ("cases", ChunkStrategy::Whole)
    );
    assert_eq!(
        profile
            .cleaners
            .iter()
            .map(|step| step.step.as_str())
            .collect::<Vec<_>>(),
        ["title_prefix", "drop_lines"]
    );
    assert_eq!(profile.cleaners[1].settings["limit"], 3);
    assert_eq!(profiles.profile("wiki").name, "default");
    let mut document = header("知道", "support/gNodeB参数/x.html");
    document.title = "eNodeB 告警".into();
    document.attributes.domain = Some("core".into());
    profile.apply(&mut document, "");
    assert_eq!(document.tags, ["5G", "4G"]);
    assert_eq!(document.attributes.text("domain"), Some("core"));
    assert_eq!(document.attributes.text("data_type"), Some("case"));
    assert_ne!(
        profiles.fingerprint(),
        SourceProfiles::default().fingerprint()
    );
    let error = SourceProfiles::from_toml(
        "[[source_profile]]\nname = \"x\"\nchunkr = 1\n[[source_profile]]\nname = \"y\"\n",
    )
    .unwrap_err();
    for part in [
        "unknown key `chunkr`, did you mean `chunker`",
        "source profile y: names no source",
    ] {
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn the_wireless_profile_loads_and_does_what_its_sources_need() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/profiles/wireless");
    let config = Config {
        lexicon_files: vec![PathBuf::from("lexicon.txt")],
        knowledge_sets_file: PathBuf::from("knowledge-sets.toml"),
        source_profiles_file: PathBuf::from("source-profiles.toml"),
        analyzer: AnalyzerConfig {
            guess_words: false,
            sub_words: false,
            term_words: false,
            english_stems: true,
        },
    };
    let wireless = Taxonomy::load(&config, &folder).unwrap();
    let count = |view| {
        wireless
            .knowledge_sets
            .iter()
            .filter(|set| set.view == view)
            .count()
    };
    use tributary_taxonomy::View;
    assert_eq!(
        (
            count(View::Common),
            count(View::Capability),
            count(View::Organization)
        ),
        (1, 7, 8)
    );
    assert!(
        wireless
            .analyzer
            .analyze("双连接下的载波聚合")
            .contains(&"载波聚合".to_owned())
    );
    for source in ["icase", "知道", "案例库"] {
        assert_eq!(
            wireless.source_profiles.profile(source).chunker,
            ChunkStrategy::Whole,
            "{source}"
        );
    }
    let support = wireless.source_profiles.profile("support");
    let mut page = header("support", "5G/gNodeB/参数参考.html");
    support.apply(&mut page, "");
    assert!(page.tags.contains(&"5G".to_owned()), "{page:?}");
    let mut document = header("3gpp", "38_series/38331-f30.docx");
    wireless
        .source_profiles
        .profile("3gpp")
        .apply(&mut document, "");
    let assignment = wireless
        .knowledge_sets
        .assign(&document, &metadata(&[]))
        .unwrap();
    assert!(
        assignment.knowledge_sets.contains(&"common".to_owned())
            && assignment.tags.contains(&"5G".to_owned()),
        "{assignment:?}"
    );
    let missing = Config {
        knowledge_sets_file: PathBuf::from("none.toml"),
        ..config
    };
    assert_eq!(
        Taxonomy::load(&missing, &folder).err().unwrap().kind(),
        ErrorKind::NotFound
    );
}

/// TOML blocks of a page that define sets.
fn examples(page: &str) -> Vec<&str> {
    let blocks = page.split("```toml\n").skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap())
        .collect()
}

#[test]
fn the_pages_on_knowledge_sets_name_every_key_and_their_examples_hold() {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let keys = [
        "id",
        "name",
        "name_zh",
        "view",
        "description",
        "rules",
        "pipeline",
        "workflow",
        "source",
        "path",
        "media_type",
        "attribute",
        "metadata",
        "tags",
    ];
    for page in ["knowledge-sets.md", "zh/knowledge-sets.md"] {
        let text = std::fs::read_to_string(docs.join(page)).unwrap();
        for key in keys {
            let is_row = |line: &str| line.starts_with(&format!("| `{key}"));
            assert!(text.lines().any(is_row), "{page} has no row on `{key}`");
        }
        let examples = examples(&text);
        assert_eq!(examples.len(), 1, "{page}");
        assert_eq!(KnowledgeSets::from_toml(examples[0]).unwrap().len(), 3);
    }
    let wrong = "[[knowledge_set]]\nid = \"a\"\nname = \"a\"\nview = \"common\"\nnothing = 1\n";
    assert!(
        KnowledgeSets::from_toml(wrong).is_err(),
        "other keys are refused"
    );
}
