//! Writes the sheets of a document one after the other: their Markdown and their part of the
//! database.

use std::collections::BTreeMap;

use tributary_schemas::Result;

use super::database::{Database, cell_name};
use super::layout::Area;
use super::markdown::{Extent, TableWriter, paragraph};
use super::merges::Merges;
use super::names::Names;
use super::plan::Plan;
use super::survey::{ROWS_PER_CHECK, Survey};
use super::value::{Cell, RowSource, Value};
use crate::blanks::collapsed;
use crate::config::TablesConfig;
use crate::document::EmbeddedFile;
use crate::limits::Limits;

/// File name of the database.
pub(crate) const DATABASE_NAME: &str = "tables.sqlite";

/// Media type of the database.
pub(crate) const DATABASE_MEDIA_TYPE: &str = "application/vnd.sqlite3";

/// Rows between a line of text and the table that it is the title of.
const TITLE_DISTANCE: u32 = 3;

/// Longest line in bytes that is taken for a title.
const MAXIMUM_TITLE_BYTES: usize = 300;

/// A document being written.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    settings: &'a TablesConfig,
    limits: &'a Limits<'a>,
    markdown: String,
    database: Option<Database>,
    names: Names,
    tables: usize,
    rows: u64,
    rows_left_out: u64,
    in_memory: bool,
}

/// What a document became.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// All sheets as Markdown.
    pub markdown: String,
    /// The database, if there is a table.
    pub blobs: Vec<EmbeddedFile>,
    /// Numbers of tables and rows.
    pub metadata: BTreeMap<String, String>,
}

/// A table to be written.
struct Table<'p> {
    sheet: &'p str,
    /// Its name in the database.
    name: &'p str,
    plan: &'p Plan,
    merges: &'p Merges,
}

impl<'a> Writer<'a> {
    /// An empty document whose cells will hold about `expected_bytes`.
    pub(crate) fn new(
        settings: &'a TablesConfig,
        limits: &'a Limits<'a>,
        expected_bytes: u64,
    ) -> Self {
        let in_memory = expected_bytes <= settings.memory_bytes as u64;
        Self {
            settings,
            limits,
            markdown: String::new(),
            database: None,
            names: Names::default(),
            tables: 0,
            rows: 0,
            rows_left_out: 0,
            in_memory,
        }
    }

    /// Begins a page with the sheet's name as heading; `is_first` is the first page.
    pub(crate) fn begin_sheet(&mut self, name: &str, is_first: bool) {
        if !is_first {
            self.markdown.push('\u{C}');
        }
        let heading = super::markdown::escaped(&collapsed(name));
        self.markdown.push_str(&format!("## {heading}\n\n"));
    }

    /// Writes the tables in the given areas of a sheet.
    pub(crate) fn write(
        &mut self,
        sheet: &str,
        source: &mut dyn RowSource,
        areas: &[Area],
        merges: &Merges,
    ) -> Result<()> {
        if self.settings.write_database && self.database.is_none() && !areas.is_empty() {
            self.database = Some(Database::create(
                self.in_memory,
                self.settings.maximum_database_bytes,
            )?);
        }
        let mut note: Option<(u32, String)> = None;
        for (area, number) in areas.iter().zip(1..) {
            self.limits.check_time()?;
            let survey = Survey::read(source, *area, merges, self.limits)?;
            let mut plan = Plan::new(&survey, *area);
            if plan.rows == 1 && plan.columns.len() == 1 {
                note = self
                    .write_note(sheet, &survey)?
                    .map(|text| (area.bottom, text));
                continue;
            }
            // A line that stands closely above a table is its title.
            if let Some((_, text)) = note.take().filter(|(row, _)| {
                plan.title.is_empty() && (*row..=row + TITLE_DISTANCE).contains(&area.top)
            }) {
                plan.title = text;
            }
            if !plan.columns.is_empty() {
                let wanted = if areas.len() > 1 {
                    &format!("{sheet}_{number}")
                } else {
                    sheet
                };
                let name = self.unique_name(wanted);
                let table = Table {
                    sheet,
                    name: &name,
                    plan: &plan,
                    merges,
                };
                self.write_table(&table, source)?;
            }
        }
        Ok(())
    }

    /// Writes a paragraph that belongs to no cell.
    pub(crate) fn write_text(&mut self, text: &str) {
        let cell = Cell::new(0, Value::Text(collapsed(text).into()));
        self.markdown.push_str(&paragraph(&cell));
        self.markdown.push_str("\n\n");
    }

