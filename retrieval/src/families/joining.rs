//! Which documents among those found are one family.

use std::sync::Arc;

use tributary_schemas::DocumentHeader;
use tributary_schemas::near_duplicate::Signature;
use tributary_schemas::search::FoldLimits;

use super::Folding;
use crate::leaving::visible;
use crate::titles;

/// A document with chunks among those found.
pub(super) struct Document {
    pub(super) shown: Arc<DocumentHeader>,
    /// How exactly the question names it.
    named: f32,
    /// Exact duplicates that the caller may see too.
    pub(super) copies: Vec<DocumentHeader>,
    /// None, too, where the caller may not see all of it: what it shares with others would tell of
    /// what is hidden.
    signature: Option<Signature>,
    pub(super) best_score: f32,
    /// Number of the document whose family it is in.
    pub(super) leader: usize,
}

impl Document {
    /// `None` if the caller may see it under no name.
    pub(super) fn new(
        stored: &Arc<DocumentHeader>,
        best_score: f32,
        folding: &Folding<'_>,
    ) -> Option<Self> {
        let naming = &folding.naming;
        let mut members = visible(stored, folding.filter);
        // Stable: of those named alike the canonical one stays first.
        members.sort_by(|left, right| {
            let named = |document: &DocumentHeader| naming.of_document(document);
            named(right).total_cmp(&named(left))
        });
        let mut members = members.into_iter();
        let mut shown = members.next()?;
        let named = naming.of_document(&shown);
        let copies: Vec<DocumentHeader> = members.map(Arc::unwrap_or_clone).collect();
        if !copies.is_empty() {
            let document = Arc::make_mut(&mut shown);
            for copy in &copies {
                unite(&mut document.tags, &copy.tags);
                unite(&mut document.knowledge_sets, &copy.knowledge_sets);
            }
        }
        Some(Self {
            signature: Signature::decode(&stored.signature)
                .ok()
                .filter(|_| folding.filter.allows_level(Some(stored.highest_level()))),
            shown,
            named,
            copies,
            best_score,
            leader: usize::MAX,
        })
    }

    /// Estimated; exact duplicates are stored once, so two documents that were found are none.
    pub(super) fn similarity(&self, other: &Self) -> f32 {
        match (&self.signature, &other.signature) {
            (Some(own), Some(other)) => own.similarity(other),
            _ => 0.0,
        }
    }

    fn is_family(&self, other: &Self, limits: FoldLimits) -> bool {
        self.named == other.named
            && have_same_section_levels(&self.shown, &other.shown)
            && self.similarity(other) >= least_similarity(&self.shown, &other.shown, limits)
    }
}

/// Who may see which section of a document is among its rights, and families are within rights.
pub(super) fn have_same_section_levels(left: &DocumentHeader, right: &DocumentHeader) -> bool {
    left.attributes.section_rules() == right.attributes.section_rules()
}

/// How similar two documents must be to be one family.
pub(super) fn least_similarity(
    left: &DocumentHeader,
    right: &DocumentHeader,
    limits: FoldLimits,
) -> f32 {
    if titles::are_same(&left.title, &right.title) {
        limits.threshold
    } else {
        limits.threshold.max(limits.other_title_threshold)
    }
}

fn unite(names: &mut Vec<String>, more: &[String]) {
    for name in more {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
}

/// Gives every document the number of the one that leads its family; a leader has its own.
pub(super) fn join_families(documents: &mut [Document], limits: FoldLimits) {
    let mut leaders: Vec<usize> = Vec::new();
    for number in 0..documents.len() {
        let (before, rest) = documents.split_at_mut(number);
        let Some(document) = rest.first_mut() else {
            continue;
        };
        let is_similar = |leader: &usize| {
            before
                .get(*leader)
                .is_some_and(|leader| leader.is_family(document, limits))
        };
        document.leader = leaders.iter().copied().find(is_similar).unwrap_or(number);
        if document.leader == number {
            leaders.push(number);
        }
    }
}
