"""Nothing that a lesson holds is ever run: on the site, in the preview, when pasted, when exported."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from app.curriculum.engine import Engine
from app.curriculum.library import load_library
from app.services.engine import CalculatorEngine
from app.services.export import export
from app.services.skeletons import new_course
from tests.browser.preview_server import PreviewServer
from tests.browser.xss_corpus import EVIL_SVG, HTML, MARKDOWN, SWALLOWING, hostile_lesson

SETS = {"0001-html": HTML, "0002-markdown": MARKDOWN, "0003-swallowing": SWALLOWING}
# What must not be among the elements that came from a lesson.
FOUND = """() => {
  const bad = [];
  const tags = /^(script|iframe|object|embed|style|link|meta|base|video|template|foreignobject|animate)$/i;
  const code = /^(on.*|srcdoc|formaction|xlink:href|style)$/i;
  const safe = /^(https?:|mailto:|[/#?]|$)/i;
  for (const node of document.querySelectorAll("main *")) {
    const found = (what) => bad.push(what.slice(0, 120));
    if (tags.test(node.localName)) found(node.outerHTML);
    const written = node.closest(".prose, .ask, .otext, .in, .say, .check-in");
    for (const {name, value} of node.attributes) {
      if (code.test(name)) found(`${name}=${value}`);
      // What we draw ourselves; in an image nothing is run.
      if (node.localName === "img" && value.startsWith("data:image/svg+xml;base64,")) continue;
      if (/^(href|src|action)$/i.test(name) && !safe.test(value.trim())) found(`${name}=${value}`);
      // The link of a checked number to its working is ours: what a lesson writes loses its class and id.
      const ours = node.matches("a.calc[id^=calc-]") && {
        "hx-get": /^\\/courses\\/evil\\/lessons\\/[\\w-]+\\/numbers\\/[0-9a-f]+$/,
        "hx-target": /^next \\.number-slot$/, "hx-swap": /^innerHTML$/ }[name];
      if (/^(data-)?hx-/i.test(name) && written && !(ours && ours.test(value))) found(`${name}=${value}`);
    }
  }
  return bad;
}"""


@pytest.fixture(scope="module")
def lessons(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("xss") / "lessons"
    new_course(root, "evil")
    for number, (slug, pieces) in enumerate(SETS.items(), 1):
        (root / "evil" / "lessons" / f"{slug}.md").write_text(hostile_lesson(pieces, number))
    (root / "evil" / "images" / "evil.svg").write_text(EVIL_SVG)
    terms = "\n\n".join(f"### {piece}\n\n{piece}" for piece in HTML[:20])
    (root / "evil" / "GLOSSARY.md").write_text(f"# Glossary\n\n{terms}\n")
    readme = root / "evil" / "README.md"
    readme.write_text(
        readme.read_text().replace("One paragraph:", "\n\n".join(HTML) + "\n\n") + "\n".join(MARKDOWN)
    )
    return root


@pytest.fixture(scope="module")
def server(lessons: Path) -> Iterator[PreviewServer]:
    server = PreviewServer(lessons)
    yield server
    server.stop()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page on which any dialog, error or blocked script fails the test."""
    context = browser.new_context()
    page = context.new_page()
    heard: list[str] = []
    page.on("dialog", lambda dialog: (heard.append(f"dialog {dialog.message}"), dialog.dismiss()))
    page.on("pageerror", lambda error: heard.append(f"error {error}"))
    # A picture that is missing is no attack; a script that only the policy stopped is one.
    page.on("console", lambda message: heard.append(message.text) if "404" not in message.text else None)
    page.on("popup", lambda popup: heard.append(f"popup {popup.url}"))
    yield page
    context.close()
    assert heard == []


def nothing_ran(page: Page) -> None:
    """Open and touch everything that can be opened and touched, then look for traces."""
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    page.evaluate(
        """() => { for (const node of document.querySelectorAll('main *')) {
             for (const kind of ['mouseover', 'pointerover', 'focus', 'toggle', 'animationstart'])
               node.dispatchEvent(new Event(kind, {bubbles: true}));
           } }"""
    )
    page.wait_for_timeout(100)
    assert page.evaluate("typeof window.hit === 'undefined' || window.hit instanceof Element")
    assert page.evaluate(FOUND) == []


def test_the_corpus_bites(browser: Browser) -> None:
    """Put into a page as it stands, it runs and is found: the tests below could fail."""
    page = browser.new_page()
    page.set_content(f"<main>{''.join(HTML)}</main>")
    page.wait_for_timeout(100)
    assert page.evaluate("window.hit === 1")
    assert len(page.evaluate(FOUND)) > 30
    page.close()


@pytest.mark.parametrize("slug", SETS)
@pytest.mark.parametrize("keys", ["", "?keys=1"])
def test_preview(page: Page, server: PreviewServer, slug: str, keys: str) -> None:
    page.goto(f"{server.url}/preview/evil/lessons/{slug}.md{keys}")
    assert page.locator(".item").count() >= (1 if "swallowing" in slug else 20)
    nothing_ran(page)


@pytest.mark.parametrize(
    "path",
    [
        *(f"/courses/evil/lessons/{slug}?checks=open" for slug in SETS),
        "/courses/evil",
        "/courses/evil/glossary",
        "/preview",
        "/",
    ],
)
def test_site(page: Page, server: PreviewServer, path: str) -> None:
    assert page.goto(server.url + path).status == 200  # type: ignore[union-attr]
    nothing_ran(page)


@pytest.mark.parametrize("slug", SETS)
def test_pasted(page: Page, server: PreviewServer, slug: str) -> None:
    page.goto(f"{server.url}/teach/preview")
    page.fill("#text", hostile_lesson(SETS[slug], 1))
    page.fill("#name", '"><img src=x onerror=window.hit=1>.md')
    page.get_by_role("button", name="Show the lesson").click()
    assert page.locator(".item").count() >= (1 if "swallowing" in slug else 20)
    nothing_ran(page)


def test_figures_opened_alone(browser: Browser, server: PreviewServer, lessons: Path) -> None:
    """An SVG opened as a page of its own does not run its script, whoever drew it."""
    library = load_library(lessons)
    diagrams = [f"/courses/evil/diagrams/{name}.svg" for name in library.diagrams]
    assert diagrams
    for path in ["/courses/evil/images/evil.svg", *diagrams]:
        context = browser.new_context()
        page = context.new_page()
        heard: list[str] = []
        page.on("dialog", lambda dialog, heard=heard: (heard.append(dialog.message), dialog.dismiss()))
        assert page.goto(server.url + path).status == 200  # type: ignore[union-attr]
        page.wait_for_timeout(100)
        assert heard == []
        assert page.evaluate("typeof window.hit === 'undefined'"), path
        context.close()


def test_exported_pages(page: Page, lessons: Path, tmp_path: Path) -> None:
    """From a file there is no policy to stop anything, so there must be nothing to stop."""
    engine: Engine = CalculatorEngine()
    assert (
        export(load_library(lessons, engine=engine), "evil", tmp_path / "out", "html", engine).problems == ()
    )
    for path in sorted((tmp_path / "out").glob("*.html")):
        page.goto(path.as_uri())
        nothing_ran_in_file(page)


def nothing_ran_in_file(page: Page) -> None:
    page.wait_for_timeout(50)
    assert page.evaluate("typeof window.hit === 'undefined' || window.hit instanceof Element")
    relative = FOUND.replace("[/#?]|$", r"[/#?]|[\w.-]+\.html|images\/|diagrams\/|$")
    assert page.evaluate(relative) == []
