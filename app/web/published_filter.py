"""What somebody wants to see of the published runs: words of an address in, the chosen runs out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from app.services.runs import KINDS, Run

STEP, MEMORY = "step", "memory"
PER_PAGE = 50
MOST_NAMES, MOST_LETTERS = 50, 200
OF = {STEP: "Step time", MEMORY: "Memory"}
AS_PUBLISHED = "source"
Key = Callable[[Run], float | str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """The choices in effect; `problems` says which words of the address were not understood."""

    of: str = STEP
    source: str = ""
    gpu: str = ""
    kind: str = ""
    q: str = ""
    core: bool = False
    sort: str = AS_PUBLISHED
    page: int = 1
    problems: tuple[str, ...] = ()

    @property
    def filtered(self) -> bool:
        """Whether some runs may be left out."""
        return bool(self.source or self.gpu or self.kind or self.q or self.core)

    def address(self, **changes: object) -> str:
        """The address of these choices with some changed, the first page unless one is named."""
        chosen = replace(self, **{"page": 1, **changes})  # type: ignore[arg-type]
        untouched = Filter()
        pairs = [
            (name, "1" if name == "core" else str(getattr(chosen, name)))
            for name in ("of", "source", "gpu", "kind", "q", "core", "sort", "page")
            if getattr(chosen, name) != getattr(untouched, name)
        ]
        return f"/published?{urlencode(pairs)}" if pairs else "/published"


def read_filter(pairs: Iterable[tuple[str, str]], runs: Sequence[Run]) -> Filter:
    """The choices of a query string. What is not understood is said and otherwise has no effect."""
    given = {name: value.strip()[:MOST_LETTERS] for name, value in list(pairs)[:MOST_NAMES]}
    known = {
        "of": set(OF),
        "source": {run.source for run in runs},
        "gpu": {run.gpu for run in runs},
        "kind": set(KINDS),
        "sort": {*SORTS, *(f"-{name}" for name in SORTS if name != AS_PUBLISHED)},
    }
    labels = {"of": "comparison", "source": "source", "gpu": "GPU", "kind": "kind of run", "sort": "order"}
    problems, chosen = [], {}
    for name, choices in known.items():
        value = given.get(name, "")
        if value in choices:
            chosen[name] = value
        elif value:
            problems.append(f"There is no {labels[name]} “{value}” here.")
    page = given.get("page", "1") or "1"
    if not (page.isascii() and page.isdecimal()) or int(page) < 1:
        problems.append(f"“{page}” is no page. This is the first one.")
        page = "1"
    return Filter(
        **chosen,
        q=given.get("q", ""),
        core=given.get("core", "") not in ("", "0", "false"),
        page=int(page),
        problems=tuple(problems),
    )


def error_of(run: Run, of: str) -> float | None:
    """The signed error that is compared."""
    return run.memory_error if of == MEMORY else run.result.signed_error


def _size(error: float | None) -> float | None:
    return None if error is None else abs(error)


def _shown(run: Run, of: str, step_s: float | None, memory_bytes: float | None) -> float | None:
    return memory_bytes if of == MEMORY else step_s


# Name of an order → its key, from the smallest up; `-name` turns it round. Runs without a value come last.
SORTS: Mapping[str, Callable[[str], Key]] = {
    AS_PUBLISHED: lambda of: lambda run: 0,
    "model": lambda of: lambda run: run.parameters,
    "gpus": lambda of: lambda run: run.num_gpus,
    "reported": lambda of: (
        lambda run: _shown(run, of, run.result.reported_step_s, run.result.reported_memory_bytes)
    ),
    "predicted": lambda of: (
        lambda run: _shown(run, of, run.result.predicted_step_s, run.result.predicted_memory_bytes)
    ),
    "error": lambda of: lambda run: error_of(run, of),
    "off": lambda of: lambda run: _size(error_of(run, of)),
}


def chosen_runs(runs: Sequence[Run], chosen: Filter) -> list[Run]:
    """The runs that pass, in the order asked for; those that report nothing to compare come last."""
    kept = [run for run in runs if _passes(run, chosen)]
    name = chosen.sort.removeprefix("-")
    key = SORTS[name](chosen.of)
    told = [run for run in kept if _has(run, key, chosen.of)]
    silent = [run for run in kept if not _has(run, key, chosen.of)]
    told.sort(key=key, reverse=chosen.sort.startswith("-"))  # type: ignore[arg-type]
    return told + silent


def _has(run: Run, key: Key, of: str) -> bool:
    return key(run) is not None and error_of(run, of) is not None


def _passes(run: Run, chosen: Filter) -> bool:
    if chosen.of == MEMORY and run.memory_error is None:
        return False
    words = chosen.q.casefold().split()
    if words:
        text = " ".join((run.id, run.source, run.model_name, run.gpu, run.notes)).casefold()
        if not all(word in text for word in words):
            return False
    return (
        chosen.source in ("", run.source)
        and chosen.gpu in ("", run.gpu)
        and chosen.kind in ("", run.kind)
        and (run.result.core or not chosen.core)
    )
