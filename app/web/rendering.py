"""Pages and the fragments they are made of: one template for both."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from app.web.number_links import with_workings
from app.web.typography import bound, prose

TEMPLATES = Path(__file__).resolve().parent.parent.parent / "templates"

# The sheets of a page are asked for as soon as its headers are there, before the page itself is.
_SHEET = re.compile(r'<link rel="stylesheet" href="([^"]+)">')
_HEAD_LETTERS = 2_500

environment = Environment(
    loader=FileSystemLoader(TEMPLATES),
    autoescape=select_autoescape(default=True),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
environment.filters.update(prose=prose, bound=bound, with_workings=with_workings)


def wants_fragment(request: Request) -> bool:
    """Whether htmx asks for a part of the page, not for the page restored from its history."""
    return request.headers.get("HX-Request") == "true" and "HX-History-Restore-Request" not in request.headers


def render_to_string(
    request: Request, template: str, context: Mapping[str, Any], *, block: str | None = None
) -> str:
    """The whole page, or one `{% block %}` of that same page."""
    page = environment.get_template(template)
    values = {"request": request, **common(request), **context}
    if block is None:
        return page.render(values)
    # Macros and imports of the page are set when its module body runs, so run it on the same context.
    scope = page.new_context(values)
    next(iter(page.root_render_func(scope)), None)
    return "".join(page.blocks[block](scope))


def render(
    request: Request,
    template: str,
    context: Mapping[str, Any] | None = None,
    *,
    block: str | None = None,
    status_code: int = 200,
    headers: Mapping[str, str] | None = None,
) -> HTMLResponse:
    """Answer with the page, or with its `block` when htmx asks for a fragment."""
    fragment = block if block is not None and wants_fragment(request) else None
    body = render_to_string(request, template, context or {}, block=fragment)
    extra = {"Vary": "HX-Request", **(headers or {})} if block is not None else dict(headers or {})
    if fragment is None and (sheets := _SHEET.findall(body[:_HEAD_LETTERS])):
        extra["Link"] = ", ".join(f"<{sheet}>; rel=preload; as=style" for sheet in sheets)
    return HTMLResponse(body, status_code=status_code, headers=extra)


def common(request: Request) -> dict[str, Any]:
    """What every page may show: the path for the navigation, and the asset version for caching."""
    return {"path": request.url.path, "asset_version": request.app.state.asset_version}
