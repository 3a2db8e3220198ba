//! Questions without a model: from headings, from sentences whose form says what they answer
//! ([`super::rule_sentences`]), and the first sentence as what a reader looks for. Plainer than a
//! model's, and close to the words of the passage: for a first try, and where no model may see the
//! documents.

use tributary_taxonomy::sentences::{first_sentence, sentence_ends};

use super::rule_sentences::{self, without_end};
use super::rule_words::{CHINESE_VERBS, ENGLISH_VERBS, GENERAL_HEADINGS, TEXT_ENDINGS};
use super::{Language, Pair, Style, TrainingPassage, half_words};

/// Raised with each change that matters to whoever compares results.
pub const VERSION: &str = "rules@2";
/// What stands for the model.
pub const MODEL: &str = "rules";

/// Half words that a question has at least.
const SHORTEST: usize = 3;
/// And at most.
const LONGEST: usize = 80;
/// A heading of so few half words is asked with the one above it.
const SHORT_HEADING: usize = 4;

/// The questions of a passage, at most so many.
pub fn questions(passage: &TrainingPassage, limit: usize) -> Vec<Pair> {
    let paragraphs = paragraphs(&passage.text);
    let sentences = paragraphs.iter().flat_map(|paragraph| sentences(paragraph));
    let mut found: Vec<(Style, String)> = sentences
        .flat_map(rule_sentences::questions)
        .map(|question| (Style::Content, question))
        .collect();
    found.extend(of_titles(passage).map(|question| (Style::Title, question)));
    let first = paragraphs.iter().map(|paragraph| first_sentence(paragraph));
    let summary = first.map(without_end).find(|first| begins(first));
    found.extend(summary.map(|summary| (Style::Summary, summary.to_owned())));
    let mut pairs: Vec<Pair> = Vec::new();
    for (style, question) in found {
        let question = question.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_known = pairs.iter().any(|pair| pair.question == question);
        if is_known || !(SHORTEST..=LONGEST).contains(&half_words(&question)) {
            continue;
        }
        pairs.push(Pair {
            language: Language::of(&question),
            question,
            style,
            prompt: VERSION.to_owned(),
            model: MODEL.to_owned(),
            ..Pair::of(passage)
        });
    }
    pairs.truncate(limit);
    pairs
}

/// Paragraphs of running text, each on one line: no headings, code, signatures, tables, lists of
/// fields or directives.
fn paragraphs(text: &str) -> Vec<String> {
    let (mut paragraphs, mut in_code) = (vec![String::new()], false);
    for line in text.lines() {
        let line = line.trim();
        let is_fence = line.starts_with("```") || line.starts_with("~~~");
        in_code ^= is_fence;
        let is_running = !is_fence && !in_code && !line.is_empty() && is_running(line);
        match paragraphs.last_mut() {
            Some(paragraph) if is_running => append(paragraph, &without_markup(line)),
            Some(paragraph) if paragraph.is_empty() => {}
            _ => paragraphs.push(String::new()),
        }
    }
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    paragraphs
}

/// A line as it is read: without emphasis, addresses of links, escapes, and the number of an item.
fn without_markup(line: &str) -> String {
    let mut parts = line.split("](");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str(part.split_once(')').map_or("", |(_, behind)| behind));
    }
    without_number(&text.replace(['*', '`', '[', '\\'], ""))
}

fn is_running(line: &str) -> bool {
    let is_signature = ["class ", "def ", "fn ", "function "]
        .iter()
        .any(|word| line.trim_start_matches(['*', '`']).starts_with(word));
    !is_signature && !line.starts_with(['#', '|', '-', '*', '>', '+', ':', '.', '!', '<', '=', '$'])
}

/// Chinese lines go on without a space.
fn append(paragraph: &mut String, line: &str) {
    let is_ascii = |sign: Option<char>| sign.is_some_and(|sign| sign.is_ascii());
    if is_ascii(paragraph.chars().next_back()) || is_ascii(line.chars().next()) {
        paragraph.push(' ');
    }
    paragraph.push_str(line);
    if paragraph.starts_with(' ') {
        paragraph.remove(0);
    }
}

