"""HTML as programs write it: each style is how one kind of program writes headings, lists, tables, code and notes, and what it puts around the content."""
import html

from structures import FIRST_PAGE, grouped, headings, printed, tree

CHROME = "Menu entry elsewhere"


class Plain:
    """What an author writes by hand; the other styles change what they do otherwise."""
    frame = "<!DOCTYPE html><html><head><meta charset='utf-8'><title>{title}</title></head><body>{body}</body></html>"

    def __init__(self):
        self.notes = []

    def page(self, blocks, title):
        body = "\n".join(self.group(kind, group) for kind, group in grouped(blocks))
        links = "".join(f'<li><a href="#h{number}">{html.escape(text)}</a></li>' for number, text in enumerate(headings(blocks)))
        return self.frame.format(title=html.escape(title), body=self.before(blocks) + body + self.notes_at_end(), chrome=CHROME, headings=links)

    def before(self, blocks):
        return ""

    def group(self, kind, group):
        block = group[0]
        match kind:
            case "heading":
                return self.heading(block["level"], self.runs(block["runs"]))
            case "paragraph":
                return self.paragraph(self.runs(block["runs"]))
            case "code":
                return self.code(block["text"])
            case "item":
                return self.list(tree(group))
            case "definition":
                return self.definitions(group)
            case "formula":
                return (f'<p><math xmlns="http://www.w3.org/1998/Math/MathML" display="block"><mfrac><mi>{block["over"]}</mi><mi>{block["under"]}</mi></mfrac></math></p>')
        return self.table(block["rows"])

    def runs(self, runs):
        return "".join(self.run(*run) for run in runs)

    def run(self, style, text, address="https://example.org/"):
        text = html.escape(text)
        match style:
            case "bold":
                return f"<b>{text}</b>"
            case "code":
                return f"<code>{text}</code>"
            case "link":
                return f'<a href="{html.escape(address)}">{text}</a>'
            case "note":
                self.notes.append(text)
                return self.note_mark(len(self.notes))
        return text

    def note_mark(self, number):
        return f'<sup><a href="#n{number}">{number}</a></sup>'

    def notes_at_end(self):
        return "<hr><ol>" + "".join(f'<li id="n{number}">{text}</li>' for number, text in enumerate(self.notes, 1)) + "</ol>" if self.notes else ""

    def heading(self, level, text):
        return f"<h{level}>{text}</h{level}>"

    def paragraph(self, text):
        return f"<p>{text}</p>"

    def code(self, text):
        return f"<pre><code>{html.escape(text)}</code></pre>"

    def list(self, nodes):
        name = "ul" if nodes[0][0]["number"] is None else "ol"
        return f"<{name}>" + "".join(f"<li>{self.item(block)}{self.list(below) if below else ''}</li>" for block, below in nodes) + f"</{name}>"

    def item(self, block):
        return self.runs(block["runs"])

    def definitions(self, group):
        return "<dl>" + "".join(f"<dt>{self.runs(block['term'])}</dt><dd>{self.runs(block['runs'])}</dd>" for block in group) + "</dl>"

    def table(self, rows):
        return "<table>" + "".join(self.row(row) for row in rows) + "</table>"

    def row(self, row):
        return "<tr>" + "".join(self.cell(cell) for cell in row) + "</tr>"

    def cell(self, cell, attributes=""):
        name = "th" if cell.get("head") else "td"
        return f"<{name}{spans(cell)}{attributes}>{self.content(cell)}</{name}>"

    def content(self, cell):
        return self.runs(cell["runs"]) + (self.table(cell["inner"]) if "inner" in cell else "")


def spans(cell):
    return "".join(f' {name}span="{cell[key]}"' for name, key in (("col", "columns"), ("row", "rows")) if cell[key] > 1)


def headed(rows):
    """The rows of the head, and the others."""
    count = next((number for number, row in enumerate(rows) if not all(cell.get("head") for cell in row)), len(rows))
    return rows[:count], rows[count:]


class Sphinx(Plain):
    frame = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head><body>
