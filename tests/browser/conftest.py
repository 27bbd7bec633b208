"""A real server and a real browser: what a learner's machine would see."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, sync_playwright

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder needs a browser."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


def chromium() -> str | None:
    """Where the system's own browser is."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@dataclass
class Server:
    """`meshwright serve` on a port and a database of its own; it can be stopped and started again."""

    database: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        environment = {**os.environ, "PORT": str(self.port), "DATABASE_URL": f"sqlite:///{self.database}"}
        self.process = subprocess.Popen(
            [Path(sys.executable).parent / "meshwright", "serve"], env=environment
        )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                urlopen(self.url, timeout=5).close()
            except (URLError, ConnectionError, TimeoutError):
                time.sleep(0.05)
            else:
                return
        raise TimeoutError(f"the server did not answer on {self.url}")

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(timeout=10)
            self.process = None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server per module."""
    server = Server(tmp_path_factory.mktemp("server") / "meshwright.db", free_port())
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser per session; contexts keep learners apart."""
    path = chromium()
    if path is None:
        pytest.skip("no Chromium on this machine")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@dataclass
class Visit:
    """A learner's browser: its pages, what they asked for and what they complained about."""

    context: BrowserContext
    server: Server
    hosts: set[str] = field(default_factory=set)
    messages: list[str] = field(default_factory=list)
    expected: tuple[str, ...] = ()

    def page(self, path: str = "/") -> Page:
        page = self.context.new_page()
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.messages.append(str(error)))
        page.on("request", self._request)
        page.goto(self.server.url + path)
        return page

    def _note(self, message: ConsoleMessage) -> None:
        self.messages.append(f"{message.type}: {message.text}")

    def _request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https"):
            self.hosts.add(parts.netloc)

    def check(self) -> None:
        """No message on the console, no request to anyone else's server."""
        assert self.messages == []
        assert self.hosts <= {urlsplit(self.server.url).netloc}


VisitMaker = Callable[..., Visit]


@pytest.fixture
def visit(browser: Browser, server: Server) -> Iterator[VisitMaker]:
    """Make learners: `visit(javascript=False, width=360, dark=True)`. Each is checked at the end."""
    made: list[Visit] = []

    def make(*, javascript: bool = True, width: int = 1280, dark: bool = False) -> Visit:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            java_script_enabled=javascript,
            color_scheme="dark" if dark else "light",
        )
        context.set_default_timeout(10_000)
        made.append(Visit(context, server))
        return made[-1]

    yield make
    for learner in made:
        learner.context.close()
    for learner in made:
        learner.check()
