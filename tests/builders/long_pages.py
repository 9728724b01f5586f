"""Repositories whose pages are long: a file of ten thousand lines, sessions of ten thousand calls, 500 clusters.

Each also has text that tries to inject markup.
"""

from pathlib import Path

from custody.dupes.app.index import IndexRequest, dupes_index
from custody.workspace.workspace import Workspace
from tests.builders.calls import HOUR, World
from tests.builders.cli import a_git_folder
from tests.builders.events import an_arrival, an_event
from tests.builders.lines import Scene, moment, text
from tests.builders.repo import NOON, Built, a_repository

LINES = SPANS = 10_000
PAIRS = 500
EVIL = "<img src=x onerror=alert(1)>"
HOSTILE_TEXT = f"{EVIL}\n\ttabbed\nrtl \u202e override\nansi \x1b[31mred\r\n" + "y" * 1_000_000 + "\n"
HOSTILE_CALL = f"{EVIL}\u202eevil"
HOSTILE_NODE = f"{EVIL}\u202ecod.exe" + "y" * 400


def a_long_file(folder: Path) -> Path:
    """Make a repository with ``long.py``: ten thousand lines, every seventh by an agent."""
    scene = Scene(folder)
    old = [f"def step_{n}(state, options):  # the step {n}" for n in range(LINES)]
    new = [line if n % 7 else f"    state = advanced_by({n}, options)" for n, line in enumerate(old)]
    root = scene.commit_of({b"long.py": text(*old).encode()}, at=-100)
    scene.edited("long.py", text(*old), text(*new), at=4, head=root)
    evil = "s<img src=x onerror=alert(2)>\u202e"
    scene.edited(f"{EVIL}.py", None, f"brought = '{EVIL}'\n", at=5, head=root, session=evil, agent=f"bot {EVIL}")
    scene.saw(an_event("session", session="s1", model="maker/model-1", at=moment(1)))
    files = {
        b"long.py": text(*new).encode(),
        b"hostile.txt": HOSTILE_TEXT.encode(),
        f"{EVIL}.py".encode(): f"brought = '{EVIL}'\n".encode(),
        b"not \xff utf-8": b"odd = name\n",
        "rtl\u202egnp.py".encode(): b"turned = name\n",
    }
    scene.commit_of(files, root, at=60)
    return scene.built.path


def long_calls(folder: Path) -> Path:
    """Make a repository with the session ``s1``: ten thousand calls, none with a recorded end."""
    folder = a_git_folder(folder)
    names = ("Read", "Bash", "Edit", "Grep")
    calls = [
        an_arrival(
            "call",
            event=f"c{n}",
            id=f"c{n}",
            name=names[n // 30 % len(names)],
            status="failed" if n % 997 == 996 else "ok",
            at=at(n),
            ended_at=at(n + 1),
        )
        for n in range(SPANS)
    ]
    prompts = [an_arrival("prompt", event=f"p{n}", id=f"p{n}", at=at(n * 500), text=f"turn {n}") for n in range(20)]
    hostile = {"agent": "שלום", "session": "rtl-" + HOSTILE_CALL, "at": at(0)}
    with Workspace(folder).writing() as store:
        store.append([an_arrival("session", event="s", id="s", at=at(0)), *prompts, *calls])
        store.append(
            [
                an_arrival("call", event="h1", id="h1", name=HOSTILE_CALL, **hostile),
                an_arrival("prompt", event="h2", id="h2", text=HOSTILE_CALL + "\x1b[31m" + "y" * 1_000_000, **hostile),
            ]
        )
    return folder


def long_spans(folder: Path) -> Path:
    """Return a repository with a session of ten thousand spans, ``long``, each inside another."""
    folder.mkdir(parents=True, exist_ok=True)
    world = World(folder)
    names = ("Read", "Edit", "Bash", "Grep")
    told = ((str(n), names[n * n % 4], n, 2 * SPANS - n, str((n - 1) // 12) if n else None) for n in range(SPANS))
    world.spans("long", told, span_kind="tool")
    world.calls("hostile", HOSTILE_NODE, "Read", at=NOON + HOUR)
    with world.workspace.writing():
        pass  # all waiting events are ingested before any page is opened
    return world.path


def many_clusters(folder: Path) -> Path:
    """Return a repository whose index has 500 clusters of two changes."""
    built: Built = a_repository(folder)
    root = built.commit({b"README.md": b"# Project\n"})
    feed: list[bytes] = []
    for number in range(PAIRS * 2):
        code = b"".join(_function(number // 2, place) for place in range(3))
        message = b"Add part %d%s" % (number // 2, b" again" if number % 2 else b"")
        feed.append(
            b"commit refs/pull/%d/head\ncommitter A <a@example.invalid> %d +0000\ndata %d\n%s\nfrom %s\n"
            % (number + 1, 1_700_000_100 + number, len(message), message, root.encode())
            + b"M 100644 inline src/part_%d.py\ndata %d\n%s\n" % (number // 2, len(code), code)
        )
    built.git("fast-import", "--quiet", feed=b"".join(feed))
    built.checkout()
    dupes_index(Workspace(built.path), IndexRequest(workers=2))
    return built.path


def at(second: int) -> str:
    return f"2026-01-31T{12 + second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"


def _function(pair: int, place: int) -> bytes:
    return (
        b"def make_%d_%d(state_%d, limit):\n    found_%d = state_%d.ask_%d(limit)\n    return found_%d.all_%d\n\n\n"
        % (*(pair, place, pair, pair, pair, place, pair, pair),)
    )
