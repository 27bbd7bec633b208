"""The live preview of `meshwright preview`: a file as learners see it, its problems, following the disk."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.responses import StreamingResponse
from watchfiles import awatch

from app.services.preview_files import PreviewFiles
from app.web.preview_views import preview_view, seed_of
from app.web.rendering import render

router = APIRouter(prefix="/preview", include_in_schema=False)

STEP_MS, DEBOUNCE_MS = 20, 100  # how long to wait for more of the same save
closing = asyncio.Event()  # set when the server ends, so that pages that follow it do not hold it up
BEAT_MS = 5_000  # a sign of life, so that closed pages are noticed


def _files(request: Request) -> PreviewFiles:
    files: PreviewFiles = request.app.state.preview_files
    return files


FilesDep = Annotated[PreviewFiles, Depends(_files)]


@router.get("")
def index(request: Request, files: FilesDep) -> Response:
    """All files with how many problems each has."""
    context = {"files": files.entries(), "version": files.version()}
    return render(request, "pages/preview_files.html", context, headers={"Cache-Control": "no-store"})


@router.get("/events")
async def events(files: FilesDep) -> Response:
    """One line for every change on the disk: the version that the pages now have."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_changes(files), media_type="text/event-stream", headers=headers)


async def _changes(files: PreviewFiles) -> AsyncIterator[str]:
    watch = awatch(
        files.watched,
        step=STEP_MS,
        debounce=DEBOUNCE_MS,
        rust_timeout=BEAT_MS,
        yield_on_timeout=True,
        stop_event=closing,
    )
    coming = asyncio.ensure_future(anext(watch, None))  # watches before the first version is told
    await asyncio.sleep(0)
    sent = ""
    try:
        while True:
            version = files.version()
            yield f"data: {version}\n\n" if version != sent else ": still here\n\n"
            sent = version
            if await coming is None:
                return
            coming = asyncio.ensure_future(anext(watch, None))
    finally:
        coming.cancel()


@router.get("/{path:path}")
def lesson(request: Request, path: str, files: FilesDep, seed: str = "", keys: str = "") -> Response:
    """One file, as learner or with the keys shown, with the numbers of a seed."""
    version = files.version()  # before reading: a save in between is seen as a change
    reading = files.read(path)
    if reading is None:
        raise HTTPException(404, f"There is no file {path} in the previewed folder; choose one at /preview.")
    view = preview_view(
        reading.lesson, reading.problems, reading.text, files.engine, keys=keys == "1", seed=seed_of(seed)
    )
    context = {"view": view, "version": version, "live_url": reading.live_url}
    return render(request, "pages/preview.html", context, headers={"Cache-Control": "no-store"})
