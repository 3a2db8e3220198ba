//! MathML to LaTeX, for formulas that do not carry their TeX source. Recursion is bounded by the
//! depth of the tree.

use scraper::{ElementRef, Node};

use super::Tree;

/// Accents above: character, command.
const OVER: [(&str, &str); 14] = [
    ("^", "hat"),
    ("ˆ", "hat"),
    ("~", "tilde"),
    ("˜", "tilde"),
    ("¯", "bar"),
    ("‾", "overline"),
    ("→", "vec"),
    ("⃗", "vec"),
    ("˙", "dot"),
    (".", "dot"),
    ("¨", "ddot"),
    ("ˇ", "check"),
    ("⏞", "overbrace"),
    ("_", "overline"),
];

/// Functions that are set upright.
const FUNCTIONS: [&str; 30] = [
    "sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh",
    "exp", "log", "ln", "lg", "lim", "max", "min", "sup", "inf", "det", "dim", "gcd", "arg", "deg",
    "ker", "Pr", "limsup", "liminf",
];

/// Characters that LaTeX writes as commands; the others stay as they are.
const SYMBOLS: [(char, &str); 103] = [
    ('α', "alpha"),
    ('β', "beta"),
    ('γ', "gamma"),
    ('δ', "delta"),
    ('ε', "varepsilon"),
    ('ϵ', "epsilon"),
    ('ζ', "zeta"),
    ('η', "eta"),
    ('θ', "theta"),
    ('ϑ', "vartheta"),
    ('ι', "iota"),
    ('κ', "kappa"),
    ('λ', "lambda"),
    ('μ', "mu"),
    ('ν', "nu"),
    ('ξ', "xi"),
    ('π', "pi"),
    ('ρ', "rho"),
    ('σ', "sigma"),
    ('ς', "varsigma"),
    ('τ', "tau"),
    ('υ', "upsilon"),
    ('φ', "varphi"),
    ('ϕ', "phi"),
    ('χ', "chi"),
    ('ψ', "psi"),
    ('ω', "omega"),
    ('Γ', "Gamma"),
    ('Δ', "Delta"),
    ('Θ', "Theta"),
    ('Λ', "Lambda"),
    ('Ξ', "Xi"),
    ('Π', "Pi"),
    ('Σ', "Sigma"),
    ('Φ', "Phi"),
    ('Ψ', "Psi"),
    ('Ω', "Omega"),
    ('×', "times"),
    ('÷', "div"),
    ('±', "pm"),
    ('∓', "mp"),
    ('·', "cdot"),
    ('⋅', "cdot"),
    ('∗', "ast"),
    ('∘', "circ"),
    ('≤', "leq"),
    ('≥', "geq"),
    ('≠', "neq"),
    ('≈', "approx"),
    ('≡', "equiv"),
    ('∼', "sim"),
    ('≃', "simeq"),
    ('≅', "cong"),
    ('∝', "propto"),
    ('≪', "ll"),
    ('≫', "gg"),
    ('∞', "infty"),
    ('∂', "partial"),
    ('∇', "nabla"),
    ('∑', "sum"),
    ('∏', "prod"),
    ('∫', "int"),
    ('∬', "iint"),
    ('∭', "iiint"),
    ('∮', "oint"),
    ('√', "surd"),
    ('∈', "in"),
    ('∉', "notin"),
    ('∋', "ni"),
    ('⊂', "subset"),
    ('⊆', "subseteq"),
    ('⊃', "supset"),
    ('⊇', "supseteq"),
    ('∪', "cup"),
    ('∩', "cap"),
    ('∅', "emptyset"),
    ('∀', "forall"),
    ('∃', "exists"),
    ('¬', "neg"),
    ('∧', "wedge"),
    ('∨', "vee"),
    ('⊕', "oplus"),
    ('⊗', "otimes"),
    ('⊥', "perp"),
    ('∥', "parallel"),
    ('∠', "angle"),
    ('→', "to"),
    ('←', "leftarrow"),
    ('↔', "leftrightarrow"),
    ('⇒', "Rightarrow"),
    ('⇐', "Leftarrow"),
    ('⇔', "Leftrightarrow"),
    ('↦', "mapsto"),
    ('…', "ldots"),
    ('⋯', "cdots"),
    ('⋮', "vdots"),
    ('⋱', "ddots"),
    ('ℏ', "hbar"),
    ('ℓ', "ell"),
    ('⟨', "langle"),
    ('⟩', "rangle"),
    ('∖', "setminus"),
    ('′', "prime"),
];

