"""The texts of a change, judged in a real repository."""

from pathlib import Path

import pytest

from custody.cite.app.registry import cite_list
from custody.gate.app.gate import GateRequest, gate
from custody.gate.wire.report import ReasonReport
from custody.workspace.workspace import Workspace
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.repo import NOON, Built, a_history, a_repository

FINE = b"""\
Rates rose to 4.5 % in 2023 [1].

## Sources

1. [Rates](https://example.org/rates)
"""
UNCITED = b"Rates rose to 4.5 % in 2023.\n"
BROKEN = FINE.replace(b"[1].", b"[1][2].")


class World:
    """Make two commits: a file before and after."""

    def __init__(self, folder: Path, *versions: dict[bytes, bytes]) -> None:
        self.built: Built = a_repository(folder)
        self.commits = a_history(self.built, *versions)
        self.built.checkout()
        self.workspace = Workspace(folder, now_ns=lambda: (NOON + 3600) * 1_000_000_000)

    def reasons(self, description: bytes | None = None) -> list[ReasonReport]:
        report = gate(
            self.workspace, GateRequest(change=f"{self.commits[0]}..{self.commits[-1]}", description=description)
        )
        return [reason for reason in report.reasons if reason.code.startswith("CITE-")]

    def codes(self, description: bytes | None = None) -> list[str]:
        return [reason.code for reason in self.reasons(description)]


@pytest.mark.parametrize(
    ("name", "before", "after", "codes"),
    [
        (b"docs/report.md", None, UNCITED, ["CITE-UNCITED"]),
        (b"research/Rates.MD", None, UNCITED, ["CITE-UNCITED"]),
        (b"docs/guide.md", None, UNCITED, []),
        (b"docs/report.md", None, FINE, []),
        (b"docs/report.txt", None, UNCITED, []),
        (b"docs/guide.md", None, BROKEN, ["CITE-BROKEN"]),
        (b"docs/guide.md", BROKEN, BROKEN + b"\nMore.\n", []),
        (b"docs/guide.md", FINE, BROKEN, ["CITE-BROKEN"]),
        (b"docs/report.md", FINE, b"\xff\xfe not a text\n", ["CITE-UNCITED", "CITE-BROKEN"]),
    ],
)
def test_documents(tmp_path: Path, name: bytes, before: bytes | None, after: bytes, codes: list[str]) -> None:
    first = {b"a.py": b"a = 1\n"} | ({} if before is None else {name: before})
    assert World(tmp_path, first, first | {name: after}).codes() == codes


def test_a_reason_names_the_place(tmp_path: Path) -> None:
    world = World(tmp_path, {b"a.py": b"a = 1\n"}, {b"a.py": b"a = 1\n", b"docs/guide.md": BROKEN})
    (reason,) = world.reasons()
    assert reason.sentence == "docs/guide.md: line 1: [2] is not in the source list (CITE-UNKNOWN)"


def test_a_document_that_moves_brings_nothing(tmp_path: Path) -> None:
    assert World(tmp_path, {b"old.md": BROKEN}, {b"new.md": BROKEN}).codes() == []


def test_a_check_that_the_rules_turn_off_does_not_run(tmp_path: Path) -> None:
    for number, rules in enumerate((b'citations = "off"', b'reports = ["essays/**"]')):
        files = {b"custody.toml": b"[gate]\n" + rules}
        (tmp_path / f"{number}").mkdir()
        assert World(tmp_path / f"{number}", files, files | {b"report.md": UNCITED}).codes() == []


def test_the_description(tmp_path: Path) -> None:
    world = World(tmp_path, {b"a.py": b"a = 1\n"}, {b"a.py": b"a = 2\n"})
    assert world.codes() == world.codes(FINE) == world.codes(UNCITED) == world.codes(b"See [S3].") == []
    (reason,) = world.reasons(BROKEN)
    assert reason.code == "CITE-BROKEN" and reason.sentence.startswith("the description: line 1: [2]")


def test_ids_in_a_description_are_those_of_the_registry(tmp_path: Path) -> None:
    world = World(tmp_path, {b"a.py": b"a = 1\n"}, {b"a.py": b"a = 2\n"})
    spool_of(tmp_path).put(an_event("source", id="s1"))
    cite_list(world.workspace)
    assert world.codes(b"See [S1].") == []
    assert world.codes(b"See [S2].") == ["CITE-BROKEN"]


def test_the_messages_of_its_commits(tmp_path: Path) -> None:
    built = a_repository(tmp_path)
    (first,) = a_history(built, {b"a.py": b"a = 1\n"})
    message = b"[1] Rates\n\nThey rose [1], and fell [2].\n\n## Sources\n\n1. [Rates](https://example.org/rates)\n"
    second = built.commit({b"a.py": b"a = 2\n"}, first, message=message)
    (reason,) = (
        one
        for one in gate(Workspace(tmp_path), GateRequest(change=f"{first}..{second}")).reasons
        if one.code.startswith("CITE-")
    )
    assert reason.sentence.startswith(f"the message of {second[:12]}: line 3: [2] is not in the source list")
