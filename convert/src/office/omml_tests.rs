//! Formulas as LaTeX.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::config::Config;
use crate::limits::Limits;

fn latex(inside: &str) -> String {
    let config = Config::default();
    let text = format!("<m:oMath>{inside}</m:oMath>");
    let mut xml = XmlReader::new(&text, "p", Limits::starting_now(&config));
    xml.child().unwrap();
    formula(&mut xml).unwrap()
}

fn r(text: &str) -> String {
    format!("<m:r><m:t>{text}</m:t></m:r>")
}

fn e(text: &str) -> String {
    format!("<m:e>{}</m:e>", r(text))
}

#[test]
fn fractions_and_radicals() {
    let parts = format!("<m:num>{}</m:num><m:den>{}</m:den>", r("a"), r("b"));
    let fraction = |kind: &str| {
        latex(&format!(
            "<m:f><m:fPr><m:type m:val='{kind}'/></m:fPr>{parts}</m:f>"
        ))
    };
    assert_eq!(fraction("bar"), "\\frac{a}{b}");
    assert_eq!(fraction("lin"), "a/b");
    assert_eq!(fraction("skw"), "{}^{a}/_{b}");
    assert_eq!(
        latex(&format!(
            "<m:d><m:e><m:f><m:fPr><m:type m:val='noBar'/></m:fPr>{parts}</m:f></m:e></m:d>"
        )),
        "\\binom{a}{b}"
    );
    assert_eq!(
        latex(&format!(
            "<m:rad><m:deg>{}</m:deg>{}</m:rad>",
            r("3"),
            e("x")
        )),
        "\\sqrt[3]{x}"
    );
    assert_eq!(
        latex(&format!(
            "<m:rad><m:radPr><m:degHide m:val='1'/></m:radPr><m:deg/>{}</m:rad>",
            e("x")
        )),
        "\\sqrt{x}"
    );
}

#[test]
fn large_operators_have_limits() {
    let parts = format!(
        "<m:sub>{}</m:sub><m:sup>{}</m:sup>{}",
        r("n=1"),
        r("∞"),
        e("n")
    );
    assert_eq!(
        latex(&format!(
            "<m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr>{parts}</m:nary>"
        )),
        "\\sum_{n=1}^{\\infty} n"
    );
    let properties = "<m:naryPr><m:limLoc m:val='undOvr'/><m:supHide m:val='on'/></m:naryPr>";
    assert_eq!(
        latex(&format!("<m:nary>{properties}{parts}</m:nary>")),
        "\\int\\limits_{n=1} n"
    );
}

#[test]
fn scripts() {
    let (base, sub, sup) = (
        e("x"),
        format!("<m:sub>{}</m:sub>", r("i")),
        format!("<m:sup>{}</m:sup>", r("2")),
    );
    assert_eq!(latex(&format!("<m:sSub>{base}{sub}</m:sSub>")), "x_{i}");
    assert_eq!(
        latex(&format!("<m:sSup>{}{sup}</m:sSup>", e("ab"))),
        "{ab}^{2}"
    );
    let bases = [
        (
            "<m:d><m:e><m:r><m:t>a</m:t></m:r></m:e></m:d>",
            "\\left(a\\right)^{2}",
        ),
        (
            "<m:acc><m:e><m:r><m:t>a</m:t></m:r></m:e></m:acc>",
            "\\hat{a}^{2}",
        ),
        ("<m:f><m:num/><m:den/></m:f>", "{\\frac{}{}}^{2}"),
        ("<m:r><m:t>𝐚𝐛</m:t></m:r>", "{\\mathbf{a}\\mathbf{b}}^{2}"),
    ];
    for (base, wanted) in bases {
        assert_eq!(
            latex(&format!("<m:sSup><m:e>{base}</m:e>{sup}</m:sSup>")),
            wanted
        );
    }
    assert_eq!(
        latex(&format!("<m:sSubSup>{base}{sub}{sup}</m:sSubSup>")),
        "x_{i}^{2}"
    );
    assert_eq!(
        latex(&format!("<m:sPre>{sub}{sup}{base}</m:sPre>")),
        "{}_{i}^{2}x"
    );
}

