"""What every response and every unsafe request must hold to."""

from collections.abc import Callable
from urllib.parse import urlsplit

from fastapi import Request, Response
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; object-src 'none'; "
    "base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
# These read no cookie and take application/json only, which a foreign page cannot send unasked.
COOKIELESS_PREFIXES = ("/api/v1/",)


class SecurityHeaders:
    """Adds the headers above to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI entry."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, send_with_headers if scope["type"] == "http" else send)


class RejectForgeries:
    """Answers a forged request with `refuse` and lets every other one through, without copying it."""

    def __init__(
        self, app: ASGIApp, *, allowed_hosts: list[str], refuse: Callable[[Request], Response]
    ) -> None:
        self.app, self.allowed_hosts, self.refuse = app, allowed_hosts, refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI entry."""
        if scope["type"] == "http" and is_forged(request := Request(scope), self.allowed_hosts):
            await self.refuse(request)(scope, receive, send)
        else:
            await self.app(scope, receive, send)


def is_forged(request: Request, allowed_hosts: list[str]) -> bool:
    """Whether an unsafe request may come from another site's page.

    Browsers say so in Sec-Fetch-Site; older ones name the Origin, else the Referer.
    A client that sends none of the three is no browser and carries no learner's cookie by accident.
    """
    if request.method in SAFE_METHODS or request.url.path.startswith(COOKIELESS_PREFIXES):
        return False
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    source = request.headers.get("origin") or request.headers.get("referer")
    if source is None:
        return False
    return urlsplit(source).netloc not in {request.headers.get("host", ""), *allowed_hosts}
