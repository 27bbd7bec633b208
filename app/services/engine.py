"""The engine that lessons ask: verbs, published names, paths of an answer, and plain arithmetic."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import partial
from typing import Any

from app.calculator.expressions import ExpressionError, evaluate_expression
from app.calculator.fields import BY_PATH, bare_keys
from app.calculator.name import Argument, Name
from app.calculator.named_functions import Question
from app.calculator.names import NAMES
from app.calculator.parameters import total_parameters
from app.catalog import Catalog, load_catalog
from app.curriculum.engine import EngineError, Quantity
from app.services.balance import balance_pieces
from app.services.estimation import estimate
from app.services.input_build import build_model
from app.services.input_flatten import flatten
from app.services.input_values import InputProblem, number_of, read_values
from app.services.input_write import input_value
from app.services.inputs import InputProblems, parse_inputs
from app.services.scheduling import schedule
from app.services.serving import question_of, serve

Verb = Callable[[Mapping[str, Any]], Any]
# The names of a puzzle that differ from the paths of the answer.
ALIASES = {"fits": "memory.fits", "max_model_len": "serving.max_model_len"}
UNITS = {
    "_bytes": "bytes",
    "_bytes_per_step": "bytes",
    "_bytes_per_token": "bytes",
    "_s_per_step": "s",
    "_tokens_per_s": "tokens/s",
    "_s": "s",
    "_fraction": "fraction",
    "_flop_per_step": "FLOP",
    "_tflops_per_gpu": "TFLOP/s",
    "_tokens": "tokens",
}


class CalculatorEngine:
    """`app.curriculum.engine.Engine` over the calculator's verbs and names."""

    def __init__(self, catalog: Catalog | None = None) -> None:
        self._catalog = catalog or load_catalog()
        self._verbs: dict[str, Verb] = {
            "estimate": lambda inputs: estimate(inputs, self._catalog),
            "serve": lambda inputs: serve(inputs, self._catalog),
            "schedule": schedule,
            "balance": balance_pieces,
        }
        # The last question and its answer: a puzzle asks for number after number of one layout.
        self._last: tuple[str, Mapping[str, Any]] | None = None

    def answer(self, verb: str, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """The whole answer of a verb. Raises EngineError: an unknown verb, or inputs that cannot be used.

        Two callers may be given the same object: nobody may change it.
        """
        if verb not in self._verbs:
            raise EngineError(f"there is no verb {verb[:40]!r}; write one of {', '.join(self._verbs)}")
        asked = repr((verb, inputs))
        last = self._last
        if last is not None and last[0] == asked:
            return last[1]
        result = self._verbs[verb](inputs)
        if isinstance(result, InputProblems):
            raise EngineError(_joined(result.problems))
        answer: Mapping[str, Any] = result
        self._last = (asked, answer)
        return answer

    def value(self, name: str, arguments: Mapping[str, Any], verb: str = "estimate") -> Quantity:
        """One number: a published name, a path or bare key of the verb's answer or inputs, or arithmetic.

        Arithmetic may use the arguments' names. Raises EngineError.
        """
        wanted = name.strip()
        if wanted in NAMES:
            return self._named(NAMES[wanted], arguments)
        if wanted in arguments and isinstance(arguments[wanted], int | float | str):
            return Quantity(value=arguments[wanted])
        if all(part.isidentifier() or part.isdigit() for part in wanted.split(".")):
            return self._path(wanted, arguments, verb)
        try:
            return Quantity(value=evaluate_expression(wanted, self._lookup(arguments, verb)))
        except ExpressionError as error:
            raise EngineError(f"{wanted[:80]}: {error}") from error

    def _lookup(self, arguments: Mapping[str, Any], verb: str) -> Callable[[str], Any]:
        def lookup(name: str) -> Any:
            if name in arguments:
                given = arguments[name]
                return number_of(given) if isinstance(given, str) else given
            if "." not in name and not self._knows(name, verb):
                raise KeyError(name)
            return self.value(name, arguments, verb).value

        return lookup

    def _knows(self, name: str, verb: str) -> bool:
        return name in ALIASES or name in bare_keys("serve" if verb == "serve" else "estimate")

    def _named(self, name: Name, arguments: Mapping[str, Any]) -> Quantity:
        own = {argument.name: argument for argument in name.arguments}
        if name.question:
            extra = {key: value for key, value in arguments.items() if key in own}
            rest = {key: value for key, value in arguments.items() if key not in own}
            values = self._plain(name, extra, None)
            call = partial(name.function, self._question(name, rest), **values)
        else:
            values = self._plain(name, arguments, self._model_numbers(name, arguments))
            call = partial(name.function, **values)
        try:
            return Quantity(value=call(), unit=name.unit, source=name.source)
        except (ValueError, ZeroDivisionError, OverflowError) as error:
            raise EngineError(f"{name.name}: {error}") from error

    def _question(self, name: Name, arguments: Mapping[str, Any]) -> Question:
        given = dict(arguments)
        if "model" not in given:
            for key in name.unneeded:
                given.setdefault(key, 1)
        inputs = parse_inputs(given, self._catalog, name.question)
        if isinstance(inputs, InputProblems):
            raise EngineError(f"{name.name}: {_joined(inputs.problems)}")
        return question_of(inputs)

    def _model_numbers(self, name: Name, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What a given model says of the arguments that it can stand in for."""
        if "model" not in arguments:
            return {}
        written, problems = flatten({"model": arguments["model"]})
        values, more = read_values(written)
        problems += more
        shape = {path.removeprefix("model."): value for path, value in values.items()}
        model = None if problems else build_model(shape, problems, self._catalog)
        if model is None:
            raise EngineError(f"{name.name}: {_joined(problems)}")
        numbers: dict[str, Any] = {"parameters": total_parameters(model)}
        for argument in name.arguments:
            if argument.of_model and argument.of_model != "parameters":
                numbers[argument.of_model] = getattr(model, argument.of_model)
        return numbers

    def _plain(
        self, name: Name, arguments: Mapping[str, Any], of_model: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """The function's own arguments: given, of the model, or by default; all that is wrong at once."""
        known = {argument.name for argument in name.arguments}
        faults = [
            f"there is no argument {key}{_hint(key, known)}"
            for key in arguments
            if key not in known and key != "model"
        ]
        values: dict[str, Any] = {}
        for argument in name.arguments:
            if argument.name in arguments:
                value = _argument(arguments[argument.name], argument)
                if value is None:
                    faults.append(f"{argument.name} cannot be {str(arguments[argument.name])[:40]!r}")
            else:
                value = (of_model or {}).get(argument.of_model) if argument.of_model else None
                value = argument.default if value is None else value
                if value is None:
                    faults.append(f"{argument.name} is missing: {argument.help}")
            values[argument.name] = value
        if faults:
            raise EngineError(f"{name.name}: {'; '.join(faults)}")
        return values

    def _path(self, path: str, arguments: Mapping[str, Any], verb: str) -> Quantity:
        """A path of the verb's answer, else of its inputs."""
        answer = self.answer(verb, arguments)
        wanted = ALIASES.get(path, path)
        found = _follow(answer, wanted)
        if found is None and verb in ("estimate", "serve"):
            found = self._input(wanted, arguments, verb)
        if found is None:
            known = [
                *NAMES,
                *ALIASES,
                *_paths(answer),
                *bare_keys("serve" if verb == "serve" else "estimate"),
            ]
            raise EngineError(f"there is no number called {path[:80]}{_hint(path, known)}")
        return Quantity(value=found[0], unit=_unit(wanted))

    def _input(self, path: str, arguments: Mapping[str, Any], verb: str) -> tuple[Any] | None:
        inputs = parse_inputs(arguments, self._catalog, verb)
        full = bare_keys(verb).get(path, path)
        if isinstance(inputs, InputProblems) or (full not in BY_PATH and full != "model.id"):
            return None
        return (input_value(inputs, full),)


def _argument(given: Any, argument: Argument) -> Any:
    """A given argument as a word, a flag or a number, whichever it is; None where it is not."""
    if argument.many:
        numbers = [number_of(item) for item in given] if isinstance(given, list | tuple) else []
        return tuple(numbers) if numbers and None not in numbers else None
    if argument.text:
        return given if isinstance(given, str) else None
    if isinstance(argument.default, bool):
        return given if isinstance(given, bool) else None
    return number_of(given)


def _follow(answer: Any, path: str) -> tuple[Any] | None:
    """The value at a dotted path; lists by number. A tuple, because the value itself may be None."""
    for part in path.split("."):
        if isinstance(answer, Mapping) and part in answer:
            answer = answer[part]
        elif isinstance(answer, list) and part.isdigit() and int(part) < len(answer):
            answer = answer[int(part)]
        else:
            return None
    return (answer,)


def _paths(answer: Mapping[str, Any], prefix: str = "") -> list[str]:
    found = []
    for key, value in answer.items():
        found.append(f"{prefix}{key}")
        if isinstance(value, Mapping):
            found += _paths(value, f"{prefix}{key}.")
    return found


def _unit(path: str) -> str:
    return next((unit for ending, unit in UNITS.items() if path.endswith(ending)), "")


def _hint(name: str, known: Any) -> str:
    close = get_close_matches(name[:100], list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else ""


def _joined(problems: Any) -> str:
    said: list[InputProblem] = list(problems)
    return "; ".join(f"{p.field}: {p.message}" if p.field else p.message for p in said)
