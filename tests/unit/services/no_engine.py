"""An engine that knows no names: for lessons whose keys are plain arithmetic."""

from collections.abc import Mapping
from typing import Any

from app.curriculum.engine import EngineError, Quantity


class NoEngine:
    """Refuses everything."""

    def answer(self, verb: str, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        raise EngineError(verb)

    def value(self, name: str, arguments: Mapping[str, Any], verb: str = "estimate") -> Quantity:
        raise EngineError(name)
