//! Levels of headings: by the outline where it names headings of the same style, else by size,
//! number, weight and order of appearance.

use super::Found;
use super::looks::is_capitals;
use super::numbers::number_depth;
use crate::escape::is_wide;
use crate::pdf::blocks::Paragraph;

/// How much smaller the headings of the next level are, relative; smaller differences are none.
const TIER_STEP: f32 = 0.96;

/// Deepest level of Markdown.
const MAXIMUM_LEVEL: u8 = 6;

/// Ranks from which on those of a single heading use up no level.
const MANY_RANKS: usize = 4;

/// Headings that look the same from which the first is their title though text follows it.
const MANY_ALIKE: usize = 4;

/// What decides on the level of a heading; the smaller is above the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// Sizes, the largest first.
    tier: usize,
    /// Parts of its number.
    depth: u8,
    is_light: bool,
    is_small: bool,
    is_slanted: bool,
}

/// Puts what the outline names below a title that it leaves out, as that of a paper does: the first
/// text of the document, larger than all that the outline names.
pub(super) fn put_below_title(found: &mut [Found]) {
    let told = found.iter().filter(|heading| heading.told.is_some());
    let largest = told.map(|heading| heading.looks.size).fold(0.0, f32::max);
    let is_title = |first: &Found| {
        first.is_first && first.told.is_none() && largest < TIER_STEP * first.looks.size
    };
    let begins_at_top = found.iter().any(|heading| heading.told == Some(1));
    if begins_at_top && found.first().is_some_and(is_title) {
        let told = found.iter_mut().filter_map(|heading| heading.told.as_mut());
        told.for_each(|level| *level += 1);
    }
}

/// The level of each heading, 1 to 6.
pub(super) fn levels(found: &[Found]) -> Vec<u8> {
    let ranks = ranks(found);
    let mut order: Vec<Rank> = ranks.clone();
    order.sort_unstable();
    order.dedup();
    let levels = rank_levels(found, &ranks, &order);
    let level = |rank: &Rank| {
        let at = order.binary_search(rank).ok();
        at.and_then(|at| levels.get(at).copied()).unwrap_or(1)
    };
    let are_alike = order.len() == 1 && found.len() > 1;
    let own = |(heading, rank): (&Found, &Rank)| {
        // Headings that all look the same: the first one may be their title.
        let is_below_title = are_alike && has_title(found);
        let level = level(rank) + u8::from(is_below_title && !heading.is_first);
        heading.told.unwrap_or(level).clamp(1, MAXIMUM_LEVEL)
    };
    found.iter().zip(&ranks).map(own).collect()
}

/// Whether the first of headings that look the same is the title of the others: nothing stands before
/// it, it is not the first of numbers, and no text belongs to it or there are many others.
fn has_title(found: &[Found]) -> bool {
    let is_title = |first: &Found| {
        let is_above_headings = !first.is_before_text || found.len() >= MANY_ALIKE;
        first.is_first && is_above_headings && number_depth(&first.looks.text) == 0
    };
    found.first().is_some_and(is_title)
}

/// The level of each rank of `order`. Where there are many, a rank of a single heading uses up no
/// level: large letters of a cover are one, and others have the level of the next rank.
fn rank_levels(found: &[Found], ranks: &[Rank], order: &[Rank]) -> Vec<u8> {
    let has_own = |rank: &Rank| {
        let count = ranks.iter().filter(|other| *other == rank).count();
        count > 1 || rank.depth > 0
    };
    let first_own = order
        .iter()
        .position(has_own)
        .filter(|_| order.len() > MANY_RANKS);
    let is_on_cover = |rank: &Rank| {
        let heading = found.iter().zip(ranks).find(|(_, other)| *other == rank);
        heading.is_some_and(|(heading, _)| heading.page == 0)
    };
    let mut levels = Vec::with_capacity(order.len());
    let mut above = 0;
    let mut waiting = 0;
    for (at, rank) in order.iter().enumerate() {
        let told = told_level(found, ranks, *rank);
        let is_counted = told.is_some() || first_own.is_none() || has_own(rank);
        if !is_counted && first_own > Some(at) && is_on_cover(rank) {
            levels.resize(levels.len() + waiting, 1);
            (above, waiting) = (1, 0);
            levels.push(1);
        } else if is_counted {
            let next = told.unwrap_or((above + 1).max(rank.depth));
            above = next.min(MAXIMUM_LEVEL);
            levels.resize(levels.len() + waiting + 1, above);
            waiting = 0;
        } else {
            waiting += 1;
        }
    }
    levels.resize(order.len(), (above + 1).min(MAXIMUM_LEVEL));
    levels
}

