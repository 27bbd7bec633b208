"""The few SVG marks our figures are made of. Positions are px; a `Percent` is a share of the width."""

from collections.abc import Iterable

from markupsafe import Markup, escape

# Textures over a fill, so that no figure needs its colour: defined once in base.html.
RISING, FALLING, DOTS, LEVEL, UPRIGHT, GRID = "x-diag", "x-back", "x-dots", "x-rows", "x-cols", "x-grid"
HATCH = "hatch"


class Percent(float):
    """A share of the drawing's width, 0..100."""


Length = float | Percent


def length(value: Length) -> str:
    """As an attribute value: 12.5 or 12.50%."""
    if isinstance(value, Percent):
        return f"{float(value):.2f}%"
    return f"{value:.1f}".rstrip("0").rstrip(".")


def rect(
    x: Length,
    y: float,
    width: Length,
    height: float,
    css: str,
    *,
    title: str = "",
    texture: str = "",
    rounded: bool = False,
) -> Markup:
    """A bar or a cell, with what it says when pointed at, and its texture on top."""
    place = f'x="{length(x)}" y="{length(y)}" width="{length(width)}" height="{length(height)}"'
    corner = ' rx="3"' if rounded else ""
    inner = Markup("<title>{}</title>").format(title) if title else Markup("")
    mark = Markup(f'<rect {place}{corner} class="{css}">') + inner + Markup("</rect>")
    if texture:
        mark += Markup(f'<rect {place} fill="url(#{texture})" pointer-events="none"/>')
    return mark


def line(x1: Length, y1: float, x2: Length, y2: float, css: str) -> Markup:
    """A straight line."""
    ends = f'x1="{length(x1)}" x2="{length(x2)}" y1="{length(y1)}" y2="{length(y2)}"'
    return Markup(f'<line {ends} class="{css}"/>')


def text(x: Length, y: float, content: str | Markup, css: str = "") -> Markup:
    """A label; `content` may be `span`s joined."""
    named = f' class="{css}"' if css else ""
    return Markup(f'<text x="{length(x)}" y="{length(y)}"{named}>') + escape(content) + Markup("</text>")


def span(content: str, css: str = "", *, gap: int = 0) -> Markup:
    """A part of a label, `gap` px after the part before."""
    named = (f' dx="{gap}"' if gap else "") + (f' class="{css}"' if css else "")
    return Markup(f"<tspan{named}>") + escape(content) + Markup("</tspan>")


def path(d: str, css: str) -> Markup:
    """A free line."""
    return Markup(f'<path d="{d}" class="{css}"/>')


def group(marks: Iterable[Markup], title: str = "") -> Markup:
    """Marks that say one thing together when pointed at."""
    head = Markup("<title>{}</title>").format(title) if title else Markup("")
    return Markup("<g>") + head + Markup("").join(marks) + Markup("</g>")


def fluid(id: str, height: float, title: str, marks: Iterable[Markup]) -> Markup:
    """A drawing as wide as its column: bars in percent, text at its own size."""
    return _drawing(f'width="100%" height="{length(height)}"', id, title, marks)


def scaled(id: str, width: float, height: float, title: str, marks: Iterable[Markup]) -> Markup:
    """A drawing on a grid of its own, which scrolls sideways where it would get too small."""
    box = f'viewBox="0 0 {length(width)} {length(height)}" class="min640"'
    return _drawing(box, id, title, marks)


def _drawing(attributes: str, id: str, title: str, marks: Iterable[Markup]) -> Markup:
    head = Markup('<title id="{}-t">{}</title>').format(id, title)
    opening = Markup(f'<svg {attributes} role="img" aria-labelledby="{escape(id)}-t">')
    return opening + head + Markup("").join(marks) + Markup("</svg>")