<div class="related" role="navigation" aria-label="Related"><h3>Navigation</h3><ul><li><a href="i.html">{chrome}</a></li></ul></div>
<div class="document"><div class="documentwrapper"><div class="bodywrapper"><div class="body" role="main"><section id="s">{body}</section></div></div></div>
<div class="sphinxsidebar" role="navigation" aria-label="Main"><div class="sphinxsidebarwrapper"><h3><a href="i">Table of Contents</a></h3><ul><li>{chrome}</li></ul></div></div></div>
<div class="footer" role="contentinfo">{chrome}</div></body></html>"""

    def heading(self, level, text):
        return f'<section id="h"><h{level}>{text}<a class="headerlink" href="#h" title="Link to this heading">¶</a></h{level}></section>'

    def item(self, block):
        return f"<p>{self.runs(block['runs'])}</p>"

    def code(self, text):
        lines = "\n".join(f'<span class="n">{html.escape(line)}</span>' for line in text.split("\n"))
        return f'<div class="highlight-python notranslate"><div class="highlight"><pre><span></span>{lines}\n</pre></div></div>'

    def note_mark(self, number):
        return f'<a class="footnote-reference brackets" href="#f{number}" id="id{number}" role="doc-noteref"><span class="fn-bracket">[</span>{number}<span class="fn-bracket">]</span></a>'

    def notes_at_end(self):
        note = ('<aside class="footnote brackets" id="f{0}" role="doc-footnote"><span class="label"><span class="fn-bracket">[</span><a role="doc-backlink" href="#id{0}">{0}</a>'
                '<span class="fn-bracket">]</span></span><p>{1}</p></aside>')
        return '<aside class="footnote-list brackets">' + "".join(note.format(*pair) for pair in enumerate(self.notes, 1)) + "</aside>"

    def table(self, rows):
        head, body = headed(rows)
        return f'<table class="docutils align-default"><thead>{"".join(map(self.row, head))}</thead><tbody>{"".join(map(self.row, body))}</tbody></table>'

    def cell(self, cell, attributes=""):
        return super().cell(cell, ' class="head"' if cell.get("head") else "")

    def content(self, cell):
        return f"<p>{self.runs(cell['runs'])}</p>" + (self.table(cell["inner"]) if "inner" in cell else "")


class MkDocs(Plain):
    frame = """<!doctype html><html><head><meta charset="utf-8"><title>{title}</title></head><body><header class="md-header" data-md-component="header"><nav class="md-header__inner">{chrome}</nav></header>
