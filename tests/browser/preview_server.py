"""`meshwright preview` on a folder of lessons, for tests with a browser."""

import os
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from tests.browser.conftest import free_port


class PreviewServer:
    """The site with the pages for writers, until `stop`."""

    def __init__(self, lessons: Path) -> None:
        self.port = free_port()
        command = [Path(sys.executable).parent / "meshwright", "preview", lessons, "--port", str(self.port)]
        self.process = subprocess.Popen(command, env=os.environ.copy(), stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                urlopen(f"{self.url}/teach/preview", timeout=30).close()
            except (URLError, ConnectionError):
                time.sleep(0.05)
            else:
                return
        raise TimeoutError("the preview did not answer")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=10)
