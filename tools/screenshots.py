"""The screenshots of the documents: the demo's pages in a real browser, written to ``docs/images``.

    python tools/screenshots.py [NAME …]    all of them, or those named

Review them before they are committed: new users see them first.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Browser  # noqa: E402 - the tests' builders are found by the line above

from tests.builders.browser import PATIENCE_MS, a_browser, looking_at  # noqa: E402
from tests.builders.service import Started, started  # noqa: E402

IMAGES = ROOT / "docs/images"


@dataclass(frozen=True)
class Shot:
    """A screenshot: its name, the page, and the view."""

    name: str
    path: str
    size: tuple[int, int] = (1280, 800)
    theme: Literal["light", "dark"] = "light"


SHOTS = (
    Shot("overview", "/overview"),
    Shot("review", "/changes/again/add-up", size=(1280, 985)),
    Shot("blame", "/blame?file=src/till/tax.py"),
    Shot("why", "/why?file=src/till/tax.py&line=10", size=(1280, 1440)),
    Shot("changes", "/changes"),
    Shot("graph", "/graph", theme="dark"),
    Shot("phone", "/blame?file=src/till/tax.py", size=(360, 740)),
)


def main(names: list[str]) -> None:
    """Make the pictures."""
    IMAGES.mkdir(exist_ok=True)
    with _story() as folder, started(folder) as service, a_browser() as browser:
        for shot in SHOTS:
            if not names or shot.name in names:
                _take(browser, service, shot)


def _take(browser: Browser, service: Started, shot: Shot) -> None:
    with looking_at(browser, service, size=shot.size, theme=shot.theme) as window:
        window.go(shot.path)
        page = window.settled()
        page.locator(".working").first.wait_for(state="detached", timeout=PATIENCE_MS)
        page.wait_for_timeout(500)
        page.screenshot(path=IMAGES / f"{shot.name}.png")
        print(f"docs/images/{shot.name}.png")


@contextmanager
def _story() -> Iterator[Path]:
    told = subprocess.run(
        [sys.executable, "-m", "custody", "demo", "--keep", "--json"], capture_output=True, text=True, check=True
    )
    folder = Path(json.loads(told.stdout)["folder"])
    try:
        # The demo ends with 'custody uninstall'; the pictures show a repository that is recorded.
        again = [sys.executable, "-m", "custody", "init", "--agent", "claude-code", "--yes"]
        subprocess.run(again, cwd=folder, capture_output=True, check=True)
        yield folder
    finally:
        shutil.rmtree(folder.parent)


if __name__ == "__main__":
    main(sys.argv[1:])
