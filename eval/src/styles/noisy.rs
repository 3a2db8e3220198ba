//! A question as people type it: with slips of the finger, wrong characters of the same sound, other
//! widths and cases, words left out, and fillers before and behind.

use tributary_retrieval::is_function_word;
use tributary_store::evaluations::chance::Chance;
use tributary_taxonomy::language::is_chinese;

/// What is done to one question.
const CHANGES: usize = 2;

const FILLERS: [(&str, &str); 5] = [
    ("hi, ", ""),
    ("um ", ""),
    ("quick question: ", ""),
    ("", " pls help"),
    ("", "!!! urgent"),
];

const CHINESE_FILLERS: [(&str, &str); 6] = [
    ("请问一下，", ""),
    ("那个，", ""),
    ("大家好 我想问下", ""),
    ("", "，急！！！"),
    ("", "呀"),
    ("", "，谢谢"),
];

/// Characters that input by sound gives for one another.
const SAME_SOUND: [(&str, &str); 22] = [
    ("配置", "配制"),
    ("登录", "登陆"),
    ("账", "帐"),
    ("做", "作"),
    ("在", "再"),
    ("的", "得"),
    ("须", "需"),
    ("式", "试"),
    ("像", "象"),
    ("哪", "那"),
    ("即", "既"),
    ("它", "他"),
    ("其", "期"),
    ("么", "嘛"),
    ("是", "事"),
    ("有", "又"),
    ("进", "近"),
    ("以", "已"),
    ("为", "位"),
    ("多少", "多小"),
    ("用", "佣"),
    ("功", "工"),
];

type Change = fn(&str, &mut Chance) -> Option<String>;

/// The question with two changes, drawn by chance; none where nothing can be changed.
pub fn noisy(question: &str, chance: &mut Chance) -> Option<String> {
    let mut changes: Vec<Change> = match is_chinese(question) {
        true => vec![same_sound, width, dropped_sign, chinese_filler, slip],
        false => vec![slip, slip, dropped_word, filler, case, width],
    };
    let mut text = question.to_owned();
    let mut changed = 0;
    while changed < CHANGES && !changes.is_empty() {
        let change = changes.swap_remove(chance.below(changes.len()));
        // One change may take another one back.
        let put = change(&text, chance).filter(|put| *put != text && put != question);
        if let Some(put) = put {
            text = put;
            changed += 1;
        }
    }
    (changed > 0).then_some(text)
}

/// Two neighbouring letters of a longer word change places.
fn slip(text: &str, chance: &mut Chance) -> Option<String> {
    let signs: Vec<char> = text.chars().collect();
    let inside: Vec<usize> = signs
        .windows(4)
        .enumerate()
        .filter(|(_, four)| {
            let is_word = four.iter().all(char::is_ascii_alphabetic);
            is_word && four.get(1) != four.get(2)
        })
        .map(|(at, _)| at + 1)
        .collect();
    let at = *chance.one_of(&inside)?;
    let mut signs = signs;
    signs.swap(at, at + 1);
    Some(signs.into_iter().collect())
}

/// A word that only holds the sentence together is left out.
fn dropped_word(text: &str, chance: &mut Chance) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let function_words: Vec<usize> = words
        .iter()
        .enumerate()
        .filter(|(_, word)| is_function_word(&word.to_ascii_lowercase()))
        .map(|(at, _)| at)
        .collect();
    let dropped = *chance.one_of(&function_words)?;
    let kept = words.iter().enumerate().filter(|(at, _)| *at != dropped);
    let kept: Vec<&str> = kept.map(|(_, word)| *word).collect();
    (!kept.is_empty()).then(|| kept.join(" "))
}

/// Punctuation is left out, as in a hurry.
fn dropped_sign(text: &str, _: &mut Chance) -> Option<String> {
    let is_kept = |sign: &char| {
        !matches!(
            sign,
            '，' | '。' | '？' | '?' | '、' | '“' | '”' | '《' | '》'
        )
    };
    let kept: String = text.chars().filter(is_kept).collect();
    (!kept.trim().is_empty()).then_some(kept)
}

/// All letters large, all small, or the words' beginnings large.
fn case(text: &str, chance: &mut Chance) -> Option<String> {
    Some(match chance.below(3) {
        0 => text.to_uppercase(),
        1 => text.to_lowercase(),
        _ => {
            let mut is_first = true;
            let capital = |sign: char| {
                let put = if is_first {
                    sign.to_ascii_uppercase()
                } else {
                    sign
                };
                is_first = sign.is_whitespace();
                put
            };
            text.chars().map(capital).collect()
        }
    })
}

/// Letters and digits in full width, as an input method leaves them; or the question mark in the
/// other width.
fn width(text: &str, chance: &mut Chance) -> Option<String> {
    let wide = |sign: char| match sign {
        '0'..='9' | 'A'..='Z' | 'a'..='z' => {
            char::from_u32(u32::from(sign) + 0xFEE0).unwrap_or(sign)
        }
        _ => sign,
    };
    let other_mark = |sign: char| match sign {
        '?' => '？',
        '？' => '?',
        _ => sign,
    };
    Some(match chance.below(2) {
        0 => text.chars().map(wide).collect(),
        _ => text.chars().map(other_mark).collect(),
    })
}

fn same_sound(text: &str, chance: &mut Chance) -> Option<String> {
    let fitting: Vec<_> = SAME_SOUND
        .iter()
        .filter(|(right, _)| text.contains(right))
        .collect();
    let (right, wrong) = chance.one_of(&fitting)?;
    Some(text.replacen(right, wrong, 1))
}

fn filler(text: &str, chance: &mut Chance) -> Option<String> {
    let (before, behind) = chance.one_of(&FILLERS)?;
    Some(format!("{before}{text}{behind}"))
}

fn chinese_filler(text: &str, chance: &mut Chance) -> Option<String> {
    let (before, behind) = chance.one_of(&CHINESE_FILLERS)?;
    Some(format!("{before}{text}{behind}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_is_changed_and_the_same_seed_changes_it_alike() {
        for question in [
            "What is the maximum transmit power of the terminal?",
            "终端的最大发射功率是多少？",
            "where does the genet live",
            "0x80070005",
            "载波聚合",
        ] {
            for seed in 0..50 {
                let put = || noisy(question, &mut Chance::new(seed));
                assert_eq!(put(), put());
                assert!(
                    put().is_some_and(|put| put != question),
                    "{question} {seed}"
                );
            }
        }
    }

    #[test]
    fn each_change_does_what_it_says() {
        let mut chance = Chance::new(1);
        let slipped = slip("aa cells", &mut chance);
        assert!(
            ["aa clels"]
                .map(str::to_owned)
                .contains(&slipped.unwrap_or_default())
        );
        let dropped = dropped_word("tilt of cells", &mut chance);
        assert_eq!(dropped.as_deref(), Some("tilt cells"));
        assert_eq!(dropped_word("of", &mut chance), None);
        assert_eq!(
            dropped_sign("为什么，呢？", &mut chance).as_deref(),
            Some("为什么呢")
        );
        assert_eq!(
            same_sound("怎么登录", &mut chance).map(|put| put.chars().count()),
            Some(4)
        );
        assert_eq!(same_sound("abc", &mut chance), None);
    }
}
