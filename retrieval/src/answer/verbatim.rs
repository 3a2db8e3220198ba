//! Code of an answer is that of the sources, word for word. A block of code is held back until it is
//! over; one that stands in a source is shown, one that nearly does is shown as the source has it,
//! any other is shown with a sentence below it that says so.

use tributary_schemas::ask::{Quotation, QuotationKind, Source};

use super::code_reader::fenced_blocks;

/// Share of the lines of a block that must stand in the code of a source for that to replace it.
const NEARLY: f32 = 0.5;
/// Longest block that is held back, in bytes; a longer one is shown as it comes and said to be in
/// no source.
const MAXIMUM_BLOCK_BYTES: usize = 32 * 1024;

/// Code of a source.
struct Known {
    source: u32,
    text: String,
}

/// Holds the code of one answer against its sources.
pub struct VerbatimCode {
    known: Vec<Known>,
    /// What is said below code of no source.
    unknown: String,
    /// Headings after which the answer ends; the rest is left out.
    headings: usize,
    line: String,
    block: Option<Block>,
    /// Whether the beginning of the line was shown already.
    is_line_shown: bool,
    quotations: Vec<Quotation>,
}

struct Block {
    fence: String,
    opening: String,
    code: String,
}

impl VerbatimCode {
    /// For the sources that the model is given. `unknown` is said below code of none of them;
    /// nothing is let through from the heading after the first `headings` on.
    pub fn new(sources: &[Source], unknown: &str, headings: usize) -> Self {
        Self {
            known: sources.iter().flat_map(known).collect(),
            unknown: unknown.to_owned(),
            headings,
            line: String::new(),
            block: None,
            is_line_shown: false,
            quotations: Vec::new(),
        }
    }

    /// Takes a piece of the answer, however it is cut; gives what may be shown.
    pub fn push(&mut self, piece: &str) -> String {
        let mut shown = String::new();
        for part in piece.split_inclusive('\n') {
            self.line.push_str(part);
            if part.ends_with('\n') {
                let line = std::mem::take(&mut self.line);
                self.whole_line(&line, &mut shown);
                self.is_line_shown = false;
            } else if self.block.is_none() && !may_matter(&self.line, self.is_line_shown) {
                if !self.is_over() {
                    shown.push_str(&self.line);
                }
                self.line.clear();
                self.is_line_shown = true;
            }
        }
        shown
    }

    /// The answer is over.
    pub fn finish(&mut self) -> String {
        let mut shown = String::new();
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.whole_line(&line, &mut shown);
        }
        if let Some(block) = self.block.take() {
            let fence = block.fence.clone();
            self.close(block, &format!("\n{fence}\n"), &mut shown);
        }
        shown
    }

    /// What was quoted so far.
    pub fn quotations(&self) -> &[Quotation] {
        &self.quotations
    }

    fn is_over(&self) -> bool {
        self.headings == 0
    }

    fn whole_line(&mut self, line: &str, shown: &mut String) {
        match self.block.take() {
            Some(block) if is_fence(line, &block.fence) => self.close(block, line, shown),
            Some(mut block) => {
                block.code.push_str(line);
                if block.code.len() > MAXIMUM_BLOCK_BYTES {
                    let end = format!("\n{}\n", block.fence);
                    self.close(block, &end, shown);
                } else {
                    self.block = Some(block);
                }
            }
            None if self.is_line_shown => self.show(line, shown),
            None => self.text_line(line, shown),
        }
    }

    fn text_line(&mut self, line: &str, shown: &mut String) {
        if let Some(fence) = opening_fence(line) {
            self.block = Some(Block {
                fence,
                opening: line.to_owned(),
                code: String::new(),
            });
            return;
        }
        if is_heading(line) && self.headings > 0 && self.headings < usize::MAX {
            self.headings -= 1;
        }
        self.show(line, shown);
    }

    fn show(&self, line: &str, shown: &mut String) {
        if !self.is_over() {
            shown.push_str(line);
        }
    }

    fn close(&mut self, block: Block, closing: &str, shown: &mut String) {
        if self.is_over() {
            return;
        }
        let (code, quotation) = self.checked(&block.code);
        let is_known = quotation.source.is_some();
        self.quotations.push(quotation);
        let mut opening = block.opening;
        if !opening.ends_with('\n') {
            opening.push('\n');
        }
        let end = if code.ends_with('\n') {
            closing.trim_start_matches('\n')
        } else {
            closing
        };
        let gap = if code.ends_with('\n') || end.starts_with('\n') {
            ""
        } else {
            "\n"
        };
        shown.push_str(&format!("{opening}{code}{gap}{end}"));
        if !is_known {
            let gap = if shown.ends_with('\n') { "" } else { "\n" };
            shown.push_str(&format!("{gap}\n{}\n", self.unknown));
        }
    }

    /// The code as it is shown.
    fn checked(&self, code: &str) -> (String, Quotation) {
        let quotation = |source, replaced| Quotation {
            kind: QuotationKind::Code,
            source,
            replaced,
        };
        let wanted = lines(code);
        let has_all = |known: &&Known| lines(&known.text).join("\n").contains(&wanted.join("\n"));
        if let Some(known) = self.known.iter().find(has_all) {
            return (code.to_owned(), quotation(Some(known.source), false));
        }
        let share = |known: &Known| shared(&wanted, &lines(&known.text));
        let best = self
            .known
            .iter()
            .map(|known| (share(known), known))
            .max_by(|(left, _), (right, _)| left.total_cmp(right));
        match best {
            Some((share, known)) if share >= NEARLY => {
                (known.text.clone(), quotation(Some(known.source), true))
            }
            _ => (code.to_owned(), quotation(None, false)),
        }
    }
}

