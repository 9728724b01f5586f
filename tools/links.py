"""Checks that every relative link of every page has a target in this repository."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from tools import markdown
from tools.problems import Problem, pages_of

_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
"""Links with a scheme: external, not checked here."""


def check(root: Path) -> list[Problem]:
    """Return the broken links of all pages."""
    return [problem for page in pages_of(root) for problem in broken_links(root, page)]


def broken_links(root: Path, page: Path) -> Iterator[Problem]:
    """Return the broken links of one page."""
    name = page.relative_to(root).as_posix()
    for line, target in markdown.links(page.read_text("utf-8")):
        if not _ELSEWHERE.match(target) and (wrong := trouble(root, page, unquote(target))):
            yield Problem(name, line, f"link '{target}' {wrong}")


def trouble(root: Path, page: Path, target: str) -> str | None:
    """Return what is wrong with a relative link from ``page``, if anything."""
    path, _, anchor = target.partition("#")
    if path.startswith("/"):
        return "is not relative"
    there = (page.parent / path).resolve() if path else page
    if not there.is_relative_to(root.resolve()):
        return "leads out of the repository"
    if not there.exists():
        return "has no target"
    if anchor and there.suffix == ".md" and anchor not in markdown.anchors(there.read_text("utf-8")):
        return f"has no matching heading in '{there.name}'"
    return None
