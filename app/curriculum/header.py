"""The title line and the three lines under it: Mission link, Primary source, Prerequisites."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from markdown_it.token import Token

from app.curriculum.annotate import plain_text
from app.curriculum.front_matter import TYPES, FrontMatter
from app.curriculum.page import Page
from app.curriculum.text import collapse

LABELS = {
    "mission link": "mission",
    "mission": "mission",
    "primary source": "source",
    "primary sources": "source",
    "prerequisites": "prerequisites",
    "prerequisite": "prerequisites",
}
NAMES = {"mission": "Mission link", "source": "Primary source", "prerequisites": "Prerequisites"}
_NUMBERED = re.compile(r"(?:lesson\s+)?(\d{1,6})\s*(?:[.:)]|\s[–—-])\s*(.+)", re.IGNORECASE)
FILE_NUMBER = re.compile(r"(\d{4})-(.+)")
_TYPE_BY_FILE = {"README": "index", "GLOSSARY": "glossary", "RESOURCES": "resources"}


@dataclass(slots=True)
class Header:
    """Where each header line stands, and its tokens."""

    parts: dict[str, list[Token]] = field(default_factory=dict)
    line_of: dict[str, int] = field(default_factory=dict)


def split_title(text: str) -> tuple[int, str]:
    """The number and the title of "14. Title" or "Lesson 14. Title"; 0 when there is none."""
    match = _NUMBERED.fullmatch(collapse(text))
    return (int(match.group(1)), match.group(2)) if match else (0, collapse(text))


@dataclass(slots=True)
class Identity:
    """What a file is: number, title, description, type."""

    number: int = 0
    title: str = ""
    description: str = ""
    type: str = "lesson"


def identify(matter: FrontMatter, heading: str, heading_line: int, slug: str, page: Page) -> Identity:
    """Number and title from the front matter, else from the H1, else from the file's name;
    disagreements reported.
    """
    report, values = page.report, matter.values
    written = str(values.get("title") or "")
    number, title = split_title(written) if written else (0, "")
    h1_number, h1_title = split_title(heading)
    file = FILE_NUMBER.fullmatch(slug)
    file_number = int(file.group(1)) if file else 0
    if not matter.num_lines and heading:
        report.add("FM001", 1, "no front matter; title and number were taken from the H1", recovered=True)
    if matter.num_lines and not written:
        report.add(
            "FM003",
            1,
            "the front matter has no title; it was taken from the H1 or the file's name",
            recovered=True,
        )
    if written and heading:
        _compare((number, title), (h1_number, h1_title), heading_line, page)
    if file_number and (number or h1_number) and file_number != (number or h1_number):
        line = matter.lines.get("title", heading_line or 1)
        report.add(
            "FM004", line, f"the title says lesson {number or h1_number}, the file's name says {file_number}"
        )
    from_file = (file.group(2) if file else slug).replace("-", " ").strip().capitalize()
    return Identity(
        number=number or h1_number or file_number,
        title=title or h1_title or from_file or "Untitled",
        description=str(values.get("description") or "").strip(),
        type=_type(matter, slug, page),
    )


def _compare(matter: tuple[int, str], h1: tuple[int, str], line: int, page: Page) -> None:
    (number, title), (h1_number, h1_title) = matter, h1
    if number and h1_number and number != h1_number:
        page.report.add("FM006", line, f"the H1 says lesson {h1_number}, the front matter says {number}")
    elif title and h1_title and collapse(title).casefold() != collapse(h1_title).casefold():
        plain = re.sub(r"[*_`]", "", title).casefold()
        if plain != re.sub(r"[*_`]", "", h1_title).casefold():
            page.report.add("FM006", line, f'the H1 says "{h1_title}", the front matter says "{title}"')


def _type(matter: FrontMatter, slug: str, page: Page) -> str:
    by_file = _TYPE_BY_FILE.get(slug, "reference" if page.place.folder == "reference" else "lesson")
    named = str(matter.values.get("type") or "").strip().lower()
    if not named:
        return by_file
    if named not in TYPES:
        page.report.add(
            "FM005",
            matter.lines.get("type", 1),
            f"the type {named} is unknown; write one of {', '.join(TYPES)}",
        )
        return by_file
    return named


def read_extras(matter: FrontMatter, page: Page) -> Mapping[str, Any]:
    """minutes, math and objectives, each of its kind."""
    values = matter.values
    minutes, math, objectives = (
        values.get("minutes", 0),
        values.get("math", False),
        values.get("objectives", []),
    )
    if isinstance(minutes, bool) or not isinstance(minutes, int) or not 0 <= minutes <= 10_000:
        page.report.add(
            "FM007", matter.lines.get("minutes", 1), f"minutes must be a whole number, not {minutes}"
        )
        minutes = 0
    if not isinstance(math, bool):
        page.report.add("FM007", matter.lines.get("math", 1), f"math must be true or false, not {math}")
        math = False
    if isinstance(objectives, str):
        objectives = [objectives] if objectives else []
    if not isinstance(objectives, list):
        page.report.add("FM007", matter.lines.get("objectives", 1), "objectives must be a list of sentences")
        objectives = []
    return {"minutes": minutes, "math": math, "objectives": tuple(str(entry) for entry in objectives)}


def take_header(inline: Token, page: Page, header: Header) -> bool:
    """Take the header lines out of a paragraph; false when it holds none.

    Text before the first label stays prose.
    """
    children = inline.children or []
    starts = [(i, key) for i in range(len(children)) if (key := _label(children, i))]
    if not starts or starts[0][0] != 0:
        return False
    for position, (index, key) in enumerate(starts):
        end = starts[position + 1][0] if position + 1 < len(starts) else len(children)
        part = _trimmed(children[index + 3 : end])
        if key in header.parts:  # a second line of the same name adds to the first
            header.parts[key] += [Token("softbreak", "br", 0), *part]
        else:
            header.parts[key] = part
            header.line_of[key] = int(children[index].meta.get("line", 1))
    return True


def _label(children: list[Token], index: int) -> str:
    """Which header line begins at this token; empty for none."""
    window = children[index : index + 3]
    if [token.type for token in window] != ["strong_open", "text", "strong_close"]:
        return ""
    named = window[1].content.strip()
    after = children[index + 3].content if index + 3 < len(children) else ""
    if not named.endswith(":") and not after.startswith(":"):
        return ""
    return LABELS.get(named.rstrip(": ").lower(), "")


def _trimmed(tokens: list[Token]) -> list[Token]:
    kept = list(tokens)
    while kept and kept[-1].type in ("softbreak", "hardbreak"):
        kept.pop()
    while kept and kept[0].type in ("softbreak", "hardbreak"):
        kept.pop(0)
    if kept and kept[0].type == "text":
        kept[0] = kept[0].copy()
        kept[0].content = kept[0].content.lstrip(": ")
    return kept


def check_header(header: Header, page: Page) -> None:
    """HD001: each line directly follows the one before."""
    placed = sorted(header.line_of.items(), key=lambda entry: entry[1])
    for (before, before_line), (key, line) in pairwise(placed):
        between = page.report.lines[before_line : line - 1]
        if (line != before_line and any(not text.strip() for text in between)) or (
            line > before_line + 1 and not between
        ):
            page.report.add(
                "HD001",
                line,
                f"must be on the line directly after {NAMES[before]}",
                fix=f"put {NAMES[key]} on the next line",
            )


def addresses(tokens: list[Token]) -> tuple[str, ...]:
    """The links of a header line as written."""
    return tuple(str(token.meta.get("written") or "") for token in tokens if token.type == "link_open")


def words(tokens: list[Token]) -> str:
    """A header line as plain text."""
    return collapse(plain_text(tokens))
