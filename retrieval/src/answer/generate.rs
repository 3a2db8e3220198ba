//! A model's answer while it comes in: its citations are checked, the fixed sentence of a refusal
//! ends it, and whatever goes wrong in the middle leaves what came until then.

use std::time::{Duration, Instant};

use futures::StreamExt;
use serde_json::{Value, json};
use tributary_models::chat::{
    ChatRequest, ChatResult, Delta, DeltaStream, Ending, Finish, Reason, RoleModel,
};
use tributary_models::prompts::Prompt;
use tributary_schemas::Result;
use tributary_schemas::ask::{AskEvent, Quotation, Round, Source};

use super::Earlier;
use super::citations::{Checked, CitationFilter};
use super::passages::without_notes;
use super::refusal::RefusalGate;
use super::verbatim::VerbatimCode;
use crate::events::Events;
use crate::prompts::{NumberedPassage, ToAnswer};

/// Characters of an earlier question and of its answer that a model is shown.
const MAXIMUM_ROUND_CHARACTERS: usize = 400;
/// Characters of an answer for each of its tokens: more is a server that does not stop.
const BYTES_PER_TOKEN: usize = 12;

/// What a model is asked.
pub struct Task<'a> {
    /// The prompt, in the language of the question.
    pub prompt: &'a Prompt,
    /// The question as it is asked without what was said before.
    pub question: &'a str,
    /// What was said before, oldest first.
    pub history: &'a [Round],
    /// What was said before that.
    pub earlier: &'a Earlier,
    /// What the answer is made from.
    pub sources: &'a [Source],
    /// The sentence that says that they do not answer.
    pub refusal: &'a str,
    /// Tokens of the answer at most.
    pub reply_tokens: usize,
    /// Longest time that it may take.
    pub deadline: Duration,
    /// What the form of the answer asks of it.
    pub form: &'a Form,
}

/// What the form of an answer asks of the model that writes it.
pub struct Form {
    /// What the prompt is given beside; an object.
    pub values: Value,
    /// The event in which text goes out.
    pub chunk: fn(String) -> AskEvent,
    /// Where code must be that of the sources: what is said below code of none, and the number of
    /// the heading from which on nothing is let through.
    pub verbatim: Option<(String, usize)>,
}

impl Default for Form {
    fn default() -> Self {
        Self {
            values: Value::Null,
            chunk: |text| AskEvent::AnswerChunk { text },
            verbatim: None,
        }
    }
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Generated {
    /// The answer as it was shown.
    pub text: String,
    /// Whether it is the sentence of a refusal.
    pub refused: bool,
    /// Whether it ends before it is over.
    pub cut: bool,
    /// Numbers that it cites, in the order of their first citation.
    pub cited: Vec<u32>,
    /// Citations that were taken out.
    pub removed_citations: u32,
    /// How many of the first sources the model saw.
    pub sources: usize,
    /// How the reply ended, if it did.
    pub ending: Option<Ending>,
    /// When the first text could be shown.
    pub first_text: Option<Instant>,
    /// Code that was held against the sources.
    pub quotations: Vec<Quotation>,
}

/// Streams an answer. An error only where nothing was shown yet, so that another way can answer.
pub async fn generate(
    model: &RoleModel,
    task: &Task<'_>,
    events: &Events,
) -> ChatResult<Generated> {
    let whole = request(task, task.sources).map_err(unrendered)?;
    let render = |sources: &[Source]| request(task, sources).unwrap_or_else(|_| whole.clone());
    let fitted = model.stream_of_parts(task.sources, render).await?;
    let shown = task.sources.get(..fitted.parts).unwrap_or(task.sources);
    let first = shown.first().map_or(1, |source| source.number);
    let last = shown.last().map_or(0, |source| source.number);
    let verbatim = task.form.verbatim.as_ref();
    let mut writing = Writing {
        gate: RefusalGate::new(task.refusal),
        verbatim: verbatim.map(|(unknown, headings)| VerbatimCode::new(shown, unknown, *headings)),
        filter: CitationFilter::between(first, last),
        chunk: task.form.chunk,
        generated: Generated {
            sources: fitted.parts,
            ..Generated::default()
        },
        events,
    };
    let most = task.reply_tokens.saturating_mul(BYTES_PER_TOKEN);
    writing.take(fitted.reply, most).await?;
    Ok(writing.generated)
}

fn unrendered(error: tributary_schemas::Error) -> tributary_models::chat::ChatError {
    tributary_models::chat::ChatError::new(
        tributary_models::chat::Reason::Refused,
        error.to_string(),
    )
}

fn request(task: &Task<'_>, sources: &[Source]) -> Result<ChatRequest> {
    let history = history(task.earlier, task.history);
    let values = ToAnswer {
        question: task.question,
        history: &history,
        passages: numbered(sources),
        refusal: task.refusal,
    };
    let mut values = json!(values);
    if let (Some(all), Some(more)) = (values.as_object_mut(), task.form.values.as_object()) {
        all.extend(more.clone());
    }
    let mut request = task.prompt.request(values, task.reply_tokens)?;
    request.deadline = Some(Instant::now() + task.deadline);
    Ok(request)
}

/// Passages as a model is shown them.
pub fn numbered(sources: &[Source]) -> Vec<NumberedPassage> {
    let passage = |source: &Source| NumberedPassage {
        number: source.number,
        text: shown(source),
    };
    sources.iter().map(passage).collect()
}

/// Title and sections, what code does, then the text. What refers to notes is left out of documents: it
/// looks like a citation, and models copy it.
pub fn shown(source: &Source) -> String {
    let mut place = vec![source.title.as_str()];
    place.extend(source.section_path.iter().map(String::as_str));
    place.dedup();
    let place = place.join(" › ");
    match (&source.description, source.lines) {
        (Some(description), Some(lines)) => format!(
            "{place}:{}-{}\n\n{description}\n\n{}",
            lines.first, lines.last, source.text
        ),
        _ => format!("{place}\n\n{}", without_notes(&source.text)),
    }
}

/// What was said before, as a model is shown it.
pub fn history(earlier: &Earlier, rounds: &[Round]) -> String {
    let rounds = rounds_shown(rounds);
    match (earlier.text.is_empty(), rounds.is_empty()) {
        (true, _) => rounds,
        (false, true) => earlier.text.clone(),
        (false, false) => format!("{}\n\n{rounds}", earlier.text),
    }
}

/// Rounds as a model is shown them.
pub fn rounds_shown(rounds: &[Round]) -> String {
    let line = |round: &Round| {
        let answer: String = round
            .answer
            .chars()
            .take(MAXIMUM_ROUND_CHARACTERS)
            .collect();
        let question: String = round
            .question
            .chars()
            .take(MAXIMUM_ROUND_CHARACTERS)
            .collect();
        format!("Q: {question}\nA: {answer}")
    };
    rounds.iter().map(line).collect::<Vec<_>>().join("\n\n")
}

struct Writing<'a> {
    gate: RefusalGate,
    verbatim: Option<VerbatimCode>,
    filter: CitationFilter,
    chunk: fn(String) -> AskEvent,
    generated: Generated,
    events: &'a Events,
}

