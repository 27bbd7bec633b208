"""The same answers as the engine itself, worked out once."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from app.curriculum.engine import EngineError, Quantity
from app.services.engine import CalculatorEngine
from app.services.remembering_engine import Remembering, RememberingEngine, VisitorsEngine


class Counting:
    def __init__(self) -> None:
        super().__init__()
        self.asked: list[object] = []

    def answer(self, verb: str, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        self.asked.append((verb, dict(inputs)))
        return {"verb": verb, **inputs}

    def value(self, name: str, arguments: Mapping[str, Any], verb: str = "estimate") -> Quantity:
        self.asked.append((name, verb))
        if name == "wrong":
            raise EngineError("no such name")
        return Quantity(value=len(arguments), unit="B")


class Remembered(Remembering, Counting):
    """The engine above with a memory."""


def test_each_question_is_worked_out_once() -> None:
    engine = Remembered()
    for _ in range(3):
        assert engine.answer("estimate", {"a": 1, "b": {"c": [2]}}) == {
            "verb": "estimate",
            "a": 1,
            "b": {"c": [2]},
        }
        assert engine.answer("estimate", {"b": {"c": [2]}, "a": 1})["a"] == 1
        assert engine.value("x", {"a": 1}) == Quantity(value=1, unit="B")
    assert len(engine.asked) == 2


def test_what_differs_is_asked_again() -> None:
    engine = Remembered()
    for inputs in ({"a": 1}, {"a": 1.5}, {"a": "1"}, {"a": True}, {"a": None}, {}):
        assert engine.answer("estimate", inputs) == {"verb": "estimate", **inputs}
    engine.answer("schedule", {"a": 1})
    assert len(engine.asked) == 7
    assert engine.value("x", {}, "estimate") == engine.value("x", {}, "serve")
    assert len(engine.asked) == 9


def test_a_refusal_stays_a_refusal() -> None:
    engine = Remembered()
    for _ in range(2):
        with pytest.raises(EngineError, match="no such name"):
            engine.value("wrong", {})


def test_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Remembered, "most", 2)
    engine = Remembered()
    for number in (1, 2, 1, 3, 1, 2):
        engine.answer("estimate", {"n": number})
    assert [dict(asked[1])["n"] for asked in engine.asked] == [1, 2, 3, 2]  # type: ignore[index]


def test_the_calculator_gives_the_same_with_a_memory() -> None:
    plain, engine = CalculatorEngine(), RememberingEngine()
    inputs = {"model": "llama2-7b", "num_nodes": 1, "tensor_parallel": 8}
    for _ in range(2):
        assert engine.answer("estimate", inputs) == plain.answer("estimate", inputs)
        assert engine.value("memory.peak_bytes", inputs) == plain.value("memory.peak_bytes", inputs)


def test_what_visitors_ask_is_forgotten_sooner() -> None:
    assert VisitorsEngine.most < RememberingEngine.most / 10


def test_many_at_once_get_the_right_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Remembered, "most", 3)
    engine = Remembered()
    with ThreadPoolExecutor(8) as pool:
        asked = [number % 7 for number in range(2_000)]
        told = list(pool.map(lambda number: engine.answer("estimate", {"a": number})["a"], asked))
    assert told == asked
