//! Pages and their Markdown.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::test_config::config;

fn page(html: &str) -> Converted {
    let config: crate::Config = config();
    convert(
        html.as_bytes(),
        &config.html,
        &Limits::starting_now(&config),
    )
    .unwrap()
}

fn markdown(html: &str) -> String {
    page(html).markdown
}

#[test]
fn blocks_become_markdown() {
    let html = "<h2>Title<a class=headerlink href='#x'>¶</a></h2><p>One <b> bold </b>and <i>it</i> and <a href='u(1).html'>link</a>.<br>Second line</p>
        <blockquote><p>q</p></blockquote><hr><pre><code class='language-c'>int a;\n  b</code></pre>";
    assert_eq!(
        markdown(html),
        "## Title\n\nOne **bold** and *it* and [link](<u(1).html>).\nSecond line\n\n> q\n\n---\n\n```c\nint a;\n  b\n```\n"
    );
}

#[test]
fn lists_nest_and_keep_their_paragraphs() {
    let html = "<ul><li>a<ol start=3><li>x</li><li>y</li></ol></li><li>b</li></ul><ol><li><p>one</p><p>two</p></li><li>three</li></ol>";
    assert_eq!(
        markdown(html),
        "- a\n\n  3. x\n  4. y\n- b\n\n1. one\n\n   two\n\n2. three\n"
    );
    assert_eq!(
        markdown("<dl><dt>T</dt><dd>d1</dd><dd>d2</dd></dl>"),
        "**T**\n\n- d1\n- d2\n"
    );
}

#[test]
fn text_that_stands_loose_in_lists_and_tables_is_kept() {
    let cases = [
        ("<ul>one<li>x</li>two</ul>", "- one\n- x\n- two\n"),
        (
            "<div role=list>alone</div><div role=list><p>p</p><div role=listitem>i</div>tail</div>",
            "- alone\n\n- p\n- i\n- tail\n",
        ),
        (
            "<dl>loose<dt>T</dt><dd>d</dd></dl>",
            "- loose\n\n**T**\n\n- d\n",
        ),
    ];
    for (html, expected) in cases {
        assert_eq!(markdown(html), expected, "{html}");
    }
    let table = "<div role=table>a loose<div role=row>in row<span role=cell>c</span></div></div>";
    let found = markdown(table);
    assert!(
        ["a loose", "in row", "c"]
            .iter()
            .all(|text| found.contains(text)),
        "{found}"
    );
}

#[test]
fn tables_keep_header_spans_and_inner_tables() {
    let html = "<table><tr><th rowspan=2>R</th><th colspan=2>S</th></tr><tr><th>a</th><th>b</th></tr>
        <tr><td>1|2</td><td><ul><li>x</li><li>y</li></ul></td><td><table><tr><th>k</th><th>l</th></tr><tr><td>m</td><td>n</td></tr></table></td></tr></table>";
    assert_eq!(
        markdown(html),
        "| R | S | S |\n| --- | --- | --- |\n| R | a | b |\n| 1\\|2 | - x<br>- y |  |\n\n| k | l |\n| --- | --- |\n| m | n |\n"
    );
}

#[test]
fn layout_tables_are_unfolded() {
    assert_eq!(
        markdown("<table><tr><td><h1>A</h1><p>text</p></td><td>side</td></tr></table>"),
        "# A\n\ntext\n\nside\n"
    );
}

#[test]
fn tables_without_headers_keep_short_cells_with_tables_in_them() {
    let html = "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td><table><tr><td>d</td><td>e</td></tr><tr><td>f</td><td>g</td></tr></table></td></tr></table>";
    assert_eq!(
        markdown(html),
        "| a | b |\n| --- | --- |\n| c |  |\n\n| d | e |\n| --- | --- |\n| f | g |\n"
    );
    let long = format!(
        "<table><tr><td>menu</td><td>{0}<table><tr><td>x</td></tr></table></td></tr><tr><td>foot</td><td>{0}</td></tr></table>",
        "word ".repeat(60)
    );
    assert!(!markdown(&long).contains('|'));
}

#[test]
fn what_surrounds_the_content_goes() {
    let html = "<html><head><title>T - Site</title><style>p{}</style></head><body><nav>Menu</nav><header>Top</header><div class='cookie-banner'>Cookies</div>
        <main><h1>T</h1><p>Content that is long enough to count as the main content of the page.</p><p hidden>secret</p><p style='display: none'>secret</p>
        <form><label>Name</label><input value=x><button>Go</button></form><ul><li><label><input type=checkbox>Done</label></ul><script>alert(1)</script></main><footer>Foot</footer></body></html>";
    let page = page(html);
    assert_eq!(
        page.markdown,
        "# T\n\nContent that is long enough to count as the main content of the page.\n\nName\n\n- Done\n"
    );
    assert_eq!(page.title.as_deref(), Some("T"));
}

