//! What both stores keep to: ids, titles, limits, cursors, and the words of their errors.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use tributary_schemas::ask::{AskFailure, Round};
use tributary_schemas::conversation::{
    Conversation, ConversationSummary, Feedback, Turn, TurnState,
};
use tributary_schemas::user_profile::{UserProfile, is_user_name};
use tributary_schemas::{Error, ErrorKind, Result};

use super::{
    MAXIMUM_KEY_BYTES, MAXIMUM_REASON_CHARACTERS, MAXIMUM_SUMMARY_CHARACTERS,
    MAXIMUM_TITLE_CHARACTERS, NewTurn, PastRound, TurnEnd,
};
use crate::Clock;

const ID_DIGITS: usize = 32;
const MAXIMUM_REPORT_ID_BYTES: usize = 64;
/// Characters of the first question that become the title.
const TITLE_FROM_QUESTION: usize = 60;

/// 32 hexadecimal digits that nobody can guess.
pub(super) fn new_id() -> Result<String> {
    let mut bytes = [0; ID_DIGITS / 2];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut random| random.read_exact(&mut bytes))
        .map_err(|error| Error::io("cannot make an id", &error))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Whether it can be the id of something.
pub(super) fn is_id(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == ID_DIGITS && text.bytes().all(is_digit)
}

/// The same clock, except that no two readings are alike and none is before another one: what was
/// changed last comes first in a list, also of what was changed within a millisecond.
pub(super) fn rising(clock: Clock) -> Clock {
    let last = AtomicI64::new(i64::MIN);
    Arc::new(move || {
        let now = clock();
        let next = |last: i64| now.max(last.saturating_add(1));
        let before = last.update(Ordering::Relaxed, Ordering::Relaxed, next);
        next(before)
    })
}

pub(super) fn now_ms(clock: &Clock) -> u64 {
    u64::try_from(clock()).unwrap_or(0)
}

