"""Options that are lines of the last paragraph and not bullets: "a) …", "b) …", each on a line of its own."""

from markdown_it.token import Token

from app.curriculum.annotate import plain_text
from app.curriculum.text import option_letter
from app.curriculum.tree import Node

_PARAGRAPH = ["paragraph_open", "inline", "paragraph_close"]


def split_options(prompt: list[Token]) -> tuple[list[Token], list[tuple[str, Node]]] | None:
    """The prompt without its lettered lines, and the options; None when its last paragraphs have none.

    The letters must run from a without a gap, so that prose with a stray "a) " is not taken apart.
    """
    start = len(prompt)
    while start >= 3 and [token.type for token in prompt[start - 3 : start]] == _PARAGRAPH:
        start -= 3
    lines = [
        (at, line) for at in range(start, len(prompt), 3) for line in _lines(prompt[at + 1].children or [])
    ]
    letters = [option_letter(plain_text(line)) for _, line in lines]
    first = max((at for at, letter in enumerate(letters) if letter == "a"), default=None)
    if first is None:
        return None
    tail = letters[first:]
    if len(tail) < 2 or tail != [chr(ord("a") + at) for at in range(len(tail))]:
        return None
    at = lines[first][0]
    rest = prompt[:at]
    if kept := [line for where, line in lines[:first] if where == at]:
        inline = prompt[at + 1].copy()
        inline.children = _joined(kept)
        rest += [prompt[at], inline, prompt[at + 2]]
    return rest, [
        (letter, _option(line, prompt[where + 1]))
        for letter, (where, line) in zip(tail, lines[first:], strict=True)
    ]


def _lines(children: list[Token]) -> list[list[Token]]:
    lines: list[list[Token]] = [[]]
    for child in children:
        if child.type in ("softbreak", "hardbreak"):
            lines.append([])
        else:
            lines[-1].append(child)
    return lines


def _joined(lines: list[list[Token]]) -> list[Token]:
    children: list[Token] = []
    for line in lines:
        children += [Token("softbreak", "br", 0), *line] if children else line
    return children


def _option(line: list[Token], inline: Token) -> Node:
    """The line as the item of a bullet list would look."""
    own = inline.copy()
    own.children = line
    first = next((token.meta.get("line") for token in line), None)
    opening = Token("list_item_open", "li", 1, map=inline.map, meta={"line": first})
    paragraph = [
        Token("paragraph_open", "p", 1, hidden=True),
        own,
        Token("paragraph_close", "p", -1, hidden=True),
    ]
    return Node([opening, *paragraph, Token("list_item_close", "li", -1)], "list_item_open")
