//! Office Math (OMML) to LaTeX: the elements `m:oMath` and `m:oMathPara` of all office formats;
//! element names and defaults are those of ECMA-376 part 1, section 22.1.

use tributary_schemas::Result;

use super::omml_run::{Latex, run};
use super::omml_symbols::{accent, delimiter, function_name, group_character, operator, symbol};
use super::xml::{Element, XmlReader};

/// The formula in the element that was entered last (`oMath`), whose end is read.
pub(crate) fn formula(xml: &mut XmlReader) -> Result<String> {
    let mut latex = Latex::default();
    content(xml, &mut latex)?;
    Ok(latex.finish())
}

/// The formulas of a paragraph of formulas (`oMathPara`), one an item.
pub(crate) fn formulas(xml: &mut XmlReader) -> Result<Vec<String>> {
    let mut found = Vec::new();
    while let Some(element) = xml.child()? {
        match element.name() {
            "oMath" => found.push(formula(xml)?),
            "oMathParaPr" => xml.skip()?,
            _ => found.extend(formulas(xml)?),
        }
    }
    found.retain(|latex| !latex.is_empty());
    Ok(found)
}

/// Appends the children of the element that was entered last.
fn content(xml: &mut XmlReader, latex: &mut Latex) -> Result<()> {
    while let Some(element) = xml.child()? {
        child(&element, xml, latex)?;
    }
    Ok(())
}

fn child(element: &Element, xml: &mut XmlReader, latex: &mut Latex) -> Result<()> {
    let name = element.name();
    let piece = match name {
        "r" => run(xml)?,
        "f" => fraction(xml)?,
        "rad" => radical(xml)?,
        "nary" => nary(xml)?,
        "sSub" | "sSup" | "sSubSup" | "sPre" => script(name, xml)?,
        "d" => delimited(xml)?,
        "acc" => accented(xml)?,
        "bar" => barred(xml)?,
        "groupChr" => grouped(xml)?,
        "func" => function(xml)?,
        "limLow" | "limUpp" => limit(name, xml)?,
        "m" => matrix(xml)?,
        "eqArr" => equations(xml)?,
        "borderBox" => format!("\\boxed{{{}}}", Parts::read(xml)?.base()),
        "phant" => phantom(xml)?,
        "del" | "moveFrom" | "rPr" | "ctrlPr" | "argPr" | "sdtPr" | "annotation" => {
            return xml.skip();
        }
        name if name.ends_with("Pr") => return xml.skip(),
        // Boxes, insertions, content controls and whatever else wraps formulas.
        _ => return content(xml, latex),
    };
    latex.push(&piece);
    Ok(())
}

/// The properties and arguments of a math object.
#[derive(Default)]
struct Parts {
    properties: Vec<(String, Option<String>)>,
    arguments: Vec<(String, String)>,
}

impl Parts {
    fn read(xml: &mut XmlReader) -> Result<Self> {
        let mut parts = Self::default();
        while let Some(element) = xml.child()? {
            let name = element.name().to_owned();
            if name.ends_with("Pr") {
                parts.read_properties(xml)?;
            } else if matches!(
                name.as_str(),
                "e" | "num" | "den" | "deg" | "sub" | "sup" | "fName" | "lim"
            ) {
                parts.arguments.push((name, formula(xml)?));
            } else {
                xml.skip()?;
            }
        }
        Ok(parts)
    }

    fn read_properties(&mut self, xml: &mut XmlReader) -> Result<()> {
        while let Some(element) = xml.child()? {
            self.properties.push((
                element.name().to_owned(),
                element.value().map(|value| value.into_owned()),
            ));
            xml.skip()?;
        }
        Ok(())
    }

    /// Value of a property; `Some("")` where it is there without one.
    fn property(&self, name: &str) -> Option<&str> {
        let (_, value) = self.properties.iter().find(|(known, _)| known == name)?;
        Some(value.as_deref().unwrap_or_default())
    }

    fn is_on(&self, name: &str) -> bool {
        self.property(name)
            .is_some_and(|value| !matches!(value, "0" | "off" | "false"))
    }

