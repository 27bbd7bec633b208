"""Words: slugs, hashes, option letters, sentences."""

import hashlib
import json
import re
import unicodedata
from typing import Any

MARKERS = "▢□☐"
OPTION = re.compile(r"\s*(?:\(([A-Za-z])\)|([A-Za-z])[).])(?=\s|$)\s*")
_LETTER = r"\(?([A-Za-z])\)?"
_SENTENCE_LETTERS = re.compile(
    r"\s*(?:[Oo]ptions?\s+)?((?:\([A-Za-z]\)|[A-Za-z]\)|(?<=[Oo]ption )[A-Za-z]\b|(?<=[Oo]ptions )[A-Za-z]\b)"
    r"(?:(?:\s*,\s*and|\s*,|\s+and|\s+or)\s+(?:\([A-Za-z]\)|[A-Za-z]\)|[A-Za-z]\b(?=[\s,.:])))*)"
)
ANSWER_WORDS = re.compile(  # "The correct answer is", "Answer:"
    r"\s*(?:the\s+)?(?:(?:correct|right|best)\s+)?(?:answers?|options?|keys?|choices?|correct|right)\b(?:\s*(?:is|are)\b)?\s*:?\s*",
    re.IGNORECASE,
)
_STATED_LETTER = r"\(?[A-Za-z](?:\)|\b)"
_STATED = re.compile(  # "Answer: b", "The correct answers are b) and d)."; a bare letter ends its sentence
    rf"({_STATED_LETTER}(?:(?:\s*,\s*|\s*&\s*|\s*,?\s+and\s+){_STATED_LETTER})*)"
    r"(?=[.:;,]?\s*$|[.:;,]\s|(?<=\))\s)(?!\s*,?\s*(?:or\b|and\b|/|\(?[A-Za-z]\)))"
)
_SEVERAL = re.compile(r"\(?[A-Za-z]\)(?:(?:\s*(?:,|;|&|\+|and)\s*)+\(?[A-Za-z]\))+(?!\s*,?\s*(?:or\b|/))")
_ABBREVIATION = r"(?<![eE]\.g\.)(?<![iI]\.e\.)(?<!\bcf\.)(?<!\bvs\.)"
_BREAK = re.compile(_ABBREVIATION + r"(?<=[.!?])[\"”’)]?\s+(?=\S|$)")


def collapse(text: str) -> str:
    """The text with every run of white space as one space."""
    return " ".join(text.split())


def slugify(text: str) -> str:
    """An anchor as GitHub makes it: lower case, punctuation gone, spaces as hyphens."""
    kept = [c for c in text.strip().lower() if c.isalnum() or c in " -_" or unicodedata.category(c)[0] == "M"]
    return "".join(kept).replace(" ", "-")


def digest(value: Any, length: int = 16) -> str:
    """A stable hash of plain data."""
    data = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(data.encode("utf-8", "surrogatepass")).hexdigest()[:length]


def option_letter(text: str) -> str:
    """The letter that a line such as "a) …", "(A) …" or "A. …" begins with, in lower case; else ""."""
    match = OPTION.match(text)
    return (match.group(1) or match.group(2)).lower() if match else ""


def sentence_letters(sentence: str) -> tuple[str, ...]:
    """The letters of "(a) and (c) …", "Option b …"; empty when the sentence begins otherwise."""
    match = _SENTENCE_LETTERS.match(sentence)
    if not match:
        return ()
    joined = re.sub(r"\band\b|\bor\b", ",", match.group(1))
    return tuple(letter.lower() for letter in re.findall(r"[A-Za-z]", joined))


def sentence_breaks(text: str) -> list[int]:
    """Where a new sentence begins within the text; its length when one ends with it."""
    return [match.end() for match in _BREAK.finditer(text)]


def bold_letters(text: str) -> tuple[str, ...]:
    """The letters that a bold key names: "b)", "(C)", "C.", "c", "b) and d)", "b) 112 GB"; empty
    when it is no key.
    """
    text = re.sub(r"(?i)\Aboth\s+", "", ANSWER_WORDS.sub("", text.strip(), count=1), count=1).rstrip(": ")
    listed = re.fullmatch(rf"{_LETTER}[.)]?(?:(?:\s*(?:,|;|&|\+|and)\s*)+{_LETTER}[.)]?)*\.?", text)
    if listed:
        return tuple(letter.lower() for letter in re.findall(r"(?<![A-Za-z])[A-Za-z](?![A-Za-z])", text))
    if several := _SEVERAL.match(text):  # "b) and d) are right"
        return tuple(letter.lower() for letter in re.findall(r"([A-Za-z])\)", several.group(0)))
    match = OPTION.match(text)
    if match and not re.match(r"(?:or|and/or)\b|/", text[match.end() :]):
        return ((match.group(1) or match.group(2)).lower(),)
    return ()


def leading_key(text: str) -> tuple[str, ...]:
    """The letters of "A is right", "b and d are correct", "Answer: b" at the start of a Check."""
    match = re.match(
        r"\s*(?:[Oo]ptions?\s+)?((?:\(?[A-Za-z]\)?)(?:(?:\s*,\s*|\s+and\s+)\(?[A-Za-z]\)?)*)\s+(?:is|are)\s+(?:the\s+)?(?:right|correct)\b",
        text,
    )
    if match is None and (words := ANSWER_WORDS.match(text)):
        match = _STATED.match(text, words.end())
    if not match:
        return ()
    return tuple(
        letter.lower() for letter in re.findall(r"(?<![A-Za-z])[A-Za-z](?![A-Za-z])", match.group(1))
    )


def letter_list(text: str) -> bool:
    """Whether the text opens with a list of letters such as "b, c, d, a:"."""
    return (
        re.match(r"\s*\(?[a-hA-H]\)?(?:\s*(?:,|→|->|>|;)\s*\(?[a-hA-H]\)?){2,}\s*(?:[:.]|$)", text)
        is not None
    )


def lettered_choices(text: str) -> int:
    """How many "(a)", "b)" stand inside running text, counted from a on."""
    found = {
        letter.lower()
        for pair in re.findall(r"\(([a-zA-Z])\)|(?<![\w(])([a-hA-H])\)", text)
        for letter in pair
        if letter
    }
    count = 0
    while chr(ord("a") + count) in found:
        count += 1
    return count
