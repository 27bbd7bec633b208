"""What a page costs: bytes on the wire with everything it asks for, calls of the engine; no bare times."""

import re
from html.parser import HTMLParser
from unittest.mock import patch

import pytest
from fastapi.testclient import TestClient

from app.main import create_app
from app.services import estimation, remedies
from app.settings import ROOT, Settings
from app.storage import migrate
from app.web.assets import FOR_A_YEAR

PAGE_BYTES, SCRIPT_BYTES = 100_000, 25_000
LESSONS = sorted(
    f"/courses/{path.parent.parent.name}/lessons/{path.stem}"
    for path in (ROOT / "lessons").glob("*/lessons/*.md")
)
OTHERS = [
    "/",
    "/courses/training",
    "/calculator",
    "/calculator/schedule",
    "/published",
    "/published?sort=-off",
    "/method",
]


class Parts(HTMLParser):
    """What a browser fetches for a page beside the page itself."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.others: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        if tag == "script" and told.get("src"):
            self.scripts.append(told["src"] or "")
        if tag in ("img", "source", "iframe") and told.get("src"):
            self.others.append(told["src"] or "")
        if tag == "link" and told.get("rel") in ("stylesheet", "icon", "preload") and told.get("href"):
            self.others.append(told["href"] or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    """The real lessons on an empty database."""
    url = f"sqlite:///{tmp_path_factory.mktemp('budgets') / 'site.db'}"
    migrate.upgrade(url)
    return TestClient(create_app(Settings(database_url=url)))


def wire(site: TestClient, path: str) -> int:
    """Bytes of one answer as sent: compressed body and headers."""
    with site.stream("GET", path, headers={"Accept-Encoding": "gzip"}) as answer:
        assert answer.status_code == 200, path
        head = sum(len(name) + len(value) + 4 for name, value in answer.headers.items())
        return head + sum(len(chunk) for chunk in answer.iter_raw())


@pytest.mark.parametrize("path", [*LESSONS, *OTHERS])
def test_a_page_with_everything_is_at_most_100_kb(site: TestClient, path: str) -> None:
    parts = Parts(site.get(path).text)
    scripts = sum(wire(site, script) for script in parts.scripts)
    whole = wire(site, path) + scripts + sum(wire(site, other) for other in parts.others)
    assert parts.scripts
    assert parts.others
    assert scripts <= SCRIPT_BYTES
    assert whole <= PAGE_BYTES, f"{path}: {whole:,} bytes"


def test_there_are_lessons_to_weigh() -> None:
    assert len(LESSONS) >= 3


@pytest.mark.parametrize("path", [LESSONS[0], "/calculator", "/published"])
def test_nothing_of_a_page_is_fetched_twice_or_from_elsewhere(site: TestClient, path: str) -> None:
    text = site.get(path).text
    parts = Parts(text)
    fetched = parts.scripts + parts.others
    assert len(fetched) == len(set(fetched))
    assert all(address.startswith("/") and not address.startswith("//") for address in fetched)
    assert not re.search(r"@import|url\(\s*['\"]?(?!#|data:)", site.get("/static/meshwright.css").text)


@pytest.mark.parametrize("path", [LESSONS[0], "/calculator", "/published"])
def test_drawings_and_images_keep_their_place_while_they_load(site: TestClient, path: str) -> None:
    """No layout shift: an image says its size before it is there."""
    for image in re.findall(r"<img [^>]*>", site.get(path).text):
        assert "width=" in image
        assert "height=" in image


def test_the_calculator_asks_the_engine_twice_at_most(site: TestClient) -> None:
    """Once for the answer, once for all that would help, however many changes are tried."""
    with (
        patch.object(remedies, "evaluate", wraps=remedies.evaluate) as tried,
        patch("app.web.calculator_view.estimate_inputs", wraps=estimation.estimate_inputs) as asked,
    ):
        text = site.get("/calculator").text
    assert "Does not fit" in text
    assert "What would help" in text
    assert (asked.call_count, tried.call_count) == (1, 1)


def test_published_runs_are_predicted_once(site: TestClient) -> None:
    site.get("/published")
    with patch("app.services.validation.evaluate") as asked:
        for path in ("/published", "/published?sort=-off&page=3", "/method", "/api/v1/published"):
            assert site.get(path).status_code == 200
    assert asked.call_count == 0


def test_files_with_a_version_are_kept_and_others_are_asked_for(site: TestClient) -> None:
    text = site.get("/calculator").text
    for address in [*Parts(text).scripts, *Parts(text).others]:
        assert "?v=" in address
        assert site.get(address).headers["Cache-Control"] == FOR_A_YEAR
        assert site.get(address.partition("?")[0]).headers["Cache-Control"] == "no-cache"
