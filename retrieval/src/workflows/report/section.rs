//! One section: its passages in their order for it, the model's text with its citations checked, and
//! the best sentences of the passages where no model writes.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tributary_models::chat::{
    ChatError, ChatModel, ChatRequest, ChatResult, Finish, Reason, Role, RoleModel,
    speaks_of_itself,
};
use tributary_models::prompts::Prompt;
use tributary_schemas::ask::Source;
use tributary_schemas::report::{
    KeptSection, Outline, Place, PlannedSection, ReportPart, WrittenBy, WrittenSection,
};
use tributary_schemas::understanding::Intent;

use super::attributed;
use super::kept::ReportKeeper;
use super::outline::{self, place};
use crate::answer::generate::numbered;
use crate::answer::words::{Words, rarities};
use crate::answer::{CitationFilter, extractive};
use crate::error::SearchError;
use crate::prompts::{REPORT_SECTION, ToWriteSection};
use crate::retriever::degrade;
use crate::workflows::saying::{OTHER_LANGUAGE, blocking, is_in_other_language};
use crate::workflows::{Asked, Asker};

/// What all sections of a report have in common.
pub struct Writing<'a> {
    pub asker: &'a Asker,
    pub asked: &'a Asked,
    pub question: &'a str,
    pub is_chinese: bool,
    pub outline: &'a Outline,
    pub sources: &'a [Source],
    pub keeper: Option<&'a ReportKeeper>,
}

/// What a model wrote.
struct ByModel {
    text: String,
    shown: usize,
    model: String,
    failure: Option<String>,
}

