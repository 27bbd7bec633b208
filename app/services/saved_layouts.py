"""What a learner does with layouts of their own: keep, rename, forget."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from app.services.house import House
from app.services.learning import learner_for_writing
from app.storage import learners, saved_layouts
from app.storage.saved_layouts import StoredLayout

MOST_SAVED = 100
MOST_NAME, MOST_QUERY = 80, 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A saved layout's number and a token to remember; or why nothing was stored."""

    number: int = 0
    token: str | None = None
    problem: str = ""


def save(house: House, token: str | None, name: str, query: str) -> Kept:
    """Keep a calculation under a name; `query` is its address without the path."""
    name, query = clean(name), query.strip().lstrip("?")
    if problem := _refusal(name, query):
        return Kept(problem=problem)
    now = datetime.now(UTC)
    with house.database.writing() as session:
        learner_id, fresh = learner_for_writing(session, token, now)
        if saved_layouts.count(session, learner_id) >= MOST_SAVED:
            return Kept(problem=f"{MOST_SAVED} layouts are kept already. Delete one to keep another.")
        number = saved_layouts.add(session, learner_id, name, query, now)
    return Kept(number=number, token=fresh)


def rename(house: House, token: str | None, layout_id: int, name: str) -> Kept:
    """Another name for a layout of one's own."""
    name = clean(name)
    if problem := _refusal(name, "kept"):
        return Kept(problem=problem)
    with house.database.writing() as session:
        learner_id = learners.find(session, token)
        found = learner_id is not None and saved_layouts.rename(
            session, learner_id, layout_id, name, datetime.now(UTC)
        )
    return Kept(number=layout_id) if found else Kept(problem="That layout is not there any more.")


def forget(house: House, token: str | None, layout_id: int) -> None:
    """Delete a layout of one's own."""
    with house.database.writing() as session:
        learner_id = learners.find(session, token)
        if learner_id is not None:
            saved_layouts.remove(session, learner_id, layout_id)


def mine(house: House, token: str | None) -> list[StoredLayout]:
    """This learner's layouts, the newest first."""
    with house.database.reading() as session:
        learner_id = learners.find(session, token)
        return [] if learner_id is None else saved_layouts.of_learner(session, learner_id)


def chosen(house: House, token: str | None, numbers: Sequence[int]) -> list[StoredLayout]:
    """Those of one's own layouts, in the order asked for."""
    by_number = {one.id: one for one in mine(house, token)}
    return [by_number[number] for number in dict.fromkeys(numbers) if number in by_number]


def clean(name: str) -> str:
    """A name on one line, without what cannot be seen."""
    printable = "".join(letter if letter.isprintable() else " " for letter in name)
    return " ".join(printable.split())


def _refusal(name: str, query: str) -> str:
    if not name:
        return "Give it a name, so that you find it again."
    if len(name) > MOST_NAME:
        return f"A name may have {MOST_NAME} letters; this one has {len(name)}."
    if not query:
        return "There is nothing to keep yet. Open the calculator and save from there."
    if len(query) > MOST_QUERY:
        return "This calculation is too long to be kept. Keep its link instead."
    return ""
