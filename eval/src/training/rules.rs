//! Questions without a model: from headings, from sentences that define something, and the first
//! sentence as what a reader looks for. Plainer than a model's, and close to the words of the
//! passage: for a first try, and where no model may see the documents.

use tributary_taxonomy::sentences::{first_sentence, sentence_ends};

use super::rule_words::{
    CHINESE_DEFINITIONS, CHINESE_VERBS, ENGLISH_DEFINITIONS, ENGLISH_VERBS, GENERAL_HEADINGS,
    TEXT_ENDINGS,
};
use super::{Language, Pair, Style, TrainingPassage, half_words};

/// Raised with each change that matters to whoever compares results.
pub const VERSION: &str = "rules@1";
/// What stands for the model.
pub const MODEL: &str = "rules";

/// Half words that a question has at least.
const SHORTEST: usize = 3;
/// And at most.
const LONGEST: usize = 80;
/// Half words of what is defined, at most.
const LONGEST_TERM: usize = 12;

/// The questions of a passage, at most so many.
pub fn questions(passage: &TrainingPassage, limit: usize) -> Vec<Pair> {
    let prose = prose(&passage.text);
    let mut found: Vec<(Style, String)> = definitions(&prose);
    found.extend(of_titles(passage).map(|question| (Style::Title, question)));
    found.push((
        Style::Summary,
        without_end(first_sentence(&prose)).to_owned(),
    ));
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

/// Running text of a passage: no headings, code, tables, lists of fields or directives.
fn prose(text: &str) -> String {
    let (mut prose, mut in_code) = (String::new(), false);
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            in_code = !in_code;
            continue;
        }
        let is_marked =
            line.starts_with(['#', '|', '-', '*', '>', '+', ':', '.', '!', '<', '=', '$']);
        if in_code || is_marked {
            continue;
        }
        prose.push_str(&line.replace(['*', '`'], ""));
        prose.push('\n');
    }
    prose
}

fn definitions(prose: &str) -> Vec<(Style, String)> {
    let mut start = 0;
    let mut found = Vec::new();
    for end in sentence_ends(prose, &[]) {
        let sentence = prose.get(start..end).unwrap_or_default().trim();
        start = end;
        let asked = match Language::of(sentence) {
            Language::Zh => chinese_definition(sentence),
            Language::En => english_definition(sentence),
        };
        found.extend(
            asked
                .into_iter()
                .flatten()
                .map(|question| (Style::Content, question)),
        );
    }
    found
}

/// What a term is, and which term something is: two questions of one sentence.
fn chinese_definition(sentence: &str) -> Option<[String; 2]> {
    let (at, word) = first_of(&CHINESE_DEFINITIONS, sentence)?;
    let (term, rest) = (sentence.get(..at)?, sentence.get(at + word.len()..)?);
    let term = term.trim().trim_end_matches('，');
    let is_term = !term.contains(['，', '。', '：', '、', ',', ':', '？', '\n']);
    let rest = without_end(rest.trim_start());
    if !is_term || !is_name(term) || half_words(rest) < SHORTEST {
        return None;
    }
    Some([format!("{term}是什么？"), format!("什么是{rest}？")])
}

fn english_definition(sentence: &str) -> Option<[String; 2]> {
    let (at, word) = first_of(&ENGLISH_DEFINITIONS, sentence)?;
    let (term, rest) = (sentence.get(..at)?, sentence.get(at + word.len()..)?);
    let term = ["The ", "A ", "An "]
        .iter()
        .find_map(|article| term.strip_prefix(article))
        .unwrap_or(term);
    let rest = without_end(rest.trim_start());
    if term.contains([',', ':', ';', '(', '\n']) || !is_name(term) || half_words(rest) < SHORTEST {
        return None;
    }
    let asks = match word.trim() {
        "refers to" | "means" => format!("What is meant by {rest}?"),
        verb => format!("What {verb} {rest}?"),
    };
    Some([format!("What is {term}?"), asks])
}

/// The word that stands first in a sentence, and its place in bytes.
fn first_of<'a>(words: &[&'a str], sentence: &str) -> Option<(usize, &'a str)> {
    let places = words
        .iter()
        .map(|word| Some((sentence.find(*word)?, *word)));
    places.flatten().min()
}

/// Whether words can be what is defined: few, and none that stands for something else.
fn is_name(term: &str) -> bool {
    (1..=LONGEST_TERM).contains(&half_words(term))
        && super::clean::referents::vague_referent(term).is_none()
}

/// The question that the nearest titles ask.
fn of_titles(passage: &TrainingPassage) -> impl Iterator<Item = String> {
    let path = passage.path();
    let titles: Vec<String> = path.split(" › ").map(without_number).collect();
    let last = titles.last().filter(|title| !title.is_empty()).cloned();
    last.into_iter().map(move |last| {
        let above = titles.iter().rev().nth(1);
        match above {
            Some(above) if GENERAL_HEADINGS.contains(&last.to_lowercase().as_str()) => {
                format!("{above} {last}")
            }
            _ => of_title(&last),
        }
    })
}

fn of_title(title: &str) -> String {
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
    let names_text = TEXT_ENDINGS.iter().any(|end| title.ends_with(end));
    let is_english_verb = ENGLISH_VERBS.contains(&first);
    if is_question {
        title.to_owned()
    } else if CHINESE_VERBS.iter().any(|verb| title.starts_with(verb)) && !names_text {
        format!("如何{title}？")
    } else if is_english_verb {
        format!("How to {lower}?")
    } else {
        title.to_owned()
    }
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

fn without_end(sentence: &str) -> &str {
    sentence
        .trim()
        .trim_end_matches(['。', '.', '：', ':', '；', ';', '！', '!'])
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
                .all(|pair| pair.model == "rules" && pair.prompt == "rules@1")
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
            (Style::Content, "What is tilt sensor?"),
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
        assert!(found.contains(&(Style::Title, "mindspore.nn.Conv2d".to_owned())));
    }

    #[test]
    fn titles_become_questions_where_they_name_something_to_do() {
        let cases = [
            ("安装驱动", "如何安装驱动？"),
            ("安装指南", "安装指南"),
            ("How does it scale", "How does it scale"),
            ("Configure the antenna", "How to configure the antenna?"),
            ("自动混合精度", "自动混合精度"),
        ];
        for (title, question) in cases {
            assert_eq!(of_title(title), question);
        }
        assert_eq!(without_number("3.2 数据集"), "数据集");
        assert_eq!(without_number("5G 组网"), "5G 组网");
    }
}
