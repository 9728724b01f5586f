"""Every relative link of every page leads somewhere in this repository."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from tools import markdown
from tools.problems import Problem, pages_of

_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
"""Links with a scheme: what is behind them is not ours to check here."""


def check(root: Path) -> list[Problem]:
    """The links of all pages that lead nowhere."""
    return [problem for page in pages_of(root) for problem in broken_links(root, page)]


def broken_links(root: Path, page: Path) -> Iterator[Problem]:
    """The links of one page that lead nowhere."""
    name = page.relative_to(root).as_posix()
    for line, target in markdown.links(page.read_text("utf-8")):
        if not _ELSEWHERE.match(target) and (wrong := trouble(root, page, unquote(target))):
            yield Problem(name, line, f"link '{target}' {wrong}")


def trouble(root: Path, page: Path, target: str) -> str | None:
    """What is wrong with a relative link from ``page``, if anything is."""
    path, _, anchor = target.partition("#")
    if path.startswith("/"):
        return "is not relative"
    there = (page.parent / path).resolve() if path else page
    if not there.is_relative_to(root.resolve()):
        return "leads out of the repository"
    if not there.exists():
        return "leads to nothing"
    if anchor and there.suffix == ".md" and anchor not in markdown.anchors(there.read_text("utf-8")):
        return f"names no heading of '{there.name}'"
    return None
