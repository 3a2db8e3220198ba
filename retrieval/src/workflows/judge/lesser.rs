//! The lesser ways to judge, where no model did: a choice is compared with the given answer by its
//! letters, words by how many of the given answer's words they have; without a given answer the words
//! of the passages decide. Never surer than 0.5.
//!
//! similarity = share of the content words of the given answer (or, without one, of the student's)
//! that stand in the other, numerals being digits; right if it reaches `least_similarity`, no number
//! differs and both deny or none does.

use tributary_schemas::ask::Source;
use tributary_schemas::judging::{AnswerQuality, JudgedBy, Judgement, OptionAnalysis};
use tributary_taxonomy::Analyzer;
use tributary_taxonomy::language::is_chinese;

use super::UNSURE;
use super::numerals::comparable;
use super::question::{Letters, Question, written};
use crate::answer::statements::statements;
use crate::answer::words::{Words, denies, numbers};
use crate::error::SearchError;
use crate::workflows::Asker;
use crate::workflows::saying::blocking;

/// Confidence of what only the words of passages say, at most.
const BY_PASSAGES: f32 = 0.3;
/// How much more of its words the best option must have in the passages than the next one.
const LEAST_LEAD: f32 = 0.1;
/// Similarity from which an answer in words is good, and excellent.
const GOOD: f32 = 0.6;
/// See [`GOOD`].
const EXCELLENT: f32 = 0.8;

/// Judges without a model.
pub async fn judge(
    asker: &Asker,
    question: &Question<'_>,
    sources: &[Source],
) -> Result<Judgement, SearchError> {
    let is_chinese = is_chinese(&question.request.question);
    if let Some(given) = &question.given {
        return Ok(compared(question, given, is_chinese));
    }
    let analyzer = asker.parts.retriever.analyzer();
    let passages: Vec<String> = sources.iter().map(|source| source.text.clone()).collect();
    if question.is_choice() && asks_for_the_other(&question.request.question) {
        return Ok(by_nobody(question, is_chinese));
    }
    if question.is_choice() {
        let options = question.options.clone();
        let work = move || best_option(&options, &passages, &analyzer);
        let best = blocking(work).await?;
        return Ok(by_passages(question, best, is_chinese));
    }
    let given = question.given_text().map(str::to_owned);
    let answer = question.student_text().unwrap_or_default().to_owned();
    let least = asker.config().judge.least_similarity;
    let work = move || Similarity::of(&answer, given.as_deref(), &passages, &analyzer);
    let similarity = blocking(work).await?;
    Ok(by_words(question, &similarity, least, is_chinese))
}

/// Whether the option is asked for that is not so: passages have most words of one that is.
fn asks_for_the_other(question: &str) -> bool {
    const WORDS: [&str; 12] = [
        "except",
        "false",
        "incorrect",
        "untrue",
        "wrong",
        "least likely",
        "错误",
        "有误",
        "不正确",
        "除了",
        "之外",
        "例外",
    ];
    let small = question.to_lowercase();
    denies(question) || WORDS.iter().any(|word| small.contains(word))
}

/// A sentence in the language of the question.
fn say(is_chinese: bool, zh: String, en: String) -> String {
    if is_chinese { zh } else { en }
}

fn chosen(question: &Question<'_>, is_chinese: bool) -> String {
    match question.student.is_empty() {
        true => say(is_chinese, "（未作答）".to_owned(), "(nothing)".to_owned()),
        false => written(&question.student),
    }
}

fn compared(question: &Question<'_>, given: &Letters, is_chinese: bool) -> Judgement {
    let (student, correct) = (chosen(question, is_chinese), written(given));
    Judgement {
        is_correct: question.student == *given,
        confidence: UNSURE,
        reasoning: say(
            is_chinese,
            format!("没有模型判题：把学生的答案 {student} 与给定答案 {correct} 比较。"),
            format!(
                "No model judged: the student's {student} was compared with the given {correct}."
            ),
        ),
        analysis: say(
            is_chinese,
            format!("给定的正确答案是 {correct}。"),
            format!("The given answer is {correct}."),
        ),
        correct_answer: correct,
        option_analysis: options(question, given),
        judged_by: JudgedBy::GivenAnswer,
        ..Judgement::default()
    }
}

fn options(question: &Question<'_>, right: &Letters) -> Vec<OptionAnalysis> {
    let option = |(letter, text): &(char, String)| OptionAnalysis {
        label: letter.to_string(),
        text: text.clone(),
        is_correct: right.contains(letter),
        analysis: String::new(),
    };
    question.options.iter().map(option).collect()
}

