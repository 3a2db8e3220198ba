//! Characters of formulas as LaTeX commands.

/// One character in math mode.
pub(super) fn symbol(character: char) -> String {
    if let Some(latex) = alphanumeric(character) {
        return latex;
    }
    if let Ok(at) = SYMBOLS.binary_search_by_key(&character, |(known, _)| *known)
        && let Some((_, command)) = SYMBOLS.get(at)
    {
        return (*command).to_owned();
    }
    match character {
        '#' | '$' | '%' | '_' | '{' | '}' => format!("\\{character}"),
        '\\' => "\\backslash".to_owned(),
        '~' => "\\sim".to_owned(),
        '^' => "\\hat{}".to_owned(),
        '\u{200B}' | '\u{2061}'..='\u{2064}' | '\u{AD}' => String::new(),
        character if character.is_whitespace() => " ".to_owned(),
        character if character.is_control() => String::new(),
        character => character.to_string(),
    }
}

/// The letters, digits and Greek letters of the mathematical alphabets; italic ones are plain
/// letters.
fn alphanumeric(character: char) -> Option<String> {
    let code = u32::from(character);
    let (command, base) = match code {
        0x1D400..=0x1D6A3 => {
            let (style, offset) = in_alphabets(code - 0x1D400, 52);
            (*LETTER_STYLES.get(style)?, latin(offset)?)
        }
        0x1D6A4 => ("", "\\imath".to_owned()),
        0x1D6A5 => ("", "\\jmath".to_owned()),
        0x1D6A8..=0x1D7C9 => {
            let (style, offset) = in_alphabets(code - 0x1D6A8, 58);
            (*GREEK_STYLES.get(style)?, greek(offset)?)
        }
        0x1D7CE..=0x1D7FF => {
            let (style, digit) = in_alphabets(code - 0x1D7CE, 10);
            (*DIGIT_STYLES.get(style)?, digit.to_string())
        }
        _ => return None,
    };
    Some(if command.is_empty() {
        base
    } else {
        format!("{command}{{{base}}}")
    })
}

/// The number of an alphabet and the place in it; each has `length` characters.
fn in_alphabets(offset: u32, length: u32) -> (usize, u32) {
    ((offset / length) as usize, offset % length)
}

/// The Latin letter at that place, capitals first.
fn latin(offset: u32) -> Option<String> {
    let code = if offset < 26 {
        0x41 + offset
    } else {
        0x61 + offset - 26
    };
    Some(char::from_u32(code)?.to_string())
}

const LETTER_STYLES: [&str; 13] = [
    "\\mathbf",
    "",
    "\\boldsymbol",
    "\\mathcal",
    "\\mathbf",
    "\\mathfrak",
    "\\mathbb",
    "\\mathfrak",
    "\\mathsf",
    "\\mathsf",
    "\\mathsf",
    "\\mathsf",
    "\\mathtt",
];

const GREEK_STYLES: [&str; 5] = [
    "\\boldsymbol",
    "",
    "\\boldsymbol",
    "\\boldsymbol",
    "\\boldsymbol",
];

const DIGIT_STYLES: [&str; 5] = ["\\mathbf", "\\mathbb", "\\mathsf", "\\mathsf", "\\mathtt"];

/// The Greek letter at that place of a mathematical alphabet.
fn greek(offset: u32) -> Option<String> {
    let character = match offset {
        0..=16 => char::from_u32(0x391 + offset)?,
        17 => 'ϴ',
        18..=24 => char::from_u32(0x3A3 + offset - 18)?,
        25 => '∇',
        26..=50 => char::from_u32(0x3B1 + offset - 26)?,
        51 => '∂',
        52 => 'ϵ',
        53 => 'ϑ',
        54 => 'ϰ',
        55 => 'ϕ',
        56 => 'ϱ',
        _ => 'ϖ',
    };
    Some(symbol(character))
}