impl Writing<'_> {
    /// The section as it was kept, else written now and kept. One that failed is kept to be read;
    /// who goes on with the report has another chance.
    pub async fn written(&self, planned: &PlannedSection) -> Result<KeptSection, SearchError> {
        let kept = |keeper: &ReportKeeper| keeper.section(planned.number).cloned();
        if let Some(kept) = self.keeper.and_then(kept) {
            return Ok(kept);
        }
        let mut written = self.write(planned).await?;
        if let Some(keeper) = self.keeper {
            let part = ReportPart::Section(Box::new(written.clone()));
            if !keeper.keep(part).await {
                degrade(&mut written.degraded, super::UNKEPT);
            }
        }
        Ok(written)
    }

    /// Writes a section. Whatever happens to a model, there is one.
    async fn write(&self, planned: &PlannedSection) -> Result<KeptSection, SearchError> {
        let mut degraded = Vec::new();
        let passages = self.passages(planned, &mut degraded).await?;
        let mut written = KeptSection {
            section: WrittenSection {
                number: planned.number,
                title: planned.title.clone(),
                questions: planned.questions.clone(),
                place: place(planned.number, self.outline.sections.len()),
                sources: passages.iter().map(|source| source.number).collect(),
                ..WrittenSection::default()
            },
            degraded,
            model: None,
        };
        if passages.is_empty() {
            let refusal = &self.asker.config().refusal;
            refusal
                .sentence(self.is_chinese)
                .clone_into(&mut written.section.text);
            return Ok(written);
        }
        match self.by_model(planned, &passages).await {
            Ok(by_model) => {
                self.take(by_model, &passages, &mut written);
                self.attribute(&passages, &mut written.section).await?;
            }
            Err(failed) => {
                tracing::warn!(section = planned.number, error = %failed, "a section was not written");
                let has_model = self.asker.parts.chat.role(Role::Report).is_some();
                let why = if has_model {
                    failed.reason.as_str()
                } else {
                    "no_model"
                };
                written.section.failure = Some(why.to_owned());
                degrade(&mut written.degraded, super::LESSER_REPORT);
                self.extract(planned, &passages, &mut written.section)
                    .await?;
            }
        }
        Ok(written)
    }

    /// The passages of a section, best first: by the reranker, else by the words of its questions.
    async fn passages(
        &self,
        planned: &PlannedSection,
        degraded: &mut Vec<String>,
    ) -> Result<Vec<Source>, SearchError> {
        let query = format!("{}\n{}", planned.title, planned.questions.join("\n"));
        let sources: Vec<Source> = self.sources.to_vec();
        let texts = sources.iter().map(crate::answer::generate::shown).collect();
        let retriever = &self.asker.parts.retriever;
        let scores = match retriever.score_texts(&query, texts).await {
            Some(Ok(scores)) => scores,
            Some(Err(error)) => {
                tracing::warn!(%error, "passages of a section are ranked by their words");
                degrade(degraded, "reranker");
                self.by_words(query, sources.clone()).await?
            }
            None => self.by_words(query, sources.clone()).await?,
        };
        let mut ranked: Vec<(f32, Source)> = scores.into_iter().zip(sources).collect();
        ranked.sort_by(|left, right| right.0.total_cmp(&left.0));
        ranked.truncate(self.asker.config().report.passages_per_section);
        Ok(ranked.into_iter().map(|(_, source)| source).collect())
    }

    async fn by_words(&self, query: String, sources: Vec<Source>) -> Result<Vec<f32>, SearchError> {
        let analyzer = self.asker.parts.retriever.analyzer();
        let work = move || {
            let wanted = Words::of(&query, &analyzer);
            let texts: Vec<Words> = sources
                .iter()
                .map(|source| Words::of(&crate::answer::generate::shown(source), &analyzer))
                .collect();
            let rarity = rarities(&texts);
            texts
                .iter()
                .map(|words| score(&wanted, words, &rarity))
                .collect()
        };
        blocking(work).await
    }

    async fn by_model(&self, planned: &PlannedSection, passages: &[Source]) -> ChatResult<ByModel> {
        let language = if self.is_chinese { "zh" } else { "en" };
        let parts = &self.asker.parts;
        let unrendered =
            |error: tributary_schemas::Error| ChatError::new(Reason::Refused, error.to_string());
        let prompt = parts.prompts.get(REPORT_SECTION, Some(language));
        let prompt = prompt.map_err(unrendered)?;
        let Some(model) = parts.chat.role(prompt.role()) else {
            return Err(ChatError::new(Reason::Refused, "there is no model"));
        };
        let whole = self.request(&prompt, planned, passages)?;
        let render = |passages: &[Source]| {
            let request = self.request(&prompt, planned, passages);
            request.unwrap_or_else(|_| whole.clone())
        };
        let shown = model.fitting(passages, &render).await?;
        let request = render(passages.get(..shown).unwrap_or(passages));
        self.replied(&model, &request, shown).await
    }

    async fn replied(
        &self,
        model: &RoleModel,
        request: &ChatRequest,
        shown: usize,
    ) -> ChatResult<ByModel> {
        let completion = model.complete(request).await?;
        let ending = completion.ending;
        if completion.text.trim().is_empty() {
            return Err(ChatError::new(Reason::Malformed, "a section without text"));
        }
        if speaks_of_itself(&completion.text) {
            let message = "an apology in place of a section";
            return Err(ChatError::new(Reason::Malformed, message));
        }
        Ok(ByModel {
            text: completion.text,
            shown,
            failure: (ending.finish != Finish::Stop).then(|| "cut_off".to_owned()),
            model: ending.model,
        })
    }

    fn request(
        &self,
        prompt: &Prompt,
        planned: &PlannedSection,
        passages: &[Source],
    ) -> ChatResult<ChatRequest> {
        let config = self.asker.config();
        let titles: Vec<String> = self
            .outline
            .sections
            .iter()
            .map(|section| format!("{}. {}", section.number, section.title))
            .collect();
        let values = ToWriteSection {
            question: self.question,
            report_title: &self.outline.title,
            outline: &titles.join("\n"),
            title: &planned.title,
            questions: &planned.questions.join("\n"),
            place: place_name(place(planned.number, self.outline.sections.len())),
            passages: numbered(passages),
            refusal: config.refusal.sentence(self.is_chinese),
        };
        let request = prompt.request(values, config.report.reply_tokens);
        let mut request =
            request.map_err(|error| ChatError::new(Reason::Refused, error.to_string()))?;
        let most = Duration::from_millis(config.report.deadline_ms);
        request.deadline = Some(Instant::now() + self.asked.time_to_write(most));
        Ok(request)
    }

    /// Takes what a model wrote: it cites what it was given, and nothing else.
    fn take(&self, by_model: ByModel, passages: &[Source], written: &mut KeptSection) {
        let section = &mut written.section;
        let shown = passages.get(..by_model.shown).unwrap_or(passages);
        section.sources = shown.iter().map(|source| source.number).collect();
        let mut filter = CitationFilter::of(&section.sources);
        let mut text = filter.push(by_model.text.trim()).text;
        text.push_str(&filter.finish().text);
        let refusal = self.asker.config().refusal.sentence(self.is_chinese);
        section.written_by = match text.trim() == refusal {
            true => WrittenBy::Nobody,
            false => WrittenBy::Model,
        };
        section.text = without_heading(text.trim(), &section.title);
        if is_in_other_language(&section.text, self.is_chinese) {
            degrade(&mut written.degraded, OTHER_LANGUAGE);
        }
        section.cited = filter.cited().to_vec();
        section.removed_citations = filter.removed();
        section.failure = by_model.failure;
        if section.failure.is_some() {
            degrade(&mut written.degraded, super::LESSER_REPORT);
        }
        written.model = Some(by_model.model);
    }

    /// Small models cite seldom. A section that cites nothing gets the numbers of the passages that
    /// state what it says; what none states stays without.
    async fn attribute(
        &self,
        passages: &[Source],
        section: &mut WrittenSection,
    ) -> Result<(), SearchError> {
        if !section.cited.is_empty() || section.written_by != WrittenBy::Model {
            return Ok(());
        }
        let is_shown = |source: &&Source| section.sources.contains(&source.number);
        let shown: Vec<Source> = passages.iter().filter(is_shown).cloned().collect();
        let text = std::mem::take(&mut section.text);
        let minimum = self.asker.config().minimum_coverage;
        let analyzer = self.asker.parts.retriever.analyzer();
        let work = move || attributed::attributed(&text, &shown, minimum, &analyzer);
        (section.text, section.cited) = blocking(work).await?;
        Ok(())
    }

    /// The passages that stand below the title of the section; where none does, those below no title
    /// of another one, so that each says once what it has to say. Code by itself is no section.
    fn own(&self, planned: &PlannedSection, passages: &[Source]) -> Vec<Source> {
        let titles = outline::Titles::of(self.sources);
        let sections = self.outline.sections.iter();
        let others: Vec<&str> = sections
            .filter(|section| section.number != planned.number)
            .map(|section| section.title.as_str())
            .collect();
        let prose = || passages.iter().filter(|source| source.language.is_none());
        let below: Vec<Source> = prose()
            .filter(|source| titles.title(source) == planned.title)
            .cloned()
            .collect();
        let is_free = |source: &&Source| !others.contains(&titles.title(source).as_str());
        match below.is_empty() {
            true => prose().filter(is_free).cloned().collect(),
            false => below,
        }
    }

    /// The section in the words of its passages; the fixed sentence where they are about something
    /// else.
    async fn extract(
        &self,
        planned: &PlannedSection,
        passages: &[Source],
        section: &mut WrittenSection,
    ) -> Result<(), SearchError> {
        let question = format!("{} {}", planned.title, planned.questions.join(" "));
        let passages = self.own(planned, passages);
        let analyzer = self.asker.parts.retriever.analyzer();
        let work = move || extractive::extract(&question, Intent::Fact, &passages, &analyzer);
        let extract = blocking(work).await?;
        if extract.answer.is_empty() {
            let refusal = &self.asker.config().refusal;
            refusal
                .sentence(self.is_chinese)
                .clone_into(&mut section.text);
            section.failure = None;
            return Ok(());
        }
        section.text = extract.answer;
        section.written_by = WrittenBy::Extract;
        for (number, _) in extract.marks {
            if !section.cited.contains(&number) {
                section.cited.push(number);
            }
        }
        Ok(())
    }
}

