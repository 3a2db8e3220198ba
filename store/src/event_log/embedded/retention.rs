//! Retention by age and size: whole old segments go, but never the last, and never what a group has
//! yet to read.

use tributary_schemas::Result;

use super::folder::{lock, remove, sync_folder};
use super::partition::Partition;
use crate::event_log::TopicSettings;

/// Whether all records of the active segment are too old, so that closing it lets them go.
pub fn active_has_expired(partition: &Partition, settings: &TopicSettings, now_ms: i64) -> bool {
    let segments = partition.segments();
    segments.last().is_some_and(|view| {
        view.totals.records > 0 && is_too_old(view.totals.max_timestamp_ms, settings, now_ms)
    })
}

/// Removes what is too old or too much. `lowest_position` is that of the groups that have
/// committed. Returns how many segments went.
pub fn expire(
    partition: &Partition,
    settings: &TopicSettings,
    lowest_position: Option<u64>,
    now_ms: i64,
) -> Result<u64> {
    let _upkeep = lock(&partition.maintenance);
    let segments = partition.segments();
    let mut left_bytes: u64 = segments.iter().map(|view| view.data_end).sum();
    let mut gone = 0;
    let removable = segments.len().saturating_sub(1);
    for view in segments.iter().take(removable).filter(|view| view.closed) {
        let is_read = lowest_position.is_none_or(|lowest| view.end <= lowest);
        let is_too_much = settings
            .retention_bytes
            .is_some_and(|allowed| left_bytes > allowed);
        if !is_read || !is_too_much && !is_too_old(view.totals.max_timestamp_ms, settings, now_ms) {
            break;
        }
        // Out of the list first: whoever still reads it has it open.
        partition.exchange(view.segment.name.base, 1, None);
        remove(&view.segment.path)?;
        left_bytes -= view.data_end;
        gone += 1;
    }
    if gone > 0 {
        sync_folder(&partition.folder)?;
    }
    Ok(gone)
}

fn is_too_old(max_timestamp_ms: i64, settings: &TopicSettings, now_ms: i64) -> bool {
    let age_ms = i128::from(now_ms) - i128::from(max_timestamp_ms);
    settings
        .retention_age
        .is_some_and(|allowed| age_ms > 0 && age_ms.cast_unsigned() > allowed.as_millis())
}
