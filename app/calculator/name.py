"""What a published name is: a number that lessons and puzzles can ask for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument of a named function. `default` None: it must be given."""

    name: str
    help: str
    default: Any = None
    unit: str = ""
    text: bool = False  # a word, not a number
    many: bool = False  # a list of numbers
    of_model: str = ""  # the model's field (or "parameters") that stands in when a model is given


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A published number: what it means, what it needs, where it comes from."""

    name: str
    help: str
    unit: str
    source: str
    arguments: tuple[Argument, ...]
    function: Callable[..., Any]
    question: str = ""  # the verb whose inputs it takes; empty: plain numbers only
    unneeded: tuple[str, ...] = ()  # inputs that the verb requires and this number does not depend on
