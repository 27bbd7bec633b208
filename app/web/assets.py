"""Files that never change under one address: kept by the browser, not asked for again."""

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

FOR_A_YEAR = "public, max-age=31536000, immutable"


class Assets(StaticFiles):
    """Static files; one that is asked for with a version may be kept for good."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file, with how long it may be kept."""
        response = await super().get_response(path, scope)
        versioned = scope.get("query_string", b"").startswith(b"v=")
        response.headers["Cache-Control"] = FOR_A_YEAR if versioned else "no-cache"
        return response
