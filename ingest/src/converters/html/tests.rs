//! Pages and their Markdown.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::test_config::config;

fn page(html: &str) -> Converted {
    let config = config();
    convert(html.as_bytes(), &Limits::starting_now(&config)).unwrap()
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
    assert_eq!(markdown(html), "- a\n\n  3. x\n  4. y\n- b\n\n1. one\n\n   two\n\n2. three\n");
    assert_eq!(markdown("<dl><dt>T</dt><dd>d1</dd><dd>d2</dd></dl>"), "**T**\n\n- d1\n- d2\n");
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
    assert_eq!(markdown("<table><tr><td><h1>A</h1><p>text</p></td><td>side</td></tr></table>"), "# A\n\ntext\n\nside\n");
}

#[test]
fn what_surrounds_the_content_goes() {
    let html = "<html><head><title>T - Site</title><style>p{}</style></head><body><nav>Menu</nav><header>Top</header><div class='cookie-banner'>Cookies</div>
        <main><h1>T</h1><p>Content that is long enough to count as the main content of the page.</p><p hidden>secret</p><p style='display: none'>secret</p>
        <form><label>Name</label><input value=x><button>Go</button></form><script>alert(1)</script></main><footer>Foot</footer></body></html>";
    let page = page(html);
    assert_eq!(page.markdown, "# T\n\nContent that is long enough to count as the main content of the page.\n");
    assert_eq!(page.title.as_deref(), Some("T"));
}

#[test]
fn a_page_of_navigation_only_is_kept() {
    assert_eq!(markdown("<body><nav><a href=/a>Alpha</a> <a href=/b>Beta</a></nav></body>"), "[Alpha](/a) [Beta](/b)\n");
}

#[test]
fn metadata_is_read() {
    let page = page(
        "<html lang=zh-CN><head><meta name=Author content=' A  B '><meta property='article:modified_time' content='2024-05-06T07:08:09Z'>
         <meta name=keywords content='x, y'><link rel=canonical href='https://h/p'></head><body>t</body></html>",
    );
    for (name, value) in
        [("author", "A B"), ("modified", "2024-05-06T07:08:09Z"), ("keywords", "x, y"), ("language", "zh-CN"), ("link", "https://h/p")]
    {
        assert_eq!(page.metadata.get(name).map(String::as_str), Some(value), "{name}");
    }
}

#[test]
fn images_are_listed_and_data_urls_are_not() {
    let page = page(
        "<p><img src='data:image/png;base64,AAAA' data-src='a.png' alt='A [1]'><img src='data:x' alt='only text'><img src=p.gif width=1 height=1></p>",
    );
    assert_eq!(page.markdown, "![A 1](image:0)only text\n");
    assert_eq!(page.images, vec![ImageLink { link: "a.png".into(), alt: "A 1".into() }]);
}

#[test]
fn text_does_not_turn_into_markup() {
    assert_eq!(
        markdown("<p># no heading</p><p>1. no list</p><p>a*b*c snake_case_name _x_ `c` &lt;b&gt;</p>"),
        "\\# no heading\n\n1\\. no list\n\na\\*b\\*c snake_case_name \\_x\\_ \\`c\\` \\<b>\n"
    );
}

#[test]
fn line_ends_between_chinese_characters_are_no_spaces() {
    assert_eq!(markdown("<p>载波\n  聚合 技术\nABC</p>"), "载波聚合 技术 ABC\n");
}

#[test]
fn declared_charsets_are_found() {
    assert_eq!(declared_charset(b"<meta http-equiv=Content-Type content=\"text/html; charset=GB2312\">").as_deref(), Some("gb2312"));
    assert_eq!(declared_charset(b"<meta charset='big5'>").as_deref(), Some("big5"));
    assert_eq!(declared_charset(b"<?xml version='1.0' encoding='Shift_JIS'?>").as_deref(), Some("shift_jis"));
    assert_eq!(declared_charset(b"<p>charset</p>"), None);
}