fn sentences(paragraph: &str) -> impl Iterator<Item = &str> {
    let mut start = 0;
    let ends = sentence_ends(paragraph, &[]);
    ends.into_iter().filter_map(move |end| {
        let sentence = paragraph.get(start..end).map(str::trim);
        start = end;
        sentence.filter(|sentence| !sentence.is_empty())
    })
}

/// Whether a sentence begins here: a passage may begin in the middle of one.
fn begins(sentence: &str) -> bool {
    let first = sentence.chars().next();
    first.is_some_and(|sign| sign.is_alphanumeric() && !sign.is_lowercase())
}

/// The question that the nearest titles ask.
fn of_titles(passage: &TrainingPassage) -> Option<String> {
    let path = passage.path();
    let titles: Vec<String> = path.split(" › ").map(without_number).collect();
    let (last, above) = titles.split_last()?;
    let is_general = GENERAL_HEADINGS.contains(&last.to_lowercase().as_str())
        || half_words(last) <= SHORT_HEADING;
    match above.last() {
        _ if last.is_empty() || is_file_name(last) => None,
        Some(above) if is_general => Some(format!("{above} {last}")),
        _ => Some(of_title(last, Language::of(&passage.text))),
    }
}

/// Whether a title is what a file was called: nobody asks for it.
fn is_file_name(title: &str) -> bool {
    !title.contains(char::is_whitespace) && title.matches(['-', '_']).count() >= 3
}

/// Whether a title is a name in source code.
fn is_identifier(title: &str) -> bool {
    let is_part = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '.' | '_' | ':');
    title.chars().all(is_part) && title.contains(['.', '_']) && !title.ends_with('.')
}

fn of_title(title: &str, language: Language) -> String {
    let asks = [
        "如何",
        "怎么",
        "怎样",
        "什么",
        "为什么",
        "是否",
        "how ",
        "what ",
        "why ",
        "when ",
    ];
    let lower = title.to_lowercase();
    let is_question =
        title.ends_with(['?', '？']) || asks.iter().any(|word| lower.starts_with(word));
    let first = lower.split(' ').next().unwrap_or_default();
    let names_text =
        TEXT_ENDINGS.iter().any(|end| title.ends_with(end)) || title.starts_with("配置文件");
    let is_english_verb = ENGLISH_VERBS.contains(&first);
    match language {
        _ if is_question => title.to_owned(),
        Language::Zh if is_identifier(title) => format!("{title}有什么作用？"),
        Language::En if is_identifier(title) => format!("What does {title} do?"),
        _ if CHINESE_VERBS.iter().any(|verb| title.starts_with(verb)) && !names_text => {
            format!("如何{title}？")
        }
        _ if is_english_verb => format!("How to {}?", lower_first(title)),
        _ => title.to_owned(),
    }
}

/// With a small first letter.
fn lower_first(title: &str) -> String {
    let mut signs = title.chars();
    let first = signs.next().map(|sign| sign.to_lowercase().to_string());
    first.unwrap_or_default() + signs.as_str()
}