<div class="md-container"><main class="md-main"><div class="md-main__inner md-grid"><div class="md-sidebar md-sidebar--primary"><nav class="md-nav"><ul class="md-nav__list"><li class="md-nav__item">{chrome}</li></ul></nav></div>
<div class="md-content"><article class="md-content__inner md-typeset">{body}</article></div></div></main><footer class="md-footer">{chrome}</footer></div></body></html>"""

    def heading(self, level, text):
        return f'<h{level} id="x">{text}<a class="headerlink" href="#x" title="Permanent link">&para;</a></h{level}>'

    def code(self, text):
        numbers = "\n".join(f'<span class="normal">{number + 1}</span>' for number in range(text.count("\n") + 1))
        return (f'<div class="highlight"><table class="highlighttable"><tr><td class="linenos"><div class="linenodiv"><pre><span></span>{numbers}</pre></div></td>'
                f'<td class="code"><div><pre><span></span><code>{html.escape(text)}\n</code></pre></div></td></tr></table></div>')

    def table(self, rows):
        head, body = headed(rows)
        return (f'<div class="md-typeset__scrollwrap"><div class="md-typeset__table"><table><thead>{"".join(map(self.row, head))}</thead>'
                f'<tbody>{"".join(map(self.row, body))}</tbody></table></div></div>')

    def definitions(self, group):
        block = "".join(super(MkDocs, self).definitions([one]) for one in group)
        return f'<details class="note" open><summary>Definitions</summary>{block}</details>'


class Word(Plain):
    """Word's "save as web page": no list elements, no header cells, a table of contents with page numbers."""
    frame = """<html xmlns:o="urn:schemas-microsoft-com:office:office" xmlns:w="urn:schemas-microsoft-com:office:word" xmlns="http://www.w3.org/TR/REC-html40"><head>
<meta http-equiv=Content-Type content="text/html; charset=utf-8"><meta name=Generator content="Microsoft Word 15"><title>{title}</title></head><body lang=EN-US style='tab-interval:36.0pt'><div class=WordSection1>{body}</div></body></html>"""

    def before(self, blocks):
        entry = ("<p class=MsoToc{0}><span class=MsoHyperlink><a href=\"#_Toc{2}\">{1}<span style='mso-tab-count:1 dotted'>. </span>{2}</a></span><o:p></o:p></p>")
        levels = [block["level"] for block in blocks if block["kind"] == "heading"]
        return "".join(entry.format(level, html.escape(text), number) for number, (level, text) in enumerate(zip(levels, headings(blocks)), FIRST_PAGE))

    def heading(self, level, text):
        return f'<h{level}><a name="_Toc1"><span lang=EN-US>{text}</span></a><span lang=EN-US><o:p></o:p></span></h{level}>'

    def paragraph(self, text):
        return f"<p class=MsoNormal><span lang=EN-US>{text}<o:p></o:p></span></p>"

    def list(self, nodes, depth=1):
        out = []
        for block, below in nodes:
            mark = "·" if block["number"] is None else f"{block['number']}."
            out.append(f"<p class=MsoListParagraphCxSpMiddle style='margin-left:{36 * depth}.0pt;text-indent:-18.0pt;mso-list:l0 level{depth} lfo1'><![if !supportLists]><span style='font-family:Symbol'>"
                       f"<span style='mso-list:Ignore'>{mark}<span style='font:7.0pt \"Times New Roman\"'>&nbsp;&nbsp;&nbsp; </span></span></span><![endif]><span lang=EN-US>{self.item(block)}<o:p></o:p></span></p>")
            out.append(self.list(below, depth + 1) if below else "")
        return "".join(out)

    def definitions(self, group):
        return "".join(self.paragraph(f"<b>{self.runs(block['term'])}</b>") + self.paragraph(self.runs(block["runs"])) for block in group)

    def note_mark(self, number):
        return f"<a style='mso-footnote-id:ftn{number}' href=\"#_ftn{number}\" name=\"_ftnref{number}\"><span class=MsoFootnoteReference>[{number}]</span></a>"

    def notes_at_end(self):
        note = "<div style='mso-element:footnote' id=ftn{0}><p class=MsoFootnoteText><a style='mso-footnote-id:ftn{0}' href=\"#_ftnref{0}\" name=\"_ftn{0}\"><span class=MsoFootnoteReference>[{0}]</span></a> {1}</p></div>"
        return "<div style='mso-element:footnote-list'><br clear=all><hr align=left size=1 width=\"33%\">" + "".join(note.format(*pair) for pair in enumerate(self.notes, 1)) + "</div>"

    def table(self, rows):
        return "<table class=MsoTableGrid border=1 cellspacing=0 cellpadding=0 style='border-collapse:collapse'>" + "".join(map(self.row, rows)) + "</table>"

    def cell(self, cell, attributes=""):
        return f"<td width=97 valign=top{spans(cell)}>{self.content(cell)}</td>"

    def content(self, cell):
        return f"<p class=MsoNormal><span lang=EN-US>{self.runs(cell['runs'])}<o:p></o:p></span></p>" + (self.table(cell["inner"]) + "<p class=MsoNormal><o:p></o:p></p>" if "inner" in cell else "")


