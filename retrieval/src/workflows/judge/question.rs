//! A question as it is judged: its options with their letters, and answers read as sets of letters.
//! What contradicts itself is refused before anything is searched.

use std::collections::BTreeSet;

use tributary_schemas::judging::{QuestionKind, QuestionToJudge};
use tributary_schemas::width::to_half_width;

/// Options of a question at most: as many as there are letters.
const MAXIMUM_OPTIONS: usize = 26;
/// Characters of an answer, an option or a knowledge point at most.
const MAXIMUM_CHARACTERS: usize = 8000;

/// Letters of options.
pub type Letters = BTreeSet<char>;

/// A question that can be judged.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// As it came.
    pub request: &'a QuestionToJudge,
    /// The options without letters of their own.
    pub options: Vec<(char, String)>,
    /// What the student chose.
    pub student: Letters,
    /// What is given as right.
    pub given: Option<Letters>,
}

impl<'a> Question<'a> {
    /// Reads a question; an error says what is wrong with it.
    pub fn read(request: &'a QuestionToJudge) -> Result<Self, String> {
        if request.question.trim().is_empty() {
            return Err("`question` is empty".to_owned());
        }
        check_lengths(request)?;
        if request.kind == QuestionKind::Text {
            return Self::of_text(request);
        }
        let options = options(&request.options)?;
        let read = |field: &str, answer: &str| {
            let letters = letters(answer, &options).map_err(|what| format!("`{field}`: {what}"))?;
            match request.kind == QuestionKind::Single && letters.len() > 1 {
                true => Err(format!(
                    "`{field}` names {} options, but `kind` is single",
                    letters.len()
                )),
                false => Ok(letters),
            }
        };
        let student = match request.student_answer.trim() {
            "" => Letters::new(),
            answer => read("student_answer", answer)?,
        };
        let given = match given(request) {
            Some(answer) => Some(read("correct_answer", answer)?),
            None => None,
        };
        Ok(Self {
            request,
            options,
            student,
            given,
        })
    }

    fn of_text(request: &'a QuestionToJudge) -> Result<Self, String> {
        if !request.options.is_empty() {
            return Err("`options` are given, but `kind` is text".to_owned());
        }
        Ok(Self {
            request,
            options: Vec::new(),
            student: Letters::new(),
            given: None,
        })
    }

    /// Whether it is answered by options.
    pub fn is_choice(&self) -> bool {
        self.request.kind != QuestionKind::Text
    }

    /// The answer that is given as right, in words as they came.
    pub fn given_text(&self) -> Option<&'a str> {
        given(self.request)
    }

    /// What the student answered; `None` for nothing.
    pub fn student_text(&self) -> Option<&'a str> {
        Some(self.request.student_answer.trim()).filter(|answer| !answer.is_empty())
    }
}

fn given(request: &QuestionToJudge) -> Option<&str> {
    let given = request.correct_answer.as_deref().map(str::trim);
    given.filter(|answer| !answer.is_empty())
}

fn check_lengths(request: &QuestionToJudge) -> Result<(), String> {
    let fields = [
        ("student_answer", Some(&request.student_answer)),
        ("correct_answer", request.correct_answer.as_ref()),
        ("knowledge_point", request.knowledge_point.as_ref()),
    ];
    let options = request.options.iter().map(|text| ("options", Some(text)));
    for (field, text) in fields.into_iter().chain(options) {
        let characters = text.map_or(0, |text| text.chars().count());
        if characters > MAXIMUM_CHARACTERS {
            return Err(format!(
                "`{field}` has {characters} characters, at most {MAXIMUM_CHARACTERS} are accepted"
            ));
        }
    }
    Ok(())
}

fn options(given: &[String]) -> Result<Vec<(char, String)>, String> {
    if !(2..=MAXIMUM_OPTIONS).contains(&given.len()) {
        let count = given.len();
        return Err(format!(
            "`options` has {count} entries, a choice has 2 to {MAXIMUM_OPTIONS}"
        ));
    }
    let have_letters = ('A'..='Z')
        .zip(given)
        .all(|(letter, text)| without_letter(letter, text).is_some());
    let mut options = Vec::with_capacity(given.len());
    for (letter, text) in ('A'..='Z').zip(given) {
        let text = match have_letters {
            true => without_letter(letter, text).unwrap_or(text),
            false => text,
        };
        if text.trim().is_empty() {
            return Err(format!("`options`: {letter} is empty"));
        }
        options.push((letter, text.trim().to_owned()));
    }
    Ok(options)
}

/// `A. text`, `A) text`, `A、text` without the letter.
fn without_letter(letter: char, text: &str) -> Option<&str> {
    let rest = text.trim_start().strip_prefix(letter)?;
    rest.trim_start()
        .strip_prefix(['.', ')', '、', ':', '：', '．', '）'])
}