/// A title as it is kept: one line, without what nobody sees or what turns the text around.
pub(super) fn plain_title(title: &str) -> String {
    let seen = title.chars().filter(|sign| !is_unseen(*sign));
    let line: String = seen
        .map(|sign| if sign.is_control() { ' ' } else { sign })
        .collect();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text of several lines as it is kept.
pub(super) fn plain_text(text: &str) -> String {
    let is_kept = |sign: &char| match sign {
        '\n' | '\t' => true,
        sign => !sign.is_control() && !is_unseen(*sign),
    };
    text.chars().filter(is_kept).collect()
}

/// What changes the direction of the text around it, and NUL.
fn is_unseen(sign: char) -> bool {
    matches!(
        sign,
        '\0' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

pub(super) fn plain_feedback(feedback: Option<Feedback>) -> Option<Feedback> {
    feedback.map(|given| Feedback {
        reason: plain_text(&given.reason),
        ..given
    })
}

pub(super) fn check_title(title: &str) -> Result<()> {
    let length = title.chars().count();
    if length <= MAXIMUM_TITLE_CHARACTERS {
        return Ok(());
    }
    let message =
        format!("the title has {length} characters, it may have {MAXIMUM_TITLE_CHARACTERS}");
    Err(Error::new(ErrorKind::Invalid, message))
}

/// The same for a title that replaces another one.
pub(super) fn check_new_title(title: &str) -> Result<()> {
    if title.trim().is_empty() {
        return Err(Error::new(ErrorKind::Invalid, "the title is empty"));
    }
    check_title(title)
}

pub(super) fn check_feedback(feedback: Option<&Feedback>) -> Result<()> {
    let length = feedback.map_or(0, |feedback| feedback.reason.chars().count());
    if length <= MAXIMUM_REASON_CHARACTERS {
        return Ok(());
    }
    let message =
        format!("the reason has {length} characters, it may have {MAXIMUM_REASON_CHARACTERS}");
    Err(Error::new(ErrorKind::Invalid, message))
}

pub(super) fn check_new_turn(turn: &NewTurn<'_>) -> Result<()> {
    if turn.question.trim().is_empty() {
        return Err(Error::new(ErrorKind::Invalid, "the question is empty"));
    }
    let fingerprint_bytes = turn.fingerprint.map_or(0, str::len);
    if fingerprint_bytes > MAXIMUM_KEY_BYTES {
        let message = format!(
            "the fingerprint has {fingerprint_bytes} bytes, it may have {MAXIMUM_KEY_BYTES}"
        );
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    let key_bytes = turn.idempotency_key.map_or(1, str::len);
    if (1..=MAXIMUM_KEY_BYTES).contains(&key_bytes) {
        return Ok(());
    }
    let message =
        format!("the idempotency key has {key_bytes} bytes, it must have 1 to {MAXIMUM_KEY_BYTES}");
    Err(Error::new(ErrorKind::Invalid, message))
}

/// The title of a conversation that was given none: the beginning of its first question.
pub(super) fn title_of_question(question: &str) -> String {
    let mut title = plain_title(question);
    tributary_schemas::error::cut(&mut title, TITLE_FROM_QUESTION);
    title
}

/// What titles are compared by.
pub(super) fn folded(title: &str) -> String {
    title.to_lowercase()
}

/// Cursor of a list by change: the last conversation of a page.
pub(super) fn list_cursor(last: &Conversation) -> String {
    format!("{}-{}", last.updated_at_ms, last.id)
}

/// Time and id of [`list_cursor`].
pub(super) fn read_list_cursor(cursor: &str) -> Result<(u64, &str)> {
    let parsed = cursor
        .split_once('-')
        .and_then(|(time, id)| Some((time.parse().ok()?, id)))
        .filter(|(_, id)| is_id(id));
    parsed.ok_or_else(|| bad_cursor(cursor))
}

/// A cursor of turns: the last number of a page.
pub(super) fn read_number_cursor(cursor: &str) -> Result<u64> {
    cursor.parse().map_err(|_| bad_cursor(cursor))
}

/// A cursor of turns of many conversations: the last id of a page.
pub(super) fn read_id_cursor(cursor: &str) -> Result<&str> {
    match is_id(cursor) {
        true => Ok(cursor),
        false => Err(bad_cursor(cursor)),
    }
}

fn bad_cursor(cursor: &str) -> Error {
    let shown: String = cursor.chars().take(80).collect();
    Error::new(
        ErrorKind::Invalid,
        format!("`{shown}` is no cursor of this list"),
    )
    .with_hint("give `next` of the page before, or leave it out for the first page")
}

pub(super) fn no_conversation(id: &str) -> Error {
    let shown: String = id.chars().take(80).collect();
    Error::new(
        ErrorKind::NotFound,
        format!("there is no conversation `{shown}`"),
    )
    .with_hint("GET /v1/conversations lists those there are")
}

pub(super) fn no_turn(turn_id: &str) -> Error {
    let shown: String = turn_id.chars().take(80).collect();
    Error::new(
        ErrorKind::NotFound,
        format!("the conversation has no turn `{shown}`"),
    )
    .with_hint("GET /v1/conversations/{id}/turns lists those there are")
}

pub(super) fn is_pending(number: u64) -> Error {
    let message = format!("turn {number} of the conversation is still being answered");
    Error::new(ErrorKind::Conflict, message)
        .with_hint("wait until it has ended, or ask in another conversation")
}

/// Fails where a turn that has the key was asked in another way. Turns of old have no fingerprint.
pub(super) fn check_same(turn: &Turn, fingerprint: Option<&str>, new: &NewTurn<'_>) -> Result<()> {
    let number = turn.number;
    let message = if turn.question != new.question {
        format!("turn {number} has this idempotency key with another question")
    } else if fingerprint.is_some() && fingerprint != new.fingerprint {
        format!(
            "turn {number} has this idempotency key and this question with other sets, filters or \
             settings"
        )
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::Conflict, message)
        .with_hint("repeat the request as it was, or give it an idempotency key of its own"))
}

pub(super) fn too_many_turns(maximum: u64) -> Error {
    let message = format!("the conversation has {maximum} turns, which is the most");
    Error::new(ErrorKind::Exhausted, message).with_hint(
        "begin another conversation, clear this one, or raise store.conversations.maximum_turns",
    )
}

pub(super) fn check_summary(summary: &ConversationSummary, turns: u64) -> Result<()> {
    let length = summary.text.chars().count();
    if length > MAXIMUM_SUMMARY_CHARACTERS {
        let message = format!(
            "the summary has {length} characters, it may have {MAXIMUM_SUMMARY_CHARACTERS}"
        );
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    if summary.through > turns {
        let through = summary.through;
        let message = format!("the summary holds {through} turns, the conversation has {turns}");
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    Ok(())
}

pub(super) fn check_user(user: &str) -> Result<()> {
    if is_user_name(user) {
        return Ok(());
    }
    let message = format!("`{user:.100}` is no name of a user");
    Err(Error::new(ErrorKind::Invalid, message)
        .with_hint("1 to 100 letters, digits and . - _ @, at least one of them a letter or digit"))
}

pub(super) fn check_profile(profile: &UserProfile) -> Result<()> {
    let problems = profile.problems();
    match problems.is_empty() {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::Invalid, problems.join("; "))),
    }
}

pub(super) fn no_user_profile(user: &str) -> Error {
    let message = format!("there is no profile of user `{user:.100}`");
    Error::new(ErrorKind::NotFound, message)
        .with_hint("GET /v1/user-profiles lists those there are")
}

fn is_report_id(id: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    // `.` and `..` mean a folder in an address.
    let says_something = id.bytes().any(|byte| byte != b'.');
    (1..=MAXIMUM_REPORT_ID_BYTES).contains(&id.len()) && id.bytes().all(is_part) && says_something
}

pub(super) fn check_report_id(id: &str) -> Result<()> {
    if is_report_id(id) {
        return Ok(());
    }
    let message = format!("`{id:.100}` is no id of a report");
    Err(Error::new(ErrorKind::Invalid, message)
        .with_hint("1 to 64 letters, digits and . - _, or leave it out to have one made"))
}

/// Fails where the id was given with another request.
pub(super) fn check_same_report(id: &str, known: &str, fingerprint: &str) -> Result<()> {
    if known == fingerprint {
        return Ok(());
    }
    let message = format!("report `{id}` was begun with another request");
    Err(Error::new(ErrorKind::Conflict, message)
        .with_hint("repeat the request as it was, or give the report an id of its own"))
}

pub(super) fn is_planned(id: &str) -> Error {
    let message = format!("report `{id}` has a plan already");
    Error::new(ErrorKind::Conflict, message).with_hint("somebody else writes it at the same time")
}

pub(super) fn no_report(id: &str) -> Error {
    let message = format!("no report is kept under `{id:.100}`");
    Error::new(ErrorKind::NotFound, message)
        .with_hint("it was never begun, or is forgotten by now: ask for it again")
}

/// Why a turn failed whose process died.
pub(super) fn process_died() -> AskFailure {
    AskFailure {
        code: "unavailable".to_owned(),
        detail: "the server stopped while it answered".to_owned(),
        hint: Some("ask again".to_owned()),
    }
}

/// The turn with its end.
pub(super) fn ended(mut turn: Turn, end: TurnEnd, at_ms: u64) -> Turn {
    turn.ended_at_ms = Some(at_ms);
    match end {
        TurnEnd::Answered(answer) => {
            turn.state = TurnState::Answered;
            turn.answer = Some(answer);
        }
        TurnEnd::Failed(failure) => {
            turn.state = TurnState::Failed;
            turn.failure = Some(failure);
        }
    }
    turn
}

/// A turn as a prompt knows it.
pub(super) fn round(turn: Turn) -> PastRound {
    let answer = turn.answer.map(|answer| answer.answer);
    PastRound {
        number: turn.number,
        round: Round {
            question: turn.question,
            answer: answer.unwrap_or_default(),
        },
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_32_digits_and_differ() {
        let (first, second) = (new_id().unwrap(), new_id().unwrap());
        assert!(is_id(&first) && is_id(&second) && first != second);
        for text in ["", "0", &"A".repeat(32), &"é".repeat(16), &"0".repeat(33)] {
            assert!(!is_id(text), "{text}");
        }
    }

    #[test]
    fn no_two_readings_of_a_clock_are_alike() {
        let readings = [5, 5, 3, 9, 9];
        let at = std::sync::atomic::AtomicUsize::new(0);
        let clock = rising(Arc::new(move || {
            readings[at.fetch_add(1, Ordering::Relaxed)]
        }));
        let read: Vec<u64> = readings.iter().map(|_| now_ms(&clock)).collect();
        assert_eq!(read, [5, 6, 7, 9, 10]);
    }

    #[test]
    fn a_title_is_the_beginning_of_a_question() {
        assert_eq!(
            title_of_question(" 什么是\n\u{0}调度器？ "),
            "什么是 调度器？"
        );
        assert_eq!(title_of_question(&"字".repeat(100)).chars().count(), 61);
    }

    #[test]
    fn titles_and_reasons_are_plain() {
        assert_eq!(plain_title(" a\u{0}b\r\nc\u{202e}d\u{7} "), "ab cd");
        assert_eq!(plain_title("\u{200d}😀 مرحبا"), "\u{200d}😀 مرحبا");
        assert_eq!(plain_text("a\u{0}\n\u{2066}b\tc\u{1b}"), "a\nb\tc");
    }

    #[test]
    fn cursors_that_are_none_are_refused() {
        for cursor in ["", "-", "1-x", "x", "9999999999999999999999-a"] {
            assert_eq!(
                read_list_cursor(cursor).unwrap_err().kind(),
                ErrorKind::Invalid
            );
            assert_eq!(
                read_number_cursor(cursor).unwrap_err().kind(),
                ErrorKind::Invalid
            );
        }
    }
}