#[test]
fn a_page_of_navigation_only_is_kept() {
    assert_eq!(
        markdown("<body><nav><a href=/a>Alpha</a> <a href=/b>Beta</a></nav></body>"),
        "[Alpha](/a) [Beta](/b)\n"
    );
    assert_eq!(
        markdown("<body><header><img src=a.png alt='Revenue by year'></header></body>"),
        "![Revenue by year](image:0)\n"
    );
}

#[test]
fn metadata_is_read() {
    let page = page(
        "<html lang=zh-CN><head><meta name=Author content=' A  B '><meta property='article:modified_time' content='2024-05-06T07:08:09Z'>
         <meta name=keywords content='x, y'><link rel=canonical href='https://h/p'></head><body>t</body></html>",
    );
    for (name, value) in [
        ("author", "A B"),
        ("modified", "2024-05-06T07:08:09Z"),
        ("keywords", "x, y"),
        ("language", "zh-CN"),
        ("link", "https://h/p"),
    ] {
        assert_eq!(
            page.metadata.get(name).map(String::as_str),
            Some(value),
            "{name}"
        );
    }
}

#[test]
fn images_are_listed_and_data_urls_are_not() {
    let page = page(
        "<p><img src='data:image/png;base64,AAAA' data-src='a.png' alt='A [1]'><img src='data:x' alt='only text'><img src=p.gif width=1 height=1></p>",
    );
    assert_eq!(page.markdown, "![A 1](image:0)only text\n");
    assert_eq!(
        page.images,
        vec![ImageLink {
            link: "a.png".into(),
            alt: "A 1".into()
        }]
    );
}

#[test]
fn text_does_not_turn_into_markup() {
    assert_eq!(
        markdown(
            "<p># no heading</p><p>1. no list</p><p>a*b*c snake_case_name _x_ `c` &lt;b&gt;</p>"
        ),
        "\\# no heading\n\n1\\. no list\n\na\\*b\\*c snake_case_name \\_x\\_ \\`c\\` \\<b>\n"
    );
}

#[test]
fn line_ends_between_chinese_characters_are_no_spaces() {
    assert_eq!(
        markdown("<p>载波\n  聚合 技术\nABC</p>"),
        "载波聚合 技术 ABC\n"
    );
}

#[test]
fn declared_charsets_are_found() {
    assert_eq!(
        declared_charset(b"<meta http-equiv=Content-Type content=\"text/html; charset=GB2312\">")
            .as_deref(),
        Some("gb2312")
    );
    assert_eq!(
        declared_charset(b"<meta charset='big5'>").as_deref(),
        Some("big5")
    );
    assert_eq!(
        declared_charset(b"<?xml version='1.0' encoding='Shift_JIS'?>").as_deref(),
        Some("shift_jis")
    );
    assert_eq!(declared_charset(b"<p>charset</p>"), None);
}

#[test]
fn formulas_come_from_their_source_or_their_mathml() {
    for (html, expected) in [
        (
            "<math><mrow><mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup></mrow></math>",
            "$E=mc^{2}$",
        ),
        (
            "<math display=block><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><msqrt><mi>α</mi></msqrt></mfrac></math>",
            "$$\\frac{a+b}{\\sqrt{\\alpha}}$$",
        ),
        (
            "<math><munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><msub><mi>x</mi><mi>i</mi></msub></math>",
            "$\\sum_{i=1}^{n}x_{i}$",
        ),
        (
            "<math><mover><mi>x</mi><mo>¯</mo></mover><mi>sin</mi><mi>θ</mi><mroot><mi>y</mi><mn>3</mn></mroot></math>",
            "$\\bar{x}\\sin \\theta \\sqrt[3]{y}$",
        ),
        (
            "<math><mtable><mtr><mtd><mi>a</mi></mtd><mtd><mi>b</mi></mtd></mtr><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr></mtable></math>",
            "$\\begin{matrix} a & b \\\\ 1 & 2 \\end{matrix}$",
        ),
        (
            "<math><semantics><mi>x</mi><annotation encoding='application/x-tex'>x^2</annotation></semantics></math>",
            "$x^2$",
        ),
        (
            "<span class=katex><span class=katex-mathml><math><semantics><mi>x</mi><annotation encoding='application/x-tex'>y</annotation></semantics></math></span><span class=katex-html>y</span></span>",
            "$y$",
        ),
        (
            "<span class=MathJax_Display>junk</span><script type='math/tex; mode=display'>z_1</script>",
            "$$z_1$$",
        ),
        ("<span class=katex-html>only this</span>", "only this"),
    ] {
        assert_eq!(
            markdown(&format!("<p>{html}</p>")),
            format!("{expected}\n"),
            "{html}"
        );
    }
}

