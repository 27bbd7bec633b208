"""The Markdown dialect: CommonMark with tables and line breaks, folds as containers, formulas on request."""

import re
from collections.abc import MutableMapping
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.html_block import html_block
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from app.curriculum.raw_html import ALONE, WITH_CONTENT
from app.curriculum.renderer import TAGS, Renderer

NEVER = WITH_CONTENT | ALONE

DEEPEST = 24  # levels of nested lists and quotes; deeper text is shown as it stands
LONGEST_INLINE = 10_000  # characters of one paragraph or cell that are read as Markdown
MOST_BRACKETS = 500  # of one paragraph: each is looked at again for every other
_RAW = re.compile(r"<(script|pre|style|textarea)(?=[\s>]|$)", re.IGNORECASE)
_TAG_NAME = re.compile(r"</?([A-Za-z][\w:-]*)")
_FIRST_OPTION = re.compile(r"[-*+]\s+[*_]{0,2}(?:\(a\)|a[).])[*_]{0,2}\s", re.IGNORECASE)
_CALC = re.compile(r"<!--\s*calc\s*:")


def make_markdown(*, math: bool) -> MarkdownIt:
    """A parser for lessons. It keeps no state between files."""
    md = MarkdownIt(
        "commonmark", {"breaks": True, "maxNesting": 100, "xhtmlOut": False}, renderer_cls=Renderer
    )
    md.enable("table")
    md.block.ruler.before("table", "too_deep", _too_deep)
    md.block.ruler.before("table", "fold", _fold, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    md.block.ruler.before("code", "indented_options", _indented_options)
    md.block.ruler.at("html_block", _html_block, {"alt": ["paragraph", "reference", "blockquote"]})
    md.core.ruler.at("inline", _inline)
    md.validateLink = lambda url: True  # type: ignore[method-assign]  # links are judged, and refused aloud, in links.py
    if math:
        md.block.ruler.before(
            "fence", "math_block", _math_block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
        )
        md.inline.ruler.before("escape", "math_inline", _math_inline)
    return md


def _inline(state: StateCore) -> None:
    """Read the inline text of every block; a single paragraph of a whole book's length stays plain."""
    for token in state.tokens:
        if token.type != "inline":
            continue
        token.children = []
        if len(token.content) > LONGEST_INLINE or token.content.count("[") > MOST_BRACKETS:
            plain = Token("text", "", 0, content=token.content, meta={"long": True})
            token.children.append(plain)
        else:
            state.md.inline.parse(token.content, state.md, state.env, token.children)


def _too_deep(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Show what is nested too deep as text: the parser would skip it in silence."""
    if state.level < DEEPEST or silent:
        return False
    token = state.push("raw_text", "", 0)
    token.map = [start, end]
    token.content = state.getLines(start, end, state.blkIndent, False)
    token.meta = {"deep": True}
    state.line = end
    return True


def _indented_options(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Choices that stand too deep are code to CommonMark: move them out, so that they are read as a list."""
    if silent or not state.is_code_block(start):
        return False
    first = state.bMarks[start] + state.tShift[start]
    if not _FIRST_OPTION.match(state.src, first, state.eMarks[start]):
        return False
    excess = state.sCount[start] - state.blkIndent
    for line in range(start, end):
        if state.isEmpty(line):
            continue
        if state.sCount[line] - state.blkIndent < excess:
            break
        _outdent(state, line, excess)
    return False  # the rule for lists takes it from here


def _outdent(state: StateBlock, line: int, columns: int) -> None:
    """Take that many columns off the indentation of a line."""
    position, gone = state.bMarks[line], 0
    while gone < columns:
        gone += 4 - (state.bsCount[line] + gone) % 4 if state.src[position] == "\t" else 1
        position += 1
    state.tShift[line] -= position - state.bMarks[line]
    state.bMarks[line] = position
    state.sCount[line] -= gone
    state.bsCount[line] += gone


def _fold(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A <details> block as a container of Markdown."""
    fold = state.env["folds"].get(start)
    if fold is None or fold.close < 0 or fold.close > end:
        return False
    if silent:
        return True
    after = fold.close + 1 if fold.closed else fold.close
    token = state.push("fold_open", "details", 1)
    token.map = [start, after]
    token.meta = {"fold": fold}
    kept = state.blkIndent, state.lineMax, state.parentType
    state.blkIndent, state.lineMax, state.parentType = 0, fold.close, "root"
    if start + 1 < fold.close:
        state.md.block.tokenize(state, start + 1, fold.close)
    state.blkIndent, state.lineMax, state.parentType = kept
    state.push("fold_close", "details", -1)
    state.line = after
    return True


def _last(env: MutableMapping[str, Any], source: str, needle: str) -> int:
    """Where `needle` occurs last; remembered, since hostile files ask a hundred thousand times."""
    known = env.setdefault("last", {})
    key = (id(source), needle)
    if key not in known:
        known[key] = source.lower().rfind(needle)
    return int(known[key])


def _html_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """HTML as CommonMark has it, save what would swallow the rest of the file or is no HTML."""
    position = state.bMarks[start] + state.tShift[start]
    if position >= len(state.src) or state.src[position] != "<":
        return False
    head = state.src[position : position + 40]
    if head.startswith("<!--"):
        if _CALC.match(head) or _last(state.env, state.src, "-->") < position:
            return False
    elif (match := _RAW.match(head)) is not None:
        if _last(state.env, state.src, f"</{match.group(1).lower()}>") < position:
            return False
    elif not _known_tag(head):
        return False
    return html_block(state, start, end, silent)


def _known_tag(head: str) -> bool:
    """Whether a line opens with a tag of HTML; <T> and <Shard> are text like any other."""
    match = _TAG_NAME.match(head)
    return match is not None and (match.group(1).lower() in TAGS or match.group(1).lower() in NEVER)


def _math_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """$$ … $$ that begins a line; it may hold line breaks but no blank line."""
    position = state.bMarks[start] + state.tShift[start]
    if state.is_code_block(start) or not state.src.startswith("$$", position):
        return False
    line, text = start, state.src[position + 2 : state.eMarks[start]]
    while "$$" not in text and line + 1 < end and not state.isEmpty(line + 1):
        line += 1
        text += "\n" + state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]
    formula, closed, rest = text.partition("$$")
    if not closed or rest.strip() or not formula.strip():
        return False
    if silent:
        return True
    token = state.push("math", "", 0)
    token.block, token.map, token.content, token.meta = (
        True,
        [start, line + 1],
        formula.strip(),
        {"display": True},
    )
    state.line = line + 1
    return True


def _math_inline(state: StateInline, silent: bool) -> bool:
    r"""\( … \) and, within a line of text, $$ … $$."""
    for opener, closer, display in ((r"\(", r"\)", False), ("$$", "$$", True)):
        if not state.src.startswith(opener, state.pos):
            continue
        end = state.src.find(closer, state.pos + 2)
        formula = state.src[state.pos + 2 : end] if end > 0 else ""
        if not formula.strip():
            continue
        if not silent:
            token = state.push("math", "", 0)
            token.content, token.meta = formula.strip(), {"display": display}
        state.pos = end + 2
        return True
    return False
