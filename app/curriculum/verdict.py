"""What is said about an answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field

RIGHT, WRONG, PARTLY, NOT_UNDERSTOOD = "right", "wrong", "partly", "not_understood"


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """One requirement of a puzzle, with the value that decided it."""

    text: str  # as the lesson writes it
    met: bool
    value: str = ""  # for people: "101.4 GB", "no"; empty when there is none


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The verdict on an answer. Nothing in it gives the key away."""

    correct: bool | None = None  # None: not graded here, or not understood
    score: float | None = None  # 0..1
    message: str = ""  # one or two plain sentences
    feedback_html: str = ""  # made for this mistake; safe HTML
    misconception: str = ""
    understood: bool = True
    options: Mapping[str, str] = field(
        default_factory=dict
    )  # letter → HTML of the reason, for what was chosen
    parts: Mapping[str, "Verdict"] = field(default_factory=dict)  # of named answers
    requirements: tuple[Met, ...] = ()

    @property
    def word(self) -> str:
        """right | wrong | partly | not_understood, or empty where nothing is graded."""
        if not self.understood:
            return NOT_UNDERSTOOD
        if self.correct is None:
            return ""
        if self.correct:
            return RIGHT
        return PARTLY if self.score else WRONG


def not_understood(message: str) -> Verdict:
    """Nothing was graded; the message says what to write."""
    return Verdict(understood=False, message=message)