#[test]
fn pictures_in_the_page_become_files() {
    let data = "A".repeat(400);
    let page = page(&format!(
        "<p><img src='data:image/png;base64,{data}' alt='a b'><img src='data:image/png;base64,AAAA' alt=spacer></p>"
    ));
    assert_eq!(page.markdown, "![a b](image:0)spacer\n");
    assert_eq!(
        page.images,
        vec![ImageLink {
            link: "embedded:0".into(),
            alt: "a b".into()
        }]
    );
    assert_eq!(
        page.blobs
            .first()
            .map(|file| (file.name.as_str(), file.bytes.len())),
        Some(("0.png", 300))
    );
}

#[test]
fn pages_are_read_in_their_encoding() {
    let chinese = "<html><head><meta charset=\"LABEL\"><title>标题</title></head><body><h1>载波聚合</h1><table><tr><td>名称</td><td>数值</td></tr><tr><td>峰值速率</td><td>100</td></tr></table></body></html>";
    let expected = "# 载波聚合\n\n| 名称 | 数值 |\n| --- | --- |\n| 峰值速率 | 100 |\n";
    let config: crate::Config = config();
    let read = |bytes: &[u8]| {
        convert(bytes, &config.html, &Limits::starting_now(&config))
            .unwrap()
            .markdown
    };
    for label in ["gb2312", "gbk", "gb18030", "utf-8"] {
        let (bytes, ..) = encoding_rs::GB18030.encode(chinese);
        let at = bytes
            .windows(5)
            .position(|window| window == b"LABEL")
            .unwrap();
        let bytes = [&bytes[..at], label.as_bytes(), &bytes[at + 5..]].concat();
        assert_eq!(read(&bytes), expected, "{label}");
    }
    let utf_16: Vec<u8> = chinese.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(read(&utf_16), expected);
    let japanese = "<meta charset=shift_jis><p>無線ネットワークの技術</p>";
    assert_eq!(
        read(&encoding_rs::SHIFT_JIS.encode(japanese).0),
        "無線ネットワークの技術\n"
    );
    let traditional = "<meta charset=big5><p>無線網路的載波聚合</p>";
    assert_eq!(
        read(&encoding_rs::BIG5.encode(traditional).0),
        "無線網路的載波聚合\n"
    );
    assert_eq!(
        read(b"<meta charset=windows-1252><p>\x93caf\xE9\x94</p>"),
        "“café”\n"
    );
}

#[test]
fn damage_does_no_harm() {
    let sample = "<html><head><meta charset=utf-8><title>t</title></head><body><h1>h</h1><table><tr><th rowspan=3>a<td colspan=9>b</table><math><mfrac><mi>a</mi><mi>b</mi></mfrac></math><ul><li>x<pre>c</pre></ul><img src='data:image/png;base64,AAAA'></body></html>".repeat(3);
    let settings = crate::config::HtmlConfig::default();
    crate::hostile::withstands(sample.as_bytes(), |bytes, limits| {
        convert(bytes, &settings, limits)
    });
    let config: crate::Config = config();
    let deep = "<math><mrow>".repeat(20_000);
    drop(convert(
        deep.as_bytes(),
        &config.html,
        &Limits::starting_now(&config),
    ));
}

#[test]
fn roles_stand_for_the_elements_that_they_name() {
    let html = "<div role=main><div role=heading aria-level=3><span>载波</span></div>
        <div role=list><div role=listitem>a<div role=list><div role=listitem>b</div></div></div></div>
        <div role=table><div><div role=row><div role=columnheader>K</div><div role=columnheader aria-colspan=2>V</div></div></div>
        <div role=rowgroup><div role=row><div role=cell>1</div><div role=cell>2</div><div role=cell>3</div></div></div></div>
        <div role=cell>alone</div><h2 role=heading aria-level=5>Own</h2></div>";
    assert_eq!(
        markdown(html),
        "### 载波\n\n- a\n\n  - b\n\n| K | V | V |\n| --- | --- | --- |\n| 1 | 2 | 3 |\n\nalone\n\n## Own\n"
    );
}

fn word_item(level: usize, mark: &str, text: &str) -> String {
    format!(
        "<p class=MsoListParagraph style='text-indent:-18.0pt;mso-list:l0 level{level} lfo1'><![if !supportLists]><span
         style='mso-list:Ignore'>{mark}<span style='font:7.0pt \"Times New Roman\"'>&nbsp;&nbsp; </span></span><![endif]>{text}</p>"
    )
}

