"""One table of errors: what went wrong, in plain words, and what to do next."""

import logging
from http import HTTPStatus

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from app.services.house import UnknownPlaceError
from app.web.rendering import render

log = logging.getLogger("meshwright")

EXPLANATIONS = {
    400: ("This request was not understood", "Go back and send the form again."),
    403: ("This form did not come from this site", "Open the page again and send the form from there."),
    404: ("There is no such page", "Follow a link from the start page, or check the address."),
    405: ("This address does not take that kind of request", "Go back to the page and use its buttons."),
    413: ("That is too much at once", "Send a shorter text."),
    422: ("Part of the form could not be used", "Go back, mend the field that is named, and send it again."),
    500: (
        "Something broke on our side",
        "Nothing you typed before was lost. Try again; if it stays, report it.",
    ),
}


def wants_json(request: Request) -> bool:
    """Whether the answer goes to a program."""
    return request.url.path.startswith("/api/v1")


def error_response(request: Request, status: int, detail: str | None = None) -> Response:
    """The error as a page, or as JSON for the API."""
    title, advice = EXPLANATIONS.get(status, (HTTPStatus(status).phrase, "Go back and try again."))
    if wants_json(request):
        return JSONResponse({"detail": detail or title, "advice": advice}, status_code=status)
    return render(
        request,
        "pages/error.html",
        {"status": status, "title": title, "detail": detail, "advice": advice},
        status_code=status,
    )


def install(app: FastAPI) -> None:
    """Register the handlers."""

    @app.exception_handler(HTTPException)
    def http_error(request: Request, error: HTTPException) -> Response:
        detail = error.detail if error.detail != HTTPStatus(error.status_code).phrase else None
        return error_response(request, error.status_code, detail)

    @app.exception_handler(UnknownPlaceError)
    def unknown_place(request: Request, error: UnknownPlaceError) -> Response:
        return error_response(request, 404, str(error))

    @app.exception_handler(RequestValidationError)
    def form_error(request: Request, error: RequestValidationError) -> Response:
        fields = [
            {"field": ".".join(str(part) for part in problem["loc"][1:]), "message": problem["msg"]}
            for problem in error.errors()
        ]
        if wants_json(request):
            return JSONResponse({"detail": fields}, status_code=422)
        named = "; ".join(f"{field['field']}: {field['message']}" for field in fields)
        return error_response(request, 422, named)

    @app.exception_handler(Exception)
    def unexpected(request: Request, error: Exception) -> Response:
        log.exception("%s %s", request.method, request.url.path, exc_info=error)
        return error_response(request, 500)