#[test]
fn delimiters_matrices_and_equations() {
    assert_eq!(
        latex(&format!("<m:d>{}{}</m:d>", e("a"), e("b"))),
        "\\left(a \\middle| b\\right)"
    );
    let matrix = format!(
        "<m:m><m:mr>{}{}</m:mr><m:mr>{}{}</m:mr></m:m>",
        e("a"),
        e("b"),
        e("c"),
        e("d")
    );
    let brackets = "<m:dPr><m:begChr m:val='['/><m:endChr m:val=']'/></m:dPr>";
    assert_eq!(
        latex(&format!("<m:d>{brackets}<m:e>{matrix}</m:e></m:d>")),
        "\\left[\\begin{matrix} a & b \\\\ c & d \\end{matrix}\\right]"
    );
    let cases = format!(
        "<m:d><m:dPr><m:begChr m:val='{{'/><m:endChr m:val=''/></m:dPr><m:e><m:eqArr>{}{}</m:eqArr></m:e></m:d>",
        e("x&amp;=1"),
        e("y&amp;=2")
    );
    assert_eq!(
        latex(&cases),
        "\\left\\{\\begin{aligned} x&=1 \\\\ y&=2 \\end{aligned}\\right."
    );
    let norm = format!(
        "<m:d><m:dPr><m:begChr m:val='‖'/><m:endChr m:val='‖'/></m:dPr>{}</m:d>",
        e("x")
    );
    assert_eq!(latex(&norm), "\\left\\Vert x\\right\\Vert");
}

#[test]
fn accents_bars_groups_and_boxes() {
    assert_eq!(latex(&format!("<m:acc>{}</m:acc>", e("x"))), "\\hat{x}");
    assert_eq!(
        latex(&format!(
            "<m:acc><m:accPr><m:chr m:val='\u{20D7}'/></m:accPr>{}</m:acc>",
            e("AB")
        )),
        "\\overrightarrow{AB}"
    );
    assert_eq!(
        latex(&format!(
            "<m:bar><m:barPr><m:pos m:val='top'/></m:barPr>{}</m:bar>",
            e("x")
        )),
        "\\overline{x}"
    );
    let brace = format!("<m:groupChr>{}</m:groupChr>", e("a"));
    assert_eq!(
        latex(&format!(
            "<m:limLow><m:e>{brace}</m:e><m:lim>{}</m:lim></m:limLow>",
            r("n")
        )),
        "\\underbrace{a}_{n}"
    );
    assert_eq!(
        latex(&format!(
            "<m:borderBox>{}</m:borderBox><m:box>{}</m:box>",
            e("x"),
            e("y")
        )),
        "\\boxed{x}y"
    );
    assert_eq!(
        latex(&format!(
            "<m:phant><m:phantPr><m:show m:val='0'/></m:phantPr>{}</m:phant>",
            e("x")
        )),
        "\\phantom{x}"
    );
}

#[test]
fn functions_limits_and_text() {
    let sin = "<m:r><m:rPr><m:sty m:val='p'/></m:rPr><m:t>sin</m:t></m:r>";
    assert_eq!(
        latex(&format!(
            "<m:func><m:fName>{sin}</m:fName>{}</m:func>",
            e("x")
        )),
        "\\sin x"
    );
    let limit = format!(
        "<m:limLow><m:e>{}</m:e><m:lim>{}</m:lim></m:limLow>",
        r("lim"),
        r("n→∞")
    );
    assert_eq!(
        latex(&format!(
            "<m:func><m:fName>{limit}</m:fName>{}</m:func>",
            e("a")
        )),
        "\\lim_{n\\rightarrow\\infty} a"
    );
    assert_eq!(
        latex("<m:r><m:rPr><m:nor/></m:rPr><m:t>若 50%</m:t></m:r>"),
        "\\text{若 50\\%}"
    );
    assert_eq!(latex(&r("αx≠β_1")), "\\alpha x\\neq\\beta\\_1");
    assert_eq!(
        latex("<m:r><m:rPr><m:scr m:val='double-struck'/></m:rPr><m:t>R</m:t></m:r>"),
        "\\mathbb{R}"
    );
    assert_eq!(
        latex(&format!(
            "{}<w:del>{}</w:del><w:ins>{}</w:ins>",
            r("a"),
            r("b"),
            r("c")
        )),
        "ac"
    );
}

#[test]
fn unknown_parts_do_no_harm() {
    assert_eq!(
        latex(
            "<m:f/><m:rad/><m:nary/><m:d/><m:sSup/><m:m/><m:func/><m:new><m:r><m:t>z</m:t></m:r></m:new>"
        ),
        latex("<m:f/><m:rad/><m:nary/><m:d/><m:sSup/><m:m/><m:func/>") + "z"
    );
}