/// The LaTeX of a `<math>` element, without dollar signs.
pub(super) fn latex(math: Tree) -> String {
    let mut out = String::new();
    children(math, &mut out);
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn children(node: Tree, out: &mut String) {
    for child in node.children() {
        element(child, out);
    }
}

/// The LaTeX of one node.
fn of(node: Option<&Tree>) -> String {
    let mut out = String::new();
    if let Some(node) = node {
        element(*node, &mut out);
    }
    out.trim().to_owned()
}

fn parts(node: Tree<'_>) -> Vec<Tree<'_>> {
    node.children()
        .filter(|child| child.value().is_element())
        .collect()
}

fn element(node: Tree, out: &mut String) {
    let Some(element) = ElementRef::wrap(node) else {
        if let Node::Text(text) = node.value() {
            out.push_str(text.text.trim());
        }
        return;
    };
    let parts = parts(node);
    match element.value().name() {
        "mi" => identifier(&text_of(node), out),
        "mn" => symbols(&text_of(node), out),
        "mo" => operator(&text_of(node), out),
        "mtext" | "ms" => text(&text_of(node), out),
        "mspace" => out.push(' '),
        "msqrt" => {
            let mut inner = String::new();
            children(node, &mut inner);
            out.push_str(&format!("\\sqrt{{{}}}", inner.trim()));
        }
        "mfenced" => fenced(&element, &parts, out),
        "mtable" => table(&parts, out),
        "mphantom" | "annotation" | "annotation-xml" | "maligngroup" | "malignmark" | "none"
        | "mprescripts" => {}
        "semantics" => out.push_str(&of(parts.first())),
        _ if of_parts(&element, &parts, out) => {}
        _ => children(node, out),
    }
}

/// Elements whose parts have places of their own: scripts, fractions, roots; whether it is one.
fn of_parts(element: &ElementRef<'_>, parts: &[Tree<'_>], out: &mut String) -> bool {
    let part = |index: usize| of(parts.get(index));
    let scripts = || format!("{}_{{{}}}^{{{}}}", base(&part(0)), part(1), part(2));
    let has_no_bar = || {
        let width = element.attr("linethickness");
        matches!(width, Some("0" | "0px" | "0pt"))
    };
    match element.value().name() {
        "msup" => out.push_str(&format!("{}^{{{}}}", base(&part(0)), part(1))),
        "msub" => out.push_str(&format!("{}_{{{}}}", base(&part(0)), part(1))),
        "msubsup" | "munderover" => out.push_str(&scripts()),
        "mmultiscripts" => out.push_str(&scripts().replace("_{}", "").replace("^{}", "")),
        "munder" => under(&part(0), &part(1), out),
        "mover" => over(&part(0), &part(1), out),
        "mfrac" if has_no_bar() => {
            out.push_str(&format!("\\binom{{{}}}{{{}}}", part(0), part(1)));
        }
        "mfrac" => out.push_str(&format!("\\frac{{{}}}{{{}}}", part(0), part(1))),
        "mroot" => out.push_str(&format!("\\sqrt[{}]{{{}}}", part(1), part(0))),
        _ => return false,
    }
    true
}

fn text_of(node: Tree) -> String {
    let texts = node.descendants().filter_map(|below| {
        if let Node::Text(text) = below.value() {
            Some(&*text.text)
        } else {
            None
        }
    });
    texts
        .collect::<String>()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// What scripts stand at: braces around more than one sign.
fn base(latex: &str) -> String {
    let is_one = latex.chars().count() <= 1
        || (latex.starts_with('\\')
            && latex
                .get(1..)
                .is_some_and(|name| name.chars().all(|letter| letter.is_ascii_alphabetic())))
        || (latex.starts_with("\\mathrm{") && latex.ends_with('}'))
        || latex.chars().all(|character| character.is_ascii_digit())
        || latex.ends_with([')', ']']);
    if is_one {
        latex.to_owned()
    } else {
        format!("{{{latex}}}")
    }
}

fn identifier(name: &str, out: &mut String) {
    let is_word = name.chars().count() > 1 && name.chars().all(char::is_alphabetic);
    if FUNCTIONS.contains(&name) {
        out.push_str(&format!("\\{name} "));
    } else if is_word {
        out.push_str(&format!("\\mathrm{{{name}}}"));
    } else {
        symbols(name, out);
    }
}

fn operator(sign: &str, out: &mut String) {
    match sign {
        // Invisible application, times, separator and plus.
        "\u{2061}" | "\u{2062}" | "\u{2063}" | "\u{2064}" => {}
        "{" | "}" | "%" | "#" | "&" | "$" | "_" => out.push_str(&format!("\\{sign}")),
        "−" => out.push('-'),
        "‖" => out.push_str("\\|"),
        function if FUNCTIONS.contains(&function) => out.push_str(&format!("\\{function} ")),
        other => symbols(other, out),
    }
}

fn symbols(text: &str, out: &mut String) {
    for character in text.chars() {
        match SYMBOLS.iter().find(|(known, _)| *known == character) {
            Some((_, command)) => out.push_str(&format!("\\{command} ")),
            None => out.push(character),
        }
    }
}

fn text(words: &str, out: &mut String) {
    if !words.is_empty() {
        out.push_str(&format!("\\text{{{words}}}"));
    }
}

fn under(body: &str, below: &str, out: &mut String) {
    match below {
        "_" | "¯" | "\u{332}" => out.push_str(&format!("\\underline{{{body}}}")),
        "⏟" => out.push_str(&format!("\\underbrace{{{body}}}")),
        _ => out.push_str(&format!("{}_{{{below}}}", base(body))),
    }
}

fn over(body: &str, above: &str, out: &mut String) {
    let sign = if above == "\\to" { "→" } else { above };
    match OVER.iter().find(|(known, _)| *known == sign) {
        Some((_, "bar" | "hat" | "tilde"))
            if body.chars().count() > 2 && !body.starts_with('\\') =>
        {
            let wide = if sign == "¯" {
                "overline"
            } else if matches!(sign, "^" | "ˆ") {
                "widehat"
            } else {
                "widetilde"
            };
            out.push_str(&format!("\\{wide}{{{body}}}"));
        }
        Some((_, command)) => out.push_str(&format!("\\{command}{{{body}}}")),
        None => out.push_str(&format!("{}^{{{above}}}", base(body))),
    }
}

fn fenced(element: &ElementRef, parts: &[Tree], out: &mut String) {
    let mut inner = Vec::with_capacity(parts.len());
    for part in parts {
        inner.push(of(Some(part)));
    }
    let escape = |sign: &str| {
        if matches!(sign, "{" | "}") {
            format!("\\{sign}")
        } else {
            sign.to_owned()
        }
    };
    let separator = element
        .attr("separators")
        .and_then(|signs| signs.trim().chars().next())
        .unwrap_or(',')
        .to_string();
    out.push_str(&escape(element.attr("open").unwrap_or("(")));
    out.push_str(&inner.join(&separator));
    out.push_str(&escape(element.attr("close").unwrap_or(")")));
}

fn table(rows: &[Tree], out: &mut String) {
    let mut lines = Vec::with_capacity(rows.len());
    for row in rows {
        let cells: Vec<String> = parts(*row).iter().map(|cell| of(Some(cell))).collect();
        lines.push(cells.join(" & "));
    }
    out.push_str(&format!(
        "\\begin{{matrix}} {} \\end{{matrix}}",
        lines.join(" \\\\ ")
    ));
}
