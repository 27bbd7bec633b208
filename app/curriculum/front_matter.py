"""The block between --- lines at the top of a file, recovered line by line where it is not valid YAML."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from app.curriculum.report import Report
from app.curriculum.yaml_reader import YamlError, read_yaml

TEXT_FIELDS = ("title", "description", "type")
KNOWN = (*TEXT_FIELDS, "minutes", "math", "objectives", "house")
TYPES = ("index", "topic", "lesson", "reference", "glossary", "resources")
MOST_LINES = 200  # whose faults are told apart
_FIELD = re.compile(r"([A-Za-z_][\w-]*)\s*:(?:\s+(.*?)\s*|\s*)$")
_OPENERS = {
    "`": "a backtick", "%": "a percent sign", "@": "an at sign", "*": "an asterisk",
    "&": "an ampersand", "!": "an exclamation mark",
    "[": "a square bracket", "{": "a brace", ">": "a greater-than sign", "|": "a vertical bar",
    "#": "a number sign", "- ": "a dash",
    "? ": "a question mark", "'": "a single quote", '"': "a double quote", ",": "a comma",
    "]": "a square bracket", "}": "a brace",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What the block says, and how many lines of the file it takes (0: there is none)."""

    values: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)  # 1-based line of each field
    num_lines: int = 0


def read_front_matter(lines: list[str], report: Report) -> FrontMatter:
    """Read the block at the top of the file; report what is wrong with it."""
    start = next((i for i, line in enumerate(lines[:MOST_LINES]) if line.strip()), 0)
    if not lines or lines[start].rstrip() != "---":
        return FrontMatter()
    end, after = _end(lines, start)
    block = lines[start + 1 : end]
    if not _looks_like_fields(block) or (after == end and not _only_fields(block)):
        return FrontMatter()
    if start:
        message = "a blank line stands before the front matter, so other sites show it as text"
        report.add("FM002", start + 1, message, fix="remove the blank lines above ---", recovered=True)
    if after == end:
        message = "the front matter is not closed"
        report.add("FM002", start + 1, message, fix="add --- on a line of its own after it", recovered=True)
    matter = _read(block, start, report)
    return FrontMatter(matter.values, matter.lines, after)


def _end(lines: list[str], start: int) -> tuple[int, int]:
    """Where the fields end and where the text begins; both the same when the closing --- is missing."""
    end = next((i for i in range(start + 1, len(lines)) if lines[i].rstrip() in ("---", "...")), None)
    if end is not None:
        block = lines[start + 1 : end]
        if not _has_heading(block) or isinstance(read_yaml("\n".join(block)), Mapping):
            return end, end + 1
    stop = (i for i in range(start + 1, len(lines)) if not lines[i].strip() or lines[i].startswith("#"))
    open_end = next(stop, len(lines))
    return open_end, open_end


def _has_heading(block: list[str]) -> bool:
    """A blank line and then a heading: a lesson's text, not its front matter."""
    return any(not above.strip() and re.match(r"#{1,6} \S", below) for above, below in pairwise(block))


def _only_fields(block: list[str]) -> bool:
    return bool(block) and all(_FIELD.match(line) for line in block)


def _read(block: list[str], start: int, report: Report) -> FrontMatter:
    raw, where = _line_by_line(block)
    loaded = read_yaml("\n".join(block), fast=True)
    if isinstance(loaded, Mapping):
        values = {str(key): value for key, value in loaded.items()}
        _mend_text_fields(values, raw, where, block, report, start=start)
    elif loaded is None and not raw:
        values = {}
    else:
        values = dict(raw)
        _report_invalid(loaded, block, start, report)
    return FrontMatter(values, {key: start + line + 2 for key, line in where.items()})


def _looks_like_fields(block: list[str]) -> bool:
    """A file may begin with a thematic break; then what follows it is no front matter."""
    filled = [line for line in block if line.strip()]
    return not filled or any(_FIELD.match(line) for line in filled)


