"""A command opens its store once, reads its rules once and finds its repository once; a service does so per request."""

import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

import pytest
from msgspec.structs import replace

from custody.cli.main import cli
from custody.config import RuleTables
from custody.core.errors import StoreError
from custody.core.wire.arrival import make_loss_arrival
from custody.store import StoreUnwritable
from custody.workspace import rules_in_force, workspace
from custody.workspace.wiring import import_rule_tables
from custody.workspace.workspace import CommandResources, Workspace
from tests.builders.cli import a_git_folder, recorded, spool_of
from tests.builders.events import an_event
from tests.builders.lines import Scene, text

OLD = text("import alpha_module", "price = read_price(source)")
NEW = OLD + text("def discount(prices, percent):", "    return price * count * rate")


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts of opened stores, found repositories and read rules."""
    counts = Counter[str]()
    for module, name in (
        (workspace, "open_sqlite"),
        (workspace, "discover_repository"),
        (rules_in_force, "load_rule_files"),
    ):
        _count(monkeypatch, counts, module, name)
    return counts


def _count(monkeypatch: pytest.MonkeyPatch, counts: Counter[str], module: object, name: str) -> None:
    real = getattr(module, name)

    def counting(*args: object, **more: object) -> object:
        counts[name] += 1
        return real(*args, **more)

    monkeypatch.setattr(module, name, counting)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A person's file, and an agent's lines in the next commit."""
    made = Scene(tmp_path / "repository")
    base = made.committed(at=-100, app__py=OLD)
    made.edited("app.py", OLD, NEW, at=10, head=base)
    made.committed(base, at=20, app__py=NEW)
    return made


def run(folder: Path, *words: str) -> None:
    cli.main(["-C", str(folder), *words], standalone_mode=False)


@pytest.mark.parametrize(
    "words",
    [
        ("blame", "app.py"),
        ("cite", "list"),
        ("doctor",),
        ("dupes", "index"),
        ("gate", "HEAD~1..HEAD"),
        ("graph", "show"),
        ("log",),
        ("stats",),
        ("verify",),
        ("why", "app.py:3"),
    ],
    ids="-".join,
)
def test_a_command_opens_its_store_once(scene: Scene, counted: Counter[str], words: tuple[str, ...]) -> None:
    run(scene.built.path, *words)
    assert (counted["open_sqlite"], counted["discover_repository"]) == (1, 1)
    assert counted["load_rule_files"] <= 1


@pytest.fixture
def dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rules that could be set once."""
    tables = RuleTables(import_rule_tables().classes, {"gate.old": "custody.x:OLD", "trust.old": "custody.y.z:OLD_MAX"})
    monkeypatch.setattr(rules_in_force, "import_rule_tables", lambda: tables)


WARNINGS = [
    "gate.old in custody.toml has no effect: no longer settable (constant OLD in custody/x.py)",
    "trust.old in custody.toml has no effect: no longer settable (constant OLD_MAX in custody/y/z.py)",
]


@pytest.mark.usefixtures("dropped")
@pytest.mark.parametrize("words", [("blame", "app.py"), ("gate", "HEAD~1..HEAD"), ("why", "app.py:3")], ids="-".join)
def test_a_command_warns_once_of_keys_without_effect(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    made = Scene(tmp_path / "repository")
    rules = "[gate]\nold = 1\n[trust]\nold = 2\n"
    base = made.committed(at=-100, app__py=OLD, custody__toml=rules)
    made.committed(base, at=20, app__py=NEW, custody__toml=rules)
    run(made.built.path, *words)
    assert capsys.readouterr().err.splitlines() == [f"warning: {warning}" for warning in WARNINGS]


@pytest.mark.usefixtures("dropped")
def test_the_rules_are_shown_with_their_warnings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = a_git_folder(tmp_path / "repository")
    (folder / "custody.toml").write_text("gate.old = 1\ntrust.old = 2\n")
    run(folder, "rules")
    assert [line for line in capsys.readouterr().out.splitlines() if "warning" in line] == [
        f"warning: {warning}" for warning in WARNINGS
    ]
    run(folder, "rules", "gate", "--json")
    assert json.loads(capsys.readouterr().out)["warnings"] == WARNINGS


def test_a_service_warns_of_nothing_in_a_request(tmp_path: Path, dropped: None) -> None:
    folder = a_git_folder(tmp_path / "repository")
    (folder / "custody.toml").write_text("gate.old = 1")
    said: list[str] = []
    rules_in_force.load_workspace_rules(Workspace(folder, talk=said.append))
    assert said == []


def test_without_a_command_every_question_opens_a_store(tmp_path: Path, counted: Counter[str]) -> None:
    workspace = Workspace(recorded(a_git_folder(tmp_path / "repository")))
    with workspace.reading() as outer, workspace.reading() as inner:
        assert inner is not outer
    assert counted["open_sqlite"] == 2


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Workspace]:
    """The workspace of a command in a repository where three events wait."""
    resources = CommandResources()
    yield Workspace(recorded(a_git_folder(tmp_path / "repository")), resources=resources)
    resources.close()


def records(workspace: Workspace) -> int:
    with workspace.reading() as store:
        return sum(int(head.seq) for head in store.tables.chains())


def test_an_event_that_arrives_during_a_command_is_seen(command: Workspace, counted: Counter[str]) -> None:
    before = records(command)
    spool_of(command.folder).put(an_event(id="4"))
    assert records(command) == before + 1
    assert counted["open_sqlite"] == 1


def test_workspaces_of_a_command_share_a_store_where_only_the_folder_differs(command: Workspace) -> None:
    (command.folder / "below").mkdir()
    with command.reading() as store, replace(command, folder=command.folder / "below").writing() as same:
        assert same is store
    with command.reading() as store, replace(command, now_ns=lambda: 0).reading() as other:
        assert other is not store


def test_a_store_in_the_middle_of_a_transaction_is_not_shared(command: Workspace) -> None:
    with command.reading() as store, store.reading(), command.writing() as other:
        assert other is not store
    with command.reading() as again:
        assert again is store


def test_another_thread_opens_its_own(command: Workspace) -> None:
    with ThreadPoolExecutor(1) as pool, command.reading():
        assert pool.submit(records, command).result() == records(command)


def test_a_store_that_failed_is_opened_again(command: Workspace) -> None:
    with pytest.raises(StoreError), command.reading() as failed:
        failed.db.run("no statement")
    with command.reading() as store:
        assert store is not failed


def test_what_is_written_where_nothing_was_recorded_is_read_afterwards(tmp_path: Path) -> None:
    resources = CommandResources()
    workspace = Workspace(a_git_folder(tmp_path / "repository"), resources=resources)
    assert records(workspace) == 0
    assert not (workspace.folder / ".git" / "custody").exists(), "looking makes no file"
    with workspace.reading() as empty, workspace.writing() as store:
        assert store is not empty
        store.append([make_loss_arrival("1 something", 1)])
    assert records(workspace) == 1
    resources.close()


def test_writing_after_a_read_only_look_is_refused_as_ever(command: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    records(command)
    read_only = replace(command, resources=CommandResources())
    monkeypatch.setattr(workspace, "open_sqlite", _refuse)
    assert records(read_only) == records(read_only) == 3
    with pytest.raises(StoreUnwritable), read_only.writing():
        pass


def _refuse(path: Path) -> NoReturn:
    raise StoreUnwritable(f"cannot write the store '{path}': Read-only file system")
