"""The one sentence that comes before every picture, made from the engine's answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.web import numbers
from app.web.charts.memory import largest_item, verb

RESOURCES = {
    "memory": "memory",
    "intra_node_link": "the link inside a node",
    "inter_node_link": "the network between nodes",
    "compute": "compute",
    "bubble": "the pipeline bubble",
    "batch": "the global batch",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`state`: fits, borderline, over, illegal or unusable. `lead` is set in the state's colour."""

    state: str
    lead: str
    rest: str
    why: str = ""

    @property
    def sentence(self) -> str:
        """The whole sentence, as it is announced."""
        return f"{self.lead} {self.rest}".strip()

    @property
    def tone(self) -> str:
        """The class of the lead."""
        return {"fits": "good", "borderline": "warn"}.get(self.state, "bad")


def verdict(answer: Mapping[str, Any], *, brief: bool = False) -> Verdict:
    """What the answer of estimate or serve says; `brief` leaves out what a widget shows beside it."""
    if not answer.get("legal", True):
        return _illegal(answer["violations"], brief)
    memory = answer.get("memory")
    if not memory or not memory.get("stages"):
        return Verdict(state="fits", lead="Legal.", rest="")
    return _serving(answer, memory) if "limit_bytes" in memory else _training(answer, memory, brief)


def _training(answer: Mapping[str, Any], memory: Mapping[str, Any], brief: bool) -> Verdict:
    peak, limit = float(memory["peak_bytes"]), float(memory["usable_bytes"])
    if memory["fits"] == "yes":
        return _fits(answer, peak, limit, brief)
    stages: Sequence[Mapping[str, Any]] = memory["stages"]
    fullest = max(stages, key=lambda stage: float(stage["total_bytes"]))
    stage, why = f"stage{numbers.NBSP}{fullest['stage']}", _held(fullest)
    if memory["fits"] == "borderline":
        side = "over" if peak > limit else "under"
        rest = f"{stage} needs {_of(peak, limit)}, {numbers.gib(abs(peak - limit))} {side} the limit."
        return Verdict(state="borderline", lead="Borderline:", rest=rest, why=why)
    over = numbers.gib_number(peak - limit)
    name, _ = largest_item(fullest)
    rest = f"{name} {verb('put', name)} {stage} at {_of(peak, limit)}, over by{numbers.NBSP}{over}."
    if brief:
        rest = f"{stage} is over by {over}{numbers.NBSP}GiB."
    return Verdict(state="over", lead="Does not fit:", rest=rest, why=why)


def _fits(answer: Mapping[str, Any], peak: float, limit: float, brief: bool) -> Verdict:
    why = _sentence(str((answer.get("binding") or {}).get("because") or ""))
    spare = numbers.gib(limit - peak)
    step = (answer.get("time") or {}).get("step_s")
    if brief or step is None:
        timed = f" A step takes {numbers.seconds(step)}." if step is not None else ""
        return Verdict(state="fits", lead="Fits,", rest=f"with {spare} to spare.{timed}", why=why)
    resource = RESOURCES.get(str((answer.get("binding") or {}).get("resource")), "compute")
    rest = f"{spare} to spare. A step takes {numbers.seconds(step)}, and {resource} binds."
    return Verdict(state="fits", lead="Fits,", rest=rest, why=why)


def _serving(answer: Mapping[str, Any], memory: Mapping[str, Any]) -> Verdict:
    """Of the serve verb: one request of full length must fit beside the weights."""
    peak, limit = float(memory["peak_bytes"]), float(memory["limit_bytes"])
    tokens = numbers.count(answer.get("kv_capacity_tokens"))
    if memory["fits"] == "no":
        rest = f"weights and one full request need {_of(peak, limit)} on one GPU."
        return Verdict(state="over", lead="Does not fit:", rest=rest)
    if memory["fits"] == "borderline":
        rest = f"weights and one full request need {_of(peak, limit)}, and {tokens} tokens of cache remain."
        return Verdict(state="borderline", lead="Borderline:", rest=rest)
    return Verdict(state="fits", lead="Fits,", rest=f"with room for {tokens} tokens of cache.")


def _illegal(violations: Sequence[Mapping[str, Any]], brief: bool) -> Verdict:
    first = violation_sentence(violations[0]) if violations else "a rule is broken."
    if first.partition(" ")[0].istitle():
        first = first[0].lower() + first[1:]
    more = len(violations) - 1
    others = f" {more} more {'rule is' if more == 1 else 'rules are'} broken." if more > 0 else ""
    why = "" if brief else "Nothing is calculated until every rule holds: the numbers would be of no layout."
    return Verdict(state="illegal", lead="Not a legal layout:", rest=f"{first}{others}", why=why)


def violation_sentence(violation: Mapping[str, Any]) -> str:
    """The rule's own message, without the advice that the page gives as links."""
    message = str(violation.get("message") or violation.get("code") or "a rule is broken").strip()
    message = message.partition(" Nearest ")[0]
    return message if message.endswith(".") else f"{message}."


def unusable(problems: Sequence[tuple[str, str]]) -> Verdict:
    """For inputs that could not be read."""
    count = len(problems)
    named = "one input needs" if count == 1 else f"{numbers.count(count)} inputs need"
    return Verdict(
        state="unusable",
        lead="Cannot be calculated:",
        rest=f"{named} mending.",
        why="What you typed is kept below, with the reason beside each field.",
    )


def _held(stage: Mapping[str, Any]) -> str:
    """What fills the fullest stage."""
    name, share = largest_item(stage)
    amount = numbers.gib(share * float(stage["total_bytes"]))
    held = stage.get("in_flight_micro_batches")
    if name == "activations" and held is not None:
        batches = "one micro-batch" if held == 1 else f"{numbers.count(held)} micro-batches"
        return f"Memory binds. Stage {stage['stage']} keeps {batches} in flight, {amount} of activations."
    return f"Memory binds. The {name} of stage {stage['stage']} {verb('take', name)} {amount}."


def _sentence(text: str) -> str:
    text = text.strip()
    if not text:
        return ""
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _of(peak: float, limit: float) -> str:
    return f"{numbers.gib_number(peak)} of {numbers.gib_number(limit)}{numbers.NBSP}GiB"