    /// The property as a character, `usual` where it is not given.
    fn character(&self, name: &str, usual: char) -> Option<char> {
        match self.property(name) {
            Some(value) => value.chars().next(),
            None => Some(usual),
        }
    }

    fn argument(&self, name: &str) -> &str {
        self.arguments
            .iter()
            .find(|(known, _)| known == name)
            .map_or("", |(_, latex)| latex)
    }

    fn base(&self) -> &str {
        self.argument("e")
    }
}

fn fraction(xml: &mut XmlReader) -> Result<String> {
    let parts = Parts::read(xml)?;
    let (above, below) = (parts.argument("num"), parts.argument("den"));
    Ok(match parts.property("type") {
        Some("lin") => format!("{above}/{below}"),
        Some("skw") => format!("{{}}^{{{above}}}/_{{{below}}}"),
        Some("noBar") => format!("\\genfrac{{}}{{}}{{0pt}}{{}}{{{above}}}{{{below}}}"),
        _ => format!("\\frac{{{above}}}{{{below}}}"),
    })
}

fn radical(xml: &mut XmlReader) -> Result<String> {
    let parts = Parts::read(xml)?;
    let degree = parts.argument("deg");
    if parts.is_on("degHide") || degree.is_empty() {
        return Ok(format!("\\sqrt{{{}}}", parts.base()));
    }
    Ok(format!("\\sqrt[{degree}]{{{}}}", parts.base()))
}

fn nary(xml: &mut XmlReader) -> Result<String> {
    let parts = Parts::read(xml)?;
    let character = parts.character("chr", '∫').unwrap_or('∫');
    let mut latex = operator(character).map_or_else(|| symbol(character), str::to_owned);
    let is_integral = latex.contains("int");
    let limits = nary_limits(&parts);
    if parts.property("limLoc") == Some("undOvr") && is_integral && !limits.is_empty() {
        latex.push_str("\\limits");
    }
    latex.push_str(&limits);
    let mut latex = Latex { out: latex };
    let base = parts.base();
    if !base.is_empty() {
        latex.out.push(' ');
    }
    latex.push(base);
    Ok(latex.out)
}

fn nary_limits(parts: &Parts) -> String {
    let mut limits = String::new();
    for (name, mark, hide) in [("sub", '_', "subHide"), ("sup", '^', "supHide")] {
        let argument = parts.argument(name);
        if !argument.is_empty() && !parts.is_on(hide) {
            limits.push_str(&format!("{mark}{{{argument}}}"));
        }
    }
    limits
}

fn script(kind: &str, xml: &mut XmlReader) -> Result<String> {
    let parts = Parts::read(xml)?;
    let (sub, sup) = (parts.argument("sub"), parts.argument("sup"));
    let base = scripted_base(parts.base());
    Ok(match kind {
        "sSub" => format!("{base}_{{{sub}}}"),
        "sSup" => format!("{base}^{{{sup}}}"),
        "sSubSup" => format!("{base}_{{{sub}}}^{{{sup}}}"),
        _ => format!("{{}}_{{{sub}}}^{{{sup}}}{}", braced(parts.base())),
    })
}

/// The base of a script: in braces unless it is one character or one command with all its
/// arguments.
fn scripted_base(base: &str) -> String {
    if function_name(base.trim_start_matches('\\')).is_some() {
        return base.to_owned();
    }
    braced(base)
}

fn braced(base: &str) -> String {
    if is_one_delimited(base) || is_one_styled(base) {
        return base.to_owned();
    }
    let is_command = base.strip_prefix('\\').is_some_and(|name| {
        name.chars()
            .all(|character| character.is_ascii_alphabetic())
    });
    if base.chars().count() == 1 || is_command {
        base.to_owned()
    } else {
        format!("{{{base}}}")
    }
}

/// Whether the text is one group in an alphabet or under an accent.
fn is_one_styled(base: &str) -> bool {
    let Some((command, group)) = base.split_once('{') else {
        return false;
    };
    let alphabets = [
        "\\mathbf",
        "\\mathbb",
        "\\mathcal",
        "\\mathfrak",
        "\\mathrm",
        "\\mathsf",
        "\\mathtt",
        "\\boldsymbol",
        "\\text",
    ];
    let accents = [
        "\\hat",
        "\\bar",
        "\\vec",
        "\\tilde",
        "\\dot",
        "\\ddot",
        "\\overline",
        "\\widehat",
        "\\widetilde",
        "\\overrightarrow",
    ];
    (alphabets.contains(&command) || accents.contains(&command))
        && is_groups(&format!("{{{group}"), 1)
}

