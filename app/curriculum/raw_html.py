"""HTML that an author wrote: kept when it is harmless, shown as text when it is no HTML, removed
when it could run.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape, unescape

from app.curriculum.renderer import ATTRIBUTES, TAGS

COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_TAG = re.compile(
    r"""<(/?)([A-Za-z][A-Za-z0-9:-]*)((?:\s+[^\s"'<>/=]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'=<>`]+))?)*)\s*(/?)>"""
)
_ATTRIBUTE = re.compile(r"""([^\s"'<>/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'=<>`]+))?""")
_PIECE = re.compile(r"<!--.*?-->|<[/A-Za-z][^<>]*>|<", re.DOTALL)
WITH_CONTENT = {
    "script",
    "style",
    "iframe",
    "object",
    "embed",
    "svg",
    "math",
    "template",
    "noscript",
    "frameset",
    "applet",
    "xmp",
}
ALONE = {"link", "meta", "base", "frame", "param", "source", "track"}
_OWN = {
    "class",
    "id",
    "tabindex",
    "role",
    "loading",
    "aria-label",
}  # ours to give; in raw HTML they are dropped
Resolve = Callable[[str, str], str]  # (attribute, address as written) → address on the site, or ""
_BARE = {"open", "hidden", "disabled", "reversed", "markdown", "controls"}  # attributes that take no value
_VOID = {"br", "hr", "img"}
DEEPEST = 40  # raw tags open at once on a page; browsers and the sanitizer slow down on thousands


@dataclass(slots=True)
class Depth:
    """How many raw tags are open at this place of the page."""

    open: int = 0

    def allows(self, name: str, closing: bool) -> bool:
        """Count the tag; false when it would nest too deep."""
        if name in _VOID:
            return True
        if closing:
            self.open = max(0, self.open - 1)
            return True
        if self.open >= DEEPEST:
            return False
        self.open += 1
        return True


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a reader of the page does not see as it was written."""

    code: str  # HT001 | HT002 | HT003 | HT004
    text: str
    offset: int


def filter_html(content: str, resolve: Resolve, depth: Depth) -> tuple[str, list[Finding]]:
    """Safe HTML for a piece of raw HTML, and what was escaped or removed.

    Text between tags is kept as it is.
    """
    out: list[str] = []
    findings: list[Finding] = []
    position = 0
    while match := _PIECE.search(content, position):
        out.append(content[position : match.start()])
        html, end = _piece(content, match, findings, resolve, depth)
        out.append(html)
        position = end
    out.append(content[position:])
    return "".join(out), findings


def _piece(
    content: str, match: re.Match[str], findings: list[Finding], resolve: Resolve, depth: Depth
) -> tuple[str, int]:
    text, start, end = match.group(0), match.start(), match.end()
    if text.startswith("<!--"):
        findings.append(Finding("HT003", text, start))
        return "", end
    tag = _TAG.fullmatch(text)
    name = tag.group(2).lower() if tag else ""
    if tag and (name in WITH_CONTENT or name in ALONE):
        end = _end_of_element(content, tag, name, end)
        findings.append(Finding("HT002", content[start:end], start))
        return "", end
    if tag is None or name not in TAGS or _is_prose(tag) or not depth.allows(name, bool(tag.group(1))):
        if text != "<":
            findings.append(Finding("HT001", text, start))
        return escape(text, quote=False), end
    return _allowed(tag, name, start, findings, resolve), end


def _is_prose(tag: re.Match[str]) -> bool:
    """Whether words stand where attributes belong, as in "if a<b and c>d"."""
    bare = [key.lower() for key, value in _ATTRIBUTE.findall(tag.group(3)) if not value]
    return any(key not in _BARE and not key.startswith("on") for key in bare)


def _end_of_element(content: str, tag: re.Match[str], name: str, end: int) -> int:
    """Where an element that could run ends: after its closing tag, if it has one."""
    if name not in WITH_CONTENT or tag.group(1) or tag.group(4):
        return end
    close = re.compile(rf"</{re.escape(name)}\s*>", re.IGNORECASE).search(content, end)
    return close.end() if close else end


def _allowed(tag: re.Match[str], name: str, start: int, findings: list[Finding], resolve: Resolve) -> str:
    if tag.group(1):
        return f"</{name}>"
    attributes = _attributes(name, tag.group(3), start, findings, resolve)
    if name == "img" and " src=" not in attributes:
        return _imageless(attributes, tag.group(3))
    return f"<{name}{attributes}>"


def _imageless(attributes: str, written: str) -> str:
    """The words of an image that cannot be shown, else its address."""
    alt = re.search(r' alt="([^"]+)"', attributes)
    address = next(
        (value.strip("\"'") for key, value in _ATTRIBUTE.findall(written) if key.lower() == "src"), ""
    )
    return (
        f'<span class="missing-image">{alt.group(1) if alt else escape(address[:80])} (image missing)</span>'
    )


def _attributes(name: str, written: str, offset: int, findings: list[Finding], resolve: Resolve) -> str:
    kept = []
    for match in _ATTRIBUTE.finditer(written):
        key, value = match.group(1).lower(), unescape((match.group(2) or "").strip("\"'"))
        if (
            key.startswith("on")
            or key == "style"
            or (key in ("href", "src", "action", "formaction", "xlink:href") and not safe_address(value))
        ):
            findings.append(Finding("HT002", match.group(0), offset))
        elif (name, key) in (("a", "href"), ("img", "src")):
            if address := resolve(key, value):
                kept.append(f' {key}="{escape(address)}"')
        elif key not in _OWN and (key in ATTRIBUTES.get(name, set()) or key == "title"):
            kept.append(f' {key}="{escape(value)}"')
        elif key != "markdown":
            findings.append(Finding("HT004", match.group(0), offset))
    return "".join(kept)


def safe_address(address: str) -> bool:
    """Whether a link may lead there: http, https, mailto, or a place on this site."""
    compact = re.sub(r"[\x00-\x20\x7f-\x9f\u200b-\u200f\u2028-\u202f\ufeff]", "", unescape(address)).lower()
    scheme = re.match(r"([a-z][a-z0-9+.-]*):", compact)
    return scheme is None or scheme.group(1) in ("http", "https", "mailto")
