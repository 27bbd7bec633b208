"""The few SVG marks our figures are made of. Positions are px; a `Percent` is a share of the width.

Every mark escapes the words it is given; class names and textures are ours and are not escaped.
"""

from collections.abc import Iterable, Sequence

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
    return f"{round(value, 1):g}"


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
    end = f"><title>{escape(title)}</title></rect>" if title else "/>"
    over = f'<rect {place} fill="url(#{texture})" pointer-events="none"/>' if texture else ""
    return Markup(f'<rect {place}{corner} class="{css}"{end}{over}')


def line(x1: Length, y1: float, x2: Length, y2: float, css: str) -> Markup:
    """A straight line."""
    ends = f'x1="{length(x1)}" x2="{length(x2)}" y1="{length(y1)}" y2="{length(y2)}"'
    return Markup(f'<line {ends} class="{css}"/>')


def text(x: Length, y: float, content: str | Markup, css: str = "") -> Markup:
    """A label; `content` may be `span`s joined."""
    named = f' class="{css}"' if css else ""
    return Markup(f'<text x="{length(x)}" y="{length(y)}"{named}>{escape(content)}</text>')


def spread_text(letters: Sequence[tuple[float, str]], y: float, css: str) -> Markup:
    """Letters of one line, each at its own place; names of several letters become labels of their own."""
    if all(len(name) == 1 for _, name in letters):
        places = " ".join(length(x) for x, _ in letters)
        told = "".join(name for _, name in letters)
        return Markup(f'<text x="{places}" y="{length(y)}" class="{css}">{escape(told)}</text>')
    return Markup("").join(text(x, y, name, css) for x, name in letters)


def span(content: str, css: str = "", *, gap: int = 0) -> Markup:
    """A part of a label, `gap` px after the part before."""
    named = (f' dx="{gap}"' if gap else "") + (f' class="{css}"' if css else "")
    return Markup(f"<tspan{named}>{escape(content)}</tspan>")


def path(d: str, css: str) -> Markup:
    """A free line."""
    return Markup(f'<path d="{d}" class="{css}"/>')


def group(marks: Iterable[Markup], title: str = "") -> Markup:
    """Marks that say one thing together when pointed at."""
    head = f"<title>{escape(title)}</title>" if title else ""
    return Markup(f"<g>{head}{''.join(marks)}</g>")


def fluid(id: str, height: float, title: str, marks: Iterable[Markup]) -> Markup:
    """A drawing as wide as its column: bars in percent, text at its own size."""
    return _drawing(f'width="100%" height="{length(height)}"', id, title, marks)


def scaled(id: str, width: float, height: float, title: str, marks: Iterable[Markup]) -> Markup:
    """A drawing on a grid of its own, which scrolls sideways where it would get too small."""
    box = f'viewBox="0 0 {length(width)} {length(height)}" class="min640"'
    return _drawing(box, id, title, marks)


def natural(id: str, width: float, height: float, title: str, marks: Iterable[Markup]) -> Markup:
    """A drawing in px that is neither widened nor made smaller: for grids with few cells."""
    size = f'width="{length(width)}" height="{length(height)}"'
    return _drawing(f'viewBox="0 0 {length(width)} {length(height)}" {size}', id, title, marks)


def _drawing(attributes: str, id: str, title: str, marks: Iterable[Markup]) -> Markup:
    head = f'<title id="{escape(id)}-t">{escape(title)}</title>'
    opening = f'<svg {attributes} role="img" aria-labelledby="{escape(id)}-t">'
    return Markup(f"{opening}{head}{''.join(marks)}</svg>")