/// The option with the most of its words in one passage, with its share, where it leads clearly.
fn best_option(
    options: &[(char, String)],
    passages: &[String],
    analyzer: &Analyzer,
) -> Option<(char, f32)> {
    let passages: Vec<Words> = passages
        .iter()
        .map(|text| Words::of(text, analyzer))
        .collect();
    let share = |(letter, text): &(char, String)| {
        let words = Words::of(text, analyzer);
        let shares = passages
            .iter()
            .map(|passage| match words.content.is_empty() {
                true => 0.0,
                false => words.coverage_by([passage]),
            });
        (*letter, shares.fold(0.0, f32::max))
    };
    let mut shares: Vec<(char, f32)> = options.iter().map(share).collect();
    shares.sort_by(|left, right| right.1.total_cmp(&left.1));
    let next = shares.get(1).map_or(0.0, |(_, share)| *share);
    let best = shares.first().copied();
    best.filter(|(_, share)| share - next >= LEAST_LEAD)
}

fn by_passages(question: &Question<'_>, best: Option<(char, f32)>, is_chinese: bool) -> Judgement {
    let is_single = question.request.kind.as_str() == "single";
    let Some((letter, share)) = best.filter(|_| is_single) else {
        return by_nobody(question, is_chinese);
    };
    let right = Letters::from([letter]);
    Judgement {
        is_correct: question.student == right,
        confidence: share * BY_PASSAGES,
        reasoning: say(
            is_chinese,
            format!("没有模型判题，也没有给定答案：检索到的资料最支持选项 {letter}。"),
            format!(
                "No model judged and no answer is given: the passages have most words of {letter}."
            ),
        ),
        analysis: say(
            is_chinese,
            "仅按资料中的词语推断，请核对。".to_owned(),
            "Told from the words of the passages alone; check it.".to_owned(),
        ),
        correct_answer: letter.to_string(),
        option_analysis: options(question, &right),
        judged_by: JudgedBy::Passages,
        ..Judgement::default()
    }
}

fn by_nobody(question: &Question<'_>, is_chinese: bool) -> Judgement {
    let reasoning = say(
        is_chinese,
        "没有模型判题，没有给定答案，资料中也看不出：按错误计。".to_owned(),
        "No model judged, no answer is given and the passages do not tell: it counts as wrong."
            .to_owned(),
    );
    Judgement {
        analysis: reasoning.clone(),
        reasoning,
        option_analysis: options(question, &Letters::new()),
        answer_quality: (!question.is_choice()).then_some(AnswerQuality::Poor),
        improvement_suggestions: (!question.is_choice()).then(String::new),
        judged_by: JudgedBy::Nobody,
        ..Judgement::default()
    }
}

/// Nothing was answered, which needs nobody to be told wrong.
fn blank(question: &Question<'_>, is_chinese: bool) -> Judgement {
    let given = question.given_text();
    let reasoning = say(
        is_chinese,
        "学生没有作答：空白算错。".to_owned(),
        "Nothing was answered, which is wrong.".to_owned(),
    );
    Judgement {
        analysis: reasoning.clone(),
        reasoning,
        confidence: given.map_or(0.0, |_| UNSURE),
        correct_answer: given.unwrap_or_default().to_owned(),
        answer_quality: Some(AnswerQuality::Poor),
        improvement_suggestions: Some(given.unwrap_or_default().to_owned()),
        judged_by: match given {
            Some(_) => JudgedBy::GivenAnswer,
            None => JudgedBy::Nobody,
        },
        ..Judgement::default()
    }
}

/// How near an answer in words is to what it is held against.
#[derive(Clone, Debug, Default, PartialEq)]
struct Similarity {
    /// 0 to 1; `None` where there is nothing to hold it against.
    share: Option<f32>,
    /// What contradicts the given answer, or the passages.
    contradiction: Option<Contradiction>,
    /// Sentences of the given answer that it does not say.
    missing: Vec<String>,
}

/// In what an answer is not what it is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Contradiction {
    /// A number is missing, or another one.
    Number,
    /// Only one of them denies.
    Denial,
}

