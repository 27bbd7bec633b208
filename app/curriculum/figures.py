"""Diagrams and formulas: mermaid to SVG, LaTeX to MathML. Both are drawn once and remembered."""

import math
import re
from functools import lru_cache
from html import escape

import math_core
import mmdr

from app.curriculum.text import collapse

LONGEST_DIAGRAM = 20_000
COLUMN_PX = 680  # a wider drawing would be too small to read in the column of a lesson
_UNSAFE_LINE = re.compile(r"^\s*(?:click|href|link|links)\b.*$|^\s*%%\{.*$", re.IGNORECASE | re.MULTILINE)
_LABEL = re.compile(
    r"""\[+\(?"?([^\[\]"|]+)"?\)?\]+|\(+"?([^()"|]+)"?\)+|\{+"?([^{}"|]+)"?\}+|\|"?([^|"]+)"?\||:\s*([^\n;]+)"""
)
_HREF = re.compile(r"""\s(?:xlink:)?href\s*=\s*("[^"#][^"]*"|'[^'#][^']*')""")
_HANDLER = re.compile(r"""\son\w+\s*=\s*("[^"]*"|'[^']*')""", re.IGNORECASE)
_SCRIPT = re.compile(r"<script\b.*?(?:</script\s*>|/>)", re.IGNORECASE | re.DOTALL)
_ROOT = re.compile(r"<svg\b[^>]*>")
_ROOT_SIZE = re.compile(r"""\s(?:width|height|style)\s*=\s*"[^"]*\"""")
_VIEW_BOX = re.compile(r'viewBox="[-\d.]+[ ,]+[-\d.]+[ ,]+([\d.]+)[ ,]+([\d.]+)"')
_STYLE = re.compile(r' style="([^"]*)"')
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


@lru_cache(maxsize=4096)
def draw_diagram(source: str) -> bytes:
    """The SVG of a mermaid diagram; empty when it cannot be drawn. Nothing in it can run or lead anywhere."""
    if len(source) > LONGEST_DIAGRAM:
        return b""
    try:
        svg = mmdr.render(_UNSAFE_LINE.sub("", source)).svg()
    except (
        BaseException
    ) as error:  # the renderer is foreign code: whatever it throws, the page shows the source
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return b""
    svg = _SCRIPT.sub("", _HANDLER.sub("", _HREF.sub("", svg)))
    return _at_natural_size(str(svg)).encode()


def _at_natural_size(svg: str) -> str:
    """The drawing with its own width and height, so that it is not blown up to the width of the page."""
    root = _ROOT.match(svg)
    box = _VIEW_BOX.search(root.group(0)) if root else None
    if root is None or box is None:
        return svg
    tag = _ROOT_SIZE.sub("", root.group(0))
    width, height = math.ceil(float(box.group(1))), math.ceil(float(box.group(2)))
    return f'{tag[:-1]} width="{width}" height="{height}">{svg[root.end() :]}'


def diagram_size(svg: bytes) -> tuple[int, int]:
    """Width and height of a drawing in pixels; (0, 0) when it does not say."""
    found = re.search(rb' width="(\d+)" height="(\d+)">', svg[:4000])
    return (int(found.group(1)), int(found.group(2))) if found else (0, 0)


def describe_diagram(source: str) -> str:
    """Words for those who do not see the diagram: its own title and description, else its labels."""
    shown = _UNSAFE_LINE.sub("", source)
    lines = [
        text.strip() for text in shown.splitlines() if text.strip() and not text.strip().startswith("%%")
    ]
    for key in ("accDescr", "accTitle"):
        said = [line.partition(":")[2].strip() for line in lines if line.startswith(key) and ":" in line]
        if said:
            return collapse(said[0])
    kind = lines[0].split()[0] if lines else "diagram"
    found = [next(part for part in match if part) for line in lines[1:] for match in _LABEL.findall(line)]
    labels = [collapse(re.sub(r"<br\s*/?>", " ", label)) for label in found]
    return collapse(f"Diagram ({kind}): " + "; ".join(dict.fromkeys(label for label in labels if label)))


@lru_cache(maxsize=4096)
def set_formula(latex: str, display: bool) -> tuple[str, str]:
    """MathML of a formula and "", or "" and why it cannot be set."""
    if len(latex) > 5_000:
        return "", "the formula is longer than 5,000 characters"
    try:
        markup = _converter().convert_with_local_state(latex, displaystyle=display)
    except math_core.LatexError as error:
        said = [line.strip() for line in _ANSI.sub("", str(error)).splitlines() if "Error:" in line]
        return "", said[0].partition("Error:")[2].strip() if said else "the formula is not valid LaTeX"
    except Exception as error:  # foreign code; see above
        return "", f"the formula cannot be set: {type(error).__name__}"
    if "href" in markup or "<script" in markup:
        return "", "a formula may not hold links"
    return _STYLE.sub(_style_class, markup), ""


@lru_cache(maxsize=1)
def _converter() -> math_core.LatexToMathML:
    return math_core.LatexToMathML()


def _style_class(match: re.Match[str]) -> str:
    """The few inline styles become classes: the site's policy allows no style attributes."""
    css = match.group(1)
    align = re.search(r"text-align:\s*(left|right|center)", css)
    names = [f"math-{align.group(1)}"] if align else []
    if "font-weight" in css or "bold" in css:
        names.append("math-bold")
    return f' class="{" ".join(names)}"' if names else ""


def diagram_figure(source: str, address: str, size: tuple[int, int] = (0, 0)) -> str:
    """The figure of a diagram; without an address (it cannot be drawn) its source stands alone."""
    text = f'<pre tabindex="0"><code>{escape(source)}</code></pre>'
    if not address:
        return f'<figure class="mermaid">{text}</figure>\n'
    room = f' width="{size[0]}" height="{size[1]}"' if all(size) else ""
    alt = escape(describe_diagram(source))
    image = f'<img src="{escape(address)}" alt="{alt}"{room} loading="lazy">'
    words = f"<details><summary>The diagram as text</summary>{text}</details>"
    if size[0] > COLUMN_PX:
        frame = f'<div class="scroll" tabindex="0" role="group" aria-label="Diagram">{image}</div>'
        return f'<figure class="mermaid wide">{frame}{words}</figure>\n'
    return f'<figure class="mermaid">{image}{words}</figure>\n'