fn ranks(found: &[Found]) -> Vec<Rank> {
    let sizes = tiers(found);
    let tier = |heading: &Found| {
        let is_below = |size: &&f32| heading.looks.size < TIER_STEP * **size;
        sizes.iter().filter(is_below).count()
    };
    let depths = depths(found, tier, sizes.len());
    let has_bold = has_bold(found);
    let usual = usual_looks(found, has_bold, tier, sizes.len());
    let rank = |heading: &Found| {
        let (looks, tier) = (&heading.looks, tier(heading));
        if let Some([least, _, ..]) = depths.get(tier).map(Vec::as_slice) {
            return Rank {
                tier,
                depth: number_depth(&looks.text).max(*least),
                ..Rank::default()
            };
        }
        // What is larger than the text needs nothing else to be told from it.
        if heading.is_large {
            return Rank {
                tier,
                ..Rank::default()
            };
        }
        Rank {
            tier,
            ..own_looks(looks, has_bold)
                .or_else(|| usual.get(tier).copied())
                .unwrap_or_default()
        }
    };
    found.iter().map(rank).collect()
}

/// Whether the Chinese letters of the document have a bold font, as far as its headings tell.
fn has_bold(found: &[Found]) -> bool {
    let is_bold = |looks: &Paragraph| looks.is_bold && looks.text.chars().any(is_wide);
    found.iter().any(|heading| is_bold(&heading.looks))
}

/// Weight, capitals and slant of a heading; `None` of one in Chinese letters alone, which often have
/// no such fonts: programs slant what has no slanted font, but do not make it bold.
fn own_looks(looks: &Paragraph, has_bold: bool) -> Option<Rank> {
    let has_letters = |letter: char| letter.is_alphabetic() && !is_wide(letter);
    let is_italic = looks.is_italic && has_bold;
    let is_known = looks.is_bold || is_italic || looks.text.chars().any(has_letters);
    let is_capital = is_capitals(&looks.text) && looks.text.contains(' ');
    is_known.then_some(Rank {
        is_light: !(looks.is_bold || looks.is_bold_but_wide),
        is_small: !is_capital || looks.text.chars().any(is_wide),
        is_slanted: looks.is_italic || looks.is_italic_but_wide,
        ..Rank::default()
    })
}

/// The looks that most headings of each tier have.
fn usual_looks(
    found: &[Found],
    has_bold: bool,
    tier: impl Fn(&Found) -> usize,
    tiers: usize,
) -> Vec<Rank> {
    let mut known: Vec<Vec<Rank>> = vec![Vec::new(); tiers];
    for heading in found.iter().filter(|heading| !heading.is_large) {
        if let Some(known) = known.get_mut(tier(heading)) {
            known.extend(own_looks(&heading.looks, has_bold));
        }
    }
    let usual = |mut known: Vec<Rank>| {
        known.sort_unstable();
        let alike = known.chunk_by(|one, other| one == other);
        let most = alike.max_by_key(|ranks| ranks.len());
        most.and_then(|ranks| ranks.first().copied())
            .unwrap_or_default()
    };
    known.into_iter().map(usual).collect()
}

/// The depths of the numbers in each tier, in order: numbers tell levels where there are several.
fn depths(found: &[Found], tier: impl Fn(&Found) -> usize, tiers: usize) -> Vec<Vec<u8>> {
    let mut depths = vec![Vec::new(); tiers];
    for heading in found {
        let depth = number_depth(&heading.looks.text);
        if let Some(known) = depths.get_mut(tier(heading)).filter(|_| depth > 0) {
            known.push(depth);
        }
    }
    for known in &mut depths {
        known.sort_unstable();
        known.dedup();
    }
    depths
}

/// The largest size of each tier, the largest first.
fn tiers(found: &[Found]) -> Vec<f32> {
    let mut sizes: Vec<f32> = found.iter().map(|heading| heading.looks.size).collect();
    sizes.sort_by(|one, other| other.total_cmp(one));
    sizes.dedup_by(|next, kept| *next >= TIER_STEP * *kept);
    sizes
}

/// The level that the outline gives most headings of a rank.
fn told_level(found: &[Found], ranks: &[Rank], rank: Rank) -> Option<u8> {
    let mut counts = [0_usize; MAXIMUM_LEVEL as usize + 1];
    let of_rank = found.iter().zip(ranks).filter(|(_, other)| **other == rank);
    for level in of_rank.filter_map(|(heading, _)| heading.told) {
        if let Some(count) = counts.get_mut(usize::from(level.min(MAXIMUM_LEVEL))) {
            *count += 1;
        }
    }
    let most = (1..=MAXIMUM_LEVEL)
        .rev()
        .max_by_key(|level| counts.get(usize::from(*level)))?;
    (counts.get(usize::from(most)) > Some(&0)).then_some(most)
}
