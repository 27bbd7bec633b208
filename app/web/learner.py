"""The learner's cookie: a random token, set at the first thing they do and never by reading."""

from fastapi import Request, Response

COOKIE = "meshwright_learner"
MAX_AGE_S = 400 * 24 * 3600  # as long as browsers allow
MAX_LENGTH = 200
# A learner's own pages: no shared cache keeps them, and a browser asks again.
PRIVATE = {"Cache-Control": "private, no-cache"}


def token_of(request: Request) -> str | None:
    """The token that this browser sends, if it could be one of ours."""
    token = request.cookies.get(COOKIE)
    return token if token and len(token) <= MAX_LENGTH and token.isascii() else None


def remember(request: Request, response: Response, token: str | None) -> None:
    """Give the browser its token; None leaves the cookie as it is."""
    if token is None:
        return
    response.set_cookie(
        COOKIE,
        token,
        max_age=MAX_AGE_S,
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https" or request.app.state.settings.secure_cookies,
        path="/",
    )