class Wiki(Plain):
    frame = """<!DOCTYPE html><html><head><meta charset="utf-8"><title>{title}</title></head><body><div id="mw-page-base" class="noprint"></div><div id="content" class="mw-body" role="main"><div id="bodyContent">
<div id="mw-content-text"><div class="mw-parser-output"><div id="toc" class="toc" role="navigation"><h2>Contents</h2><ul>{headings}</ul></div>{body}
<table class="navbox" role="navigation"><tr><th>{chrome}</th></tr></table></div></div></div></div><div id="mw-navigation"><h2>{chrome}</h2></div><div id="footer" role="contentinfo">{chrome}</div></body></html>"""

    def heading(self, level, text):
        return f'<div class="mw-heading mw-heading{level}"><h{level} id="s">{text}</h{level}><span class="mw-editsection"><span class="mw-editsection-bracket">[</span><a href="/e">edit</a><span class="mw-editsection-bracket">]</span></span></div>'

    def table(self, rows):
        return f'<table class="wikitable"><tbody>{"".join(map(self.row, rows))}</tbody></table>'

    def cell(self, cell, attributes=""):
        return super().cell(cell, ' scope="col"' if cell.get("head") else "")

    def note_mark(self, number):
        return f'<sup id="cite_ref-{number}" class="reference"><a href="#cite_note-{number}"><span class="cite-bracket">&#91;</span>{number}<span class="cite-bracket">&#93;</span></a></sup>'

    def notes_at_end(self):
        note = '<li id="cite_note-{0}"><span class="mw-cite-backlink"><b><a href="#cite_ref-{0}">^</a></b></span> <span class="reference-text">{1}</span></li>'
        return '<div class="mw-references-wrap"><ol class="references">' + "".join(note.format(*pair) for pair in enumerate(self.notes, 1)) + "</ol></div>" if self.notes else ""


class Roles(Plain):
    """Nothing but `div` and `span`; what they are is in their roles."""
    frame = """<!DOCTYPE html><html><head><meta charset="utf-8"><title>{title}</title></head><body><div id="root"><div role="banner">{chrome}</div><div role="navigation">{chrome}</div><div role="main"><div class="x1">{body}</div></div>
<div role="contentinfo">{chrome}</div></div></body></html>"""

    def heading(self, level, text):
        return f'<div class="x2"><div role="heading" aria-level="{level}"><span>{text}</span></div></div>'

    def paragraph(self, text):
        return f'<div class="x3"><span>{text}</span></div>'

    def list(self, nodes):
        return '<div role="list">' + "".join(f'<div role="listitem"><div>{self.item(block)}</div>{self.list(below) if below else ""}</div>' for block, below in nodes) + "</div>"

    def table(self, rows):
        return f'<div class="x4"><div role="table"><div role="rowgroup">{"".join(map(self.row, rows))}</div></div></div>'

    def row(self, row):
        return '<div role="row">' + "".join(map(self.cell, row)) + "</div>"

    def cell(self, cell, attributes=""):
        span = "".join(f' aria-{name}span="{cell[key]}"' for name, key in (("col", "columns"), ("row", "rows")) if cell[key] > 1)
        return f'<div role="{"columnheader" if cell.get("head") else "cell"}"{span}><div>{self.content(cell)}</div></div>'


class Layout(Plain):
    """A page of the nineties: tables around everything."""
    frame = """<html><head><meta charset="utf-8"><title>{title}</title></head><body><center><table width="760" border="0" cellpadding="0" cellspacing="0"><tr><td colspan="2"><img src="logo.gif" alt=""></td></tr>
<tr><td width="120" valign="top"><a href="a.html">Home</a><br><a href="b.html">About</a></td><td valign="top"><table width="100%"><tr><td>{body}</td></tr></table></td></tr><tr><td colspan="2" align="center"><font size="1">2001</font></td></tr></table></center></body></html>"""

    def table(self, rows):
        return '<table border="1">' + "".join(map(self.row, rows)) + "</table>"

    def cell(self, cell, attributes=""):
        content = self.content(cell)
        return f"<td{spans(cell)}>{f'<b>{content}</b>' if cell.get('head') else content}</td>"


class Letter(Plain):
    """A mail: tables within tables, each of a cell or two."""
    frame = """<html><head><meta charset="utf-8"><title>{title}</title></head><body><table width="100%" cellspacing="0"><tbody><tr><td align="center"><table width="600"><tbody><tr><td width="20">&nbsp;</td>
<td><table width="100%"><tbody><tr><td><table><tbody><tr><td><img src="x.png"></td><td>{title}</td></tr></tbody></table></td></tr><tr><td>{body}</td></tr></tbody></table></td><td width="20">&nbsp;</td></tr></tbody></table></td></tr></tbody></table></body></html>"""

    def heading(self, level, text):
        return f"<table width='100%'><tbody><tr><td style='padding:8px'><h{level}>{text}</h{level}></td></tr></tbody></table>"

    def paragraph(self, text):
        return f"<table width='100%'><tbody><tr><td style='padding:8px'><p>{text}</p></td></tr></tbody></table>"


