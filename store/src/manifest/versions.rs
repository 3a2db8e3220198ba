//! Versions of documents: those that are given here, and which of those that producers give are
//! taken.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tributary_schemas::{Error, ErrorKind, Result};

use super::given_time::GivenTime;

/// Versions from here on have no room above them for the next one.
const LIMIT: u64 = 1 << 63;
/// Documents with a version ahead of the time that are remembered until the table knows what was
/// given to them.
const MOST_AHEAD: usize = 1000;

/// Which versions are taken.
#[derive(Clone, Copy, Debug)]
pub struct VersionRule {
    /// How far ahead of the time, in milliseconds, a version may be; `None` takes any.
    maximum_ahead: Option<Duration>,
}

impl VersionRule {
    /// A version may be so many hours ahead of the time; 0 takes any.
    pub fn new(maximum_ahead_hours: u64) -> Self {
        let ahead = Duration::from_secs(maximum_ahead_hours.saturating_mul(3600));
        Self {
            maximum_ahead: (maximum_ahead_hours > 0).then_some(ahead),
        }
    }

    /// Whether the time that versions go on after may be right. What is given after it must be
    /// taken by every stage, whose clock may be behind, so it is half as far ahead at most.
    pub fn is_plausible(&self, time: u64, now_ms: i64) -> bool {
        let ahead = match self.maximum_ahead {
            Some(maximum) => u64::try_from(maximum.as_millis() / 2).unwrap_or(u64::MAX),
            None => LIMIT / 2,
        };
        time <= u64::try_from(now_ms).unwrap_or(0).saturating_add(ahead)
    }

    /// `Conflict` for a version by the time that no stage would take: better no publication than
    /// one that is given up.
    pub fn check_given(&self, document_id: &str, version: u64, now_ms: i64) -> Result<()> {
        self.check(version, now_ms).map_err(|error| {
            let what = format!("the next version of `{document_id}` is not taken: {error}");
            let hint = "is the clock of the server behind, or was it ahead when the document was published? set it right, or raise store.maximum_version_ahead_hours";
            Error::new(ErrorKind::Conflict, what).with_hint(hint)
        })
    }

    /// `Invalid` for a version that is not taken.
    pub fn check(&self, version: u64, now_ms: i64) -> Result<()> {
        if version >= LIMIT {
            let what = format!("version {version} is not below 2^63");
            return Err(Error::new(ErrorKind::Invalid, what)
                .with_hint("use milliseconds since 1970, or a revision number"));
        }
        let Some(maximum) = self.maximum_ahead else {
            return Ok(());
        };
        let now = u64::try_from(now_ms).unwrap_or(0);
        let ahead_ms = u128::from(version.saturating_sub(now));
        if ahead_ms <= maximum.as_millis() {
            return Ok(());
        }
        let what = format!(
            "version {version} is {} hours ahead of the time in milliseconds ({now})",
            ahead_ms / 3_600_000
        );
        Err(Error::new(ErrorKind::Invalid, what).with_hint(format!(
            "use milliseconds since 1970, or a revision number below that; store.maximum_version_ahead_hours is {}, 0 takes any version",
            maximum.as_secs() / 3600
        )))
    }
}

/// Gives versions by the time: they only grow, for each document by itself.
#[derive(Debug)]
pub struct Versions {
    /// The last time that was given.
    last_time: AtomicU64,
    /// What of it is known after a crash.
    kept: Option<Arc<GivenTime>>,
    /// What was last given to documents whose versions are ahead of the time.
    ahead: Mutex<HashMap<String, u64>>,
    /// What producers gave, until the table knows: of several who give the same version at once
    /// one is taken.
    claimed: Mutex<HashMap<String, u64>>,
}

/// A version that a producer gave and that nobody else may give; let go again unless it is kept.
#[derive(Debug)]
pub struct Claim<'a> {
    versions: &'a Versions,
    document_id: String,
    version: u64,
    is_kept: bool,
}

impl Claim<'_> {
    /// It was accepted.
    pub fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            let mut claimed = self
                .versions
                .claimed
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if claimed.get(&self.document_id) == Some(&self.version) {
                claimed.remove(&self.document_id);
            }
        }
    }
}

impl Versions {
    /// Goes on after the newest time of a report and after what may have been given, also if the
    /// clock was set back since.
    pub fn open(newest_time: u64, kept: Arc<GivenTime>) -> Self {
        Self {
            kept: Some(Arc::clone(&kept)),
            ..Self::after(newest_time.max(kept.up_to()))
        }
    }

