"""Which item an earlier one became, when a lesson was edited and its id is gone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from app.curriculum.blocks import Item

SIMILAR_ENOUGH = 0.8
LONGEST_COMPARED = 2_000  # characters


@dataclass(frozen=True, slots=True)
class Wording:
    """An item as it was asked when somebody answered it."""

    section: str
    prompt: str


def became(items: Sequence[Item], gone: Mapping[str, Wording]) -> dict[str, str]:
    """For ids that the lesson no longer has: the item with the same prompt, else the most similar one.

    Similar means a ratio of at least 0.8 within the same section. Each item is taken once; what is left
    over became nothing.
    """
    found: dict[str, str] = {}
    by_prompt = {_plain(item.prompt_text): item.id for item in reversed(items)}
    for old, wording in gone.items():
        same = by_prompt.get(_plain(wording.prompt))
        if same is not None and same not in found.values():
            found[old] = same
    pairs = sorted(_similar(items, gone), reverse=True)
    for _, old, new in pairs:
        if old not in found and new not in found.values():
            found[old] = new
    return found


def _similar(items: Sequence[Item], gone: Mapping[str, Wording]) -> Iterable[tuple[float, str, str]]:
    for old, wording in gone.items():
        before = _plain(wording.prompt)[:LONGEST_COMPARED]
        for item in items:
            if item.section != wording.section:
                continue
            matcher = SequenceMatcher(
                None, before, _plain(item.prompt_text)[:LONGEST_COMPARED], autojunk=False
            )
            if matcher.quick_ratio() >= SIMILAR_ENOUGH and (ratio := matcher.ratio()) >= SIMILAR_ENOUGH:
                yield ratio, old, item.id


def _plain(text: str) -> str:
    return " ".join(text.split())
