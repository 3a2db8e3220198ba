//! Which member of a family answers, and how the others are named.

use std::cmp::Ordering;

use tributary_schemas::DocumentHeader;
use tributary_schemas::search::FamilyMember;

use super::joining::Document;

/// By number of the leader: which document answers for the family, and the others.
pub(super) fn answering(
    documents: &[Document],
    score_margin: f32,
) -> Vec<(usize, Vec<FamilyMember>)> {
    let mut families: Vec<Vec<usize>> = vec![Vec::new(); documents.len()];
    for (number, document) in documents.iter().enumerate() {
        if let Some(family) = families.get_mut(document.leader) {
            family.push(number);
        }
    }
    families
        .into_iter()
        .map(|family| answering_one(documents, &family, score_margin))
        .collect()
}

fn answering_one(
    documents: &[Document],
    family: &[usize],
    score_margin: f32,
) -> (usize, Vec<FamilyMember>) {
    let members: Vec<(usize, &Document)> = family
        .iter()
        .filter_map(|number| Some((*number, documents.get(*number)?)))
        .collect();
    let best_score = members
        .iter()
        .map(|(_, document)| document.best_score)
        .fold(0.0, f32::max);
    let nearly_best = members
        .iter()
        .filter(|(_, document)| document.best_score + score_margin >= best_score);
    let Some((answers, document)) =
        nearly_best.min_by(|(_, left), (_, right)| left.shown.canonical_order(&right.shown))
    else {
        return (usize::MAX, Vec::new());
    };
    let mut others = Vec::new();
    for (number, other) in &members {
        let similarity = if number == answers {
            1.0
        } else {
            document.similarity(other)
        };
        let itself = (number != answers).then_some(other.shown.as_ref());
        others.extend(
            itself
                .into_iter()
                .chain(&other.copies)
                .map(|member| family_member(member, similarity)),
        );
    }
    others.sort_by(most_similar_first);
    (*answers, others)
}

pub(super) fn most_similar_first(left: &FamilyMember, right: &FamilyMember) -> Ordering {
    right
        .similarity
        .total_cmp(&left.similarity)
        .then_with(|| left.document_id.cmp(&right.document_id))
}

pub(super) fn family_member(document: &DocumentHeader, similarity: f32) -> FamilyMember {
    FamilyMember {
        document_id: document.document_id.clone(),
        version: document.version,
        source: document.source.clone(),
        source_path: document.source_path.clone(),
        title: document.title.clone(),
        similarity,
    }
}