impl Contradiction {
    /// Numbers of the given answer must be said; numerals of it, which may be left out (三种), must not
    /// be said with other numbers.
    fn of(given: &str, wanted: &Words, words: &Words) -> Option<Self> {
        let stated = Words {
            numbers: numbers(given),
            ..Words::default()
        };
        let is_missing = stated.number_missing_in([words]).is_some();
        let is_another = wanted.number_missing_in([words]).is_some()
            && words.number_missing_in([wanted]).is_some();
        if is_missing || is_another {
            return Some(Self::Number);
        }
        (wanted.denies != words.denies).then_some(Self::Denial)
    }

    fn say(self, is_chinese: bool) -> String {
        match self {
            Self::Number => say(
                is_chinese,
                "但数字不一致。".to_owned(),
                "But a number differs.".to_owned(),
            ),
            Self::Denial => say(
                is_chinese,
                "但只有一方是否定的说法。".to_owned(),
                "But only one of the two denies.".to_owned(),
            ),
        }
    }
}

impl Similarity {
    fn of(answer: &str, given: Option<&str>, passages: &[String], analyzer: &Analyzer) -> Self {
        let words = Words::of(&comparable(answer), analyzer);
        let Some(given) = given else {
            return Self::to_passages(&words, passages, analyzer);
        };
        let wanted = Words::of(&comparable(given), analyzer);
        let is_missing = |text: &String| {
            let sentence = Words::of(&comparable(text), analyzer);
            sentence.coverage_by([&words]) < GOOD
        };
        let sentences = statements(given).into_iter().map(|one| one.text);
        let same = answer.trim().eq_ignore_ascii_case(given.trim());
        let share = match (same, words.content.is_empty()) {
            (true, _) => 1.0,
            (false, true) => 0.0,
            (false, false) => wanted.coverage_by([&words]),
        };
        Self {
            share: Some(share),
            contradiction: Contradiction::of(given, &wanted, &words),
            missing: sentences.filter(is_missing).collect(),
        }
    }

    fn to_passages(words: &Words, passages: &[String], analyzer: &Analyzer) -> Self {
        let sentences = passages.iter().flat_map(|text| statements(text));
        let sentences: Vec<Words> = sentences
            .map(|one| Words::of(&comparable(&one.text), analyzer))
            .collect();
        let passages: Vec<Words> = passages
            .iter()
            .map(|text| Words::of(&comparable(text), analyzer))
            .collect();
        if words.content.is_empty() || passages.is_empty() {
            return Self::default();
        }
        let share_of = |sentence: &&Words| words.coverage_by([*sentence]);
        let nearest = sentences
            .iter()
            .max_by(|left, right| share_of(left).total_cmp(&share_of(right)));
        let denies = nearest.is_some_and(|nearest| nearest.denies != words.denies);
        let is_missing = words.number_missing_in(passages.iter()).is_some();
        let shares = passages.iter().map(|passage| words.coverage_by([passage]));
        Self {
            share: Some(shares.fold(0.0, f32::max)),
            contradiction: match is_missing {
                true => Some(Contradiction::Number),
                false => denies.then_some(Contradiction::Denial),
            },
            missing: Vec::new(),
        }
    }
}

fn by_words(
    question: &Question<'_>,
    similarity: &Similarity,
    least: f32,
    is_chinese: bool,
) -> Judgement {
    if question.student_text().is_none() {
        return blank(question, is_chinese);
    }
    let Some(share) = similarity.share else {
        let correct_answer = question.given_text().unwrap_or_default().to_owned();
        return Judgement {
            correct_answer,
            ..by_nobody(question, is_chinese)
        };
    };
    let given = question.given_text();
    let (judged_by, most) = match given {
        Some(_) => (JudgedBy::GivenAnswer, UNSURE),
        None => (JudgedBy::Passages, BY_PASSAGES),
    };
    let is_correct = share >= least && similarity.contradiction.is_none();
    let quality = match (is_correct, share) {
        (false, share) if share >= least => AnswerQuality::Fair,
        (false, _) => AnswerQuality::Poor,
        // Its words stand somewhere; whether they say the same there, nobody has read.
        (true, _) if given.is_none() => AnswerQuality::Fair,
        (true, share) if share >= EXCELLENT => AnswerQuality::Excellent,
        (true, share) if share >= GOOD => AnswerQuality::Good,
        (true, _) => AnswerQuality::Fair,
    };
    let percent = (share * 100.0).round();
    let mut reasoning = match given {
        Some(_) => say(
            is_chinese,
            format!("没有模型判题：学生的答案含有给定答案 {percent}% 的词语。"),
            format!("No model judged: the answer has {percent} % of the given answer's words."),
        ),
        None => say(
            is_chinese,
            format!("没有模型判题，也没有给定答案：答案中 {percent}% 的词语见于资料。"),
            format!(
                "No model judged, no answer is given: {percent} % of its words are in a passage."
            ),
        ),
    };
    if let Some(contradiction) = similarity.contradiction {
        if !is_chinese {
            reasoning.push(' ');
        }
        reasoning.push_str(&contradiction.say(is_chinese));
    }
    // Far from the threshold in either direction it is surer.
    let distance = (share - least).abs().min(1.0);
    Judgement {
        is_correct,
        confidence: (most * (0.5 + distance)).min(most),
        analysis: reasoning.clone(),
        reasoning,
        correct_answer: given.unwrap_or_default().to_owned(),
        answer_quality: Some(quality),
        improvement_suggestions: Some(suggestions(similarity, is_chinese)),
        judged_by,
        ..Judgement::default()
    }
}

