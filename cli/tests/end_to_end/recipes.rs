//! `docs/recipes.md`: the commands of each recipe do what it says, on small documents.

use std::path::Path;

use crate::harness::{Server, Workspace};

const PAGE: &str = include_str!("../../../docs/recipes.md");

/// What the commands publish.
const FILES: [(&str, &str); 6] = [
    (
        "support/gnb/tilt.md",
        "# Antenna tilt\n\nThe antenna tilt of a gNodeB is set in degrees.\n",
    ),
    (
        "cases/4711.md",
        "# Board too hot\n\nThe fan was blocked; the alarm is gone.\n",
    ),
    (
        "pages/tutorials/grad.md",
        "# 自动微分\n\n## 求导\n\n自动微分由 grad 函数完成。\n",
    ),
    (
        "book/chapter4/memory.md",
        "# 内存管理\n\n分页把地址空间分成页。\n",
    ),
    (
        "linux/mm/scan.c",
        "/* Wakes the scanner of pages. */\nvoid wake_scanner(void)\n{\n\tscan();\n}\n",
    ),
    (
        "papers/reclaim.md",
        "# Reclaim\n\nThe latency of reclaim was measured.\n",
    ),
];

/// The commands of the page, in its order.
fn commands() -> Vec<Vec<String>> {
    let lines = PAGE
        .lines()
        .filter_map(|line| line.strip_prefix("$ tributary "));
    lines.map(words).collect()
}

/// As a shell takes them apart, as far as the page goes: quotes hold words together.
fn words(line: &str) -> Vec<String> {
    let parts = line.split('"').enumerate();
    let words = parts.flat_map(|(at, part)| match at % 2 {
        1 => vec![part.to_owned()],
        _ => part.split_whitespace().map(str::to_owned).collect(),
    });
    words.collect()
}

/// With all that the commands publish.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    for (name, text) in FILES {
        workspace.write(name, text);
    }
    workspace.write("reports/sales.csv", "region,turnover\nnorth,10\nsouth,20\n");
    workspace
}

#[test]
fn the_commands_of_each_recipe_run_in_their_order() {
    let profiles = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/profiles"));
    let mut seen: Vec<String> = Vec::new();
    let mut workspace = workspace();
    let mut server: Option<Server> = None;
    for command in commands() {
        let [_, profile, rest @ ..] = command.as_slice() else {
            panic!("{command:?}");
        };
        let folder = profiles.join(profile);
        if seen.last() != Some(profile) {
            seen.push(profile.clone());
            if let Some(of_before) = server.take() {
                of_before.stop();
            }
            workspace = self::workspace();
            server = Some(workspace.start_with(&["--profile", folder.to_str().unwrap()]));
        }
        let run = workspace.run(
            ["--profile", folder.to_str().unwrap()]
                .into_iter()
                .chain(rest.iter().map(String::as_str)),
        );
        assert_eq!(run.code, 0, "{command:?}: {run:?}");
        let is_question = rest.iter().any(|word| word == "search");
        assert!(
            !is_question || !run.stdout.contains("nothing found"),
            "{command:?}: {run:?}"
        );
        let is_publication = rest[0] == "publish";
        assert!(
            !is_publication || run.stdout.contains("1 indexed"),
            "{command:?}: {run:?}"
        );
    }
    seen.sort();
    let mut all: Vec<String> = std::fs::read_dir(profiles)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    all.sort();
    assert_eq!(seen, all, "a recipe for each profile");
}
