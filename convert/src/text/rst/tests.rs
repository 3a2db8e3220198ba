//! Texts and their Markdown.
#![allow(clippy::unwrap_used)]

use tributary_schemas::ImageLink;

use super::*;
use crate::hostile::withstands;
use crate::test_config::config;

fn convert_text(source: &str) -> Converted {
    let config: crate::Config = config();
    convert(source.as_bytes(), &Limits::starting_now(&config)).unwrap()
}

fn markdown(source: &str) -> String {
    convert_text(source).markdown
}

#[test]
fn titles_directives_and_roles_become_markdown() {
    let source = "\
.. _target:

=====
Title
=====

Intro with :ref:`a link <target>` and ``code`` and `site <https://x.y>`_.

第一节
------

.. code-block:: bash
   :linenos:

   $ run
     it

.. note:: Mind this.

.. image:: a.png
   :alt: An image

Literal::

    raw *text*

After.
";
    let converted = convert_text(source);
    assert_eq!(
        converted.markdown,
        "# Title\n\nIntro with a link and `code` and [site](https://x.y).\n\n## 第一节\n\n```bash\n$ run\n  it\n```\n\n**Note:** Mind this.\n\n![An image](image:0)\n\nLiteral:\n\n```\nraw *text*\n```\n\nAfter.\n"
    );
    assert_eq!(converted.title.as_deref(), Some("Title"));
    assert_eq!(
        converted.images,
        vec![ImageLink {
            link: "a.png".into(),
            alt: "An image".into()
        }]
    );
}

#[test]
fn levels_follow_the_order_of_adornments() {
    let source = "====\nPart\n====\n\nOne\n===\n\nTwo\n---\n\nThree\n~~~~~\n\nNext one\n========\n\n小结\n--\n";
    assert_eq!(
        markdown(source),
        "# Part\n\n## One\n\n### Two\n\n#### Three\n\n## Next one\n\n### 小结\n"
    );
}

#[test]
fn interface_pages_have_headings_signatures_and_lists() {
    let source = "\
pkg.Net
=======

.. py:class:: pkg.Net(size, *args)

    建立网络。

    参数：
        - **size** (int) - 大小，shape为 :math:`(N, C_{in})` 。默认值： ``None`` 。

          - 如果是 :class:`pkg.Tensor` ，见 :func:`~pkg.ops.add` 。
        - **x_y** (str) - 名称。

    返回：
        Tensor。

    .. py:method:: run(x)
        :property:

        运行。
";
    assert_eq!(
        markdown(source),
        "# pkg.Net\n\n`class pkg.Net(size, *args)`\n\n建立网络。\n\n**参数：**\n\n- **size** (int) - 大小，shape为 $(N, C_{in})$ 。默认值： `None` 。\n\n  - 如果是 `pkg.Tensor` ，见 `add` 。\n- **x_y** (str) - 名称。\n\n**返回：**\n\nTensor。\n\n## run\n\n`run(x)`\n\n运行。\n"
    );
}

#[test]
fn grid_tables_have_spans_lists_and_wide_characters() {
    let source = "\
+-----------+-------+
| 名称      | Value |
+===========+=======+
| a | b     | - x   |
|           | - y   |
+-----------+-------+
";
    assert_eq!(
        markdown(source),
        "| 名称 | Value |\n| --- | --- |\n| a \\| b | - x<br>- y |\n"
    );
    let spans = "\
+-----+-----+-----+
| A         | B   |
+=====+=====+=====+
| 1   | 2   | 3   |
|     +-----+-----+
|     | 4         |
+-----+-----------+
";
    assert_eq!(
        markdown(spans),
        "| A | A | B |\n| --- | --- | --- |\n| 1 | 2 | 3 |\n| 1 | 4 |  |\n"
    );
    let counted_by_characters =
        "+----+----+\n| 名称 | 值 |\n+====+====+\n| 甲 | 乙 |\n+----+----+\n";
    assert_eq!(
        markdown(counted_by_characters),
        "| 名称 | 值 |\n| --- | --- |\n| 甲 | 乙 |\n"
    );
}

