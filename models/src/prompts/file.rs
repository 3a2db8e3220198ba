//! A prompt's file: TOML between two lines of `+++`, then the turns of a conversation, each after a
//! line that names who speaks.
//!
//! ```text
//! +++
//! name = "section_summary"
//! language = "en"
//! version = 1
//! role = "summarize"
//! output = ["summary"]
//! variables = ["text"]
//! +++
//! <!-- system -->
//! You summarise sections of technical documents. Reply in JSON.
//! <!-- user -->
//! {{ text | fenced }}
//! ```

use serde::Deserialize;

use crate::chat::{Role, Speaker};

const BORDER: &str = "+++";

/// The front matter.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrontMatter {
    /// Name, as in the file's name.
    pub name: String,
    /// Language, as in the file's name.
    pub language: String,
    /// Raised with each change that matters to whoever compares results.
    pub version: u32,
    /// Which model it is for.
    pub role: Role,
    /// Fields of the JSON reply; empty for a reply in plain text.
    pub output: Vec<String>,
    /// Variables of the template.
    pub variables: Vec<String>,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptFile {
    /// What it says about itself.
    pub front: FrontMatter,
    /// Turns with their templates.
    pub turns: Vec<(Speaker, String)>,
}

/// Reads a file. What is wrong is said without its name.
pub fn read(text: &str) -> Result<PromptFile, String> {
    let text = text.replace("\r\n", "\n");
    let rest = text
        .trim_start_matches('\u{feff}')
        .strip_prefix(BORDER)
        .ok_or("it does not begin with a line of +++")?;
    let (front, body) = rest
        .split_once(&format!("\n{BORDER}\n"))
        .ok_or("its front matter does not end with a line of +++")?;
    let front: FrontMatter = toml::from_str(front).map_err(|error| error.to_string())?;
    let turns = turns(body)?;
    check(&turns)?;
    Ok(PromptFile { front, turns })
}

fn turns(body: &str) -> Result<Vec<(Speaker, String)>, String> {
    let mut turns: Vec<(Speaker, String)> = Vec::new();
    for line in body.lines() {
        if let Some(speaker) = speaker(line) {
            turns.push((speaker, String::new()));
            continue;
        }
        match turns.last_mut() {
            Some((_, template)) => {
                template.push_str(line);
                template.push('\n');
            }
            None if line.trim().is_empty() => {}
            None => return Err(format!("nobody says `{line}`: a turn begins with {TURNS}")),
        }
    }
    for (_, template) in &mut turns {
        *template = template.trim().to_owned();
    }
    Ok(turns)
}

const TURNS: &str = "<!-- system -->, <!-- user --> or <!-- assistant -->";

fn speaker(line: &str) -> Option<Speaker> {
    match line.trim_end() {
        "<!-- system -->" => Some(Speaker::System),
        "<!-- user -->" => Some(Speaker::User),
        "<!-- assistant -->" => Some(Speaker::Assistant),
        _ => None,
    }
}

/// Rules first, then turns in turn; the last one is the user's.
fn check(turns: &[(Speaker, String)]) -> Result<(), String> {
    if let Some((speaker, _)) = turns.iter().find(|(_, template)| template.is_empty()) {
        return Err(format!("a turn of {} is empty", speaker.as_str()));
    }
    let spoken = match turns.split_first() {
        Some(((Speaker::System, _), rest)) => rest,
        _ => turns,
    };
    let is_in_turn = spoken.iter().enumerate().all(|(at, (speaker, _))| {
        let expected = if at % 2 == 0 {
            Speaker::User
        } else {
            Speaker::Assistant
        };
        *speaker == expected
    });
    if !is_in_turn || spoken.len() % 2 == 0 {
        return Err(
            "its turns are not: system, then user and assistant in turn, user last".to_owned(),
        );
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const FRONT: &str = "+++\nname = \"n\"\nlanguage = \"en\"\nversion = 1\nrole = \"answer\"\noutput = []\nvariables = []\n+++\n";

    fn of(body: &str) -> Result<PromptFile, String> {
        read(&format!("{FRONT}{body}"))
    }

    #[test]
    fn turns_are_read_in_order() {
        let file = of("<!-- system -->\nRules.\n\n<!-- user -->\nq\n<!-- assistant -->\na\n<!-- user -->\n# Title\nq\n").unwrap();
        let turns: Vec<(&str, &str)> = file
            .turns
            .iter()
            .map(|(speaker, template)| (speaker.as_str(), template.as_str()))
            .collect();
        assert_eq!(
            turns,
            [
                ("system", "Rules."),
                ("user", "q"),
                ("assistant", "a"),
                ("user", "# Title\nq"),
            ]
        );
        let windows = format!("{FRONT}<!-- user -->\nq").replace('\n', "\r\n");
        assert_eq!(read(&windows).unwrap().turns.len(), 1);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let cases = [
            ("words\n<!-- user -->\nq", "nobody says `words`"),
            ("<!-- user -->\n\n", "empty"),
            ("<!-- system -->\nx", "user last"),
            ("<!-- user -->\nq\n<!-- assistant -->\na", "user last"),
            ("<!-- user -->\nq\n<!-- user -->\nq", "in turn"),
            ("", "user last"),
        ];
        for (body, part) in cases {
            let problem = of(body).unwrap_err();
            assert!(problem.contains(part), "{problem}");
        }
        assert!(read("# Title").unwrap_err().contains("+++"));
        assert!(read("+++\nname = 1\n+++\n").unwrap_err().contains("name"));
        let unknown = FRONT.replace("version", "edition");
        assert!(read(&unknown).unwrap_err().contains("edition"));
    }
}
