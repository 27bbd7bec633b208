"""Reads GIFT as Moodle's importer does: placeholders for escapes, first braces, weights, feedback."""

import re
from dataclasses import dataclass, field

_NAMES = {":": "058", "#": "035", "=": "061", "{": "123", "}": "125", "~": "126", "n": "010"}
_WEIGHT = re.compile(r"%-*([0-9]{1,2})\.?([0-9]*)%")


@dataclass
class Answer:
    text: str
    fraction: float
    feedback: str = ""


@dataclass
class Read:
    name: str
    text: str
    kind: str
    category: str = ""
    answers: list[Answer] = field(default_factory=list)
    pairs: list[tuple[str, str]] = field(default_factory=list)
    general_feedback: str = ""


def _before(text: str) -> str:
    text = text.replace("\\\\", "&&092;")
    for char, number in _NAMES.items():
        text = text.replace("\\" + char, f"&&{number};")
    return text.replace("&&092;", "\\")


def _after(text: str) -> str:
    for char, number in _NAMES.items():
        text = text.replace(f"&&{number};", "\n" if char == "n" else char)
    text = text.strip()
    return text.removeprefix("[html]")


def read_gift(text: str) -> list[Read]:
    """All questions of a file; blocks are apart by blank lines."""
    found, category = [], ""
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = [" " if line.strip().startswith("//") else line for line in block.split("\n")]
        body = _before("\n".join(lines).strip())
        if body.startswith("$CATEGORY:"):
            category = body[10:].strip()
            continue
        assert body.startswith("::")
        name, body = body[2:].split("::", 1)
        start, end = body.index("{"), body.index("}")
        assert body.rstrip().endswith("}")
        assert body.rstrip().index("}") == len(body.rstrip()) - 1, "text after the answers"
        answers, _, general = body[start + 1 : end].strip().rpartition("####")
        if "####" not in body[start:end]:
            answers, general = general, ""
        read = Read(_after(name), _after(body[:start]), "essay", category, general_feedback=_after(general))
        _answers(answers.strip(), read)
        found.append(read)
    return found


def _answers(text: str, read: Read) -> None:
    if not text:
        return
    if text.startswith("#"):
        read.kind, pieces = "numerical", text[1:].split("=")
    elif "~" in text:
        read.kind, pieces = "multichoice", text.replace("=", "~=").split("~")
    elif "=" in text and "->" in text:
        read.kind = "match"
        read.pairs = [tuple(_after(half) for half in piece.split("->", 1)) for piece in text.split("=")[1:]]  # type: ignore[misc]
        return
    else:
        raise AssertionError(f"not a kind of question that is exported: {text}")
    for piece in filter(None, (piece.strip() for piece in pieces)):
        fraction, rest = (1.0 if read.kind == "numerical" else 0.0), piece
        if read.kind == "multichoice" and rest.startswith("="):
            fraction, rest = 1.0, rest[1:]
        elif match := _WEIGHT.match(rest):
            fraction, rest = float(match.group(0).strip("%")) / 100, rest[match.end() :]
        answer, _, feedback = rest.partition("#")
        read.answers.append(Answer(_after(answer), fraction, _after(feedback)))