#[test]
fn simple_tables_continue_lines() {
    let source = "=====  =====\n名称   Value\n=====  =====\na      one\n       more\n``b``  two longer than the border\n=====  =====\n\nafter\n";
    assert_eq!(
        markdown(source),
        "| 名称 | Value |\n| --- | --- |\n| a | one more |\n| `b` | two longer than the border |\n\nafter\n"
    );
}

#[test]
fn list_and_csv_tables_become_tables() {
    let list = ".. list-table:: Caption\n   :header-rows: 1\n\n   * - A\n     - B\n   * - ``1``\n     - two|bars\n";
    assert_eq!(
        markdown(list),
        "**Caption**\n\n| A | B |\n| --- | --- |\n| `1` | two\\|bars |\n"
    );
    let csv =
        ".. csv-table::\n   :header: \"A\", \"B\"\n\n   \"x, y\", \"say \"\"hi\"\"\"\n   *1*,\n";
    assert_eq!(
        markdown(csv),
        "| A | B |\n| --- | --- |\n| x, y | say \"hi\" |\n| *1* |  |\n"
    );
}

#[test]
fn links_footnotes_and_substitutions_are_resolved() {
    let source = "\
See `Python home`_, Python_, `this`__ and |version| of |logo|, a note [#n]_ and [CIT]_.

.. _Python home: https://python.org
.. _Python: `Python home`_
__ https://anonymous.org
.. |version| replace:: *1.0*
.. |logo| image:: logo.png
   :alt: The logo
.. [#n] The note
   goes on.
.. [CIT] A citation.
";
    let converted = convert_text(source);
    assert_eq!(
        converted.markdown,
        "See [Python home](https://python.org), [Python](https://python.org), [this](https://anonymous.org) and *1.0* of ![The logo](image:0), a note[^n] and[^CIT].\n\n[^n]: The note goes on.\n\n[^CIT]: A citation.\n"
    );
}

#[test]
fn references_to_labels_show_their_titles() {
    let source = ".. _setup:\n\nSet-up\n======\n\nSee :ref:`setup`, :doc:`/a/b` and :doc:`text <c>`, :pep:`8`, :sub:`x`, :any-role:`plain`.\n";
    assert_eq!(
        markdown(source),
        "# Set-up\n\nSee Set-up, [/a/b](/a/b) and [text](c), PEP 8, ₓ, plain.\n"
    );
}

#[test]
fn a_title_may_begin_with_a_substitution() {
    let source = "\
.. |product| replace:: Widget

|product| Guide
###############

|project_name| Manual
---------------------

Run |project_name| or |product|.

| a line
| another
";
    let converted = convert_text(source);
    assert_eq!(
        converted.markdown,
        "# Widget Guide\n\n## |project_name| Manual\n\nRun |project_name| or Widget.\n\na line\nanother\n"
    );
    assert_eq!(converted.title.as_deref(), Some("Widget Guide"));
}

#[test]
fn rows_of_tables_are_no_titles() {
    let source = "|aa|bb|\n-------\n";
    assert!(!markdown(source).contains('#'), "{}", markdown(source));
}

#[test]
fn lists_of_all_kinds_are_read() {
    let source = "\
* one

  two paragraphs

  1. first
  #. second
* last

term : kind
    Definition.

:Author: Me
:Empty:

-v, --verbose  Say more
--file=NAME    Read it

| line one
| line two
";
    assert_eq!(
        markdown(source),
        "- one\n\n  two paragraphs\n\n  1. first\n  2. second\n\n- last\n\n**term** (kind)\n\nDefinition.\n\n- **Author**: Me\n\n- `-v, --verbose`: Say more\n- `--file=NAME`: Read it\n\nline one\nline two\n"
    );
}

#[test]
fn what_is_no_text_for_a_reader_goes() {
    let source = "\
.. A comment
   of two lines

.. raw:: html

   <b>raw</b>

.. contents::
   :local:

..

Kept.

.. role:: red(raw)

.. include:: other.rst
.. literalinclude:: src/a.py
   :language: python

.. toctree::
   :maxdepth: 2

   intro
   Title <dir/page>

>>> 1 + 1
2

----

Text with \\ escapes\\ s and \\*stars\\* and **中文**\\ 混排 and a * b.
";
    assert_eq!(
        markdown(source),
        "Kept.\n\n[other.rst](other.rst)\n\n[a.py](src/a.py)\n\n- [intro](intro)\n- [Title](dir/page)\n\n```python\n>>> 1 + 1\n2\n```\n\n---\n\nText with escapess and \\*stars\\* and **中文**混排 and a * b.\n"
    );
}

#[test]
fn formulas_are_latex() {
    let source = ".. math::\n   :label: x\n\n   a &= b \\\\\n   c &= d\n\n.. math:: e = mc^2\n";
    assert_eq!(
        markdown(source),
        "$$\n\\begin{aligned}\na &= b \\\\\nc &= d\n\\end{aligned}\n$$\n\n$$\ne = mc^2\n$$\n"
    );
}

#[test]
fn sloppy_text_is_read_as_it_was_meant() {
    let source = "Text before\n.. note::\n   A note.\n使用``代码``和:ref:`标签 <x>`。\n\n一行中文\n接着一行 and\nEnglish.\n";
    assert_eq!(
        markdown(source),
        "Text before\n\n**Note:** A note.\n\n使用`代码`和标签。\n\n一行中文接着一行 and English.\n"
    );
}

#[test]
fn spaces_behind_the_dots_and_text_below_a_target_are_no_comments() {
    let source = "..  math::\n    x\n\n.. _label:\n\n    - indented\n\n..  _other: https://x.y\n\nSee other_.\n";
    assert_eq!(
        markdown(source),
        "$$\nx\n$$\n\n- indented\n\nSee [other](https://x.y).\n"
    );
}

#[test]
fn table_borders_and_transitions_are_no_titles() {
    let converted = convert_text("+---+---+\n| a | b |\n+---+---+\n\ntext\n\n----\n\nmore\n");
    assert!(!converted.markdown.contains('#'), "{}", converted.markdown);
}

#[test]
fn damage_and_depth_do_no_harm() {
    let sample = "Title\n=====\n\n.. note::\n\n   * a ``b`` :c:`d <e>`\n\n     +---+---+\n     | a | b |\n     +---+---+\n\n===  ===\na    b\n===  ===\n\n|x| [1]_ `l`_ `m <n>`__ **o** *p*\n\n.. |x| replace:: y\n.. [1] z\n".repeat(4);
    withstands(sample.as_bytes(), convert);
    let config: crate::Config = config();
    let deep_list: String = (0..3000)
        .map(|depth| format!("{}- x\n\n", " ".repeat(2 * depth.min(600))))
        .collect();
    let deep_table = format!("+{}\n", "-+".repeat(5000));
    let hostile = [
        deep_list,
        ".. note::\n".repeat(50_000),
        deep_table,
        "`a *b **c |d ``e [f".repeat(20_000),
        "*a ".repeat(100_000),
        "a_ ".repeat(100_000),
        ".. |a| replace:: |a| |a|\n\n|a|\n".to_owned(),
        ".. _a: a_\n\na_\n".to_owned(),
        "= =\n".repeat(20_000),
        "+-+\n".repeat(20_000),
        "- ".repeat(50_000),
        ":a: ".repeat(50_000),
        "x\n".repeat(100_000) + "===",
    ];
    for source in hostile {
        let started = std::time::Instant::now();
        let result = convert(source.as_bytes(), &Limits::starting_now(&config));
        let start: String = source.chars().take(20).collect();
        assert!(result.is_ok(), "{start}");
        assert!(
            started.elapsed().as_secs() < 20,
            "{start} took {:?}",
            started.elapsed()
        );
    }
}
