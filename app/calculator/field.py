"""What one input of the calculator is: its path, the values it takes, and what it means."""

from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["integer", "number", "boolean", "choice", "integers", "axes", "group"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One input: its path, what values it takes, and what it means.

    `default` None means that it is derived from the other inputs; `help` says how.
    `kind` "axes" is an order of the names in `choices`; "group" is "global" or a number of ranks.
    """

    path: str
    kind: Kind
    help: str
    default: Any = None
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    unit: str = ""
    required: bool = False
    nullable: bool = False
    bare: bool = True
    section: str = field(init=False)  # model, cluster, layout, training or serving
    key: str = field(init=False)  # the path without its section

    def __post_init__(self) -> None:
        section, _, key = self.path.partition(".")
        object.__setattr__(self, "section", section)
        object.__setattr__(self, "key", key)


def integer(
    path: str, help: str, minimum: int, maximum: int, default: int | None = None, **more: Any
) -> Field:
    """A whole number within bounds."""
    return Field(
        path=path, kind="integer", help=help, minimum=minimum, maximum=maximum, default=default, **more
    )


def number(
    path: str, help: str, minimum: float, maximum: float, default: float | None = None, **more: Any
) -> Field:
    """A number within bounds."""
    return Field(
        path=path, kind="number", help=help, minimum=minimum, maximum=maximum, default=default, **more
    )


def boolean(path: str, help: str, default: bool | None) -> Field:
    """True or false."""
    return Field(path=path, kind="boolean", help=help, default=default)


def choice(path: str, help: str, choices: tuple[str, ...], default: str | None, **more: Any) -> Field:
    """One of a few words."""
    return Field(path=path, kind="choice", help=help, choices=choices, default=default, **more)
