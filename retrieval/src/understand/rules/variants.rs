//! A question with other names for what it names: an abbreviation written out, or the long form
//! abbreviated.

use tributary_taxonomy::{Mention, Synonyms};

use super::language::{is_chinese, is_han};

/// Variants of one question.
pub const MAXIMUM: usize = 3;

/// At most [`MAXIMUM`] other ways to write the question; none is the question itself. The first
/// has another name for everything that has one, in the language of the question if there is one.
pub fn variants(question: &str, synonyms: &Synonyms) -> Vec<String> {
    let mentions = synonyms.mentions(question);
    let most = mentions.iter().map(|mention| mention.others.len()).max();
    let chinese = is_chinese(question);
    let ranked: Vec<Vec<&str>> = mentions
        .iter()
        .map(|mention| ranked(mention, chinese))
        .collect();
    let mut variants: Vec<String> = Vec::new();
    for round in 0..most.unwrap_or(0) {
        let variant = replaced(question, &mentions, &ranked, round);
        if variant != question && !variants.contains(&variant) {
            variants.push(variant);
        }
    }
    variants.truncate(MAXIMUM);
    variants
}

/// Other names, those in the language of the question first; else as the lexicon has them.
fn ranked<'a>(mention: &Mention<'a>, chinese: bool) -> Vec<&'a str> {
    let mut others = mention.others.clone();
    others.sort_by_key(|name| name.chars().any(is_han) != chinese);
    others
}

/// The question with the name of this round for each mention, or the last that there is.
fn replaced(
    question: &str,
    mentions: &[Mention<'_>],
    ranked: &[Vec<&str>],
    round: usize,
) -> String {
    let mut variant = String::new();
    let mut done = 0;
    for (mention, names) in mentions.iter().zip(ranked) {
        let before = question.get(done..mention.range.start).unwrap_or_default();
        variant.push_str(before);
        let name = names.get(round).or(names.last());
        let written = question.get(mention.range.clone()).unwrap_or_default();
        variant.push_str(name.copied().unwrap_or(written));
        done = mention.range.end;
    }
    variant.push_str(question.get(done..).unwrap_or_default());
    variant
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abbreviations_are_written_out_and_long_forms_abbreviated() {
        let mut synonyms = Synonyms::default();
        for group in [
            vec!["载波聚合", "CA", "Carrier Aggregation"],
            vec!["双连接", "DC"],
            vec!["一", "二二", "三三", "四四", "五五"],
        ] {
            synonyms.add(group.into_iter().map(str::to_owned));
        }
        let table: [(&str, &[&str]); 5] = [
            (
                "CA怎么配置",
                &["载波聚合怎么配置", "Carrier Aggregation怎么配置"],
            ),
            (
                "载波聚合怎么配置",
                &["CA怎么配置", "Carrier Aggregation怎么配置"],
            ),
            (
                "How do CA and DC differ?",
                &[
                    "How do Carrier Aggregation and 双连接 differ?",
                    "How do 载波聚合 and 双连接 differ?",
                ],
            ),
            ("二二", &["一", "三三", "四四"]),
            ("时延", &[]),
        ];
        for (question, expected) in table {
            assert_eq!(variants(question, &synonyms), expected, "{question}");
        }
    }
}
