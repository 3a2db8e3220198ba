//! The lesser way to answer: the sentences that say most of the question, word for word, each with
//! its source.
//!
//! score(sentence) = Σ rarity(w) over the words w of the question in it, half of those that only its
//! heading has / Σ rarity(w) over all, times the relevance of its passage, less for each sentence
//! before it under the heading; a sentence that defines what a definition is asked of counts more.
//! The rows of a table stand all in one place, and where one has words of the question, those without
//! any are none. Questions, links, heads of tables and what says no more than the question answer
//! nothing, nor does a passage about something else than the question (`subject`). What announces a list is quoted with
//! it, and what leans on the sentence before it with that.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use tributary_schemas::ChunkKind;
use tributary_schemas::ask::{Source, Span};
use tributary_schemas::understanding::Intent;
use tributary_taxonomy::Analyzer;
use tributary_taxonomy::language::{is_chinese, is_han};

use super::code_reader::fenced_blocks;
use super::lists;
pub use super::quoting::{Extract, escaped};
use super::quoting::{Quoted, quoted, written};
use super::rows::table_at;
use super::statements::{Statement, statements};
use super::subject::{Subject, place};
use super::words::{Words, rarities};

/// Sentences of an answer at most.
const MAXIMUM_SENTENCES: usize = 4;
/// Characters of an answer from which no further sentence is added.
const ENOUGH_CHARACTERS: usize = 500;
/// Least share of the best sentence's score.
const LEAST_OF_BEST: f32 = 0.5;
/// Sentences of which more words are in one that was taken already say the same.
const SAME: f32 = 0.8;
/// What a word of the question counts that stands in the heading and not in the sentence.
const IN_HEADING: f32 = 0.5;
/// What a sentence counts less for each one before it under its heading.
const LATER: f32 = 0.05;
/// What the beginning of a list counts, which goes on behind it.
const BEGINS_LIST: f32 = 0.6;
/// What a defining sentence counts more.
const DEFINES: f32 = 1.5;
/// Lines of code or of an answer that are given whole.
const MAXIMUM_LINES: usize = 40;
/// Relevance from which a passage is taken for an answer whatever it names its subject.
const SURE: f32 = 0.7;
/// Beginnings of sentences that lean on the one before.
const LEANING: [&str; 22] = [
    "因此",
    "所以",
    "这种",
    "这个",
    "这些",
    "这样",
    "这是",
    "该",
    "此",
    "它",
    "其",
    "上面",
    "上述",
    "以上",
    "Therefore",
    "Thus",
    "Hence",
    "This ",
    "These ",
    "It ",
    "They ",
    "Such ",
];
/// Relevance that is taken for a passage that has none.
const UNKNOWN_RELEVANCE: f32 = 0.5;

struct Candidate<'a> {
    source: &'a Source,
    statement: Statement,
    words: Words,
    heading: Arc<Words>,
    /// Sentences before it under its heading; those before its table for a row.
    before: usize,
    /// Where the table begins of which it is a row.
    table: Option<usize>,
    /// The list that it announces, in bytes.
    list: Option<Range<usize>>,
    score: f32,
}

/// Answers in the words of the sources, which are the best first; empty without any, and where they
/// are about something else. CPU-bound: some milliseconds.
pub fn extract(question: &str, intent: Intent, sources: &[Source], analyzer: &Analyzer) -> Extract {
    let subject = match intent {
        Intent::Error => None,
        _ => Subject::of(question, &Words::of(&asked(question), analyzer), analyzer),
    };
    of_subject(subject, question, intent, sources, analyzer)
}

/// The same of sources among which are rows that a model asked tables for: these answer whatever they
/// name.
pub fn extract_with_rows(
    question: &str,
    intent: Intent,
    sources: &[Source],
    analyzer: &Analyzer,
) -> Extract {
    of_subject(None, question, intent, sources, analyzer)
}

fn of_subject(
    subject: Option<Subject>,
    question: &str,
    intent: Intent,
    sources: &[Source],
    analyzer: &Analyzer,
) -> Extract {
    let sources = of_documents(sources);
    let words = Words::of(&asked(question), analyzer);
    // In another language its words stand nowhere, unless they are names.
    let is_told = sources.iter().any(|source| may_say(question, &source.text));
    let subject = subject.filter(|subject| is_told || subject.is_identified());
    let sources = match subject {
        Some(subject) => about(&subject, &sources, analyzer),
        None => sources,
    };
    let Some(first) = sources.first() else {
        return Extract::default();
    };
    if is_whole(first) {
        return whole(first);
    }
    let mut candidates = candidates(&sources, analyzer);
    score(&mut candidates, &words, intent);
    let chosen = choose(candidates);
    if chosen.is_empty() {
        return opening(first);
    }
    written(&chosen, is_chinese(question))
}

