"""Judge every token once: links, images, raw HTML, diagrams, formulas.

The verdict lies in the token's meta.
"""

import re
from collections.abc import Sequence
from html import escape, unescape

from markdown_it.token import Token

from app.curriculum.blocks import Diagram, Link
from app.curriculum.checked_numbers import take_checked_numbers
from app.curriculum.figures import describe_diagram, diagram_figure, diagram_size, draw_diagram, set_formula
from app.curriculum.links import Target, resolve_image, resolve_link
from app.curriculum.page import Page
from app.curriculum.raw_html import WITH_CONTENT, Depth, filter_html
from app.curriculum.text import collapse, digest, slugify

EXTENSION = re.compile(r"\s*<!--\s*(item|widget|course)\b:?(.*?)-->\s*\Z", re.DOTALL)
_IMAGE = re.compile(r"<img\b[^<>]*>", re.IGNORECASE)
_ALT = re.compile(r"""\balt\s*=\s*(?:"[^"]*\S[^"]*"|'[^']*\S[^']*'|[^\s"'>]+)""", re.IGNORECASE)
_TAG_NAME = re.compile(r"<(/?)([A-Za-z][\w-]*)")


def annotate(tokens: Sequence[Token], page: Page) -> None:
    """Give every token of the page its verdict and gather what the lesson must know of."""
    line = 1
    for position, token in enumerate(tokens):
        if token.map:
            line = page.line(token.map[0])
        if token.type == "inline":
            _inline(token, page)
        elif token.type == "html_block":
            _html_block(token, page, line)
        elif token.type == "fence":
            _fence(token, page, line)
        elif token.type == "table_open":
            page.tables += 1
        elif token.type == "math":
            _math(token, page, line)
        elif token.type == "raw_text":
            page.report.add("TX001", line, "nested too deep; from here on it is shown as plain text")
        elif token.type == "heading_open":
            token.meta["anchor"] = page.anchor(slugify(plain_text(tokens[position + 1 : position + 2])))
        elif token.type == "fold_open":
            summary, _ = filter_html(token.meta["fold"].summary, lambda key, value: "", Depth())
            token.meta["summary_html"] = summary


