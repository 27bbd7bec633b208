"""Numbered lines: what number they carry, whether ▢ marks them, and a ▢ where no item is."""

from app.curriculum.annotate import plain_text
from app.curriculum.page import Page
from app.curriculum.text import MARKERS
from app.curriculum.tree import Node

_MARKABLE = ("paragraph_open", "ordered_list_open", "bullet_list_open")


def number_written(item: Node) -> int:
    """The number of a list entry as it stands in the file; 0 for a bullet."""
    info = str(item.tokens[0].info or "0")
    return int(info) if info.isdigit() else 0


def is_marked(item: Node) -> bool:
    """Whether the text of a list entry begins with ▢."""
    return plain_text(item.tokens[:4]).lstrip()[:1] in tuple(MARKERS)


def note_stray_marker(node: Node, among_items: bool, page: Page) -> None:
    """IT003: a block begins with ▢ and is no item. `among_items`: in a section that holds items."""
    first = plain_text(node.tokens[:4]).lstrip()[:1]
    if first and first in MARKERS and node.kind in _MARKABLE:
        where = "is not a numbered item" if among_items else "outside Warm-up and Practice is prose"
        page.report.add("IT003", page.line(node.start), f"a {first} {where}")