class Confluence(Plain):
    frame = """<!DOCTYPE html><html><head><meta charset="utf-8"><title>{title}</title></head><body class="theme-default"><div id="page"><div id="main" class="aui-page-panel"><div id="main-header"><div id="breadcrumb-section"><ol id="breadcrumbs" class="breadcrumb"><li>{chrome}</li></ol></div></div>
<div id="content" class="view"><div id="main-content" class="wiki-content group">{body}</div></div></div><div id="footer" role="contentinfo">{chrome}</div></div></body></html>"""

    def table(self, rows):
        return f'<div class="table-wrap"><table class="wrapped confluenceTable"><colgroup><col/><col/></colgroup><tbody>{"".join(map(self.row, rows))}</tbody></table></div>'

    def cell(self, cell, attributes=""):
        return super().cell(cell, ' class="confluenceTh"' if cell.get("head") else ' class="confluenceTd"')

    def content(self, cell):
        inner = f'<div class="content-wrapper"><p>{self.runs(cell["runs"])}</p>{self.table(cell["inner"])}<p><br/></p></div>' if "inner" in cell else f"<p>{self.runs(cell['runs'])}</p>"
        return inner

    def code(self, text):
        return f'<div class="code panel pdl"><div class="codeContent panelContent pdl"><pre class="syntaxhighlighter-pre">{html.escape(text)}</pre></div></div>'


class GoogleDocs(Plain):
    """Nested lists are lists side by side, their depth is in a class."""

    def paragraph(self, text):
        return f'<p class="c1"><span class="c2">{text}</span></p>'

    def heading(self, level, text):
        return f'<h{level} class="c5" id="h.abc"><span class="c6">{text}</span></h{level}>'

    def list(self, nodes, depth=0):
        out = []
        for block, below in nodes:
            name = "ul" if block["number"] is None else "ol"
            start = f' start="{block["number"]}"' if block["number"] else ""
            out.append(f'<{name} class="c7 lst-kix_list_1-{depth}{" start" if start == "" else ""}"{start}><li class="c8 li-bullet-0"><span class="c2">{self.item(block)}</span></li></{name}>')
            out.append(self.list(below, depth + 1) if below else "")
        return "".join(out)

    def table(self, rows):
        return f'<table class="c9">{"".join(map(self.row, rows))}</table>'

    def cell(self, cell, attributes=""):
        return f'<td class="c10"{spans(cell) or " colspan=1 rowspan=1"}>{self.content(cell)}</td>'

    def content(self, cell):
        return f'<p class="c1"><span class="c2">{self.runs(cell["runs"])}</span></p>' + (self.table(cell["inner"]) if "inner" in cell else "")


class Docusaurus(Plain):
    frame = """<!doctype html><html><head><meta charset="UTF-8"><title>{title}</title></head><body><div id="__docusaurus"><nav aria-label="Main" class="navbar navbar--fixed-top">{chrome}</nav><div class="main-wrapper"><div class="docsWrapper"><aside class="theme-doc-sidebar-container"><nav>{chrome}</nav></aside>
<main class="docMainContainer"><div class="row"><div class="col"><article><nav class="theme-doc-breadcrumbs">{chrome}</nav><div class="theme-doc-markdown markdown">{body}</div></article><nav class="pagination-nav">{chrome}</nav></div><div class="col col--3"><div class="tableOfContents_bqdL thin-scrollbar theme-doc-toc-desktop"><ul class="table-of-contents">{headings}</ul></div></div></div></main></div></div></div></body></html>"""

    def heading(self, level, text):
        title = f'<h{level} class="anchor">{text}<a href="#x" class="hash-link" aria-label="Direct link to x" title="Direct link to x">\u200b</a></h{level}>'
        return f"<header>{title}</header>" if level == 1 else title

    def code(self, text):
        lines = "".join(f'<span class="token-line" style="color:#bfc7d5"><span class="token plain">{html.escape(line)}</span><br></span>' for line in text.split("\n"))
        return (f'<div class="language-bash codeBlockContainer_Ckt0"><div class="codeBlockContent_biex"><pre tabindex="0" class="prism-code language-bash"><code class="codeBlockLines_e6Vv">{lines}</code></pre>'
                '<div class="buttonGroup__atx"><button type="button" aria-label="Copy code to clipboard"><span>Copy</span></button></div></div></div>')

    table = Sphinx.table


