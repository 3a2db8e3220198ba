//! Charts as tables: title, and one column for each series.

use crate::blanks::collapsed;

use std::collections::BTreeMap;

use tributary_schemas::Result;

use super::xml::{Element, XmlReader};

/// Most rows of a chart's table; the rest is left out.
const MAXIMUM_ROWS: usize = 2000;

/// Most series that are read.
const MAXIMUM_SERIES: usize = 100;

/// A chart's data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Chart {
    /// Its title, empty if it has none.
    pub title: String,
    /// Its series.
    series: Vec<Series>,
}

/// One series; points by their index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Series {
    name: String,
    categories: BTreeMap<u32, String>,
    values: BTreeMap<u32, String>,
}

impl Chart {
    /// Reads a chart part.
    pub(crate) fn read(xml: &mut XmlReader) -> Result<Self> {
        let mut chart = Self::default();
        xml.child()?;
        chart.read_children(xml)?;
        Ok(chart)
    }

    fn read_children(&mut self, xml: &mut XmlReader) -> Result<()> {
        while let Some(element) = xml.child()? {
            match element.name() {
                "title" if self.title.is_empty() && self.series.is_empty() => {
                    self.title = collapsed(&rich_text(xml)?)
                }
                "ser" if self.series.len() < MAXIMUM_SERIES => {
                    let series = Series::read(xml)?;
                    self.series.push(series);
                }
                "chart" | "plotArea" => self.read_children(xml)?,
                name if name.ends_with("Chart") => self.read_children(xml)?,
                _ => xml.skip()?,
            }
        }
        Ok(())
    }

    /// Rows of the table, a header first; none if there is no data.
    pub(crate) fn rows(&self) -> Vec<Vec<String>> {
        let categories = self
            .series
            .iter()
            .map(|series| &series.categories)
            .find(|categories| !categories.is_empty());
        let indexes = self.indexes();
        if indexes.is_empty() {
            return Vec::new();
        }
        let header = std::iter::once(String::new())
            .chain(self.series.iter().map(|series| series.name.clone()))
            .collect();
        let body = indexes
            .into_iter()
            .take(MAXIMUM_ROWS)
            .map(|index| self.row(index, categories));
        std::iter::once(header).chain(body).collect()
    }

    /// The places at which there is a value or a category, in order.
    fn indexes(&self) -> Vec<u32> {
        let mut indexes: Vec<u32> = self
            .series
            .iter()
            .flat_map(|series| series.values.keys().chain(series.categories.keys()))
            .copied()
            .collect();
        indexes.sort_unstable();
        indexes.dedup();
        indexes
    }

    /// The category of a place and the value of each series there.
    fn row(&self, index: u32, categories: Option<&BTreeMap<u32, String>>) -> Vec<String> {
        let category = categories
            .and_then(|categories| categories.get(&index))
            .cloned()
            .unwrap_or_default();
        let values = self
            .series
            .iter()
            .map(|series| series.values.get(&index).cloned().unwrap_or_default());
        std::iter::once(category).chain(values).collect()
    }
}

impl Series {
    fn read(xml: &mut XmlReader) -> Result<Self> {
        let mut series = Self::default();
        while let Some(element) = xml.child()? {
            match element.name() {
                "tx" => series.name = points(xml)?.into_values().collect::<Vec<_>>().join(" "),
                "cat" | "xVal" => series.categories = points(xml)?,
                "val" | "yVal" => series.values = points(xml)?,
                _ => xml.skip()?,
            }
        }
        Ok(series)
    }
}

/// The cached points in an element.
fn points(xml: &mut XmlReader) -> Result<BTreeMap<u32, String>> {
    let mut points = BTreeMap::new();
    collect_points(xml, 0, &mut points)?;
    Ok(points)
}

fn collect_points(
    xml: &mut XmlReader,
    index: u32,
    points: &mut BTreeMap<u32, String>,
) -> Result<()> {
    while let Some(element) = xml.child()? {
        match element.name() {
            "v" => {
                let value = tidy_number(&collapsed(&xml.text()?));
                points
                    .entry(index)
                    .and_modify(|known: &mut String| known.push_str(&format!(" {value}")))
                    .or_insert(value);
            }
            "pt" => collect_points(xml, point_index(&element), points)?,
            "f" | "formatCode" | "ptCount" | "extLst" => xml.skip()?,
            _ => collect_points(xml, index, points)?,
        }
    }
    Ok(())
}

fn point_index(element: &Element) -> u32 {
    element
        .attribute("idx")
        .and_then(|index| index.parse().ok())
        .unwrap_or(0)
}

/// `0.30000000000000004` and the like as people write them.
fn tidy_number(text: &str) -> String {
    match text.parse::<f64>() {
        Ok(number) if text.len() > 15 && number.is_finite() && number.abs() < 1e15 => {
            let short = format!("{number:.10}");
            short.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        _ => text.to_owned(),
    }
}

/// Text of the paragraphs in an element of drawing text.
fn rich_text(xml: &mut XmlReader) -> Result<String> {
    let mut text = String::new();
    let mut open = 1_usize;
    while open > 0 {
        match xml.next_node()? {
            super::xml::Node::Start(element) if matches!(element.name(), "t" | "v") => {
                text.push_str(&xml.text()?)
            }
            super::xml::Node::Start(element) => {
                if element.name() == "p" {
                    text.push(' ');
                }
                open += 1;
            }
            super::xml::Node::End => open -= 1,
            super::xml::Node::Text(_) => {}
            super::xml::Node::Eof => break,
        }
    }
    Ok(text)
}

/// Texts of the paragraphs of a drawing's data, such as the points of a diagram.
pub(crate) fn paragraphs(xml: &mut XmlReader) -> Result<Vec<String>> {
    let mut paragraphs: Vec<String> = Vec::new();
    loop {
        match xml.next_node()? {
            super::xml::Node::Start(element) if element.name() == "p" => {
                paragraphs.push(collapsed(&rich_text(xml)?))
            }
            super::xml::Node::Eof => break,
            _ => {}
        }
    }
    paragraphs.retain(|text| !text.is_empty());
    Ok(paragraphs)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::config::Config;
    use crate::limits::Limits;

    #[test]
    fn series_become_columns() {
        let text = "<c:chartSpace><c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>Sa</a:t></a:r><a:r><a:t>les</a:t></a:r></a:p></c:rich></c:tx></c:title>
            <c:plotArea><c:barChart><c:ser><c:tx><c:strRef><c:f>B1</c:f><c:strCache><c:pt idx='0'><c:v>North</c:v></c:pt></c:strCache></c:strRef></c:tx>
            <c:cat><c:strRef><c:strCache><c:pt idx='0'><c:v>Q1</c:v></c:pt><c:pt idx='1'><c:v>Q2</c:v></c:pt></c:strCache></c:strRef></c:cat>
            <c:val><c:numRef><c:numCache><c:formatCode>0</c:formatCode><c:pt idx='1'><c:v>0.30000000000000004</c:v></c:pt></c:numCache></c:numRef></c:val>
            </c:ser></c:barChart></c:plotArea></c:chart></c:chartSpace>";
        let config = Config::default();
        let chart = Chart::read(&mut XmlReader::new(
            text,
            "chart",
            Limits::starting_now(&config),
        ))
        .unwrap();
        assert_eq!(chart.title, "Sales");
        assert_eq!(
            chart.rows(),
            vec![vec!["", "North"], vec!["Q1", ""], vec!["Q2", "0.3"]]
        );
    }
}
