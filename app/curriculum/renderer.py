"""Tokens to HTML. What was judged beforehand (links, images, raw HTML) lies in each token's
meta; see annotate.py.
"""

import re
from collections.abc import Sequence
from html import escape
from typing import Any

import nh3
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from app.curriculum.text import collapse

HOLD_OPEN, HOLD_CLOSE = (
    "\ue000",
    "\ue001",
)  # around the number of a trusted piece; the two never occur in a source
_HELD = re.compile(f"{HOLD_OPEN}(\\d+){HOLD_CLOSE}")
_ALIGN = {"text-align:right": "r", "text-align:center": "c", "text-align:left": "l"}

_COMMON = {"class", "id"}
TAGS = {
    "a", "abbr", "b", "blockquote", "br", "caption", "cite", "code", "dd", "del", "details", "dfn",
    "div", "dl", "dt", "em",
    "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "ins", "kbd", "li",
    "mark", "ol", "p", "pre",
    "q", "s", "samp", "small", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td",
    "tfoot", "th", "thead", "tr",
    "u", "ul", "var",
}  # fmt: skip
ATTRIBUTES = {
    "*": _COMMON,
    "a": {"href", "title"},
    "abbr": {"title"},
    "img": {"src", "alt", "title", "width", "height", "loading"},
    "ol": {"start"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
    "details": {"open"},
    "pre": {"tabindex"},
    "div": {"tabindex", "role", "aria-label"},
}
_CLEANER = nh3.Cleaner(
    tags=TAGS,
    attributes=ATTRIBUTES,
    url_schemes={"http", "https", "mailto"},
    link_rel="noopener noreferrer",
    clean_content_tags={"script", "style"},
)


def clean(html: str) -> str:
    """Only tags and attributes of the allow-list, balanced."""
    return str(_CLEANER.clean(html))


def finish(html: str, trusted: Sequence[str]) -> str:
    """Clean the HTML, then put the trusted pieces (formulas) where they belong."""
    cleaned = clean(html).strip()
    if HOLD_OPEN not in cleaned:
        return cleaned
    return _HELD.sub(
        lambda match: trusted[int(match.group(1))] if int(match.group(1)) < len(trusted) else "", cleaned
    )


class Renderer(RendererHTML):
    """HTML for lessons: tables that scroll, code that can be focused, links that were resolved."""

    # The signature of every rule is the library's.

    def link_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        meta = tokens[idx].meta
        if not meta.get("href"):
            kind = meta.get("kind", "broken-link")
            return f'<span class="{kind}">' if kind else "<span>"
        title = tokens[idx].attrGet("title")
        css = f' class="{meta["kind"]}"' if meta.get("kind") else ""
        return f'<a href="{escape(meta["href"])}"{css}' + (
            f' title="{escape(str(title))}">' if title else ">"
        )

    def link_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        meta = tokens[idx].meta
        if meta.get("href"):
            return "</a>"
        return f"{meta.get('note', '')}</span>"

    def image(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        token = tokens[idx]
        alt = escape(collapse(self.renderInlineAsText(token.children or [], options, env)))
        title = token.attrGet("title")
        shown = f' title="{escape(str(title))}"' if title else ""
        source, link = token.meta.get("src", ""), token.meta.get("link", "")
        if source:
            width, height = token.meta.get("size", (0, 0))
            room = f' width="{width}" height="{height}"' if width and height else ""
            return f'<img src="{escape(source)}" alt="{alt}"{shown}{room} loading="lazy">'
        if link:
            return f'<a class="image-elsewhere" href="{escape(link)}">{alt or escape(link)}</a>'
        named = alt or escape(str(token.attrGet("src") or "")[:80])
        return f'<span class="missing-image">{named} (image missing)</span>'

    def html_inline(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return str(tokens[idx].meta.get("html", escape(tokens[idx].content)))

    def html_block(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return str(tokens[idx].meta.get("html", escape(tokens[idx].content)))

    def raw_text(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return f'<pre class="raw" tabindex="0">{escape(tokens[idx].content)}</pre>'

    def calc(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        named = tokens[idx].meta.get("id", "")
        place = f' id="{named}"' if named else ""  # none in a link: it leads where the link leads
        return f'<strong class="calc"{place}>{escape(tokens[idx].meta["shown"])}</strong>'

    def math(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        token = tokens[idx]
        held = token.meta.get("held")
        if held is None:
            return f"<code>{escape(token.content)}</code>"
        piece = f"{HOLD_OPEN}{held}{HOLD_CLOSE}"
        return f'<div class="formula">{piece}</div>\n' if token.block else piece

    def code_block(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return f'<pre tabindex="0"><code>{escape(tokens[idx].content)}</code></pre>\n'

    def fence(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        token = tokens[idx]
        if diagram := token.meta.get("figure"):
            return str(diagram)
        language = token.info.strip().split()[0] if token.info.strip() else ""
        css = f' class="language-{escape(language)}"' if language else ""
        return f'<pre tabindex="0"><code{css}>{escape(token.content)}</code></pre>\n'

    def heading_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        anchor = tokens[idx].meta.get("anchor", "")
        return f'<{tokens[idx].tag} id="{escape(anchor)}">' if anchor else f"<{tokens[idx].tag}>"

    def table_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        label = escape(_heads(tokens, idx))
        return f'<div class="scroll" tabindex="0" role="group" aria-label="{label}"><table>\n'

    def table_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return "</table></div>\n"

    def th_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        # A head without words is no head: screen readers would announce nothing.
        return _cell(tokens[idx]) if tokens[idx + 1].content.strip() else "<td>"

    def th_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return "</th>\n" if tokens[idx - 1].content.strip() else "</td>\n"

    def td_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return _cell(tokens[idx])

    def fold_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        summary = tokens[idx].meta.get("summary_html") or "Details"
        return f"<details><summary>{summary}</summary>\n"

    def fold_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return "</details>\n"


def _heads(tokens: Sequence[Token], idx: int) -> str:
    """What the table is called for screen readers: its column heads."""
    heads = []
    for at in range(idx + 1, len(tokens)):
        if tokens[at].type == "thead_close":
            break
        if tokens[at].type == "th_open" and (words := collapse(tokens[at + 1].content)):
            heads.append(words)
    return f"Table: {', '.join(heads)}"[:200] if heads else "Table"


def _cell(token: Token) -> str:
    css = _ALIGN.get(str(token.attrGet("style") or ""), "")
    return f'<{token.tag} class="{css}">' if css else f"<{token.tag}>"