#[test]
fn paragraphs_that_word_marks_as_items_are_lists() {
    let items = [(1, "·", "a"), (2, "3.", "b"), (2, "4.", "c"), (1, "·", "d")];
    let html: String = items
        .iter()
        .map(|(level, mark, text)| word_item(*level, mark, text))
        .collect();
    assert_eq!(
        markdown(&format!("{html}<p class=MsoNormal>end</p>")),
        "- a\n\n  3. b\n  4. c\n- d\n\nend\n"
    );
    let filtered = "<p class=MsoListParagraph style='margin-left:1.0in;text-indent:-.25in'>b)<span style='font:7.0pt \"T\"'>&nbsp; </span>x</p>";
    assert_eq!(markdown(filtered), "2. x\n");
    assert_eq!(
        markdown("<p class=MsoListParagraph>no mark</p>"),
        "no mark\n"
    );
}

#[test]
fn lists_of_google_docs_nest_by_their_classes() {
    let html = "<ul class='c1 lst-kix_ab-0 start'><li>a</li></ul><ol class='lst-kix_ab-1 start' start=1><li>b</li><li>c</li></ol>
        <ul class='lst-kix_ab-0'><li>d</li></ul>";
    assert_eq!(markdown(html), "- a\n\n  1. b\n  2. c\n- d\n");
}

#[test]
fn tables_of_contents_are_left_out_by_what_they_link_to() {
    let headings = "<h2>Scope</h2><p>s</p><h2>2 载波聚合</h2><p>c</p><h2>Limits</h2><p>l</p>";
    let without = "## Scope\n\ns\n\n## 2 载波聚合\n\nc\n\n## Limits\n\nl\n";
    let list = "<p>Contents</p><ul><li><a href='#a'>1 Scope</a></li><li><a href='#b'>2 载波聚合</a></li><li><a href='#c'>Limits</a></li></ul>";
    assert_eq!(markdown(&format!("{list}{headings}")), without);
    let word = "<p class=MsoToc1><a href='#a'>Scope<span>..... </span>3</a></p><p><a href='#b'>2 载波聚合 4</a></p><p><a href='#c'>Limits 12</a></p>";
    assert_eq!(markdown(&format!("{word}{headings}")), without);
    let others = "<ul><li><a href='#a'>Scope</a></li><li><a href='#b'>Elsewhere</a></li><li><a href='#c'>Other</a></li></ul>";
    assert!(markdown(&format!("{others}{headings}")).starts_with("- Scope\n- Elsewhere\n"));
}

#[test]
fn tables_of_long_texts_and_of_titles_are_tables() {
    let long = "word ".repeat(90);
    let row = |name: &str| format!("<tr><td>{name}</td><td>{long}</td></tr>");
    let records = format!("<table>{}{}{}</table>", row("R1"), row("R2"), row("R3"));
    assert_eq!(markdown(&records).lines().count(), 4);
    let titles = "<table><tr><td><h4>A</h4></td><td><h4>B</h4></td></tr><tr><td>1</td><td>2</td></tr></table>";
    assert_eq!(
        markdown(titles),
        "| **A** | **B** |\n| --- | --- |\n| 1 | 2 |\n"
    );
    assert_eq!(
        markdown("<table border=1><tr><td>a</td><td>b</td></tr></table>"),
        "| a | b |\n| --- | --- |\n"
    );
    assert_eq!(
        markdown("<table><tr><td>a</td><td>b</td></tr></table>"),
        "a\n\nb\n"
    );
}

#[test]
fn a_button_in_a_sentence_is_a_word_of_it() {
    assert_eq!(
        markdown(
            "<p>Press <button>RESET</button> and then <button>START</button> for 5 s.</p><button>Copy</button>"
        ),
        "Press RESET and then START for 5 s.\n"
    );
    assert_eq!(markdown("<p>one <button>Edit</button></p>"), "one\n");
}

#[test]
fn what_a_reader_opens_is_read() {
    for panel in [
        "<h2>Why?</h2><div class=panel style='display: none'><p>Because.</p></div>",
        "<h2>Why?</h2><div hidden><p>Because.</p></div>",
        "<div class=accordion><h2>Why?</h2></div><div class='collapse' style='display:none'><p>Because.</p></div>",
        "<div role=tabpanel hidden><h2>Why?</h2><p>Because.</p></div>",
    ] {
        let page = format!("{panel}<p hidden>secret</p><p>end</p>");
        assert_eq!(markdown(&page), "## Why?\n\nBecause.\n\nend\n", "{panel}");
    }
}

#[test]
fn formulas_between_brackets_are_those_of_a_page_that_shows_them() {
    let text = "<p>Moment \\(M = F \\cdot l\\) and \\[ \\sigma = 1 \\] \\(open</p>";
    assert_eq!(
        markdown(&format!("<script src='//cdn/MathJax.js'></script>{text}")),
        "Moment $M = F \\cdot l$ and $$\\sigma = 1$$ \\\\(open\n"
    );
    assert!(!markdown(text).contains('$'));
}