fn place_name(place: Place) -> &'static str {
    match place {
        Place::Whole => "whole",
        Place::Introduction => "introduction",
        Place::Middle => "middle",
        Place::Conclusion => "conclusion",
    }
}

/// Share of the rarity of the wanted words that a passage has.
fn score(wanted: &Words, words: &Words, rarity: &BTreeMap<&str, f32>) -> f32 {
    // In an order, so that the sum is the same each time.
    let weights: BTreeMap<&str, f32> = wanted
        .content
        .iter()
        .map(|word| {
            (
                word.as_str(),
                rarity.get(word.as_str()).copied().unwrap_or(0.0),
            )
        })
        .collect();
    let all: f32 = weights.values().sum();
    let there = weights
        .iter()
        .filter(|(word, _)| words.content.contains(**word));
    let there: f32 = there.map(|(_, weight)| weight).sum();
    if all > 0.0 { there / all } else { 0.0 }
}

/// Models write the heading all the same: ours stands above it already.
fn without_heading(text: &str, title: &str) -> String {
    let Some((first, rest)) = text.split_once('\n') else {
        return text.to_owned();
    };
    let bare = first.trim_matches(['#', '*', ' ']);
    let is_heading = first.starts_with('#') || first.starts_with("**");
    match is_heading && (bare == title || bare.ends_with(title)) {
        true => rest.trim_start().to_owned(),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_that_is_there_already_goes() {
        assert_eq!(without_heading("## Ticks\n\nA [1].", "Ticks"), "A [1].");
        assert_eq!(without_heading("**1. Ticks**\nA.", "Ticks"), "A.");
        assert_eq!(without_heading("### More\nA.", "Ticks"), "### More\nA.");
        assert_eq!(without_heading("Ticks", "Ticks"), "Ticks");
    }
}