def _line_by_line(block: list[str]) -> tuple[dict[str, Any], dict[str, int]]:
    """key: value per line, split at the first colon; indented lines and bullets make a list."""
    values: dict[str, Any] = {}
    where: dict[str, int] = {}
    key = ""
    for index, line in enumerate(block):
        match = _FIELD.match(line) or _misplaced(line)
        if match:
            key, value = match.group(1), match.group(2) or ""
            values[key], where[key] = _plain(value), index
        elif key and line.strip():
            item = _plain(re.sub(r"^\s*-\s+", "", line).strip())
            earlier = values[key]
            values[key] = (
                [*earlier, item] if isinstance(earlier, list) else [*([earlier] if earlier else []), item]
            )
    return values, where


def _misplaced(line: str) -> re.Match[str] | None:
    """A known field that is indented by mistake."""
    match = _FIELD.match(line.strip())
    return match if match and match.group(1) in KNOWN else None


def _plain(value: str) -> Any:
    """A quoted value without its quotes; anything else as it stands; numbers and truth values read."""
    if value[:1] in "\"'" or re.fullmatch(r"-?\d+|true|false", value):
        loaded = read_yaml(value)
        if isinstance(loaded, str | int | bool):
            return loaded
    if value[:1] in ("'", '"'):
        return value[1:-1] if len(value) > 1 and value.endswith(value[0]) else value[1:]
    return value


def _mend_text_fields(
    values: dict[str, Any],
    raw: Mapping[str, Any],
    where: Mapping[str, int],
    block: list[str],
    report: Report,
    *,
    start: int,
) -> None:
    """Valid YAML can still mean something else than the writer did: cut at " #", a list, an anchor."""
    for key in TEXT_FIELDS:
        if key not in values or key not in where:
            continue
        index, written = where[key], str(raw[key])
        match = _FIELD.match(block[index])
        source = (match.group(2) or "") if match else ""
        quoted = source[:1] in ("'", '"')
        cut = re.search(r"(?:^|\s)#", source)
        if not quoted and cut and not isinstance(raw[key], list):
            values[key] = source
            report.add(
                "FM008",
                start + index + 2,
                'the value is cut at " #" by YAML; put it in double quotes',
                fix=_quoted(key, source),
                recovered=True,
            )
        elif (not quoted and source[:1] in ("[", "{", "&", "!", "*")) or isinstance(values[key], list | dict):
            values[key] = source or written
            report.add(
                "FM002",
                start + index + 2,
                f"front matter: {_opening(source)}; put it in double quotes",
                fix=_quoted(key, source),
                recovered=True,
            )
        elif values[key] is not None and not isinstance(values[key], str):
            values[key] = written


def _opening(source: str) -> str:
    named = next((name for opener, name in _OPENERS.items() if source.startswith(opener)), "")
    return f"the value opens with {named}" if named else "the value is not plain text"


def _quoted(key: str, value: str) -> str:
    return f"{key}: {json.dumps(value, ensure_ascii=False)}"


def _report_invalid(loaded: Any, block: list[str], start: int, report: Report) -> None:
    """Name every line that is to blame; when none stands out, the place where YAML gave up."""
    blamed = False
    for index, line in enumerate(block[:MOST_LINES]):
        match = _FIELD.match(line)
        if not match or not match.group(2):
            continue
        key, value = match.group(1), match.group(2)
        if not isinstance(read_yaml(line), YamlError):
            continue
        if value[:1] not in ("'", '"') and (": " in value or value.endswith(":")):
            why = f'the {key} has ": " in it'
        elif value[:1] in ("'", '"'):
            why = f"the {key} has a quote that is not closed or closed too early"
        else:
            why = _opening(value)
        what = "it" if why.startswith("the value") else "the value"
        message = f"front matter is not valid YAML: {why}; put {what} in double quotes"
        text = value.strip(value[0]) if value[:1] in ("'", '"') else value
        report.add("FM002", start + index + 2, message, fix=_quoted(key, text), recovered=True)
        blamed = True
    if not blamed:
        message = loaded.message if isinstance(loaded, YamlError) else "it is not a list of key: value lines"
        at = max(min(loaded.line, len(block) - 1) if isinstance(loaded, YamlError) else 0, 0)
        fix = "write each field as key: value, at the beginning of its line"
        if block and block[at][:1] in (" ", "\t"):
            message = "white space stands before the field"
            fix = block[at].strip()
        said = f"front matter is not valid YAML: {message}"
        report.add("FM002", start + at + 2, said, fix=fix, recovered=True)
