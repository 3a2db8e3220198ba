//! Asking: every way to put a question (JSON, server-sent events, other protocols) goes through
//! [`Asking::ask`]. It bounds the questions at once, keeps what was asked before the work starts and
//! what was answered after it, gives up answers that nobody reads, and ends every stream.

mod config;
mod judging;
mod leaving;
mod recorded;
mod remembered;
mod reports;
mod run;
mod runs;
mod tables;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use futures::stream::BoxStream;
use futures::{FutureExt, Stream, StreamExt};
use serde::Serialize;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tributary_retrieval::{Asked, Asker, Events, Principal, SearchError};
use tributary_schemas::Result;
use tributary_schemas::ask::{Answer, AskEvent, AskFailure, AskRequest};
use tributary_schemas::conversation::Turn;
use tributary_store::conversations::{NewTurn, SharedConversations, TurnQuery};

use crate::audit::{self, Trail};
use crate::http::conversations::of_conversation;
use crate::http::user_profiles;
use crate::http::withholding::{Withholding, withheld};
use crate::metrics::Metrics;
use crate::problem::{Code, Problem};
use crate::trace_id;

pub use config::AskConfig;
use leaving::{is_a_piece, leaving};
pub use recorded::owner;
use recorded::{Begun, Recorded};
use remembered::{Remembered, SummingUp};
use reports::Writing;
use run::Run;
use runs::Runs;

/// Longest time that a question may ask for its answer to go on unread, in milliseconds.
const MAXIMUM_ABANDONED_AFTER_MS: u64 = 60_000;

/// Turns of a conversation that are looked through at a time.
const TURNS_AT_ONCE: usize = 50;

/// Takes questions.
pub struct Asking {
    asker: Arc<Asker>,
    conversations: SharedConversations,
    summing_up: SummingUp,
    runs: Arc<Runs>,
    writing: Writing,
    places: Arc<Semaphore>,
    stopping: watch::Sender<bool>,
    metrics: Metrics,
    config: AskConfig,
    /// Answers are worked on where the server was made, not on the threads that serve requests.
    runtime: Handle,
}

/// The events of an answer, each with its number from 1; they end in `done` or `error`. Dropping it
/// gives the answer up, unless somebody else reads it or comes back soon.
pub struct AskEvents {
    /// Of the answer.
    pub id: String,
    /// Of the report that it is, which can be gone on with.
    pub report_id: Option<String>,
    events: BoxStream<'static, (usize, AskEvent)>,
    /// Of the call that reads them.
    trail: Trail,
}

impl Stream for AskEvents {
    type Item = (usize, AskEvent);

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> Poll<Option<Self::Item>> {
        let polled = self.events.poll_next_unpin(context);
        if let Poll::Ready(Some((_, event))) = &polled {
            note(&self.trail, event);
        }
        polled
    }
}

impl Asking {
    /// Joins the parts; `stopping` becomes true when the server is told to stop.
    pub fn new(
        asker: Arc<Asker>,
        conversations: SharedConversations,
        config: AskConfig,
        metrics: Metrics,
        stopping: watch::Sender<bool>,
    ) -> Self {
        let places = config.questions_at_once.min(Semaphore::MAX_PERMITS);
        let summing_up = SummingUp::new(Arc::clone(&conversations), Arc::clone(&asker));
        Self {
            asker,
            conversations,
            summing_up,
            runs: Arc::new(Runs::new(&config)),
            writing: Writing::default(),
            places: Arc::new(Semaphore::new(places)),
            stopping,
            metrics,
            config,
            runtime: Handle::current(),
        }
    }

    /// Longest silence of a stream before a comment goes out.
    pub fn heartbeat(&self) -> Duration {
        Duration::from_millis(self.config.heartbeat_ms)
    }