/// The command of a large operator.
pub(super) fn operator(character: char) -> Option<&'static str> {
    Some(match character {
        '∑' => "\\sum",
        '∏' => "\\prod",
        '∐' => "\\coprod",
        '∫' => "\\int",
        '∬' => "\\iint",
        '∭' => "\\iiint",
        '⨌' => "\\iiiint",
        '∮' => "\\oint",
        '∯' => "\\oiint",
        '∰' => "\\oiiint",
        '⋃' => "\\bigcup",
        '⋂' => "\\bigcap",
        '⋁' => "\\bigvee",
        '⋀' => "\\bigwedge",
        '⨁' => "\\bigoplus",
        '⨂' => "\\bigotimes",
        '⨀' => "\\bigodot",
        '⨄' => "\\biguplus",
        '⨆' => "\\bigsqcup",
        _ => return None,
    })
}

/// The command of an accent above.
pub(super) fn accent(character: char) -> Option<&'static str> {
    Some(match character {
        '\u{300}' => "\\grave",
        '\u{301}' | '´' => "\\acute",
        '\u{302}' | 'ˆ' => "\\hat",
        '\u{303}' | '˜' => "\\tilde",
        '\u{304}' | '\u{305}' | '¯' => "\\bar",
        '\u{306}' | '˘' => "\\breve",
        '\u{307}' | '˙' => "\\dot",
        '\u{308}' | '¨' => "\\ddot",
        '\u{30A}' | '˚' => "\\mathring",
        '\u{30C}' | 'ˇ' => "\\check",
        '\u{20D6}' | '\u{20D0}' => "\\overleftarrow",
        '\u{20D7}' | '\u{20D1}' => "\\vec",
        '\u{20DB}' => "\\dddot",
        '\u{20DC}' => "\\ddddot",
        '\u{20E1}' => "\\overleftrightarrow",
        '\u{331}' | '\u{332}' => "\\underline",
        '\u{33F}' => "\\overline",
        _ => return None,
    })
}

/// The command of a character that spans a group.
pub(super) fn group_character(character: char, is_top: bool) -> Option<&'static str> {
    Some(match (character, is_top) {
        ('\u{23DE}', _) => "\\overbrace",
        ('\u{23DF}', _) => "\\underbrace",
        ('\u{23B4}' | '\u{23E0}', _) => "\\overbracket",
        ('\u{23B5}' | '\u{23E1}', _) => "\\underbracket",
        ('\u{23DC}', _) => "\\overparen",
        ('\u{23DD}', _) => "\\underparen",
        ('←', true) => "\\overleftarrow",
        ('→', true) => "\\overrightarrow",
        ('↔', true) => "\\overleftrightarrow",
        ('←', false) => "\\underleftarrow",
        ('→', false) => "\\underrightarrow",
        ('↔', false) => "\\underleftrightarrow",
        _ => return None,
    })
}

/// A delimiter after `\left`, `\right`; a dot for none.
pub(super) fn delimiter(character: Option<char>) -> String {
    let command = match character {
        None | Some(' ') => ".",
        Some('{') => "\\{",
        Some('}') => "\\}",
        Some('|' | '│' | '∣') => "|",
        Some('‖' | '∥') => "\\Vert",
        Some('⌊') => "\\lfloor",
        Some('⌋') => "\\rfloor",
        Some('⌈') => "\\lceil",
        Some('⌉') => "\\rceil",
        Some('〈' | '⟨' | '\u{2329}') => "\\langle",
        Some('〉' | '⟩' | '\u{232A}') => "\\rangle",
        Some('⟦') => "\\lBrack",
        Some('⟧') => "\\rBrack",
        Some('（') => "(",
        Some('）') => ")",
        Some(character @ ('(' | ')' | '[' | ']' | '/' | '<' | '>')) => {
            return character.to_string();
        }
        Some('\\') => "\\backslash",
        Some(_) => ".",
    };
    command.to_owned()
}

/// The command of a named function, also where it is one already.
pub(super) fn function_name(name: &str) -> Option<&'static str> {
    let name = name.strip_prefix('\\').unwrap_or(name);
    let name = name
        .strip_prefix("mathrm{")
        .and_then(|inner| inner.strip_suffix('}'))
        .unwrap_or(name);
    FUNCTIONS
        .iter()
        .find(|command| command.strip_prefix('\\') == Some(name))
        .copied()
}

