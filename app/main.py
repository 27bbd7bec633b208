"""The application: everything is put together here, once."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import metadata
from pathlib import Path

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware

from app.curriculum.library import LibraryStore
from app.services.house import House
from app.services.preview_files import PreviewFiles
from app.services.remembering_engine import RememberingEngine, VisitorsEngine
from app.services.search_jobs import SearchDesk
from app.settings import ROOT, Settings
from app.storage.database import Database
from app.web import (
    advise,
    api,
    api_docs,
    balance,
    batch,
    calculator,
    compare,
    courses,
    errors,
    home,
    items,
    lessons,
    method,
    placement,
    preview,
    progress,
    published,
    reports,
    saved,
    schedule,
    search,
    search_api,
    styleguide,
    teach,
)
from app.web.api_body import BodyError, body_error
from app.web.assets import Assets
from app.web.head import HeadAsGet
from app.web.security import RejectForgeries, SecurityHeaders

STATIC = ROOT / "static"


def create_app(settings: Settings | None = None) -> FastAPI:
    """The app for these settings; `uvicorn app.main:create_app --factory` serves it.

    The database must be at the newest migration: `meshwright serve` sees to that.
    """
    settings = settings or Settings()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        app.state.searches.close()
        app.state.database.close()

    app = FastAPI(
        title="Meshwright", docs_url=None, redoc_url=None, openapi_url="/api/openapi.json", lifespan=lifespan
    )
    app.state.settings = settings
    app.state.database = Database(settings.database_url)
    app.state.house = _house(settings, app.state.database)
    app.state.searches = SearchDesk()
    app.state.asset_version = _version_of(STATIC)
    app.mount("/static/htmx", Assets(packages=[("js_lib_htmx", "static/htmx")]), name="htmx")
    app.mount("/static", Assets(directory=STATIC), name="static")
    errors.install(app)
    app.add_exception_handler(BodyError, body_error)
    for room in (
        api,
        search_api,
        search,
        api_docs,
        calculator,
        styleguide,
        schedule,
        balance,
        advise,
        compare,
        saved,
        batch,
        placement,
    ):
        app.include_router(room.router)
    for room in (home, courses, lessons, items, progress, published, method, reports, teach):
        app.include_router(room.router)
    if settings.preview is not None:
        app.state.preview_files = PreviewFiles(settings.preview, RememberingEngine())
        app.include_router(preview.router)

    app.add_middleware(
        RejectForgeries,
        allowed_hosts=settings.allowed_hosts,
        refuse=lambda request: errors.error_response(request, 403),
    )
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=5)  # 9: ten times slower
    app.add_middleware(SecurityHeaders)
    app.add_middleware(HeadAsGet)
    return app


def _house(settings: Settings, database: Database) -> House:
    engine = VisitorsEngine()
    look_every_s = 1.0 if settings.reload_lessons else float("inf")
    store = LibraryStore(settings.lessons_dir, engine=RememberingEngine(), interval_s=look_every_s)
    return House(database, store.current, engine)


def _version_of(folder: Path) -> str:
    digest = hashlib.sha256(metadata.version("django-js-lib-htmx").encode())
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
