"""The engine as lessons see it: names in, numbers out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A number of the engine with its unit and where it comes from."""

    value: Any
    unit: str = ""
    source: str = ""


class EngineError(Exception):
    """A name that does not exist or inputs that cannot be used; the message says what to write instead."""


class Engine(Protocol):
    """What curriculum needs of the calculator. `services.engine` provides it."""

    def answer(self, verb: str, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """The whole answer of a verb ("estimate", "schedule", …), in the words of the API.

        Inputs may be nested as in the API or flat (`{"model": "gpt3-175b", "tensor_parallel": 8}`).
        """
        ...

    def value(self, name: str, arguments: Mapping[str, Any], verb: str = "estimate") -> Quantity:
        """One number by its published name, as in `GET /api/v1/names`. Raises EngineError."""
        ...