/// Whether a text may have the words of a question: some of it is in the same language.
fn may_say(question: &str, text: &str) -> bool {
    const SOME: usize = 20;
    match is_chinese(question) {
        true => {
            let han = text.chars().filter(|character| is_han(*character));
            is_chinese(text) || han.take(SOME).count() == SOME
        }
        false => !is_chinese(text),
    }
}

/// The passages about the subject; all of them where none is and one is sure to answer.
fn about<'a>(subject: &Subject, sources: &[&'a Source], analyzer: &Analyzer) -> Vec<&'a Source> {
    let texts: Vec<Words> = sources
        .iter()
        .map(|source| Words::of(&source.text, analyzer).with(&place(source, analyzer)))
        .collect();
    let about = subject.is_of_each(&texts);
    let those = sources.iter().zip(about).filter(|(_, is_about)| *is_about);
    let those: Vec<&Source> = those.map(|(source, _)| *source).collect();
    let is_sure = |source: &&&Source| source.relevance.is_some_and(|sure| sure >= SURE);
    let may_be = those.is_empty() && !subject.is_identified();
    match may_be && sources.iter().any(|source| is_sure(&source)) {
        true => sources.to_vec(),
        false => those,
    }
}

/// The sources that are text of their documents: summaries, which may be a model's, only where there
/// is nothing else.
fn of_documents(sources: &[Source]) -> Vec<&Source> {
    let is_text = |source: &&Source| source.kind != ChunkKind::Summary;
    let texts: Vec<&Source> = sources.iter().filter(is_text).collect();
    match texts.is_empty() {
        true => sources.iter().collect(),
        false => texts,
    }
}

/// Code, and what answers by itself: a pair of question and answer, an entry of an API reference.
fn is_whole(source: &Source) -> bool {
    let kinds = [ChunkKind::Faq, ChunkKind::Api, ChunkKind::CodeFunction];
    source.language.is_some() || kinds.contains(&source.kind)
}

fn whole(source: &Source) -> Extract {
    let shown: Vec<&str> = source.text.lines().take(MAXIMUM_LINES).collect();
    let mut text = shown.join("\n");
    let end = text.chars().count();
    if text.len() < source.text.trim_end().len() {
        text.push_str("\n…");
    }
    let number = source.number;
    let answer = match &source.language {
        Some(language) => format!("```{language}\n{text}\n```\n\n[{number}]"),
        // An open block of code would swallow the citation.
        None if text.matches("```").count() % 2 == 1 => {
            format!("{}\n```\n\n[{number}]", escaped(&text))
        }
        None => format!("{} [{number}]", escaped(&text)),
    };
    Extract {
        answer,
        marks: vec![(number, Span { start: 0, end })],
    }
}

fn candidates<'a>(sources: &[&'a Source], analyzer: &Analyzer) -> Vec<Candidate<'a>> {
    let prose = sources.iter().filter(|source| source.language.is_none());
    prose
        .flat_map(|source| of_source(source, analyzer))
        .collect()
}

fn of_source<'a>(source: &'a Source, analyzer: &Analyzer) -> Vec<Candidate<'a>> {
    let mut headings = headings(&source.text).into_iter().peekable();
    let above = source.section_path.last().unwrap_or(&source.title);
    let mut heading = Arc::new(Words::of(&asked(above), analyzer));
    let mut before = 0;
    let mut found: Vec<Candidate<'a>> = Vec::new();
    for statement in statements(&source.text) {
        while let Some((_, title)) = headings.next_if(|(at, _)| *at < statement.bytes.start) {
            heading = Arc::new(Words::of(&asked(title), analyzer));
            before = 0;
        }
        let words = Words::of(&statement.text, analyzer);
        // A question in the text is the heading of its answer.
        let is_asked = statement.text.ends_with(['?', '？']);
        let question = is_asked.then(|| Arc::new(words.clone()));
        let table = table_at(&source.text, statement.bytes.start);
        let start = table.as_ref().map(|table| table.bytes.start);
        let above = found
            .last()
            .filter(|above| start.is_some() && above.table == start);
        found.push(Candidate {
            words,
            before: above.map_or(before, |row| row.before),
            heading: match (above, table) {
                (Some(row), _) => Arc::clone(&row.heading),
                (None, Some(table)) => Arc::new(heading.with(&Words::of(&table.head, analyzer))),
                (None, None) => Arc::clone(&heading),
            },
            table: start,
            list: list_of(source, &statement),
            source,
            statement,
            score: 0.0,
        });
        before += 1;
        if let Some(question) = question {
            heading = question;
            before = 0;
        }
    }
    found
}

