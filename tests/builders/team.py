"""People who share a repository and its evidence through a bare remote."""

import json
import re
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from custody.attribution.app.blame import blame
from custody.attribution.app.stats import compute_line_stats
from custody.core.ids import EventId
from custody.core.paths import Lines
from custody.core.wire.arrival import arrival_from_bytes
from custody.core.wire.report import encode_report
from custody.workspace.workspace import Workspace
from tests.builders.events import an_event
from tests.builders.lines import NS, SESSION, Scene, an_edit_event, moment, text
from tests.builders.repo import NOON, a_repository

OLD = text("import alpha_module", "price = read_price(source)", "print_the_price(price)")
NEW = OLD + text("def discount(prices, percent):", "    return total(prices) * percent", "}", "last_line = of(prices)")
TYPED = NEW.replace("percent\n", "percent + tax\n").replace("price = ", "\tprice  =  ")
REWORDED = NEW.replace("return total(prices) * percent", "return total(prices) * percent / hundred")
ODD = "d/caf\udce9\n'.py"
SECRETS = ("discount", "a_secret_line_7", "typed_on_a_side", "\U0001f600")
"""Words of texts that were captured."""


class Team:
    """A bare remote, and people who clone it; each has a fixed clock and predictable random numbers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.remote = a_repository(folder / "remote.git", bare=True)
        self.tokens = count(1)

    @property
    def url(self) -> str:
        """Where the remote is."""
        return f"file://{self.remote.path}"

    def scene(self, name: str) -> Scene:
        """Return a repository that knows the remote."""
        built = a_repository(self.folder / name)
        built.git("remote", "add", "origin", self.url)
        return Scene(built.path, built)

    def clone(self, name: str) -> Workspace:
        """Return a fresh clone."""
        self.remote.git("clone", "--quiet", self.url, str(self.folder / name))
        return self.workspace(self.folder / name)

    def workspace(self, folder: Path) -> Workspace:
        """Somebody's workspace."""
        return Workspace(folder, now_ns=lambda: (NOON + 900) * NS, token=lambda: f"{next(self.tokens):032x}")

    def ref(self, workspace: Workspace) -> str:
        """Return the reference of one member's chain."""
        with workspace.reading() as store:
            return f"refs/custody/{store.own()}"

    def shared(self, ref: str) -> dict[str, bytes]:
        """Return the content of a reference of the remote, by name."""
        names = self.remote.git("ls-tree", "-r", "--name-only", "-z", ref).decode().split("\0")[:-1]
        return {name: self.remote.git("cat-file", "blob", f"{ref}:{name}") for name in names}


def recorded(workspace: Workspace, *events: bytes, prefix: str = "event") -> Workspace:
    """Return the workspace with these events in its own chain."""
    with workspace.writing() as store:
        store.append([arrival_from_bytes(EventId(f"{prefix}-{n}"), event) for n, event in enumerate(events)])
    return workspace


def ana_of(team: Team) -> Workspace:
    """Return a member whose history has lines of an agent and of people, pushed."""
    made = team.scene("ana")
    base = made.commit_of({b"app.py": OLD.encode(), ODD.encode("utf-8", "surrogateescape"): OLD.encode()}, at=-100)
    second = made.committed(base, at=20, app__py=NEW, like__py=REWORDED)
    third = made.committed(second, at=30, new_name__py=NEW, like__py=REWORDED)
    side = made.committed(third, at=35, new_name__py="typed_on_a_side = 1\n" + NEW, like__py=REWORDED)
    odd = ODD.encode("utf-8", "surrogateescape")
    files = {
        b"new_name.py": b"typed_on_a_side = 1\n" + TYPED.encode(),
        odd: NEW.encode(),
        b"like.py": REWORDED.encode(),
    }
    made.commit_of(files, side, third, at=40)
    workspace = recorded(
        team.workspace(made.built.path),
        an_event("session", session=SESSION, model="maker/model-1", at=moment(1)),
        an_event("prompt", session=SESSION, text="add a \ud83d\ude00 discount", at=moment(2)),
        an_event("call", session=SESSION, id="c10", name="Edit", at=moment(9), input={"file_path": "app.py"}),
        an_edit_event("app.py", OLD, NEW, at=10, head=base),
        an_edit_event(ODD, OLD, NEW, at=11, head=base, session="s2", proposed=OLD),
        an_edit_event(
            "app.py", "price = read_price(source)\n", "cost = nothing\n", at=12, lines=[{"first": 2, "last": 2}]
        ),
        an_edit_event("erased.py", None, text(*(f"a_secret_line_{n} = {n}" for n in range(300))), at=13),
        an_edit_event("like.py", OLD, NEW, at=14, head=base),
        an_event("link", session=SESSION, commit=second, origin="hook", at=moment(21)),
        an_event("decision", agent="robot", session=SESSION, commit=second, reason="fine", at=moment(22)),
    )
    made.built.git("push", "--quiet", "origin", "main")
    return workspace


def answers(workspace: Workspace) -> list[dict[str, Any]]:
    """Return the most common reports, without the values that come from texts."""
    asked: list[Callable[[], Any]] = [
        lambda: blame(workspace, "new_name.py").report,
        lambda: blame(workspace, "new_name.py", revision="HEAD~1").report,
        lambda: blame(workspace, "app.py", revision="HEAD~3", line_ranges=[Lines(2, 4)]).report,
        lambda: blame(workspace, ODD).report,
        lambda: blame(workspace, "like.py").report,
        lambda: compute_line_stats(workspace),
    ]
    return [_without_summary(json.loads(encode_report(ask()))) for ask in asked for _ in range(2)]


def _without_summary(report: dict[str, Any]) -> dict[str, Any]:
    """Return a report without the values that come from texts."""
    for one in report.get("attributions", ()):
        one.pop("conversation_summary")
        for signal in one["evidence"]:  # the lines that a changed line was like are found by their texts
            signal["why"] = re.sub(r"(an edit of '[^']*'), lines? [0-9-]+", r"\1", signal["why"])
    return report
