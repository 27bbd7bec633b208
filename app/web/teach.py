"""The instructor's pages. /teach/preview: a pasted or chosen file, rendered and linted; nothing is stored."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from starlette.datastructures import UploadFile
from starlette.types import Message

from app.services.pasting import read_pasted, too_much
from app.web.dependencies import HouseDep
from app.web.preview_views import PreviewView, preview_view, seed_of
from app.web.rendering import render

router = APIRouter(prefix="/teach", include_in_schema=False)

MAX_LESSON_BYTES = 1_000_000
LIMIT_WORDS = "1 MB"
MAX_BODY_BYTES = 3 * MAX_LESSON_BYTES + 100_000  # the text, the file, and percent signs where a form has them
TOO_LARGE = f"A lesson may have at most {LIMIT_WORDS}. Split it into lessons."


@dataclass(frozen=True, slots=True, kw_only=True)
class Pasted:
    """What the form holds. With a `problem` it cannot be shown as a lesson."""

    text: str = ""
    name: str = ""
    keys: bool = False
    seed: int = 0
    problem: str = ""


async def _pasted(request: Request) -> Pasted:
    """The form, read within bounds."""
    received = 0

    async def bounded() -> Message:
        nonlocal received
        message = await request.receive()
        received += len(message.get("body", b""))
        if received > MAX_BODY_BYTES:
            raise HTTPException(413, TOO_LARGE)
        return message

    limits = {"max_files": 1, "max_fields": 20, "max_part_size": MAX_BODY_BYTES}
    async with Request(request.scope, bounded).form(**limits) as form:
        words = {key: value for key, value in form.items() if isinstance(value, str)}
        file = form.get("file")
        data = await file.read() if isinstance(file, UploadFile) else b""
        name = file.filename or "" if isinstance(file, UploadFile) and data else words.get("name", "")
    text, problem = words.get("text", ""), ""
    if data:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data[: error.start].count(b"\n") + 1
            problem = f"The file is not UTF-8 text (line {line}). Save it as UTF-8 and choose it again."
    if not text.strip() and not problem:
        problem = "There is no text yet. Paste a lesson or choose a file."
    if len(text.encode("utf-8", "surrogatepass")) > MAX_LESSON_BYTES:
        problem = TOO_LARGE
    problem = problem or too_much(text)
    return Pasted(
        text=text,
        name=name,
        keys=words.get("keys") == "1",
        seed=seed_of(words.get("seed", "")),
        problem=problem,
    )


@router.get("/preview")
def empty_form(request: Request) -> Response:
    """Where a lesson is pasted or a file is chosen."""
    return _page(request, Pasted())


@router.post("/preview")
def preview(request: Request, house: HouseDep, pasted: Annotated[Pasted, Depends(_pasted)]) -> Response:
    """The lesson that was pasted or chosen, with its problems."""
    if pasted.problem:
        return _page(request, pasted, status=422)
    reading = read_pasted(pasted.text, pasted.name, house.engine)
    view = preview_view(
        reading.lesson, reading.problems, pasted.text, house.engine, keys=pasted.keys, seed=pasted.seed
    )
    return _page(request, pasted, view)


def _page(
    request: Request, pasted: Pasted, view: PreviewView | None = None, *, status: int = 200
) -> Response:
    context = {
        "view": view,
        "text": pasted.text,
        "name": pasted.name,
        "keys": pasted.keys,
        "seed": pasted.seed,
        "problem": pasted.problem,
        "limit_words": LIMIT_WORDS,
    }
    return render(request, "pages/teach_preview.html", context, status_code=status)