/// Titles of a Markdown text, with where they stand.
fn headings(text: &str) -> Vec<(usize, &str)> {
    let code = fenced_blocks(text);
    let mut start = 0;
    let mut found = Vec::new();
    for line in text.split_inclusive('\n') {
        let title = line.trim_start_matches('#');
        let is_heading = title.len() < line.len() && title.starts_with(' ');
        if is_heading && !code.iter().any(|block| block.contains(&start)) {
            found.push((start, title.trim()));
        }
        start += line.len();
    }
    found
}

/// A question without the ends of its contractions, which are no words: `can't`, `what's`.
fn asked(question: &str) -> String {
    const ENDS: [&str; 7] = ["t", "s", "re", "ve", "ll", "d", "m"];
    let mut text = String::with_capacity(question.len());
    for (at, part) in question.split(['\'', '’']).enumerate() {
        let length = part.find(|one: char| !one.is_alphabetic());
        let (word, rest) = part.split_at(length.unwrap_or(part.len()));
        let is_end = at > 0 && ENDS.contains(&word.to_lowercase().as_str());
        text.push(' ');
        text.push_str(if is_end { rest } else { part });
    }
    text
}

fn list_of(source: &Source, statement: &Statement) -> Option<Range<usize>> {
    let announces = statement.text.ends_with([':', '：']);
    let end = statement.bytes.end;
    announces
        .then(|| lists::announced(&source.text, end))
        .flatten()
}

fn score(candidates: &mut [Candidate<'_>], asked: &Words, intent: Intent) {
    let texts: Vec<Words> = candidates.iter().map(|one| one.words.clone()).collect();
    let rarities = rarities(&texts);
    let most = rarities.values().copied().fold(1.0, f32::max);
    let rarity = |word: &String| rarities.get(word.as_str()).copied().unwrap_or(most);
    let all: f32 = asked.content.iter().map(rarity).sum();
    let named = tables_with_words(candidates, asked);
    for candidate in candidates {
        let says_nothing = candidate.words.content.is_disjoint(&asked.content);
        let is_other_row = says_nothing
            && candidate
                .table_of()
                .is_some_and(|table| named.contains(&table));
        if is_other_row || !says_more(candidate, asked) {
            continue;
        }
        let (words, heading) = (&candidate.words.content, &candidate.heading.content);
        let said: f32 = asked.content.intersection(words).map(rarity).sum();
        let headed = asked.content.intersection(heading);
        let headed: f32 = headed
            .filter(|word| !words.contains(*word))
            .map(rarity)
            .sum();
        let relevance = candidate.source.relevance.unwrap_or(UNKNOWN_RELEVANCE);
        let defines = intent == Intent::Definition && defines(&candidate.statement.text);
        #[expect(
            clippy::cast_precision_loss,
            reason = "a passage has far fewer than 2^24 sentences"
        )]
        let before = candidate.before as f32;
        candidate.score = (said + IN_HEADING * headed) / all.max(f32::EPSILON)
            * (0.5 + 0.5 * relevance)
            / (1.0 + LATER * before)
            * match candidate.list {
                None if candidate.statement.text.ends_with([':', '：']) => BEGINS_LIST,
                _ => 1.0,
            }
            * if defines { DEFINES } else { 1.0 };
    }
}

/// Tables with a row that has a word of the question.
fn tables_with_words(candidates: &[Candidate<'_>], asked: &Words) -> HashSet<(u32, usize)> {
    let says = |one: &&Candidate<'_>| !one.words.content.is_disjoint(&asked.content);
    let saying = candidates.iter().filter(says);
    saying.filter_map(Candidate::table_of).collect()
}

/// Whether a sentence can answer: it asks nothing, and has more words or numbers than the question.
fn says_more(candidate: &Candidate<'_>, asked: &Words) -> bool {
    let text = &candidate.statement.text;
    let words = &candidate.words;
    let has_more = words
        .content
        .iter()
        .any(|word| !asked.content.contains(word))
        || words
            .numbers
            .iter()
            .any(|number| !asked.numbers.contains(number));
    has_more && !text.ends_with(['?', '？']) && !is_link(text) && !is_table_head(candidate)
}

/// Whether there is nothing but links.
fn is_link(text: &str) -> bool {
    let mut outside = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        let Some((_, after)) = link
            .split_once("](")
            .and_then(|(_, url)| url.split_once(')'))
        else {
            return false;
        };
        outside.push_str(before);
        rest = after;
    }
    outside.push_str(rest);
    outside.len() < text.len() && !outside.chars().any(char::is_alphanumeric)
}