/// Whether the text is one pair of delimiters with what is between them.
fn is_one_delimited(base: &str) -> bool {
    let Some((before, last)) = base.rsplit_once("\\right") else {
        return false;
    };
    let is_end = matches!(last.chars().count(), 1)
        || (last.starts_with('\\')
            && last
                .chars()
                .skip(1)
                .all(|letter| letter.is_ascii_alphabetic() || letter == '}'));
    is_end
        && before.starts_with("\\left")
        && before.matches("\\left").count() == 1
        && !before.contains("\\right")
}

fn delimited(xml: &mut XmlReader) -> Result<String> {
    let parts = Parts::read(xml)?;
    let begin = delimiter(parts.character("begChr", '('));
    let end = delimiter(parts.character("endChr", ')'));
    let separator = separator(parts.character("sepChr", '|'));
    let arguments: Vec<&str> = parts
        .arguments
        .iter()
        .filter(|(name, _)| name == "e")
        .map(|(_, latex)| latex.as_str())
        .collect();
    let inside = arguments.join(&separator);
    if let Some(pair) = inside
        .strip_prefix("\\genfrac{}{}{0pt}{}")
        .filter(|_| (begin.as_str(), end.as_str()) == ("(", ")"))
        && is_groups(pair, 2)
    {
        return Ok(format!("\\binom{pair}"));
    }
    let gap = gap_behind(&begin);
    Ok(format!("\\left{begin}{gap}{inside}\\right{end}"))
}

/// What parts the arguments between delimiters.
fn separator(character: Option<char>) -> String {
    match character {
        Some('|' | '│') => " \\middle| ".to_owned(),
        Some(character) => symbol(character),
        None => String::new(),
    }
}

/// A blank where the delimiter is a command that letters would run into.
fn gap_behind(delimiter: &str) -> &'static str {
    if delimiter.ends_with(|last: char| last.is_ascii_alphabetic()) {
        " "
    } else {
        ""
    }
}

/// Whether the text is that many groups in braces and nothing else.
fn is_groups(text: &str, wanted: usize) -> bool {
    let (mut open, mut groups) = (0_usize, 0);
    for character in text.chars() {
        match character {
            '{' => open += 1,
            '}' => {
                open = open.saturating_sub(1);
                groups += usize::from(open == 0);
            }
            _ if open == 0 => return false,
            _ => {}
        }
    }
    groups == wanted && open == 0
}

fn accented(xml: &mut XmlReader) -> Result<String> {
    let parts = Parts::read(xml)?;
    let character = parts.character("chr", '\u{302}').unwrap_or('\u{302}');
    let base = parts.base();
    let command = accent(character).unwrap_or("\\hat");
    let wide = match command {
        "\\hat" => "\\widehat",
        "\\tilde" => "\\widetilde",
        "\\bar" => "\\overline",
        "\\vec" => "\\overrightarrow",
        command => command,
    };
    let is_long = base
        .chars()
        .filter(|character| character.is_alphanumeric())
        .count()
        > 1
        && !base.starts_with('\\');
    Ok(format!(
        "{}{{{base}}}",
        if is_long { wide } else { command }
    ))
}

fn barred(xml: &mut XmlReader) -> Result<String> {
    let parts = Parts::read(xml)?;
    let command = if parts.property("pos") == Some("top") {
        "\\overline"
    } else {
        "\\underline"
    };
    Ok(format!("{command}{{{}}}", parts.base()))
}

fn grouped(xml: &mut XmlReader) -> Result<String> {
    let parts = Parts::read(xml)?;
    let character = parts.character("chr", '\u{23DF}').unwrap_or('\u{23DF}');
    let is_top = parts.property("pos") == Some("top");
    let base = parts.base();
    if let Some(command) = group_character(character, is_top) {
        return Ok(format!("{command}{{{base}}}"));
    }
    let place = if is_top { "\\overset" } else { "\\underset" };
    Ok(format!("{place}{{{}}}{{{base}}}", symbol(character)))
}

