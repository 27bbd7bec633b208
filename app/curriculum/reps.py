"""Real-world reps: the tasks "- [ ] …" of their section."""

import re
from collections.abc import Iterator

from app.curriculum.annotate import plain_text
from app.curriculum.blocks import Rep
from app.curriculum.choices import Render, without_prefix
from app.curriculum.page import Page
from app.curriculum.text import collapse, digest
from app.curriculum.tree import Node, children_of

_BOX = re.compile(r"\s*\[[ xX]?\]\s+")


def read_reps(bullets: Node, page: Page, render: Render, ids: dict[str, int]) -> Iterator[Rep | Node]:
    """The tasks of a list in the order of the file; a bullet without a box stays a list of its own.

    ids: how often each id was given on this page; counted on.
    """
    for item in children_of(bullets):
        if not _BOX.match(plain_text(item.tokens[:4]) + " "):
            yield Node([bullets.tokens[0], *item.tokens, bullets.tokens[-1]], bullets.kind)
            continue
        inner = without_prefix(item.tokens[1:-1], _BOX)
        text = collapse(plain_text(inner))
        rep_id = f"rep-{digest(text.casefold(), 8)}"
        seen = ids.get(rep_id, 0)
        ids[rep_id] = seen + 1
        yield Rep(
            id=f"{rep_id}-{seen + 1}" if seen else rep_id,
            html=_bare(render(inner)),
            text=text,
            line=page.line(item.start),
            tomorrow=text.lower().startswith("tomorrow"),
        )


def _bare(html: str) -> str:
    """A single paragraph without its tags."""
    single = html.startswith("<p>") and html.endswith("</p>") and html.count("<p>") == 1
    return html[3:-4] if single else html
