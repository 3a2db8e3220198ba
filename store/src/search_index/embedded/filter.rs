//! Which documents of a segment a filter lets through. Fails closed: every condition must be met by
//! something that the document has.

use std::collections::HashSet;

use tantivy::Term;
use tantivy::schema::IndexRecordOption;
use tributary_schemas::{Filter, Viewer};

use super::bitmap::Bitmap;
use super::snapshot::Segment;
use super::text::{self, Fields};

/// The documents of a segment that are not deleted and that the filter lets through.
pub fn documents(segment: &Segment, fields: Fields, filter: &Filter) -> tantivy::Result<Bitmap> {
    let mut allowed = segment.alive.clone();
    for values in filter.term_conditions() {
        allowed.intersect(&any_of(segment, fields, &values)?);
    }
    if let Some(viewer) = &filter.viewer {
        keep_seen(segment, fields, viewer, &mut allowed)?;
    }
    if filter.updated_from_ms.is_some() || filter.updated_before_ms.is_some() {
        keep_updated(segment, filter, &mut allowed)?;
    }
    if let Some(highest) = filter.max_security_level {
        let level = segment.reader.fast_fields().u64(text::SECURITY_LEVEL)?;
        keep(&mut allowed, |document| {
            level
                .first(document)
                .is_some_and(|level| level <= u64::from(highest))
        });
    }
    Ok(allowed)
}

/// Keeps the documents that somebody may see; says the same as [`Viewer::sees`], and leaves out what
/// is known to be withheld.
fn keep_seen(
    segment: &Segment,
    fields: Fields,
    viewer: &Viewer,
    allowed: &mut Bitmap,
) -> tantivy::Result<()> {
    let mut seen = any_of(segment, fields, &viewer.terms())?;
    if let Some(stated) = viewer.stated_term() {
        let mut unstated = allowed.clone();
        unstated.subtract(&any_of(segment, fields, &[stated.to_owned()])?);
        seen.unite(&unstated);
    }
    allowed.intersect(&seen);
    if !viewer.withheld.is_empty() {
        allowed.subtract(&any_of(segment, fields, &viewer.withheld_terms())?);
    }
    let level = segment.reader.fast_fields().u64(text::SECURITY_LEVEL)?;
    let clearance = u64::from(viewer.clearance);
    keep(allowed, |document| {
        level.first(document).is_none_or(|level| level <= clearance)
    });
    Ok(())
}

/// Keeps the documents that were updated when the filter says.
fn keep_updated(segment: &Segment, filter: &Filter, allowed: &mut Bitmap) -> tantivy::Result<()> {
    let from = filter.updated_from_ms.unwrap_or(i64::MIN);
    let updated = segment.reader.fast_fields().i64(text::UPDATED_AT)?;
    let meets = |at: i64| at >= from && filter.updated_before_ms.is_none_or(|before| at < before);
    keep(allowed, |document| {
        updated.first(document).is_some_and(meets)
    });
    Ok(())
}

/// The documents that carry any of the terms, deleted ones included; none for no terms.
fn any_of(segment: &Segment, fields: Fields, values: &[String]) -> tantivy::Result<Bitmap> {
    let mut found = Bitmap::new(segment.reader.max_doc() as usize);
    let inverted = segment.reader.inverted_index(fields.terms)?;
    for value in values.iter().collect::<HashSet<_>>() {
        let Some(mut postings) = inverted.read_block_postings(
            &Term::from_field_text(fields.terms, value),
            IndexRecordOption::Basic,
        )?
        else {
            continue;
        };
        while !postings.docs().is_empty() {
            postings
                .docs()
                .iter()
                .for_each(|document| found.set(*document as usize));
            postings.advance();
        }
    }
    Ok(found)
}

fn keep(allowed: &mut Bitmap, meets: impl Fn(u32) -> bool) {
    let mut kept = allowed.clone();
    kept.clear();
    allowed
        .iter()
        .filter(|document| meets(*document as u32))
        .for_each(|document| kept.set(document));
    *allowed = kept;
}
