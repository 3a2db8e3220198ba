//! Boilerplate learned from a sample: what repeats goes into a file, the file goes into a profile,
//! and the profile removes it.

use std::fs;

use super::tool::{json, run};

fn page(number: usize) -> String {
    let subject = [
        "antennas", "beams", "cells", "drives", "energy", "fading", "gains", "hops",
    ][number % 8];
    format!(
        "# Page on {subject}\n\n[Home](index.md) [Contents](contents{number}.md)\n\nWhat there is to say on {subject}.\n\n## Support\n\n\
         Call the service team under 0{number} if this page was not helpful.\n\n## More on {subject}\n\nParameters:\n\n- {subject}\n"
    )
}

#[test]
fn a_learned_file_is_reviewed_named_in_the_profile_and_takes_out_what_repeats() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::create_dir(path("pages")).unwrap();
    for number in 0..8 {
        fs::write(path(&format!("pages/{number}.md")), page(number)).unwrap();
    }
    fs::write(
        path("config.toml"),
        "[taxonomy]\nsource_profiles_file = \"profiles.toml\"\n",
    )
    .unwrap();
    let profile = "[[source_profile]]\nname = \"wiki\"\nsource = \"wiki\"\ncleaners = [{ step = \"drop_learned_boilerplate\", file = \"learned/wiki.toml\" }]\n";
    fs::write(path("profiles.toml"), profile).unwrap();
    let learn = [
        "--profile",
        &path(""),
        "profiles",
        "learn-boilerplate",
        "--source",
        "wiki",
        "--file",
        &path("learned/wiki.toml"),
        &path("pages"),
        "--format",
        "json",
    ];
    let learned = json(learn);
    let texts: Vec<&str> = learned["blocks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["text"].as_str().unwrap())
        .collect();
    assert_eq!(
        texts,
        [
            "call the service team under 0 if this page was not helpful.",
            "home contents"
        ],
        "{learned}"
    );
    assert_eq!(learned["documents"], 8);

    let again = run(learn);
    assert_eq!(again.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&again.stderr).contains("perhaps with a review in it"),
        "{again:?}"
    );

    let preview = [
        "--profile",
        &path(""),
        "profiles",
        "preview",
        "--source",
        "wiki",
        &path("pages/3.md"),
        "--format",
        "json",
    ];
    assert_eq!(
        json(preview)["documents"][0]["markdown"],
        "# Page on drives\n\n\nWhat there is to say on drives.\n\n\n## More on drives\n\nParameters:\n\n- drives\n"
    );

    // The review: what is taken out of the file stays in the documents.
    let file = fs::read_to_string(path("learned/wiki.toml")).unwrap();
    let (kept, _) = file.rsplit_once("[[block]]").unwrap();
    fs::write(path("learned/wiki.toml"), kept).unwrap();
    assert!(
        json(preview)["documents"][0]["markdown"]
            .as_str()
            .unwrap()
            .contains("[Home](index.md)")
    );
    fs::write(
        path("learned/wiki.toml"),
        file.replace("service team", "sales team"),
    )
    .unwrap();
    let edited = run(preview);
    assert!(
        String::from_utf8_lossy(&edited.stderr).contains("is not that of its hash"),
        "{edited:?}"
    );
}
