//! Forms of answers: which parts one has, under which headings, and where they stand in it.

use tributary_schemas::ask::{Section, Span};

use super::verbatim::is_heading;

/// A part of an answer, with its heading by language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// What programs call it.
    pub name: &'static str,
    zh: &'static str,
    en: &'static str,
}

impl Part {
    /// Its heading.
    pub fn heading(&self, is_chinese: bool) -> &'static str {
        if is_chinese { self.zh } else { self.en }
    }

    /// Its heading as a line of Markdown.
    pub fn line(&self, is_chinese: bool) -> String {
        format!("## {}\n\n", self.heading(is_chinese))
    }
}

/// What an error means.
pub const ANALYSIS: Part = part("analysis", "问题分析", "Analysis");
/// What helps.
pub const SOLUTION: Part = part("solution", "解决方案", "Solution");
/// Where it was seen.
pub const ENVIRONMENT: Part = part("environment", "环境信息", "Environment");
/// The parts of an answer to an error.
pub const ERROR_MAP: &[Part] = &[ANALYSIS, SOLUTION, ENVIRONMENT];

/// What code is for.
pub const PURPOSE: Part = part("purpose", "功能概述", "Purpose");
/// Its most important functions.
pub const KEY_FUNCTIONS: Part = part("key_functions", "关键函数", "Key functions");
/// What happens in which order.
pub const FLOW: Part = part("flow", "执行流程", "Flow");
/// What is worth knowing beside.
pub const DETAILS: Part = part("details", "实现细节", "Details");
/// What it has to do with the question.
pub const RELATION: Part = part("relation", "与问题的关系", "Relation to the question");
/// The parts of an explanation of code.
pub const CODE: &[Part] = &[PURPOSE, KEY_FUNCTIONS, FLOW, DETAILS, RELATION];

const fn part(name: &'static str, zh: &'static str, en: &'static str) -> Part {
    Part { name, zh, en }
}

/// Where the parts stand in an answer, in its order; a part that is not there is left out.
pub fn sections(answer: &str, form: &[Part]) -> Vec<Section> {
    let mut found: Vec<Section> = Vec::new();
    let mut is_code = false;
    let mut at = 0;
    for line in answer.split_inclusive('\n') {
        let length = line.chars().count();
        is_code ^= line.trim_start().starts_with("```");
        if is_heading(line) && !is_code {
            let title = line.trim_matches(|one: char| one.is_whitespace() || "#*:：".contains(one));
            let is_title = |part: &&Part| [part.zh, part.en].contains(&title);
            let is_new = |part: &&Part| found.iter().all(|known| known.name != part.name);
            let part = form.iter().filter(is_new).find(is_title);
            if let Some(part) = part {
                if let Some(open) = found.last_mut() {
                    open.span.end = open.span.end.min(at);
                }
                let span = Span {
                    start: at + length,
                    end: usize::MAX,
                };
                found.push(Section {
                    name: part.name.to_owned(),
                    heading: title.to_owned(),
                    span,
                });
            }
        }
        at += length;
    }
    for section in &mut found {
        section.span = trimmed(answer, section.span.start, section.span.end.min(at));
    }
    found
}

fn trimmed(answer: &str, start: usize, end: usize) -> Span {
    let text: String = answer
        .chars()
        .skip(start)
        .take(end.saturating_sub(start))
        .collect();
    let before = text.chars().take_while(|one| one.is_whitespace()).count();
    let kept = text.trim().chars().count();
    Span {
        start: start + before,
        end: start + before + kept,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_an_answer_are_found_in_it() {
        let answer = "## 问题分析\n\n缺少许可 [1]。\n\n### 别的\n\nx\n## 解决方案：\n```\n## 环境信息\n```\n好。\n";
        let found = sections(answer, ERROR_MAP);
        let texts: Vec<(&str, String)> = found
            .iter()
            .map(|section| {
                let length = section.span.end - section.span.start;
                let text = answer
                    .chars()
                    .skip(section.span.start)
                    .take(length)
                    .collect();
                (section.name.as_str(), text)
            })
            .collect();
        assert_eq!(
            texts,
            [
                ("analysis", "缺少许可 [1]。\n\n### 别的\n\nx".to_owned()),
                ("solution", "```\n## 环境信息\n```\n好。".to_owned()),
            ]
        );
        assert_eq!(sections("no headings", CODE), []);
    }
}