impl Writing<'_> {
    /// Takes so many bytes at most.
    async fn take(&mut self, mut reply: DeltaStream, mut room: usize) -> ChatResult<()> {
        loop {
            match reply.next().await {
                Some(Ok(Delta::Text(text))) => {
                    let part = text.get(..text.floor_char_boundary(room));
                    let part = part.unwrap_or_default();
                    room -= part.len();
                    let shown = self.gate.push(part);
                    self.write(&shown).await;
                    if part.len() < text.len() {
                        self.generated.cut = true;
                        break;
                    }
                }
                Some(Ok(Delta::End(ending))) => {
                    self.generated.cut = ending.finish != Finish::Stop;
                    self.generated.ending = Some(ending);
                    break;
                }
                // Another way can still answer.
                Some(Err(failed))
                    if self.generated.text.is_empty() || failed.reason == Reason::Reasoning =>
                {
                    return Err(failed);
                }
                Some(Err(failed)) => {
                    tracing::warn!(error = %failed, "an answer was broken off");
                    self.generated.cut = true;
                    break;
                }
                None => {
                    self.generated.cut = true;
                    break;
                }
            }
            if self.gate.is_refusal() {
                self.generated.refused = true;
                return Ok(());
            }
        }
        self.finish().await;
        Ok(())
    }

    async fn finish(&mut self) {
        let text = self.gate.finish();
        if self.gate.is_refusal() {
            self.generated.refused = true;
            return;
        }
        self.write(&text).await;
        if let Some(mut verbatim) = self.verbatim.take() {
            let rest = verbatim.finish();
            self.generated.quotations = verbatim.quotations().to_vec();
            self.write(&rest).await;
        }
        let rest = self.filter.finish();
        self.show(rest).await;
        self.generated.removed_citations = self.filter.removed();
        self.generated.cited = self.filter.cited().to_vec();
    }

    async fn write(&mut self, text: &str) {
        let text = match &mut self.verbatim {
            Some(verbatim) => verbatim.push(text),
            None => text.to_owned(),
        };
        let checked = self.filter.push(&text);
        self.show(checked).await;
    }

    async fn show(&mut self, checked: Checked) {
        if !checked.text.is_empty() {
            self.generated.first_text.get_or_insert_with(Instant::now);
            self.generated.text.push_str(&checked.text);
            self.events.send((self.chunk)(checked.text)).await;
        }
        for number in checked.cited {
            self.events.send(AskEvent::Citation { number }).await;
        }
    }
}
