"""The site while lessons are written: `meshwright preview` runs it on a database that lasts as long."""

import contextlib
import os
from pathlib import Path
from types import FrameType
from urllib.parse import quote

import uvicorn

from app.services.preview_files import lessons_root
from app.storage import migrate
from app.web.preview import closing


def serve_preview(path: Path, port: int, database_url: str) -> None:
    """The site on a database that lasts as long as the preview, with the pages for writers."""
    path = path.resolve()
    root = lessons_root(path)
    migrate.upgrade(database_url)
    os.environ |= {"DATABASE_URL": database_url, "LESSONS_DIR": str(root), "PREVIEW": str(path)}
    at = f"/{quote(path.relative_to(root).as_posix())}" if path.is_file() else ""
    print(f"The preview is at http://127.0.0.1:{port}/preview{at} (stop with Ctrl-C)", flush=True)
    config = uvicorn.Config(
        "app.main:create_app",
        factory=True,
        host="127.0.0.1",
        port=port,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    with contextlib.suppress(KeyboardInterrupt):  # told again by uvicorn after it has ended well
        PreviewServer(config).run()


class PreviewServer(uvicorn.Server):
    """Lets go of the pages that follow it before it ends."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Ctrl-C, or a wish to end from outside."""
        closing.set()
        super().handle_exit(sig, frame)
