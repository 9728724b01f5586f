"""Hostile records: on every page they are only text."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from custody.server.pages.book import PAGES
from tests.browser.conftest import Look
from tests.builders.browser import findings
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.repo import a_repository
from tests.builders.service import Started, started

IMG = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>'
RTL = "safe\u202egnp.exe\u2066"
ANSI = "\x1b[31mred\x1b[2J\x07"
CLOSE = "</script></title></textarea>--><svg onload=window.pwned=1>"
URL = "javascript:window.pwned=1"
NAMES = ("العربية", "עברית", "日本語の名前", "देवनागरी", "🧑‍💻 emoji", "a" * 300)
LONG = "x" * (1 << 20)
EVIL = f"{IMG}{CLOSE}{RTL}{ANSI}"
NAMED = f"{IMG}{CLOSE}{RTL}"
"""A valid name: without control characters, which events reject."""
FILE = "src/<img onerror=pwned>\u202e.py"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """A repository with hostile records only."""
    built = a_repository(tmp_path_factory.mktemp("hostile") / "repo")
    text = f"{IMG}\n{CLOSE}\n{RTL}\n{ANSI}\n{'y' * 5000}\n"
    first = built.commit({b"README": b"empty\n"})
    built.commit(
        {FILE.encode(): text.encode(), b"docs/report.md": f"# {IMG}\n\n{EVIL} [x]({URL})\n".encode()},
        first,
        message=EVIL.encode(),
    )
    built.checkout()
    spool = spool_of(built.path)
    n = 0

    def put(kind: str, **fields: object) -> None:
        nonlocal n
        n += 1
        spool.put(an_event(kind, id=str(n), **fields))

    for name in (NAMED, *NAMES):
        put("session", session=name[:200], model=name[:200])
        put("prompt", session=name[:200], text=EVIL + LONG)
        put("prompt", session=name[:200], text=LONG)
        put("call", session=name[:200], name=NAMED)
        put("edit", session=name[:200], path=FILE, after=text)
        put("source_read", session=name[:200], locator=f"https://example.org/{quote(IMG)}?{name[:50]}")
    put("source", url="https://example.org/evil", title=EVIL + LONG[:1000])
    put("decision", actor="ana")
    put("span", name=NAMED, attributes={IMG: EVIL})
    with started(Path(built.path)) as service:
        yield service


@pytest.mark.parametrize("name", [page.name for page in PAGES if page.label is not None])
def test_hostile_records_are_inert(look: Look, hostile: Started, name: str) -> None:
    window = look(hostile)
    window.go(f"/{name}")
    page = window.settled()
    assert page.evaluate("window.pwned") is None
    said = window.said()
    assert "\x1b" not in said and "\u202e" not in said
    assert not page.query_selector("img:not([src^='/static/'])")
    assert findings(page) == []


@pytest.mark.parametrize(
    "path",
    [
        "/blame?file=" + quote(FILE),
        "/why?line=1&file=" + quote(FILE),
        "/report?file=docs/report.md",
        "/changes/HEAD~1..HEAD",
        "/change-people?change=HEAD~1..HEAD",
        "/why-card?line=1&file=" + quote(FILE),
        "/source?id=S1",
        "/agent?name=robot",
        "/session?id=" + quote(NAMED),
        *(f"/session?id={quote(name[:200])}" for name in NAMES),
        "/session?id=" + quote(IMG),
        "/blame?file=" + quote(IMG),
        "/change?name=" + quote(EVIL[:100]),
        "/graph?session=" + quote(NAMED),
    ],
    ids=lambda path: re.sub(r"\W+", "-", path)[:60],
)
def test_objects_with_hostile_names_have_pages(look: Look, hostile: Started, path: str) -> None:
    window = look(hostile)
    window.go(path)
    page = window.settled()
    assert page.evaluate("window.pwned") is None
    said = window.said()
    assert "\x1b" not in said and "\u202e" not in said and len(said) < 300_000
    assert not page.query_selector("img:not([src^='/static/'])")
    assert not page.query_selector("a[href^='javascript:']")
    content, view = window.wide()
    assert content <= view, "a word without an end goes on in the next line"


def test_a_hostile_url_is_inert(look: Look, hostile: Started) -> None:
    window = look(hostile)
    for page in PAGES:
        for field in page.takes:
            window.go(f"/{page.name}?{quote(field)}={quote(IMG + CLOSE)}")
            assert window.page.evaluate("window.pwned") is None
            assert not window.page.query_selector("img:not([src^='/static/'])")
