//! What the counts of documents come to for each knowledge set: its state and its alarms.

use tributary_schemas::State;
use tributary_schemas::set_status::{
    SetAlarmReason, SetCost, SetDocuments, SetState, SetStatus, SetStatusList, SourceStatus,
};
use tributary_store::manifest::tally::{Tallies, Tally};
use tributary_taxonomy::{KnowledgeSet, KnowledgeSets, SetAlarm};

/// Sources that are listed.
const SOURCES: usize = 100;
const MINUTE_SECONDS: f64 = 60.0;

/// Each set with its counts, those without documents too.
pub fn statuses(sets: &KnowledgeSets, mut tallies: Tallies) -> SetStatusList {
    let now_ms = tallies.at_ms;
    let costs = tallies.costs.take();
    let of_sets = sets.iter().map(|set| {
        let tally = tallies.by_set.remove(&set.id).unwrap_or_default();
        let cost = costs.as_ref().map(|costs| costs.of(&set.id));
        SetStatus {
            cost: cost.unwrap_or_default(),
            ..status(set, tally, now_ms)
        }
    });
    let sets = of_sets.collect();
    let unplaced = tallies.by_source.into_iter().take(SOURCES);
    let unplaced = unplaced.map(|(source, tally)| SourceStatus {
        source,
        documents: documents(tally, now_ms),
    });
    SetStatusList {
        sets,
        unplaced: unplaced.collect(),
    }
}

fn status(set: &KnowledgeSet, tally: Tally, now_ms: i64) -> SetStatus {
    let documents = documents(tally, now_ms);
    let alarms = alarms(&set.alarm.clone().unwrap_or_default(), &documents);
    let state = match &documents {
        _ if !alarms.is_empty() => SetState::Alarm,
        documents if documents.waiting > 0 => SetState::Building,
        documents if documents.all == 0 => SetState::Empty,
        _ => SetState::Ready,
    };
    SetStatus {
        id: set.id.clone(),
        name: set.name.clone(),
        owner: set.owner.clone(),
        state,
        alarms,
        documents,
        cost: SetCost::default(),
    }
}

fn alarms(alarm: &SetAlarm, documents: &SetDocuments) -> Vec<SetAlarmReason> {
    let oldest = documents.oldest_waiting_seconds.unwrap_or(0.0);
    let is_late = |minutes: u64| oldest >= minutes as f64 * MINUTE_SECONDS;
    let is_reached = |reason: &SetAlarmReason| match reason {
        SetAlarmReason::Failures => alarm
            .failures
            .is_some_and(|maximum| documents.failed >= maximum),
        SetAlarmReason::Lag => alarm.lag_minutes.is_some_and(is_late),
    };
    let reached = SetAlarmReason::ALL.into_iter().filter(is_reached);
    reached.collect()
}

fn documents(tally: Tally, now_ms: i64) -> SetDocuments {
    let age = |since: i64| now_ms.saturating_sub(since).max(0) as f64 / 1000.0;
    SetDocuments {
        all: tally.documents,
        searchable: tally.searchable,
        degraded: tally.degraded,
        indexed: tally.in_state(State::Indexed),
        skipped: tally.in_state(State::Skipped),
        failed: tally.in_state(State::Dead),
        waiting: tally.waiting(),
        oldest_waiting_seconds: tally.oldest_waiting_ms.map(age),
        failures: tally.failures,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_set_alarms_when_its_thresholds_are_reached() {
        let sets = KnowledgeSets::from_toml(
            "[[knowledge_set]]\nid = \"a\"\nname = \"A\"\nview = \"capability\"\nowner = \"team\"\n\
             alarm = { failures = 2, lag_minutes = 1 }\n\
             [[knowledge_set]]\nid = \"b\"\nname = \"B\"\nview = \"capability\"\n",
        )
        .unwrap();
        let tally = |failed: u64, waiting_ms: Option<i64>| {
            let mut tally = Tally {
                documents: 9,
                oldest_waiting_ms: waiting_ms,
                ..Tally::default()
            };
            tally.states[State::Dead as usize] = failed;
            tally.states[State::Accepted as usize] = u64::from(waiting_ms.is_some());
            let by_set = [("a".to_owned(), tally)].into();
            let tallies = Tallies {
                at_ms: 100_000,
                by_set,
                ..Tallies::default()
            };
            let list = statuses(&sets, tallies);
            assert_eq!(list.sets[1].state, SetState::Empty);
            (list.sets[0].state, list.sets[0].alarms.clone())
        };
        assert_eq!(tally(1, None), (SetState::Ready, vec![]));
        assert_eq!(tally(1, Some(90_000)), (SetState::Building, vec![]));
        let both = SetAlarmReason::ALL.to_vec();
        assert_eq!(tally(2, Some(40_000)), (SetState::Alarm, both));
    }
}
