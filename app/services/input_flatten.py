"""Nested objects, flat mappings and query strings → one flat mapping of paths."""

from collections.abc import Mapping
from typing import Any

from app.calculator.fields import ALIASES, BY_PATH, VERB_SECTIONS, bare_keys
from app.services.input_values import InputProblem, asked_back, did_you_mean, likely_names, shown

# Names that are not numbers of a field: the catalog ids.
IDS = {"model.id": "model.id", "model.name": "model.name"}
_BARE = {verb: {"model": "model.id"} | bare_keys(verb) for verb in VERB_SECTIONS}
_GROUPS = {
    path.rsplit(".", 1)[0] for path in BY_PATH if path.count(".") == 2
}  # model.vision, cluster.peak_flops
_MAX_KEYS = 500
_MAX_NAME = 200


def flatten(raw: Mapping[Any, Any], verb: str = "estimate") -> tuple[dict[str, Any], list[InputProblem]]:
    """Path → written value. Names that the verb's inputs do not have are problems, with the nearest known
    one.
    """
    sections = VERB_SECTIONS[verb]
    written: dict[str, Any] = {}
    problems: list[InputProblem] = []
    if len(raw) > _MAX_KEYS:
        return written, [
            InputProblem(field="", message=f"{len(raw)} names; at most {_MAX_KEYS} can be read.")
        ]
    for key, value in raw.items():
        if key in sections and isinstance(value, Mapping):
            _section(str(key), value, written, problems)
        elif key == "model" and value is not None:
            _put("model.id", value, written, problems)
        elif key in sections:
            if value is not None:
                problems.append(
                    InputProblem(field=str(key), message=f"{shown(value)} is not an object of fields.")
                )
        else:
            _name(str(key), value, verb, written, problems)
    return written, problems


def _section(
    prefix: str, section: Mapping[Any, Any], written: dict[str, Any], problems: list[InputProblem]
) -> None:
    if len(section) > _MAX_KEYS:
        problems.append(
            InputProblem(field=prefix, message=f"{len(section)} names; at most {_MAX_KEYS} can be read.")
        )
        return
    for key, value in section.items():
        path = f"{prefix}.{key}"
        if path in _GROUPS and isinstance(value, Mapping):
            _section(path, value, written, problems)
        elif path in _GROUPS:
            if value is not None:
                problems.append(
                    InputProblem(field=path, message=f"{shown(value)} is not an object of fields.")
                )
        elif path in BY_PATH or path in IDS or path in ALIASES:
            _put(ALIASES.get(path, path), value, written, problems)
        else:
            _unknown_in(prefix, str(key), problems)


def _name(name: str, value: Any, verb: str, written: dict[str, Any], problems: list[InputProblem]) -> None:
    """A flat name: a path or a bare key."""
    path = ALIASES.get(name, name)
    if path not in IDS and not (path in BY_PATH and BY_PATH[path].section in VERB_SECTIONS[verb]):
        path = _BARE[verb].get(name, "")
    if path:
        _put(path, value, written, problems)
    else:
        paths = [path for path, field in BY_PATH.items() if field.section in VERB_SECTIONS[verb]]
        _unknown(name, [*VERB_SECTIONS[verb], *_BARE[verb], *paths], problems)


def _put(path: str, value: Any, written: dict[str, Any], problems: list[InputProblem]) -> None:
    if path in written and written[path] != value:
        message = f"given twice, as {shown(written[path])} and as {shown(value)}. Write it once."
        problems.append(InputProblem(field=path, message=message))
    elif path in IDS and not (isinstance(value, str) and len(value) <= _MAX_NAME):
        problems.append(
            InputProblem(field=path, message=f"{shown(value)} is not a name. Write a catalog id.")
        )
    else:
        written[path] = value


def _unknown_in(prefix: str, key: str, problems: list[InputProblem]) -> None:
    """A name that a section does not have: another section's, or like one of its own without their prefix."""
    within = [path.removeprefix(f"{prefix}.") for path in BY_PATH if path.startswith(f"{prefix}.")]
    elsewhere = [path for path in BY_PATH if path.rpartition(".")[2] == key]
    hint = asked_back([f"{prefix}.{name}" for name in likely_names(key, within)])
    if elsewhere:
        hint = f" {elsewhere[0]} is one."
    message = f"there is no input of this name.{hint}"
    problems.append(InputProblem(field=f"{prefix}.{key}"[:100], message=message))


def _unknown(name: str, known: list[str], problems: list[InputProblem]) -> None:
    message = f"there is no input of this name.{did_you_mean(name, known)}"
    problems.append(InputProblem(field=name[:100], message=message))