const FUNCTIONS: [&str; 32] = [
    "\\arccos", "\\arcsin", "\\arctan", "\\arg", "\\cos", "\\cosh", "\\cot", "\\coth", "\\csc",
    "\\deg", "\\det", "\\dim", "\\exp", "\\gcd", "\\hom", "\\inf", "\\ker", "\\lg", "\\lim",
    "\\liminf", "\\limsup", "\\ln", "\\log", "\\max", "\\min", "\\Pr", "\\sec", "\\sin", "\\sinh",
    "\\sup", "\\tan", "\\tanh",
];

/// Characters and their commands, in order of the characters.
#[rustfmt::skip]
const SYMBOLS: [(char, &str); 409] = [
    ('£', "\\pounds"), ('¬', "\\neg"), ('°', "^{\\circ}"), ('±', "\\pm"), ('µ', "\\mu"), ('·', "\\cdot"), ('×', "\\times"),
    ('÷', "\\div"), ('Α', "A"), ('Β', "B"), ('Γ', "\\Gamma"), ('Δ', "\\Delta"), ('Ε', "E"), ('Ζ', "Z"), ('Η', "H"), ('Θ', "\\Theta"),
    ('Ι', "I"), ('Κ', "K"), ('Λ', "\\Lambda"), ('Μ', "M"), ('Ν', "N"), ('Ξ', "\\Xi"), ('Ο', "O"), ('Π', "\\Pi"), ('Ρ', "P"),
    ('Σ', "\\Sigma"), ('Τ', "T"), ('Υ', "\\Upsilon"), ('Φ', "\\Phi"), ('Χ', "X"), ('Ψ', "\\Psi"), ('Ω', "\\Omega"), ('α', "\\alpha"),
    ('β', "\\beta"), ('γ', "\\gamma"), ('δ', "\\delta"), ('ε', "\\varepsilon"), ('ζ', "\\zeta"), ('η', "\\eta"), ('θ', "\\theta"),
    ('ι', "\\iota"), ('κ', "\\kappa"), ('λ', "\\lambda"), ('μ', "\\mu"), ('ν', "\\nu"), ('ξ', "\\xi"), ('ο', "o"), ('π', "\\pi"),
    ('ρ', "\\rho"), ('ς', "\\varsigma"), ('σ', "\\sigma"), ('τ', "\\tau"), ('υ', "\\upsilon"), ('φ', "\\varphi"), ('χ', "\\chi"),
    ('ψ', "\\psi"), ('ω', "\\omega"), ('ϑ', "\\vartheta"), ('ϕ', "\\phi"), ('ϖ', "\\varpi"), ('ϝ', "\\digamma"), ('ϰ', "\\varkappa"),
    ('ϱ', "\\varrho"), ('ϴ', "\\Theta"), ('ϵ', "\\epsilon"), ('϶', "\\backepsilon"), ('–', "-"), ('—', "-"), ('‖', "\\Vert"),
    ('†', "\\dagger"), ('‡', "\\ddagger"), ('•', "\\bullet"), ('…', "\\ldots"), ('′', "'"), ('″', "''"), ('‴', "'''"),
    ('‵', "\\backprime"), ('⁗', "''''"), ('ℂ', "\\mathbb{C}"), ('ℊ', "\\mathcal{g}"), ('ℋ', "\\mathcal{H}"), ('ℌ', "\\mathfrak{H}"),
    ('ℍ', "\\mathbb{H}"), ('ℎ', "h"), ('ℏ', "\\hbar"), ('ℐ', "\\mathcal{I}"), ('ℑ', "\\Im"), ('ℒ', "\\mathcal{L}"), ('ℓ', "\\ell"),
    ('ℕ', "\\mathbb{N}"), ('℘', "\\wp"), ('ℙ', "\\mathbb{P}"), ('ℚ', "\\mathbb{Q}"), ('ℛ', "\\mathcal{R}"), ('ℜ', "\\Re"),
    ('ℝ', "\\mathbb{R}"), ('ℤ', "\\mathbb{Z}"), ('℧', "\\mho"), ('ℨ', "\\mathfrak{Z}"), ('ℬ', "\\mathcal{B}"), ('ℭ', "\\mathfrak{C}"),
    ('ℯ', "\\mathcal{e}"), ('ℰ', "\\mathcal{E}"), ('ℱ', "\\mathcal{F}"), ('Ⅎ', "\\Finv"), ('ℳ', "\\mathcal{M}"), ('ℴ', "\\mathcal{o}"),
    ('ℵ', "\\aleph"), ('ℶ', "\\beth"), ('ℷ', "\\gimel"), ('ℸ', "\\daleth"), ('ⅆ', "d"), ('ⅇ', "e"), ('ⅈ', "i"), ('ⅉ', "j"),
    ('←', "\\leftarrow"), ('↑', "\\uparrow"), ('→', "\\rightarrow"), ('↓', "\\downarrow"), ('↔', "\\leftrightarrow"),
    ('↕', "\\updownarrow"), ('↖', "\\nwarrow"), ('↗', "\\nearrow"), ('↘', "\\searrow"), ('↙', "\\swarrow"), ('↚', "\\nleftarrow"),
    ('↛', "\\nrightarrow"), ('↜', "\\leftsquigarrow"), ('↝', "\\rightsquigarrow"), ('↞', "\\twoheadleftarrow"),
    ('↠', "\\twoheadrightarrow"), ('↢', "\\leftarrowtail"), ('↣', "\\rightarrowtail"), ('↦', "\\mapsto"), ('↩', "\\hookleftarrow"),
    ('↪', "\\hookrightarrow"), ('↫', "\\looparrowleft"), ('↬', "\\looparrowright"), ('↭', "\\leftrightsquigarrow"),
    ('↮', "\\nleftrightarrow"), ('↰', "\\Lsh"), ('↱', "\\Rsh"), ('↶', "\\curvearrowleft"), ('↷', "\\curvearrowright"),
    ('↺', "\\circlearrowleft"), ('↻', "\\circlearrowright"), ('↼', "\\leftharpoonup"), ('↽', "\\leftharpoondown"),
    ('↾', "\\upharpoonright"), ('↿', "\\upharpoonleft"), ('⇀', "\\rightharpoonup"), ('⇁', "\\rightharpoondown"),
    ('⇂', "\\downharpoonright"), ('⇃', "\\downharpoonleft"), ('⇄', "\\rightleftarrows"), ('⇆', "\\leftrightarrows"),
    ('⇇', "\\leftleftarrows"), ('⇈', "\\upuparrows"), ('⇉', "\\rightrightarrows"), ('⇊', "\\downdownarrows"),
    ('⇋', "\\leftrightharpoons"), ('⇌', "\\rightleftharpoons"), ('⇍', "\\nLeftarrow"), ('⇎', "\\nLeftrightarrow"),
    ('⇏', "\\nRightarrow"), ('⇐', "\\Leftarrow"), ('⇑', "\\Uparrow"), ('⇒', "\\Rightarrow"), ('⇓', "\\Downarrow"),
    ('⇔', "\\Leftrightarrow"), ('⇕', "\\Updownarrow"), ('⇚', "\\Lleftarrow"), ('⇛', "\\Rrightarrow"), ('⇝', "\\rightsquigarrow"),
    ('∀', "\\forall"), ('∁', "\\complement"), ('∂', "\\partial"), ('∃', "\\exists"), ('∄', "\\nexists"), ('∅', "\\emptyset"),
    ('∆', "\\Delta"), ('∇', "\\nabla"), ('∈', "\\in"), ('∉', "\\notin"), ('∋', "\\ni"), ('∌', "\\not\\ni"), ('∍', "\\ni"),
    ('∎', "\\blacksquare"), ('∏', "\\prod"), ('∐', "\\coprod"), ('∑', "\\sum"), ('−', "-"), ('∓', "\\mp"), ('∔', "\\dotplus"),
    ('∕', "/"), ('∖', "\\setminus"), ('∗', "\\ast"), ('∘', "\\circ"), ('∙', "\\bullet"), ('√', "\\surd"), ('∛', "\\sqrt[3]{}"),
    ('∜', "\\sqrt[4]{}"), ('∝', "\\propto"), ('∞', "\\infty"), ('∟', "\\llcorner"), ('∠', "\\angle"), ('∡', "\\measuredangle"),
    ('∢', "\\sphericalangle"), ('∣', "\\mid"), ('∤', "\\nmid"), ('∥', "\\parallel"), ('∦', "\\nparallel"), ('∧', "\\wedge"),
    ('∨', "\\vee"), ('∩', "\\cap"), ('∪', "\\cup"), ('∫', "\\int"), ('∬', "\\iint"), ('∭', "\\iiint"), ('∮', "\\oint"),
    ('∯', "\\oiint"), ('∰', "\\oiiint"), ('∴', "\\therefore"), ('∵', "\\because"), ('∶', ":"), ('∷', "::"), ('∼', "\\sim"),
    ('∽', "\\backsim"), ('≀', "\\wr"), ('≁', "\\nsim"), ('≂', "\\eqsim"), ('≃', "\\simeq"), ('≅', "\\cong"), ('≇', "\\ncong"),
    ('≈', "\\approx"), ('≉', "\\not\\approx"), ('≊', "\\approxeq"), ('≍', "\\asymp"), ('≎', "\\Bumpeq"), ('≏', "\\bumpeq"),
    ('≐', "\\doteq"), ('≑', "\\doteqdot"), ('≒', "\\fallingdotseq"), ('≓', "\\risingdotseq"), ('≔', ":="), ('≕', "=:"),
    ('≖', "\\eqcirc"), ('≗', "\\circeq"), ('≙', "\\overset{\\wedge}{=}"), ('≜', "\\triangleq"), ('≝', "\\overset{\\mathrm{def}}{=}"),
    ('≟', "\\overset{?}{=}"), ('≠', "\\neq"), ('≡', "\\equiv"), ('≢', "\\not\\equiv"), ('≤', "\\leq"), ('≥', "\\geq"), ('≦', "\\leqq"),
    ('≧', "\\geqq"), ('≨', "\\lneqq"), ('≩', "\\gneqq"), ('≪', "\\ll"), ('≫', "\\gg"), ('≬', "\\between"), ('≮', "\\nless"),
    ('≯', "\\ngtr"), ('≰', "\\nleq"), ('≱', "\\ngeq"), ('≲', "\\lesssim"), ('≳', "\\gtrsim"), ('≶', "\\lessgtr"), ('≷', "\\gtrless"),
    ('≺', "\\prec"), ('≻', "\\succ"), ('≼', "\\preccurlyeq"), ('≽', "\\succcurlyeq"), ('≾', "\\precsim"), ('≿', "\\succsim"),
    ('⊀', "\\nprec"), ('⊁', "\\nsucc"), ('⊂', "\\subset"), ('⊃', "\\supset"), ('⊄', "\\not\\subset"), ('⊅', "\\not\\supset"),
    ('⊆', "\\subseteq"), ('⊇', "\\supseteq"), ('⊈', "\\nsubseteq"), ('⊉', "\\nsupseteq"), ('⊊', "\\subsetneq"), ('⊋', "\\supsetneq"),
    ('⊎', "\\uplus"), ('⊏', "\\sqsubset"), ('⊐', "\\sqsupset"), ('⊑', "\\sqsubseteq"), ('⊒', "\\sqsupseteq"), ('⊓', "\\sqcap"),
    ('⊔', "\\sqcup"), ('⊕', "\\oplus"), ('⊖', "\\ominus"), ('⊗', "\\otimes"), ('⊘', "\\oslash"), ('⊙', "\\odot"),
    ('⊚', "\\circledcirc"), ('⊛', "\\circledast"), ('⊝', "\\circleddash"), ('⊞', "\\boxplus"), ('⊟', "\\boxminus"), ('⊠', "\\boxtimes"),
    ('⊡', "\\boxdot"), ('⊢', "\\vdash"), ('⊣', "\\dashv"), ('⊤', "\\top"), ('⊥', "\\bot"), ('⊨', "\\models"), ('⊩', "\\Vdash"),
    ('⊪', "\\Vvdash"), ('⊬', "\\nvdash"), ('⊭', "\\nvDash"), ('⊲', "\\vartriangleleft"), ('⊳', "\\vartriangleright"),
    ('⊴', "\\trianglelefteq"), ('⊵', "\\trianglerighteq"), ('⊸', "\\multimap"), ('⊺', "\\intercal"), ('⊻', "\\veebar"),
    ('⋀', "\\bigwedge"), ('⋁', "\\bigvee"), ('⋂', "\\bigcap"), ('⋃', "\\bigcup"), ('⋄', "\\diamond"), ('⋅', "\\cdot"), ('⋆', "\\star"),
    ('⋇', "\\divideontimes"), ('⋈', "\\bowtie"), ('⋉', "\\ltimes"), ('⋊', "\\rtimes"), ('⋋', "\\leftthreetimes"),
    ('⋌', "\\rightthreetimes"), ('⋍', "\\backsimeq"), ('⋎', "\\curlyvee"), ('⋏', "\\curlywedge"), ('⋐', "\\Subset"), ('⋑', "\\Supset"),
    ('⋒', "\\Cap"), ('⋓', "\\Cup"), ('⋔', "\\pitchfork"), ('⋖', "\\lessdot"), ('⋗', "\\gtrdot"), ('⋘', "\\lll"), ('⋙', "\\ggg"),
    ('⋚', "\\lesseqgtr"), ('⋛', "\\gtreqless"), ('⋞', "\\curlyeqprec"), ('⋟', "\\curlyeqsucc"), ('⋮', "\\vdots"), ('⋯', "\\cdots"),
    ('⋰', "\\iddots"), ('⋱', "\\ddots"), ('⌈', "\\lceil"), ('⌉', "\\rceil"), ('⌊', "\\lfloor"), ('⌋', "\\rfloor"), ('⌢', "\\frown"),
    ('⌣', "\\smile"), ('■', "\\blacksquare"), ('□', "\\square"), ('▲', "\\blacktriangle"), ('△', "\\triangle"),
    ('▷', "\\triangleright"), ('▼', "\\blacktriangledown"), ('▽', "\\triangledown"), ('◁', "\\triangleleft"), ('◇', "\\Diamond"),
    ('◊', "\\lozenge"), ('○', "\\bigcirc"), ('★', "\\bigstar"), ('♠', "\\spadesuit"), ('♣', "\\clubsuit"), ('♥', "\\heartsuit"),
    ('♦', "\\diamondsuit"), ('♭', "\\flat"), ('♮', "\\natural"), ('♯', "\\sharp"), ('✓', "\\checkmark"), ('⟂', "\\perp"),
    ('⟨', "\\langle"), ('⟩', "\\rangle"), ('⟵', "\\longleftarrow"), ('⟶', "\\longrightarrow"), ('⟷', "\\longleftrightarrow"),
    ('⟸', "\\Longleftarrow"), ('⟹', "\\Longrightarrow"), ('⟺', "\\Longleftrightarrow"), ('⟼', "\\longmapsto"), ('⨀', "\\bigodot"),
    ('⨁', "\\bigoplus"), ('⨂', "\\bigotimes"), ('⨄', "\\biguplus"), ('⨆', "\\bigsqcup"), ('⨌', "\\iiiint"), ('⨿', "\\amalg"),
    ('⩽', "\\leqslant"), ('⩾', "\\geqslant"), ('⪅', "\\lessapprox"), ('⪆', "\\gtrapprox"), ('⪯', "\\preceq"), ('⪰', "\\succeq"),
    ('⫅', "\\subseteqq"), ('⫆', "\\supseteqq"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_in_order() {
        assert!(SYMBOLS.is_sorted_by_key(|(character, _)| *character));
        assert_eq!(symbol('≤'), "\\leq");
    }

    #[test]
    fn alphabets_are_letters_in_a_style() {
        let all: Vec<String> = ['𝐀', '𝑥', '𝓩', '𝔸', '𝔤', '𝛂', '𝜋', '𝟘', 'ℝ', '𝚣']
            .into_iter()
            .map(symbol)
            .collect();
        let wanted = [
            "\\mathbf{A}",
            "x",
            "\\mathbf{Z}",
            "\\mathbb{A}",
            "\\mathfrak{g}",
            "\\boldsymbol{\\alpha}",
            "\\pi",
            "\\mathbb{0}",
            "\\mathbb{R}",
            "\\mathtt{z}",
        ];
        assert_eq!(all, wanted);
    }
}
