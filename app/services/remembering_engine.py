"""The engine with a memory: a question is worked out once. For pages that are made again at every save."""

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

from app.curriculum.engine import Engine, Quantity
from app.services.engine import CalculatorEngine

MOST = 4_000  # answers kept; the ones not asked for longest go first
MOST_OF_VISITORS = 300  # a whole answer with its working is some 100 KB, and visitors may ask anything


class Remembering:
    """Before an engine class, it remembers that engine's answers. They are shared: nobody may change them."""

    most = MOST

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._answers: OrderedDict[str, Any] = OrderedDict()
        self._lock = Lock()

    def answer(self, verb: str, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """The whole answer of a verb; the numbers that are asked for by name come from it, too."""
        inner: Engine = super()  # type: ignore[assignment]
        found: Mapping[str, Any] = self._once(("answer", verb, inputs), lambda: inner.answer(verb, inputs))
        return found

    def value(self, name: str, arguments: Mapping[str, Any], verb: str = "estimate") -> Quantity:
        """One number by its published name. Raises EngineError."""
        inner: Engine = super()  # type: ignore[assignment]
        asked = ("value", verb, name, arguments)
        found: Quantity = self._once(asked, lambda: inner.value(name, arguments, verb))
        return found

    def _once(self, asked: tuple[Any, ...], work_out: Callable[[], Any]) -> Any:
        key = json.dumps(asked, sort_keys=True, default=repr)
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
                return self._answers[key]
        found = work_out()
        with self._lock:
            self._answers[key] = found
            if len(self._answers) > self.most:
                self._answers.popitem(last=False)
        return found


class RememberingEngine(Remembering, CalculatorEngine):
    """The calculator's engine with a memory."""


class VisitorsEngine(RememberingEngine):
    """The same for what visitors ask: a lesson's figures start alike for everybody."""

    most = MOST_OF_VISITORS
