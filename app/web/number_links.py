"""Links from the checked numbers of a lesson to their workings, and room for the notes that open in place."""

import re
from functools import lru_cache

from markupsafe import Markup, escape

_CALC = re.compile(r'<strong class="calc" id="(calc-([0-9a-f]+)(?:-\d+)?)">([^<]*)</strong>')
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)[^>]*>")
_VOID = frozenset(("br", "hr", "img", "wbr"))
_SLOT = '<div class="number-slot"></div>'


@lru_cache(maxsize=1024)
def with_workings(html: Markup, url: str) -> Markup:
    """Safe HTML of a lesson, its checked numbers linked to their workings; below each outermost element that
    has one there is room for the note.
    """
    if 'class="calc" id="' not in html:
        return html
    linked = _CALC.sub(lambda match: _link(match, escape(url)), str(html))
    return Markup(_with_slots(linked))  # safe before, and what was put in is escaped


def _link(match: re.Match[str], url: str) -> str:
    address = f"{url}/numbers/{match.group(2)}"
    return (
        f'<a class="calc" id="{match.group(1)}" href="{address}" hx-get="{address}"'
        f' hx-target="next .number-slot" hx-swap="innerHTML">{match.group(3)}</a>'
    )


def _with_slots(html: str) -> str:
    pieces, end, depth, begun = [], 0, 0, 0
    for tag in _TAG.finditer(html):
        if tag.group(2).lower() in _VOID or tag.group().endswith("/>"):
            continue
        depth += -1 if tag.group(1) else 1
        if depth <= 0:
            depth = 0
            if '<a class="calc" id="' in html[begun : tag.end()]:
                pieces += [html[end : tag.end()], _SLOT]
                end = tag.end()
            begun = tag.end()
    rest = html[end:]
    return "".join([*pieces, rest, _SLOT if '<a class="calc" id="' in rest else ""])
