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

    code: str  # HT001 | HT002 | HT003
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
    text = match.group(0)
    if text.startswith("<!--"):
        findings.append(Finding("HT003", text, match.start()))
        return "", match.end()
    tag = _TAG.fullmatch(text)
    if tag is None:
        if text != "<":
            findings.append(Finding("HT001", text, match.start()))
        return escape(text, quote=False), match.end()
    closing, name = bool(tag.group(1)), tag.group(2).lower()
    if name in WITH_CONTENT or name in ALONE:
        end = match.end()
        if name in WITH_CONTENT and not closing and not tag.group(4):
            close = re.compile(rf"</{re.escape(name)}\s*>", re.IGNORECASE).search(content, end)
            end = close.end() if close else end
        findings.append(Finding("HT002", content[match.start() : end], match.start()))
        return "", end
    if name not in TAGS or ":" in name or not depth.allows(name, closing):
        findings.append(Finding("HT001", text, match.start()))
        return escape(text, quote=False), match.end()
    if closing:
        return f"</{name}>", match.end()
    return f"<{name}{_attributes(name, tag.group(3), match.start(), findings, resolve)}>", match.end()


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
    return "".join(kept)


def safe_address(address: str) -> bool:
    """Whether a link may lead there: http, https, mailto, or a place on this site."""
    compact = re.sub(r"[\x00-\x20\x7f-\x9f\u200b-\u200f\u2028-\u202f\ufeff]", "", unescape(address)).lower()
    scheme = re.match(r"([a-z][a-z0-9+.-]*):", compact)
    return scheme is None or scheme.group(1) in ("http", "https", "mailto")
