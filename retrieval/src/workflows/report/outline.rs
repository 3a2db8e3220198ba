//! The plan of a report: the model's, else the sections that the best passages stand in.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use tributary_schemas::ask::Source;
use tributary_schemas::report::{Outline, Place, PlannedSection};

use crate::answer::generate::history;
use crate::prompts::{OutlineReply, REPORT_OUTLINE, ToPlanReport};
use crate::workflows::calling::Calls;
use crate::workflows::{Asked, Asker};

/// Characters of the title of a report that nobody gave one.
const TITLE_CHARACTERS: usize = 80;

/// The model's plan; `None` where there is no model or no plan of so many sections.
pub async fn by_model(
    asker: &Asker,
    asked: &Asked,
    question: &str,
    count: usize,
) -> Option<Outline> {
    let config = asker.config().report;
    let calls = Calls {
        asker,
        question: &asked.request.question,
        deadline: Instant::now() + Duration::from_millis(config.outline_deadline_ms),
        reply_tokens: config.outline_tokens,
    };
    let history = history(&asked.earlier, &asked.history);
    let values = ToPlanReport {
        question,
        history: &history,
        count,
    };
    let check = |reply: &OutlineReply| checked(reply, count);
    let reply = calls.ask(REPORT_OUTLINE, values, check).await?;
    let sections = (1..).zip(reply.sections).map(|(number, section)| {
        let questions = section.questions.iter();
        PlannedSection {
            number,
            title: in_one_line(&section.title),
            questions: questions.map(|text| in_one_line(text)).collect(),
        }
    });
    Some(Outline {
        title: in_one_line(&reply.title),
        sections: sections.collect(),
    })
}

fn checked(reply: &OutlineReply, count: usize) -> Result<(), String> {
    if reply.sections.len() != count {
        let given = reply.sections.len();
        return Err(format!("there are {given} sections, there must be {count}"));
    }
    for (number, section) in (1..).zip(&reply.sections) {
        let questions = section.questions.len();
        if !(2..=5).contains(&questions) {
            return Err(format!(
                "section {number} has {questions} questions, it must have 2 to 5"
            ));
        }
        let mut texts = section.questions.iter().chain([&section.title]);
        if texts.any(|text| text.trim().is_empty()) {
            return Err(format!("section {number} has an empty title or question"));
        }
    }
    Ok(())
}

/// A heading stays one, whatever a model puts into it.
fn in_one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").trim_start_matches(['#', ' ']).to_owned()
}

/// The titles above the best passages, each once, `count` at most; the question where there are none.
pub fn of_passages(question: &str, sources: &[Source], count: usize) -> Outline {
    let mut titles: Vec<String> = Vec::new();
    let of_passages = Titles::of(sources);
    for source in sources {
        let title = of_passages.title(source);
        if !title.is_empty() && !titles.contains(&title) && titles.len() < count {
            titles.push(title);
        }
    }
    let title: String = in_one_line(question)
        .chars()
        .take(TITLE_CHARACTERS)
        .collect();
    if titles.is_empty() {
        titles.push(title.clone());
    }
    let section = |(number, title): (usize, String)| PlannedSection {
        number,
        questions: vec![format!("{question} {title}")],
        title,
    };
    Outline {
        title,
        sections: (1..).zip(titles).map(section).collect(),
    }
}

/// Titles that stand for passages: the lowest one above it that no other document has, such as
/// `Overview` or 本节导读.
pub struct Titles<'a> {
    shared: HashSet<&'a str>,
}

impl<'a> Titles<'a> {
    /// Of all passages of a report.
    pub fn of(sources: &'a [Source]) -> Self {
        let mut first: HashMap<&str, &str> = HashMap::new();
        let mut shared = HashSet::new();
        for source in sources {
            for title in &source.section_path {
                let document = *first.entry(title).or_insert(&source.document_id);
                if document != source.document_id {
                    shared.insert(title.as_str());
                }
            }
        }
        Self { shared }
    }

    /// Of one of them, in one line.
    pub fn title(&self, source: &Source) -> String {
        let mut titles = source.section_path.iter().rev();
        let own = titles.find(|title| !self.shared.contains(title.as_str()));
        let title = match own {
            Some(title) => title,
            None if source.title.is_empty() => source.section_path.last().unwrap_or(&source.title),
            None => &source.title,
        };
        in_one_line(title)
    }
}

/// Where a section stands among so many.
pub fn place(number: usize, count: usize) -> Place {
    match number {
        _ if count == 1 => Place::Whole,
        1 => Place::Introduction,
        last if last == count => Place::Conclusion,
        _ => Place::Middle,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::tests::source;
    use crate::prompts::SectionReply;

    fn reply(questions: &[usize]) -> OutlineReply {
        let section = |count: &usize| SectionReply {
            title: "T".to_owned(),
            questions: vec!["Why?".to_owned(); *count],
        };
        OutlineReply {
            title: "R".to_owned(),
            sections: questions.iter().map(section).collect(),
        }
    }

    #[test]
    fn a_plan_has_so_many_sections_of_two_to_five_questions() {
        assert_eq!(checked(&reply(&[2, 5, 3]), 3), Ok(()));
        for (questions, expected) in [
            (vec![2, 2], "2 sections"),
            (vec![2, 1, 2], "section 2 has 1"),
            (vec![2, 2, 6], "section 3 has 6"),
        ] {
            let said = checked(&reply(&questions), 3);
            assert!(said.is_err_and(|what| what.contains(expected)));
        }
    }

    #[test]
    fn without_a_model_the_titles_of_the_passages_are_the_plan() {
        let mut sources = vec![source(1, "a"), source(2, "b"), source(3, "c")];
        for (source, title) in sources.iter_mut().zip(["# Ticks\n", "Ticks", "Trees"]) {
            source.section_path = vec![title.to_owned()];
        }
        let outline = of_passages("How?", &sources, 3);
        let titles: Vec<&str> = outline
            .sections
            .iter()
            .map(|section| section.title.as_str())
            .collect();
        assert_eq!(titles, ["Ticks", "Trees"]);
        assert_eq!(of_passages("How?", &[], 3).sections[0].title, "How?");
        for (source, document) in sources.iter_mut().zip(["a", "b", "c"]) {
            source.document_id = document.to_owned();
            source.section_path = vec![format!("Chapter {document}"), "Overview".to_owned()];
        }
        let outline = of_passages("How?", &sources, 2);
        let titles = outline.sections.iter().map(|section| &section.title);
        assert_eq!(titles.collect::<Vec<_>>(), ["Chapter a", "Chapter b"]);
    }

    #[test]
    fn sections_know_their_place() {
        let places: Vec<Place> = (1..=3).map(|number| place(number, 3)).collect();
        assert_eq!(
            places,
            [Place::Introduction, Place::Middle, Place::Conclusion]
        );
        assert_eq!(place(1, 1), Place::Whole);
    }
}
