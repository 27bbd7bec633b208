"""Options that are lines of the last paragraph and not bullets: "a) …", "b) …", each on a line of its own."""

from markdown_it.token import Token

from app.curriculum.annotate import plain_text
from app.curriculum.text import option_letter
from app.curriculum.tree import Node


def split_options(prompt: list[Token]) -> tuple[list[Token], list[tuple[str, Node]]] | None:
    """The prompt without its lettered lines, and the options; None when the last paragraph has none.

    The letters must run from a without a gap, so that prose with a stray "a) " is not taken apart.
    """
    if len(prompt) < 3 or [token.type for token in prompt[-3:]] != [
        "paragraph_open",
        "inline",
        "paragraph_close",
    ]:
        return None
    opening, inline, closing = prompt[-3:]
    lines = _lines(inline.children or [])
    letters = [option_letter(plain_text(line)) for line in lines]
    first = next((at for at, letter in enumerate(letters) if letter == "a"), None)
    if first is None:
        return None
    tail = letters[first:]
    if len(tail) < 2 or tail != [chr(ord("a") + at) for at in range(len(tail))]:
        return None
    rest = prompt[:-3]
    if first:
        kept = inline.copy()
        kept.children = _joined(lines[:first])
        rest += [opening, kept, closing]
    return rest, [(letter, _option(line, inline)) for letter, line in zip(tail, lines[first:], strict=True)]


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