/// The options that an answer names: by their texts, or by their letters.
fn letters(answer: &str, options: &[(char, String)]) -> Result<Letters, String> {
    let answer = answer.trim();
    if let Some(letters) = by_texts(answer, options) {
        return Ok(letters);
    }
    let folded: String = answer.chars().map(to_half_width).collect();
    let words = folded.split(|character: char| !character.is_ascii_alphabetic());
    let mut found = Letters::new();
    for word in words.filter(|word| !word.is_empty() && !word.eq_ignore_ascii_case("and")) {
        for letter in word.to_ascii_uppercase().chars() {
            if !options.iter().any(|(known, _)| *known == letter) {
                return Err(unknown(answer, options));
            }
            found.insert(letter);
        }
    }
    match found.is_empty() {
        true => Err(unknown(answer, options)),
        false => Ok(found),
    }
}

/// The options whose texts an answer is made of, with nothing but separators between them. The
/// longest text counts, so that `ready and running` is one option where there is such a one.
fn by_texts(answer: &str, options: &[(char, String)]) -> Option<Letters> {
    const SEPARATORS: [&str; 9] = ["、", "，", ",", "；", ";", "和", "与", "及", "and "];
    let comparable = |text: &str| -> String {
        let narrow = text.trim().chars().map(to_half_width);
        narrow.flat_map(char::to_lowercase).collect()
    };
    let mut texts: Vec<(char, String)> = options
        .iter()
        .map(|(letter, text)| (*letter, comparable(text)))
        .collect();
    texts.sort_by_key(|(_, text)| std::cmp::Reverse(text.len()));
    let answer = comparable(answer);
    let mut rest = answer.as_str();
    let mut found = Letters::new();
    while !rest.is_empty() {
        let (letter, after) = texts
            .iter()
            .find_map(|(letter, text)| Some((*letter, rest.strip_prefix(text.as_str())?)))?;
        found.insert(letter);
        let next = after.trim_start();
        rest = SEPARATORS
            .iter()
            .find_map(|separator| next.strip_prefix(separator))
            .map_or(next, str::trim_start);
        // A word goes on behind the text: it is another one.
        if rest.len() == after.len() && !rest.is_empty() {
            return None;
        }
    }
    (!found.is_empty()).then_some(found)
}

fn unknown(answer: &str, options: &[(char, String)]) -> String {
    let last = options.last().map_or('A', |(letter, _)| *letter);
    let shown: String = answer.chars().take(60).collect();
    format!("`{shown}` names no option; write letters from A to {last}, or the texts of options")
}

/// Letters as they are written.
pub fn written(letters: &Letters) -> String {
    letters.iter().collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn request(kind: QuestionKind, student: &str, correct: Option<&str>) -> QuestionToJudge {
        QuestionToJudge {
            kind,
            question: "Which?".to_owned(),
            options: ["A. ready", "B. running", "C. gone", "D. ready and running"]
                .map(str::to_owned)
                .to_vec(),
            student_answer: student.to_owned(),
            correct_answer: correct.map(str::to_owned),
            ..QuestionToJudge::default()
        }
    }

    #[test]
    fn answers_are_letters_in_any_writing_or_the_text_of_an_option() {
        for (answer, expected) in [
            ("AC", "AC"),
            ("c, a", "AC"),
            ("A、C", "AC"),
            ("ＡＣ", "AC"),
            ("A and C", "AC"),
            ("答案是B", "B"),
            ("running", "B"),
            ("ready and running", "D"),
            ("Running、gone", "BC"),
            ("gone and ready", "AC"),
            ("ready and running; gone", "CD"),
            ("", ""),
        ] {
            let request = request(QuestionKind::Multiple, answer, None);
            let question = Question::read(&request).unwrap();
            assert_eq!(written(&question.student), expected, "{answer}");
            assert_eq!(question.options[0], ('A', "ready".to_owned()));
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused_by_field() {
        use QuestionKind::{Multiple, Single, Text};
        let refused = |request: &QuestionToJudge| Question::read(request).err().unwrap();
        let table = [
            (
                request(Multiple, "E", None),
                "`student_answer`: `E` names no",
            ),
            (
                request(Single, "AB", None),
                "`student_answer` names 2 options",
            ),
            (request(Single, "A", Some("7")), "`correct_answer`: `7`"),
            (request(Text, "A", None), "`options` are given"),
        ];
        for (request, expected) in table {
            let said = refused(&request);
            assert!(said.contains(expected), "{said}");
        }
        let mut one = request(Single, "A", None);
        one.options.truncate(1);
        assert!(refused(&one).contains("1 entries"));
        one.question = " ".to_owned();
        assert!(refused(&one).contains("`question` is empty"));
    }
}
