"""The same records give the same answer about every line in every database."""

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from custody.attribution.app.blame import blame
from custody.core.ids import EventId
from custody.core.paths import Lines
from custody.core.wire.arrival import arrival_from_bytes
from custody.core.wire.report import encode_report
from custody.ledger.records import erase_record_bodies
from custody.workspace.workspace import Workspace
from tests.builders.events import an_event
from tests.builders.in_process import custody
from tests.builders.lines import NS, SESSION, Scene, an_edit_event, moment, text
from tests.builders.repo import NOON

OLD = text("import alpha_module", "price = read_price(source)", "print_the_price(price)")
NEW = OLD + text("def discount(prices, percent):", "    return total(prices) * percent", "}", "last_line = of(prices)")
TYPED = NEW.replace("percent\n", "percent + tax\n").replace("price = ", "\tprice  =  ")
ODD = "d/caf\udce9\n'.py"


def a_workspace(folder: Path, database: str | None = None) -> Workspace:
    """Return a workspace with a fixed clock and fixed randomness."""
    tokens = count(1)
    return Workspace(folder, database, now_ns=lambda: (NOON + 900) * NS, token=lambda: f"{next(tokens):032x}")


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Return commits of an agent and a person, renamed, merged and with a file name of invalid UTF-8."""
    made = Scene(tmp_path / "repository")
    base = made.commit_of({b"app.py": OLD.encode(), ODD.encode("utf-8", "surrogateescape"): OLD.encode()}, at=-100)
    second = made.committed(base, at=20, app__py=NEW)
    third = made.committed(second, at=30, new_name__py=NEW)
    side = made.committed(third, at=35, new_name__py="typed_on_a_side = 1\n" + NEW)
    made.commit_of(
        {
            b"new_name.py": b"typed_on_a_side = 1\n" + TYPED.encode(),
            ODD.encode("utf-8", "surrogateescape"): NEW.encode(),
        },
        side,
        third,
        at=40,
    )
    return made


def events(scene: Scene) -> list[bytes]:
    base = scene.built.git("rev-list", "--max-parents=0", "HEAD").decode().strip()
    second = scene.built.git("log", "--format=%H", "--diff-filter=M", "--", "app.py").decode().split()[0]
    return [
        an_event("session", session=SESSION, model="maker/model-1", at=moment(1)),
        an_event("prompt", session=SESSION, text="add a \ud83d\ude00 discount", at=moment(2)),
        an_edit_event("app.py", OLD, NEW, at=10, head=base),
        an_edit_event(ODD, OLD, NEW, at=11, head=base, session="s2", proposed=OLD),
        an_edit_event(
            "app.py", "price = read_price(source)\n", "cost = nothing\n", at=12, lines=[{"first": 2, "last": 2}]
        ),
        an_edit_event("erased.py", None, text(*(f"a_secret_line_{n} = {n}" for n in range(300))), at=13),
        an_event("link", session=SESSION, commit=second, origin="hook", at=moment(21)),
    ]


def recorded(workspace: Workspace, scene: Scene) -> Workspace:
    with workspace.writing() as store:
        store.append([arrival_from_bytes(EventId(f"event-{n}"), event) for n, event in enumerate(events(scene))])
    return workspace


def answers(workspace: Workspace) -> list[bytes]:
    """Return the answers on disk, at revisions, for line ranges and under either profile, each twice."""
    questions: list[Callable[[], object]] = [
        lambda: blame(workspace, "new_name.py").report,
        lambda: blame(workspace, "new_name.py", revision="HEAD~1").report,
        lambda: blame(workspace, "app.py", revision="HEAD~3", line_ranges=[Lines(2, 4)]).report,
        lambda: blame(workspace, ODD).report,
        lambda: blame(workspace, "new_name.py", profile="document").report,
    ]
    return [encode_report(ask()) for ask in questions for _ in range(2)]  # type: ignore[arg-type]


def test_both_databases_give_the_same_bytes(scene: Scene, fresh_postgres: str) -> None:
    folder = scene.built.path
    sqlite, postgres = recorded(a_workspace(folder), scene), recorded(a_workspace(folder, fresh_postgres), scene)
    first = answers(sqlite)
    assert first == answers(postgres)
    classes = {one["class"] for answer in first for one in json.loads(answer)["attributions"]}
    assert classes == {"agent", "mixed", "person", "none"}, "every class is compared"
    for workspace in (sqlite, postgres):
        erase_record_bodies(workspace, ["3"], who="ana", why="a secret")
    after = answers(sqlite)
    assert after == answers(postgres)
    assert after[0] != first[0]


def test_both_databases_use_late_records(scene: Scene, fresh_postgres: str) -> None:
    found = []
    for workspace in (a_workspace(scene.built.path), a_workspace(scene.built.path, fresh_postgres)):
        given = events(scene)
        with workspace.writing() as store:
            store.append([arrival_from_bytes(EventId("late-3"), given[3])])
        before = encode_report(blame(workspace, "new_name.py").report)
        with workspace.writing() as store:
            store.append([arrival_from_bytes(EventId(f"late-{n}"), given[n]) for n in (5, 2, 6, 0)])
        found.append((before, *answers(workspace)))
    assert found[0] == found[1]
    assert found[0][0] != found[0][1]


def test_blame_answers_from_a_team_database(scene: Scene, fresh_postgres: str) -> None:
    recorded(Workspace(scene.built.path, fresh_postgres), scene)
    ran = custody(scene.built.path, "--database", fresh_postgres, "blame", "new_name.py", "--porcelain")
    assert (ran.status, ran.err) == (0, "")
    assert {row.split("\t")[1] for row in ran.out.splitlines()} == {"agent", "mixed", "none"}
