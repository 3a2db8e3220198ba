//! Markdown of documents as HTML that a page can show: formulas as MathML, the words of a question
//! marked, and nothing in it that acts. The page gets all markup from here and makes none itself. The
//! same text as a Word document ([`docx`]).

mod bounds;
mod formulas;
mod markdown;
mod marks;
mod sanitise;
mod word;

pub use marks::Marks;
pub use word::docx;

/// A text as it can be shown.
pub struct Shown {
    /// HTML, safe to put into a page of this server as it is.
    pub html: String,
    /// Whether it is the text as it was written, since it asks for more than is rendered.
    pub is_as_written: bool,
}

/// Levels of headings that the page has above a passage.
const PAGE_LEVELS: usize = 2;

/// A Markdown text as HTML for the page, whose headings stand above those of the text.
pub fn show(text: &str, marks: &Marks) -> Shown {
    shown(text, marks, PAGE_LEVELS)
}

/// A Markdown text as HTML that stands by itself.
pub fn show_alone(text: &str) -> Shown {
    shown(text, &Marks::default(), 0)
}

fn shown(text: &str, marks: &Marks, levels_above: usize) -> Shown {
    match markdown::html(text, marks, levels_above) {
        Some(html) => Shown {
            html: sanitise::clean(&html),
            is_as_written: false,
        },
        None => Shown {
            html: as_written(text),
            is_as_written: true,
        },
    }
}

/// Without the characters that XML 1.0 forbids (its production `Char`).
pub fn without_control(text: &str) -> String {
    let is_allowed = |character: &char| match character {
        '\t' | '\n' | '\r' => true,
        '\u{FFFE}' | '\u{FFFF}' => false,
        other => *other >= ' ',
    };
    text.chars().filter(is_allowed).collect()
}

/// It does not pass through what reads HTML: that is what it may cost too much for.
fn as_written(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + text.len() / 4);
    html.push_str("<pre>");
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\0' => html.push(char::REPLACEMENT_CHARACTER),
            other => html.push(other),
        }
    }
    html.push_str("</pre>\n");
    html
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// Texts of about so many bytes, each of one construct.
    fn hostile(bytes: usize) -> Vec<(&'static str, String)> {
        let repeated = |piece: &str| piece.repeat(bytes / piece.len());
        let within = |start: &str, end: &str| {
            let times = bytes / (start.len() + end.len());
            format!("{}a{}", start.repeat(times), end.repeat(times))
        };
        let wide = |cell: &str| cell.repeat(bytes / 8);
        vec![
            ("quotes", repeated("> ")),
            ("tight quotes", repeated(">")),
            ("lists", repeated("- ") + "a"),
            ("numbered lists", repeated("1. - ")),
            ("lists in quotes", repeated("> - ")),
            ("emphasis opened", repeated("*a _b ")),
            ("emphasis within", within("*a **b ", "c** d*")),
            ("strikes", within("~~a ", "b~~ ")),
            ("brackets", within("[", "]")),
            ("links begun", repeated("[a](<b")),
            ("links within", within("[", "](b)")),
            ("pictures within", within("![", "](b)")),
            ("reference definitions", repeated("[a]: b 'c\n")),
            (
                "references",
                format!("[a]: {}\n\n{}", wide("b"), repeated("[a] ")),
            ),
            (
                "short rows",
                format!("{}\n{}\n{}", wide("|a"), wide("|-"), wide("a\n")),
            ),
            ("tables", repeated("|a|\n|-|\n\n")),
            ("code", repeated("`a``")),
            ("formulas", repeated("$a$ ")),
            (
                "deep formulas",
                format!("${}$ ", "{".repeat(1900) + &"}".repeat(1900)).repeat(bytes / 3800),
            ),
            ("elements", repeated("<div>\n")),
            ("elements in a line", format!("a {}", repeated("<span>"))),
            (
                "attributes",
                format!(
                    "<a {}>",
                    (0..bytes / 8)
                        .map(|number| format!("x{number:06} "))
                        .collect::<String>()
                ),
            ),
            ("tags begun", repeated("<a x=\"")),
            ("comments begun", repeated("a <!--")),
            ("characters by name", repeated("&a")),
            ("paragraphs below elements", {
                format!("{}\n\n{}", "<div>\n".repeat(400), repeated("a\n\n"))
            }),
        ]
    }

    fn seconds(text: &str) -> f64 {
        let took = (0..3).map(|_| {
            let started = Instant::now();
            let shown = show(text, &Marks::default());
            assert!(!shown.html.is_empty());
            started.elapsed()
        });
        took.min().unwrap_or(Duration::MAX).as_secs_f64()
    }

    /// Eight times the text may take 24 times as long; what grows with the square takes 64
    /// times as long. What is over within the grace is not measured: it is mostly noise.
    #[test]
    fn no_text_takes_longer_than_its_length_says() {
        const GRACE_SECONDS: f64 = 0.02;
        for ((name, short), (_, long)) in hostile(25_000).iter().zip(hostile(200_000)) {
            let (short, long) = (seconds(short), seconds(&long));
            let ratio = long / short.max(GRACE_SECONDS);
            assert!(
                ratio < 24.0,
                "{name}: {short:.3} s, eight times as long {long:.3} s"
            );
        }
    }

    #[test]
    fn a_text_over_a_bound_is_shown_as_it_was_written() {
        let text = format!("{}<b>x</b> & \"y\"", "> ".repeat(20_000));
        let shown = show(&text, &Marks::default());
        assert!(shown.is_as_written);
        let end = "&gt; &lt;b&gt;x&lt;/b&gt; &amp; &quot;y&quot;</pre>\n";
        assert!(shown.html.starts_with("<pre>&gt; ") && shown.html.ends_with(end));
        let deep = show(&("> ".repeat(40) + "a"), &Marks::default());
        assert!(!deep.is_as_written && deep.html.contains("<blockquote>"));
    }
}
