"""What every test may ask for: a fresh database by the real migrations, the app on it, a client."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import settings as hypothesis_settings

from app.main import create_app
from app.settings import Settings
from app.storage import migrate

# No test is judged by a bare time; on the build server the examples are the same in every run.
hypothesis_settings.register_profile("meshwright", deadline=None, derandomize=os.environ.get("CI") == "true")
hypothesis_settings.load_profile("meshwright")


@pytest.fixture(scope="session")
def migrated_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database file that the migrations made; tests copy it."""
    path = tmp_path_factory.mktemp("database") / "template.db"
    migrate.upgrade(f"sqlite:///{path}")
    return path


@pytest.fixture
def settings(migrated_database: Path, tmp_path: Path) -> Settings:
    """Settings on a fresh database of this test's own."""
    database = tmp_path / "meshwright.db"
    shutil.copy(migrated_database, database)
    return Settings(database_url=f"sqlite:///{database}")


@pytest.fixture
def app(settings: Settings) -> FastAPI:
    """The application on that database."""
    return create_app(settings)


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    """A client that keeps cookies, as a browser of one learner does."""
    with TestClient(app, base_url="http://testserver") as client:
        yield client


def pytest_sessionfinish(session: pytest.Session) -> None:
    """With CI=true nothing may be skipped."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") == "true" and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