fn suggestions(similarity: &Similarity, is_chinese: bool) -> String {
    if similarity.missing.is_empty() {
        return String::new();
    }
    let missing = similarity.missing.join(" ");
    say(
        is_chinese,
        format!("补充：{missing}"),
        format!("Say also: {missing}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::tests::analyzer;

    #[test]
    fn words_are_compared_with_the_given_answer_numbers_and_negations_too() {
        let given = "Random access has four steps and is guarded by timer T300.";
        let of = |answer: &str| Similarity::of(answer, Some(given), &[], &analyzer());
        assert_eq!(of(given).share, Some(1.0));
        let near = of("Guarded by the timer T300, random access has 4 steps.");
        assert!(
            near.share > Some(0.8) && near.contradiction.is_none(),
            "{near:?}"
        );
        let denied = of("Random access has no four steps guarded by timer T300.");
        assert_eq!(denied.contradiction, Some(Contradiction::Denial));
        let far = of("It is a kind of bread.");
        assert!(far.share < Some(0.2) && far.missing == [given], "{far:?}");
    }

    #[test]
    fn numerals_are_the_numbers_that_they_say() {
        let of = |answer: &str, given: &str| {
            let similarity = Similarity::of(answer, Some(given), &[], &analyzer());
            (similarity.share > Some(0.4), similarity.contradiction)
        };
        assert_eq!(of("十秒", "10秒"), (true, None));
        assert_eq!(of("10 秒", "十秒"), (true, None));
        assert_eq!(of("五秒", "十秒").1, Some(Contradiction::Number));
        assert_eq!(of("不是10秒", "10秒").1, Some(Contradiction::Denial));
        let given = "进程有三种状态：就绪、运行、阻塞";
        assert_eq!(of("就绪、运行和阻塞状态", given), (true, None));
        assert_eq!(of("进程有五种状态", given).1, Some(Contradiction::Number));
    }

    #[test]
    fn without_a_given_answer_the_nearest_sentence_must_not_deny() {
        let passage = "安全状态下一定不会发生死锁。不安全状态可能导致死锁。".to_owned();
        let of = |answer: &str| {
            let passages = std::slice::from_ref(&passage);
            Similarity::of(answer, None, passages, &analyzer())
        };
        let denied = of("安全状态下一定发生死锁");
        assert_eq!(
            denied.contradiction,
            Some(Contradiction::Denial),
            "{denied:?}"
        );
        let same = of("安全状态下不会发生死锁");
        assert!(
            same.contradiction.is_none() && same.share > Some(0.8),
            "{same:?}"
        );
    }

    #[test]
    fn what_is_not_so_is_not_found_in_passages() {
        for question in [
            "Which is not a condition of deadlock?",
            "All are states except",
            "下列说法错误的是",
            "不属于死锁必要条件的是",
        ] {
            assert!(asks_for_the_other(question), "{question}");
        }
        assert!(!asks_for_the_other("Which is a condition of deadlock?"));
    }

    #[test]
    fn an_option_must_lead_in_the_passages() {
        let options = [
            ('A', "a red-black tree".to_owned()),
            ('B', "a hash table".to_owned()),
        ];
        let best = |passage: &str| {
            let best = best_option(&options, &[passage.to_owned()], &analyzer());
            best.map(|(letter, _)| letter)
        };
        assert_eq!(best("Tasks are kept in a red-black tree."), Some('A'));
        assert_eq!(best("Nothing of it."), None);
    }
}
