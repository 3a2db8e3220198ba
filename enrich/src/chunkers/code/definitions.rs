//! Finds the definitions of a file: by its tree, and for C by its brackets too.

use std::ops::{ControlFlow, Range};

use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

use super::c_calls;
use super::c_functions;
use super::compact::Compact;
use super::languages::Language;
use super::macros::Macro;
use super::preprocessor;
use super::walk::{Walk, walk};

/// Larger files are cut by lines.
const LARGEST: usize = 1 << 20;

/// What a candidate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Function,
    Type,
    Macro,
    /// Gives its name to what is in it, and is no definition.
    Scope,
}

/// What may be a definition.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub what: What,
    pub name: String,
    /// Without the comment above it.
    pub range: Range<usize>,
    /// Where its body begins; its end if it has none.
    pub body: usize,
    /// A text in its body that describes it.
    pub doc: Option<Range<usize>>,
}

impl Candidate {
    pub fn new(what: What, name: String, range: Range<usize>, body: usize) -> Self {
        Self {
            what,
            name,
            range,
            body,
            doc: None,
        }
    }

    fn of_macro(found: Macro) -> Self {
        Self::new(What::Macro, found.name, found.range, found.body)
    }
}

/// A comment, or an attribute above a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub range: Range<usize>,
    pub is_comment: bool,
}

/// The name of something that is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub name: Range<usize>,
}

/// What is found in a file, in document order. Candidates are whole in each other or apart.
#[derive(Default)]
pub(super) struct Findings {
    pub candidates: Vec<Candidate>,
    pub spans: Vec<Span>,
    pub calls: Vec<Call>,
    /// What the file says about itself at its top, other than in a comment.
    pub doc: Option<Range<usize>>,
    /// The file without comments and directives, where they are taken out.
    pub masked: Option<String>,
}

/// Reads a file. A file that the parser does not get through has no tree, and of C its functions
/// alone.
pub(super) fn find(code: &str, language: Language) -> Findings {
    if code.len() > LARGEST {
        return Findings::default();
    }
    if !language.has_preprocessor() {
        let walked = parse(code.as_bytes(), language).map(|tree| walk(&tree, code, language));
        return findings(walked.unwrap_or_default());
    }
    find_prepared(code, language)
}

/// Reads a file of C or C++.
fn find_prepared(code: &str, language: Language) -> Findings {
    let prepared = preprocessor::prepare(code);
    let masked = String::from_utf8(prepared.masked.clone()).ok();
    let (functions, mut calls) = match language {
        Language::C => {
            let functions = c_functions::functions(&prepared);
            let bodies = functions.iter().map(|one| one.body..one.range.end);
            let calls = bodies.flat_map(|body| c_calls::of(&prepared.masked, body));
            let calls = calls.collect();
            (functions, calls)
        }
        _ => (Vec::new(), Vec::new()),
    };
    let macros = &prepared.macros;
    let in_macros = macros.iter().map(|one| one.body..one.range.end);
    calls.extend(in_macros.flat_map(|body| c_calls::of(code.as_bytes(), body)));
    // The grammar is slow and easily lost in bodies that are known already.
    let mut rest = prepared.masked;
    for function in &functions {
        preprocessor::blank(&mut rest, function.body + 1..function.range.end - 1);
    }
    let compact = Compact::new(&String::from_utf8(rest).ok().unwrap_or_default());
    let tree = parse(compact.text.as_bytes(), language);
    let walked = tree.map(|tree| walk(&tree, &compact.text, language));
    let mut found = findings(walked.unwrap_or_default().moved(&compact));
    found.calls.retain(|call| !is_in(&functions, &call.name));
    found.calls.extend(calls);
    found
        .candidates
        .retain(|one| !is_in(&functions, &one.range));
    found.candidates.extend(functions);
    found
        .candidates
        .extend(prepared.macros.into_iter().map(Candidate::of_macro));
    found.candidates = nested(found.candidates);
    let comments = prepared.comments.into_iter();
    let spans = comments.map(|range| Span {
        range,
        is_comment: true,
    });
    found.spans = spans.collect();
    found.masked = masked;
    found
}

fn findings(walk: Walk) -> Findings {
    Findings {
        candidates: nested(walk.candidates),
        spans: walk.spans,
        calls: walk.calls,
        doc: walk.doc,
        masked: None,
    }
}

/// The tree of a file; `None` if the parser needs far more steps than a file of this length should,
/// counted and not timed, so that the same file always gives the same.
fn parse(text: &[u8], language: Language) -> Option<Tree> {
    /// The parser asks after this many of its own steps; a token is some four of them.
    const STEPS: usize = 100;
    let budget = 10_000 + text.len() * 8 / STEPS;
    let mut asked = 0;
    let mut goes_on = |_: &ParseState| {
        asked += 1;
        match asked > budget {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let mut parser = Parser::new();
    parser.set_language(&language.grammar()).ok()?;
    let options = ParseOptions::new().progress_callback(&mut goes_on);
    let mut read = |at: usize, _| text.get(at..).unwrap_or_default();
    parser.parse_with_options(&mut read, None, Some(options))
}

/// Whether a range overlaps one of the functions.
fn is_in(functions: &[Candidate], range: &Range<usize>) -> bool {
    let at = functions.partition_point(|function| function.range.end <= range.start);
    let next = functions.get(at);
    next.is_some_and(|function| function.range.start < range.end)
}

/// Leaves out what is in a function or macro, or partly in something else.
fn nested(mut all: Vec<Candidate>) -> Vec<Candidate> {
    all.sort_by_key(|one| (one.range.start, std::cmp::Reverse(one.range.end)));
    // What is open, with its end.
    let mut open: Vec<(What, usize)> = Vec::new();
    all.retain(|one| {
        while open.last().is_some_and(|(_, end)| *end <= one.range.start) {
            open.pop();
        }
        let fits = open.last().is_none_or(|(what, end)| {
            one.range.end <= *end && matches!(what, What::Type | What::Scope)
        });
        if fits {
            open.push((one.what, one.range.end));
        }
        fits && one.range.start < one.range.end
    });
    all
}