/// Blocks of code of a source, or all of it where it is code.
fn known(source: &Source) -> Vec<Known> {
    let known = |text: &str| Known {
        source: source.number,
        text: text.to_owned(),
    };
    if source.language.is_some() {
        return vec![known(&source.text)];
    }
    let blocks = fenced_blocks(&source.text).into_iter();
    let blocks = blocks.filter_map(|block| source.text.get(block));
    blocks
        .map(|block| {
            let inner: Vec<&str> = block.lines().skip(1).collect();
            let end = match inner.last() {
                Some(last) if opening_fence(last).is_some() => inner.len() - 1,
                _ => inner.len(),
            };
            known(&inner.get(..end).unwrap_or_default().join("\n"))
        })
        .filter(|known| !known.text.trim().is_empty())
        .collect()
}

/// Lines that hold something, without spaces behind them.
fn lines(code: &str) -> Vec<&str> {
    let lines = code.lines().map(str::trim_end);
    lines.filter(|line| !line.is_empty()).collect()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a block of code has far fewer than 2^24 lines"
)]
fn shared(wanted: &[&str], known: &[&str]) -> f32 {
    let stands = |line: &&&str| known.iter().any(|other| other.trim() == line.trim());
    let count = wanted.iter().filter(stands).count();
    count as f32 / wanted.len().max(1) as f32
}

/// Whether the beginning of a line may be that of a fence or of a heading.
fn may_matter(line: &str, is_shown: bool) -> bool {
    let text = line.trim_start();
    !is_shown && (text.is_empty() || text.starts_with(['`', '~', '#']))
}

fn opening_fence(line: &str) -> Option<String> {
    let text = line.trim();
    let sign = text.chars().next().filter(|sign| "`~".contains(*sign))?;
    let length = text.chars().take_while(|one| *one == sign).count();
    let rest = text.get(length..)?;
    (length >= 3 && !rest.contains(sign)).then(|| sign.to_string().repeat(length))
}

fn is_fence(line: &str, fence: &str) -> bool {
    let text = line.trim();
    let sign = fence.chars().next();
    text.len() >= fence.len() && text.chars().all(|one| Some(one) == sign)
}

/// Whether a line of Markdown is a heading.
pub fn is_heading(line: &str) -> bool {
    let text = line.trim_start_matches('#');
    let depth = line.len() - text.len();
    (1..=6).contains(&depth) && text.starts_with(' ')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::tests::source;

    const UNKNOWN: &str = "(no source)";

    fn sources() -> [Source; 1] {
        [source(
            3,
            "Set it:\n\n```python\nimport mindspore as ms\nms.set_context(mode=ms.GRAPH_MODE)\n```\n",
        )]
    }

    fn checked(answer: &str, headings: usize, step: usize) -> (String, Vec<Quotation>) {
        let mut code = VerbatimCode::new(&sources(), UNKNOWN, headings);
        let signs: Vec<char> = answer.chars().collect();
        let mut shown = String::new();
        for piece in signs.chunks(step) {
            shown.push_str(&code.push(&piece.iter().collect::<String>()));
        }
        shown.push_str(&code.finish());
        (shown, code.quotations().to_vec())
    }

    #[test]
    fn code_is_that_of_a_source_however_the_answer_is_cut() {
        let right =
            "## A\n\nDo this [3]:\n\n```python\nms.set_context(mode=ms.GRAPH_MODE)\n```\nDone.";
        let changed = "```python\nimport mindspore as ms\nms.set_context(mode=1)\n```\n";
        let own = "```\nrm -rf /\n```\nend";
        for step in [1, 2, 7, 1000] {
            let (shown, quoted) = checked(right, usize::MAX, step);
            assert_eq!(shown, right, "{step}");
            assert_eq!((quoted[0].source, quoted[0].replaced), (Some(3), false));
            let (shown, quoted) = checked(changed, usize::MAX, step);
            assert!(
                shown.contains("mode=ms.GRAPH_MODE") && !shown.contains("mode=1"),
                "{shown}"
            );
            assert_eq!((quoted[0].source, quoted[0].replaced), (Some(3), true));
            let (shown, quoted) = checked(own, usize::MAX, step);
            assert_eq!(shown, "```\nrm -rf /\n```\n\n(no source)\nend");
            assert_eq!(quoted[0].source, None);
        }
    }

    #[test]
    fn an_open_block_is_closed_and_what_stands_below_too_many_headings_is_left_out() {
        let (shown, quoted) = checked(
            "```python\nms.set_context(mode=ms.GRAPH_MODE)",
            usize::MAX,
            3,
        );
        assert_eq!(
            shown,
            "```python\nms.set_context(mode=ms.GRAPH_MODE)\n```\n"
        );
        assert_eq!(quoted.len(), 1);
        let (shown, _) = checked(
            "## Analysis\nIt is.\n## Solution\nMore\n```\nx\n```\n",
            2,
            4,
        );
        assert_eq!(shown, "## Analysis\nIt is.\n");
        let (shown, _) = checked("It is.\n# no heading`s\n", usize::MAX, 4);
        assert_eq!(shown, "It is.\n# no heading`s\n");
    }
}
