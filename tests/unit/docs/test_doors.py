"""The page about data that leaves this machine names every part that can reach outside, and no other."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SOURCE = ROOT / "src" / "custody"
PAGE = ROOT / "docs" / "what-leaves-this-machine.md"
OUTSIDE = (
    "aiohttp",
    "ftplib",
    "http.client",
    "http.server",
    "httpcore2",
    "httpx",
    "httpx2",
    "litestar",
    "mcp",
    "multiprocessing",
    "opentelemetry",
    "psycopg",
    "pty",
    "pydantic_ai",
    "ray",
    "requests",
    "smtplib",
    "socket",
    "socketserver",
    "ssl",
    "subprocess",
    "urllib.request",
    "uvicorn",
    "webbrowser",
    "xmlrpc",
)
CONNECTING = re.compile(r"\.(open_connection|open_unix_connection|create_connection|start_server|create_server)\b")
TALKING = frozenset({"fetch", "push", "clone", "ls-remote", "pull"})
"""git's commands that reach a remote."""
REMOTE = {"git/exchange.py"}
NESTED = ("cite/web", "dupes/pool", "signing", "sdk/servers", "sdk/worker", "server/github/api", "share/remote")
"""Adapters inside a package, which the page names one by one."""


def imports(text: str) -> Iterator[str]:
    """Yield every module that a file imports, under each of its possible names."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def reaches_outside(text: str) -> bool:
    """Return whether a file can open the network or start a program."""
    found = set(imports(text))
    return bool(CONNECTING.search(text)) or any(
        name == door or name.startswith(f"{door}.") for name in found for door in OUTSIDE
    )


def part_of(path: Path) -> str:
    """Return the part of the program that a file belongs to, as the page names it.

    >>> part_of(SOURCE / "git" / "process.py"), part_of(SOURCE / "otel.py")
    ('custody/git', 'custody/otel')
    """
    name = path.relative_to(SOURCE).with_suffix("").as_posix()
    door = next((door for door in NESTED if f"{name}/".startswith(f"{door}/")), name.partition("/")[0])
    return f"custody/{door}"


def doors() -> set[str]:
    """Return the parts that reach outside according to the code."""
    return {part_of(path) for path in SOURCE.rglob("*.py") if reaches_outside(path.read_text("utf-8"))}


def told() -> set[str]:
    """Return the parts that the page names."""
    table = PAGE.read_text("utf-8").split("## Parts that reach outside")[1]
    return set(re.findall(r"^\| `(custody/[\w/]+)` \|", table, re.MULTILINE))


def test_the_page_names_every_door_and_no_other() -> None:
    assert told() == doors()


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("import socket", True),
        ("def f():\n    import httpx2", True),
        ("from urllib import request", True),
        ("from urllib.request import urlopen", True),
        ("import asyncio\nasync def f(): await asyncio.open_connection('h', 1)", True),
        ("from urllib.parse import quote", False),
        ("import socketless", False),
        ("from . import socket", False),
    ],
)
def test_a_way_outside_is_seen(text: str, seen: bool) -> None:
    assert reaches_outside(text) is seen


def test_git_talks_to_remotes_from_two_files_only() -> None:
    files = {
        path.relative_to(SOURCE).as_posix()
        for path in (SOURCE / "git").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        if any(isinstance(one, ast.Constant) and one.value in TALKING for one in node.args)
    }
    assert files <= REMOTE


def test_no_verb_is_about_sending_that_the_page_does_not_name() -> None:
    page = PAGE.read_text("utf-8")
    sending = ("push", "pull", "serve", "github", "worker", "export", "graph run", "cite check-links", "dupes index")
    assert [verb for verb in sending if f"custody {verb}" not in page] == []
