//! Files in stage 1: one ranking by their summaries and the best of their definitions, and the best of
//! each part of the code base.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use tributary_schemas::code_entry::CodeEntry;
use tributary_schemas::code_search::CodeFile;
use tributary_schemas::{ChunkKind, DocumentHeader};

use super::Found;
use crate::config::CodeConfig;
use crate::exact_name::boosted;

/// A file in stage 1.
pub(super) struct File {
    pub document: Arc<DocumentHeader>,
    /// Document that has its chunks: another one where it is an exact duplicate.
    pub stored_id: String,
    pub code: Option<Box<CodeEntry>>,
    /// How exactly the question names it, or something in it.
    pub exact_name: f32,
    pub score: f32,
}

/// One ranking of the files by both, best first; equal ones by document.
pub(super) fn fuse(
    by_summary: Vec<Found>,
    by_definition: Vec<Found>,
    config: &CodeConfig,
) -> Vec<File> {
    let mut files: HashMap<String, File> = HashMap::new();
    let definition_weight = 1.0 - config.summary_weight;
    add_ranks(&mut files, by_summary, config.summary_weight, config);
    add_ranks(&mut files, by_definition, definition_weight, config);
    let mut files: Vec<File> = files.into_values().collect();
    let names = files.iter().map(|file| file.exact_name);
    let highest = names.fold(0.0, f32::max);
    for file in &mut files {
        file.score = boosted(file.score, file.exact_name, highest);
    }
    files.sort_by(best_first);
    files
}

/// Adds to each file what its first place in a ranking is worth; 1 for the first of all, weighted.
fn add_ranks(
    files: &mut HashMap<String, File>,
    ranking: Vec<Found>,
    weight: f32,
    config: &CodeConfig,
) {
    let mut rank = 0.0;
    let mut ranks: HashMap<String, f32> = HashMap::new();
    for found in ranking {
        let id = found.document.document_id.clone();
        if ranks.contains_key(&id) {
            continue;
        }
        rank += 1.0;
        ranks.insert(id.clone(), rank);
        let is_file = found.stored.chunk.kind == ChunkKind::CodeFile;
        let file = files.entry(id).or_insert_with(|| File {
            stored_id: found.stored.document.document_id.clone(),
            document: found.document,
            code: None,
            exact_name: 0.0,
            score: 0.0,
        });
        file.exact_name = file.exact_name.max(found.fine.exact_name);
        file.score += weight * (config.rank_constant + 1.0) / (config.rank_constant + rank);
        if is_file {
            file.code = Some(found.code);
        }
    }
}

fn best_first(left: &File, right: &File) -> Ordering {
    let by_score = right.score.total_cmp(&left.score);
    by_score.then_with(|| left.document.document_id.cmp(&right.document.document_id))
}

/// Keeps the best files of each part, in their order.
pub(super) fn best_of_parts(files: &mut Vec<File>, config: &CodeConfig) {
    let mut taken: HashMap<String, usize> = HashMap::new();
    files.retain(|file| {
        let part = part(&file.document, &config.part_attribute);
        let taken = taken.entry(part.to_owned()).or_default();
        *taken += 1;
        *taken <= config.files_per_part
    });
}

fn part<'a>(document: &'a DocumentHeader, attribute: &str) -> &'a str {
    document.attributes.text(attribute).unwrap_or_default()
}

/// A file as the answer has it.
pub(super) fn code_file(rank: usize, file: &File, part_attribute: &str) -> CodeFile {
    let document = &file.document;
    let code = file.code.as_ref();
    let described = code.filter(|code| code.is_described());
    CodeFile {
        rank,
        score: file.score,
        document_id: document.document_id.clone(),
        source: document.source.clone(),
        source_path: document.source_path.clone(),
        language: code.map(|code| code.language.clone()).unwrap_or_default(),
        part: part(document, part_attribute).to_owned(),
        summary: described
            .map(|code| code.description.clone())
            .unwrap_or_default(),
    }
}
