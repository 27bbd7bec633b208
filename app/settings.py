"""Settings from the environment. Read by main and cli only."""

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

ROOT = Path(__file__).resolve().parent.parent


class Settings(BaseSettings):
    """One field per environment variable of the same name, in capitals."""

    model_config = SettingsConfigDict(extra="ignore")

    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)
    database_url: str = f"sqlite:///{ROOT / 'var' / 'meshwright.db'}"
    lessons_dir: Path = ROOT / "lessons"
    # Names this site answers to, beside the one in the request's Host header; needed behind a proxy.
    allowed_hosts: list[str] = []
    secure_cookies: bool = False  # also on whenever a request comes by https
    reload_lessons: bool = True  # pick up changed lessons while running
    preview: Path | None = None  # a file or folder of lessons to show to its writer, at /preview