def plain_text(tokens: Sequence[Token]) -> str:
    """What a reader sees of the tokens, without any markup."""
    parts: list[str] = []
    for token in tokens:
        if token.type == "inline":
            parts.append(plain_text(token.children or []))
            parts.append(" ")
        elif token.type in ("text", "code_inline", "code_block", "fence", "math", "raw_text"):
            parts.append(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            parts.append(" ")
        elif token.type == "image":
            parts.append(plain_text(token.children or []))
        elif token.type == "calc":
            parts.append(token.meta["shown"])
        elif token.type in ("html_block", "html_inline"):
            shown = str(token.meta.get("html", ""))
            parts.append(unescape(re.sub(r"<[^<>]*>", " " if token.type == "html_block" else "", shown)))
    return "".join(parts)


def _html_block(token: Token, page: Page, line: int) -> None:
    match = EXTENSION.match(token.content)
    if match:
        token.type, token.tag = "extension", match.group(1)
        token.meta = {"name": match.group(1), "text": match.group(2)}
        return
    token.meta["html"] = _filtered(token.content, page, line)


def _filtered(content: str, page: Page, line: int) -> str:
    def resolve(key: str, value: str) -> str:
        target = (
            resolve_link(value, page.place, page.context)
            if key == "href"
            else _image_target(value, page, line)
        )
        if key == "href" and target.code:
            page.report.add(target.code, line, target.message)
        return target.href if target.kind != "elsewhere" else ""

    for image in _IMAGE.finditer(content):
        if not _ALT.search(image.group(0)):
            where = line + content[: image.start()].count("\n")
            page.report.add("LN003", where, "image has no alt text")
    html, findings = filter_html(content, resolve, page.depth)
    for finding in findings:
        where = line + content[: finding.offset].count("\n")
        shown = collapse(finding.text)
        message = {
            "HT001": f"{shown} is no HTML tag for lessons; shown as text",
            "HT002": f"removed, it could run code: {shown}",
            "HT003": f"the comment is not shown to readers: {shown}",
            "HT004": f"the attribute is not kept: {shown}",
        }[finding.code]
        page.report.add(finding.code, where, message, recovered=finding.code == "HT001")
    return html


def _image_target(written: str, page: Page, line: int) -> Target:
    page.images.append(written)
    target = resolve_image(written, page.place, page.context)
    if target.code:
        page.report.add(target.code, line, target.message)
    return target


def _fence(token: Token, page: Page, line: int) -> None:
    at_end = token.map and not any(text.strip() for text in page.source.lines[token.map[1] :][:3])
    if at_end and not _closed(token, page):
        page.report.add("CD001", line, "the code block is not closed; everything after it is shown as code")
    if token.info.strip().split()[:1] != ["mermaid"]:
        return
    svg = draw_diagram(token.content)
    name = digest(token.content)
    page.diagrams.append(Diagram(hash=name, source=token.content, svg=svg, line=line))
    if not svg:
        page.report.add("MM001", line, "the diagram cannot be drawn; its source is shown instead")
    address = f"/courses/{page.place.course}/diagrams/{name}.svg" if svg else ""
    token.meta["figure"] = diagram_figure(token.content, address, diagram_size(svg))
    token.meta["alt"] = describe_diagram(token.content)


def _closed(token: Token, page: Page) -> bool:
    if token.map is None:
        return True
    last = next(
        (text for text in reversed(page.source.lines[token.map[0] + 1 : token.map[1]]) if text.strip()), ""
    )
    return last.strip().startswith(token.markup) and not last.strip().strip(token.markup[0])


def _math(token: Token, page: Page, line: int) -> None:
    markup, why = set_formula(token.content, bool(token.meta.get("display")))
    if why:
        page.report.add("MA001", line, f"{why} in {collapse(token.content)}")
    else:
        token.meta["held"] = len(page.trusted)
        page.trusted.append(markup)


def _inline(token: Token, page: Page) -> None:
    children = token.children = [
        child for child in token.children or [] if child.type != "text" or child.content
    ]
    start = token.map[0] if token.map else 0
    index = start
    open_links: list[Token] = []
    for child in children:
        line = page.line(index)
        child.meta["line"] = line
        if child.type in ("softbreak", "hardbreak"):
            index += 1
        elif child.type == "link_open":
            _link(child, page, line)
            open_links.append(child)
        elif child.type == "link_close" and open_links:
            child.meta.update(open_links.pop().meta)
        elif child.type == "image":
            _image(child, page, line)
        elif child.type == "math":
            _math(child, page, line)
        elif child.type == "html_inline":
            index += child.content.count("\n")
        elif child.meta.get("long"):
            page.report.add(
                "TX001",
                line,
                "the paragraph is too long or too tangled to be read as Markdown; it is shown as plain text",
            )
    take_checked_numbers(children, page)
    _raw_inline(children, page)
    _link_texts(children, page)


def _link(child: Token, page: Page, line: int) -> None:
    written = str(child.attrGet("href") or "")
    target = resolve_link(written, page.place, page.context)
    said = {"planned": "planned", "broken-link": "no such page"}.get(target.kind, "")
    note = f' <small class="note">({said})</small>' if said else ""
    child.meta.update(
        href=target.href,
        kind=target.kind,
        note=note,
        written=written,
        code=target.code,
        message=target.message,
        line=line,
    )


def _link_texts(children: list[Token], page: Page) -> None:
    """Note each link with its words, for the course's checks."""
    for position, child in enumerate(children):
        if child.type == "link_open":
            end = next(
                (i for i in range(position, len(children)) if children[i].type == "link_close"), len(children)
            )
            text = collapse(plain_text(children[position + 1 : end]))
            page.links.append(
                Link(
                    written=child.meta["written"], href=child.meta["href"], text=text, line=child.meta["line"]
                )
            )


def report_links(tokens: Sequence[Token], page: Page) -> None:
    """Report the links of these tokens that lead nowhere. Header lines are left to the course's lint."""
    for token in tokens:
        for child in token.children or []:
            if child.type == "link_open" and child.meta.get("code"):
                page.report.add(child.meta["code"], child.meta["line"], child.meta["message"])


def _image(child: Token, page: Page, line: int) -> None:
    written = str(child.attrGet("src") or "")
    page.images.append(written)
    if not collapse(plain_text(child.children or [])):
        page.report.add("LN003", line, "image has no alt text")
    target = resolve_image(written, page.place, page.context)
    if target.code:
        page.report.add(target.code, line, target.message)
    child.meta["link" if target.kind == "elsewhere" else "src"] = target.href
    child.meta["size"] = target.size


def _raw_inline(children: list[Token], page: Page) -> None:
    """Inline HTML piece by piece; an element that could run goes with all it holds."""
    position = 0
    while position < len(children):
        child = children[position]
        if child.type == "html_inline":
            match = _TAG_NAME.match(child.content)
            name = match.group(2).lower() if match else ""
            end = position
            if name in WITH_CONTENT and not child.content.endswith("/>") and match and not match.group(1):
                end = next(
                    (i for i in range(position + 1, len(children)) if _closes(children[i], name)), position
                )
            whole = "".join(
                piece.content or (" " if piece.type == "softbreak" else "")
                for piece in children[position : end + 1]
            )
            child.meta["html"] = _filtered(whole, page, child.meta.get("line", 1))
            for piece in children[position + 1 : end + 1]:
                piece.type, piece.content, piece.children = "html_inline", "", None
                piece.meta["html"] = ""
            position = end
        position += 1


def _closes(token: Token, name: str) -> bool:
    match = _TAG_NAME.match(token.content) if token.type == "html_inline" else None
    return bool(match and match.group(1) and match.group(2).lower() == name)


def escape_text(text: str) -> str:
    """Text as HTML."""
    return escape(text, quote=False)
