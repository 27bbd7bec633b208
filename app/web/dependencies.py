"""What routes ask for: the house's services, the learner's token, a form that was sent."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated
from urllib.parse import parse_qsl, quote

from fastapi import Depends, HTTPException, Request

from app.services.house import House
from app.web.learner import token_of

MAX_BODY_BYTES = 256 * 1024
MAX_FIELDS = 500


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form as they were typed; line ends are \\n, and no field holds a NUL."""

    fields: Mapping[str, tuple[str, ...]]

    def one(self, name: str, default: str = "") -> str:
        """The last value of a field."""
        return self.fields.get(name, (default,))[-1]

    def all(self, name: str) -> tuple[str, ...]:
        """Every value of a field, in the order of the form."""
        return self.fields.get(name, ())

    def starting(self, prefix: str) -> dict[str, str]:
        """The fields whose names begin with `prefix`, without it."""
        return {
            name.removeprefix(prefix): values[-1]
            for name, values in self.fields.items()
            if name.startswith(prefix)
        }


def parse_form(text: str) -> Form:
    """The fields of a form body or a query string. Raises HTTPException 413 on too many."""
    clean = text.replace("%00", "").replace("\0", "")
    try:
        pairs = parse_qsl(clean, keep_blank_values=True, errors="replace", max_num_fields=MAX_FIELDS)
    except ValueError as error:
        raise HTTPException(413, f"The form has more than {MAX_FIELDS} fields.") from error
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value.replace("\r\n", "\n").replace("\r", "\n"))
    return Form({name: tuple(values) for name, values in fields.items()})


async def _read_form(request: Request) -> Form:
    kind = request.headers.get("content-type", "application/x-www-form-urlencoded").split(";")[0].strip()
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise HTTPException(413, f"A form may hold at most {MAX_BODY_BYTES // 1024} KiB.")
    if body and kind.lower() != "application/x-www-form-urlencoded":
        raise HTTPException(
            422, f"This form was sent as {kind[:80]}; send application/x-www-form-urlencoded."
        )
    return parse_form(body.decode("utf-8", errors="replace"))


def _house(request: Request) -> House:
    house: House = request.app.state.house
    return house


def _query(request: Request) -> Form:
    return parse_form(request.url.query)


@dataclass(frozen=True, slots=True)
class Here:
    """A lesson's address, who asks, and the house."""

    house: House
    token: str | None
    course: str
    slug: str

    @property
    def url(self) -> str:
        """The lesson's address."""
        return f"/courses/{quote(self.course)}/lessons/{quote(self.slug)}"

    def known_as(self, token: str | None) -> "Here":
        """The same, for a learner who has just got a token."""
        return replace(self, token=token or self.token)


HouseDep = Annotated[House, Depends(_house)]
TokenDep = Annotated[str | None, Depends(token_of)]
FormDep = Annotated[Form, Depends(_read_form)]
QueryDep = Annotated[Form, Depends(_query)]


def _here(course: str, slug: str, house: HouseDep, token: TokenDep) -> Here:
    return Here(house, token, course, slug)


HereDep = Annotated[Here, Depends(_here)]