fn function(xml: &mut XmlReader) -> Result<String> {
    let parts = Parts::read(xml)?;
    let name = parts.argument("fName").trim();
    let mut latex = Latex::default();
    latex.push(&function_command(name));
    let base = parts.base();
    if !base.is_empty() && !base.starts_with(['{', '(', '\\']) {
        latex.push(" ");
    }
    latex.push(base);
    Ok(latex.out)
}

/// The name of a function in upright letters.
fn function_command(name: &str) -> String {
    if let Some(command) = function_name(name) {
        return command.to_owned();
    }
    let is_word = name.chars().count() > 1 && name.chars().all(char::is_alphabetic);
    if is_word {
        return format!("\\operatorname{{{name}}}");
    }
    let upright = name
        .strip_prefix("\\mathrm{")
        .or_else(|| name.strip_prefix("\\text{"))
        .and_then(|name| name.strip_suffix('}'));
    upright.map_or_else(
        || name.to_owned(),
        |name| format!("\\operatorname{{{name}}}"),
    )
}

/// A limit below or above: a script for operators and braces, else set beneath or over.
fn limit(kind: &str, xml: &mut XmlReader) -> Result<String> {
    let parts = Parts::read(xml)?;
    let base = parts.base().trim();
    let limit = parts.argument("lim");
    let command = function_name(base).unwrap_or(base);
    let takes_limits = [
        "\\lim", "\\max", "\\min", "\\sup", "\\inf", "\\limsup", "\\liminf", "\\det", "\\gcd",
        "\\Pr",
    ]
    .contains(&command)
        || [
            "\\underbrace",
            "\\overbrace",
            "\\sum",
            "\\prod",
            "\\bigcup",
            "\\bigcap",
            "\\operatorname",
        ]
        .iter()
        .any(|start| command.starts_with(start));
    let is_low = kind == "limLow";
    Ok(match (takes_limits, is_low) {
        (true, true) => format!("{command}_{{{limit}}}"),
        (true, false) => format!("{command}^{{{limit}}}"),
        (false, true) => format!("\\underset{{{limit}}}{{{base}}}"),
        (false, false) => format!("\\overset{{{limit}}}{{{base}}}"),
    })
}

fn matrix(xml: &mut XmlReader) -> Result<String> {
    let mut rows = Vec::new();
    while let Some(element) = xml.child()? {
        if element.name() == "mr" {
            let row = Parts::read(xml)?;
            rows.push(
                row.arguments
                    .into_iter()
                    .map(|(_, latex)| latex)
                    .collect::<Vec<_>>()
                    .join(" & "),
            );
        } else {
            xml.skip()?;
        }
    }
    Ok(format!(
        "\\begin{{matrix}} {} \\end{{matrix}}",
        rows.join(" \\\\ ")
    ))
}

/// Equations below each other; the marks at which they are aligned are in their text.
fn equations(xml: &mut XmlReader) -> Result<String> {
    let parts = Parts::read(xml)?;
    let rows: Vec<&str> = parts
        .arguments
        .iter()
        .map(|(_, latex)| latex.as_str())
        .collect();
    if let [row] = rows.as_slice()
        && !row.contains('&')
    {
        return Ok((*row).to_owned());
    }
    Ok(format!(
        "\\begin{{aligned}} {} \\end{{aligned}}",
        rows.join(" \\\\ ")
    ))
}

/// Room for something that may not be shown.
fn phantom(xml: &mut XmlReader) -> Result<String> {
    let parts = Parts::read(xml)?;
    let is_shown = parts.property("show").is_none()
        || parts.is_on("show")
        || parts.property("show") == Some("");
    let base = parts.base();
    if is_shown {
        return Ok(base.to_owned());
    }
    let command = match (
        parts.is_on("zeroWid"),
        parts.is_on("zeroAsc") && parts.is_on("zeroDesc"),
    ) {
        (true, _) => "\\vphantom",
        (_, true) => "\\hphantom",
        _ => "\\phantom",
    };
    Ok(format!("{command}{{{base}}}"))
}

#[cfg(test)]
#[path = "omml_tests.rs"]
mod tests;
