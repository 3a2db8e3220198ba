//! Recognised lines to Markdown: the page is made level (`frame`), read column by column
//! (`columns`), row by row (`rows`), tables are found where rows agree on their columns (`tables`),
//! and lines of one paragraph are joined where that is clear (`paragraphs`). All of
//! it is about one page.

mod columns;
mod escape;
mod frame;
mod paragraphs;
mod rows;
mod tables;

use tributary_models::ocr::RecognizedPage;

use rows::Row;

/// The page's text in reading order as Markdown; empty for a page without lines, else with a line
/// end.
pub(super) fn page_markdown(page: &RecognizedPage) -> String {
    let items = frame::level_items(&page.lines);
    let blocks = columns::reading_order(items);
    let rows: Vec<Row> = blocks
        .into_iter()
        .enumerate()
        .flat_map(|(block, items)| rows::rows_of(items, block))
        .collect();
    let mut markdown = String::new();
    let mut rest = rows.as_slice();
    while let Some(row) = rest.first() {
        let table = tables::table_at(rest);
        let (part, length) = match table {
            Some((table, length)) => (table, length),
            None => {
                paragraphs::text_before(rest, |after| tables::table_at(after).is_some(), row.block)
            }
        };
        if !markdown.is_empty() {
            markdown.push('\n');
        }
        markdown.push_str(&part);
        rest = rest.get(length.max(1)..).unwrap_or_default();
    }
    markdown
}

/// The middle one of some values; 0 for none.
fn median(values: impl Iterator<Item = f32>) -> f32 {
    let mut sorted: Vec<f32> = values.collect();
    sorted.sort_by(f32::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests;
