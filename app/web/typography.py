"""Spaces at which a line must not break: between a number and its unit, around the = of t = 8."""

import re
from functools import lru_cache

from markupsafe import Markup, escape

NO_BREAK = "\u00a0"
_SYMBOLS = (
    "%|bit|[kMGTP]?B(?:/s)?|[KMGTP]iB(?:/s)?|[kMGTPEZ]?bit/s|[kMGTPEZ]?FLOP(?:/s)?|ms|[µμ]s|ns|s|min|h|k?W|MW"
)
_UNIT = re.compile(rf"(?<=\d) (?=(?:{_SYMBOLS})(?![\w/%]))")
_EQUATION = re.compile(r"(?<![\w/.·)])(?<!· )([A-Za-z]) ([=≤≥]) (?=\d)")
_TAG = re.compile(r"(<[^>]*>)")
_AS_WRITTEN = ("<pre", "<code", "<textarea", "<svg", "<math")


def no_breaks(text: str) -> str:
    """The text with no-break spaces in "80 GB", "10 %" and "t = 8". Nothing else changes."""
    return _EQUATION.sub(rf"\1{NO_BREAK}\2{NO_BREAK}", _UNIT.sub(NO_BREAK, text))


@lru_cache(maxsize=1024)
def prose(html: str) -> Markup:
    """Safe HTML of a lesson, its words without bad breaks; code, formulas and attributes as they are."""
    kept = ""  # the element whose content stays as it is
    pieces = _TAG.split(html)
    for index, piece in enumerate(pieces):
        if index % 2 == 0:
            pieces[index] = piece if kept else no_breaks(piece)
        elif kept:
            kept = "" if piece.startswith(f"</{kept}") else kept
        elif piece.startswith(_AS_WRITTEN) and not piece.endswith("/>"):
            kept = re.split(r"[\s>]", piece[1:], maxsplit=1)[0]
    return Markup("".join(pieces))  # the HTML was made safe when the lesson was read


def bound(text: str) -> Markup:
    """Plain text as HTML, without bad breaks."""
    return escape(no_breaks(text))