    /// A cell that stands alone is a paragraph; its text, if it could be a title.
    fn write_note(&mut self, sheet: &str, survey: &Survey) -> Result<Option<String>> {
        let mut title = None;
        let cells = survey
            .first_rows
            .iter()
            .flat_map(|row| row.cells.iter().map(|cell| (row.index, cell)));
        for (row, cell) in cells.filter(|(_, cell)| !cell.is_blank()) {
            self.markdown.push_str(&paragraph(cell));
            self.markdown.push_str("\n\n");
            if let Some(database) = &self.database {
                database.add_note(sheet, &cell_name(row, cell.column), &cell.text())?;
            }
            title = Some(collapsed(&cell.text())).filter(|text| text.len() <= MAXIMUM_TITLE_BYTES);
        }
        Ok(title)
    }

    fn unique_name(&mut self, wanted: &str) -> String {
        self.tables += 1;
        let otherwise = format!("table{}", self.tables);
        self.names.unique(wanted, &otherwise)
    }

    fn write_table(&mut self, table: &Table<'_>, source: &mut dyn RowSource) -> Result<()> {
        let Table {
            sheet,
            name,
            plan,
            merges,
        } = *table;
        self.rows += plan.data_rows();
        let columns = plan
            .columns
            .get(..self.settings.maximum_database_columns.min(2000))
            .unwrap_or(&plan.columns);
        let extent = Extent::of(self.settings);
        let mut inserter = match &self.database {
            Some(database) => Some(database.add_table(name, sheet, plan, columns)?),
            None => None,
        };
        let untyped = source.is_untyped();
        let mut text = TableWriter::new(&mut self.markdown, plan, extent);
        let mut filler = merges.filler(plan.area);
        let (mut index, head, limits) = (0, (plan.titles + plan.header_rows) as u64, self.limits);
        source.visit(plan.area.top, plan.area.bottom, &mut |row| {
            let Some(row) = filler.fill(row) else {
                return Ok(true);
            };
            text.add(&row);
            if let Some(inserter) = inserter.as_mut().filter(|_| index >= head) {
                inserter.add(&row, columns, untyped)?;
            }
            index += 1;
            if index.is_multiple_of(ROWS_PER_CHECK) {
                limits.check_time()?;
            }
            Ok(inserter.is_some() || text.left_out == 0)
        })?;
        let left_out = plan.rows.saturating_sub(index) + text.left_out;
        drop(inserter);
        self.end_table(name, left_out, plan.columns.len() - columns.len());
        Ok(())
    }

    /// Says what of a table is only in one of the two.
    fn end_table(&mut self, name: &str, rows_left_out: u64, columns_left_out: usize) {
        let name = super::markdown::escaped(name);
        let (rows, are) = if rows_left_out == 1 {
            ("row", "is")
        } else {
            ("rows", "are")
        };
        if rows_left_out > 0 && self.database.is_some() {
            self.markdown.push_str(&format!(
                "\n*{rows_left_out} more {rows} of this table {are} only in the database {DATABASE_NAME}, table {name}.*\n"
            ));
        } else if rows_left_out > 0 {
            self.markdown.push_str(&format!(
                "\n*{rows_left_out} more {rows} of this table {are} not shown.*\n"
            ));
        }
        if columns_left_out > 0 && self.database.is_some() {
            self.markdown.push_str(&format!(
                "\n*The last {columns_left_out} columns of this table are not in the database.*\n"
            ));
        }
        self.rows_left_out += rows_left_out;
        self.markdown.push('\n');
    }

    /// The finished document.
    pub(crate) fn finish(self) -> Result<Written> {
        let mut markdown = self.markdown;
        while markdown.ends_with("\n\n") {
            markdown.pop();
        }
        let mut metadata = BTreeMap::new();
        metadata.insert("tables".to_owned(), self.tables.to_string());
        metadata.insert("rows".to_owned(), self.rows.to_string());
        if self.rows_left_out > 0 {
            metadata.insert(
                "rows_not_in_text".to_owned(),
                self.rows_left_out.to_string(),
            );
        }
        let mut blobs = Vec::new();
        if let Some(database) = self.database {
            let bytes = database.finish()?;
            blobs.push(EmbeddedFile {
                name: DATABASE_NAME.to_owned(),
                media_type: DATABASE_MEDIA_TYPE.to_owned(),
                bytes,
            });
        }
        Ok(Written {
            markdown,
            blobs,
            metadata,
        })
    }
}
