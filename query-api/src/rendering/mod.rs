//! Markdown of documents as HTML that a page can show: formulas as MathML, the words of a question
//! marked, and nothing in it that acts. The page gets all markup from here and makes none itself.

mod formulas;
mod markdown;
mod marks;
mod sanitise;

pub use marks::Marks;

/// HTML of a Markdown text, safe to put into a page of this server as it is.
pub fn html(text: &str, marks: &Marks) -> String {
    sanitise::clean(&markdown::html(text, marks))
}