    fn after(newest_time: u64) -> Self {
        Self {
            last_time: AtomicU64::new(newest_time),
            kept: None,
            ahead: Mutex::default(),
            claimed: Mutex::default(),
        }
    }

    /// Once it has returned, what [`Versions::next`] gave may be told: it is not given again, also
    /// after a crash.
    pub async fn keep(&self) -> Result<()> {
        match &self.kept {
            Some(kept) => kept.cover(self.last_time.load(Ordering::Acquire)).await,
            None => Ok(()),
        }
    }

    /// The next version of a document, to be used after [`Versions::keep`]. `known` tells what the
    /// table knows to be the newest version of a document.
    pub fn next(&self, document_id: &str, now_ms: i64, known: impl Fn(&str) -> u64) -> u64 {
        let time = self.next_time(u64::try_from(now_ms).unwrap_or(0));
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = known(document_id).max(ahead.get(document_id).copied().unwrap_or(0));
        if newest < time {
            ahead.remove(document_id);
            return time;
        }
        let version = newest.saturating_add(1);
        self.remember(&mut ahead, document_id, version, known);
        version
    }

    /// Takes a version that a producer gives, if it is above all that are known; else the newest of
    /// these. `known` as for [`Versions::next`].
    pub fn claim(
        &self,
        document_id: &str,
        version: u64,
        known: impl Fn(&str) -> u64 + Copy,
    ) -> std::result::Result<Claim<'_>, u64> {
        let mut claimed = self.claimed.lock().unwrap_or_else(PoisonError::into_inner);
        // Version 0 is one too: what is known of a document that is not there is no version.
        let newest = known(document_id).max(claimed.get(document_id).copied().unwrap_or(0));
        if newest >= version && (newest > 0 || claimed.contains_key(document_id)) {
            return Err(newest);
        }
        if claimed.len() >= MOST_AHEAD {
            claimed.retain(|document_id, given| known(document_id) < *given);
        }
        claimed.insert(document_id.to_owned(), version);
        drop(claimed);
        self.note(document_id, version, known);
        Ok(Claim {
            versions: self,
            document_id: document_id.to_owned(),
            version,
            is_kept: false,
        })
    }

    /// A producer gave a version: the next one of this document is above it, also before the table
    /// knows.
    fn note(&self, document_id: &str, version: u64, known: impl Fn(&str) -> u64) {
        if version > self.last_time.load(Ordering::Acquire) {
            self.remember(
                &mut self.ahead.lock().unwrap_or_else(PoisonError::into_inner),
                document_id,
                version,
                known,
            );
        }
    }

    fn remember(
        &self,
        ahead: &mut HashMap<String, u64>,
        document_id: &str,
        version: u64,
        known: impl Fn(&str) -> u64,
    ) {
        if ahead.len() >= MOST_AHEAD {
            ahead.retain(|document_id, given| known(document_id) < *given);
        }
        let given = ahead.entry(document_id.to_owned()).or_default();
        *given = version.max(*given);
    }

    /// No two documents get the same time, so that the order of publications can be seen.
    fn next_time(&self, now: u64) -> u64 {
        let previous = self.last_time.fetch_max(now, Ordering::AcqRel);
        if previous < now {
            now
        } else {
            self.last_time
                .fetch_add(1, Ordering::AcqRel)
                .saturating_add(1)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const NOW: i64 = 1_700_000_000_000;
    const HOUR: u64 = 3_600_000;

    #[test]
    fn versions_far_ahead_of_the_time_are_refused_and_others_are_not() {
        let rule = VersionRule::new(24);
        let now = NOW as u64;
        let cases = [
            (0, true),
            (7, true),
            (now, true),
            (now + 24 * HOUR, true),
            (now + 25 * HOUR, false),
            (now * 1000, false),
            (now * 1_000_000, false),
            (u64::MAX, false),
        ];
        for (version, is_taken) in cases {
            assert_eq!(rule.check(version, NOW).is_ok(), is_taken, "{version}");
        }
        let any = VersionRule::new(0);
        assert!(any.check(now * 1_000_000, NOW).is_ok() && any.check(LIMIT - 1, NOW).is_ok());
        assert_eq!(
            any.check(LIMIT, NOW).unwrap_err().kind(),
            ErrorKind::Invalid
        );
    }

    #[test]
    fn what_is_given_after_a_plausible_time_is_taken_and_the_rest_is_told() {
        let rule = VersionRule::new(24);
        let now = NOW as u64;
        for (time, is_plausible) in [
            (0, true),
            (now + 12 * HOUR, true),
            (now + 13 * HOUR, false),
            (u64::MAX, false),
        ] {
            assert_eq!(rule.is_plausible(time, NOW), is_plausible, "{time}");
            assert!(!is_plausible || rule.check_given("d", time + HOUR, NOW).is_ok());
        }
        let error = rule.check_given("d", now + 25 * HOUR, NOW).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(error.to_string().contains("25 hours ahead"), "{error}");
        let any = VersionRule::new(0);
        assert!(any.is_plausible(now * 1_000_000, NOW) && !any.is_plausible(LIMIT, NOW));
    }

    #[test]
    fn a_version_ahead_of_the_time_concerns_its_document_alone() {
        let versions = Versions::after(0);
        let far = NOW as u64 + HOUR;
        let known = |document_id: &str| if document_id == "far" { far } else { 0 };
        assert_eq!(versions.next("far", NOW, known), far + 1);
        assert_eq!(
            versions.next("far", NOW, known),
            far + 2,
            "the table does not know the one before yet"
        );
        let other = versions.next("other", NOW, known);
        assert!((NOW as u64..NOW as u64 + 10).contains(&other), "{other}");
        assert!(versions.next("other", NOW, |_| other) > other);
        assert!(versions.next("far", NOW + 2 * HOUR as i64, known) > far + 2);
        assert!(
            versions.ahead.lock().unwrap().is_empty(),
            "the time has passed it"
        );
    }

    #[test]
    fn what_a_producer_gave_counts_before_the_table_knows() {
        let versions = Versions::after(NOW as u64);
        let far = NOW as u64 + HOUR;
        versions.note("d", far, |_| 0);
        versions.note("d", far - 1, |_| 0);
        versions.note("old", 7, |_| 0);
        assert_eq!(versions.next("d", NOW, |_| 0), far + 1);
        assert!(
            !versions.ahead.lock().unwrap().contains_key("old"),
            "the time is above it anyway"
        );
    }

    #[test]
    fn of_several_who_give_the_same_version_one_is_taken() {
        let versions = Versions::after(NOW as u64);
        let failed = versions.claim("d", 10, |_| 0).unwrap();
        assert_eq!(versions.claim("d", 10, |_| 0).err(), Some(10));
        drop(failed);
        versions.claim("d", 10, |_| 0).unwrap().keep();
        assert_eq!(versions.claim("d", 9, |_| 0).err(), Some(10));
        assert_eq!(
            versions.claim("d", 11, |_| 11).err(),
            Some(11),
            "the table knows more"
        );
        versions.claim("other", 0, |_| 0).unwrap().keep();
        assert_eq!(versions.claim("other", 0, |_| 0).err(), Some(0));
        for number in 0..3 * MOST_AHEAD {
            versions
                .claim(&format!("d{number}"), 3, |document_id| {
                    if document_id == format!("d{number}") {
                        0
                    } else {
                        3
                    }
                })
                .unwrap()
                .keep();
        }
        assert!(versions.claimed.lock().unwrap().len() <= MOST_AHEAD);
    }

    #[test]
    fn times_go_on_when_the_clock_is_set_back() {
        let versions = Versions::after(NOW as u64 + HOUR);
        let first = versions.next("a", NOW, |_| 0);
        assert_eq!(
            (first, versions.next("b", NOW, |_| 0)),
            (NOW as u64 + HOUR + 1, NOW as u64 + HOUR + 2)
        );
    }

    #[tokio::test]
    async fn times_go_on_when_the_clock_is_set_back_and_no_report_tells_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let open = || {
            let given = GivenTime::open(folder.path(), VersionRule::new(168), NOW).unwrap();
            Versions::open(7, given)
        };
        let versions = open();
        let tomorrow = versions.next("d", NOW + 24 * HOUR as i64, |_| 0);
        versions.keep().await.unwrap();
        drop(versions);
        assert!(open().next("d", NOW, |_| 0) > tomorrow);
    }

    #[test]
    fn documents_ahead_of_the_time_are_forgotten_once_the_table_knows_them() {
        let versions = Versions::after(0);
        let far = NOW as u64 + HOUR;
        for number in 0..3 * MOST_AHEAD {
            versions.next(&format!("d{number}"), NOW, |_| far);
            versions
                .ahead
                .lock()
                .unwrap()
                .values_mut()
                .for_each(|given| *given = far);
        }
        assert!(versions.ahead.lock().unwrap().len() <= MOST_AHEAD);
    }
}