    /// Takes a question. A problem before any work for one that cannot be answered as it is put.
    /// The same `idempotency_key` in the same conversation gives the answer that there is.
    pub async fn ask(
        &self,
        request: AskRequest,
        principal: Principal,
        idempotency_key: Option<&str>,
    ) -> std::result::Result<AskEvents, Problem> {
        let mut request = checked(request)?;
        audit::asks(&request.question, &request.filter);
        let fingerprint = fingerprint(&request)?;
        let asked_for = request.clone();
        let (user, profile) = (request.user.as_deref(), &mut request.user_profile);
        user_profiles::resolve(self.conversations.as_ref(), &principal, user, profile).await?;
        self.asker.check(&request, &principal)?;
        let report = self.keeper(&asked_for, &fingerprint, &principal).await?;
        let report_id = report.as_ref().map(|keeper| keeper.id().to_owned());
        let running = report_id
            .as_deref()
            .and_then(|id| self.writing.running(&principal, id));
        if let Some(run) = running {
            return Ok(of_report(self.read(&run, 0)?, report_id));
        }
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            self.metrics.observe_shed("question");
            let what = "too many questions are being answered already";
            return Err(Problem::new(Code::Overloaded, what)
                .with_hint("ask again after the time in Retry-After"));
        };
        let turn = NewTurn {
            question: &request.question,
            idempotency_key,
            fingerprint: Some(&fingerprint),
        };
        let conversation = request.conversation_id.as_deref();
        let recorded = match self.recorded(conversation, turn, &principal).await? {
            Some(Begun::Known(turn)) => return self.known(*turn, &principal).await,
            Some(Begun::New(recorded)) => Some(*recorded),
            None => None,
        };
        let id = match &recorded {
            Some(recorded) => recorded.turn.clone(),
            None => trace_id::new_trace_id(),
        };
        let rounds = self.asker.config().rounds;
        let remembered = match &recorded {
            Some(recorded) => recorded.remembered.clone(),
            None => Remembered::given(request.history.clone(), rounds),
        };
        let run = Run::new(id, principal);
        let first = report_id
            .as_deref()
            .and_then(|id| self.writing.begin(&run.principal, id, &run));
        if let Some(first) = first {
            return Ok(of_report(self.read(&first, 0)?, report_id));
        }
        self.runs.add(&run);
        let asked = Asked {
            id: run.id.clone(),
            history: remembered.rounds,
            earlier: remembered.earlier,
            principal: run.principal.clone(),
            request,
            report,
            given_up_at: Instant::now().checked_add(self.config.timeout()),
        };
        // The reader is there before the work, which would be abandoned otherwise.
        let events = self.read(&run, 0)?;
        let work = Work {
            asker: Arc::clone(&self.asker),
            run,
            recorded,
            stopping: self.stopping.subscribe(),
            metrics: self.metrics.clone(),
            config: self.config.clone(),
            summing_up: self.summing_up.clone(),
            place,
        };
        self.runtime.spawn(work.answer(asked));
        Ok(of_report(events, report_id))
    }

    /// Records the question where it belongs to a conversation.
    async fn recorded(
        &self,
        conversation: Option<&str>,
        turn: NewTurn<'_>,
        principal: &Principal,
    ) -> std::result::Result<Option<Begun>, Problem> {
        let Some(conversation) = conversation else {
            return match turn.idempotency_key {
                None => Ok(None),
                Some(_) => Err(Problem::new(
                    Code::Invalid,
                    "an Idempotency-Key is given, but no conversation",
                )
                .with_hint("only turns of conversations are kept; name one, or leave it out")),
            };
        };
        let rounds = self.asker.config().rounds;
        let store = &self.conversations;
        let withheld = self.withholds(principal, conversation).await;
        let is_withheld = withheld.map_err(of_conversation)?;
        let begun = Recorded::begin(store, principal, conversation, turn, rounds).await?;
        Ok(Some(match begun {
            Begun::New(recorded) if is_withheld => Begun::New(Box::new(recorded.without_memory())),
            begun => begun,
        }))
    }

    fn withholding(&self, principal: &Principal) -> Withholding {
        Withholding::new(Arc::clone(self.asker.retriever()), principal.clone())
    }

    /// `denied` where something took so long that its reader may not see any more what it is made of.
    async fn check_leaving(
        &self,
        said: &impl Serialize,
        principal: &Principal,
    ) -> std::result::Result<(), Problem> {
        match self.withholding(principal).withholds_what_names(said).await {
            Ok(false) => Ok(()),
            Ok(true) => Err(withheld().into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether something of a conversation is withheld: then nothing of it is remembered, as what
    /// was summed up cannot be told apart.
    async fn withholds(&self, principal: &Principal, conversation: &str) -> Result<bool> {
        if principal.viewer.is_none() {
            return Ok(false);
        }
        let withholding = self.withholding(principal);
        let mut after: Option<String> = None;
        loop {
            let query = TurnQuery {
                newest_first: false,
                after: after.as_deref(),
                limit: TURNS_AT_ONCE,
            };
            let owner = recorded::owner(principal);
            let page = self.conversations.turns(owner, conversation, query).await?;
            for turn in &page.items {
                if withholding.withholds(turn).await? {
                    return Ok(true);
                }
            }
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(false),
            }
        }
    }

    /// A turn that was there already: on its way, or over.
    async fn known(
        &self,
        turn: Turn,
        principal: &Principal,
    ) -> std::result::Result<AskEvents, Problem> {
        if let Ok(events) = self.resume(&turn.id, 0, principal).await {
            return Ok(events);
        }
        let mut shown = self.withholding(principal).shown(vec![turn]).await?;
        let gone = || Problem::new(Code::Internal, "a turn that was there is there no more");
        let turn = shown.pop().ok_or_else(gone)?;
        let run = Run::new(turn.id.clone(), principal.clone());
        run.push(recorded::last_event(turn)?);
        self.read(&run, 0)
    }

    /// The events of an answer after the first `seen`; the last one again for who has seen all, so
    /// that every stream has an end. `not_found` for one that is not known (any more), or that
    /// somebody else asked for, or that was made of what they may not see any more; `invalid` if it
    /// has fewer events.
    pub async fn resume(
        &self,
        id: &str,
        seen: usize,
        principal: &Principal,
    ) -> std::result::Result<AskEvents, Problem> {
        let run = self.run(id, principal)?;
        let withholding = self.withholding(principal);
        if withholding.withholds_what_names(&run.so_far()).await? {
            return Err(self.unknown(id));
        }
        let (count, is_over) = (run.count(), run.over_for().is_some());
        if seen > count {
            let what = format!("answer `{id}` has no event {seen} yet, its last one is {count}");
            return Err(Problem::new(Code::Invalid, what)
                .with_hint("send the id of the last event that came, or leave Last-Event-ID out"));
        }
        let seen = match is_over && seen == count {
            true => seen.saturating_sub(1),
            false => seen,
        };
        self.read(&run, seen)
    }

    /// Stops an answer and waits for its end; one that is over stays as it is. `not_found` as
    /// [`Asking::resume`].
    pub async fn stop(&self, id: &str, principal: &Principal) -> std::result::Result<(), Problem> {
        self.run(id, principal)?.stop().await;
        Ok(())
    }

    /// The events after the first `seen`, as long as who asked may see all that they are made of.
    fn read(&self, run: &Arc<Run>, seen: usize) -> std::result::Result<AskEvents, Problem> {
        // The reader is there at once: a run without one is given up.
        let events = run.read(seen);
        let before = run.so_far();
        let before = before.get(..seen).unwrap_or(&before);
        let withholding = self.withholding(&run.principal);
        Ok(AskEvents {
            id: run.id.clone(),
            report_id: None,
            events: leaving(events, before, withholding)?,
            trail: audit::current(),
        })
    }

    fn run(&self, id: &str, principal: &Principal) -> std::result::Result<Arc<Run>, Problem> {
        let run = self.runs.get(id).filter(|run| run.principal == *principal);
        run.ok_or_else(|| self.unknown(id))
    }

    fn unknown(&self, id: &str) -> Problem {
        let what = format!("there is no answer `{id}` that could be read on");
        let minutes = self.config.resume_seconds.div_ceil(60);
        Problem::new(Code::NotFound, what)
            .with_hint(format!("answers are kept for {minutes} minutes; ask again"))
    }
}

/// Which documents a reader is shown, and with which code an answer failed.
fn note(trail: &Trail, event: &AskEvent) {
    match event {
        AskEvent::Error(failure) => trail.fails_with(&failure.code),
        event if is_a_piece(event) => {}
        event => trail.answers_with(event),
    }
}

fn of_report(events: AskEvents, report_id: Option<String>) -> AskEvents {
    AskEvents {
        report_id,
        ..events
    }
}

/// One place for the knowledge sets, one for the history.
fn checked(mut request: AskRequest) -> std::result::Result<AskRequest, Problem> {
    let invalid = |what: &str, hint: &str| Err(Problem::new(Code::Invalid, what).with_hint(hint));
    if request.question.trim().is_empty() {
        return Err(Problem::new(Code::EmptyQuery, "the question is empty"));
    }
    if let Some(sets) = request.knowledge_sets.take() {
        if request.filter.knowledge_sets.is_some() {
            return invalid(
                "`knowledge_sets` and `filter.knowledge_sets` are both given",
                "leave one of them out",
            );
        }
        request.filter.knowledge_sets = Some(sets);
    }
    if request.conversation_id.is_some() && !request.history.is_empty() {
        return invalid(
            "`conversation_id` and `history` are both given",
            "the conversation knows its history; leave `history` out",
        );
    }
    if request
        .abandoned_after_ms
        .is_some_and(|after| after > MAXIMUM_ABANDONED_AFTER_MS)
    {
        return invalid(
            &format!("`abandoned_after_ms` is above {MAXIMUM_ABANDONED_AFTER_MS}"),
            "the answer is read again with `GET /v1/ask/{id}` while it goes on",
        );
    }
    Ok(request)
}

/// What tells a request from others with the same question: all of it but how long it waits for
/// readers, and what its report is kept under.
fn fingerprint(request: &AskRequest) -> std::result::Result<String, Problem> {
    let compared = AskRequest {
        abandoned_after_ms: None,
        report_id: None,
        ..request.clone()
    };
    let written = serde_json::to_vec(&compared).map_err(|error| {
        let what = format!("the request cannot be compared with others: {error}");
        Problem::new(Code::Internal, what)
    })?;
    Ok(blake3::hash(&written).to_hex().to_string())
}

/// The work on one answer.
struct Work {
    asker: Arc<Asker>,
    run: Arc<Run>,
    recorded: Option<Recorded>,
    stopping: watch::Receiver<bool>,
    metrics: Metrics,
    config: AskConfig,
    summing_up: SummingUp,
    place: OwnedSemaphorePermit,
}

/// Why there is no answer.
enum Unanswered {
    Failed(SearchError),
    Abandoned,
    Stopped,
    Stopping,
    TooSlow,
    Panicked,
}

impl Work {
    async fn answer(self, asked: Asked) {
        let mut last = match self.work(&asked).await {
            Ok(answer) => {
                self.audit(&asked, Some(&answer));
                self.metrics.observe_answer(&answer);
                AskEvent::Done(Box::new(answer))
            }
            Err(unanswered) => {
                self.audit(&asked, None);
                let failure = failure(unanswered, &self.config);
                self.metrics.observe_unanswered(&failure.code);
                AskEvent::Error(failure)
            }
        };
        if let Some(recorded) = &self.recorded {
            recorded.end(&mut last).await;
        }
        let is_answered = matches!(last, AskEvent::Done(_));
        self.run.push(last);
        // The next question need not wait for what follows.
        drop(self.place);
        if let Some(recorded) = self.recorded.filter(|_| is_answered) {
            let (who, conversation) = (&asked.principal, &recorded.conversation);
            self.summing_up.sum_up(who, conversation).await;
        }
    }

    async fn work(&self, asked: &Asked) -> std::result::Result<Answer, Unanswered> {
        let (events, mut receiver) = Events::channel();
        let mut stopping = self.stopping.clone();
        let abandoned_after = asked.request.abandoned_after_ms;
        let abandoned_after = abandoned_after.unwrap_or(self.config.abandoned_after_ms);
        let abandoned = self.run.abandoned(Duration::from_millis(abandoned_after));
        let stopped = self.run.stopped();
        let too_slow = tokio::time::sleep(self.config.timeout());
        // Whatever happens in it, the turn gets an end and so do its readers.
        let answer = AssertUnwindSafe(self.asker.ask(asked, &events)).catch_unwind();
        tokio::pin!(answer, abandoned, stopped, too_slow);
        let answered = loop {
            tokio::select! {
                biased;
                Some(event) = receiver.recv() => self.run.push(event),
                answered = &mut answer => break match answered {
                    Ok(answered) => answered.map_err(Unanswered::Failed),
                    Err(_) => Err(Unanswered::Panicked),
                },
                () = &mut abandoned => break Err(Unanswered::Abandoned),
                () = &mut stopped => break Err(Unanswered::Stopped),
                _ = stopping.wait_for(|stopping| *stopping) => break Err(Unanswered::Stopping),
                () = &mut too_slow => break Err(Unanswered::TooSlow),
            }
        };
        while let Ok(event) = receiver.try_recv() {
            self.run.push(event);
        }
        answered
    }

    /// Who asked what kind of question and saw which documents: no text of question or answer.
    fn audit(&self, asked: &Asked, answer: Option<&Answer>) {
        let documents: Vec<&str> = answer
            .into_iter()
            .flat_map(|answer| answer.sources.iter().chain(&answer.related))
            .map(|source| source.document_id.as_str())
            .collect();
        tracing::info!(
            target: "tributary::audit",
            question = asked.id,
            principal = ?asked.principal,
            conversation = asked.request.conversation_id,
            workflow = self.asker.workflow(&asked.request).as_str(),
            sets = ?asked.request.filter.knowledge_sets,
            verdict = ?answer.map(|answer| answer.verdict),
            documents = ?documents,
            tokens = ?answer.and_then(|answer| answer.tokens),
            took_ms = answer.map(|answer| answer.took_ms),
            "question"
        );
    }
}

fn failure(unanswered: Unanswered, config: &AskConfig) -> AskFailure {
    let problem = match unanswered {
        Unanswered::Failed(error) => Problem::from(error),
        Unanswered::Abandoned => {
            let what = "nobody read the answer any more, so it was given up";
            Problem::new(Code::Unavailable, what).with_hint("ask again")
        }
        Unanswered::Stopped => {
            Problem::new(Code::Stopped, "the answer was stopped").with_hint("ask again")
        }
        Unanswered::Stopping => {
            let what = "the server stopped while it answered";
            Problem::new(Code::Unavailable, what).with_hint("ask again when it is back")
        }
        Unanswered::TooSlow => {
            let what = format!("the answer was not there after {} ms", config.timeout_ms);
            Problem::new(Code::Timeout, what)
                .with_hint("ask again, or raise query_api.ask.timeout_ms")
        }
        Unanswered::Panicked => {
            let what = "the server failed while it answered; its log says where";
            Problem::new(Code::Internal, what)
        }
    };
    if problem.code() == Code::Internal {
        tracing::error!(detail = problem.detail(), "a question failed");
    }
    problem.failure()
}

/// The whole answer, for callers who do not stream.
pub async fn whole(mut events: AskEvents) -> std::result::Result<Answer, Problem> {
    while let Some((_, event)) = events.next().await {
        match event {
            AskEvent::Done(answer) => return Ok(*answer),
            AskEvent::Error(failure) => return Err(failure.into()),
            _ => {}
        }
    }
    Err(Problem::new(
        Code::Internal,
        "an answer ended without its last event",
    ))
}