class Asciidoctor(Plain):
    frame = """<!DOCTYPE html><html><head><meta charset="UTF-8"><meta name="generator" content="Asciidoctor 2.0.20"><title>{title}</title></head><body class="article"><div id="header"></div><div id="content"><div class="sect1"><div class="sectionbody">{body}</div></div></div>
<div id="footer"><div id="footer-text">Last updated 2024-01-01</div></div></body></html>"""

    def paragraph(self, text):
        return f'<div class="paragraph"><p>{text}</p></div>'

    def list(self, nodes):
        name, kind = ("ul", "ulist") if nodes[0][0]["number"] is None else ("ol", "olist arabic")
        return f'<div class="{kind}"><{name}>' + "".join(f"<li><p>{self.item(block)}</p>{self.list(below) if below else ''}</li>" for block, below in nodes) + f"</{name}></div>"

    def definitions(self, group):
        return f'<div class="dlist">{super().definitions(group)}</div>'

    def code(self, text):
        return f'<div class="listingblock"><div class="content"><pre class="highlightjs highlight"><code class="language-c" data-lang="c">{html.escape(text)}</code></pre></div></div>'

    def table(self, rows):
        head, body = headed(rows)
        return f'<table class="tableblock frame-all grid-all stretch"><thead>{"".join(map(self.row, head))}</thead><tbody>{"".join(map(self.row, body))}</tbody></table>'

    def content(self, cell):
        if cell.get("head"):
            return self.runs(cell["runs"])
        if "inner" in cell:
            return f'<div class="content">{self.paragraph(self.runs(cell["runs"]))}{self.table(cell["inner"])}</div>'
        return f'<p class="tableblock">{self.runs(cell["runs"])}</p>'


class LibreOffice(Plain):
    frame = "<!DOCTYPE html><html><head><meta charset='utf-8'/><title>{title}</title><meta name='generator' content='LibreOffice 7.4 (Linux)'/></head><body lang='en-US' link='#000080' dir='ltr'>{body}</body></html>"

    def heading(self, level, text):
        return f'<h{level} class="western">{text}</h{level}>'

    def item(self, block):
        return f'<p style="line-height: 100%; margin-bottom: 0cm">{self.runs(block["runs"])}</p>'

    def table(self, rows):
        return '<center><table width="643" cellpadding="4" cellspacing="0"><col width="128*"/>' + "".join(f'<tr valign="top">{"".join(map(self.cell, row))}</tr>' for row in rows) + "</table></center>"

    def cell(self, cell, attributes=""):
        return super().cell(cell, ' width="50%" style="border: 1px solid #000000; padding: 0.1cm"')

    def content(self, cell):
        return f'<p class="western">{self.runs(cell["runs"])}</p>' + (self.table(cell["inner"]) if "inner" in cell else "")

    def note_mark(self, number):
        return f'<sup><a class="sdfootnoteanc" name="sdfootnote{number}anc" href="#sdfootnote{number}sym"><sup>{number}</sup></a></sup>'

    def notes_at_end(self):
        note = '<div id="sdfootnote{0}"><p class="sdfootnote"><a class="sdfootnotesym" name="sdfootnote{0}sym" href="#sdfootnote{0}anc">{0}</a>{1}</p></div>'
        return "".join(note.format(*pair) for pair in enumerate(self.notes, 1))


STYLES = {"plain": Plain, "mkdocs": MkDocs, "roles": Roles, "layout": Layout, "confluence": Confluence, "gdocs": GoogleDocs,
          "sphinx": Sphinx, "word": Word, "wiki": Wiki, "letter": Letter, "docusaurus": Docusaurus, "asciidoctor": Asciidoctor, "libreoffice": LibreOffice}
LOOK = ["plain", "mkdocs", "roles", "layout", "confluence", "gdocs"]


def write(blocks, title, style, path):
    path.write_text(STYLES[style]().page(blocks, title), encoding="utf-8")
    return {"gone": [CHROME] + printed(blocks)}