/// Whether the next line is the rule below the head of a table.
fn is_table_head(candidate: &Candidate<'_>) -> bool {
    let after = candidate.source.text.get(candidate.statement.bytes.end..);
    let mut lines = after.unwrap_or_default().lines();
    let rest_of_line = lines.next().unwrap_or_default();
    let rule = lines.next().unwrap_or_default().trim();
    let is_rule = rule.contains("--") && rule.chars().all(|one| "|-: ".contains(one));
    is_rule && (rule.contains('|') || rest_of_line.contains('|'))
}

fn defines(sentence: &str) -> bool {
    let small = sentence.to_lowercase();
    let marks = [
        "是指",
        "是一种",
        "是一个",
        "指的是",
        "称为",
        "即",
        " is a ",
        " is an ",
        " is the ",
        " refers to ",
    ];
    marks.iter().any(|mark| small.contains(mark))
}

/// The best sentences, which stand in the order of their sources, with those that they lean on.
fn choose(candidates: Vec<Candidate<'_>>) -> Vec<Quoted<'_>> {
    let by_score = candidates.iter().enumerate();
    let mut by_score: Vec<(usize, &Candidate<'_>)> =
        by_score.filter(|(_, one)| one.score > 0.0).collect();
    by_score.sort_by(|(_, left), (_, right)| right.score.total_cmp(&left.score));
    let best = by_score.first().map_or(0.0, |(_, one)| one.score);
    let mut chosen: Vec<(usize, &Candidate<'_>)> = Vec::new();
    let mut characters = 0;
    for (at, candidate) in by_score {
        let is_enough = chosen.len() >= MAXIMUM_SENTENCES || characters >= ENOUGH_CHARACTERS;
        if is_enough || candidate.score < best * LEAST_OF_BEST {
            break;
        }
        let words = &candidate.words;
        let says_again = |(_, one): &(usize, &Candidate<'_>)| {
            words.coverage_by([&one.words]) >= SAME || one.announces(candidate)
        };
        if chosen.iter().any(says_again) {
            continue;
        }
        characters += candidate.statement.text.chars().count();
        let before = at
            .checked_sub(1)
            .and_then(|at| Some((at, candidates.get(at)?)));
        let before = before.filter(|(_, one)| candidate.leans_on(one));
        chosen.extend(before.filter(|(at, _)| !chosen.iter().any(|(known, _)| known == at)));
        chosen.push((at, candidate));
    }
    let mut chosen: Vec<usize> = chosen.into_iter().map(|(at, _)| at).collect();
    chosen.sort_unstable();
    let is_chosen = |at: &usize| chosen.binary_search(at).is_ok();
    let all = candidates.into_iter().enumerate();
    all.filter(|(at, _)| is_chosen(at))
        .map(|(_, one)| one.quoted())
        .collect()
}

impl<'a> Candidate<'a> {
    fn quoted(self) -> Quoted<'a> {
        Quoted {
            source: self.source,
            statement: self.statement,
            list: self.list,
        }
    }

    /// The table of which it is a row: the number of its source, and where it begins.
    fn table_of(&self) -> Option<(u32, usize)> {
        Some((self.source.number, self.table?))
    }

    /// Whether it says nothing without the sentence before it.
    fn leans_on(&self, before: &Self) -> bool {
        let text = &self.statement.text;
        let is_before = before.source.number == self.source.number && self.before > 0;
        is_before && LEANING.iter().any(|beginning| text.starts_with(beginning))
    }

    /// Whether the other stands in the list that it announces.
    fn announces(&self, other: &Self) -> bool {
        let same = self.source.number == other.source.number;
        let list = self.list.as_ref();
        same && list.is_some_and(|list| list.contains(&other.statement.bytes.start))
    }
}

fn opening(source: &Source) -> Extract {
    let all = statements(&source.text);
    let Some(first) = all.first() else {
        return whole(source);
    };
    let number = source.number;
    Extract {
        answer: format!("{} [{number}]", quoted(source, first)),
        marks: vec![(number, first.span)],
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::answer::tests::{analyzer, source};

    #[test]
    fn summaries_are_quoted_only_where_there_is_nothing_else() {
        let mut summary = source(1, "Antennas: the tilt of the antenna is six degrees.");
        summary.kind = ChunkKind::Summary;
        let text = source(2, "The tilt of the antenna is six degrees in the north.");
        let answer = |sources: &[Source]| {
            let question = "What is the tilt of the antenna?";
            extract(question, Intent::Fact, sources, &analyzer()).answer
        };
        let both = answer(&[summary.clone(), text]);
        assert!(both.ends_with("[2]") && !both.contains("[1]"), "{both}");
        assert!(answer(&[summary]).contains("[1]"));
    }

    #[test]
    fn the_sentences_that_answer_are_taken_word_for_word() {
        let sources = [
            source(
                1,
                "# 随机接入\n\n本章介绍流程。随机接入是一种建立上行同步的过程。它在小区切换时也会用到。",
            ),
            source(2, "天线的倾角为六度。每月检查一次。"),
        ];
        let found = extract("随机接入是什么", Intent::Definition, &sources, &analyzer());
        assert_eq!(found.answer, "随机接入是一种建立上行同步的过程。 [1]");
        let found = extract("天线倾角是多少", Intent::Fact, &sources, &analyzer());
        assert_eq!(found.answer, "天线的倾角为六度。 [2]");
    }

    #[test]
    fn what_a_sentence_cites_itself_stays_and_is_no_citation_of_the_answer() {
        let answer = |question: &str, text: &str| {
            extract(question, Intent::Fact, &[source(1, text)], &analyzer()).answer
        };
        let text =
            "The tilt of the antenna is six degrees [3], as measured [12]. Rain is frequent.";
        let found = answer("What is the tilt of the antenna?", text);
        let said = "The tilt of the antenna is six degrees \\[3\\], as measured \\[12\\]. [1]";
        assert_eq!(found, said);
        assert_eq!(statements(&found)[0].citations, [1]);
        let opening = answer("袋鼠？", "Rain is frequent [2] here.");
        assert_eq!(opening, "Rain is frequent \\[2\\] here. [1]");
    }

    #[test]
    fn a_question_of_the_text_is_answered_by_what_stands_behind_it() {
        let text = "管理页面的默认密码印在标签上。首次登录后修改密码。\n\n问：忘记密码怎么办？\n\n\
                    答：按住 RESET 键十秒。\n\n问：信号弱怎么办？\n\n答：换一个位置。";
        let found = extract(
            "忘记密码怎么办？",
            Intent::Fact,
            &[source(1, text)],
            &analyzer(),
        );
        assert!(
            found.answer.starts_with("答：按住 RESET 键十秒。 [1]"),
            "{}",
            found.answer
        );
        assert!(!found.answer.contains("换一个"), "{}", found.answer);
    }

    #[test]
    fn the_citation_stands_behind_the_marks_that_close_a_sentence() {
        let answer = |question: &str, text: &str| {
            extract(question, Intent::Fact, &[source(1, text)], &analyzer()).answer
        };
        let chinese = "**收窄的权限立即生效。** 权限变更发布时记录在日志中。";
        assert_eq!(
            answer("权限变更什么时候生效？", chinese),
            "**收窄的权限立即生效。** [1] 权限变更发布时记录在日志中。 [1]"
        );
        let english = "*A narrowed permission holds at once.* Permission changes are logged. \
                       (A wider permission holds later.) The permission log is kept.";
        let found = answer("When does a permission change hold?", english);
        assert!(found.contains("holds at once.* [1]"), "{found}");
        assert!(!found.contains(". [1] *"), "{found}");
        let part = "**收窄的权限变更立即生效。旧值仍在缓存里。** 其余不变。";
        assert_eq!(
            answer("权限变更什么时候生效？", part),
            "收窄的权限变更立即生效。 [1]"
        );
    }

    #[test]
    fn what_stands_below_the_heading_that_was_asked_for_answers() {
        let question = "What happens to a document that can't be indexed?";
        let sources = [
            source(
                1,
                "[中文](zh/a.md)\n\n# What happens to a document that can't be indexed?\n\nIt becomes a dead letter: the record goes into a topic of its own. Nothing is lost.",
            ),
            source(
                2,
                "- What happens to a document that can't be indexed?\n- How is a document indexed?",
            ),
            source(
                3,
                "| document | what happens |\n|---|---|\n| broken | a dead letter |",
            ),
        ];
        let found = extract(question, Intent::Fact, &sources, &analyzer());
        let first = "It becomes a dead letter: the record goes into a topic of its own. [1]";
        assert!(found.answer.starts_with(first), "{}", found.answer);
        for other in ["中文", "What happens", "what happens"] {
            assert!(!found.answer.contains(other), "{other}: {}", found.answer);
        }
    }

    #[test]
    fn what_is_about_something_else_is_not_quoted() {
        let mut rates = source(
            1,
            "## 速率单调调度\n\n这种调度按周期定优先级。因此这种算法的优点是系统消耗小，缺点是不灵活。",
        );
        rates.relevance = Some(0.6);
        let mut stride = source(
            2,
            "## 步长调度\n\n新进程的步长为零，会长时间占用处理器，缺点明显。",
        );
        stride.relevance = Some(0.5);
        let answer = |question: &str, sources: &[Source]| {
            extract(question, Intent::Fact, sources, &analyzer()).answer
        };
        let both = [rates.clone(), stride];
        let drawback = "步长调度的缺点是什么";
        assert_eq!(
            answer(drawback, &both),
            "新进程的步长为零，会长时间占用处理器，缺点明显。 [2]"
        );
        let deadlines = source(3, "## 最早截止时间优先调度\n\n缺点是开销大。");
        assert_eq!(answer(drawback, &[rates.clone(), deadlines]), "");
        assert_eq!(
            answer("速率单调调度的缺点是什么", &[rates]),
            "这种调度按周期定优先级。 [1] 因此这种算法的优点是系统消耗小，缺点是不灵活。 [1]",
            "it leans on the sentence before"
        );
    }

    #[test]
    fn the_row_that_is_named_answers_wherever_it_stands() {
        let rows: String = (1..=80)
            .map(|at| format!("| B{at:03} | {} | {}.5 |\n", 1950 + at, at % 5))
            .collect();
        let text = format!("# Bridges\n\n| Bridge | Year | Grade |\n|---|---|---|\n{rows}");
        let answer = |question: &str| {
            let sources = [source(1, &text)];
            extract(question, Intent::Fact, &sources, &analyzer()).answer
        };
        assert_eq!(
            answer("What is the grade of bridge B044?"),
            "| Bridge | Year | Grade |\n|---|---|---|\n| B044 | 1994 | 4.5 |\n\n[1] (1 of the table's 80 rows)"
        );
        // No row is named.
        let any = answer("What grade has a bridge?");
        assert!(any.contains("| B001 | 1951 | 1.5 |\n| B002 "), "{any}");
    }

    #[test]
    fn lists_come_with_what_announces_them_and_rows_with_their_head() {
        let text = "死锁有四个必要条件：\n\n1. 互斥\n2. 占有并等待\n\n其余不提。";
        let found = extract(
            "死锁的必要条件是什么",
            Intent::Fact,
            &[source(1, text)],
            &analyzer(),
        );
        assert_eq!(
            found.answer,
            "死锁有四个必要条件：\n\n1. 互斥\n2. 占有并等待\n\n[1]"
        );
        assert_eq!(
            found.marks[0].1.end,
            text.split("\n\n其余").next().unwrap().chars().count()
        );
        let text = "| name | mark |\n|---|---|\n| Li | 80 |\n| Sun | 93 |\n";
        let found = extract("mark of Sun", Intent::Fact, &[source(1, text)], &analyzer());
        assert_eq!(
            found.answer,
            "| name | mark |\n|---|---|\n| Sun | 93 |\n\n[1] (1 of the table's 2 rows)"
        );
    }

    #[test]
    fn ends_of_contractions_are_no_words() {
        assert_eq!(asked("can't").trim(), "can");
        assert_eq!(asked("What’s new, O'Brien?").trim(), "What  new, O Brien?");
    }

    #[test]
    fn code_and_pairs_are_given_whole_and_another_language_by_its_opening() {
        let mut code = source(1, "fn main() {}\n");
        code.language = Some("rust".to_owned());
        let found = extract("main", Intent::Api, &[code], &analyzer());
        assert_eq!(found.answer, "```rust\nfn main() {}\n```\n\n[1]");
        let english = [source(1, "The tilt is six degrees. It is checked.")];
        let found = extract("天线倾角", Intent::Fact, &english, &analyzer());
        assert_eq!(found.answer, "The tilt is six degrees. [1]");
        assert_eq!(
            extract("x", Intent::Fact, &[], &analyzer()),
            Extract::default()
        );
    }
}