/// A title without the number before it.
fn without_number(title: &str) -> String {
    let title = title.trim().trim_start_matches('#').trim_start();
    let is_number = |sign: char| sign.is_ascii_digit() || matches!(sign, '.' | '、' | ' ' | ')');
    let rest = title.trim_start_matches(is_number);
    let number = title.strip_suffix(rest).unwrap_or_default();
    // The 5 of 5G is no number of a section.
    let is_apart = number.ends_with(['.', '、', ' ', ')']);
    let kept = if is_apart && !rest.is_empty() {
        rest
    } else {
        title
    };
    kept.replace(['*', '`'], "").trim().to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::samples::chunk_id;
    use super::*;

    fn of(title: &str, section: &str, text: &str) -> Vec<(Style, String)> {
        let passage = TrainingPassage {
            chunk_id: chunk_id(1),
            document_id: "d".to_owned(),
            family: Vec::new(),
            title: title.to_owned(),
            section_path: vec![section.to_owned()],
            text: text.to_owned(),
        };
        let pairs = questions(&passage, 10);
        assert!(
            pairs
                .iter()
                .all(|pair| pair.model == "rules" && pair.prompt == "rules@2")
        );
        pairs
            .into_iter()
            .map(|pair| (pair.style, pair.question))
            .collect()
    }

    #[test]
    fn a_definition_asks_both_ways_and_headings_ask_what_they_name() {
        let found = of(
            "分布式并行",
            "2.1 配置流水线并行",
            "## 2.1 配置流水线并行\n\n流水线并行是一种将模型按层切分到多个设备的并行方式。它很快。\n",
        );
        let expected = [
            (Style::Content, "流水线并行是什么？"),
            (Style::Content, "什么是将模型按层切分到多个设备的并行方式？"),
            (Style::Title, "如何配置流水线并行？"),
            (
                Style::Summary,
                "流水线并行是一种将模型按层切分到多个设备的并行方式",
            ),
        ];
        assert_eq!(
            found,
            expected.map(|(style, text)| (style, text.to_owned()))
        );
        let found = of(
            "Antennas",
            "Overview",
            "The tilt sensor is a device that measures the angle of an antenna.\n",
        );
        let expected = [
            (Style::Content, "What is the tilt sensor?"),
            (
                Style::Content,
                "What is a device that measures the angle of an antenna?",
            ),
            (Style::Title, "Antennas Overview"),
        ];
        let expected = expected.map(|(style, text)| (style, text.to_owned()));
        assert_eq!(found.get(..3), Some(expected.as_slice()));
    }

    #[test]
    fn nothing_is_made_of_code_tables_and_what_stands_for_something_else() {
        let text = "```\nx is a variable that counts calls\n```\n| a | b |\n它是一种将模型切分的并行方式。\nIt is a kind of \
                    parallelism for models.\n";
        let found = of("API", "mindspore.nn.Conv2d", text);
        assert!(
            found.iter().all(|(style, _)| *style != Style::Content),
            "{found:?}"
        );
        let title = "mindspore.nn.Conv2d有什么作用？".to_owned();
        assert!(found.contains(&(Style::Title, title)), "{found:?}");
    }

    #[test]
    fn titles_become_questions_where_they_name_something_to_do() {
        let cases = [
            ("安装驱动", "如何安装驱动？"),
            ("安装指南", "安装指南"),
            ("配置文件操作失败", "配置文件操作失败"),
            ("How does it scale", "How does it scale"),
            ("Configure the antenna", "How to configure the antenna?"),
            ("自动混合精度", "自动混合精度"),
            ("Configure PDCP", "How to configure PDCP?"),
            ("ops.relu", "ops.relu有什么作用？"),
        ];
        for (title, question) in cases {
            assert_eq!(of_title(title, Language::Zh), question);
        }
        assert_eq!(of_title("ops.relu", Language::En), "What does ops.relu do?");
        assert_eq!(without_number("3.2 数据集"), "数据集");
        assert_eq!(without_number("5G 组网"), "5G 组网");
    }

    #[test]
    fn a_title_that_says_little_stands_with_the_one_above_and_a_file_name_is_no_question() {
        let titles = |title, section| -> Vec<String> {
            let found = of(title, section, "正文。");
            let titles = found
                .into_iter()
                .filter(|(style, _)| *style == Style::Title);
            titles.map(|(_, question)| question).collect()
        };
        assert_eq!(
            titles("rank table启动", "跨集群"),
            ["rank table启动 跨集群"]
        );
        assert_eq!(titles("LICENSE-AGPL-3.0-docs", ""), [""; 0]);
    }

    #[test]
    fn a_paragraph_is_read_as_a_whole_and_signatures_and_halves_of_sentences_are_left_out() {
        let text = "of that license.\n\n`class F1(x)`\n\n1. 当[小区](cell.md)处于休眠状态\n时，需要先激活载波。\n";
        assert_eq!(
            paragraphs(text),
            ["of that license.", "当小区处于休眠状态时，需要先激活载波。"]
        );
        let found = of("F1", "", text);
        let summary = (
            Style::Summary,
            "当小区处于休眠状态时，需要先激活载波".to_owned(),
        );
        assert_eq!(found.last(), Some(&summary), "{found:?}");
    }
}
